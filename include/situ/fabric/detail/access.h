// The check that each one-sided access passes, and what strided ones cover and copy.
#pragma once

#include <situ/base/detail/coherence.h>
#include <situ/memory/detail/place_context.h>
#include <situ/memory/ptr.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace situ::detail {

enum class access : std::uint8_t { put, get, atomic };

// Looks the extent up again, counts and traces when observed, in checked mode asks whether a live block is there.
// Throws where the range is not open.
void check_access_slow(place_context& context, access how, std::uintptr_t address, std::size_t bytes);

inline void check_access(access how, std::uintptr_t address, std::size_t bytes) {
  place_context& context = *current;
  if (!is_open(context, address, bytes)) [[unlikely]]
    check_access_slow(context, how, address, bytes);
}

// For many reads of one segment. Checks the first as check_access() does, and returns how many bytes from the start of
// that segment's heap on the others may touch without a check, if count_reads() counts them all, the first too. 0: each
// is to be checked by check_access(), which has counted the first.
[[nodiscard]] std::uint64_t open_for_reads(std::uintptr_t address, std::size_t bytes);
// In the segment of this address, for an observed job; else nothing.
void count_reads(std::uintptr_t address, std::uint64_t reads, std::uint64_t bytes) noexcept;

[[nodiscard]] constexpr std::size_t bytes_of(std::size_t count, std::size_t element_bytes) noexcept {
  return count > std::numeric_limits<std::size_t>::max() / element_bytes ? std::numeric_limits<std::size_t>::max()
                                                                         : count * element_bytes;
}

template <class T>
consteval void check_transferable() {
  static_assert(std::is_trivially_copyable_v<T>,
                "situ: put and get move plain bytes, so T must be trivially copyable: send other types by situ::at, "
                "which copies them properly");
}

// A range that covers every element of a strided box, for one bounds check.
struct element_range {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t last = 0;
};
// Longer than any segment: reaches beyond it are cut to it, so that no product or sum of hostile strides wraps around.
inline constexpr std::size_t longest_reach = std::size_t{1} << 48;
template <std::size_t Dimensions>
[[nodiscard]] constexpr element_range range_of(const std::array<std::size_t, Dimensions>& extents,
                                               const std::array<std::ptrdiff_t, Dimensions>& strides) noexcept {
  element_range range;
  for (std::size_t d = 0; d < Dimensions; ++d) {
    const std::size_t steps = extents[d] - 1;
    const std::size_t stride =
        strides[d] < 0 ? std::size_t{0} - static_cast<std::size_t>(strides[d]) : static_cast<std::size_t>(strides[d]);
    const auto reach =
        static_cast<std::ptrdiff_t>(stride != 0 && steps > longest_reach / stride ? longest_reach : steps * stride);
    if (strides[d] < 0) {
      range.first -= reach;
    } else {
      range.last += reach;
    }
  }
  return range;
}

// Copies a box of elements; the innermost dimension in one piece where both sides are dense there.
template <class T, std::size_t Dimensions>
void copy_box(T* destination, const std::array<std::ptrdiff_t, Dimensions>& destination_strides, const T* source,
              const std::array<std::ptrdiff_t, Dimensions>& source_strides,
              const std::array<std::size_t, Dimensions>& extents, std::size_t dimension = 0) {
  const std::size_t count = extents[dimension];
  const std::ptrdiff_t to = destination_strides[dimension];
  const std::ptrdiff_t from = source_strides[dimension];
  if (dimension + 1 == Dimensions) {
    if (to == 1 && from == 1) {
      std::memcpy(destination, source, count * sizeof(T));
    } else {
      for (std::size_t i = 0; i < count; ++i)
        destination[static_cast<std::ptrdiff_t>(i) * to] = source[static_cast<std::ptrdiff_t>(i) * from];
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    copy_box(destination + static_cast<std::ptrdiff_t>(i) * to, destination_strides,
             source + static_cast<std::ptrdiff_t>(i) * from, source_strides, extents, dimension + 1);
}

// Hands each dense row of a box, or each element of rows that are not dense, to act(address, bytes); nothing where
// places are coherent.
template <class T, std::size_t Dimensions, class Act>
void for_rows(T* origin, const std::array<std::ptrdiff_t, Dimensions>& strides,
              const std::array<std::size_t, Dimensions>& extents, Act act, std::size_t dimension = 0) {
  if constexpr (has_coherent_places) return;
  const bool is_last = dimension + 1 == Dimensions;
  if (is_last && strides[dimension] == 1) return act(origin, extents[dimension] * sizeof(T));
  for (std::size_t i = 0; i < extents[dimension]; ++i) {
    T* const at = origin + static_cast<std::ptrdiff_t>(i) * strides[dimension];
    if (is_last)
      act(at, sizeof(T));
    else
      for_rows(at, strides, extents, act, dimension + 1);
  }
}

template <class T, std::size_t Dimensions>
void check_box(access how, ptr<T> origin, const std::array<std::ptrdiff_t, Dimensions>& strides,
               const std::array<std::size_t, Dimensions>& extents) {
  const element_range range = range_of(extents, strides);
  check_access(how, origin.address() + static_cast<std::uintptr_t>(range.first) * sizeof(T),
               bytes_of(static_cast<std::size_t>(range.last - range.first + 1), sizeof(T)));
}

template <std::size_t Dimensions>
[[nodiscard]] constexpr bool is_empty(const std::array<std::size_t, Dimensions>& extents) noexcept {
  for (const std::size_t extent : extents)
    if (extent == 0) return true;
  return false;
}

}  // namespace situ::detail
