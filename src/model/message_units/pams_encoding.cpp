#include "model/message_units/pams_encoding.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ::model {
namespace {

constexpr std::uint32_t keeps_bit = 1U << 25;
constexpr std::uint32_t all_conditions = (on_sent << 1) - 1;

// Returns the bit of a request's first word at which the kind of an argument begins.
constexpr unsigned kind_shift(unsigned argument) { return 10 + 2 * argument; }

std::uint32_t request_word(const pams_instruction& instruction) {
  std::uint32_t word = instruction.node << 18 | instruction.arguments << 16 | instruction.handler;
  for (unsigned i = 0; i < instruction.arguments; ++i)
    word |= static_cast<std::uint32_t>(instruction.kinds[i]) << kind_shift(i);
  return word;
}

std::uint32_t fields_of(const pams_instruction& instruction) {
  switch (instruction.operation) {
    case pams_operation::halt:
    case pams_operation::timer_threshold:
    case pams_operation::timer_offset: return 0;
    case pams_operation::message_counter:
    case pams_operation::transfer_counter:
      return instruction.counter << 26 | (instruction.keeps ? keeps_bit : 0U) | instruction.handler;
    case pams_operation::expect_messages:
    case pams_operation::expect_bytes: return instruction.counter << 26;
    case pams_operation::wait:
    case pams_operation::jump: return instruction.value;
    case pams_operation::control: return instruction.clear << 8 | instruction.set;
    case pams_operation::send:
    case pams_operation::send_long:
    case pams_operation::reply:
    case pams_operation::reply_long: return request_word(instruction);
  }
  return 0;
}

// Takes the fields of a request out of its words. False if they are too few, or the first one has an unknown argument.
bool take_request(std::span<const std::uint32_t> words, pams_instruction& to) {
  const std::uint32_t word = words[0];
  std::size_t next = 1;
  to.node = goes_to_node(to.operation) ? word >> 18 & 1023U : 0U;
  to.arguments = word >> 16 & 3U;
  to.handler = word & 255U;
  if (is_long_request(to.operation)) {
    if (words.size() < 4) return false;
    to.at = words[1];
    to.bytes = words[2];
    to.from = words[3];
    next = 4;
  }
  for (unsigned i = 0; i < to.arguments; ++i) {
    const std::uint32_t kind = word >> kind_shift(i) & 3U;
    if (kind > static_cast<std::uint32_t>(pams_argument::arrival_time)) return false;
    to.kinds[i] = static_cast<pams_argument>(kind);
    if (to.kinds[i] != pams_argument::code) continue;
    if (next == words.size()) return false;
    to.values[i] = words[next++];
  }
  return true;
}

// Takes all fields. False if words are missing.
bool take_fields(std::span<const std::uint32_t> words, pams_instruction& to) {
  const std::uint32_t word = words[0];
  if (is_request(to.operation)) return take_request(words, to);
  if (has_operand(to.operation)) {
    if (words.size() < 2) return false;
    to.value = words[1];
    to.counter = word >> 26 & 3U;
    to.keeps = sets_counter(to.operation) && (word & keeps_bit) != 0;
    to.handler = sets_counter(to.operation) ? word & 255U : 0U;
  } else if (to.operation == pams_operation::wait) {
    to.value = word & all_conditions;
  } else if (to.operation == pams_operation::control) {
    to.set = word & 15U;
    to.clear = word >> 8 & 15U;
  } else if (to.operation == pams_operation::jump) {
    to.value = word & (pams_words - 1);
  }
  return true;
}

std::string problem_of_request(const pams_instruction& instruction) {
  std::string problem = pams_problem_of(pams_ranges::handler, instruction.handler);
  if (problem.empty()) problem = pams_problem_of(pams_ranges::node, instruction.node);
  if (problem.empty()) problem = pams_problem_of(pams_ranges::address, instruction.at);
  if (problem.empty()) problem = pams_problem_of(pams_ranges::bytes, instruction.bytes);
  if (problem.empty()) problem = pams_problem_of(pams_ranges::address, instruction.from);
  if (problem.empty() && instruction.arguments > pams_most_arguments)
    problem = fmt::format("{} arguments are too many: a request of PAMS has at most {}", instruction.arguments,
                          pams_most_arguments);
  return problem;
}

std::string problem_of_outputs(const pams_instruction& instruction) {
  if ((instruction.set | instruction.clear) == 0) return "control needs an output to set or to clear";
  if ((instruction.set & instruction.clear) != 0) return "an output is to be set and to be cleared at once";
  return {};
}

std::string number_text(std::uint32_t number) {
  return number < 10 ? fmt::format("{}", number) : fmt::format("{:#x}", number);
}

std::string name_or(std::string_view name, std::uint32_t number) {
  return name.empty() ? fmt::format("{}", number) : std::string{name};
}

std::string conditions_text(std::uint32_t conditions) {
  std::string text;
  const auto add = [&](std::uint32_t bit, const std::string& name) {
    if ((conditions & bit) != 0) text += " " + name;
  };
  add(on_timer, "timer");
  for (unsigned i = 0; i < pams_counters; ++i) add(on_message_0 << i, fmt::format("m{}", i));
  for (unsigned i = 0; i < pams_counters; ++i) add(on_transfer_0 << i, fmt::format("x{}", i));
  for (unsigned i = 0; i < pams_controls; ++i) add(on_control_0 << i, fmt::format("c{}", i));
  add(on_sent, "sent");
  return text;
}

std::string outputs_text(std::string_view word, std::uint32_t outputs) {
  if (outputs == 0) return {};
  std::string text = fmt::format(" {}", word);
  for (unsigned i = 0; i < pams_controls; ++i)
    if ((outputs >> i & 1U) != 0) text += fmt::format(" {}", i);
  return text;
}

std::string request_text(const pams_instruction& instruction, const pams_symbols& symbols) {
  std::string text = " " + name_or(symbols.handler, instruction.handler);
  if (goes_to_node(instruction.operation)) text += " " + name_or(symbols.node, instruction.node);
  if (is_long_request(instruction.operation))
    text += fmt::format(" at {} bytes {} from {}", number_text(instruction.at), instruction.bytes,
                        number_text(instruction.from));
  for (unsigned i = 0; i < instruction.arguments; ++i) {
    switch (instruction.kinds[i]) {
      case pams_argument::code: text += fmt::format(" {}", instruction.values[i]); break;
      case pams_argument::timer: text += " timer"; break;
      case pams_argument::arrival_time: text += " arrival"; break;
    }
  }
  return text;
}

}  // namespace

std::string pams_range_text(const pams_range& range) {
  return fmt::format("{}{} to {}",
                     range.multiple_of == 1 ? "" : fmt::format("multiples of {} from ", range.multiple_of),
                     range.lowest, range.highest);
}

std::string pams_problem_of(const pams_range& range, std::int64_t number, std::string_view written) {
  if (number >= range.lowest && number <= range.highest && number % range.multiple_of == 0) return {};
  return fmt::format("{} is no {}: {} are allowed", written.empty() ? fmt::format("{}", number) : std::string{written},
                     range.what, pams_range_text(range));
}

std::string pams_problem_of_counted(std::int64_t handler) {
  if (handler == handler_load || handler == handler_start)
    return fmt::format("no counter counts handler {:#x}, which is {}: 0 to 255 without 0xf0 and 0xf1 are allowed",
                       handler, handler == handler_load ? "LOAD" : "START");
  return pams_problem_of(pams_ranges::handler, handler);
}

std::string pams_problem_of(const pams_instruction& instruction) {
  if (is_request(instruction.operation)) return problem_of_request(instruction);
  if (instruction.operation == pams_operation::control) return problem_of_outputs(instruction);
  if (instruction.operation == pams_operation::wait)
    return instruction.value == 0 ? "a wait needs a condition: timer, m0 to m3, x0 to x3, c0 to c3, sent" : "";
  if (instruction.operation == pams_operation::jump) return pams_problem_of(pams_ranges::place, instruction.value);
  std::string problem = pams_problem_of(pams_ranges::counter, instruction.counter);
  if (problem.empty() && sets_counter(instruction.operation)) problem = pams_problem_of_counted(instruction.handler);
  return problem;
}

std::vector<std::uint32_t> encode_pams(const pams_instruction& instruction) {
  std::vector<std::uint32_t> words{static_cast<std::uint32_t>(instruction.operation) << 28 | fields_of(instruction)};
  if (has_operand(instruction.operation)) words.push_back(instruction.value);
  if (is_long_request(instruction.operation))
    words.insert(words.end(), {instruction.at, instruction.bytes, instruction.from});
  for (unsigned i = 0; i < instruction.arguments; ++i)
    if (instruction.kinds[i] == pams_argument::code) words.push_back(instruction.values[i]);
  return words;
}

std::optional<pams_instruction> decode_pams(std::span<const std::uint32_t> words) {
  if (words.empty() || words[0] >> 28 >= pams_operations) return std::nullopt;
  pams_instruction found{.operation = static_cast<pams_operation>(words[0] >> 28)};
  if (!take_fields(words, found) || !pams_problem_of(found).empty()) return std::nullopt;
  if (encode_pams(found)[0] != words[0]) return std::nullopt;  // reserved bits
  return found;
}

std::string pams_text_of(const pams_instruction& instruction, const pams_symbols& symbols) {
  const pams_operation operation = instruction.operation;
  std::string text{pams_names[static_cast<std::size_t>(operation)]};
  if (is_request(operation)) return text + request_text(instruction, symbols);
  if (operation == pams_operation::wait) return text + conditions_text(instruction.value);
  if (operation == pams_operation::control)
    return text + outputs_text("set", instruction.set) + outputs_text("clear", instruction.clear);
  if (operation == pams_operation::jump) return text + " " + name_or(symbols.label, instruction.value);
  if (operation == pams_operation::timer_offset)
    return text + fmt::format(" {}", static_cast<std::int32_t>(instruction.value));
  if (!has_operand(operation)) return text;
  if (operation != pams_operation::timer_threshold) {
    const bool is_message =
        operation == pams_operation::message_counter || operation == pams_operation::expect_messages;
    text += fmt::format(" {}{}", is_message ? 'm' : 'x', instruction.counter);
  }
  if (sets_counter(operation)) text += " " + name_or(symbols.handler, instruction.handler);
  return text + fmt::format(" {}{}", instruction.value, instruction.keeps ? " keeps" : "");
}

std::vector<std::vector<std::uint32_t>> pams_load_arguments(std::span<const std::uint32_t> words, std::uint32_t first) {
  constexpr std::size_t most = message_kind::most_arguments - 1;  // an address is before them
  std::vector<std::vector<std::uint32_t>> messages;
  for (std::size_t at = 0; at < words.size(); at += most) {
    const auto part = words.subspan(at, std::min(most, words.size() - at));
    messages.push_back({first + static_cast<std::uint32_t>(at)});
    messages.back().insert(messages.back().end(), part.begin(), part.end());
  }
  return messages;
}

}  // namespace situ::model
