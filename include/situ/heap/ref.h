// situ::ref<T>: a reference to an object of an object heap (situ/heap/object_heap.h). Four bytes, and no address: the
// number of an entry of the heap's table, which holds the object's address. So objects can move while others refer to
// them. Trivially copyable; the null reference is all zeroes.
//
// Only even numbers are references. An odd one is free for a program's own use, such as an integer of 31 bits, where a
// field holds either (situ/heap/layout.h).
#pragma once

#include <situ/base/is_data.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace situ {

// A reference to an object of type T; ref<> (of void) to an object of any type. cost: that of a word.
template <class T = void>
class ref {
 public:
  // The type that it refers to. cost: none.
  using element_type = T;

  constexpr ref() noexcept = default;
  constexpr ref(std::nullptr_t) noexcept {}
  // Makes a reference of a number that raw() has returned. cost: none.
  explicit constexpr ref(std::uint32_t raw) noexcept : raw_{raw} {}
  // A reference to any object. cost: none.
  template <class U>
    requires(std::is_void_v<T> && !std::is_void_v<U>)
  constexpr ref(ref<U> other) noexcept : raw_{other.raw()} {}

  // Returns the number of the entry, twice; 0 for null. cost: none.
  [[nodiscard]] constexpr std::uint32_t raw() const noexcept { return raw_; }
  // Returns whether it is not null. cost: a comparison.
  constexpr explicit operator bool() const noexcept { return raw_ != 0; }
  friend constexpr bool operator==(ref, ref) noexcept = default;
  friend constexpr auto operator<=>(ref, ref) noexcept = default;

 private:
  std::uint32_t raw_ = 0;
};

// Returns the same reference as one to a T, unchecked. cost: none.
template <class T>
[[nodiscard]] constexpr ref<T> ref_cast(ref<> any) noexcept {
  return ref<T>{any.raw()};
}

template <class T>
inline constexpr bool is_data<ref<T>> = true;

}  // namespace situ

template <class T>
struct std::hash<situ::ref<T>> {
  [[nodiscard]] std::size_t operator()(situ::ref<T> of) const noexcept { return std::hash<std::uint32_t>{}(of.raw()); }
};
