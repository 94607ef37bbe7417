// The ledger of a memory's room: the bytes of it that may be in use, that are kept free, promised, or taken from a
// budget.
//
//   kept       max(a 64th of the node, at most 512 MiB; the node's high watermarks)
//   threshold  min(fill x total, total - kept)            of a budget: fill x bytes
//   room       threshold - used - promised
//
// Everything that chooses a memory counts by these rules, so that programs compete on equal terms: the placers
// (placer.h), the watcher of a program that knows nothing of Situ (preload/watcher.h), and by the same numbers the
// kernel's ordered policies (mpol_order_measure in kernel/ordered-mempolicy.patch).
//
// The watcher's library links the C library alone, and its thread may not even call that. So this header includes
// headers of the language only, and no function here allocates, throws, waits or calls another library.
// Thread-safe: the shared counts are atomic. They publish nothing else, so all accesses are relaxed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace situ::detail {

inline constexpr std::uint32_t node_limit = 1024;  // MAX_NUMNODES of the largest kernels

// The part of a node that gets no page, whatever the threshold: with less free memory the system reclaims
// aggressively, and kills processes if that fails.
inline constexpr std::uint64_t kept_part = 64;
inline constexpr std::uint64_t most_kept = std::uint64_t{512} << 20;
// The room that a memory must have before the watcher, which has left it, returns to it. It is smaller than the kept
// part on purpose: it does not protect the system, but keeps the watcher from changing the policy of all mappings for a
// few pages. A placer has no such rule: it chooses for each chunk anew, and the chunk's policy alone changes.
inline constexpr std::uint64_t return_part = 64;
inline constexpr std::uint64_t most_to_return = std::uint64_t{16} << 20;

// The use of a node's memory. Pages of files are not in use: the system evicts them when needed.
struct memory_use {
  std::uint64_t total_bytes = 0;
  std::uint64_t used_bytes = 0;
};

// A number of bytes that stands for a separate memory, on a machine with fewer nodes than a program or a test needs.
// All placers in the memory share the budget, in one process or (if it is in shared memory) in several.
struct byte_budget {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> used{0};
};

// The budget of one memory, in a table of the budgets of a job, or of a process: intent_placer.cpp finds it by its key.
struct alignas(64) shared_budget {
  std::atomic<std::uint64_t> key{0};  // hash of its name and size; 0: empty, as all that follow
  byte_budget budget;
};

// The bytes that are promised on each node (promises.h).
struct promise_sums {
  std::atomic<std::uint64_t> bytes[node_limit]{};  // index: node number
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // processes share the counts

// Returns 0 if `less` is larger.
[[nodiscard]] constexpr std::uint64_t difference(std::uint64_t more, std::uint64_t less) noexcept {
  return more > less ? more - less : 0;
}

// Returns the bytes of a node that stay free of pages. `high_marks`: the bytes that the kernel keeps free by itself.
[[nodiscard]] constexpr std::uint64_t kept_of_node(std::uint64_t total_bytes, std::uint64_t high_marks) noexcept {
  return std::max(std::min(total_bytes / kept_part, most_kept), high_marks);
}

// Returns the room that a memory which was left must have before it is chosen again.
[[nodiscard]] constexpr std::uint64_t room_to_return(std::uint64_t total_bytes) noexcept {
  return std::min(total_bytes / return_part, most_to_return);
}

// Returns the bytes of a memory that may be in use. A budget keeps nothing.
[[nodiscard]] constexpr std::uint64_t threshold_of(std::uint64_t total_bytes, double fill,
                                                   std::uint64_t kept_bytes = 0) noexcept {
  const auto part = static_cast<std::uint64_t>(static_cast<double>(total_bytes) * fill);
  return std::min(part, difference(total_bytes, kept_bytes));
}

// Adds to a count of used or promised bytes as many of `most` bytes as the limit leaves, by compare and exchange, so
// that all who share the count stay below the limit together. Returns the bytes added: at least `least`, or 0.
[[nodiscard]] inline std::uint64_t take_bytes(std::atomic<std::uint64_t>& used, std::uint64_t limit,
                                              std::uint64_t least, std::uint64_t most) noexcept {
  std::uint64_t before = used.load(std::memory_order_relaxed);
  std::uint64_t taken = 0;
  do {
    taken = std::min(most, difference(limit, before));
    if (taken < least) return 0;
  } while (!used.compare_exchange_weak(before, before + taken, std::memory_order_relaxed));
  return taken;
}

// Reads the number of a line such as "Node 0 MemFree:    5951552 kB" into `bytes`. Returns false, and sets nothing, if
// the line is not in the text, or the text ends before the number does.
[[nodiscard]] constexpr bool parse_meminfo_line(const char* text, const char* end, const char* key,
                                                std::uint64_t& bytes) noexcept {
  for (; text != end; ++text) {
    const char* at = text;
    const char* rest = key;
    while (*rest != '\0' && at != end && *at == *rest) ++at, ++rest;
    if (*rest != '\0') continue;
    while (at != end && *at == ' ') ++at;
    const char* const digits = at;
    std::uint64_t kilobytes = 0;
    for (; at != end && *at >= '0' && *at <= '9'; ++at) {
      const auto digit = static_cast<std::uint64_t>(*at - '0');
      if (kilobytes > (~std::uint64_t{0} - digit) / 10) return false;
      kilobytes = kilobytes * 10 + digit;
    }
    if (at == digits || at == end) return false;
    bytes = kilobytes << 10;
    return true;
  }
  return false;
}

// Reads the text of a node's meminfo, or of /proc/meminfo; the first 512 bytes suffice. Returns false, and sets nothing,
// if the total or the free memory is not there.
[[nodiscard]] constexpr bool parse_meminfo(const char* text, const char* end, memory_use& use) noexcept {
  std::uint64_t total = 0;
  std::uint64_t unused = 0;
  if (!parse_meminfo_line(text, end, "MemTotal:", total) || !parse_meminfo_line(text, end, "MemFree:", unused))
    return false;
  for (const char* const key : {"Active(file):", "Inactive(file):"})
    if (std::uint64_t of_files = 0; parse_meminfo_line(text, end, key, of_files)) unused += of_files;
  use = {.total_bytes = total, .used_bytes = difference(total, unused)};
  return true;
}

}  // namespace situ::detail
