// Makes the layout of a C++ type from its fields: those of an aggregate, or those that SITU_DESCRIBE lists.
#pragma once

#include <situ/base/detail/description.h>
#include <situ/base/detail/type_name.h>
#include <situ/heap/detail/heap_object.h>
#include <situ/heap/layout.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace situ::detail {

template <class>
inline constexpr bool never_true = false;
template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;

// Calls f with the offset of each reference in the object at `part`, without reading its fields. origin: the beginning
// of the whole object.
template <class T, class F>
void each_reference_in(T& part, const std::byte* origin, const F& f) {
  using type = std::remove_cv_t<T>;
  static_assert(!std::is_pointer_v<type> && !std::is_member_pointer_v<type> && !std::is_reference_v<T>,
                "an object of an object heap holds no pointers, since others would not find what they point to: use "
                "situ::ref");
  const auto at = static_cast<std::uint32_t>(reinterpret_cast<const std::byte*>(std::addressof(part)) - origin);
  if constexpr (is_heap_ref<type>) {
    f(at);
  } else if constexpr (std::is_arithmetic_v<type> || std::is_enum_v<type>) {
  } else if constexpr (std::is_array_v<type> || is_std_array<type>) {
    for (auto& each : part) each_reference_in(each, origin, f);
  } else if constexpr (is_data<type> || std::is_empty_v<type>) {
  } else if constexpr (declared<type>) {
    using description_type = typename get_description<type>::type;
    static_assert(description_type::bases::size == 0, "an object of an object heap has no described bases");
    [&]<auto... Members>(member_list<Members...>) {
      (each_reference_in(part.*Members, origin, f), ...);
    }(typename description_type::members{});
  } else if constexpr (has_known_fields<type>) {
    visit_fields(part, [&](auto& field) { each_reference_in(field, origin, f); });
  } else {
    static_assert(never_true<type>,
                  "the fields of this class are not known: list them by SITU_DESCRIBE(type, fields...), or, if it is "
                  "plain data, say so: template <> inline constexpr bool situ::is_data<type> = true");
  }
}

// The layout of an object that is one T.
template <class T>
[[nodiscard]] heap_layout make_layout() {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "an object of an object heap is copied as bytes, and no destructor is called");
  static_assert(alignof(T) <= heap_alignment, "an object of an object heap is aligned to 16 bytes");
  heap_layout made;
  made.name = std::string{type_name<T>()};
  alignas(T) std::byte room[sizeof(T)];
  each_reference_in(*reinterpret_cast<T*>(room), room, [&](std::uint32_t at) { made.words.push_back(at / 4); });
  std::ranges::sort(made.words);
  if (!made.words.empty()) made.references = heap_layout::kind::listed;
  return made;
}

}  // namespace situ::detail
