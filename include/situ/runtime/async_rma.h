// One-sided access without waiting. On one host the call itself moves the data, so the returned future is ready;
// between hosts it may become ready later. The caller may reuse the source, and read the destination, once the future
// is ready. Errors: as for the waiting forms, thrown at the call. cost: the waiting form's, and an allocation for a
// future with a value.
#pragma once

#include <situ/fabric/atomic.h>
#include <situ/fabric/rma.h>
#include <situ/runtime/future.h>

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

namespace situ {

// Start a put, get or copy, or one of their strided and indexed forms (fabric/rma.h). The returned future becomes
// ready when the transfer has ended, or when its value has arrived.
template <class T>
future<> put_async(ptr<T> destination, const std::type_identity_t<T>* source, std::size_t count) {
  put(destination, source, count);
  return make_ready_future();
}
template <class T>
future<> put_async(ptr<T> destination, const std::type_identity_t<T>& value) {
  put(destination, value);
  return make_ready_future();
}
template <class T>
[[nodiscard]] future<> get_async(std::remove_const_t<T>* destination, ptr<T> source, std::size_t count) {
  get(destination, source, count);
  return make_ready_future();
}
template <class T>
[[nodiscard]] future<std::remove_const_t<T>> get_async(ptr<T> source) {
  return make_ready_future(get(source));
}
template <class T>
future<> copy_async(ptr<T> destination, ptr<const std::type_identity_t<T>> source, std::size_t count) {
  copy(destination, source, count);
  return make_ready_future();
}
template <class T, std::size_t Dimensions>
future<> put_strided_async(ptr<T> destination, const std::array<std::ptrdiff_t, Dimensions>& destination_strides,
                           const std::type_identity_t<T>* source,
                           const std::array<std::ptrdiff_t, Dimensions>& source_strides,
                           const std::array<std::size_t, Dimensions>& extents) {
  put_strided(destination, destination_strides, source, source_strides, extents);
  return make_ready_future();
}
template <class T, std::size_t Dimensions>
[[nodiscard]] future<> get_strided_async(std::type_identity_t<T>* destination,
                                         const std::array<std::ptrdiff_t, Dimensions>& destination_strides,
                                         ptr<T> source, const std::array<std::ptrdiff_t, Dimensions>& source_strides,
                                         const std::array<std::size_t, Dimensions>& extents) {
  get_strided(destination, destination_strides, source, source_strides, extents);
  return make_ready_future();
}
template <class T>
future<> put_indexed_async(ptr<T> destination, std::span<const std::size_t> indices,
                           const std::type_identity_t<T>* source) {
  put_indexed(destination, indices, source);
  return make_ready_future();
}
template <class T>
[[nodiscard]] future<> get_indexed_async(std::type_identity_t<T>* destination, ptr<T> source,
                                         std::span<const std::size_t> indices) {
  get_indexed(destination, source, indices);
  return make_ready_future();
}
// Starts an atomic_fetch_add. The other atomics have no such form: they wait only for the processor's own instruction.
template <class T>
[[nodiscard]] future<T> atomic_fetch_add_async(ptr<T> target, std::type_identity_t<T> value) {
  return make_ready_future(atomic_fetch_add(target, value));
}

}  // namespace situ
