#include <situ/model/pams_program.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>

#include "model/message_units/pams_encoding.h"
#include "model/message_units/pams_tokens.h"

namespace situ::model {
namespace {

void refuse_pams(const std::string& problem) {
  if (!problem.empty()) throw_error(errc::bad_argument, problem);
}

using pams_name_list = std::vector<std::pair<std::string, std::uint32_t>>;

std::optional<std::uint32_t> find_pams_name(const pams_name_list& names, std::string_view name) noexcept {
  for (const auto& [known, number] : names)
    if (known == name) return number;
  return std::nullopt;
}

// Returns the number of a symbol. Throws bad_argument for a name that is not there, and a number out of range.
std::uint32_t pams_number_of(const pams_program::symbol& symbol, const pams_name_list& names, const pams_range& range) {
  if (!symbol.is_name()) {
    refuse_pams(pams_problem_of(range, symbol.number()));
    return static_cast<std::uint32_t>(symbol.number());
  }
  const auto number = find_pams_name(names, symbol.name());
  if (!number) {
    std::vector<std::string> known;
    for (const auto& each : names) known.push_back(each.first);
    throw_error(errc::bad_argument, pams_no_such(range.what, symbol.name(), known));
  }
  return *number;
}

std::uint32_t pams_output_bits(const std::vector<std::uint32_t>& outputs) {
  std::uint32_t bits = 0;
  for (const std::uint32_t each : outputs) {
    refuse_pams(pams_problem_of(pams_ranges::output, each));
    bits |= 1U << each;
  }
  return bits;
}

void set_pams_arguments(pams_instruction& instruction, const pams_program::arguments& values) {
  instruction.arguments = static_cast<std::uint32_t>(std::min<std::size_t>(values.size(), pams_most_arguments + 1));
  if (values.size() > pams_most_arguments) return;  // refused with the instruction
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (const auto own = values[i].own()) {
      instruction.kinds[i] =
          *own == pams_program::own_value::timer ? pams_argument::timer : pams_argument::arrival_time;
      continue;
    }
    refuse_pams(pams_problem_of(pams_ranges::argument, values[i].number()));
    instruction.values[i] = static_cast<std::uint32_t>(values[i].number());
  }
}

}  // namespace

pams_program::condition pams_program::timer_is_over() noexcept { return condition{on_timer}; }
pams_program::condition pams_program::requests_are_sent() noexcept { return condition{on_sent}; }

pams_program::condition pams_program::messages_are_there(std::uint32_t counter) {
  refuse_pams(pams_problem_of(pams_ranges::counter, counter));
  return condition{on_message_0 << counter};
}

pams_program::condition pams_program::bytes_are_there(std::uint32_t counter) {
  refuse_pams(pams_problem_of(pams_ranges::counter, counter));
  return condition{on_transfer_0 << counter};
}

pams_program::condition pams_program::input_is_set(std::uint32_t input) {
  refuse_pams(pams_problem_of(pams_ranges::input, input));
  return condition{on_control_0 << input};
}

pams_program& pams_program::add_name(names& to, std::string_view directive, std::string_view name,
                                     std::uint32_t number) {
  refuse_pams(pams_problem_of_name(name));
  if (find_pams_name(to, name))
    throw_error(errc::bad_argument, fmt::format("there is a {} {} already: each name is given once", directive, name));
  const bool is_label = &to == &labels_;
  lines_.push_back(
      {size(), 0, is_label ? fmt::format("{}:", name) : fmt::format(".{} {} {}", directive, name, number)});
  to.emplace_back(name, number);
  return *this;
}

pams_program& pams_program::name_node(std::string_view name, std::uint32_t number) {
  refuse_pams(pams_problem_of(pams_ranges::node, number));
  return add_name(nodes_, "node", name, number);
}

pams_program& pams_program::name_handler(std::string_view name, std::uint32_t number) {
  refuse_pams(pams_problem_of(pams_ranges::handler, number));
  return add_name(handlers_, "handler", name, number);
}

pams_program& pams_program::label(std::string_view name) { return add_name(labels_, "label", name, size()); }

pams_program& pams_program::add(const pams_instruction& instruction, std::string_view node, std::string_view handler,
                                std::string_view label) {
  refuse_pams(pams_problem_of(instruction));
  const std::vector<std::uint32_t> words = encode_pams(instruction);
  lines_.push_back({size(), static_cast<std::uint32_t>(words.size()),
                    "  " + pams_text_of(instruction, {.node = node, .handler = handler, .label = label})});
  words_.insert(words_.end(), words.begin(), words.end());
  return *this;
}

pams_program& pams_program::timer_threshold(std::uint32_t cycles) {
  return add({.operation = pams_operation::timer_threshold, .value = cycles}, {}, {}, {});
}

pams_program& pams_program::timer_offset(std::int32_t cycles) {
  return add({.operation = pams_operation::timer_offset, .value = static_cast<std::uint32_t>(cycles)}, {}, {}, {});
}

pams_program& pams_program::add_counter(pams_instruction instruction, const symbol& handler, tokens fate) {
  instruction.handler = pams_number_of(handler, handlers_, pams_ranges::handler);
  instruction.keeps = fate == tokens::kept;
  return add(instruction, {}, handler.name(), {});
}

pams_program& pams_program::message_counter(std::uint32_t counter, const symbol& handler, std::uint32_t messages,
                                            tokens fate) {
  return add_counter({.operation = pams_operation::message_counter, .counter = counter, .value = messages}, handler,
                     fate);
}

pams_program& pams_program::transfer_counter(std::uint32_t counter, const symbol& handler, std::uint32_t bytes,
                                             tokens fate) {
  return add_counter({.operation = pams_operation::transfer_counter, .counter = counter, .value = bytes}, handler,
                     fate);
}

pams_program& pams_program::expect_messages(std::uint32_t counter, std::uint32_t more) {
  return add({.operation = pams_operation::expect_messages, .counter = counter, .value = more}, {}, {}, {});
}

pams_program& pams_program::expect_bytes(std::uint32_t counter, std::uint32_t more) {
  return add({.operation = pams_operation::expect_bytes, .counter = counter, .value = more}, {}, {}, {});
}

pams_program& pams_program::wait(condition all) {
  return add({.operation = pams_operation::wait, .value = all.bits()}, {}, {}, {});
}

pams_program& pams_program::control(const std::vector<std::uint32_t>& set, const std::vector<std::uint32_t>& clear) {
  return add({.operation = pams_operation::control, .set = pams_output_bits(set), .clear = pams_output_bits(clear)}, {},
             {}, {});
}

pams_program& pams_program::add_request(pams_instruction instruction, const symbol& handler, const symbol* node,
                                        const arguments& values) {
  instruction.handler = pams_number_of(handler, handlers_, pams_ranges::handler);
  if (node != nullptr) instruction.node = pams_number_of(*node, nodes_, pams_ranges::node);
  set_pams_arguments(instruction, values);
  return add(instruction, node != nullptr ? node->name() : std::string{}, handler.name(), {});
}

pams_program& pams_program::send(const symbol& handler, const symbol& node, const arguments& values) {
  return add_request({.operation = pams_operation::send}, handler, &node, values);
}

pams_program& pams_program::send_long(const symbol& handler, const symbol& node, const transfer& data,
                                      const arguments& values) {
  return add_request({.operation = pams_operation::send_long, .at = data.at, .bytes = data.bytes, .from = data.from},
                     handler, &node, values);
}

pams_program& pams_program::reply(const symbol& handler, const arguments& values) {
  return add_request({.operation = pams_operation::reply}, handler, nullptr, values);
}

pams_program& pams_program::reply_long(const symbol& handler, const transfer& data, const arguments& values) {
  return add_request({.operation = pams_operation::reply_long, .at = data.at, .bytes = data.bytes, .from = data.from},
                     handler, nullptr, values);
}

pams_program& pams_program::jump(const symbol& to) {
  pams_instruction instruction{.operation = pams_operation::jump};
  if (!to.is_name()) {
    refuse_pams(pams_problem_of(pams_ranges::place, to.number()));
    instruction.value = static_cast<std::uint32_t>(to.number());
    return add(instruction, {}, {}, {});
  }
  refuse_pams(pams_problem_of_name(to.name()));
  label_uses_.push_back({size(), to.name()});
  return add(instruction, {}, {}, to.name());
}

pams_program& pams_program::halt() { return add({.operation = pams_operation::halt}, {}, {}, {}); }

pams_program& pams_program::word(std::uint32_t value) {
  lines_.push_back({size(), 1, fmt::format("  .word {:#010x}", value)});
  words_.push_back(value);
  return *this;
}

std::optional<std::uint32_t> pams_program::find_node(std::string_view name) const noexcept {
  return find_pams_name(nodes_, name);
}
std::optional<std::uint32_t> pams_program::find_handler(std::string_view name) const noexcept {
  return find_pams_name(handlers_, name);
}
std::optional<std::uint32_t> pams_program::find_label(std::string_view name) const noexcept {
  return find_pams_name(labels_, name);
}

std::vector<std::uint32_t> pams_program::words() const {
  refuse_pams(pams_problem_of_length(size()));
  std::vector<std::uint32_t> words = words_;
  for (const label_use& use : label_uses_) {
    const std::uint32_t place = pams_number_of(use.label, labels_, {"label"});
    refuse_pams(pams_problem_of(pams_ranges::place, place));
    words[use.address] |= place;
  }
  return words;
}

std::string pams_program::text() const {
  std::string text;
  for (const line& each : lines_) text += each.text + "\n";
  return text;
}

std::vector<std::vector<std::uint32_t>> pams_program::load_messages(std::span<const std::uint32_t> words,
                                                                    std::uint32_t first) {
  if (first > pams_words || words.size() > pams_words - first)
    throw_error(errc::bad_argument, fmt::format("{} words from word {} on do not fit: the instruction RAM has {}",
                                                words.size(), first, pams_words));
  return pams_load_arguments(words, first);
}

}  // namespace situ::model
