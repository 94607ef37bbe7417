#include "cluster/far_place.h"

#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "cluster/far_pieces.h"
#include "cluster/host_loss.h"
#include "cluster/host_words.h"
#include "os/bytes.h"
#include "os/host.h"

namespace situ::detail::cluster {
far_place::far_place(place_context& context, std::span<const place_home> homes, std::uint16_t host, host_wire& to,
                     std::vector<wire_peer> servers)
    : far_hosts{homes, host},
      context_{context},
      wire_{to},
      bell_{context.job->slot(context.place)},
      servers_{std::move(servers)},
      lost_(servers_.size()),
      sendings_(homes.size()) {
  for (std::uint32_t i = 0; i < most_outstanding; ++i) table_[i].next_free = i + 1 < most_outstanding ? i + 1 : none;
}

far_place::~far_place() {
  const auto is_idle = [this] {
    const std::lock_guard lock{mutex_};
    return given_back_.empty() &&
           std::all_of(table_.begin(), table_.end(), [](const outstanding& each) { return each.done.load(); });
  };
  while (!is_idle())
    if (!poll()) give_way();
}

std::uint32_t far_place::place_of(std::uintptr_t address) const noexcept {
  return static_cast<std::uint32_t>((address - context_.base) >> context_.slice_shift);
}

std::uintptr_t far_place::slice_of(std::uint32_t place) const noexcept {
  return context_.base + (std::uintptr_t{place} << context_.slice_shift);
}

void far_place::put(std::uintptr_t to, const void* from, std::size_t bytes) {
  pieces under_way{*this};
  under_way.put(to, static_cast<const std::byte*>(from), bytes);
  under_way.finish();
}

void far_place::get(void* to, std::uintptr_t from, std::size_t bytes) {
  pieces under_way{*this};
  under_way.get(static_cast<std::byte*>(to), from, bytes);
  under_way.finish();
}

void far_place::move_box(access how, const strided_box& box) {
  pieces under_way{*this};
  under_way.move_box(how, box);
  under_way.finish();
}

std::uint64_t far_place::atomic(const word_request& request) {
  operation_head head{.what = static_cast<std::uint8_t>(far_operation::atomic),
                      .how = static_cast<std::uint8_t>(request.what),
                      .type = static_cast<std::uint8_t>(request.type)};
  head.address = request.word;
  head.bytes = request.value;
  head.second = request.second;
  return perform(head, {});
}

// Puts the data except the last part, which fits one message; the signal is sent with that part.
void far_place::put_signal(std::uintptr_t to, const void* from, std::size_t bytes, const signal_change& signal) {
  const auto* data = static_cast<const std::byte*>(from);
  if (bytes > most_copied_bytes) {
    const std::size_t before = bytes - most_copied_bytes;
    put(to, data, before);
    to += before;
    data += before;
    bytes = most_copied_bytes;
  }
  operation_head head{.what = static_cast<std::uint8_t>(far_operation::put_signal),
                      .how = signal.adds ? operation_head::adds : std::uint8_t{0},
                      .type = static_cast<std::uint8_t>(signal.type)};
  head.address = to;
  head.bytes = bytes;
  head.second = signal.word;
  head.third = signal.value;
  (void)perform(head, {data, bytes});
}

void far_place::give_back(std::uintptr_t block) noexcept {
  const std::lock_guard lock{mutex_};
  given_back_.push_back(block);
  send_given_back();
}

void far_place::send_given_back() noexcept {
  for (; !given_back_.empty() && first_free_ != none; given_back_.pop_back()) {
    const std::uintptr_t block = given_back_.back();
    if (!lost_[homes()[place_of(block)].host].empty()) continue;  // a lost host's memory goes with it
    operation_head head{.what = static_cast<std::uint8_t>(far_operation::give_back)};
    head.address = block;
    send(head, {}, {}, nullptr, 0, true);
  }
}

void far_place::arrive(host_barrier which, std::uint64_t round) noexcept {
  std::vector<std::uint32_t> told;
  const auto try_to = [](auto act) noexcept {
    try {
      act();
    } catch (const place_lost_error&) {  // its places are marked, which ends the wait
    } catch (const std::exception& e) {
      log(log_level::error, fmt::format("a host is not told of a barrier: {}", e.what()));
    }
  };
  for (std::uint32_t p = 0; p < homes().size(); ++p) {
    if (homes()[p].index != 0 || homes()[p].host == host()) continue;
    operation_head head{.what = static_cast<std::uint8_t>(far_operation::barrier)};
    head.address = slice_of(p);
    head.second = static_cast<std::uint64_t>(which);
    head.third = round;
    try_to([&] { told.push_back(begin(head, {}, {}, nullptr, 0)); });
  }
  for (const std::uint32_t each : told) try_to([&] { (void)finish(each); });
}

std::uint64_t far_place::time_at(std::uint16_t host) {
  operation_head head{.what = static_cast<std::uint8_t>(far_operation::time)};
  head.address = slice_of(first_place_of(homes(), host));
  return perform(head, {});
}

void far_place::look_at(std::uint32_t place, shown_part of, std::uint64_t offset, std::span<std::byte> to) {
  pieces under_way{*this};
  under_way.look_at(place, of, offset, to);
  under_way.finish();
}

std::uint64_t far_place::perform(const operation_head& head, std::span<const std::byte> data) {
  return finish(begin(head, {}, data, nullptr, 0));
}

// --- The table -------------------------------------------------------------------------------------------------------

std::uint32_t far_place::send(operation_head head, std::span<const std::byte> shape, std::span<const std::byte> data,
                              std::byte* to, std::uint64_t expected, bool is_given_back) noexcept {
  const std::uint32_t index = first_free_;
  outstanding& mine = table_[index];
  first_free_ = mine.next_free;
  ++mine.use;
  mine.is_given_back = is_given_back;
  mine.target = place_of(head.address);
  mine.to = to;
  mine.bytes = expected;
  mine.status = 0;
  mine.done.store(false, std::memory_order_relaxed);
  head.source = context_.place;
  head.tag = std::uint64_t{mine.use} << 32 | index;
  os::short_bytes<most_head_bytes> whole;
  whole.add(head).add_bytes(shape);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  send_bytes(mine.target, wire_message::operation, whole.bytes(), data);
  return index;
}

void far_place::send_bytes(std::uint32_t target, wire_message kind, std::span<const std::byte> head,
                           std::span<const std::byte> data) noexcept {
  wire_.send(servers_[homes()[target].host], kind, head, data);
  is_sending_.store(!wire_.is_idle(), std::memory_order_relaxed);
}

void far_place::free(std::uint32_t index) noexcept {
  table_[index].next_free = std::exchange(first_free_, index);
  send_given_back();
}

std::uint32_t far_place::begin(const operation_head& head, std::span<const std::byte> shape,
                               std::span<const std::byte> data, std::byte* to, std::uint64_t expected) {
  const std::uint32_t target = place_of(head.address);
  for (;;) {
    {
      const std::lock_guard lock{mutex_};
      const std::string& lost = lost_[homes()[target].host];
      if (!lost.empty()) throw place_lost_error{target, lost};
      if (first_free_ != none) return send(head, shape, data, to, expected, false);
    }
    const auto has_room = [this] {
      const std::lock_guard lock{mutex_};
      return first_free_ != none;
    };
    wait(has_room, target);
  }
}

std::uint64_t far_place::finish(std::uint32_t index) {
  outstanding& mine = table_[index];
  // A loss elsewhere may end the wait. The answer writes to the caller's memory, so wait until the answer cannot come.
  std::exception_ptr ended;
  try {
    // acquire: the data of the answer
    wait([&mine] { return mine.done.load(std::memory_order_acquire); }, mine.target);
  } catch (...) {
    ended = std::current_exception();
    while (!mine.done.load(std::memory_order_acquire))
      if (!poll()) give_way();
  }
  const std::uint32_t status = mine.status;
  const std::uint64_t value = mine.value;
  const std::uint32_t target = mine.target;
  const std::string text = std::exchange(mine.text, {});
  {
    const std::lock_guard lock{mutex_};
    free(index);
  }
  if (ended) std::rethrow_exception(ended);
  if (status == 0) return value;
  const auto code = static_cast<errc>(status - 1);
  if (code == errc::place_lost) throw place_lost_error{target, text};
  throw error{code, text};
}

template <class Done>
void far_place::wait(Done done, std::uint32_t target) {
  auto look = [&] {
    if (done()) return true;
    poll();
    return done();
  };
  const auto ask = [](void* asked) { return (*static_cast<decltype(look)*>(asked))(); };
  // Another thread of the place may take in the answer; then nothing else would end a sleep.
  constexpr std::int64_t longest_ns = 10'000'000;
  if (task_waiter_ != nullptr) {
    if (first_wait_ns_ != 0) {
      const std::uint64_t end_ns = steady_ns() + static_cast<std::uint64_t>(first_wait_ns_);
      do {
        if (look()) return;
        pause(first_wait_ns_);
      } while (steady_ns() < end_ns);
    }
    if (task_waiter_(ask, &look, target)) return;
  }
  while (!look()) pause(longest_ns);
}

// Sleeps until a message arrives, for a caller that cannot wait as a task.
void far_place::pause(std::int64_t longest_ns) {
  {
    const std::lock_guard lock{mutex_};
    if (!wire_.arm()) return;
  }
  if (wire_.descriptor() < 0) return give_way();
  (void)await_descriptors(wire_.descriptor(), -1, longest_ns);
}

bool far_place::sleep(std::int64_t timeout_ns) noexcept {
  // A ring of the bell is lost only if the system is out of sockets; then a wake-up takes this long.
  constexpr std::int64_t longest_ns = 100'000'000;
  {
    const std::unique_lock lock{mutex_, std::try_to_lock};  // the thread that has the lock is taking in messages
    if (!lock.owns_lock() || !wire_.arm()) return false;
  }
  const bool is_short = timeout_ns >= 0 && timeout_ns < longest_ns;
  const bool has_come = await_descriptors(wire_.descriptor(), bell_.descriptor(), is_short ? timeout_ns : longest_ns);
  bell_.silence();
  return !has_come && is_short;
}

// --- Messages --------------------------------------------------------------------------------------------------------

channel& far_place::window(std::uint32_t place, bool is_reply) {
  const std::lock_guard lock{mutex_};
  sending& mine = sendings_[place][is_reply ? 1 : 0];
  if (!mine.ring) mine.ring = std::make_unique_for_overwrite<channel>();
  return *mine.ring;
}

void far_place::carry(const outgoing& out, const cell& c, const message_form& form) noexcept {
  const message_head head{.target = out.target,
                          .source = context_.place,
                          .sequence = static_cast<std::uint32_t>(out.sent),
                          .channel = static_cast<std::uint8_t>(out.is_reply),
                          .kind = static_cast<std::uint8_t>(form.kind),
                          .arguments = static_cast<std::uint8_t>(form.arguments),
                          .payload_in_cell = static_cast<std::uint8_t>(form.payload_in_cell),
                          .handler = std::uint64_t{form.payload_bytes} << 48 | (c.handler & 0xffff'ffff'ffff)};
  os::short_bytes<sizeof head + sizeof c.words> whole;
  whole.add(head).add_bytes(std::as_bytes(std::span{c.words}.first(form.words_used())));
  const std::uint32_t bytes = form.record_bytes();
  const std::byte* const record = out.to->data + (out.data_sent - bytes_in_ring(bytes)) % channel::data_bytes;

  const std::lock_guard lock{mutex_};
  sending& mine = sendings_[out.target][head.channel];
  mine.sent = out.sent;
  mine.data_sent = out.data_sent;
  ++count_.messages;
  // A job of the module's own tests has no such counts.
  if (context_.job->host_count > 1)
    traffic_with(*context_.job, homes()[out.target].host).sent.fetch_add(1, std::memory_order_relaxed);
  send_bytes(out.target, wire_message::message, whole.bytes(), {record, bytes});
}

// The server reports each quarter of the cells by itself, so a full window needs no request. If the data does not fit,
// less than a quarter may be consumed: ask.
void far_place::want_room(const outgoing& out) noexcept {
  const std::lock_guard lock{mutex_};
  wants_room_.store(true, std::memory_order_relaxed);
  if (out.sent - out.seen < channel::cell_count) ask_for_credit(out.target, out.is_reply ? 1 : 0);
}

void far_place::ask_for_credit(std::uint32_t target, std::uint32_t channel) noexcept {
  if (std::exchange(sendings_[target][channel].has_asked, true)) return;
  const credit_head head{.source = context_.place, .target = target, .channel = channel};
  send_bytes(target, wire_message::credit, os::bytes_of(head), {});
}

void far_place::take_credit(wire_peer from, std::span<const std::byte> head, std::uint64_t data_bytes) noexcept {
  credit_head is;
  if (const char* const why = parse_credit(head, data_bytes, is)) return drop(from, why);
  if (is.source != context_.place || is.target >= homes().size() || !is_far(is.target) ||
      servers_[homes()[is.target].host] != from)
    return drop(from, "credit that is not this place's");
  sending& mine = sendings_[is.target][is.channel];
  if (!mine.ring || is.cells > mine.sent || is.data > mine.data_sent)
    return drop(from, "credit for more than was sent");
  ++count_.credits;
  mine.has_asked = false;
  wants_room_.store(false, std::memory_order_relaxed);
  auto& consumed = mine.ring->consumed;
  if (is.cells <= consumed.cells.load(std::memory_order_relaxed)) return;  // an older credit
  if (is.data < consumed.data.load(std::memory_order_relaxed)) return drop(from, "credit that goes back");
  consumed.data.store(is.data, std::memory_order_release);
  consumed.cells.store(is.cells, std::memory_order_release);
}

bool far_place::has_delivered() noexcept {
  poll();
  const std::lock_guard lock{mutex_};
  bool has_all = true;
  for (std::uint32_t p = 0; p < sendings_.size(); ++p) {
    if (!lost_[homes()[p].host].empty() || has_ended(context_.job->slot(p).state.load(std::memory_order_acquire)))
      continue;
    for (std::uint32_t i = 0; i < 2; ++i) {
      const sending& each = sendings_[p][i];
      if (!each.ring || each.ring->consumed.cells.load(std::memory_order_relaxed) == each.sent) continue;
      has_all = false;
      ask_for_credit(p, i);
    }
  }
  if (!has_all) wants_room_.store(true, std::memory_order_relaxed);
  return has_all;
}

// --- Answers ---------------------------------------------------------------------------------------------------------

bool far_place::poll() {
  const std::unique_lock lock{mutex_, std::try_to_lock};  // the thread that has the lock polls
  if (!lock.owns_lock()) return false;
  look_for_lost_hosts();
  const bool any = wire_.progress(*this);
  is_sending_.store(!wire_.is_idle(), std::memory_order_relaxed);
  return any;
}

far_place::outstanding* far_place::find(wire_peer from, std::uint64_t tag) noexcept {
  const auto index = static_cast<std::uint32_t>(tag);
  if (index >= most_outstanding) return nullptr;
  outstanding& found = table_[index];
  const bool is_mine = !found.done.load(std::memory_order_relaxed) && found.use == tag >> 32 &&
                       servers_[homes()[found.target].host] == from;
  return is_mine ? &found : nullptr;
}

std::byte* far_place::room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                               std::uint64_t bytes) noexcept {
  parsed_answer answer;
  if (kind != wire_message::answer || parse_answer(head, bytes, answer) != nullptr) {
    drop(from, "what is no answer");
    return nullptr;
  }
  outstanding* const found = find(from, answer.head.tag);
  if (found != nullptr && found->bytes == bytes) return found->to;
  if (found == nullptr) {
    drop(from, "an answer that nobody waits for");
  } else {
    fail(*found, errc::bad_message, "an answer of another length");
  }
  return nullptr;
}

void far_place::received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                         std::span<const std::byte> data) noexcept {
  parsed_answer answer;
  if (kind == wire_message::credit) return take_credit(from, head, data.size());
  if (kind != wire_message::answer) return drop(from, "what is asked of a place, not of a server");
  if (const char* const why = parse_answer(head, data.size(), answer)) return drop(from, why);
  outstanding* const found = find(from, answer.head.tag);
  if (found == nullptr) return drop(from, "an answer that nobody waits for");
  if (answer.head.status == 0 && data.size() != found->bytes)
    return fail(*found, errc::bad_message, "an answer of another length");
  if (!data.empty() && answer.head.status == 0 && data.data() != found->to)
    std::memcpy(found->to, data.data(), data.size());
  found->status = answer.head.status;
  found->value = answer.head.value;
  found->text = answer.text;
  ++count_.answers;
  end(*found);
}

void far_place::end(outstanding& found) noexcept {
  found.done.store(true, std::memory_order_release);  // release: the data of the answer
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  if (!found.is_given_back) return;
  if (found.status != 0 && found.status != 1 + static_cast<std::uint32_t>(errc::place_lost))
    log(log_level::error, fmt::format("place {}: a block cannot be given back: {}", context_.place, found.text));
  free(static_cast<std::uint32_t>(&found - table_.data()));
}

void far_place::fail(outstanding& found, errc code, std::string_view text) noexcept {
  found.status = 1 + static_cast<std::uint32_t>(code);
  found.text = text;
  end(found);
}

void far_place::drop(wire_peer from, std::string_view why) noexcept {
  constexpr std::uint64_t most_logged = 16;
  if (count_.dropped++ >= most_logged) return;
  log(log_level::warning, fmt::format("place {}: a message of peer {} is dropped: {}", context_.place, from, why));
}

void far_place::lose_host(std::uint16_t host, std::string_view reason) {
  const std::lock_guard lock{mutex_};
  lose(host, reason);
}

// Gives up the links of lost hosts before it fails the operations: a late answer would be written to the caller's
// memory.
void far_place::look_for_lost_hosts() noexcept {
  job_control& control = *context_.job;
  const std::uint32_t ends = control.failure_epoch.load(std::memory_order_acquire);
  if (ends == seen_ends_ || control.host_count == 1) return;
  seen_ends_ = ends;
  for (std::uint16_t h = 0; h < control.host_count; ++h) {
    if (h == host() || !lost_[h].empty() || has_server(control, h)) continue;
    wire_.give_up(servers_[h]);
    const std::string_view its = lost_reason(control, control.first_place_of(h));
    const std::string_view own = lost_reason(control, context_.place);
    lose(h,
         its.empty() ? fmt::format("place {} has no way to it any more: {}", context_.place, own) : std::string{its});
  }
}

// Called by the wire, so the lock is held.
void far_place::ended(wire_peer from) noexcept {
  for (std::uint16_t h = 0; h < context_.job->host_count; ++h)
    if (h != host() && servers_[h] == from) lose(h, "the link to its host has ended");
}

void far_place::lose(std::uint16_t host, std::string_view reason) noexcept {
  lost_[host] = reason;
  for (outstanding& each : table_) {
    if (each.done.load(std::memory_order_relaxed) || homes()[each.target].host != host) continue;
    fail(each, errc::place_lost, reason);
  }
}

far_place::counts far_place::count() {
  const std::lock_guard lock{mutex_};
  return count_;
}

}  // namespace situ::detail::cluster
