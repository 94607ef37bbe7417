// So many bytes that stand for a memory of their own, on a machine with fewer nodes than a program or a test is to use.
// All that place in it share it, in one process or (where it lies in shared memory) in several.
#pragma once

#include <atomic>
#include <cstdint>

namespace situ::detail {

struct byte_budget {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> used{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // processes may share it

}  // namespace situ::detail
