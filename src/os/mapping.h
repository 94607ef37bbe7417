// Ranges of addresses that this process maps: `mapping` owns one and unmaps it; the functions below it change a part of
// a range, or unmap one that nothing owns.
//
// A range is reserved first and gets pages later, or has pages from the start. It shows a `backing`: zeros for this
// process alone, or a file. For anonymous memory in huge pages, on one NUMA node if need be, see `pages`
// (os/pages.h); for files that several processes map, page_file (pages/page_file.h).
//
// No call throws. A call that the system refuses returns an empty mapping, or false, with the reason in errno:
// why_not_mapped (os/mapping_error.h) has words for it. Addresses, sizes and offsets are multiples of a page; of a huge
// page if the file consists of such. Thread-safe as the system calls are; no two threads may change a range at once.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "os/descriptor.h"

namespace situ::os {

// The contents of a range. The file may be closed once it is mapped.
struct backing {
  int file = -1;
  std::uint64_t offset = 0;
  int flags = 0;  // MAP_*, but for those that say where

  // Zeros for this process alone, which the system commits no memory to before they are touched.
  [[nodiscard]] static constexpr backing zeros() noexcept {
    return {.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE};
  }
  // As zeros, for a stack: from Linux 6.7 on, without huge pages.
  [[nodiscard]] static constexpr backing stack() noexcept { return {.flags = zeros().flags | MAP_STACK}; }
  // A file: every process that maps it sees the stores.
  [[nodiscard]] static constexpr backing shared(int file, std::uint64_t offset = 0) noexcept {
    return {file, offset, MAP_SHARED};
  }
  // A file of persistent memory, shared: the file's metadata is durable before a store is possible. The system refuses
  // it for other files.
  [[nodiscard]] static constexpr backing synchronous(int file, std::uint64_t offset = 0) noexcept {
    return {file, offset, MAP_SHARED_VALIDATE | MAP_SYNC};
  }
  // A file, whose pages become this process's own when it stores to them.
  [[nodiscard]] static constexpr backing private_copy(int file, std::uint64_t offset = 0) noexcept {
    return {file, offset, MAP_PRIVATE};
  }
  // The same, without memory committed (or huge pages reserved) in advance.
  [[nodiscard]] constexpr backing uncommitted() const noexcept { return {file, offset, flags | MAP_NORESERVE}; }
};

// Owns a range of addresses. Its destructor unmaps the range, with all that was mapped over parts of it, and leaves
// errno as it is. Movable; empty after a move. cost of each call that maps: a system call.
class mapping {
 public:
  mapping() = default;
  // Takes over a range that the caller has mapped; null: none.
  mapping(void* begin, std::size_t bytes) noexcept
      : begin_{static_cast<std::byte*>(begin)}, bytes_{begin != nullptr ? bytes : 0} {}
  // Maps a range at free addresses that the system chooses. protection: PROT_*.
  [[nodiscard]] static mapping anywhere(std::size_t bytes, int protection, const backing& shows) noexcept;
  // Maps exactly this range. Replaces nothing: if a part of it is mapped already, the mapping is empty and errno EEXIST.
  [[nodiscard]] static mapping at_free(void* begin, std::size_t bytes, int protection, const backing& shows) noexcept;
  // Reserves a range without access, which no limit on memory counts (that on addresses does).
  [[nodiscard]] static mapping reserve(std::size_t bytes) noexcept {
    return anywhere(bytes, PROT_NONE, backing::zeros());
  }

  mapping(mapping&& other) noexcept
      : begin_{std::exchange(other.begin_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  // Unmaps the range that the object had; does nothing if `other` is this object.
  mapping& operator=(mapping&& other) noexcept {
    mapping taken{std::move(other)};
    std::swap(begin_, taken.begin_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~mapping() {
    if (begin_ != nullptr) unmap_range();
  }

  // Returns null if the mapping is empty.
  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] explicit operator bool() const noexcept { return begin_ != nullptr; }

  // Gives the range to the caller, who unmaps it, or not at all.
  std::byte* release() noexcept {
    bytes_ = 0;
    return std::exchange(begin_, nullptr);
  }
  // Moves the pages of the first `bytes` to an open part of another range, without a copy if the system can. They must
  // be readable and of one kind. The range begins behind them afterwards; their addresses are unmapped.
  void move_front(void* to, std::size_t bytes) noexcept;

 private:
  void unmap_range() noexcept;

  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

// --- parts of ranges ---
// The caller owns the range, or it lives for ever. Each function makes one system call and nothing else: a handler of
// signals, and a child before it calls exec, may call it.

// Sets the rights of whole pages: PROT_*. Returns false if the system refuses: making private pages writable needs
// memory, and a part with rights of its own needs room for another mapping.
bool protect(void* begin, std::size_t bytes, int protection) noexcept;
// Makes reserved pages readable and writable; they are zero at first. Returns false if memory is limited.
[[nodiscard]] inline bool open_reserved(void* begin, std::size_t bytes) noexcept {
  return protect(begin, bytes, PROT_READ | PROT_WRITE);
}
// Maps over a part: its previous pages are dropped. If the call returns false, they may be unmapped already.
[[nodiscard]] bool map_over(void* begin, std::size_t bytes, int protection, const backing& shows) noexcept;
// Makes a part a reservation again, as mapping::reserve made it; it joins reserved neighbours.
[[nodiscard]] inline bool reserve_over(void* begin, std::size_t bytes) noexcept {
  return map_over(begin, bytes, PROT_NONE, backing::zeros());
}
// Moves the anonymous pages of `from`, with their rights, over those at `to`. The addresses at `from` stay mapped,
// without pages. Returns false, and nothing has moved, if there is no room for another mapping.
[[nodiscard]] bool move_pages_over(void* to, void* from, std::size_t bytes) noexcept;
// For a range that no `mapping` owns, as a library's callback gets it.
void unmap(void* begin, std::size_t bytes) noexcept;

// --- files in memory ---

// Makes a file that exists in memory alone, empty, and may be sealed. flags: those of memfd_create that are needed
// besides. name: shown as "memfd:NAME" in /proc. Returns an empty descriptor, with errno, if the system refuses.
[[nodiscard]] descriptor memory_file(const char* name, unsigned flags = MFD_CLOEXEC) noexcept;

}  // namespace situ::os
