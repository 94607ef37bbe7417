// check_access() for the reads of a copy, which are many and mostly in one segment: the bounds of its open part are
// kept at hand (they only grow), and where the job counts its reads, they are counted at once. In checked mode and
// where a trace is wanted each read is looked at by itself, as ever.
#pragma once

#include <situ/fabric/detail/access.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace situ::detail {

class counted_reads {
 public:
  counted_reads(const counted_reads&) = delete;
  counted_reads& operator=(const counted_reads&) = delete;

 protected:
  counted_reads() noexcept = default;
  ~counted_reads() = default;

  // Checks a read beyond the window, as check_access() does, and moves the window to its segment.
  void move_to(std::uintptr_t address, std::uint64_t bytes);
  // Counts what was read through the window.
  void count(std::uint64_t reads, std::uint64_t bytes) noexcept;

  std::uintptr_t begin_ = 0;
  std::uint64_t open_ = 0;  // bytes from begin_ on; 0 where every read is to be looked at
};

// Of objects of one size, by a loop that knows how many it has read: a count beside each read would make one wait for
// the next (1.5 times as long on a list).
class access_window final : private counted_reads {
 public:
  explicit access_window(std::uint64_t bytes) noexcept : bytes_{bytes} {}
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept { return address - begin_ < room_; }
  // One that is met is not read: it is null.
  void skip() noexcept { ++counted_; }
  // For one that it does not hold, after so many were met.
  [[gnu::noinline]] void move(std::uintptr_t address, std::uint64_t met) {
    finish(met);
    room_ = 0;
    move_to(address, bytes_);
    room_ = open_ < bytes_ ? 0 : open_ - bytes_ + 1;
  }
  // After all.
  void finish(std::uint64_t met) noexcept {
    const std::uint64_t more = met - std::exchange(counted_, met);
    count(more, more * bytes_);
  }

 private:
  std::uint64_t bytes_;
  std::uint64_t room_ = 0;
  std::uint64_t counted_ = 0;  // of those met: read and counted, or skipped
};

// Of any size. Where nothing is observed it is check_access() itself.
class read_window final : private counted_reads {
 public:
  read_window() noexcept = default;
  ~read_window() { count(reads_, bytes_read_); }
  void check(std::uintptr_t address, std::uint64_t bytes) {
    if (!is_open(*current, address, bytes)) [[unlikely]]
      check_slow(address, bytes);
  }

 private:
  [[gnu::noinline]] void check_slow(std::uintptr_t address, std::uint64_t bytes) {
    const std::uint64_t offset = address - begin_;
    if (offset >= open_ || bytes > open_ - offset) {
      count(std::exchange(reads_, 0), std::exchange(bytes_read_, 0));
      move_to(address, bytes);
    }
    ++reads_;
    bytes_read_ += bytes;
  }
  std::uint64_t reads_ = 0;
  std::uint64_t bytes_read_ = 0;
};

// Of the place's own memory.
struct unchecked_reads {
  void check(std::uintptr_t, std::uint64_t) const noexcept {}
};

}  // namespace situ::detail
