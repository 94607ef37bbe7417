// Common parts of pool containers: checks of element types, and freeing the blocks that elements own.
#pragma once

#include <situ/graph/detail/field_kinds.h>
#include <situ/pool/pool.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <variant>

namespace situ::detail {

// Returns the bytes of `count` elements. Throws bad_argument if no pool has so many.
[[nodiscard]] std::size_t pool_bytes_for(std::size_t count, std::size_t bytes);

template <class T>
[[nodiscard]] consteval bool check_pool_element() {
  static_assert(std::is_trivially_destructible_v<T>,
                "situ: this type holds memory outside the pool (it has a destructor), which would be gone when the "
                "pool is opened again: use pool_vector, pool_string, or pointers to objects of the pool");
  static_assert(!std::is_polymorphic_v<T>,
                "situ: a class with virtual functions cannot lie in a pool, for its vtable lies elsewhere in another "
                "process");
  static_assert(!std::is_reference_v<T> && !std::is_const_v<T>, "situ: elements are objects that can be changed");
  return true;
}

// True if elements may lead to other objects. Removed elements of such a type are zeroed, so that a walk of the block
// (relocation, the collector) need not know the number of elements.
template <class T>
inline constexpr bool may_lead_on = !carries_only_data<T>();

// Allocates room for elements in the pool, zeroed if they may lead on.
template <class T>
[[nodiscard]] T* make_pool_room(transaction& t, std::size_t count) {
  const std::size_t bytes = pool_bytes_for(count, sizeof(T));
  void* const room = t.allocate(bytes, alignof(T));
  if constexpr (may_lead_on<T>) std::memset(room, 0, bytes);
  return static_cast<T*>(room);
}

template <class T>
concept releases_itself = requires(T& value, transaction& t) { value.release(t); };

// Frees the blocks of the containers within a value, but not the objects that its pointers lead to. The containers are
// empty afterwards.
template <class T>
void release_parts(transaction& t, T& value) {
  if constexpr (carries_only_data<T>() || std::is_pointer_v<T> || is_transient<T>) {
  } else if constexpr (releases_itself<T>) {
    value.release(t);
  } else if constexpr (fixed<T>) {
    for (auto& each : value) release_parts(t, each);
  } else if constexpr (product<T>) {
    std::apply([&](auto&... each) { (release_parts(t, each), ...); }, value);
  } else if constexpr (requires { value.has_value(); }) {
    if (value.has_value()) release_parts(t, *value);
  } else if constexpr (sum<T>) {
    std::visit([&](auto& each) { release_parts(t, each); }, value);
  } else if constexpr (declared<T>) {
    [&]<auto... Members>(member_list<Members...>) {
      (release_parts(t, value.*Members), ...);
    }(typename get_description<T>::type::members{});
  } else if constexpr (has_known_fields<T>) {
    visit_fields(value, [&]<class F>(const F& field) { release_parts(t, const_cast<F&>(field)); });
  }
}

}  // namespace situ::detail
