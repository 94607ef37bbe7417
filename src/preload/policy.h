// The policy by which the kernel chooses pages: one preferred node, several in turn, or the kernel's own ordered
// policy (of kernel/, if the running kernel has it). Never bound: if a bound node is full, the kernel kills processes.
#pragma once

#include "preload/control.h"
#include "preload/system_calls.h"

#include <linux/mempolicy.h>

#include <cstddef>
#include <cstdint>

namespace situ::preload {

struct policy {
  std::uint32_t mode = MPOL_DEFAULT;
  std::uint64_t nodes[node_limit / 64] = {};

  void add(std::uint32_t node) noexcept { nodes[node / 64] |= std::uint64_t{1} << (node % 64); }
  [[nodiscard]] std::uint32_t first_node() const noexcept {
    for (std::uint32_t i = 0; i < node_limit; ++i)
      if ((nodes[i / 64] >> (i % 64) & 1) != 0) return i;
    return 0;
  }
  friend bool operator==(const policy& a, const policy& b) noexcept {
    for (std::size_t i = 0; i < node_limit / 64; ++i)
      if (a.nodes[i] != b.nodes[i]) return false;
    return a.mode == b.mode;
  }
};

// Returns the policy for the next memory: that memory alone, or it and others in turn, page by page. Memories of one
// step take turns like that if they have equal weights and each is a node; others become next in turn, from one look
// to the next.
[[nodiscard]] inline policy policy_of(const control& all, std::uint32_t memory) noexcept {
  const memory_row& chosen = all.memories[memory];
  policy made{.mode = MPOL_PREFERRED};
  made.add(chosen.node);
  policy together = made;
  together.mode = MPOL_INTERLEAVE;
  std::uint32_t members = 0;
  for (std::uint32_t i = 0; i < all.memory_count; ++i) {
    const memory_row& other = all.memories[i];
    if (other.step != chosen.step) continue;
    if (other.budget_bytes != 0 || other.weight != chosen.weight) return made;
    together.add(other.node);
    ++members;
  }
  return members > 1 ? together : made;
}

// Returns the policy for pages made from now on: as long as some memory has room, the kernel's own policy if there is
// one.
[[nodiscard]] inline policy policy_for(const control& all, std::uint32_t memory, bool has_room) noexcept {
  return has_room && all.kernel_policy != 0 ? policy{.mode = all.kernel_policy} : policy_of(all, memory);
}

// These return 0 or -errno. The kernel subtracts one from the number of bits.
inline long set_thread_policy(const policy& what) noexcept {
  return system_call(SYS_set_mempolicy, what.mode, address_of(what.nodes), node_limit + 1);
}
inline long set_range_policy(std::uint64_t begin, std::uint64_t end, const policy& what) noexcept {
  return system_call(SYS_mbind, static_cast<long>(begin), static_cast<long>(end - begin), what.mode,
                     address_of(what.nodes), node_limit + 1, 0);
}
// Sets MPOL_DEFAULT if the thread has no policy of its own.
inline long get_thread_policy(policy& what) noexcept {
  int mode = 0;
  const long failed = system_call(SYS_get_mempolicy, address_of(&mode), address_of(what.nodes), node_limit + 1, 0, 0);
  what.mode = static_cast<std::uint32_t>(mode);
  return failed;
}
// Sets MPOL_DEFAULT if the range has no policy of its own.
inline long get_range_policy(std::uint64_t begin, policy& what) noexcept {
  int mode = 0;
  const long failed = system_call(SYS_get_mempolicy, address_of(&mode), address_of(what.nodes), node_limit + 1,
                                  static_cast<long>(begin), MPOL_F_ADDR);
  what.mode = static_cast<std::uint32_t>(mode);
  return failed;
}

// Returns true if the calling thread, or the one that started it, has been given a policy that is none of the
// ordering's. (The kernel reports the ordering's policies without the nodes that a cpuset excludes.)
[[nodiscard]] inline bool has_policy_of_its_own(const control& all) noexcept {
  policy its;
  if (get_thread_policy(its) != 0 || its.mode == MPOL_DEFAULT) return false;
  if (its.mode == all.kernel_policy) return false;
  for (std::uint32_t i = 0; i < all.memory_count && all.memories[i].step != not_ordered; ++i) {
    const policy told = policy_of(all, i);
    std::uint64_t others = 0;
    for (std::size_t word = 0; word < node_limit / 64; ++word) others |= its.nodes[word] & ~told.nodes[word];
    if (its.mode == told.mode && others == 0) return false;
  }
  return true;
}
// Sets the policy of the calling thread, unless the thread has a policy of its own.
inline void tell_calling_thread(const control& all, const policy& what) noexcept {
  if (!has_policy_of_its_own(all)) set_thread_policy(what);
}

}  // namespace situ::preload
