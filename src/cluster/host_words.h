// What the hosts of a job tell each other by the control block of each: the address of each host's server, and the
// rounds of barriers that each has reached.
//
//   | host_address x hosts | round x hosts | round x hosts |      in job_control::host_room()
//                            world           leaving
//
// Thread-safe.
#pragma once

#include <situ/base/detail/signal_word.h>
#include <situ/memory/detail/place_home.h>

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
static_assert(sizeof(host_address) + host_barriers * sizeof(signal_word<std::uint64_t>) == host_room_bytes);

// Returns the address of a host's server. pre: there are several hosts, and this is one.
[[nodiscard]] inline host_address& address_of(job_control& control, std::uint16_t host) noexcept {
  return reinterpret_cast<host_address*>(control.host_room().data())[host];
}

// Returns the word with the last round of a barrier that all places of that host have reached. The last place to
// arrive writes it; for another host, this host's server does. The rounds of a barrier are adjacent. pre: as above.
[[nodiscard]] inline signal_word<std::uint64_t>& round_of(job_control& control, host_barrier which,
                                                          std::uint16_t host) noexcept {
  std::byte* const rounds = control.host_room().data() + control.host_count * sizeof(host_address);
  return reinterpret_cast<signal_word<std::uint64_t>*>(
      rounds)[static_cast<std::uint32_t>(which) * control.host_count + host];
}

// Returns whether all places of that host have reached the end of the job. pre: as above.
[[nodiscard]] inline bool is_host_leaving(job_control& control, std::uint16_t host) noexcept {
  return round_of(control, host_barrier::leaving, host).look() >= control.leaving_rounds;
}

}  // namespace situ::detail
