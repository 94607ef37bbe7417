// situ::ptr<T>: a global pointer. Eight bytes, a plain address; dereferences directly on the same host. Trivially
// copyable; arithmetic, comparison and hash as for T*. Thread-safe as a T* is.
// cost: that of a T*; place() and is_here() a few instructions more.
#pragma once

#include <situ/base/is_data.h>
#include <situ/memory/detail/place_context.h>
#include <situ/memory/place.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>

namespace situ {

namespace detail {
[[noreturn]] void throw_foreign_address(std::uintptr_t address);
}

// A pointer to an object in any place's segment, or null. put and get accept it at every place; on the same host the
// result of local() can be dereferenced.
template <class T>
class ptr {
 public:
  // Member types for std::pointer_traits and iterators.
  using element_type = T;
  using difference_type = std::ptrdiff_t;

  constexpr ptr() noexcept = default;
  constexpr ptr(std::nullptr_t) noexcept {}
  explicit ptr(T* raw) noexcept : address_{reinterpret_cast<std::uintptr_t>(raw)} {}
  template <class U>
    requires(std::is_convertible_v<U*, T*> && !std::is_same_v<U, T>)
  ptr(ptr<U> other) noexcept : ptr{static_cast<T*>(other.local())} {}

  // Returns the place whose segment holds the address. Throws bad_address if no segment does, and no_runtime.
  [[nodiscard]] situ::place place() const {
    const detail::place_context& context = *detail::current;
    const std::uintptr_t index = (address() - context.base) >> context.slice_shift;
    if (index >= context.place_count) [[unlikely]]
      detail::throw_foreign_address(address());
    return situ::place{static_cast<std::uint32_t>(index)};
  }

  // Returns the address, dereferenceable at every place of this host.
  [[nodiscard]] T* local() const noexcept { return reinterpret_cast<T*>(address_); }
  // Returns the address as a number.
  [[nodiscard]] constexpr std::uintptr_t address() const noexcept { return address_; }
  // Returns whether the address is in the calling place's own segment.
  [[nodiscard]] bool is_here() const noexcept {
    const detail::place_context& context = *detail::current;
    return context.place_count != 0 && (address() - context.base) >> context.slice_shift == context.place;
  }

  constexpr explicit operator bool() const noexcept { return address_ != 0; }
  friend constexpr bool operator==(ptr, ptr) noexcept = default;
  friend constexpr auto operator<=>(ptr a, ptr b) noexcept = default;

  constexpr ptr& operator+=(difference_type n) noexcept
    requires(!std::is_void_v<T>)
  {
    address_ += static_cast<std::uintptr_t>(n) * sizeof(T);
    return *this;
  }
  constexpr ptr& operator-=(difference_type n) noexcept
    requires(!std::is_void_v<T>)
  {
    address_ -= static_cast<std::uintptr_t>(n) * sizeof(T);
    return *this;
  }
  constexpr ptr& operator++() noexcept { return *this += 1; }
  constexpr ptr& operator--() noexcept { return *this -= 1; }
  constexpr ptr operator++(int) noexcept {
    const ptr before = *this;
    ++*this;
    return before;
  }
  constexpr ptr operator--(int) noexcept {
    const ptr before = *this;
    --*this;
    return before;
  }
  friend constexpr ptr operator+(ptr p, difference_type n) noexcept { return p += n; }
  friend constexpr ptr operator+(difference_type n, ptr p) noexcept { return p += n; }
  friend constexpr ptr operator-(ptr p, difference_type n) noexcept { return p -= n; }
  friend constexpr difference_type operator-(ptr a, ptr b) noexcept
    requires(!std::is_void_v<T>)
  {
    return static_cast<difference_type>(a.address_ - b.address_) / static_cast<difference_type>(sizeof(T));
  }

 private:
  // not a T*, so that the compiler can tell it from a plain pointer (base/detail/holds_address.h)
  std::uintptr_t address_ = 0;
};

template <class T>
inline constexpr bool is_data<ptr<T>> = true;

static_assert(sizeof(ptr<int>) == 8 && std::is_trivially_copyable_v<ptr<int>>);

}  // namespace situ

template <class T>
struct std::hash<situ::ptr<T>> {
  std::size_t operator()(situ::ptr<T> p) const noexcept { return std::hash<std::uintptr_t>{}(p.address()); }
};
