// What `situ run --intent NAME -- PROGRAM` and the processes of a program that knows nothing of Situ share: the
// ordering as it was resolved, and what each process has of which memory.
//
//   situ run                    memfd, /proc/<its process>/fd/<number> in SITU_INTENT
//   library in each process     maps it, takes a row, adds and gives back what its process has
//
// The launcher owns it: it writes the ordering before the program starts, and gives back the rows of processes that
// have ended without doing so. Everything else is atomic; any process may do it at any time.
//
// Invariant: `memory_row::used` is the sum of that memory's column over all process rows, and `control::total` the sum
// of `used`, but for what is being changed. Nothing else is kept of where pages are; the kernel knows the rest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace situ::preload {

inline constexpr std::uint64_t control_magic = 0x31746e6575746973;  // "situent1"
inline constexpr std::uint32_t most_memories = 32;
inline constexpr std::uint32_t most_processes = 1024;
inline constexpr std::uint32_t most_nodes = 1024;  // MAX_NUMNODES of the largest kernels
inline constexpr std::uint32_t not_ordered = ~0U;  // a node that the ordering does not name
inline constexpr const char* control_variable = "SITU_INTENT";
inline constexpr const char* control_file_name = "situ-intent";

// A memory: first those of the ordering, best first, then the other nodes of the machine.
struct memory_row {
  char name[64]{};                 // zero-terminated; longer names are cut
  std::uint32_t node = 0;          // a NUMA node's number
  std::uint32_t step = 0;          // memories of one step take turns; not_ordered: it takes none but what falls there
  std::uint32_t weight = 1;        // its part of what its step takes
  std::uint32_t is_alone = 1;      // no other row has a part of this node: the kernel tells what lies there
  double fill = 0.9;               // it takes pages until this part of it is in use
  std::uint64_t budget_bytes = 0;  // of these bytes, whatever the node has; 0: the node's
  std::uint64_t kept_bytes = 0;    // of a node: these get no page, whatever the threshold
  std::atomic<std::uint64_t> used{0};     // by all processes together, now
  std::atomic<std::uint64_t> at_peak{0};  // when they had most in all memories
  std::atomic<std::uint64_t> most{0};     // that they ever had of this one
};

struct process_row {
  std::atomic<std::int32_t> process{0};  // its number; 0: the row is free; -1: it is being given back
  std::atomic<std::uint64_t> bytes[most_memories]{};
  std::atomic<std::uint64_t> data_limit{0};  // its RLIMIT_DATA before it was refused memory; 0: it has not been
};

struct control {
  std::uint64_t magic = control_magic;
  std::uint64_t key = 0;  // stands in the variable, too
  char intent[32]{};
  std::uint32_t memory_count = 0;
  std::uint32_t takes_beyond = 0;     // what no memory has room for: 1 the last one takes it, 0 it is refused
  std::uint32_t is_watched = 0;       // somebody wants to know what lies where (--stats)
  std::uint32_t is_for_children = 1;  // else for the first process alone
  std::uint32_t kernel_policy = 0;    // by which the kernel itself goes along the ordering; 0: it has none
  std::uint32_t has_nodes = 0;        // of some memory the kernel tells what lies there
  std::uint64_t data_limit = 0;       // RLIMIT_DATA as the program begins
  std::atomic<std::int32_t> first_process{0};
  std::atomic<std::uint32_t> processes{0};    // that ever took a row
  std::atomic<std::uint32_t> uncounted{0};    // that found no row
  std::atomic<std::uint32_t> refusals{0};     // how often no memory had room
  std::atomic<std::uint32_t> by_kernel{0};    // some process has been told kernel_policy
  std::atomic<std::uint64_t> moved_bytes{0};  // that had gone beyond a threshold, and were moved on
  std::atomic<std::uint64_t> total{0};
  std::atomic<std::uint64_t> most_total{0};
  memory_row memories[most_memories];
  process_row rows[most_processes];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // processes share them

}  // namespace situ::preload
