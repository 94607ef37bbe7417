// Huge pages for shared memory that is about to be written.
//
// The kernel gives shared memory no huge page by itself if `shmem_enabled` is `never`, the default. On request it
// makes one from small pages that exist (MADV_COLLAPSE, since Linux 6.1): so the maker populates one page of a 2 MiB
// range and collapses the range. That takes 0.25 us for 4 KiB, faults take 2.2 us (measured, a virtual machine;
// decision 0002). Every place that maps the range then takes one fault for all of it.
//
// Invariants
//   1. Only ranges that are wholly within one block are made huge, and only when a sequence of writes is about to
//      reach them: each sequence populates fewer than 512 pages that it does not write.
//   2. Huge pages are optional: if the kernel refuses one, the memory comes by faults, as without preparation. So a
//      refusal only delays further attempts and is never an error.
//   3. A limit on memory appears as an error of a call, not as a signal: the first page is made by
//      MADV_POPULATE_WRITE, and no huge page is made if the limit leaves no room for it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace situ::detail {

// The system calls that the maker uses. Tests substitute their own.
struct page_calls {
  int (*advise)(void* address, std::size_t bytes, int advice) noexcept;
  int (*residence)(void* address, std::size_t bytes, unsigned char* resident) noexcept;
  std::uint64_t (*now_ns)() noexcept;
};
[[nodiscard]] const page_calls& system_page_calls() noexcept;

// Makes ranges huge, one after the other, as long as that is cheaper than faults. For one thread at a time.
class huge_page_maker {
 public:
  explicit huge_page_maker(const page_calls& calls = system_page_calls()) noexcept : calls_{calls} {}

  // Tries to make the 2 MiB from `range` huge. cost: 0.13 ms if it makes a huge page; 2 us if most of the range
  // exists.
  void make(std::byte* range) noexcept;
  [[nodiscard]] std::uint64_t made_bytes() const noexcept { return made_bytes_; }
  // Returns false once the kernel has reported that it lacks MADV_COLLAPSE.
  [[nodiscard]] bool is_supported() const noexcept { return is_supported_; }

 private:
  [[nodiscard]] bool exists_mostly(std::byte* range) const noexcept;
  void hold_back() noexcept;

  const page_calls& calls_;
  bool is_supported_ = true;
  std::uint32_t to_skip_ = 0;    // number of ranges to leave to faults before the next attempt
  std::uint32_t held_back_ = 0;  // the value that to_skip_ started from last time
  std::uint64_t page_ns_ = 0;    // running mean of the time to make one small page
  std::uint64_t made_bytes_ = 0;
};

// Prepares a block's memory just ahead of a thread that writes the block from its start.
class write_front {
 public:
  // Prepares nothing: the memory comes by faults.
  write_front() noexcept = default;
  // maker: null prepares nothing.
  write_front(huge_page_maker* maker, std::byte* block, std::size_t bytes) noexcept
      : maker_{maker}, block_{block}, bytes_{bytes} {}

  // Prepares the block at least up to `upto` bytes. Returns the end of the prepared part: the next range's start, or
  // the block's end. pre: upto is not beyond the block.
  std::size_t prepare(std::size_t upto) noexcept {
    if (upto > prepared_) advance(upto);
    return prepared_;
  }

 private:
  void advance(std::size_t upto) noexcept;

  huge_page_maker* maker_ = nullptr;
  std::byte* block_ = nullptr;
  std::size_t bytes_ = ~std::size_t{0};
  std::size_t prepared_ = 0;
};

// Calls write(begin, end) for consecutive parts of [0, bytes), each after its memory has been prepared.
template <class Write>
void write_behind(write_front front, std::size_t bytes, Write write) {
  constexpr std::size_t part_bytes = std::size_t{1} << 21;
  for (std::size_t begin = 0; begin != bytes;) {
    const std::size_t least = bytes - begin < part_bytes ? bytes : begin + 1;
    const std::size_t prepared = front.prepare(least);
    const std::size_t end = prepared < bytes ? prepared : bytes;
    write(begin, end);
    begin = end;
  }
}

}  // namespace situ::detail
