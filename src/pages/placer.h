// Places the pages of a range along an ordering of memories. Each memory takes pages until it is filled up to its
// threshold, then the next one does: ordered spill (Williams, Ionkov and Lang, NUMA distance for heterogeneous memory,
// MCHPC 2017, section 3.3), in user space and eagerly. The range is placed in chunks, with these steps for each:
//
//   choose    the first memory of the ordering with room       nodeN/meminfo, if the last reading is too old
//   prefer    let the chunk's pages come from there            mbind, MPOL_PREFERRED
//   make      populate the pages                               MADV_POPULATE_WRITE (Linux 5.14; before: a touch); as a
//                                                              huge page if requested (huge_pages.h)
//   look      at the nodes of 8 of them                        move_pages without nodes
//   correct   if one is elsewhere, move all that are           move_pages, while the chosen memory has room
//
// promise() omits the last three steps: each page comes when it is first touched, from the chosen memory, since the
// range keeps its policy (for a shared mapping, whichever process touches it). Until then the pages are promised
// (promises.h), and promised bytes of a node are not free for others.
//
//   range   | 2 MiB | 2 MiB |  ...  | 2 MiB |64K|64K|  ...  |64K| 2 MiB | 2 MiB | ...
//            first memory             `-- its room is below 16 MiB --'  second memory
//
// If the running kernel has the ordering as a policy of its own, the kernel places as long as nothing is promised of
// the nodes, and the steps above place only the pages that it has no room for (kernel_order.h). Promised ranges get
// that policy, too, if it is the ordering from all processors that the placer's thread may run on: the kernel then
// chooses the memory of a page when it is touched. Its promise still counts for the memory that was chosen here.
//
// Invariants
//   1. The policy is MPOL_PREFERRED, never MPOL_BIND: if a node of MPOL_BIND is full, the system kills processes.
//   2. Chunks end at multiples of their size, 2 MiB or 64 KiB (of reserved huge pages: 2 MiB). So no aligned 2 MiB is
//      cut, and it can be one huge page, as long as its memory has a room of 16 MiB.
//   3. A reading of a node's free memory serves for an eighth of the room that it shows, or for one chunk. So up to
//      eight processes that place at the same pace overfill a node by a chunk of 64 KiB each at most; a process that
//      was suspended after its reading, by an eighth of the room that it had read.
//   4. Bytes are added to a budget before their pages are made, and never beyond its threshold, except in the last
//      memory under when_full::last_memory.
//   5. A chunk that no memory has room for is not touched under when_full::error. Chunks before it are placed.
//   6. The memory of a node that the system keeps free, and the node's last 64th (at most 512 MiB), get no page,
//      whatever the threshold (room_ledger.h): no placement drives the system into killing processes. Memory counts as
//      in use unless it is free or holds pages of files, which the system evicts when needed.
//   7. A placed range keeps a policy: the kernel's automatic balancing leaves it alone then (vma_policy_mof in its
//      mm/mempolicy.c). All memories of a step leave the policy of the step's first memory, so that the mappings of
//      neighbouring chunks merge again: a process may have 65530 mappings, which 128 GiB of alternating chunks would
//      use up. Promised chunks keep their own policies.
//   8. promised + used <= threshold for every node, over all users of the same sums: room = the room of a reading -
//      max(promised at the reading, promised now). Touched pages count twice until a placer settles the promises,
//      which it does before it reports that a node has little room.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pages/huge_pages.h"
#include "pages/kernel_order.h"
#include "pages/promises.h"
#include "pages/room_ledger.h"

namespace situ::detail {

// The system calls that the placer uses. Tests substitute their own. After a failed call, errno has the reason.
struct placement_calls {
  // Checks that a node's memory can be read: 0 or -1.
  int (*find_meminfo)(std::uint32_t node) noexcept;
  // Reads the node's meminfo. Returns the bytes read, or -1. (No file stays open: programs close descriptors that they
  // do not know.)
  ssize_t (*read_meminfo)(std::uint32_t node, char* text, std::size_t bytes) noexcept;
  // Returns the bytes that the kernel keeps free on a node: below that it takes pages from other nodes. 0: unknown.
  std::uint64_t (*kept_free)(std::uint32_t node) noexcept;
  // mbind, MPOL_PREFERRED.
  int (*prefer)(void* address, std::size_t bytes, std::uint32_t node) noexcept;
  int (*advise)(void* address, std::size_t bytes, int advice) noexcept;
  // Writes a zero to each page.
  void (*touch)(void* address, std::size_t bytes) noexcept;
  // move_pages of this process. nodes: null asks for the pages' nodes.
  int (*move)(std::size_t pages, void** addresses, const int* nodes, int* status) noexcept;
  // mincore: pages of shared memory exist whichever process has touched them.
  residence_call residence;
  // The policies by which the kernel places along orderings. Null: the kernel has none, and the next two are null,
  // too.
  const kernel_orders& (*ordered_policies)() noexcept = nullptr;
  int (*bind_ordered)(void* address, std::size_t bytes, int mode, bool is_strict) noexcept = nullptr;
  // The node of the processor that the calling thread is on.
  std::uint32_t (*node_here)() noexcept = nullptr;
  // The processors that the calling thread may run on.
  machine::processor_set (*processors)() = nullptr;
};
[[nodiscard]] const placement_calls& system_placement_calls() noexcept;

inline constexpr std::uint32_t no_node_here = ~std::uint32_t{0};

// A memory of an ordering.
struct spill_memory {
  std::uint32_t node = 0;         // a NUMA node's number; in reports also no_node_here: the memory is of no node
  std::uint32_t weight = 1;       // its share of the chunks of its step
  double fill = 0.9;              // the part of it that may be in use: above 0, at most 1
  byte_budget* budget = nullptr;  // if set, limits the memory instead of the node; outlives the placer
  char name[24]{};                // for reports, cut to fit; "": "node 0"
};

// The treatment of pages that no memory has room for.
enum class when_full : std::uint8_t {
  error,        // they are not touched
  last_memory,  // the last memory takes them, until it has nothing left
};

// Best first. The memories of a step that have room take turns of 2 MiB, by their weights. The address determines the
// turn, so adjacent ranges continue the sequence of turns.
struct spill_ordering {
  std::vector<std::vector<spill_memory>> steps;
  when_full policy = when_full::error;
  std::size_t least_chunk = std::size_t{64} << 10;  // chunk for a memory with little room; 2 MiB for huge pages
};

// The result of a placement, for one memory.
struct memory_fill {
  spill_memory memory;
  std::uint64_t placed_bytes = 0;     // chunks that it was chosen for; its budget counts them as used
  std::uint64_t elsewhere_bytes = 0;  // of these, on another node and could not be moved
  std::uint64_t total_bytes = 0;      // 0: it was not read
  std::uint64_t used_bytes = 0;       // at the reading, plus the bytes placed since
  bool is_allowed = true;             // false: this process must not use the node (a cpuset), or there is none
};

enum class placement_outcome : std::uint8_t { placed, no_room, refused };

struct placement_report {
  placement_outcome outcome = placement_outcome::placed;
  int error = 0;            // for refused: errno's value of the first call that failed
  bool is_possible = true;  // false: no NUMA in this kernel or for this process: node 0 took the pages
  bool is_checked = true;   // false: the kernel does not report where pages are
  std::uint64_t asked_bytes = 0;
  std::uint64_t placed_bytes = 0;     // from the range's start; later bytes were not touched, except a chunk if refused
  std::uint64_t by_kernel_bytes = 0;  // of these, the first ones, placed by the kernel's own policy
  std::uint64_t beyond_bytes = 0;     // bytes that the last memory took beyond its threshold
  std::uint64_t corrected_pages = 0;
  bool is_held = false;  // the kernel left pages elsewhere because other processes map them
  std::uint64_t meminfo_reads = 0;
  std::vector<memory_fill> memories;  // in the order of the ordering
};
// Returns a line with the outcome and a table of the memories, for the message of an error.
[[nodiscard]] std::string format_fills(const placement_report& report);
// Returns the bytes of the report's placement to the budgets: its pages are gone, or about to go.
void release_budgets(const placement_report& report) noexcept;

// The bytes of a budget that certain pages hold.
struct held_bytes {
  byte_budget* budget;
  std::uint64_t bytes;
};

// Any thread may place, several at a time: a placement has its own state, except for budgets and promises.
class placer {
 public:
  // Throws bad_argument for an ordering without steps or with an empty step, a weight of 0, a fill out of its range, or
  // a node that does not exist; not_supported if a node's free memory cannot be read. Node 0 always exists: if its free
  // memory cannot be read, it counts as having room. `promised`: other promises of the nodes, to which the placer adds
  // its own; null: there are none, and the placer promises nothing. It outlives the placer.
  explicit placer(const spill_ordering& ordering, const placement_calls& calls = system_placement_calls(),
                  promises* promised = nullptr);

  // Makes the pages of a range exist, each in its memory. pre: whole pages of one mapping, private and anonymous or
  // shared, that may be written; none has been written. huge: makes the huge pages of a shared mapping; null: none.
  // cost: what the pages' faults cost, and 2 to 5 us for 2 MiB; now and then a reading of a node's free memory.
  [[nodiscard]] placement_report place(void* address, std::size_t bytes, huge_page_maker* huge = nullptr) const;
  // Chooses a memory for each page, from which the page comes when it is first touched. `notes` must belong to the
  // promises that the placer was made with; the code that frees the pages withdraws their promises there. In a memory
  // with a budget the bytes count as used at once. If the call ends for want of room, the bytes before that point stay
  // promised. pre: as of place.
  // cost: 1 to 2 us for 2 MiB, and a reading now and then; the faults come later.
  [[nodiscard]] placement_report promise(void* address, std::size_t bytes, promise_map& notes) const {
    return promise(address, bytes, notes, policy_);
  }
  // As above, with the given policy for want of room.
  [[nodiscard]] placement_report promise(void* address, std::size_t bytes, promise_map& notes, when_full policy) const;
  // Moves existing pages to the memories of the ordering; absent pages will come from there, as long as the memory has
  // room. All memories are chosen first: without room for all pages, nothing is moved or taken, and the report has no
  // placed bytes. Pages that are on the chosen node already need no room there, nor do the bytes in budgets that these
  // pages hold (`held`): the report takes over those it needs, the rest is released. Nor do promises of the range in
  // `notes` (null: there are none), which are withdrawn once all memories are chosen. pre: whole pages of one mapping;
  // notes belong to the promises that the placer was made with.
  // cost: 0.1 us for a page that stays, about 1 us for one that moves.
  [[nodiscard]] placement_report move(void* address, std::size_t bytes, std::vector<held_bytes> held = {},
                                      promise_map* notes = nullptr) const;
  // Returns the kernel's policy that equals this ordering from all processors that the thread which made the placer
  // may run on: it applies to pages that come at first touch. 0: there is none.
  [[nodiscard]] int kernel_policy() const noexcept { return kernel_policy_; }

 private:
  // One call: what the three have in common, and each (placement_search.h).
  class search;
  class making;
  class promising;
  class moving;
  struct node {
    std::uint32_t number;
    bool is_told;  // whether its free memory can be read
    std::uint64_t kept_free;
  };
  struct memory {
    spill_memory what;
    std::size_t node;  // index in nodes_; unused with a budget
  };
  struct step {  // indices in memories_
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
  std::vector<std::uint32_t> kernel_nodes_;  // the ordering as a list of the kernel; empty: it cannot be one
  int kernel_policy_ = 0;
};

// The distribution of a range's pages over nodes.
struct page_locations {
  std::vector<std::uint64_t> node_bytes;  // index: node number, up to the last node with any
  // Bytes of pages that this process has not touched; in a shared mapping they may exist (map_existing).
  std::uint64_t absent_bytes = 0;
  int error = 0;  // errno's value if the kernel does not report; then nothing is known
};
// Finds the nodes of a range's pages. Pages that are only partly in the range count whole. cost: about 0.1 us for a
// page.
[[nodiscard]] page_locations locate_pages(const void* address, std::size_t bytes,
                                          const placement_calls& calls = system_placement_calls());

// Maps pages of a shared mapping that exist because another process has touched them into this process's page tables,
// so that the kernel can be asked for their nodes here. Makes no page. cost: 0.05 us for a page; more for newly mapped
// ones.
void map_existing(const void* address, std::size_t bytes) noexcept;

// Resets the policy of a range: the kernel places its later pages as if nothing had been placed there.
void forget_placement(void* address, std::size_t bytes) noexcept;

// Returns the use of a node's memory (invariant 6), or nullopt if the kernel does not report it.
[[nodiscard]] std::optional<memory_use> use_of_node(std::uint32_t node,
                                                    const placement_calls& calls = system_placement_calls());

}  // namespace situ::detail
