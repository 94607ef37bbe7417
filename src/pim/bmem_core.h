// What a bmem consists of, for its sources.
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
  // Returns the granule whose row begins at an address, or no_granule if none of this device does.
  [[nodiscard]] detail::granule granule_at(const void* at) const noexcept {
    const std::uint64_t offset =
        reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(handles.begin());
    if (offset >= handle_bytes) return detail::no_granule;
    if (is_row_power_of_two) [[likely]]
      return (offset & (row_bytes - 1)) == 0 ? static_cast<detail::granule>(offset >> row_shift) : detail::no_granule;
    return offset % row_bytes == 0 ? static_cast<detail::granule>(offset / row_bytes) : detail::no_granule;
  }
  // Returns the table's word of the live block that begins there; throws bad_address.
  std::uint32_t live_word(const void* at, detail::granule& found) const {
    found = granule_at(at);
    const std::uint32_t word = found == detail::no_granule ? 0 : rows.word(found);
    if ((word & detail::live_bit) == 0) [[unlikely]]
      refuse_address(at);
    return word;
  }
  detail::extent checked_extent(std::uint64_t subarrays, std::uint64_t rows_wanted) const {
    const std::uint32_t widest = how.across_banks ? shape().all_subarrays() : shape().subarrays;
    if (subarrays - 1 >= widest || rows_wanted - 1 >= shape().rows) [[unlikely]]
      refuse_extent(subarrays, rows_wanted);
    return detail::extent_of(static_cast<std::uint32_t>(subarrays), static_cast<std::uint32_t>(rows_wanted));
  }
  detail::extent extent_of(std::size_t bytes, dimension along) const;
  void* take(detail::extent wanted);
  void* take_beside(const block& other, std::uint32_t more_rows);
  void* search(detail::extent wanted);

  // --- refusals (bmem_errors.cpp) ---
  [[noreturn]] void refuse_address(const void* at) const;
  [[noreturn]] void refuse_extent(std::uint64_t subarrays, std::uint64_t rows_wanted) const;
  [[noreturn]] void refuse_bytes(std::size_t bytes, dimension along) const;
  [[noreturn]] void refuse_room(detail::extent wanted) const;
  [[noreturn]] void refuse_beside(const block& other, std::uint32_t more_rows) const;

  bmem_options how;
  bool is_row_power_of_two;
  std::uint32_t row_shift;
  std::uint64_t row_bytes;
  std::uint64_t handle_bytes;
  os::mapping handles;
  detail::banks rows;
  std::shared_ptr<detail::thread_registry> threads;
  std::atomic<std::uint64_t> refused{0};
};

}  // namespace situ::pim
