// A quick check_access() for the reads of a copy, which are many and mostly in one segment: it caches the bounds of the
// segment's open part (they only grow), and counts reads in bulk if the job counts them. In checked mode and with a
// trace each read is checked on its own, as ever.
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
  // Returns whether reads through the window must be counted. Reads that are checked on their own are counted already.
  [[nodiscard]] bool is_counted() const noexcept { return open_ != 0 && current->observed; }
  // Counts reads that were made through the window.
  void count(std::uint64_t reads, std::uint64_t bytes) noexcept;

  std::uintptr_t begin_ = 0;
  std::uint64_t open_ = 0;  // bytes from begin_ on; 0 if every read is checked on its own
};

// A window for objects of one size, used by loops that know how many they have read: a counter increment at each read
// would make one read wait for the next (1.5 times as long on a list). A window is kept from loop to loop, since moving
// it takes a check and a division.
class access_window final : private counted_reads {
 public:
  access_window() noexcept = default;
  explicit access_window(std::uint64_t bytes) noexcept : bytes_{bytes} {}
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept { return address - begin_ < room_; }
  // begin() returns the lowest address in the window. Objects that start less than room() bytes after it are in the
  // window; 0 if the window is empty, or every read is checked on its own.
  [[nodiscard]] std::uintptr_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::uint64_t room() const noexcept { return room_; }
  // Leaves one met pointer out of the count: it is null, so no object is read.
  void skip() noexcept { ++counted_; }
  // Moves the window to an address outside it; `met` is the number of pointers that the loop has met before.
  [[gnu::noinline]] void move(std::uintptr_t address, std::uint64_t met) {
    count_up_to(met);
    counted_ = met;
    room_ = 0;
    move_to(address, bytes_);
    room_ = open_ < bytes_ ? 0 : open_ - bytes_ + 1;
  }
  // Ends a loop; met() returns the number of pointers that it has met.
  template <class Met>
  void finish(Met met) noexcept {
    if (is_counted()) count_up_to(met());
    counted_ = 0;
  }

 private:
  void count_up_to(std::uint64_t met) noexcept { count(met - counted_, (met - counted_) * bytes_); }

  std::uint64_t bytes_ = 0;
  std::uint64_t room_ = 0;
  std::uint64_t counted_ = 0;  // of the pointers met by this loop: counted, or skipped
};

// A window for reads of any size. If nothing is observed, it is check_access() itself.
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

// The check for the place's own memory: none.
struct unchecked_reads {
  void check(std::uintptr_t, std::uint64_t) const noexcept {}
};

}  // namespace situ::detail
