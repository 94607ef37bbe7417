// Each host of a job keeps three things of every host in its control block: the address of its server, the rounds of
// barriers that it has reached, and the counts of messages between the two.
//
//   | host_address x hosts | round x hosts | round x hosts | host_traffic x hosts |      in job_control::host_room()
//                            world           leaving
//
// Thread-safe.
#pragma once

#include <situ/base/detail/signal_word.h>
#include <situ/memory/detail/place_home.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/job.h"

namespace situ::detail {

// The address of a host's server, in the form of the network; written before any process attaches.
struct host_address {
  static constexpr std::uint32_t most_bytes = 1020;
  std::uint32_t bytes = 0;
  std::byte text[most_bytes]{};
};
// The messages between this host's places and those of another host. Both counts only grow. A launcher compares those
// of all hosts: if they agree and all places sleep, no message is on its way that would wake one (hosts_watch.h).
struct alignas(64) host_traffic {
  std::atomic<std::uint64_t> sent{0};   // to that host; the sending places write it
  std::atomic<std::uint64_t> taken{0};  // from that host; the server writes it, after the message is in its channel and
                                        // its place is awake, or when it drops the message since that place has ended
};
static_assert(sizeof(host_address) + host_barriers * sizeof(signal_word<std::uint64_t>) + sizeof(host_traffic) ==
              host_room_bytes);

// Returns the address of a host's server. pre: there are several hosts, and this is one.
[[nodiscard]] inline host_address& address_of(job_control& control, std::uint16_t host) noexcept {
  return reinterpret_cast<host_address*>(control.host_room().data())[host];
}

// Forgets the address of that host's server, whatever the state of its places. A valid length is never 0: the creator
// writes it before any process attaches, and later only this function changes it. pre for this and the next: as above.
inline void forget_server(job_control& control, std::uint16_t host) noexcept {
  std::atomic_ref{address_of(control, host).bytes}.store(0, std::memory_order_release);
}
// Returns whether anything can still come from that server.
[[nodiscard]] inline bool has_server(job_control& control, std::uint16_t host) noexcept {
  return std::atomic_ref{address_of(control, host).bytes}.load(std::memory_order_acquire) != 0;
}

// Returns the word with the last round of a barrier that all places of that host have reached. The last place to
// arrive writes it; for another host, this host's server does. The rounds of a barrier are adjacent. pre: as above.
[[nodiscard]] inline signal_word<std::uint64_t>& round_of(job_control& control, host_barrier which,
                                                          std::uint16_t host) noexcept {
  std::byte* const rounds = control.host_room().data() + control.host_count * sizeof(host_address);
  return reinterpret_cast<signal_word<std::uint64_t>*>(
      rounds)[static_cast<std::uint32_t>(which) * control.host_count + host];
}

// Returns the counts of messages to and from that host. pre: as above.
[[nodiscard]] inline host_traffic& traffic_with(job_control& control, std::uint16_t host) noexcept {
  std::byte* const all =
      control.host_room().data() +
      control.host_count * (sizeof(host_address) + host_barriers * sizeof(signal_word<std::uint64_t>));
  return reinterpret_cast<host_traffic*>(all)[host];
}

// Returns whether all places of that host have reached the end of the job. pre: as above.
[[nodiscard]] inline bool is_host_leaving(job_control& control, std::uint16_t host) noexcept {
  return round_of(control, host_barrier::leaving, host).look() >= control.leaving_rounds;
}

}  // namespace situ::detail
