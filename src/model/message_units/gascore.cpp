#include "model/message_units/gascore.h"

#include <algorithm>
#include <string_view>

namespace situ::model {
namespace {

constexpr std::string_view transmit_name(unsigned of) noexcept { return of == 0 ? "transmit" : "transmit reply"; }

// The bytes of a long message's word: 4, or fewer of the last one.
constexpr std::uint32_t bytes_of_word(std::uint32_t bytes, std::uint32_t word) noexcept {
  return std::min<std::uint32_t>(4, bytes - 4 * word);
}

constexpr std::uint32_t with_bytes(std::uint32_t old, std::uint32_t word, std::uint32_t bytes) noexcept {
  if (bytes == 4) return word;
  const std::uint32_t mask = (std::uint32_t{1} << 8 * bytes) - 1;
  return (old & ~mask) | (word & mask);
}

constexpr bool is_long(std::uint32_t kind) noexcept { return (kind & message_kind::is_long) != 0; }

}  // namespace

bool gascore::step(cycle now, node_ports& node) {
  tokens_.begin_cycle();
  const start begun{output_, receive_.written, receive_.queued,
                    node.fsls.calls.held(now) + (has_call_ ? 1U : 0U) < node.fsls.calls.depth()};
  bool changed = false;
  if (has_call_) {
    node.fsls.calls.put({call_, false}, now);
    has_call_ = false;
    changed = true;
  }
  if (node.fsls.tokens.has_word(now)) {
    const std::uint32_t token = node.fsls.tokens.take(now).word;
    if (!tokens_.free(token)) node.fail(unit_fault::unknown_token, token);
    changed = true;
  }
  if (is_bus_busy()) changed |= step_bus(now, node);
#pragma GCC unroll 2
  for (unsigned of = 0; of < lanes; ++of)
    if (transmits_[of].state != transmit_state::kind || node.fsls.requests[of].has_word(now))
      changed |= step_transmit(of, begun.output, now, node);
  if (receive_.state != receive_state::head || node.in[0].has_word(now) || node.in[1].has_word(now))
    changed |= step_receive(begun, now, node);
  return changed;
}

// Returns whether a word is on its way between a unit and the memory, or waits for it.
inline bool gascore::is_bus_busy() const noexcept {
  return stages_ != 0 || transmits_[0].to_ask != 0 || transmits_[1].to_ask != 0 || receive_.unasked != 0;
}

// --- memory bus: from its end to its beginning, so that each stage sees what the one before had at the cycle's start

inline bool gascore::step_bus(cycle now, node_ports& node) {
  const bool was_busy = stages_ != 0;
  output_ = latch_;  // FETCH
  latch_ = {};
  if (port_.what == access::read) {
    latch_ = port_;
    latch_.word = node.memory[port_.at];
    node.act(now, "memory bus", "READ", port_.at * 4);
  } else if (port_.what == access::write) {
    node.memory[port_.at] = with_bytes(node.memory[port_.at], port_.word, port_.bytes);
    node.written_at = now;
    node.written_word = port_.at;
    ++receive_.written;
    node.act(now, "memory bus", "WRITE", port_.at * 4);
  }
  port_ = {};
  grant(node);
  granted_ = ask(now, node);
  stages_ = (granted_.what != access::none) + (port_.what != access::none) + (latch_.what != access::none) +
            (output_.what != access::none);
  return was_busy || stages_ != 0;
}

inline void gascore::grant(node_ports& node) {
  if (granted_.what == access::none) return;
  port_ = granted_;
  std::uint32_t at = 0;
  if (granted_.what == access::read) {
    at = transmits_[granted_.of].from;
    transmits_[granted_.of].from += 4;
  } else {
    at = receive_.write_at;
    port_.word = receive_.queue[receive_.queue_first];
    port_.bytes = static_cast<std::uint16_t>(bytes_of_word(receive_.bytes, (at - receive_.at) / 4));
    receive_.queue_first = (receive_.queue_first + 1) % receive_.queue.size();
    --receive_.queued;
    receive_.write_at += 4;
  }
  port_.at = at / 4;
  if (at % 4 != 0 || port_.at >= node.memory.size()) {
    node.fail(unit_fault::outside_memory, at);
    port_ = {};
  }
}

// ASK: gives the bus to reads and writes in turns, and of two reads to the reply's.
inline gascore::bus_stage gascore::ask(cycle now, const node_ports& node) {
  bus_stage chosen;
  for (const unsigned of : replies_first) {
    transmit& tx = transmits_[of];
    if (tx.to_ask == 0 || node.out[of].held(now) + tx.asked >= node.out[of].depth()) continue;
    chosen = {.what = access::read, .of = static_cast<std::uint8_t>(of)};
    break;
  }
  if (receive_.unasked != 0 && (chosen.what == access::none || !wrote_last_)) chosen = {.what = access::write};
  if (chosen.what == access::none) return chosen;
  wrote_last_ = chosen.what == access::write;
  node.act(now, "memory bus", "ASK", wrote_last_ ? 1 : 0);
  if (wrote_last_) {
    --receive_.unasked;
  } else {
    --transmits_[chosen.of].to_ask;
    ++transmits_[chosen.of].asked;
  }
  return chosen;
}

// --- transmit

inline bool gascore::step_transmit(unsigned of, const bus_stage& output, cycle now, node_ports& node) {
  transmit& tx = transmits_[of];
  if (tx.state == transmit_state::read) {
    if (output.what != access::read || output.of != of) return false;
    --tx.to_send;
    --tx.asked;
    const bool is_last = tx.to_send == 0 && tx.arguments == 0;
    node.out[of].put({output.word, is_last}, now);
    node.act(now, transmit_name(of), "SEND", output.word);
    if (tx.to_send != 0) return true;
    if (is_last)
      end_message(tx, of, now, node);
    else
      tx.state = transmit_state::arguments;
    return true;
  }
  word_fifo& words = node.fsls.requests[of];
  if (tx.state == transmit_state::kind) {
    if (!words.has_word(now)) return false;
    tx.kind = words.take(now).word;
    tx.arguments = message_kind::arguments(tx.kind);
    tx.state = transmit_state::node;
    node.act(now, transmit_name(of), "KIND", tx.kind);
    return true;
  }
  if (!node.out[of].has_room(now)) return false;
  if (tx.state == transmit_state::tail) {
    node.act(now, transmit_name(of), "TAIL", tx.bytes);
    end_fixed(tx, of, now, node);
    return true;
  }
  if (!words.has_word(now)) return false;
  if (tx.state != transmit_state::arguments) return send_fixed(tx, of, now, node);
  --tx.arguments;
  const std::uint32_t word = words.take(now).word;
  node.out[of].put({word, tx.arguments == 0}, now);
  node.act(now, transmit_name(of), "ARGUMENTS", word);
  if (tx.arguments == 0) end_message(tx, of, now, node);
  return true;
}

// Takes a fixed word of a request, and writes the packet's word before it. pre: both can go
inline bool gascore::send_fixed(transmit& tx, unsigned of, cycle now, node_ports& node) {
  const std::uint32_t word = node.fsls.requests[of].take(now).word;
  switch (tx.state) {
    case transmit_state::node: return send_node(of, word, now, node);
    case transmit_state::at:
      node.out[of].put({tx.kind, false}, now);
      tx.at = word;
      tx.state = transmit_state::bytes;
      node.act(now, transmit_name(of), "AT", word);
      return true;
    case transmit_state::bytes:
      node.out[of].put({tx.at, false}, now);
      tx.bytes = word;
      tx.state = is_long(tx.kind) ? transmit_state::from : transmit_state::tail;
      node.act(now, transmit_name(of), "BYTES", word);
      return true;
    default:
      tx.from = word;
      node.act(now, transmit_name(of), "FROM", word);
      end_fixed(tx, of, now, node);
      return true;
  }
}

inline bool gascore::send_node(unsigned of, std::uint32_t word, cycle now, node_ports& node) {
  auto to = static_cast<node_number>(word);
  if (of == static_cast<unsigned>(lane::reply)) {
    const std::uint32_t token = word & token_word::token;
    const auto found = tokens_.source(token);
    if (!found) node.fail(unit_fault::unknown_token, token);
    if (found) to = *found;
    if ((word & token_word::is_done) != 0) (void)tokens_.free(token);
  }
  node.out[of].put({packet_head(to, static_cast<node_number>(node.number)), false}, now);
  transmits_[of].state = transmit_state::at;
  node.act(now, transmit_name(of), "NODE", word);
  return true;
}

// Writes the last of the fixed words, `bytes`.
inline void gascore::end_fixed(transmit& tx, unsigned of, cycle now, node_ports& node) {
  const std::uint32_t words = is_long(tx.kind) ? words_of(tx.bytes) : 0;
  const bool is_last = words == 0 && tx.arguments == 0;
  node.out[of].put({tx.bytes, is_last}, now);
  if (is_last) return end_message(tx, of, now, node);
  tx.state = words != 0 ? transmit_state::read : transmit_state::arguments;
  tx.to_ask = tx.to_send = words;
}

inline void gascore::end_message(transmit& tx, unsigned of, cycle now, node_ports& node) {
  node.fsls.sent[of].put({of, false}, now);
  tx.state = transmit_state::kind;
}

// --- receive

inline bool gascore::step_receive(const start& begun, cycle now, node_ports& node) {
  switch (receive_.state) {
    case receive_state::head: return receive_head(now, node);
    case receive_state::fill: return receive_fill(begun, now, node);
    case receive_state::call: return make_call(begun, now, node);
    case receive_state::arguments: return receive_arguments(begun, now, node);
    case receive_state::tail:
      if (!begun.call_room) return false;
      call(receive_.bytes);
      receive_.state = receive_.arguments != 0 ? receive_state::arguments : receive_state::head;
      node.act(now, "receive", "TAIL", receive_.bytes);
      return true;
    default: return receive_fixed(begun, now, node);
  }
}

inline bool gascore::receive_head(cycle now, node_ports& node) {
  const bool is_reply = node.in[1].has_word(now);
  if (!is_reply && !(node.in[0].has_word(now) && tokens_.has_free())) return false;
  receive_.from = is_reply ? 1 : 0;
  const std::uint32_t head = node.in[receive_.from].take(now).word;
  receive_.token = is_reply ? 0 : tokens_.keep(source(head));
  most_tokens_ = std::max(most_tokens_, tokens_.in_use());
  receive_.state = receive_state::kind;
  node.act(now, "receive", "HEAD", head);
  return true;
}

inline bool gascore::receive_fixed(const start& begun, cycle now, node_ports& node) {
  word_fifo& in = node.in[receive_.from];
  if (!in.has_word(now)) return false;
  const bool cuts_through = !is_long(receive_.state == receive_state::kind ? in.front().word : receive_.kind);
  if (cuts_through && !begun.call_room) return false;
  const std::uint32_t word = in.take(now).word;
  switch (receive_.state) {
    case receive_state::kind:
      receive_.kind = word;
      receive_.arguments = message_kind::arguments(word);
      if (cuts_through) call(word);
      receive_.state = receive_state::at;
      node.act(now, "receive", "KIND", word);
      return true;
    case receive_state::at:
      receive_.at = receive_.write_at = word;
      if (cuts_through) call(receive_.token);
      receive_.state = receive_state::bytes;
      node.act(now, "receive", "AT", word);
      return true;
    default:
      receive_.bytes = word;
      receive_.to_fill = words_of(word);
      receive_.written = 0;
      receive_.call_word = 0;
      if (cuts_through) call(receive_.at);
      receive_.state = cuts_through ? receive_state::tail : word != 0 ? receive_state::fill : receive_state::call;
      node.act(now, "receive", "BYTES", word);
      return true;
  }
}

// FILL and WRITTEN.
inline bool gascore::receive_fill(const start& begun, cycle now, node_ports& node) {
  if (begun.written == words_of(receive_.bytes)) {
    receive_.state = receive_state::call;
    node.act(now, "receive", "WRITTEN", receive_.bytes);
    return true;
  }
  word_fifo& in = node.in[receive_.from];
  if (receive_.to_fill == 0 || begun.queued == receive_.queue.size() || !in.has_word(now)) return false;
  const std::uint32_t word = in.take(now).word;
  receive_.queue[(receive_.queue_first + receive_.queued) % receive_.queue.size()] = word;
  ++receive_.queued;
  ++receive_.unasked;
  --receive_.to_fill;
  node.act(now, "receive", "FILL", word);
  return true;
}

inline bool gascore::make_call(const start& begun, cycle now, node_ports& node) {
  if (!begun.call_room) return false;
  const std::array<std::uint32_t, 4> words = {receive_.kind, receive_.token, receive_.at, receive_.bytes};
  const std::uint32_t word = words[receive_.call_word];
  call(word);
  node.act(now, "receive", "CALL", word);
  if (++receive_.call_word == words.size())
    receive_.state = receive_.arguments != 0 ? receive_state::arguments : receive_state::head;
  return true;
}

inline bool gascore::receive_arguments(const start& begun, cycle now, node_ports& node) {
  word_fifo& in = node.in[receive_.from];
  if (!begun.call_room || !in.has_word(now)) return false;
  const std::uint32_t word = in.take(now).word;
  call(word);
  node.act(now, "receive", "ARGUMENTS", word);
  if (--receive_.arguments == 0) receive_.state = receive_state::head;
  return true;
}

// --- reports

bool gascore::is_idle() const noexcept {
  return transmits_[0].state == transmit_state::kind && transmits_[1].state == transmit_state::kind &&
         receive_.state == receive_state::head && !has_call_;
}

std::string gascore::where() const {
  static constexpr std::array<std::string_view, 8> sending = {"KIND", "NODE", "AT",   "BYTES",
                                                              "TAIL", "FROM", "READ", "ARGUMENTS"};
  static constexpr std::array<std::string_view, 8> receiving = {"HEAD", "KIND", "AT",   "BYTES",
                                                                "TAIL", "FILL", "CALL", "ARGUMENTS"};
  std::string text;
  const auto add = [&](std::string_view unit, std::string_view state) {
    if (!text.empty()) text += ", ";
    text.append(unit).append(" in ").append(state);
  };
  for (unsigned of = 0; of < lanes; ++of)
    if (transmits_[of].state != transmit_state::kind)
      add(transmit_name(of), sending[static_cast<unsigned>(transmits_[of].state)]);
  if (receive_.state != receive_state::head) add("receive", receiving[static_cast<unsigned>(receive_.state)]);
  if (tokens_.in_use() == tokens_.entries())
    add("the token buffer", "use, all " + std::to_string(tokens_.entries()) + " tokens");
  return text;
}

}  // namespace situ::model
