// The memory of a sliding window: see out_of_core.h.
#pragma once

#include "os/mapping.h"
#include "pages/page_source.h"

#include <cstddef>
#include <utility>

namespace situ::stencil {

// Pages mapped twice, one copy after the other; huge pages if available. If the source allocates in larger units, the
// ring is rounded up to whole units.
class mirrored_ring {
 public:
  mirrored_ring() = default;
  // Maps a ring of `bytes`, which is a multiple of a page. Throws out_of_memory.
  mirrored_ring(std::size_t bytes, const situ::detail::page_source& from);
  mirrored_ring(mirrored_ring&& other) noexcept { *this = std::move(other); }
  mirrored_ring& operator=(mirrored_ring&& other) noexcept {
    std::swap(range_, other.range_);
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    std::swap(file_, other.file_);
    std::swap(share_, other.share_);
    return *this;
  }
  [[nodiscard]] std::byte* data() const noexcept { return at_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Returns the size rounded up such that a large ring can have huge pages.
  [[nodiscard]] static std::size_t round_up(std::size_t bytes) noexcept;

 private:
  static constexpr std::size_t huge_bytes = std::size_t{2} << 20;
  [[nodiscard]] std::size_t mapped_bytes() const noexcept { return 2 * bytes_ + huge_bytes; }

  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
  situ::detail::file_stretch file_;
  situ::detail::budget_share share_;
  situ::os::mapping range_;  // contains at_, which is a multiple of a huge page; destroyed first
};

}  // namespace situ::stencil
