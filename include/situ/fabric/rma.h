// One-sided access: put, get and copy between any two places, without the other's help.
//
// On one host they are loads and stores after a bounds check, complete when they return (the writes of one place to
// another are seen in order; pair them with a barrier, a message or an atomic to know when). Non-blocking forms are in
// runtime/async_rma.h. Every call throws bad_address, naming address, place and size, if an end is outside the open
// part of every segment, and no_runtime outside a situ::runtime. T is trivially copyable. Counts and strides are in
// elements. Thread-safe as memcpy is.
// cost: a bounds check of a few instructions (indexed: one for each element), and the copy.
#pragma once

#include <situ/base/detail/coherence.h>
#include <situ/fabric/detail/access.h>
#include <situ/fabric/detail/copy.h>
#include <situ/memory/ptr.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace situ {

// Writes `count` elements at `source` (any readable memory) to `destination` (any place). cost: memcpy.
template <class T>
void put(ptr<T> destination, const std::type_identity_t<T>* source, std::size_t count) {
  detail::check_transferable<T>();
  if (count == 0) return;
  detail::place_context& context = *detail::current;
  const std::size_t bytes = detail::bytes_of(count, sizeof(T));
  if (!detail::is_open(context, destination.address(), bytes)) [[unlikely]]
    if (detail::put_slow(context, destination.address(), source, bytes)) return;
  detail::copy_bytes(destination.local(), source, count * sizeof(T));
  detail::write_back(destination.local(), count * sizeof(T));
}

// Writes one element. cost: a store and the bounds check.
template <class T>
void put(ptr<T> destination, const std::type_identity_t<T>& value) {
  detail::check_transferable<T>();
  detail::place_context& context = *detail::current;
  if (!detail::is_open(context, destination.address(), sizeof(T))) [[unlikely]]
    return detail::put_value_slow<T>(context, destination.local(), value);
  *destination.local() = value;
  detail::write_back(destination.local(), sizeof(T));
}

// Reads `count` elements at `source` (any place) into `destination` (any writable memory). cost: memcpy.
template <class T>
void get(std::remove_const_t<T>* destination, ptr<T> source, std::size_t count) {
  detail::check_transferable<T>();
  if (count == 0) return;
  detail::place_context& context = *detail::current;
  const std::size_t bytes = detail::bytes_of(count, sizeof(T));
  if (!detail::is_open(context, source.address(), bytes)) [[unlikely]]
    if (detail::get_slow(context, destination, source.address(), bytes)) return;
  detail::flush(source.local(), count * sizeof(T));
  detail::copy_bytes(destination, source.local(), count * sizeof(T));
}

// Reads one element. cost: a load and the bounds check.
template <class T>
[[nodiscard]] std::remove_const_t<T> get(ptr<T> source) {
  detail::check_transferable<T>();
  detail::place_context& context = *detail::current;
  if (!detail::is_open(context, source.address(), sizeof(T))) [[unlikely]]
    return detail::get_value_slow<std::remove_const_t<T>>(context, source.local());
  detail::flush(source.local(), sizeof(T));
  return *source.local();
}

// Copies between any two places; both ends are checked. put and get of two global pointers do the same. pre: the
// ranges do not overlap.
template <class T>
void copy(ptr<T> destination, ptr<const std::type_identity_t<T>> source, std::size_t count) {
  detail::check_transferable<T>();
  if (count == 0) return;
  detail::place_context& context = *detail::current;
  const std::size_t bytes = detail::bytes_of(count, sizeof(T));
  if (!detail::is_open(context, source.address(), bytes) || !detail::is_open(context, destination.address(), bytes))
      [[unlikely]]
    if (detail::copy_slow(context, destination.address(), source.address(), bytes)) return;
  detail::flush(source.local(), count * sizeof(T));
  detail::copy_bytes(destination.local(), source.local(), count * sizeof(T));
  detail::write_back(destination.local(), count * sizeof(T));
}
template <class T>
void put(ptr<T> destination, ptr<std::type_identity_t<T>> source, std::size_t count) {
  copy<T>(destination, ptr<const T>{source}, count);
}
template <class T>
void get(ptr<T> destination, ptr<std::type_identity_t<T>> source, std::size_t count) {
  copy<T>(destination, ptr<const T>{source}, count);
}

// Writes, or reads, a strided box of `extents` elements, outermost dimension first; each side has its own strides (in
// elements, may be negative). One check covers the whole box: its whole range must be open.
template <class T, std::size_t Dimensions>
void put_strided(ptr<T> destination, const std::array<std::ptrdiff_t, Dimensions>& destination_strides,
                 const std::type_identity_t<T>* source, const std::array<std::ptrdiff_t, Dimensions>& source_strides,
                 const std::array<std::size_t, Dimensions>& extents) {
  detail::check_transferable<T>();
  if (detail::is_empty(extents)) return;
  if (detail::is_box_moved(detail::access::put, destination, destination_strides, source, source_strides, extents))
    return;
  detail::copy_box<T, Dimensions>(destination.local(), destination_strides, source, source_strides, extents);
  detail::for_rows(destination.local(), destination_strides, extents, detail::write_back);
}
template <class T, std::size_t Dimensions>
void get_strided(std::type_identity_t<T>* destination,
                 const std::array<std::ptrdiff_t, Dimensions>& destination_strides, ptr<T> source,
                 const std::array<std::ptrdiff_t, Dimensions>& source_strides,
                 const std::array<std::size_t, Dimensions>& extents) {
  detail::check_transferable<T>();
  if (detail::is_empty(extents)) return;
  if (detail::is_box_moved(detail::access::get, source, source_strides, destination, destination_strides, extents))
    return;
  detail::for_rows(source.local(), source_strides, extents, detail::flush);
  detail::copy_box<T, Dimensions>(destination, destination_strides, source.local(), source_strides, extents);
}

// Writes, or reads, single elements: element i of the private side is written to, or read from, element indices[i] of
// the remote side. Each element is checked separately; if one check throws, the elements before it have been moved.
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
