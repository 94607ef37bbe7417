// The bounds check of each one-sided access, the slow ways of the accesses, and the ranges and copies of strided
// accesses.
//
// The fast way of an access is is_open() and the processor's own instructions. If is_open() is false, a slow way takes
// the whole operation. If the address belongs to another host, the slow way performs the operation (far.h) and returns
// true; otherwise it does what check_access_slow() does and returns false, and the caller goes on as in the fast way.
#pragma once

#include <situ/base/detail/coherence.h>
#include <situ/fabric/detail/word_operation.h>
#include <situ/fabric/detail/word_type.h>
#include <situ/memory/detail/place_context.h>
#include <situ/memory/ptr.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

namespace situ::detail {

enum class access : std::uint8_t { put, get, atomic };

// Looks the extent up again; counts and traces in an observed job; in checked mode also checks that a live block is
// there. Throws bad_address if the range is not open or belongs to another host, since the caller dereferences the
// memory directly.
void check_access_slow(place_context& context, access how, std::uintptr_t address, std::size_t bytes);

inline void check_access(access how, std::uintptr_t address, std::size_t bytes) {
  place_context& context = *current;
  if (!is_open(context, address, bytes)) [[unlikely]]
    check_access_slow(context, how, address, bytes);
}

// The slow ways. They return false if the range is checked and belongs to this host.
[[nodiscard]] bool put_slow(place_context& context, std::uintptr_t to, const void* from, std::size_t bytes);
[[nodiscard]] bool get_slow(place_context& context, void* to, std::uintptr_t from, std::size_t bytes);
// For copies of which either end may belong to another host. Counts nothing for an end on this host that is_open() has
// passed.
[[nodiscard]] bool copy_slow(place_context& context, std::uintptr_t to, std::uintptr_t from, std::size_t bytes);

// A box of elements that is strided on two sides: at the operation's address, and in the caller's own memory.
struct strided_box {
  std::uintptr_t far;                 // address of the element with all indices 0
  std::byte* near;                    // the same in the caller's memory; not written if the access is a put
  const std::ptrdiff_t* far_strides;  // in elements; may be negative
  const std::ptrdiff_t* near_strides;
  const std::size_t* extents;  // none is 0; outermost first
  std::size_t dimensions;
  std::size_t element_bytes;
};
// begin, bytes: the range that covers the box.
[[nodiscard]] bool box_slow(place_context& context, access how, const strided_box& box, std::uintptr_t begin,
                            std::size_t bytes);

// The change that a put makes to its signal's word.
struct signal_change {
  std::uintptr_t word;
  std::uint64_t value;  // bits of the value
  word_type type;
  bool adds;  // false: it sets the word
};
[[nodiscard]] bool put_signal_slow(place_context& context, std::uintptr_t to, const void* from, std::size_t bytes,
                                   const signal_change& signal);

// Moves one element in the slow way from beginning to end, so that the fast way keeps no register for code after the
// slow way.
template <class T>
[[gnu::cold, gnu::noinline]] void put_value_slow(place_context& context, T* to, const T value) {
  if (put_slow(context, reinterpret_cast<std::uintptr_t>(to), std::addressof(value), sizeof(T))) return;
  *to = value;
  write_back(to, sizeof(T));
}
template <class T>
[[nodiscard, gnu::cold, gnu::noinline]] T get_value_slow(place_context& context, const T* from) {
  struct {
    alignas(T) std::byte bytes[sizeof(T)];  // T may have no default constructor
  } value;
  if (get_slow(context, value.bytes, reinterpret_cast<std::uintptr_t>(from), sizeof(T))) return std::bit_cast<T>(value);
  flush(from, sizeof(T));
  return *from;
}

// For many reads of one segment. Checks the first read as check_access() does. Returns n: the other reads may touch
// the first n bytes of that segment's heap without a check, if the caller counts all reads, the first included, by
// count_reads(). Returns 0 if each other read must be checked by check_access(); then the first read has been counted.
[[nodiscard]] std::uint64_t open_for_reads(std::uintptr_t address, std::size_t bytes);
// In an observed job, counts the reads for the segment of this address; otherwise does nothing.
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
// Longer than any segment: longer reaches are cut to it, so that no product or sum of hostile strides wraps around.
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

// Copies a box of elements; the innermost dimension in one piece if both sides are dense in it.
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

// Calls act(address, bytes) for each dense row of a box, or for each element of rows that are not dense; does nothing
// if places are coherent.
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

// Returns true if the slow way has moved the box; otherwise the box has been checked, and the caller moves it.
template <class T, std::size_t Dimensions>
[[nodiscard]] bool is_box_moved(access how, ptr<T> origin, const std::array<std::ptrdiff_t, Dimensions>& strides,
                                const void* near, const std::array<std::ptrdiff_t, Dimensions>& near_strides,
                                const std::array<std::size_t, Dimensions>& extents) {
  place_context& context = *current;
  const element_range range = range_of(extents, strides);
  const std::uintptr_t begin = origin.address() + static_cast<std::uintptr_t>(range.first) * sizeof(T);
  const std::size_t bytes = bytes_of(static_cast<std::size_t>(range.last - range.first + 1), sizeof(T));
  if (is_open(context, begin, bytes)) [[likely]]
    return false;
  return box_slow(context, how,
                  {.far = origin.address(),
                   .near = static_cast<std::byte*>(const_cast<void*>(near)),
                   .far_strides = strides.data(),
                   .near_strides = near_strides.data(),
                   .extents = extents.data(),
                   .dimensions = Dimensions,
                   .element_bytes = sizeof(T)},
                  begin, bytes);
}

template <std::size_t Dimensions>
[[nodiscard]] constexpr bool is_empty(const std::array<std::size_t, Dimensions>& extents) noexcept {
  for (const std::size_t extent : extents)
    if (extent == 0) return true;
  return false;
}

}  // namespace situ::detail
