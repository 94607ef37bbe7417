// What wakes a place that sleeps on its network: a futex cannot be awaited together with a descriptor.
//
// A datagram socket at an abstract address, which place_slot::bell names; who has cleared `sleeping` of a place that
// sleeps so sends an empty datagram there. One that comes late wakes the place once more, for nothing.
#pragma once

#include <cstdint>

#include "memory/job.h"

namespace situ::detail {

class bell {
 public:
  // Throws bad_launch where the system has none to give.
  explicit bell(place_slot& own);
  ~bell();
  bell(const bell&) = delete;
  bell& operator=(const bell&) = delete;

  // Can be read once it has been rung.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // Until it is rung again.
  void silence() const noexcept;

 private:
  place_slot& own_;
  int descriptor_;
};

// Any process's bell. Does not wait. cost: a system call.
void ring_bell(std::uint64_t key) noexcept;

// Until one of the two descriptors can be read, or for the time; a negative time is no limit. False where the time was
// over. A negative descriptor is none.
bool await_descriptors(int one, int other, std::int64_t timeout_ns) noexcept;

}  // namespace situ::detail
