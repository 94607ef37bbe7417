#include "model/message_units/pams_unit.h"

#include <fmt/format.h>

#include <string_view>

namespace situ::model {
namespace {

constexpr pams_operation operation(std::uint32_t instruction) noexcept {
  return static_cast<pams_operation>(instruction >> 28);
}
constexpr unsigned which_counter(std::uint32_t instruction) noexcept { return instruction >> 26 & 3U; }
constexpr bool is_long_request(std::uint32_t instruction) noexcept {
  return operation(instruction) == pams_operation::send_long || operation(instruction) == pams_operation::reply_long;
}
constexpr bool is_reply(std::uint32_t instruction) noexcept {
  return operation(instruction) == pams_operation::reply || operation(instruction) == pams_operation::reply_long;
}
// Returns whether each argument of a request is of a kind that there is.
constexpr bool has_known_arguments(std::uint32_t instruction) noexcept {
  for (unsigned i = 0; i < pams_most_arguments; ++i)
    if ((instruction >> (10 + 2 * i) & 3U) == 3) return false;
  return true;
}
constexpr unsigned fixed_words(bool is_long) noexcept { return is_long ? 5 : 4; }

}  // namespace

// The sequencer goes first: it sees the counters of the cycle's start.
bool pams_unit::step(cycle now, node_ports& node) {
  timer_ = static_cast<std::uint32_t>(now) + offset_;
  stepped_at_ = now;
  messages_set_ = transfers_set_ = 0;
  bool changed = step_sequencer(now, node);
  changed |= step_calls(now, node);
#pragma GCC unroll 2
  for (word_fifo& sent : node.fsls.sent)
    if (sent.has_word(now)) {
      (void)sent.take(now);
      --unsent_;
      changed = true;
    }
  return changed;
}

// --- the sequencer

inline bool pams_unit::step_sequencer(cycle now, node_ports& node) {
  switch (state_) {
    case state::idle: return false;
    case state::fetch:
      node.act(now, "PAMS", "FETCH", pc_);
      instruction_ = code_word(node);
      state_ = state::execute;
      return true;
    case state::execute:
      node.act(now, "PAMS", "EXECUTE", instruction_);
      execute(node);
      return true;
    case state::operand:
      node.act(now, "PAMS", "OPERAND", pc_);
      take_operand(code_word(node));
      state_ = state::fetch;
      return true;
    case state::wait:
      if (!holds(instruction_, node)) return false;
      node.act(now, "PAMS", "WAIT", instruction_);
      state_ = state::fetch;
      return true;
    case state::words: return write_request(now, node);
  }
  return false;
}

inline std::uint32_t pams_unit::code_word(node_ports& node) {
  if (pc_ >= pams_words) {
    node.fail(unit_fault::outside_program, pc_);
    return 0;
  }
  return ram_[pc_++];
}

inline void pams_unit::execute(node_ports& node) {
  state_ = state::fetch;
  switch (operation(instruction_)) {
    case pams_operation::halt: state_ = state::idle; return;
    case pams_operation::timer_threshold:
    case pams_operation::timer_offset:
    case pams_operation::message_counter:
    case pams_operation::transfer_counter:
    case pams_operation::expect_messages:
    case pams_operation::expect_bytes: state_ = state::operand; return;
    case pams_operation::wait: state_ = state::wait; return;
    case pams_operation::control:
      node.control_out =
          static_cast<std::uint8_t>((node.control_out & ~(instruction_ >> 8)) | (instruction_ & 15U)) & 15U;
      return;
    case pams_operation::send:
    case pams_operation::send_long:
    case pams_operation::reply:
    case pams_operation::reply_long:
      if (has_known_arguments(instruction_)) return begin_request(node);
      break;
    case pams_operation::jump: pc_ = instruction_ & (pams_words - 1); return;
  }
  node.fail(unit_fault::unknown_instruction, instruction_);
}

inline void pams_unit::begin_request(node_ports& node) {
  state_ = state::words;
  step_ = 0;
  if (!is_reply(instruction_)) return;
  if (kept_count_ == 0) return node.fail(unit_fault::nothing_to_answer, instruction_);
  token_ = kept_[kept_first_];
  kept_first_ = (kept_first_ + 1) % kept_.size();
  --kept_count_;
}

inline void pams_unit::take_operand(std::uint32_t word) {
  const unsigned which = which_counter(instruction_);
  const counter set{instruction_ & 255U, 0, word, (instruction_ >> 25 & 1U) != 0};
  switch (operation(instruction_)) {
    case pams_operation::timer_threshold: threshold_ = word; return;
    case pams_operation::timer_offset: offset_ += word; return;
    case pams_operation::message_counter:
      messages_[which] = set;
      messages_set_ = 1U << which;
      return;
    case pams_operation::transfer_counter:
      transfers_[which] = set;
      transfers_set_ = 1U << which;
      return;
    case pams_operation::expect_messages: messages_[which].threshold += word; return;
    default: transfers_[which].threshold += word; return;
  }
}

inline bool pams_unit::holds(std::uint32_t conditions, const node_ports& node) const noexcept {
  if ((conditions & on_timer) != 0 && timer_ < threshold_) return false;
  if ((conditions & on_sent) != 0 && unsent_ != 0) return false;
  for (unsigned i = 0; i < pams_counters; ++i) {
    if ((conditions & on_message_0 << i) != 0 && !messages_[i].is_reached()) return false;
    if ((conditions & on_transfer_0 << i) != 0 && !transfers_[i].is_reached()) return false;
    if ((conditions & on_control_0 << i) != 0 && (node.control_in >> i & 1) == 0) return false;
  }
  return true;
}

inline bool pams_unit::write_request(cycle now, node_ports& node) {
  word_fifo& words = node.fsls.requests[is_reply(instruction_) ? 1 : 0];
  if (!words.has_room(now)) return false;
  const std::uint32_t word = request_word(node);
  words.put({word, false}, now);
  node.act(now, "PAMS", "WORDS", word);
  ++step_;
  if (step_ < fixed_words(is_long_request(instruction_)) + (instruction_ >> 16 & 3U)) return true;
  ++unsent_;
  state_ = state::fetch;
  return true;
}

inline std::uint32_t pams_unit::request_word(node_ports& node) {
  const bool is_long = is_long_request(instruction_);
  const unsigned arguments = instruction_ >> 16 & 3U;
  switch (step_) {
    case 0:
      return message_kind::word(static_cast<std::uint8_t>(instruction_), arguments, is_long, is_reply(instruction_));
    case 1: return is_reply(instruction_) ? token_ | token_word::is_done : instruction_ >> 18 & 1023U;
    default: break;
  }
  const unsigned fixed = fixed_words(is_long);
  if (step_ < fixed) return is_long ? code_word(node) : 0;
  const auto kind = static_cast<pams_argument>(instruction_ >> (10 + 2 * (step_ - fixed)) & 3U);
  if (kind == pams_argument::timer) return timer_;
  return kind == pams_argument::arrival_time ? arrival_time_ : code_word(node);
}

// --- calls

inline bool pams_unit::step_calls(cycle now, node_ports& node) {
  bool changed = false;
  if (has_load_) {
    if (load_at_ >= pams_words)
      node.fail(unit_fault::outside_program, load_at_);
    else
      ram_[load_at_++] = load_word_;
    has_load_ = false;
    changed = true;
  }
  if (call_is_whole_) {
    count_call(now, node);
    call_is_whole_ = false;
    changed = true;
  }
  if (node.fsls.calls.has_word(now)) {
    take_call_word(node.fsls.calls.take(now).word, node);
    changed = true;
  }
  return changed;
}

inline void pams_unit::take_call_word(std::uint32_t word, node_ports& node) {
  switch (call_words_) {
    case 0:
      kind_ = word;
      first_argument_ = 0;
      break;
    case 1: call_token_ = word; break;
    case 2: break;
    case 3: call_bytes_ = word; break;
    default: take_load_word(word, node); break;
  }
  ++call_words_;
  if (call_words_ < 4 + message_kind::arguments(kind_)) return;
  call_words_ = 0;
  call_is_whole_ = true;
}

inline void pams_unit::take_load_word(std::uint32_t word, node_ports& /*node*/) {
  if (call_words_ == 4) {
    first_argument_ = word;
    if (message_kind::handler(kind_) == handler_load) load_at_ = word;
    return;
  }
  if (message_kind::handler(kind_) != handler_load) return;
  has_load_ = true;
  load_word_ = word;
}

inline void pams_unit::count_call(cycle now, node_ports& node) {
  const std::uint8_t handler = message_kind::handler(kind_);
  node.act(now, "PAMS", "COUNT", kind_);
  bool is_counted = handler == handler_load || handler == handler_start || handler == handler_poll;
  bool keeps = false;
  for (unsigned i = 0; i < pams_counters; ++i) {
    if (messages_[i].handler == handler) {
      is_counted = true;
      keeps = keeps || messages_[i].keeps_tokens;
      if ((messages_set_ >> i & 1U) == 0) ++messages_[i].count;
    }
    if (transfers_[i].handler == handler) {
      is_counted = true;
      keeps = keeps || transfers_[i].keeps_tokens;
      if ((transfers_set_ >> i & 1U) == 0) transfers_[i].count += call_bytes_;
    }
  }
  if (!is_counted) node.fail(unit_fault::handler_not_counted, handler);
  if (handler != handler_poll) arrival_time_ = timer_;
  if ((kind_ & message_kind::is_reply) == 0) {
    if (keeps && kept_count_ < kept_.size())
      kept_[(kept_first_ + kept_count_++) % kept_.size()] = call_token_;
    else
      node.fsls.tokens.put({call_token_, false}, now);
  }
  if (handler != handler_start) return;
  if (first_argument_ >= pams_words) return node.fail(unit_fault::outside_program, first_argument_);
  pc_ = first_argument_;
  state_ = state::fetch;
  was_started_ = true;
}

// --- reports

cycle pams_unit::wakes_at() const noexcept {
  if (state_ != state::wait || (instruction_ & on_timer) == 0 || timer_ >= threshold_) return never;
  return stepped_at_ + (threshold_ - timer_);
}

std::string pams_unit::conditions_text() const {
  std::string text;
  const auto add = [&](std::string part) {
    if (!text.empty()) text += " and ";
    text += part;
  };
  if ((instruction_ & on_timer) != 0 && timer_ < threshold_) add(fmt::format("the timer to reach {}", threshold_));
  if ((instruction_ & on_sent) != 0 && unsent_ != 0) add(fmt::format("{} messages to leave", unsent_));
  for (unsigned i = 0; i < pams_counters; ++i) {
    const counter &m = messages_[i], &x = transfers_[i];
    if ((instruction_ & on_message_0 << i) != 0 && !m.is_reached())
      add(fmt::format("m{}: {} of {} messages for handler {}", i, m.count, m.threshold, m.handler));
    if ((instruction_ & on_transfer_0 << i) != 0 && !x.is_reached())
      add(fmt::format("x{}: {} of {} bytes for handler {}", i, x.count, x.threshold, x.handler));
    if ((instruction_ & on_control_0 << i) != 0) add(fmt::format("control input {}", i));
  }
  return text;
}

std::string pams_unit::where() const {
  if (!was_started_) return "no program was started";
  switch (state_) {
    case state::idle: return "halted";
    case state::wait: return fmt::format("pc {}, waits for {}", pc_ - 1, conditions_text());
    case state::words: return fmt::format("pc {}, has no room in FSL 3", pc_);
    default: return fmt::format("pc {}", pc_);
  }
}

}  // namespace situ::model
