// Bit-contiguous allocation (Leidel, Wang and Chen, MCHPC 2017, section 4): blocks of neighbouring subarrays and rows
// of a memory that computes.
//
//   situ::pim::bmem device{{.rows = 1024, .columns = 65536, .subarrays = 16, .banks = 8}};
//   void* a = device.allocate(4096, situ::pim::dimension::horizontal);  // one row of one subarray
//   void* b = device.allocate_block(2, 17);                             // two subarrays, 17 rows
//   void* c = device.allocate_beside(b, 17);                            // the same subarrays, other rows
//   device.free(a);
//
// A pointer that a device returns is a handle: its addresses are this device's alone, reserved and without access, and
// to dereference it is a fault. The block that begins at row r of subarray s has the handle
// base + (s * rows + r) * row_bytes; find() returns the block.
//
// Ownership: a block is live until it is freed, or the device ends, which needs no block to be freed. Each thread keeps
// some of the blocks that it frees (at most a 128th of the device, or a subarray) and allocates them again without a
// lock; one that allocates the same extent again and again takes several blocks at once. They go back to all when the
// thread ends, and when any thread finds no room: an allocation is refused only if at one moment no thread kept a block
// and no rectangle of free rows was large enough.
//
// Thread-safe: any thread may free a block. A thread may end before or after the device, but a device does not end
// while a call is within it. A forked child has its own copy, as of all memory, if no other thread was within a call.
//
// cost: an allocation or a free takes some 5 ns for a block that the thread keeps, else some 100 ns for a search; a
// refusal a system call of some microseconds besides, if several threads use the device; loads for the rest, unless the
// function says otherwise.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/pim/geometry.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace situ::pim {

// Options of a device.
struct bmem_options {
  // If true, a block may lie across banks. Then horizontal blocks spread over the subarrays of all banks.
  bool across_banks = false;
  // If true, threads keep blocks that they free. They keep none if the system lacks membarrier (Linux before 4.14).
  bool thread_caches = true;
};

// Counts of a device's granules and refusals.
struct bmem_usage {
  std::uint64_t free_granules = 0;  // those that threads keep are among them
  std::uint64_t live_granules = 0;
  std::uint64_t refused = 0;  // allocations that found no room, since the device was made
};

// The blocks of one device.
class bmem {
 public:
  // Throws bad_argument as check(shape) does; out_of_memory if the address space has no room for the handles, or there
  // is no memory for the map (a bit and 4 bytes for each granule). cost: some 0.3 ms for each GiB of rows of 8 KiB.
  explicit bmem(const geometry& shape, bmem_options how = {});
  ~bmem();
  bmem(const bmem&) = delete;
  bmem& operator=(const bmem&) = delete;

  // --- allocation ---
  // Those named try_ return null if there is no room; the others throw out_of_memory, whose message has the largest
  // free rectangle and a map. All throw bad_argument for nothing (no bytes, subarrays or rows), and for more subarrays
  // or rows than a block of this device can have. A thread's first call makes room for what it keeps: std::bad_alloc.
  // cost: as the header says; the error out_of_memory, the time of largest_free() and draw().

  // Allocates bytes in the units of the paper. Horizontal: enough rows for them, across the subarrays of a bank and
  // then down the rows. Vertical: bytes are the depth of the columns, so 8 * bytes rows of one subarray.
  [[nodiscard]] void* allocate(std::size_t bytes, dimension along);
  // As the function above, but returns null if there is no room.
  [[nodiscard]] void* try_allocate(std::size_t bytes, dimension along);
  // Allocates so many neighbouring rows of so many neighbouring subarrays.
  [[nodiscard]] void* allocate_block(std::uint32_t subarrays, std::uint32_t rows);
  // As the function above, but returns null if there is no room.
  [[nodiscard]] void* try_allocate_block(std::uint32_t subarrays, std::uint32_t rows);
  // Allocates in one bank, for vectors that are spread over banks. Returns null, too, if only rows that threads keep
  // would do.
  // Throws bad_argument, too, if there is no such bank.
  [[nodiscard]] void* try_allocate_block_in(std::uint32_t bank, std::uint32_t subarrays, std::uint32_t rows);
  // Allocates rows of the same subarrays as a live block, so that both are operands of one command. Throws bad_address
  // as find(other) does.
  [[nodiscard]] void* allocate_beside(const void* other, std::uint32_t rows);
  // As the function above, but returns null if these subarrays have no room.
  [[nodiscard]] void* try_allocate_beside(const void* other, std::uint32_t rows);

  // Frees a block; null: does nothing. Throws bad_address, and nothing has changed, if no live block begins there: it
  // is freed twice, the address lies within a block, or is another device's. Two threads that free one block at the
  // same moment may both succeed.
  void free(void* at);

  // --- questions ---

  // Returns the live block that begins there; throws bad_address as free() does.
  [[nodiscard]] block find(const void* at) const;
  // Returns the extent that allocate(bytes, along) allocates: a block at subarray 0, row 0. Throws bad_argument.
  [[nodiscard]] block extent_of(std::size_t bytes, dimension along) const;
  // Returns the shape that the device was made with.
  [[nodiscard]] const geometry& shape() const noexcept;
  // Returns the options that the device was made with.
  [[nodiscard]] const bmem_options& options() const noexcept;

  // The next three give the blocks that threads keep back to all, so that these are free in what they return. cost:
  // that of a refusal; the last two look at each granule besides, while other threads wait: half a millisecond for
  // 2^17.

  // Returns how many granules are free and live, and how many allocations were refused.
  [[nodiscard]] bmem_usage usage() const;
  // Returns the largest rectangle of free rows that a block can have; no rows if nothing is free.
  [[nodiscard]] block largest_free() const;
  // Returns a map for people: rows run down and subarrays across, with a bar between banks; "#" is taken, "." free, and
  // a digit tells the tenths that are taken where a character stands for several granules. At most 128 subarrays wide
  // and 16 lines high, plus a headline.
  [[nodiscard]] std::string draw() const;

 private:
  struct core;
  std::unique_ptr<core> core_;
};

}  // namespace situ::pim
