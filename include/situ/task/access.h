// What a work unit of a task graph declares: which bytes it reads, which it writes.
//
//   graph.add({situ::reads(a), situ::updates(b)}, [&] { b[0] += a[0]; });
//
// A region is any range of bytes, or rows of equal length at equal distances (a tile of a matrix). Two regions conflict
// where they share a byte and one of them is written, however they overlap: none has to be the same as one before.
// cost: making one of these values is a few instructions; docs/design/task.md says what declaring it costs.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/memory/ptr.h>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

namespace situ {

// `rows` rows of `bytes` bytes; each begins `stride` bytes after the one before. Regions of no bytes are allowed:
// nobody waits for them.
struct memory_region {
  const void* begin = nullptr;
  std::size_t bytes = 0;
  std::size_t rows = 1;
  std::size_t stride = 0;  // bytes; of no meaning where rows is 1

  // Bytes of all rows.
  [[nodiscard]] std::size_t size() const noexcept { return bytes * rows; }
};

// read: the unit needs what is there. write: it writes all of it, and needs nothing of what was there. update: both.
enum class access_mode : std::uint8_t { read, write, update };

// One declared access. cost of declaring it: docs/design/task.md; a region of rows costs as much as one range for each.
struct declared_access {
  memory_region region;
  access_mode mode = access_mode::read;
  const std::vector<memory_region>* pieces = nullptr;  // instead of `region`; only looked at while it is declared
};

namespace detail {

template <class T>
concept contiguous_elements = std::ranges::contiguous_range<T> && std::ranges::sized_range<T>;

// The bytes of an object; of a contiguous range (vector, span, array, string) those of its elements.
template <class T>
memory_region region_of(const T& what) {
  if constexpr (contiguous_elements<const T>)
    return {std::ranges::data(what), std::ranges::size(what) * sizeof(std::ranges::range_value_t<const T>)};
  else
    return {&what, sizeof(T)};
}
inline memory_region region_of(const memory_region& what) { return what; }

template <class Visit>
void visit_regions(const declared_access& access, Visit visit) {
  if (access.pieces == nullptr) return visit(access.region);
  for (const memory_region& each : *access.pieces) visit(each);
}

}  // namespace detail

// The accesses of a unit: of an object, of the elements of a contiguous range, or of a region.
template <class T>
[[nodiscard]] declared_access reads(const T& what) {
  return {detail::region_of(what), access_mode::read};
}
template <class T>
[[nodiscard]] declared_access writes(const T& what) {
  return {detail::region_of(what), access_mode::write};
}
template <class T>
[[nodiscard]] declared_access updates(const T& what) {
  return {detail::region_of(what), access_mode::update};
}

// `count` elements from `first` on. A global pointer stands for the same bytes at every place.
template <class T>
[[nodiscard]] memory_region region(const T* first, std::size_t count) {
  return {first, count * sizeof(T)};
}
template <class T>
[[nodiscard]] memory_region region(ptr<T> first, std::size_t count) {
  return {reinterpret_cast<const void*>(first.address()), count * sizeof(T)};
}

// A tile: `rows` rows of `columns` elements, from `first` on, in a matrix whose rows begin `pitch` elements after each
// other.
template <class T>
[[nodiscard]] memory_region tile(const T* first, std::size_t rows, std::size_t columns, std::size_t pitch) {
  if (columns == pitch) return {first, rows * columns * sizeof(T)};
  return {first, columns * sizeof(T), rows, pitch * sizeof(T)};
}

}  // namespace situ
