// A number of bytes that stands for a separate memory, on a machine with fewer nodes than a program or a test needs.
// All placers in the memory share the budget, in one process or (if it is in shared memory) in several.
#pragma once

#include <atomic>
#include <cstdint>

namespace situ::detail {

struct byte_budget {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> used{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // processes may share it

// The budget of one memory, in a table of the budgets of a job, or of a process: intent_placer.cpp finds it by its key.
struct alignas(64) shared_budget {
  std::atomic<std::uint64_t> key{0};  // hash of its name and size; 0: empty, as all that follow
  byte_budget budget;
};

}  // namespace situ::detail
