// Declared accesses: the bytes that a work unit of a task graph reads and the bytes that it writes.
//
//   graph.add({situ::reads(a), situ::updates(b)}, [&] { b[0] += a[0]; });
//
// A region is any range of bytes, or rows of equal length at equal distances (a tile of a matrix). Two regions conflict
// if they share a byte and at least one of them is written. They may overlap in any way: a region need not coincide
// with an earlier one.
// cost: making one of these values takes a few instructions; docs/design/task.md says what declaring it costs.
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

// A region of `rows` rows of `bytes` bytes; each row begins `stride` bytes after the one before. An empty region is
// allowed and conflicts with nothing.
struct memory_region {
  const void* begin = nullptr;
  std::size_t bytes = 0;
  std::size_t rows = 1;
  std::size_t stride = 0;  // bytes; unused if rows is 1

  // Returns the bytes of all rows together.
  [[nodiscard]] std::size_t size() const noexcept { return bytes * rows; }
};

// read: the unit needs the current contents. write: the unit overwrites all bytes and needs none of the current
// contents. update: the unit needs the contents and changes them.
enum class access_mode : std::uint8_t { read, write, update };

// One declared access. cost of declaring it: docs/design/task.md; a region of rows costs as much as one range per row.
struct declared_access {
  memory_region region;
  access_mode mode = access_mode::read;
  const std::vector<memory_region>* pieces = nullptr;  // used instead of `region` if not null; read only during add()
};

namespace detail {

template <class T>
concept contiguous_elements = std::ranges::contiguous_range<T> && std::ranges::sized_range<T>;

// Returns the bytes of an object; for a contiguous range (vector, span, array, string), the bytes of its elements.
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

// Declare that a unit reads, writes or updates an object, the elements of a contiguous range, or a region.
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

// Returns the region of `count` elements from `first` on. A global pointer stands for the same bytes at every place.
template <class T>
[[nodiscard]] memory_region region(const T* first, std::size_t count) {
  return {first, count * sizeof(T)};
}
template <class T>
[[nodiscard]] memory_region region(ptr<T> first, std::size_t count) {
  return {reinterpret_cast<const void*>(first.address()), count * sizeof(T)};
}

// Returns the region of a tile: `rows` rows of `columns` elements, from `first` on, in a matrix whose rows begin
// `pitch` elements after each other.
template <class T>
[[nodiscard]] memory_region tile(const T* first, std::size_t rows, std::size_t columns, std::size_t pitch) {
  if (columns == pitch) return {first, rows * columns * sizeof(T)};
  return {first, columns * sizeof(T), rows, pitch * sizeof(T)};
}

}  // namespace situ
