#include "model/message_units/pams_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/near_name.h"
#include "model/message_units/formats.h"

namespace situ::model {
namespace {

constexpr std::string_view pams_blanks = " \t\r";

bool is_pams_letter(char each) { return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == '_'; }
bool is_pams_digit(char each) { return each >= '0' && each <= '9'; }

// Returns the digit's value; 16 if it is no digit of any base here.
unsigned pams_digit(char each) {
  if (is_pams_digit(each)) return static_cast<unsigned>(each - '0');
  if (each >= 'a' && each <= 'f') return static_cast<unsigned>(each - 'a') + 10;
  if (each >= 'A' && each <= 'F') return static_cast<unsigned>(each - 'A') + 10;
  return 16;
}

}  // namespace

std::vector<pams_token> pams_tokens_of(std::string_view line) {
  line = line.substr(0, line.find(';'));
  std::vector<pams_token> tokens;
  for (std::size_t at = line.find_first_not_of(pams_blanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(pams_blanks, at), line.size());
    tokens.push_back({line.substr(at, end - at), static_cast<std::uint32_t>(at + 1)});
    at = line.find_first_not_of(pams_blanks, end);
  }
  return tokens;
}

std::optional<std::int64_t> pams_number(std::string_view text) {
  constexpr std::int64_t enough = std::int64_t{1} << 40;
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (is_hexadecimal) text.remove_prefix(2);
  const unsigned base = is_hexadecimal ? 16 : 10;
  std::int64_t number = 0;
  bool was_digit = false;
  for (const char each : text) {
    const bool is_underscore = each == '_';
    if (is_underscore ? !was_digit : pams_digit(each) >= base) return std::nullopt;
    if (!is_underscore) number = std::min<std::int64_t>(number * base + pams_digit(each), enough);
    was_digit = !is_underscore;
  }
  if (!was_digit) return std::nullopt;
  return is_negative ? -number : number;
}

bool is_pams_name(std::string_view text) {
  return !text.empty() && is_pams_letter(text.front()) &&
         std::ranges::all_of(text, [](char each) { return is_pams_letter(each) || is_pams_digit(each); });
}

std::string pams_quoted(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string quoted;
  for (const char each : text.substr(0, most))
    quoted +=
        each > ' ' && each <= '~' ? std::string{each} : fmt::format("\\x{:02x}", static_cast<unsigned char>(each));
  return text.size() > most ? quoted + "..." : quoted;
}

std::string pams_problem_of_name(std::string_view name) {
  if (is_pams_name(name)) return {};
  return fmt::format("'{}' is no name: a letter or _, then letters, digits and _ are allowed", pams_quoted(name));
}

std::string pams_problem_of_length(std::size_t words) {
  if (words <= pams_words) return {};
  return fmt::format("the program has {} words, {} too many: the instruction RAM has {}", words, words - pams_words,
                     pams_words);
}

std::string pams_no_such(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  const std::string_view meant = detail::near_name(name, std::vector<std::string_view>{known.begin(), known.end()});
  if (!meant.empty()) return fmt::format("there is no {} {}; did you mean {}?", what, pams_quoted(name), meant);
  if (known.empty()) return fmt::format("there is no {} {}; there is none", what, pams_quoted(name));
  constexpr std::size_t most = 20;
  const std::span<const std::string> first = std::span{known}.first(std::min(most, known.size()));
  return fmt::format("there is no {} {}; there {} {}{}", what, pams_quoted(name), known.size() == 1 ? "is" : "are",
                     fmt::join(first, ", "), known.size() > most ? ", ..." : "");
}

}  // namespace situ::model
