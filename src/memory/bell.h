// Wakes a place that sleeps on its network: a thread cannot wait for a futex and a descriptor together.
//
// A bell is a datagram socket at an abstract address, which place_slot::bell names. A waker that has cleared
// `sleeping` of a place asleep by its bell sends an empty datagram there. A late datagram only causes a spurious
// wake-up.
#pragma once

#include <cstdint>

#include "memory/job.h"
#include "os/descriptor.h"

namespace situ::detail {

class bell {
 public:
  // Throws bad_launch if the system gives no socket.
  explicit bell(place_slot& own);
  ~bell();
  bell(const bell&) = delete;
  bell& operator=(const bell&) = delete;

  // Returns the socket, which becomes readable when the bell is rung.
  [[nodiscard]] int descriptor() const noexcept { return socket_.number(); }
  // Drains the socket, so that it is not readable until the bell is rung again.
  void silence() const noexcept;

 private:
  place_slot& own_;
  os::descriptor socket_;
};

// Rings the bell of a place in any process, without waiting. cost: a system call.
void ring_bell(std::uint64_t key) noexcept;

// Waits until one of the two descriptors is readable, or until the timeout; a negative timeout is no limit. Returns
// false on timeout. A negative descriptor is ignored.
bool await_descriptors(int one, int other, std::int64_t timeout_ns) noexcept;

}  // namespace situ::detail
