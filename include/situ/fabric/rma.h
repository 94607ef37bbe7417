// One-sided access: put, get and copy between any two places, without the other's help.
//
// On one host they are loads and stores after a bounds check, complete when they return (the writes of one place to
// another are seen in order; pair them with a barrier, a message or an atomic to know when). Non-blocking forms are in
// runtime/async_rma.h. Every call throws bad_address, naming address, place and size, where an end lies outside the
// open part of every segment, and no_runtime outside a situ::runtime. T is trivially copyable. Counts are elements,
// strides are elements. Thread-safe as memcpy is.
#pragma once

#include <situ/memory/place_context.h>
#include <situ/memory/ptr.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

namespace situ {

namespace detail {

enum class access : std::uint8_t { put, get, atomic };

// Looks the extent up again, counts and traces when observed, holds the access against the page map in checked mode.
// Throws where the range is not open.
void check_access_slow(place_context& context, access how, std::uintptr_t address, std::size_t bytes);

inline void check_access(access how, std::uintptr_t address, std::size_t bytes) {
  place_context& context = *current;
  if (!is_open(context, address, bytes)) [[unlikely]]
    check_access_slow(context, how, address, bytes);
}

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

}  // namespace detail

// Writes `count` elements at `source` (any readable memory) to `destination` (any place). cost: memcpy.
template <class T>
void put(ptr<T> destination, const std::type_identity_t<T>* source, std::size_t count) {
  detail::check_transferable<T>();
  if (count == 0) return;
  detail::check_access(detail::access::put, destination.address(), detail::bytes_of(count, sizeof(T)));
  std::memcpy(destination.local(), source, count * sizeof(T));
}

// Writes one element. cost: a store and the bounds check.
template <class T>
void put(ptr<T> destination, const std::type_identity_t<T>& value) {
  detail::check_transferable<T>();
  detail::check_access(detail::access::put, destination.address(), sizeof(T));
  *destination.local() = value;
}

// Reads `count` elements at `source` (any place) into `destination` (any writable memory). cost: memcpy.
template <class T>
void get(std::remove_const_t<T>* destination, ptr<T> source, std::size_t count) {
  detail::check_transferable<T>();
  if (count == 0) return;
  detail::check_access(detail::access::get, source.address(), detail::bytes_of(count, sizeof(T)));
  std::memcpy(destination, source.local(), count * sizeof(T));
}

// Reads one element. cost: a load and the bounds check.
template <class T>
[[nodiscard]] std::remove_const_t<T> get(ptr<T> source) {
  detail::check_transferable<T>();
  detail::check_access(detail::access::get, source.address(), sizeof(T));
  return *source.local();
}

// Copies between any two places; both ends are checked. The ranges must not overlap.
template <class T>
void copy(ptr<T> destination, ptr<const std::type_identity_t<T>> source, std::size_t count) {
  detail::check_transferable<T>();
  if (count == 0) return;
  detail::check_access(detail::access::get, source.address(), detail::bytes_of(count, sizeof(T)));
  detail::check_access(detail::access::put, destination.address(), detail::bytes_of(count, sizeof(T)));
  std::memcpy(destination.local(), source.local(), count * sizeof(T));
}
template <class T>
void put(ptr<T> destination, ptr<std::type_identity_t<T>> source, std::size_t count) {
  copy<T>(destination, ptr<const T>{source}, count);
}
template <class T>
void get(ptr<T> destination, ptr<std::type_identity_t<T>> source, std::size_t count) {
  copy<T>(destination, ptr<const T>{source}, count);
}

// Strided: a box of `extents` elements, outermost dimension first, each side with its own strides (elements, may be
// negative).
template <class T, std::size_t Dimensions>
void put_strided(ptr<T> destination, const std::array<std::ptrdiff_t, Dimensions>& destination_strides,
                 const std::type_identity_t<T>* source, const std::array<std::ptrdiff_t, Dimensions>& source_strides,
                 const std::array<std::size_t, Dimensions>& extents) {
  detail::check_transferable<T>();
  if (detail::is_empty(extents)) return;
  detail::check_box(detail::access::put, destination, destination_strides, extents);
  detail::copy_box<T, Dimensions>(destination.local(), destination_strides, source, source_strides, extents);
}
template <class T, std::size_t Dimensions>
void get_strided(std::type_identity_t<T>* destination,
                 const std::array<std::ptrdiff_t, Dimensions>& destination_strides, ptr<T> source,
                 const std::array<std::ptrdiff_t, Dimensions>& source_strides,
                 const std::array<std::size_t, Dimensions>& extents) {
  detail::check_transferable<T>();
  if (detail::is_empty(extents)) return;
  detail::check_box(detail::access::get, source, source_strides, extents);
  detail::copy_box<T, Dimensions>(destination, destination_strides, source.local(), source_strides, extents);
}

// Indexed: element i of the private side goes to, or comes from, element indices[i] of the remote side.
template <class T>
void put_indexed(ptr<T> destination, std::span<const std::size_t> indices, const std::type_identity_t<T>* source) {
  detail::check_transferable<T>();
  for (std::size_t i = 0; i < indices.size(); ++i)
    put(destination + static_cast<std::ptrdiff_t>(indices[i]), source[i]);
}
template <class T>
void get_indexed(std::type_identity_t<T>* destination, ptr<T> source, std::span<const std::size_t> indices) {
  detail::check_transferable<T>();
  for (std::size_t i = 0; i < indices.size(); ++i)
    destination[i] = get(source + static_cast<std::ptrdiff_t>(indices[i]));
}

}  // namespace situ
