#include "cluster/operations.h"

#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/atomic.h>
#include <situ/fabric/detail/copy.h>
#include <situ/fabric/signal.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/racing_reads.h"
#include "fabric/observe.h"
#include "memory/segment.h"
#include "os/bytes.h"
#include "os/host.h"

namespace situ::detail::cluster {
namespace {

constexpr std::uint64_t most_logged = 16;  // by each server: a flood of bad messages must not flood the log

// Makes the server's context the current one: the slow ways and note_written() use it.
class as_server {
 public:
  explicit as_server(place_context& server) noexcept : before_{std::exchange(current, &server)} {}
  ~as_server() { current = before_; }
  as_server(const as_server&) = delete;
  as_server& operator=(const as_server&) = delete;

 private:
  place_context* const before_;
};

template <class T, std::size_t... Index>
std::uint64_t change_as(const operation_head& head, std::index_sequence<Index...>) {
  const ptr<T> word{reinterpret_cast<T*>(head.address)};
  std::uint64_t found = 0;
  const auto try_one = [&]<std::size_t What>(std::integral_constant<std::size_t, What>) {
    constexpr auto what = static_cast<word_operation>(What);
    if constexpr (takes(what, type_of_word<T>))
      if (head.how == What)
        found = bits_of(perform_here<what>(word, from_bits<T>(head.bytes), from_bits<T>(head.second)));
  };
  (try_one(std::integral_constant<std::size_t, Index>{}), ...);
  return found;
}
template <class T>
std::uint64_t change_as(const operation_head& head) {
  return change_as<T>(head, std::make_index_sequence<word_operations>{});
}

template <class T>
void signal_as(std::uintptr_t at, std::uint64_t value, bool adds) {
  const ptr<T> word{reinterpret_cast<T*>(at)};
  if (adds) {
    perform_here<word_operation::fetch_add>(word, from_bits<T>(value), T{});
  } else {
    perform_here<word_operation::store>(word, from_bits<T>(value), T{});
  }
}

// Calls copy(element in the segment, index in the dense array) for each element, in order.
template <class Copy>
void for_elements(std::uintptr_t origin, const box_shape& box, Copy copy) {
  std::array<std::size_t, most_box_dimensions> at{};
  std::uintptr_t element = origin;
  for (std::size_t i = 0;; ++i) {
    copy(reinterpret_cast<std::byte*>(element), i);
    std::uint32_t d = box.dimensions;
    for (;;) {
      if (d == 0) return;
      --d;
      const std::uintptr_t step = static_cast<std::uintptr_t>(box.strides[d]) * box.element_bytes;
      if (++at[d] < box.extents[d]) {
        element += step;
        break;
      }
      element -= step * (box.extents[d] - 1);
      at[d] = 0;
    }
  }
}

}  // namespace

void operations::add_peer(wire_peer peer, std::uint16_t host) {
  if (host_of_peer_.size() <= peer) host_of_peer_.resize(peer + std::size_t{1}, no_host);
  host_of_peer_[peer] = host;
}

std::vector<wire_peer> operations::lose_host(std::uint16_t host) {
  lost_.push_back(host);
  std::vector<wire_peer> ends;
  for (wire_peer peer = 0; peer < host_of_peer_.size(); ++peer)
    if (host_of_peer_[peer] == host) ends.push_back(peer);
  return ends;
}

bool operations::is_lost(std::uint32_t source) const noexcept {
  return source < homes_.size() && std::find(lost_.begin(), lost_.end(), homes_[source].host) != lost_.end();
}

bool operations::is_known(wire_peer from, std::uint32_t source) {
  if (is_lost(source)) return false;
  const bool is_met = from < host_of_peer_.size() && host_of_peer_[from] != no_host;
  if (!is_met && meets_peers_ && source < homes_.size() && homes_[source].host != host_)
    add_peer(from, homes_[source].host);
  return from < host_of_peer_.size() && host_of_peer_[from] != no_host && source < homes_.size() &&
         homes_[source].host == host_of_peer_[from];
}

void operations::check(access how, std::uintptr_t address, std::uint64_t bytes) const {
  const std::uintptr_t index = (address - server_.base) >> server_.slice_shift;
  if (index >= homes_.size() || homes_[index].host != host_)
    throw_error(errc::bad_address, fmt::format("{} bytes at {:#x} are no memory of host {}", bytes, address, host_));
  if (!is_open(server_, address, bytes)) check_access_slow(server_, how, address, bytes);
}

void operations::check_reach(access how, const operation_head& head) const {
  check(how, head.address, head.bytes + head.second);
}

bool operations::is_operation(wire_peer from, std::span<const std::byte> head, std::uint64_t bytes,
                              parsed_operation& asked) noexcept {
  const char* const why = parse_operation(head, bytes, asked);
  if (head.size() < sizeof(operation_head)) {
    drop(from, why);
  } else if (is_lost(asked.head.source)) {
    deny(from, asked.head.tag, errc::place_lost, "the place that asks is lost for the others");
  } else if (!is_known(from, asked.head.source)) {
    drop(from, "a place that is not of the host behind it");
  } else if (why != nullptr) {
    deny(from, asked.head.tag, errc::bad_message, why);
  } else {
    return true;
  }
  return false;
}

template <class Act>
bool operations::try_to(wire_peer from, const operation_head& head, Act act) noexcept {
  const as_server running{server_};
  try {
    act();
    return true;
  } catch (const error& e) {
    deny(from, head.tag, e.code(), e.message());
  } catch (const std::exception& e) {
    deny(from, head.tag, errc::out_of_memory, e.what());
  }
  return false;
}

std::byte* operations::room_for(wire_peer from, std::span<const std::byte> head, std::uint64_t bytes) noexcept {
  parsed_operation asked;
  if (!is_operation(from, head, bytes, asked)) return nullptr;
  // Only puts have data that long.
  const bool is_open = try_to(from, asked.head, [&] { check_reach(access::put, asked.head); });
  return is_open ? reinterpret_cast<std::byte*>(asked.head.address) : nullptr;
}

void operations::received(wire_peer from, std::span<const std::byte> head, std::span<const std::byte> data) noexcept {
  parsed_operation asked;
  if (!is_operation(from, head, data.size(), asked)) return;
  if (try_to(from, asked.head, [&] { perform(from, asked, data); })) ++count_.done;
}

void operations::perform(wire_peer from, const parsed_operation& asked, std::span<const std::byte> data) {
  const operation_head& head = asked.head;
  auto* const at = reinterpret_cast<std::byte*>(head.address);
  std::uint64_t value = 0;
  std::span<const std::byte> sent;
  switch (static_cast<far_operation>(head.what)) {
    case far_operation::put:
      check_reach(access::put, head);
      if (data.data() != at) copy_bytes(at, data.data(), data.size());
      break;
    case far_operation::get:
      check_reach(access::get, head);
      sent = {at, head.bytes};
      break;
    case far_operation::put_signal: put_and_signal(head, data); break;
    case far_operation::box_put: (void)move_box(asked, access::put, data); break;
    case far_operation::box_get: sent = move_box(asked, access::get, data); break;
    case far_operation::atomic: value = change_word(head); break;
    case far_operation::give_back: give_back(head.address); break;
    case far_operation::barrier: hear_of_barrier(head); break;
    case far_operation::time: value = steady_ns(); break;
    case far_operation::shown: {
      const racing_reads of_counts;  // its place goes on counting
      return answer(from, head.tag, value, look_at_shown(head));
    }
  }
  answer(from, head.tag, value, sent);
}

void operations::put_and_signal(const operation_head& head, std::span<const std::byte> data) {
  const auto type = static_cast<word_type>(head.type);
  check(access::put, head.address, head.bytes);
  check(access::atomic, head.second, bytes_of(type));
  if ((head.address - server_.base) >> server_.slice_shift != (head.second - server_.base) >> server_.slice_shift)
    throw_signal_elsewhere(ptr<std::byte>{reinterpret_cast<std::byte*>(head.address)}.place(), head.second);
  check_aligned(head.second, bytes_of(type));
  copy_bytes(reinterpret_cast<std::byte*>(head.address), data.data(), data.size());
  const bool adds = head.how == operation_head::adds;
  switch (type) {
    case word_type::int32: return signal_as<std::int32_t>(head.second, head.third, adds);
    case word_type::uint32: return signal_as<std::uint32_t>(head.second, head.third, adds);
    case word_type::int64: return signal_as<std::int64_t>(head.second, head.third, adds);
    case word_type::uint64: return signal_as<std::uint64_t>(head.second, head.third, adds);
    case word_type::float64: return signal_as<double>(head.second, head.third, adds);
  }
}

std::span<const std::byte> operations::move_box(const parsed_operation& asked, access how,
                                                std::span<const std::byte> data) {
  const box_shape& box = asked.box;
  const element_range range = range_of(box.extents, box.strides);  // unused dimensions add nothing
  const std::uint64_t element = box.element_bytes;
  check(how, asked.head.second, asked.head.third);  // the whole range of the caller's box, of which this one is a part
  check(how, asked.head.address + static_cast<std::uintptr_t>(range.first) * element,
        bytes_of(static_cast<std::size_t>(range.last - range.first + 1), element));
  if (how == access::put) {
    for_elements(asked.head.address, box,
                 [&](std::byte* there, std::size_t i) { std::memcpy(there, data.data() + i * element, element); });
    return {};
  }
  box_.resize(most_copied_bytes);
  for_elements(asked.head.address, box,
               [&](const std::byte* there, std::size_t i) { std::memcpy(box_.data() + i * element, there, element); });
  return {box_.data(), box.bytes};
}

std::uint64_t operations::change_word(const operation_head& head) {
  const auto type = static_cast<word_type>(head.type);
  check(access::atomic, head.address, bytes_of(type));
  check_aligned(head.address, bytes_of(type));
  switch (type) {
    case word_type::int32: return change_as<std::int32_t>(head);
    case word_type::uint32: return change_as<std::uint32_t>(head);
    case word_type::int64: return change_as<std::int64_t>(head);
    case word_type::uint64: return change_as<std::uint64_t>(head);
    case word_type::float64: return change_as<double>(head);
  }
  return 0;
}

void operations::give_back(std::uintptr_t block) {
  check(access::put, block, 1);
  if (segment::deallocate_remote(server_, block) == free_status::done) return;
  throw_error(errc::bad_address, fmt::format("{:#x} is given back, which is no live block", block));
}

void operations::hear_of_barrier(const operation_head& head) {
  if (barriers_ == nullptr) throw_error(errc::bad_message, "a barrier of hosts where there is none");
  barriers_->arrived(homes_[head.source].host, static_cast<host_barrier>(head.second), head.third);
}

// The place may write to the range during the call.
std::span<const std::byte> operations::look_at_shown(const operation_head& head) const {
  const std::uintptr_t place = (head.address - server_.base) >> server_.slice_shift;
  if (place >= homes_.size() || homes_[place].host != host_)
    throw_error(errc::bad_address, fmt::format("{:#x} is of no place of host {}", head.address, host_));
  job_control& job = *server_.job;
  if (!job.stats && !job.trace) throw_error(errc::bad_message, "statistics of a job that counts nothing");
  const std::span<const std::byte> all = head.third < shown_parts ? shown_bytes(job, static_cast<std::uint32_t>(place),
                                                                                static_cast<shown_part>(head.third))
                                                                  : std::span<const std::byte>{};
  if (head.second > all.size() || head.bytes > all.size() - head.second)
    throw_error(errc::bad_address, fmt::format("{} bytes at {} of part {} of what place {} shows", head.bytes,
                                               head.second, head.third, place));
  return all.subspan(head.second, head.bytes);
}

void operations::answer(wire_peer to, std::uint64_t tag, std::uint64_t value, std::span<const std::byte> data) {
  wire_.send(to, wire_message::answer, os::bytes_of(answer_head{.tag = tag, .value = value}), data);
}

void operations::deny(wire_peer to, std::uint64_t tag, errc code, std::string_view text) noexcept {
  ++count_.denied;
  text = text.substr(0, most_error_text);
  const answer_head head{.tag = tag,
                         .status = 1 + static_cast<std::uint32_t>(code),
                         .text_bytes = static_cast<std::uint32_t>(text.size())};
  os::short_bytes<sizeof head + most_error_text> said;
  wire_.send(to, wire_message::answer, said.add(head).add_text(text).bytes(), {});
}

void operations::drop(wire_peer from, std::string_view why) noexcept {
  if (count_.dropped++ >= most_logged) return;
  log(log_level::warning, fmt::format("host {}: a message of peer {} is dropped: {}", host_, from, why));
}

}  // namespace situ::detail::cluster
