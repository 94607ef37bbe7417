#include "model/message_units/pams_operands.h"

#include <fmt/format.h>

namespace situ::model {

std::string_view pams_operands::take(std::string_view what) {
  if (is_at_end()) {
    const pams_token& last = tokens_.back();
    throw pams_mistake{last.column + static_cast<std::uint32_t>(last.text.size()),
                       fmt::format("a {} is missing: {}", what, usage_)};
  }
  return tokens_[next_++].text;
}

bool pams_operands::skip(std::string_view word) noexcept {
  if (!is_next(word)) return false;
  ++next_;
  return true;
}

void pams_operands::expect(std::string_view word) {
  const std::string_view found = take(fmt::format("'{}'", word));
  if (found != word) refuse(fmt::format("'{}' stands in the place of '{}': {}", pams_quoted(found), word, usage_));
}

void pams_operands::expect_end() {
  if (!is_at_end()) refuse(fmt::format("'{}' is too much: {}", pams_quoted(take("")), usage_));
}

std::int64_t pams_operands::number_of(std::string_view text, const pams_range& range) const {
  const auto number = pams_number(text);
  const std::string quoted = pams_quoted(text);
  if (!number) refuse(fmt::format("'{}' is no number; a {} is {}", quoted, range.what, pams_range_text(range)));
  const std::string problem = pams_problem_of(range, *number, quoted);
  if (!problem.empty()) refuse(problem);
  return *number;
}

std::uint32_t pams_operands::counter(char letter) {
  const std::string_view found = take("counter");
  if (found.size() != 2 || found[0] != letter || found[1] < '0' || found[1] >= static_cast<char>('0' + pams_counters))
    refuse(fmt::format("'{0}' is no counter here: {1}0 to {1}{2} are allowed", pams_quoted(found), letter,
                       pams_counters - 1));
  return static_cast<std::uint32_t>(found[1] - '0');
}

pams_program::symbol pams_operands::symbol(const pams_range& range,
                                           const std::function<std::optional<std::uint32_t>(std::string_view)>& find,
                                           const std::vector<std::string>& names) {
  const std::string_view found = take(range.what);
  if (!is_pams_name(found)) {
    if (pams_number(found)) return number_of(found, range);
    refuse(fmt::format("'{}' is neither a name nor a number; a {} is {}", pams_quoted(found), range.what,
                       pams_range_text(range)));
  }
  if (!find(found)) refuse(pams_no_such(range.what, found, names));
  return found;
}

std::string_view pams_operands::name() {
  const std::string_view found = take("name");
  const std::string problem = pams_problem_of_name(found);
  if (!problem.empty()) refuse(problem);
  return found;
}

pams_program::condition pams_operands::condition() {
  const std::string_view found = take("condition");
  if (found == "timer") return pams_program::timer_is_over();
  if (found == "sent") return pams_program::requests_are_sent();
  const unsigned number = found.size() == 2 ? static_cast<unsigned char>(found[1]) - static_cast<unsigned>('0') : 4U;
  if (number < 4 && found[0] == 'm') return pams_program::messages_are_there(number);
  if (number < 4 && found[0] == 'x') return pams_program::bytes_are_there(number);
  if (number < 4 && found[0] == 'c') return pams_program::input_is_set(number);
  refuse(fmt::format("'{}' is no condition: timer, m0 to m3, x0 to x3, c0 to c3 and sent are allowed",
                     pams_quoted(found)));
}

pams_program::argument pams_operands::argument() {
  const std::string_view found = take("argument");
  if (found == "timer") return pams_program::own_value::timer;
  if (found == "arrival") return pams_program::own_value::arrival_time;
  const auto number = pams_number(found);
  if (!number) refuse(fmt::format("'{}' is no argument: a number, timer and arrival are allowed", pams_quoted(found)));
  return number_of(found, pams_ranges::argument);
}

}  // namespace situ::model
