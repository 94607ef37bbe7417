// A growing sequence in a pool, as std::vector is in ordinary memory.
//
//   struct catalogue { situ::pool_vector<long> keys; };
//   pool.transact([&](situ::transaction& t) { all->keys.push_back(t, 42); });
//   for (long key : all->keys) ...
//
// A vector has three words, and owns a block of the pool. Elements are data, pointers to objects of the pool, or
// described classes without a destructor; growth moves them bytewise. Changes to a vector take a transaction, and are
// rolled back with it; it is read as an array. Growth invalidates pointers to elements. Not copyable: `assign` copies.
// Release a vector before its object is destroyed, else its block stays until the pool is collected. As thread-safe as
// the pool's other objects. Errors: as transaction's; at() throws bad_argument. cost: as in std, and a snapshot of the
// bytes that change.
#pragma once

#include <situ/graph/containers.h>
#include <situ/pool/detail/pool_parts.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace situ {

// A growing sequence in a pool. cost: three words.
template <class T>
class pool_vector {
 public:
  // Names that the standard library expects.
  using value_type = T;
  using const_iterator = const T*;

  pool_vector() noexcept = default;
  pool_vector(const pool_vector&) = delete;
  pool_vector& operator=(const pool_vector&) = delete;

  // --- reading ---

  // Return the number of elements, and whether it is 0.
  [[nodiscard]] std::size_t size() const noexcept { return raw_.count; }
  [[nodiscard]] bool empty() const noexcept { return raw_.count == 0; }
  // Returns the number of elements that fit without growth.
  [[nodiscard]] std::size_t capacity() const noexcept { return raw_.capacity_bytes() / sizeof(T); }
  // Give access to the elements, which may be written after `change` or `transaction::change`.
  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(raw_.data); }
  [[nodiscard]] const T* data() const noexcept { return reinterpret_cast<const T*>(raw_.data); }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + raw_.count; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  // Return an element. at() throws bad_argument if i >= size(). pre: for front and back, the vector is not empty.
  [[nodiscard]] const T& at(std::size_t i) const {
    if (i >= size()) detail::throw_out_of_range(i, size());
    return data()[i];
  }
  [[nodiscard]] const T& front() const noexcept { return data()[0]; }
  [[nodiscard]] const T& back() const noexcept { return data()[size() - 1]; }
  [[nodiscard]] operator std::span<const T>() const noexcept { return {data(), size()}; }

  // --- changing ---

  // Takes a snapshot of an element, and returns the element for writing. cost: a snapshot.
  [[nodiscard]] T& change(transaction& t, std::size_t i) { return t.change(data() + i); }
  // Assigns to an element. cost: a snapshot.
  template <class Value>
  void set(transaction& t, std::size_t i, Value&& value) {
    change(t, i) = std::forward<Value>(value);
  }
  // Adds an element at the end, made from the arguments, which may be elements of this vector. cost: amortised
  // constant.
  template <class... Arguments>
  T& emplace_back(transaction& t, Arguments&&... arguments) {
    T* const old = data();  // grow() leaves its bytes until the transaction completes
    if (raw_.count == capacity()) grow(t, raw_.count + 1);
    T* const at = data() + raw_.count;
    if (old == data()) t.snapshot(at, sizeof(T));
    if constexpr (std::is_constructible_v<T, Arguments&&...>) {
      new (at) T(std::forward<Arguments>(arguments)...);
    } else {
      new (at) T{std::forward<Arguments>(arguments)...};
    }
    t.set(raw_.count, raw_.count + 1);
    return *at;
  }
  void push_back(transaction& t, const T& value) { emplace_back(t, value); }
  // Removes the last element, and frees the blocks of its containers. pre: the vector is not empty.
  void pop_back(transaction& t) { shorten(t, raw_.count - 1); }
  // Inserts a copy of a value before element i. cost: linear in the elements behind it.
  T& insert(transaction& t, std::size_t i, const T& value) {
    const T copy(value);
    if (raw_.count == capacity()) grow(t, raw_.count + 1);
    t.snapshot(data() + i, (raw_.count - i + 1) * sizeof(T));
    std::memmove(static_cast<void*>(data() + i + 1), data() + i, (raw_.count - i) * sizeof(T));
    new (data() + i) T(copy);
    t.set(raw_.count, raw_.count + 1);
    return data()[i];
  }
  // Removes element i and closes the gap. cost: linear in the elements behind it.
  void erase(transaction& t, std::size_t i) {
    detail::release_parts(t, data()[i]);
    t.snapshot(data() + i, (raw_.count - i) * sizeof(T));
    std::memmove(static_cast<void*>(data() + i), data() + i + 1, (raw_.count - i - 1) * sizeof(T));
    if constexpr (detail::may_lead_on<T>) std::memset(static_cast<void*>(data() + raw_.count - 1), 0, sizeof(T));
    t.set(raw_.count, raw_.count - 1);
  }
  // Removes elements at the end, or adds elements as T{} makes them, until there are n. cost: linear in these.
  void resize(transaction& t, std::size_t n) {
    if (n <= raw_.count) return shorten(t, n);
    reserve(t, n);
    t.snapshot(data() + raw_.count, (n - raw_.count) * sizeof(T));
    for (std::size_t i = raw_.count; i < n; ++i) new (data() + i) T{};
    t.set(raw_.count, n);
  }
  // Makes room for n elements. cost: copying all elements if the capacity is smaller.
  void reserve(transaction& t, std::size_t n) {
    if (n > capacity()) grow(t, n);
  }
  // Replaces all elements by copies of `values`, which may be elements of this vector. cost: linear.
  void assign(transaction& t, std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T>);
    if (values.empty()) return clear(t);
    if (values.size() > capacity()) {
      detail::array_descriptor next = room_for(t, values.size());
      std::memcpy(next.data, values.data(), values.size_bytes());
      next.count = values.size();
      return replace(t, next);
    }
    t.snapshot(data(), std::max(values.size(), size()) * sizeof(T));
    std::memmove(data(), values.data(), values.size_bytes());
    t.set(raw_.count, std::max(values.size(), size()));
    shorten(t, values.size());
  }
  // Removes all elements, and frees the blocks of their containers; the capacity stays. cost: constant for data, else
  // linear.
  void clear(transaction& t) { shorten(t, 0); }
  // Removes all elements as clear does, and frees the block. cost: as clear.
  void release(transaction& t) {
    clear(t);
    if (raw_.data != nullptr) replace(t, {});
  }

 private:
  static_assert(detail::check_pool_element<T>());

  detail::array_descriptor room_for(transaction& t, std::size_t n) {
    detail::array_descriptor room;
    room.data = reinterpret_cast<std::byte*>(detail::make_pool_room<T>(t, n));
    room.capacity = n * sizeof(T);
    return room;
  }
  void replace(transaction& t, const detail::array_descriptor& by) {
    std::byte* const old = raw_.data;
    t.change(&raw_) = by;
    t.destroy(old);
  }
  void grow(transaction& t, std::size_t least) {
    constexpr std::size_t first = std::max<std::size_t>(2, 64 / sizeof(T));
    detail::array_descriptor next = room_for(t, std::max({least, 2 * capacity(), first}));
    if (raw_.count != 0) std::memcpy(next.data, raw_.data, raw_.count * sizeof(T));
    next.count = raw_.count;
    replace(t, next);
  }
  void shorten(transaction& t, std::size_t n) {
    if (n == raw_.count) return;
    if constexpr (detail::may_lead_on<T>) {
      for (std::size_t i = n; i < raw_.count; ++i) detail::release_parts(t, data()[i]);
      t.snapshot(data() + n, (raw_.count - n) * sizeof(T));
      std::memset(static_cast<void*>(data() + n), 0, (raw_.count - n) * sizeof(T));
    }
    t.set(raw_.count, n);
  }

  detail::array_descriptor raw_;
};

namespace detail {

template <class T>
struct container_element<pool_vector<T>> {
  using type = T;
};
template <class T>
inline constexpr bool is_pool_container<pool_vector<T>> = true;

}  // namespace detail

}  // namespace situ
