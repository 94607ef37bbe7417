#include "cluster/delivery.h"

#include <situ/base/log.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "cluster/host_words.h"
#include "memory/liveness.h"
#include "os/bytes.h"

namespace situ::detail::cluster {
namespace {

// As endpoint::has_room.
bool has_room(outgoing& out, std::uint32_t record_bytes) noexcept {
  const auto fits = [&] {
    return out.sent - out.seen < channel::cell_count &&
           (record_bytes == 0 || next_record(out.data_sent, record_bytes).end - out.data_seen <= channel::data_bytes);
  };
  if (fits()) return true;
  // acquire: the consumer's reads of the ring come before our writes to it
  out.seen = out.to->consumed.cells.load(std::memory_order_acquire);
  out.data_seen = out.to->consumed.data.load(std::memory_order_acquire);
  return fits();
}

}  // namespace

delivery::delivery(job_control& control, std::span<const place_home> homes, std::uint16_t host, host_wire& out,
                   operations& senders)
    : control_{control}, homes_{homes}, host_{host}, wire_{out}, senders_known_{senders} {}

void delivery::add_place(std::uint32_t place, channel_pair& to) {
  const std::size_t index = homes_[place].index;
  if (targets_.size() <= index) targets_.resize(index + 1);
  targets_[index] = std::make_unique<target_ends>();
  for (std::uint32_t is_reply = 0; is_reply < 2; ++is_reply) {
    channel_end& end = targets_[index]->ends[is_reply];
    end.out = {.to = is_reply != 0 ? &to.reply : &to.request, .target = place, .is_reply = is_reply != 0};
    end.slot = &control_.slot(place);
  }
}

delivery::channel_end* delivery::end_of(std::uint32_t target, std::uint32_t channel) noexcept {
  if (target >= homes_.size() || homes_[target].host != host_) return nullptr;
  const std::size_t index = homes_[target].index;
  return index < targets_.size() && targets_[index] ? &targets_[index]->ends[channel] : nullptr;
}

delivery::sender& delivery::sender_of(const message_head& head, wire_peer from) {
  const std::uint64_t key = std::uint64_t{head.source} << 33 | std::uint64_t{head.target} << 1 | head.channel;
  sender& found = senders_[key];
  found.of = {.target = head.target, .source = head.source, .channel = head.channel};
  found.peer = from;
  return found;
}

void delivery::received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                        std::span<const std::byte> data) noexcept {
  try {
    if (kind == wire_message::message) return take_message(from, head, data);
    if (kind == wire_message::credit) return answer(from, head, data.size());
    drop(from, "neither a message nor a credit");
  } catch (const std::exception& e) {  // out of memory
    drop(from, e.what());
  }
}

void delivery::take_message(wire_peer from, std::span<const std::byte> head, std::span<const std::byte> data) {
  parsed_message is;
  if (const char* const why = parse_message(head, data.size(), is)) return drop(from, why);
  if (!senders_known_.is_known(from, is.head.source))
    return drop(from, "a message of a place that is not of the host behind it");
  channel_end* const end = end_of(is.head.target, is.head.channel);
  if (end == nullptr) return drop(from, "a message to a place that is not of this host");
  if (has_ended(end->slot->state.load(std::memory_order_acquire))) {
    ++count_.to_ended;
    count_taken(is.head.source, 1);
    return forget_waiting(*end);
  }
  sender& by = sender_of(is.head, from);
  const std::uint32_t ahead = is.head.sequence - static_cast<std::uint32_t>(by.taken + 1);
  if (ahead >= channel::cell_count) return drop(from, "a message that came before, or is beyond its window");
  if (ahead != 0 || !end->turns.empty() || !has_room(end->out, is.form.record_bytes()))
    return hold(by, *end, by.taken + 1 + ahead, is, data);
  write(by, *end, is, is.words, data);
  // Then the early messages. No other pair waits for this channel.
  if (by.has_next()) {
    end->turns.push_back(&by);
    take_turns(*end);
  }
}

void delivery::hold(sender& from, channel_end& end, std::uint64_t number, const parsed_message& is,
                    std::span<const std::byte> record) {
  const std::uint64_t bytes = bytes_in_ring(static_cast<std::uint32_t>(record.size()));
  if (from.waiting.contains(number)) return drop(from.peer, "a message that waits already");
  if (from.held_bytes + bytes > channel::data_bytes) return drop(from.peer, "messages beyond their window");
  held_message held{.is = is, .words = {}, .record = {record.begin(), record.end()}};
  std::copy(is.words.begin(), is.words.end(), held.words.begin());
  const bool had_next = from.has_next();
  from.waiting.emplace(number, std::move(held));
  from.held_bytes += bytes;
  ++waiting_;
  count_.most_held_bytes = std::max(count_.most_held_bytes, from.held_bytes);
  if (!had_next && from.has_next()) end.turns.push_back(&from);
}

bool delivery::deliver() noexcept {
  if (waiting_ == 0) return false;
  bool any = false;
  for (const auto& target : targets_) {
    if (!target) continue;
    for (channel_end& end : target->ends) any |= take_turns(end);
  }
  return any;
}

bool delivery::take_turns(channel_end& end) {
  if (end.turns.empty()) return false;
  if (has_ended(end.slot->state.load(std::memory_order_acquire))) {
    forget_waiting(end);
    return true;
  }
  bool any = false;
  while (!end.turns.empty()) {
    sender& next = *end.turns.front();
    const auto first = next.waiting.begin();
    const held_message& held = first->second;
    if (!has_room(end.out, held.is.form.record_bytes())) break;
    const std::span<const std::byte> words = std::span{held.words}.first(std::size_t{8} * held.is.form.words_used());
    next.held_bytes -= bytes_in_ring(static_cast<std::uint32_t>(held.record.size()));
    --waiting_;
    write(next, end, held.is, words, held.record);
    next.waiting.erase(first);
    end.turns.pop_front();
    if (next.has_next()) end.turns.push_back(&next);
    any = true;
  }
  return any;
}

void delivery::write(sender& from, channel_end& end, const parsed_message& is, std::span<const std::byte> words,
                     std::span<const std::byte> record) noexcept {
  outgoing& out = end.out;
  cell& c = out.to->cells[out.sent % channel::cell_count];
  c.handler = is.head.handler;
  std::memcpy(c.words, words.data(), words.size());
  if (!record.empty()) {
    const auto bytes = static_cast<std::uint32_t>(record.size());
    const record_place at = next_record(out.data_sent, bytes);
    std::memcpy(out.to->data + at.begin % channel::data_bytes, record.data(), record.size());
    out.data_sent = at.end;
    from.data_taken = next_record(from.data_taken, bytes).end;
  }
  ++from.taken;
  c.header.store(cell_header(++out.sent, is.form.kind, is.form.arguments, is.form.payload_in_cell, is.head.source),
                 std::memory_order_release);  // invariant 2 of channel.h
  wake_after_change(*end.slot);
  ++count_.delivered;
  count_taken(from.of.source, 1);
  tell_if_due(from);
}

// The channel's place has ended: drops the messages that wait for it.
void delivery::forget_waiting(channel_end& end) {
  if (std::exchange(end.has_ended, true)) return;
  for (auto& [key, each] : senders_) {
    if (each.of.target != end.out.target || each.of.channel != (end.out.is_reply ? 1 : 0)) continue;
    waiting_ -= each.waiting.size();
    count_.to_ended += each.waiting.size();
    count_taken(each.of.source, each.waiting.size());
    each.waiting.clear();
    each.held_bytes = 0;
  }
  end.turns.clear();
}

void delivery::count_taken(std::uint32_t source, std::uint64_t messages) noexcept {
  // release: after the target is awake (host_words.h). A job of the module's own tests has no such counts.
  if (control_.host_count > 1)
    traffic_with(control_, homes_[source].host).taken.fetch_add(messages, std::memory_order_release);
}

void delivery::ask_for_wake() noexcept {
  for (const auto& target : targets_) {
    if (!target) continue;
    for (channel_end& end : target->ends)
      if (!end.turns.empty()) end.out.to->producer_waits.set(1, std::memory_order_seq_cst);
  }
}

// --- Credits ---------------------------------------------------------------------------------------------------------

void delivery::answer(wire_peer from, std::span<const std::byte> head, std::uint64_t data_bytes) {
  credit_head asked;
  if (const char* const why = parse_credit(head, data_bytes, asked)) return drop(from, why);
  if (!senders_known_.is_known(from, asked.source) || asked.cells != 0 || asked.data != 0 ||
      end_of(asked.target, asked.channel) == nullptr)
    return drop(from, "a place asks for credit of what is not its own");
  sender& by = sender_of(
      {.target = asked.target, .source = asked.source, .channel = static_cast<std::uint8_t>(asked.channel)}, from);
  by.asks = true;
  tell_if_due(by);
}

// As often as a place publishes that takes in messages of its own host, or when the sender has asked.
void delivery::tell_if_due(sender& to) {
  const bool is_due = to.taken - to.told >= channel::cell_count / 4 ||
                      to.data_taken - to.data_told >= channel::data_bytes / 4 || (to.asks && to.taken != to.told);
  if (is_due) tell(to);
}

void delivery::tell(sender& to) {
  to.told = to.taken;
  to.data_told = to.data_taken;
  to.asks = false;
  ++count_.credits;
  const credit_head head{.source = to.of.source,
                         .target = to.of.target,
                         .channel = to.of.channel,
                         .cells = to.taken,
                         .data = to.data_taken};
  wire_.send(to.peer, wire_message::credit, os::bytes_of(head), {});
}

void delivery::drop(wire_peer from, std::string_view why) noexcept {
  constexpr std::uint64_t most_told = 16;  // logged by each server: a flood of bad messages must not flood the log
  if (count_.dropped++ >= most_told) return;
  log(log_level::warning, fmt::format("host {}: a message of peer {} is dropped: {}", host_, from, why));
}

}  // namespace situ::detail::cluster
