// Counts what operator new hands out in the whole program (allocation_watch.cpp replaces it).
#pragma once

#include <atomic>
#include <cstddef>

namespace situ::test {

// The largest single allocation since it was last set to 0.
extern std::atomic<std::size_t> largest_allocation;
// Bytes that are allocated, and the most that were since it was last set.
extern std::atomic<std::size_t> live_allocated_bytes;
extern std::atomic<std::size_t> peak_allocated_bytes;

// The most that is allocated at a time from here on, beyond what was.
class allocation_peak {
 public:
  allocation_peak() noexcept : before_{live_allocated_bytes.load()} { peak_allocated_bytes.store(before_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return peak_allocated_bytes.load() - before_; }

 private:
  std::size_t before_;
};

}  // namespace situ::test
