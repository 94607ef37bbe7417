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
 protected:
  counted_reads() noexcept = default;
  counted_reads(const counted_reads&) noexcept = default;
  counted_reads& operator=(const counted_reads&) noexcept = default;
  ~counted_reads() = default;

  // Checks a read beyond the window, as check_access() does, and moves the window to its segment.
  void move_to(std::uintptr_t address, std::uint64_t bytes);
  // Whether what is read through the window is to be counted. Where each read is looked at, it has been.
  [[nodiscard]] bool is_counted() const noexcept { return open_ != 0 && current->observed; }
  // Counts what was read through the window.
  void count(std::uint64_t reads, std::uint64_t bytes) noexcept;

  std::uintptr_t begin_ = 0;
  std::uint64_t open_ = 0;  // bytes from begin_ on; 0 where every read is to be looked at
};

// Of objects of one size, by loops that know how many they have read: a count beside each read would make one wait for
// the next (1.5 times as long on a list). It is kept from loop to loop, since to place it takes a check and a division.
class access_window final : private counted_reads {
 public:
  access_window() noexcept = default;
  explicit access_window(std::uint64_t bytes) noexcept : bytes_{bytes} {}
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept { return address - begin_ < room_; }
  // Where those begin that it holds, and how far they reach: 0 where none is held, or each is to be looked at.
  [[nodiscard]] std::uintptr_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::uint64_t room() const noexcept { return room_; }
  // One that is met is not read: it is null.
  void skip() noexcept { ++counted_; }
  // For one that it does not hold, after so many were met by this loop.
  [[gnu::noinline]] void move(std::uintptr_t address, std::uint64_t met) {
    count_up_to(met);
    counted_ = met;
    room_ = 0;
    move_to(address, bytes_);
    room_ = open_ < bytes_ ? 0 : open_ - bytes_ + 1;
  }
  // At the end of a loop. met() says how many it has met.
  template <class Met>
  void finish(Met met) noexcept {
    if (is_counted()) count_up_to(met());
    counted_ = 0;
  }

 private:
  void count_up_to(std::uint64_t met) noexcept { count(met - counted_, (met - counted_) * bytes_); }

  std::uint64_t bytes_ = 0;
  std::uint64_t room_ = 0;
  std::uint64_t counted_ = 0;  // of those met by this loop: read and counted, or skipped
};

// Of any size. Where nothing is observed it is check_access() itself.
class read_window final : private counted_reads {
 public:
  read_window() noexcept = default;
  read_window(const read_window&) = delete;
  read_window& operator=(const read_window&) = delete;
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
