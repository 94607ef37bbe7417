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

}  // namespace situ::test
