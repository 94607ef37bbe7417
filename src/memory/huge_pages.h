// Huge pages for shared memory that is about to be written.
//
// The kernel gives shared memory no huge page by itself where `shmem_enabled` says `never`, which is the default. It
// makes one of small pages that exist when it is asked to (MADV_COLLAPSE, since Linux 6.1): so one page of a range of
// 2 MiB is made to exist, and the range is collapsed. That takes 0.25 us for 4 KiB, faults take 2.2 us (measured, a
// virtual machine; decision 0002). Every place that maps the range then takes one fault for all of it.
//
// Invariants
//   1. Only ranges that lie wholly within one block are made huge, and only when a byte of them is about to be written
//      in a row of writes: the pages that exist beyond what is written are fewer than 512 a row.
//   2. Nothing here is needed: where the kernel refuses, the same memory comes by faults, which is what happens when
//      nothing is prepared. So a refusal is counted, never an error.
//   3. A limit on memory is met as an error of the call, not as a signal: the page is made by MADV_POPULATE_WRITE, and
//      a huge one that the limit leaves no room for is not made.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace situ::detail {

// What is asked of the system. Tests put others here.
struct page_calls {
  int (*advise)(void* address, std::size_t bytes, int advice) noexcept;
  int (*residence)(void* address, std::size_t bytes, unsigned char* resident) noexcept;
  std::uint64_t (*now_ns)() noexcept;
};
[[nodiscard]] const page_calls& system_page_calls() noexcept;

// Makes ranges huge, one after the other, as long as that is cheaper than faults. One thread at a time.
class huge_page_maker {
 public:
  explicit huge_page_maker(const page_calls& calls = system_page_calls()) noexcept : calls_{calls} {}

  // `range` starts the 2 MiB. cost: 0.13 ms where a huge page is made; where most of the range exists already, 2 us.
  void make(std::byte* range) noexcept;
  [[nodiscard]] std::uint64_t made_bytes() const noexcept { return made_bytes_; }
  // False once the kernel has said that it does not know how.
  [[nodiscard]] bool is_supported() const noexcept { return is_supported_; }

 private:
  [[nodiscard]] bool exists_mostly(std::byte* range) const noexcept;
  void hold_back() noexcept;

  const page_calls& calls_;
  bool is_supported_ = true;
  std::uint32_t to_skip_ = 0;    // ranges that are left to faults before the next is tried
  std::uint32_t held_back_ = 0;  // how many that were the last time
  std::uint64_t page_ns_ = 0;    // what making one small page takes: a running mean
  std::uint64_t made_bytes_ = 0;
};

// Goes ahead of whoever writes a block from its start on.
class write_front {
 public:
  // Of memory that is left to faults.
  write_front() noexcept = default;
  // maker: null likewise.
  write_front(huge_page_maker* maker, std::byte* block, std::size_t bytes) noexcept
      : maker_{maker}, block_{block}, bytes_{bytes} {}

  // Prepares the block up to `upto` bytes at least; returns up to where it is: the next range's start, or the end.
  // pre: upto is not beyond the block.
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

// Calls write(begin, end) for parts of [0, bytes) in turn, each when its memory has been prepared.
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
