#include "model/parts/ramulator_trace.h"

#include <situ/base/error.h>

#include "model/parts/champsim_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace situ::model {
namespace {

constexpr std::size_t longest_line = 255;
constexpr std::uint64_t most_bubbles = 0x7fffffff;  // Ramulator's are an int
constexpr std::string_view blanks = " \t\r";

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    if (text.empty()) return words;
    words.push_back(text.substr(0, text.find_first_of(blanks)));
    text.remove_prefix(words.back().size());
  }
}

// Returns the format that a line of these words has, by its letters alone.
std::optional<ramulator_format> format_of(const std::vector<std::string_view>& words) {
  const auto is = [&](std::size_t at, std::string_view a, std::string_view b) {
    return words[at] == a || words[at] == b;
  };
  if (words.size() == 2 && is(0, "LD", "ST")) return ramulator_format::load_store;
  if (words.size() == 2 && is(1, "R", "W")) return ramulator_format::dram;
  if ((words.size() == 2 || words.size() == 3) && words[0].find_first_not_of("0123456789") == words[0].npos)
    return ramulator_format::cpu;
  return std::nullopt;
}

constexpr const char* form_of(ramulator_format format) {
  switch (format) {
    case ramulator_format::dram: return "ADDRESS R|W";
    case ramulator_format::load_store: return "LD|ST ADDRESS";
    case ramulator_format::cpu: break;
  }
  return "INSTRUCTIONS READ_ADDRESS [WRITE_BACK_ADDRESS]";
}

}  // namespace

std::string to_text(const ramulator_line& line, ramulator_format format) {
  switch (format) {
    case ramulator_format::dram: return fmt::format("{:#x} {}\n", line.address, line.writes ? 'W' : 'R');
    case ramulator_format::load_store: return fmt::format("{} {:#x}\n", line.writes ? "ST" : "LD", line.address);
    case ramulator_format::cpu: break;
  }
  if (line.bubbles > most_bubbles)
    throw_error(
        errc::bad_argument,
        fmt::format("a core executes {} instructions before its read of {:#x}, and a line of a core has at most "
                    "{}: trace a region with --fast-forward, or requests alone, by ramulator-dram",
                    line.bubbles, line.address, most_bubbles));
  if (!line.write_back) return fmt::format("{} {}\n", line.bubbles, line.address);
  return fmt::format("{} {} {}\n", line.bubbles, line.address, *line.write_back);
}

bool ramulator_reader::next(ramulator_line& line) {
  std::array<char, longest_line + 1> text;
  while (from_.getline(text.data(), text.size()) || from_.gcount() > 0) {
    if (from_.bad()) break;  // within a line
    ++number_;
    if (from_.fail() && !from_.eof()) refuse(fmt::format("has more than {} characters", longest_line));
    const std::string_view read{text.data(), static_cast<std::size_t>(from_.gcount()) - (from_.eof() ? 0 : 1)};
    if (read.find_first_not_of(blanks) == read.npos) continue;
    line = parse(read);
    return true;
  }
  if (from_.bad()) throw_error(errc::bad_file, fmt::format("{}: cannot be read after line {}", name_, number_));
  return false;
}

ramulator_line ramulator_reader::parse(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  const std::optional<ramulator_format> found = format_of(words);
  if (!found && words.size() == 2 && (words[0] == "R" || words[0] == "W"))
    refuse(
        "names a place in a memory, not an address (Ramulator 2's ReadWriteTrace): write the trace as LD|ST ADDRESS");
  if (format_ && found != format_)
    refuse(fmt::format("is not of the form \"{}\" of the lines before", form_of(*format_)));
  if (!found)
    refuse(fmt::format("is neither \"{}\", nor \"{}\", nor \"{}\"", form_of(ramulator_format::dram),
                       form_of(ramulator_format::load_store), form_of(ramulator_format::cpu)));
  format_ = found;
  switch (*found) {
    case ramulator_format::dram: return {.address = number(words[0], 16, "address"), .writes = words[1] == "W"};
    case ramulator_format::load_store: return {.address = number(words[1], 10, "address"), .writes = words[0] == "ST"};
    case ramulator_format::cpu: break;
  }
  ramulator_line made{.bubbles = number(words[0], 10, "number of instructions"),
                      .address = number(words[1], 10, "address")};
  if (made.bubbles > most_bubbles) refuse(fmt::format("has more than {} instructions", most_bubbles));
  if (words.size() == 3) made.write_back = number(words[2], 10, "address");
  return made;
}

// Reads a number of this base, or a hexadecimal one behind 0x.
std::uint64_t ramulator_reader::number(std::string_view text, int base, const char* what) const {
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (failed == std::errc::result_out_of_range || (failed == std::errc{} && value >= trace_address_end))
    refuse(fmt::format("{} has more than 57 bits, as no {} has", text, what));
  if (failed != std::errc{} || end != digits.data() + digits.size()) refuse(fmt::format("has no {} in {}", what, text));
  return value;
}

void ramulator_reader::refuse(std::string_view why) const {
  throw_error(errc::bad_file, fmt::format("{}:{}: {}", name_, number_, why));
}

}  // namespace situ::model
