// Placing by the kernel itself, where the running one has the ordered policies of kernel/.
//
// Such a kernel has lists of its own, one for each node whose processors ask and each of four policies; the
// administrator writes them (nodeN/bandwidth_order, nodeN/bandwidth_order_fill). A placement goes by the kernel where
// one of these lists is the very ordering that it would go along; else, and for what the kernel has no room for, it is
// done in user space (placer.h). For a chunk of 2 MiB:
//
//   find   the policy whose list is this ordering, from this thread's node     getcpu
//   bind   all that is left, once, strictly: no room is an error               mbind
//   make   the chunk's pages                                                   MADV_POPULATE_WRITE
//   look   after up to 64 chunks: where is the last page of each; where it     move_pages
//          is not beside the one before, where are all of the chunk
//
// Pages that come at first touch go by the policy, too (find_from_all); so do those of programs that know nothing of
// Situ (tools/situ/run_any.cpp).
//
// Invariants
//   1. A policy is strict only while this places. Afterwards its range falls back like any other: a page that is
//      swapped in, or copied after a fork, must not be refused.
//   2. Lists are read once a process, as orderings are. If the administrator changes one, the kernel goes by it at
//      once, and processes that have begun still take it for theirs.
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
  std::uint32_t from = 0;                  // the node whose processors ask
  std::string name;                        // of the policy: "bandwidth"
  int mode = 0;                            // its number, for mbind
  std::vector<std::uint32_t> nodes;        // best first; without those that this process must not use
  unsigned fill_percent = 0;               // of a node that may be in use before the next one is taken
  machine::processor_set processors = {};  // of `from`
  [[nodiscard]] bool is(std::span<const std::uint32_t> ordering, double fill) const noexcept;
};

// All of them. A value.
class kernel_orders {
 public:
  kernel_orders() = default;
  explicit kernel_orders(std::vector<kernel_order> rows) noexcept : rows_{std::move(rows)} {}
  // What the files under a folder say. None where there are no such files, or not all that a list needs.
  [[nodiscard]] static kernel_orders read(const std::string& folder);

  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  [[nodiscard]] std::span<const kernel_order> rows() const noexcept { return rows_; }
  // The list that is this ordering, seen from a node; null: none is.
  [[nodiscard]] const kernel_order* find(std::uint32_t from, std::span<const std::uint32_t> nodes,
                                         double fill) const noexcept;
  // One whose policy has this ordering for all nodes that these processors belong to; null: there is none. Whoever runs
  // there may touch a page, and the kernel goes by the toucher's list.
  [[nodiscard]] const kernel_order* find_from_all(const machine::processor_set& processors,
                                                  std::span<const std::uint32_t> nodes, double fill) const noexcept;

 private:
  std::vector<kernel_order> rows_;
};

// Of the running kernel, read once a process. None where it refuses its policies to this process.
[[nodiscard]] const kernel_orders& kernel_orders_here() noexcept;

// What of a range the kernel has placed: from its start on.
struct kernel_placement {
  std::size_t bytes = 0;
  // Where they are, by the node's number. Of a chunk whose pages went to one node, to another and back: the first.
  std::vector<std::uint64_t> node_bytes;
  bool is_told = true;  // false: the kernel has ceased to tell where they are
};
// Until the range ends, the kernel has no room, or none of its lists is this ordering. prepare: called before a chunk's
// pages are made.
[[nodiscard]] kernel_placement place_by_kernel(std::byte* address, std::size_t bytes,
                                               std::span<const std::uint32_t> nodes, double fill,
                                               const placement_calls& calls,
                                               const std::function<void(std::byte* chunk, std::size_t bytes)>& prepare);

// The calls to the system that this needs (placement_calls has them).
[[nodiscard]] int bind_ordered(void* address, std::size_t bytes, int mode, bool is_strict) noexcept;
[[nodiscard]] std::uint32_t node_of_this_thread() noexcept;

}  // namespace situ::detail
