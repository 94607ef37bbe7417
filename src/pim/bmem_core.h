// The parts of a bmem, for its sources.
#pragma once

#include <situ/pim/bmem.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "os/mapping.h"
#include "pim/banks.h"
#include "pim/thread_blocks.h"

namespace situ::pim {

struct bmem::core {
  core(const geometry& shape, bmem_options options);
  ~core() { threads->close(); }
  core(const core&) = delete;
  core& operator=(const core&) = delete;

  [[nodiscard]] const geometry& shape() const noexcept { return rows.shape(); }
  [[nodiscard]] void* handle(detail::granule at) const noexcept { return handles.begin() + at * row_bytes; }
  // Returns the granule whose row begins at an address, or a number from shape().granules() on if none does.
  //
  // The offset is divided by row_bytes = odd * 2^row_shift: a product with the inverse of the odd factor (modulo 2^64),
  // then a rotation. If row_bytes divides the offset, that is the quotient; else it is greater than any quotient of 64
  // bits (Granlund and Montgomery, PLDI 1994, section 9).
  [[nodiscard]] std::uint64_t granule_at(const void* at) const noexcept {
    const std::uint64_t offset =
        reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(handles.begin());
    return std::rotr(offset * inverse_of_odd, row_shift);
  }
  // Returns the table's word of the granule that begins there, or 0 if none does.
  [[nodiscard]] std::uint32_t word_at(std::uint64_t granule) const noexcept {
    return granule < granules ? rows.table().word(static_cast<detail::granule>(granule)) : 0;
  }
  [[nodiscard]] std::uint32_t widest() const noexcept {
    return how.across_banks ? shape().all_subarrays() : shape().subarrays;
  }
  [[nodiscard]] detail::extent checked_extent(std::uint64_t subarrays, std::uint64_t rows_wanted) const {
    if (subarrays - 1 >= widest() || rows_wanted - 1 >= shape().rows) [[unlikely]]
      refuse_extent(subarrays, rows_wanted);
    return detail::extent_of(static_cast<std::uint32_t>(subarrays), static_cast<std::uint32_t>(rows_wanted));
  }
  [[nodiscard]] detail::extent extent_of(std::size_t bytes, dimension along) const {
    if (along == dimension::horizontal && bytes - 1 < row_bytes) [[likely]]
      return detail::extent_of(1, 1);
    return long_extent_of(bytes, along);
  }
  [[nodiscard]] detail::extent long_extent_of(std::size_t bytes, dimension along) const;

  // Takes a block that the calling thread keeps; null if it keeps none of this extent.
  [[nodiscard]] void* take_kept(detail::extent wanted) noexcept {
    detail::thread_blocks* const own = detail::recent_blocks(id);
    if (own == nullptr) [[unlikely]]
      return nullptr;
    const detail::granule kept = own->take(wanted);
    return kept != detail::no_granule ? handle(kept) : nullptr;
  }
  // Takes a block that is kept, or of the banks; null if there is no room.
  [[nodiscard]] void* take_slowly(detail::extent wanted);
  // As take_slowly(), but throws out_of_memory.
  [[nodiscard]] void* take_or_refuse(detail::extent wanted);
  [[nodiscard]] void* take_beside(const block& other, std::uint32_t more_rows);
  void free_slowly(void* at);

  // --- refusals (bmem_errors.cpp) ---
  [[noreturn]] void refuse_address(const void* at) const;
  [[noreturn]] void refuse_extent(std::uint64_t subarrays, std::uint64_t rows_wanted) const;
  [[noreturn]] void refuse_bytes(std::size_t bytes, dimension along) const;
  [[noreturn]] void refuse_room(detail::extent wanted) const;
  [[noreturn]] void refuse_beside(const block& other, std::uint32_t more_rows) const;

  // The hot paths use the next members: a cache line.
  std::uint64_t row_bytes;
  std::uint64_t inverse_of_odd;
  std::uint64_t granules;
  int row_shift;
  bmem_options how;
  os::mapping handles;
  std::uint64_t id = 0;  // of the registry; 0 if threads keep nothing
  detail::banks rows;
  bool keeps_blocks;
  std::shared_ptr<detail::thread_registry> threads;
  std::atomic<std::uint64_t> refused{0};
};

}  // namespace situ::pim
