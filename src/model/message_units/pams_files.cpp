// Program files of PAMS: hexadecimal text and JSON, written and read. docs/formats/pams.md describes both.
#include <situ/base/error_code.h>
#include <situ/model/pams_program.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "model/message_units/formats.h"
#include "model/message_units/pams_tokens.h"

namespace situ::model {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view pams_file_format = "situ-pams-program";
constexpr int pams_file_version = 1;

[[noreturn]] void refuse_pams_file(std::string_view file, const std::string& why) {
  throw_error(errc::bad_file, fmt::format("{}: {}", file, why));
}

ordered_json pams_names_as_json(const std::vector<std::pair<std::string, std::uint32_t>>& names) {
  ordered_json all = ordered_json::object();
  for (const auto& [name, number] : names) all[name] = number;
  return all;
}

std::string_view without_blanks_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::vector<std::uint32_t> pams_words_of_json(std::string_view text, std::string_view file) {
  const ordered_json all = ordered_json::parse(text, nullptr, false);
  if (all.is_discarded()) refuse_pams_file(file, "it begins with {, and is not JSON");
  const auto format = all.find("format");
  if (format == all.end() || *format != pams_file_format)
    refuse_pams_file(file, fmt::format("its \"format\" is not \"{}\"", pams_file_format));
  const auto version = all.find("version");
  if (version == all.end() || *version != pams_file_version)
    refuse_pams_file(file, fmt::format("its \"version\" is not {}", pams_file_version));
  const auto found = all.find("words");
  if (found == all.end() || !found->is_array()) refuse_pams_file(file, "its \"words\" are no list");
  std::vector<std::uint32_t> words;
  for (const ordered_json& each : *found) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() > 0xffffffffU)
      refuse_pams_file(file,
                       fmt::format("number {} of its \"words\" is no word: 0 to 4294967295 are allowed", words.size()));
    words.push_back(each.get<std::uint32_t>());
  }
  return words;
}

std::uint32_t pams_word_of(std::string_view text, std::string_view file, std::size_t line) {
  constexpr std::size_t most_digits = 8;
  const std::string_view digits = text.substr(text.starts_with("0x") ? 2 : 0);
  const auto number = pams_number("0x" + std::string{digits});
  if (!number || digits.size() > most_digits || digits.find('_') != std::string_view::npos)
    refuse_pams_file(fmt::format("{}:{}", file, line),
                     fmt::format("'{}' is no word: up to 8 hexadecimal digits are allowed", pams_quoted(text)));
  return static_cast<std::uint32_t>(*number);
}

std::vector<std::uint32_t> pams_words_of_text(std::string_view text, std::string_view file) {
  std::vector<std::uint32_t> words;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::vector<pams_token> tokens = pams_tokens_of(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (tokens.empty()) continue;
    if (tokens.size() > 1)
      refuse_pams_file(fmt::format("{}:{}", file, line),
                       fmt::format("'{}' is too much: a line has one word", pams_quoted(tokens[1].text)));
    words.push_back(pams_word_of(tokens[0].text, file, line));
  }
  return words;
}

}  // namespace

std::string pams_program::hexadecimal() const {
  const std::vector<std::uint32_t> all = words();
  std::string text;
  for (const line& each : lines_) {
    if (each.words == 0) text += fmt::format("; {}\n", each.text);
    for (std::uint32_t i = 0; i < each.words; ++i)
      text += fmt::format("{:08x}{}\n", all[each.address + i],
                          i == 0 ? fmt::format("  ; {:3}: {}", each.address, without_blanks_before(each.text)) : "");
  }
  return text;
}

std::string pams_program::json() const {
  ordered_json listing = ordered_json::array();
  for (const line& each : lines_)
    listing.push_back({{"address", each.address}, {"words", each.words}, {"text", without_blanks_before(each.text)}});
  const ordered_json all{{"format", pams_file_format},
                         {"version", pams_file_version},
                         {"words", words()},
                         {"nodes", pams_names_as_json(nodes_)},
                         {"handlers", pams_names_as_json(handlers_)},
                         {"labels", pams_names_as_json(labels_)},
                         {"lines", listing}};
  return all.dump(2) + "\n";
}

std::vector<std::uint32_t> read_pams_words(std::string_view text, std::string_view file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && text[first] == '{';
  std::vector<std::uint32_t> words = is_json ? pams_words_of_json(text, file) : pams_words_of_text(text, file);
  const std::string problem = pams_problem_of_length(words.size());
  if (!problem.empty()) refuse_pams_file(file, problem);
  return words;
}

}  // namespace situ::model
