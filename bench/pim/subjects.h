// What the benchmark of allocators compares, under one interface: blocks by bytes or by extent of table 3's device.
#pragma once

#include <situ/pim/bmem.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "pim/exact_bmem.h"

namespace pim_bench {

using situ::pim::dimension;

// Table 3 of the paper: 1 GiB.
inline constexpr situ::pim::geometry device_shape{.rows = 1024, .columns = 65536, .subarrays = 16, .banks = 8};

class bmem_subject {
 public:
  explicit bmem_subject(bool has_thread_caches = true) : device_{device_shape, {.thread_caches = has_thread_caches}} {}
  void* allocate(std::size_t bytes, dimension along) { return device_.allocate(bytes, along); }
  void* try_block(std::uint32_t subarrays, std::uint32_t rows) { return device_.try_allocate_block(subarrays, rows); }
  void free(void* at) { device_.free(at); }

 private:
  situ::pim::bmem device_;
};

// The paper's algorithm knows no banks. Its handles are the places of blocks.
class exact_subject {
 public:
  void* allocate(std::size_t bytes, dimension along) {
    if (along == dimension::vertical) return try_block(1, static_cast<std::uint32_t>(bytes * 8));
    const auto granules = static_cast<std::uint32_t>((bytes + row_bytes - 1) / row_bytes);
    return granules <= device_shape.subarrays
               ? try_block(granules, 1)
               : try_block(device_shape.subarrays, (granules + device_shape.subarrays - 1) / device_shape.subarrays);
  }
  void* try_block(std::uint32_t subarrays, std::uint32_t rows) {
    const auto found = device_.allocate(subarrays, rows);
    if (!found) return nullptr;
    return reinterpret_cast<void*>(std::uintptr_t{found->subarray} << 32 | found->row << 1 | 1);
  }
  void free(void* at) {
    const auto place = reinterpret_cast<std::uintptr_t>(at);
    device_.free({static_cast<std::uint32_t>(place >> 32), static_cast<std::uint32_t>(place) >> 1, 1, 1});
  }

 private:
  static constexpr std::size_t row_bytes = device_shape.row_bytes();
  situ_pim_test::exact_bmem device_{device_shape.rows, device_shape.all_subarrays()};
};

// As many bytes from malloc, which nobody touches. Vertical bytes are the paper's: table 1's 67,108,864 are the bits of
// a subarray, and malloc-test's malloc is asked for the bytes that table 2 has.
class malloc_subject {
 public:
  void* allocate(std::size_t bytes, dimension) { return allocate_(bytes); }
  void* try_block(std::uint32_t subarrays, std::uint32_t rows) {
    return allocate_(std::size_t{subarrays} * rows * device_shape.row_bytes());
  }
  void free(void* at) { free_(at); }

 private:
  // So that the compiler removes no pair.
  void* (*volatile allocate_)(std::size_t) = &std::malloc;
  void (*volatile free_)(void*) = &std::free;
};

}  // namespace pim_bench
