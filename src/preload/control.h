// The memory that `situ run --intent NAME -- PROGRAM` shares with the processes of a program that knows nothing of
// Situ: the resolved ordering, and the bytes that each process has in each memory.
//
//   situ run                    memfd, /proc/<its process>/fd/<number> in SITU_INTENT
//   library in each process     maps it, takes a row, adds and gives back the bytes of its process
//
// The launcher owns it: it writes the ordering before the program starts, and gives back the rows of processes that
// have ended without doing so. All other accesses are atomic; any process may make them at any time.
//
// Invariant: `memory_row::used` is the sum of that memory's column over all process rows, and `control::total` the sum
// of `used`, except while a process changes them. No other record says where pages are; the kernel knows the rest.
#pragma once

#include "pages/room_ledger.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace situ::preload {

using detail::node_limit;

inline constexpr std::uint64_t control_magic = 0x31746e6575746973;  // "situent1"
inline constexpr std::uint32_t most_memories = 32;
inline constexpr std::uint32_t most_processes = 1024;
inline constexpr std::uint32_t not_ordered = ~0U;  // a node that the ordering does not name
inline constexpr const char* control_variable = "SITU_INTENT";
inline constexpr const char* control_file_name = "situ-intent";

// The rows hold the memories of the ordering first, best first, then the other nodes of the machine.
struct memory_row {
  char name[64]{};                 // zero-terminated; longer names are cut
  std::uint32_t node = 0;          // a NUMA node's number
  std::uint32_t step = 0;          // memories of one step take turns; not_ordered: never chosen, but pages may be there
  std::uint32_t weight = 1;        // its share of the pages of its step
  std::uint32_t is_alone = 1;      // no other row has a part of this node: the kernel tells the bytes on it
  double fill = 0.9;               // it takes pages until this fraction of it is in use
  std::uint64_t budget_bytes = 0;  // of these bytes, whatever the node has; 0: the node's
  std::uint64_t kept_bytes = 0;    // of a node: bytes kept free of pages, whatever the threshold
  std::atomic<std::uint64_t> used{0};     // by all processes together, now
  std::atomic<std::uint64_t> at_peak{0};  // when the processes had most in all memories
  std::atomic<std::uint64_t> most{0};     // the most bytes that the processes ever had in this memory
};

struct process_row {
  std::atomic<std::int32_t> process{0};  // its number; 0: the row is free; -1: the row is being given back
  std::atomic<std::uint64_t> bytes[most_memories]{};
  std::atomic<std::uint64_t> data_limit{0};  // its RLIMIT_DATA before it was refused memory; 0: never refused
};

struct control {
  std::uint64_t magic = control_magic;
  std::uint64_t key = 0;  // also in the variable
  char intent[32]{};
  std::uint32_t memory_count = 0;
  std::uint32_t takes_beyond = 0;     // if no memory has room: 1 the last one takes the pages, 0 they are refused
  std::uint32_t is_watched = 0;       // --stats: the user asks for the bytes on each node
  std::uint32_t is_for_children = 1;  // 0: for the first process alone
  std::uint32_t kernel_policy = 0;    // mode by which the kernel follows the ordering itself; 0: it has none
  std::uint32_t has_nodes = 0;        // for some memory the kernel tells the bytes on it
  std::uint64_t data_limit = 0;       // RLIMIT_DATA as the program begins
  std::atomic<std::int32_t> first_process{0};
  std::atomic<std::uint32_t> processes{0};    // processes that ever took a row
  std::atomic<std::uint32_t> uncounted{0};    // processes that found no row
  std::atomic<std::uint32_t> refusals{0};     // times that no memory had room
  std::atomic<std::uint32_t> by_kernel{0};    // some process has been given kernel_policy
  std::atomic<std::uint64_t> moved_bytes{0};  // bytes that were beyond a threshold and were moved on
  std::atomic<std::uint64_t> total{0};
  std::atomic<std::uint64_t> most_total{0};
  memory_row memories[most_memories];
  process_row rows[most_processes];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // processes share the atomics

}  // namespace situ::preload
