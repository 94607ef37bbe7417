// The engine of a distributed_array, without its types: this place's part in its segment, the addresses of the others'
// parts, and checks whether their places are lost. Not thread-safe: it belongs to its place's thread.
#pragma once

#include <situ/memory/ptr.h>
#include <situ/runtime/team.h>
#include <situ/spread/detail/cut_axis.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ::detail {

class array_part {
 public:
  // make(part, elements) initializes the elements of this place's part, before any other place may access them.
  // Collective; the constructor splits off a team of the same members for the array. Throws out_of_memory at every
  // member if one has no room.
  array_part(std::size_t elements, std::size_t element_bytes, std::size_t alignment,
             void (*make)(void* part, std::size_t elements), const team& members);
  // Collective, unless an exception or a loss ends its scope: then the memory stays allocated until the job ends.
  ~array_part();
  // A moved-from object has no part, and may only be assigned to or destroyed.
  array_part(array_part&&) noexcept = default;
  array_part& operator=(array_part&& other) noexcept;

  [[nodiscard]] const team& members() const noexcept { return members_; }
  [[nodiscard]] std::byte* of(std::uint32_t member) const noexcept { return parts_[member].local(); }
  [[nodiscard]] place place_of(std::uint32_t member) const noexcept { return places_[member]; }
  // Throws place_lost_error if the member's place has ended.
  void check_there(std::uint32_t member) const {
    if (failure_epoch_->load(std::memory_order_relaxed) != 0) [[unlikely]]
      check_there_slow(member);
  }

 private:
  void check_there_slow(std::uint32_t member) const;

  int exceptions_before_;
  const std::atomic<std::uint32_t>* failure_epoch_;  // counts failures in the job
  team members_;
  std::vector<place> places_;
  std::vector<ptr<std::byte>> parts_;
};

// The piece of a range around one place's elements that another place owns.
struct ghost_reach {
  std::uint32_t place;    // index of that place along the dimension
  std::ptrdiff_t source;  // position in that place's part
  std::ptrdiff_t target;  // position in this place's part: below 0 or beyond its elements
  std::ptrdiff_t length;
};

// Finds the owners of this place's local positions [from, to). If the dimension is `periodic`, positions outside of it
// wrap around; otherwise they have no owner. pre: axis.has_single_blocks().
[[nodiscard]] std::vector<ghost_reach> find_reaches(const cut_axis& axis, std::uint32_t place, std::ptrdiff_t from,
                                                    std::ptrdiff_t to, bool is_periodic);

[[noreturn]] void throw_outside(std::span<const std::ptrdiff_t> point, std::span<const std::ptrdiff_t> extents);
[[noreturn]] void throw_outside(std::span<const std::ptrdiff_t> low, std::span<const std::ptrdiff_t> high,
                                std::span<const std::ptrdiff_t> extents);
[[noreturn]] void throw_other_count(std::size_t points, std::size_t elements);
[[noreturn]] void throw_not_single_blocks(std::size_t dimension, const char* what);
[[noreturn]] void throw_wide_ghosts(std::size_t width);

}  // namespace situ::detail
