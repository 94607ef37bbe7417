// Where pages lie: a range is placed along an ordering of memories. Each takes pages until it is filled up to its
// threshold, then the next one does: ordered spill (Williams, Ionkov and Lang, NUMA distance for heterogeneous memory,
// MCHPC 2017, section 3.3), in user space and eagerly. The range goes in chunks, and for each of them
//
//   choose    the first memory of the ordering with room       nodeN/meminfo, where the last reading is too old
//   prefer    its pages are to come from there                 mbind, MPOL_PREFERRED
//   make      the pages exist from here on                     MADV_POPULATE_WRITE (Linux 5.14; before: a touch); as a
//                                                              huge page where that is asked for (huge_pages.h)
//   look      at 8 of them: where are they?                    move_pages without nodes
//   correct   where one is elsewhere: all that are             move_pages, while the chosen memory has room
//
// Or the last three steps are left out (promise): the pages come when somebody touches them, from the memory that was
// chosen, since the range keeps its policy; of a shared mapping, whoever touches them. Until then they are promised
// (promises.h), and what is promised of a node is not free for others.
//
//   range   | 2 MiB | 2 MiB |  ...  | 2 MiB |64K|64K|  ...  |64K| 2 MiB | 2 MiB | ...
//            first memory             `-- its room is below 16 MiB --'  second memory
//
// Where the running kernel has the ordering as a policy of its own, it places while nothing is promised of the nodes,
// and what follows is for what it has no room for (kernel_order.h). What is promised gets that policy, too, where it is
// the ordering from all processors that the placer's thread may run on: a page then goes along the ordering as it is
// when somebody touches it. The memory chosen for it is what its promise counts for.
//
// Invariants
//   1. The policy is MPOL_PREFERRED, never MPOL_BIND: where a node of MPOL_BIND is full, the system ends processes.
//   2. Chunks end at multiples of their size, 2 MiB or 64 KiB (of reserved huge pages: 2 MiB). So no aligned 2 MiB is
//      cut, and it can be one huge page,
//      as long as its memory has a room of 16 MiB.
//   3. A reading of a node's free memory serves for an eighth of the room that it shows, or for one chunk. So up to
//      eight processes that place at one pace fill a node beyond its threshold by a chunk of 64 KiB each at most; one
//      that stood still after its reading, by an eighth of what it had read.
//   4. Bytes are added to a budget before their pages are made, and never beyond its threshold, but by the last memory
//      under when_full::last_memory.
//   5. A chunk that no memory has room for is not touched under when_full::error. Chunks before it are placed.
//   6. What the system keeps free of a node, and its last 64th (at most 512 MiB), get no page, whatever the threshold:
//      no placement drives the system into ending processes. In use is what is neither free nor holds pages of files,
//      which the system drops for others.
//   7. A placed range keeps a policy: the kernel's automatic balancing leaves it alone then (vma_policy_mof in its
//      mm/mempolicy.c). A step's memories leave one and the same, that of its first memory, so that the mappings of
//      neighbouring chunks merge again: a process has 65530, which 128 GiB of alternating chunks would take. What is
//      promised keeps each chunk's own.
//   8. What is promised of a node and what is used of it never exceed its threshold together, as far as those go who
//      share its sums: room is what a reading shows, less the larger of what was promised then and what is now. Pages
//      that are touched count twice until somebody settles, which is done before a node is said to have little room.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/byte_budget.h"
#include "memory/huge_pages.h"
#include "memory/kernel_order.h"
#include "memory/promises.h"

namespace situ::detail {

// What is asked of the system. Tests put others here. Where a call fails, errno says why.
struct placement_calls {
  // Whether something tells a node's memory: 0 or -1.
  int (*find_meminfo)(std::uint32_t node) noexcept;
  // What it tells now. The bytes read, or -1. (Nothing stays open: programs close what they do not know.)
  ssize_t (*read_meminfo)(std::uint32_t node, char* text, std::size_t bytes) noexcept;
  // How many bytes the kernel keeps free on a node: below that it takes pages from other nodes. 0: not told.
  std::uint64_t (*kept_free)(std::uint32_t node) noexcept;
  // mbind, MPOL_PREFERRED.
  int (*prefer)(void* address, std::size_t bytes, std::uint32_t node) noexcept;
  int (*advise)(void* address, std::size_t bytes, int advice) noexcept;
  // Writes a zero to each page.
  void (*touch)(void* address, std::size_t bytes) noexcept;
  // move_pages of this process. nodes: null asks where the pages are.
  int (*move)(std::size_t pages, void** addresses, const int* nodes, int* status) noexcept;
  // mincore: pages of shared memory exist whoever has touched them.
  residence_call residence;
  // The policies by which the kernel places along orderings. Null: there is no such kernel, nor the next two then.
  const kernel_orders& (*ordered_policies)() noexcept = nullptr;
  int (*bind_ordered)(void* address, std::size_t bytes, int mode, bool is_strict) noexcept = nullptr;
  // Of the processor that the calling thread is on.
  std::uint32_t (*node_here)() noexcept = nullptr;
  // That the calling thread may run on.
  machine::processor_set (*processors)() = nullptr;
};
[[nodiscard]] const placement_calls& system_placement_calls() noexcept;

// A memory of an ordering.
struct spill_memory {
  std::uint32_t node = 0;         // a NUMA node's number
  std::uint32_t weight = 1;       // its part of what its step takes
  double fill = 0.9;              // it takes pages until this part of it is in use: above 0, at most 1
  byte_budget* budget = nullptr;  // of these bytes, whatever the node has; it outlives the placer
};

// What happens to pages that no memory has room for.
enum class when_full : std::uint8_t {
  error,        // they are not touched
  last_memory,  // the last memory takes them, until it has nothing left
};

// Best first. The memories of a step that have room take turns of 2 MiB by their weights. The address says whose turn
// it is, so ranges that lie one behind another go on with the turns.
struct spill_ordering {
  std::vector<std::vector<spill_memory>> steps;
  when_full policy = when_full::error;
  std::size_t least_chunk = std::size_t{64} << 10;  // what a memory with little room takes; 2 MiB for huge pages
};

// What came of a placement, for one memory.
struct memory_fill {
  spill_memory memory;
  std::uint64_t placed_bytes = 0;     // chunks that it was chosen for; its budget has them as used
  std::uint64_t elsewhere_bytes = 0;  // pages of these that are on another node and could not be moved
  std::uint64_t total_bytes = 0;      // 0: it was not looked at
  std::uint64_t used_bytes = 0;       // when it was looked at, and what was placed since
  bool is_allowed = true;             // false: this process must not use the node (a cpuset), or there is none
};

enum class placement_outcome : std::uint8_t { placed, no_room, refused };

struct placement_report {
  placement_outcome outcome = placement_outcome::placed;
  int error = 0;            // refused: errno's value, of the first call that failed
  bool is_possible = true;  // false: no NUMA in this kernel, or it is kept from this process: node 0 took what came
  bool is_checked = true;   // false: the kernel does not tell where pages are
  std::uint64_t asked_bytes = 0;
  std::uint64_t placed_bytes = 0;  // from the range's start; what follows was not touched, but for a chunk if refused
  std::uint64_t by_kernel_bytes = 0;  // of these, what the kernel places by its own policy; the first of them
  std::uint64_t beyond_bytes = 0;     // and what the last memory took beyond its threshold
  std::uint64_t corrected_pages = 0;
  bool is_held = false;  // the kernel left pages elsewhere since other processes map them
  std::uint64_t meminfo_reads = 0;
  std::vector<memory_fill> memories;  // in the order of the ordering
};
// A line of what came of it and a table of the memories, for the message of an error.
[[nodiscard]] std::string format_fills(const placement_report& report);
// Gives back to the budgets what the report's placement took of them: its pages are gone, or about to go.
void release_budgets(const placement_report& report) noexcept;

// What pages have of a budget.
struct held_bytes {
  byte_budget* budget;
  std::uint64_t bytes;
};

// Any thread may place, several at a time: what a placement knows is its own, but for budgets.
class placer {
 public:
  // Throws bad_argument for an ordering without a memory in each step, a weight of 0, a fill out of its range, or a
  // node that is not there; not_supported where a node's free memory cannot be read. Node 0 is always there: where
  // nothing tells its free memory, it has room.
  // `promised`: what else is promised of the nodes, and where its own promises count; null: nothing is, and it promises
  // nothing. It outlives the placer.
  explicit placer(const spill_ordering& ordering, const placement_calls& calls = system_placement_calls(),
                  promises* promised = nullptr);

  // Makes the pages of a range exist, each in its memory. pre: whole pages of one mapping, private and anonymous or
  // shared, that may be written; none has been written. huge: makes the huge pages of a shared mapping; null: none.
  // cost: what the pages' faults cost, and 2 to 5 us for 2 MiB; a reading of a node's free memory now and then.
  [[nodiscard]] placement_report place(void* address, std::size_t bytes, huge_page_maker* huge = nullptr) const;
  // Leaves the pages to who touches them first, each from its memory. `notes` are of the promises that the placer was
  // made with; whoever gives the pages back withdraws them there. Of a memory with a budget they count as used at once.
  // Where it ends for want of room, what comes before stays promised. pre: as of place.
  // cost: 1 to 2 us for 2 MiB, and a reading now and then; the faults come later.
  [[nodiscard]] placement_report promise(void* address, std::size_t bytes, promise_map& notes) const {
    return promise(address, bytes, notes, policy_);
  }
  // The same with what happens without room said here.
  [[nodiscard]] placement_report promise(void* address, std::size_t bytes, promise_map& notes, when_full policy) const;
  // Takes pages that exist to the memories of the ordering; those that do not will come from there, as long as it has
  // room. All memories are chosen first: without room for all, nothing is moved or taken, and the report has nothing as
  // placed. What lies on a node needs no room there, nor do the bytes that the range has of budgets: `held` by these
  // pages until now, they are the report's from then on, or given back. Nor does what is promised of the range in
  // `notes` (null: nothing is), which is withdrawn once all memories are chosen. pre: whole pages of one mapping; notes
  // are of the promises that the placer was made with.
  // cost: 0.1 us for a page that stays, about 1 us for one that moves.
  [[nodiscard]] placement_report move(void* address, std::size_t bytes, std::vector<held_bytes> held = {},
                                      promise_map* notes = nullptr) const;
  // The kernel's own policy that is this ordering from all processors that the thread which made the placer may run
  // on: pages that come at first touch go by it. 0: there is none.
  [[nodiscard]] int kernel_policy() const noexcept { return kernel_policy_; }

 private:
  class placement;  // one call of place()
  struct node {
    std::uint32_t number;
    bool is_told;  // how much of it is free
    std::uint64_t kept_free;
  };
  struct memory {
    spill_memory what;
    std::size_t node;  // in nodes_; of no meaning with a budget
  };
  struct step {  // of memories_
    std::size_t begin;
    std::size_t end;
  };

  void add(const spill_memory& what);
  [[nodiscard]] std::vector<std::uint32_t> nodes_for_kernel() const;
  [[nodiscard]] int find_kernel_policy() const;
  [[nodiscard]] std::size_t find_or_add_node(std::uint32_t number);

  const placement_calls& calls_;
  const when_full policy_;
  const std::size_t fine_chunk_;
  promises* const promised_;
  bool is_node_0_only_ = true;
  std::vector<node> nodes_;
  std::vector<memory> memories_;
  std::vector<step> steps_;
  std::vector<std::uint32_t> kernel_nodes_;  // the ordering as the kernel's lists are; empty: it cannot be one
  int kernel_policy_ = 0;
};

// Where the pages of a range are.
struct page_locations {
  std::vector<std::uint64_t> node_bytes;  // by the node's number, up to the last that has any
  // Pages that this process has not touched; of a shared mapping they may exist (map_existing).
  std::uint64_t absent_bytes = 0;
  int error = 0;  // errno's value where the kernel does not tell; nothing is known then
};
// Pages that the range has a part of count whole. cost: about 0.1 us for a page.
[[nodiscard]] page_locations locate_pages(const void* address, std::size_t bytes,
                                          const placement_calls& calls = system_placement_calls());

// Pages of a shared mapping that exist since another process has touched them get into this process's tables, so that
// the kernel can be asked of them here. No page is made. cost: 0.05 us for a page; more for those that come.
void map_existing(const void* address, std::size_t bytes) noexcept;

// The kernel places what the range's mapping gets from here on, as if nothing had been placed in it.
void forget_placement(void* address, std::size_t bytes) noexcept;

// How much of a node's memory is in use, as placements count it (invariant 6). Nothing where the kernel does not tell.
struct memory_use {
  std::uint64_t total_bytes = 0;
  std::uint64_t used_bytes = 0;
};
[[nodiscard]] std::optional<memory_use> use_of_node(std::uint32_t node,
                                                    const placement_calls& calls = system_placement_calls());

// Whether the kernel moves pages to where they are used, which undoes placements (but see invariant 7). `file` says so.
[[nodiscard]] bool is_numa_balancing_on(const std::string& file = "/proc/sys/kernel/numa_balancing");

}  // namespace situ::detail
