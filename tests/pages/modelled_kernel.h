// A modelled kernel of several nodes, for what one machine cannot show: placer tests run on it. One at a time.
#pragma once

#include "pages/placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace situ {

using detail::byte_budget;
using detail::placement_outcome;
using detail::placement_report;
using detail::placer;
using detail::spill_memory;
using detail::spill_ordering;
using detail::when_full;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

inline constexpr std::uint64_t KiB = 1 << 10;
inline constexpr std::uint64_t MiB = 1 << 20;
inline constexpr std::uint64_t page = 4096;
inline constexpr int absent = -ENOENT;

// A kernel with nodes of its own. Its pages lie at `base`, where the process has none.
struct modelled_kernel {
  struct node {
    std::uint64_t total;
    std::uint64_t free;
    std::uint64_t reserve = 0;  // free bytes that no page gets
    std::uint64_t files = 0;    // bytes that hold pages of files
  };
  struct preference {
    std::size_t first_page;
    std::size_t pages;
    std::uint32_t node;
  };
  static constexpr std::uintptr_t base = std::uintptr_t{1} << 40;

  std::mutex lock;  // several threads may place
  std::vector<node> nodes;
  std::map<std::uint32_t, std::uint64_t> kept_free;
  std::vector<int> preferred;  // of each page
  std::vector<int> at;         // of each page: its node, or absent
  std::vector<preference> preferences;
  std::vector<std::size_t> touched;
  std::set<std::uint32_t> hidden;      // nodes without meminfo
  std::set<std::uint32_t> prohibited;  // by a cpuset
  int reads = 0;
  int read_error = 0;
  int prefer_error = 0;
  int populate_error = 0;
  int move_error = 0;
  std::size_t populate_fails_from = 0;    // page
  std::function<int(std::size_t)> falls;  // a page -> the node that it falls on, or -1: as it is preferred
  std::function<void(std::uint32_t, std::uint64_t)> others;  // what others do after a populate of bytes on a node
  std::function<void(int)> on_read;                          // before a node is read

  modelled_kernel(std::vector<std::uint64_t> sizes, std::uint64_t range_bytes) {
    for (const std::uint64_t size : sizes) nodes.push_back({size, size});
    preferred.assign(range_bytes / page, 0);
    at.assign(range_bytes / page, absent);
  }
  void* address(std::uint64_t offset = 0) const { return reinterpret_cast<void*>(base + offset); }
  std::size_t index(const void* address) const {
    const std::size_t found = (reinterpret_cast<std::uintptr_t>(address) - base) / page;
    EXPECT_LT(found, at.size());
    return std::min(found, at.size() - 1);
  }
  std::uint64_t used(std::size_t n) const { return nodes[n].total - nodes[n].free; }
  std::uint64_t bytes_on(int n) const { return page * static_cast<std::uint64_t>(std::count(at.begin(), at.end(), n)); }
  bool take(int n) {
    node& from = nodes[static_cast<std::size_t>(n)];
    if (from.free < from.reserve + page) return false;
    from.free -= page;
    return true;
  }
  // A page that is wanted on this node and no other: it drops a file's.
  bool take_in_earnest(int n) {
    node& from = nodes[static_cast<std::size_t>(n)];
    if (from.free < from.reserve + page && from.files >= page) {
      from.files -= page;
      from.free += page;
    }
    return take(n);
  }
  bool fault(std::size_t p) {
    if (at[p] >= 0) return true;
    const int fallen = falls ? falls(p) : -1;
    for (int n : {fallen, preferred[p], 0, 1, 2, 3})
      if (n >= 0 && n < static_cast<int>(nodes.size()) && take(n)) {
        at[p] = n;
        return true;
      }
    return false;
  }
};
inline modelled_kernel* kernel = nullptr;  // of the test that runs

inline int fail(int reason) {
  errno = reason;
  return -1;
}

inline int modelled_advise(void* address, std::size_t bytes, int advice) noexcept {
  const std::lock_guard held{kernel->lock};
  EXPECT_EQ(advice, 23) << "MADV_POPULATE_WRITE";
  const std::size_t first = kernel->index(address);
  if (kernel->populate_error != 0 && first >= kernel->populate_fails_from) return fail(kernel->populate_error);
  for (std::size_t p = first; p < first + bytes / page; ++p)
    if (!kernel->fault(p)) return fail(ENOMEM);
  if (kernel->others) kernel->others(static_cast<std::uint32_t>(kernel->preferred[first]), bytes);
  return 0;
}

inline int modelled_move(std::size_t pages, void** addresses, const int* nodes, int* status) noexcept {
  const std::lock_guard held{kernel->lock};
  if (kernel->move_error != 0) return fail(kernel->move_error);
  for (std::size_t i = 0; i < pages; ++i) {
    int& where = kernel->at[kernel->index(addresses[i])];
    if (nodes != nullptr && where >= 0 && where != nodes[i] && kernel->take_in_earnest(nodes[i])) {
      kernel->nodes[static_cast<std::size_t>(where)].free += page;
      where = nodes[i];
    }
    status[i] = nodes != nullptr ? -EBUSY : where;  // as if each were part of a huge page
  }
  return 0;
}

inline int modelled_residence(void* address, std::size_t bytes, unsigned char* resident) noexcept {
  const std::lock_guard held{kernel->lock};
  const std::size_t first = kernel->index(address);
  for (std::size_t p = 0; p < bytes / page; ++p) resident[p] = kernel->at[first + p] >= 0;
  return 0;
}

inline const detail::placement_calls modelled_calls{
    .find_meminfo =
        [](std::uint32_t node) noexcept {
          return node >= kernel->nodes.size() || kernel->hidden.contains(node) ? fail(ENOENT) : 0;
        },
    .read_meminfo = [](std::uint32_t node, char* text, std::size_t bytes) noexcept -> ssize_t {
      const std::lock_guard held{kernel->lock};
      ++kernel->reads;
      if (kernel->on_read) kernel->on_read(static_cast<int>(node));
      if (kernel->read_error != 0) return fail(kernel->read_error);
      const modelled_kernel::node& of = kernel->nodes[node];
      std::snprintf(text, bytes,
                    "Node %u MemTotal:       %llu kB\nNode %u MemFree:         %llu kB\nNode %u Active(file):    %llu "
                    "kB\nNode %u Inactive(file):",
                    node, static_cast<unsigned long long>(of.total / KiB), node,
                    static_cast<unsigned long long>(of.free / KiB), node,
                    static_cast<unsigned long long>(of.files / KiB), node);
      return static_cast<ssize_t>(std::strlen(text));
    },
    .kept_free =
        [](std::uint32_t node) noexcept {
          const std::lock_guard held{kernel->lock};
          return kernel->kept_free[node];
        },
    .prefer =
        [](void* address, std::size_t bytes, std::uint32_t node) noexcept {
          const std::lock_guard held{kernel->lock};
          if (kernel->prefer_error != 0) return fail(kernel->prefer_error);
          if (node >= kernel->nodes.size() || kernel->prohibited.contains(node)) return fail(EINVAL);
          const std::size_t first = kernel->index(address);
          kernel->preferences.push_back({first, bytes / page, node});
          for (std::size_t p = first; p < first + bytes / page; ++p) kernel->preferred[p] = static_cast<int>(node);
          return 0;
        },
    .advise = modelled_advise,
    .touch =
        [](void* address, std::size_t bytes) noexcept {
          const std::lock_guard held{kernel->lock};
          const std::size_t first = kernel->index(address);
          for (std::size_t p = first; p < first + bytes / page; ++p) {
            kernel->touched.push_back(p);
            EXPECT_TRUE(kernel->fault(p));
          }
        },
    .move = modelled_move,
    .residence = modelled_residence};

class modelled_placer : public testing::Test {
 protected:
  ~modelled_placer() override { kernel = nullptr; }
  modelled_kernel& model(std::vector<std::uint64_t> sizes, std::uint64_t range_bytes) {
    owned = std::make_unique<modelled_kernel>(std::move(sizes), range_bytes);
    kernel = owned.get();
    return *owned;
  }
  // In this order, one in each step.
  static spill_ordering in_order(std::vector<std::uint32_t> nodes, double fill = 0.9,
                                 when_full policy = when_full::error) {
    spill_ordering made{.steps = {}, .policy = policy};
    for (const std::uint32_t node : nodes) made.steps.push_back({{.node = node, .fill = fill}});
    return made;
  }
  static placement_report place(const spill_ordering& ordering, std::uint64_t offset, std::uint64_t bytes) {
    return placer{ordering, modelled_calls}.place(kernel->address(offset), bytes);
  }
  // What the report says of nodes is where the pages are; each memory is one node's only.
  static void expect_true(const placement_report& report) {
    std::uint64_t sum = 0;
    for (const detail::memory_fill& row : report.memories) {
      EXPECT_EQ(row.placed_bytes, kernel->bytes_on(static_cast<int>(row.memory.node))) << "node " << row.memory.node;
      sum += row.placed_bytes;
    }
    EXPECT_EQ(sum, report.placed_bytes);
  }
  std::unique_ptr<modelled_kernel> owned;
};

inline std::uint64_t threshold(std::uint64_t total, double fill) {
  return static_cast<std::uint64_t>(static_cast<double>(total) * fill);
}

}  // namespace situ
