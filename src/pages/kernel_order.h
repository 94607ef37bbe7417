// Lets the kernel itself place pages, if the running kernel has the ordered policies of kernel/.
//
// Such a kernel has its own lists, one for each requesting node and each of four policies; the administrator writes
// them (nodeN/bandwidth_order, nodeN/bandwidth_order_fill). A placement uses the kernel if one of these lists equals
// its ordering; else, and for pages that the kernel has no room for, it is done in user space (placer.h). For a chunk
// of 2 MiB:
//
//   find   the policy whose list is this ordering, from this thread's node     getcpu
//   bind   the rest of the range to it, once, strictly: no room is an error    mbind
//   make   the chunk's pages                                                   MADV_POPULATE_WRITE
//   look   after up to 64 chunks: the node of the last page of each; if it     move_pages
//          is not that of the chunk before, the nodes of all its pages
//
// The policy also applies to pages that come at first touch (find_from_all), and to pages of programs that do not use
// Situ (tools/situ/run_any.cpp).
//
// Invariants
//   1. A policy is strict only during the placement. Afterwards its range falls back like any other: a page that is
//      swapped in, or copied after a fork, must not be refused.
//   2. A process reads the lists once, as it reads orderings. If the administrator changes a list, the kernel uses the
//      new one at once, while running processes still assume the old one.
#pragma once

#include <situ/machine/processor_set.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace situ::detail {

struct placement_calls;

// One of the kernel's lists.
struct kernel_order {
  std::uint32_t from = 0;                  // the node of the requesting processors
  std::string name;                        // name of the policy: "bandwidth"
  int mode = 0;                            // number of the policy, for mbind
  std::vector<std::uint32_t> nodes;        // best first; without nodes that this process must not use
  unsigned fill_percent = 0;               // the part of a node that may be in use before the next node is used
  machine::processor_set processors = {};  // of `from`
  [[nodiscard]] bool is(std::span<const std::uint32_t> ordering, double fill) const noexcept;
};

// The lists of a kernel. A value.
class kernel_orders {
 public:
  kernel_orders() = default;
  explicit kernel_orders(std::vector<kernel_order> rows) noexcept : rows_{std::move(rows)} {}
  // Reads the lists from the files under a folder. Returns no lists if there are no such files, or a file is missing.
  [[nodiscard]] static kernel_orders read(const std::string& folder);

  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  [[nodiscard]] std::span<const kernel_order> rows() const noexcept { return rows_; }
  // Returns the list that equals this ordering, as seen from a node; null if there is none.
  [[nodiscard]] const kernel_order* find(std::uint32_t from, std::span<const std::uint32_t> nodes,
                                         double fill) const noexcept;
  // Returns a list whose policy has this ordering for all nodes that these processors belong to; null if there is
  // none. A thread on any of them may touch a page, and the kernel uses the list of the touching thread's node.
  [[nodiscard]] const kernel_order* find_from_all(const machine::processor_set& processors,
                                                  std::span<const std::uint32_t> nodes, double fill) const noexcept;

 private:
  std::vector<kernel_order> rows_;
};

// Returns the lists of the running kernel, read once per process. Empty if the kernel refuses this process its
// policies.
[[nodiscard]] const kernel_orders& kernel_orders_here() noexcept;

// The part of a range that the kernel has placed: from its start on.
struct kernel_placement {
  std::size_t bytes = 0;
  // The bytes on each node, by the node's number. A chunk whose pages went to one node, to another one and back counts
  // for the first node.
  std::vector<std::uint64_t> node_bytes;
  bool is_told = true;  // false: the kernel has stopped reporting where pages are
};
// Places pages of a range by the kernel's policy, until the range ends, the kernel has no room, or none of its lists
// is this ordering. prepare: called before a chunk's pages are made.
[[nodiscard]] kernel_placement place_by_kernel(std::byte* address, std::size_t bytes,
                                               std::span<const std::uint32_t> nodes, double fill,
                                               const placement_calls& calls,
                                               const std::function<void(std::byte* chunk, std::size_t bytes)>& prepare);

// The system calls for this (members of placement_calls).
[[nodiscard]] int bind_ordered(void* address, std::size_t bytes, int mode, bool is_strict) noexcept;
[[nodiscard]] std::uint32_t node_of_this_thread() noexcept;

}  // namespace situ::detail
