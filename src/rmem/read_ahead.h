// Chooses the pages to fetch in addition to the touched page, by the pages of the last faults. Uses no memory and no
// kernel.
#pragma once

#include <situ/rmem/region.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace situ::rmem::detail {

// `count` pages from `first` on, `distance` apart.
struct page_run {
  std::int64_t first = 0;
  std::int64_t distance = 0;
  std::uint32_t count = 0;
};

class read_ahead {
 public:
  read_ahead(prefetch how, std::uint32_t most_pages) noexcept : how_{how}, most_{most_pages} {}
  [[nodiscard]] std::uint32_t most_pages() const noexcept { return most_; }
  // Takes a reported touch: of a missing page, or of the mark within a run that was fetched ahead. Returns the pages to
  // fetch in addition; they may lie outside the region.
  [[nodiscard]] page_run after(std::uint64_t page, bool is_mark) noexcept;

 private:
  // A stream of pages fetched ahead: from `begin` up to, and without, `end`.
  struct stream {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t distance = 0;  // 0: none
    std::uint32_t window = 0;   // pages of its last run
    std::uint32_t used = 0;     // the turn in which it last continued
  };
  [[nodiscard]] std::int64_t majority() const noexcept;
  [[nodiscard]] bool was_touched(std::int64_t page) const noexcept;
  [[nodiscard]] page_run begin_stream(std::int64_t first, std::int64_t distance, std::uint32_t window) noexcept;
  [[nodiscard]] page_run go_on(stream& with, std::int64_t first) noexcept;

  prefetch how_;
  std::uint32_t most_;
  std::array<stream, 4> streams_{};
  std::uint32_t turns_ = 0;
  static constexpr std::uint32_t kept = 32;
  std::array<std::int64_t, kept> pages_{};      // of the last faults, the latest at faults_ - 1
  std::array<std::int64_t, kept> distances_{};  // from the previous fault
  std::uint32_t faults_ = 0;
};

}  // namespace situ::rmem::detail
