// The promises of the segments of a job. The sums belong to the job; the cells are in each place's slice, below its
// heap's metadata, so that any place can settle all promises.
//
//   | private | cells: 4 B for 16 KiB of the slice | heap metadata | heap |
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/job.h"

namespace situ::detail {

class segment_promises final : public promises {
 public:
  // base: the start of the address space. heap_offset: the same in every slice.
  segment_promises(job_control& control, std::uintptr_t base, std::uint32_t place, std::uint64_t heap_offset) noexcept
      : control_{control}, base_{base}, heap_offset_{heap_offset}, place_{place} {}

  // Returns the bytes of cells in each slice: a multiple of a page. They take no memory until something is promised.
  [[nodiscard]] static std::uint64_t metadata_bytes(const job_control& control) noexcept;

  [[nodiscard]] promise_sums& sums() noexcept override { return control_.promised; }
  void settle(residence_call residence) noexcept override;
  // Returns the map of this place's heap.
  [[nodiscard]] promise_map own() noexcept { return map_of(place_, heap_bytes()); }

 private:
  [[nodiscard]] promise_map map_of(std::uint32_t place, std::uint64_t bytes) noexcept;
  [[nodiscard]] std::uint64_t heap_bytes() const noexcept {
    return (std::uint64_t{1} << control_.slice_shift) - heap_offset_;
  }

  job_control& control_;
  const std::uintptr_t base_;
  const std::uint64_t heap_offset_;
  const std::uint32_t place_;
};

}  // namespace situ::detail
