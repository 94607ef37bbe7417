// The kinds of values (serialize.h lists them), the parts of each, and the compile errors for other types.
#pragma once

#include <situ/runtime/detail/plain_data.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace situ {

class wire_writer;
class wire_reader;

namespace detail {

enum class value_kind {
  none,
  own,
  plain,
  sequence,
  keyed,
  optional,
  variant,
  tuple,
  array,
  fields,
  unique,
  shared,
  weak,
  path
};

template <class T>
inline constexpr bool is_tuple = false;
template <class... Ts>
inline constexpr bool is_tuple<std::tuple<Ts...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;
template <class T>
inline constexpr bool is_unique_pointer = false;
template <class T>
inline constexpr bool is_unique_pointer<std::unique_ptr<T>> = !std::is_array_v<T> && !std::is_polymorphic_v<T>;
template <class T>
inline constexpr bool is_shared_pointer = false;
template <class T>
inline constexpr bool is_shared_pointer<std::shared_ptr<T>> = true;
template <class P>
struct pointer_of;
template <template <class> class Pointer, class T>
struct pointer_of<Pointer<T>> {  // of<T> differs from Pointer<T[]>
  template <class Object>
  using of = Pointer<Object>;
};
template <class T>
inline constexpr bool is_weak_pointer = false;
template <class T>
inline constexpr bool is_weak_pointer<std::weak_ptr<T>> = true;
// True for a shared or weak pointer to an object that can be made from its declared type alone.
template <class T>
consteval bool shares_a_value() {
  if constexpr (is_shared_pointer<T> || is_weak_pointer<T>) {
    using object = typename T::element_type;
    if constexpr (std::is_object_v<object> && std::is_same_v<T, typename pointer_of<T>::template of<object>>)
      return !std::is_polymorphic_v<object>;
  }
  return false;
}

// Containers are recognised by their operations, so that none of their headers is needed here.
template <class C>
concept allocating_container = requires(const C& c) {
  typename C::value_type;
  typename C::allocator_type;
  c.begin();
  c.end();
  { c.size() } -> std::convertible_to<std::size_t>;
};
template <class C>
concept sequence_container =
    allocating_container<C> && requires(C& c, typename C::value_type&& element) { c.push_back(std::move(element)); };
template <class C>
concept keyed_container = allocating_container<C> && requires(C& c) {
  typename C::key_type;
  c.emplace_hint(c.end());
};
template <class C>
concept keyed_map = keyed_container<C> && requires { typename C::mapped_type; };
template <class P>
concept path_like = std::is_class_v<P> && requires(const P& path) {
  typename P::string_type;
  { path.native() } -> std::same_as<const typename P::string_type&>;
  P{typename P::string_type{}};
};

template <class T>
consteval value_kind kind_of() {
  using enum value_kind;
  if constexpr (has_own_wire<T>()) {
    return own;
  } else if constexpr (is_plain<T> && !holds_choice<T>()) {
    return plain;
  } else if constexpr (std::is_bounded_array_v<T> || std_array_size<T> != 0) {
    return array;
  } else if constexpr (!std::is_class_v<T> || is_view<T>) {
    return none;
  } else if constexpr (declared<T>) {
    return fields;
  } else if constexpr (is_optional<T>) {
    return optional;
  } else if constexpr (is_variant<T>) {
    return variant;
  } else if constexpr (is_tuple<T>) {
    return tuple;
  } else if constexpr (is_unique_pointer<T>) {
    return unique;
  } else if constexpr (shares_a_value<T>()) {
    return is_weak_pointer<T> ? weak : shared;
  } else if constexpr (has_known_fields<T>) {
    return fields;
  } else if constexpr (sequence_container<T>) {
    return sequence;
  } else if constexpr (keyed_container<T>) {
    return keyed;
  } else if constexpr (path_like<T>) {
    return path;
  } else {
    return none;
  }
}

// The parts of a value of each kind.
template <class T>
struct tuple_parts;
template <class... Ts>
struct tuple_parts<std::tuple<Ts...>> {
  using type = type_list<Ts...>;
};
template <class A, class B>
struct tuple_parts<std::pair<A, B>> {
  using type = type_list<A, B>;
};
template <class T>
consteval auto list_parts() {
  using enum value_kind;
  constexpr value_kind kind = kind_of<T>();
  if constexpr (kind == sequence || kind == keyed) {
    return type_list<typename T::value_type>{};
  } else if constexpr (kind == optional || kind == variant) {
    return typename choices_of<T>::type{};
  } else if constexpr (kind == tuple) {
    return typename tuple_parts<T>::type{};
  } else if constexpr (kind == array) {
    return type_list<std::remove_cvref_t<decltype(std::declval<T&>()[0])>>{};
  } else if constexpr (kind == fields) {
    return typename parts_in_class<T>::type{};
  } else if constexpr (kind == unique || kind == shared || kind == weak) {
    return type_list<typename T::element_type>{};
  } else {
    return type_list<>{};
  }
}
template <class T>
using parts_of = decltype(list_parts<T>());

// True if a reader makes an object of T and then sets its parts; otherwise it makes the object from its parts.
template <class T>
consteval bool is_read_by_parts() {
  if constexpr (declared<T>) return true;
  return []<class... Ts>(type_list<Ts...>) { return (std::is_array_v<Ts> || ...); }(parts_of<T>{});
}

template <class T>
inline constexpr bool can_be_set = std::is_move_assignable_v<std::remove_all_extents_t<T>>;
// True if a class with fields can be taken apart and made; its parts are checked separately.
template <class T>
consteval bool can_be_made() {
  if constexpr (!declared<T>) {
    if constexpr (!has_addressable_fields<T>) return false;
  }
  if constexpr (is_read_by_parts<T>())
    return std::is_default_constructible_v<T> &&
           []<class... Ts>(type_list<Ts...>) { return (can_be_set<Ts> && ...); }(parts_of<T>{});
  return true;
}

template <class T>
concept has_wire_functions = requires(const T& value, wire_writer& writer, wire_reader& reader) {
  { wire<T>::size(value) } -> std::convertible_to<std::size_t>;
  wire<T>::write(writer, value);
  { wire<T>::read(reader) } -> std::convertible_to<T>;
};

// True if values of T travel. `Seen` are the enclosing types; a class that contains itself travels if its other parts
// do.
template <class T, class... Seen>
consteval bool can_travel() {
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return true;
  } else {
    constexpr value_kind kind = kind_of<T>();
    if constexpr (kind == value_kind::plain || kind == value_kind::path) {
      return true;
    } else if constexpr (kind == value_kind::own) {
      return has_wire_functions<T>;
    } else if constexpr (kind == value_kind::none) {
      return false;
    } else {
      if constexpr (kind == value_kind::fields) {
        if constexpr (!can_be_made<T>()) return false;
      }
      return []<class... Ts>(type_list<Ts...>) {
        return (can_travel<std::remove_cv_t<Ts>, T, Seen...>() && ...);
      }(parts_of<T>{});
    }
  }
}

// True if T has a copy constructor that compiles: a vector of unique_ptr only declares one.
template <class T, class... Seen>
consteval bool is_copyable() {
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return true;
  } else if constexpr (!std::is_copy_constructible_v<T>) {
    return false;
  } else {
    return []<class... Ts>(type_list<Ts...>) {
      return (is_copyable<std::remove_cv_t<Ts>, T, Seen...>() && ...);
    }(parts_of<T>{});
  }
}

// True if values of T hold a std::shared_ptr or std::weak_ptr, so that a message has to remember the objects that it
// has met. A program's own wire<T> is not examined.
template <class T, class... Seen>
consteval bool holds_shared() {
  if constexpr ((std::is_same_v<T, Seen> || ...) || !(std::is_class_v<T> || std::is_array_v<T>)) {
    return false;
  } else {
    constexpr value_kind kind = kind_of<T>();
    if constexpr (kind == value_kind::shared || kind == value_kind::weak) return true;
    return []<class... Ts>(type_list<Ts...>) {
      return (holds_shared<std::remove_cv_t<Ts>, T, Seen...>() || ...);
    }(parts_of<T>{});
  }
}
template <class T>
inline constexpr bool shares = holds_shared<T>();

// True if a value of T may be nested in another value of T, so that only a count bounds how deep values are nested.
// The parts of a program's own wire<T> are unknown: it may hold any class.
template <class Class, class T, class... Seen>
consteval bool may_hold() {
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return false;
  } else {
    constexpr value_kind kind = kind_of<T>();
    if constexpr (kind == value_kind::own) return true;
    if constexpr (kind == value_kind::plain || kind == value_kind::path || kind == value_kind::none) return false;
    return []<class... Ts>(type_list<Ts...>) {
      return (std::is_same_v<std::remove_cv_t<Ts>, Class> || ...) ||
             (may_hold<Class, std::remove_cv_t<Ts>, T, Seen...>() || ...);
    }(parts_of<T>{});
  }
}
template <class T>
inline constexpr bool nests = may_hold<T, T>();

// --- how many bytes ---

inline constexpr std::size_t varies = ~std::size_t{0};

// Returns the number of bytes that every value of T takes, or `varies`; with Least, the number that it takes at least.
template <class T, bool Least = false>
consteval std::size_t bytes_of_all() {
  constexpr value_kind kind = kind_of<T>();
  if constexpr (kind == value_kind::plain) {
    return std::is_empty_v<T> ? 0 : sizeof(T);
  } else if constexpr (kind == value_kind::tuple || kind == value_kind::fields) {
    return []<class... Ts>(type_list<Ts...>) {
      const std::size_t parts[] = {0, bytes_of_all<std::remove_cv_t<Ts>, Least>()...};
      std::size_t bytes = 0;
      for (const std::size_t part : parts) {
        if (part == varies) return varies;
        bytes += part;
      }
      return bytes;
    }(parts_of<T>{});
  } else if constexpr (kind == value_kind::array) {
    constexpr std::size_t count = sizeof(T) / sizeof(std::declval<T&>()[0]);
    return []<class E>(type_list<E>) {
      const std::size_t each = bytes_of_all<E, Least>();
      return each == varies ? varies : count * each;
    }(parts_of<T>{});
  } else if constexpr (!Least) {
    return varies;
  } else if constexpr (kind == value_kind::own || kind == value_kind::none) {
    return 0;
  } else if constexpr (kind == value_kind::sequence || kind == value_kind::keyed || kind == value_kind::path) {
    return sizeof(std::uint64_t);
  } else if constexpr (kind == value_kind::shared || kind == value_kind::weak) {
    return sizeof(std::uint32_t);
  } else {
    return 1;
  }
}
template <class T>
inline constexpr std::size_t least_bytes = bytes_of_all<T, true>();

// --- whether to measure ---

// The largest part, in bytes, that a wire_writer without room may lose at once (serialize.h).
inline constexpr std::size_t largest_lost_part = 256;

// True if Situ alone writes the values, in parts that a wire_writer may lose, and the values share no objects.
template <class T, class... Seen>
consteval bool is_written_by_situ() {
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return true;
  } else {
    constexpr value_kind kind = kind_of<T>();
    if constexpr (kind == value_kind::plain) {
      return sizeof(T) <= largest_lost_part;
    } else if constexpr (kind == value_kind::path) {
      return true;
    } else if constexpr (kind == value_kind::own || kind == value_kind::none || kind == value_kind::shared ||
                         kind == value_kind::weak) {
      return false;
    } else {
      return []<class... Ts>(type_list<Ts...>) {
        return (is_written_by_situ<std::remove_cv_t<Ts>, T, Seen...>() && ...);
      }(parts_of<T>{});
    }
  }
}
// True if any container in T holds elements of different sizes: size() examines each of them.
template <class T, class... Seen>
consteval bool holds_uneven_elements() {
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return true;  // a container of itself
  } else {
    constexpr value_kind kind = kind_of<T>();
    if constexpr (kind == value_kind::plain || kind == value_kind::path || kind == value_kind::own ||
                  kind == value_kind::none) {
      return false;
    } else {
      if constexpr (kind == value_kind::sequence || kind == value_kind::keyed) {
        if constexpr (bytes_of_all<typename T::value_type>() == varies) return true;
      }
      return []<class... Ts>(type_list<Ts...>) {
        return (holds_uneven_elements<std::remove_cv_t<Ts>, T, Seen...>() || ...);
      }(parts_of<T>{});
    }
  }
}
// True if measuring a T takes about as long as writing it, and a writer with too little room can count instead.
template <class T>
inline constexpr bool is_long_to_measure = is_written_by_situ<T>() && holds_uneven_elements<T>();

// --- compile errors ---

// Emits one static_assert for a fault of T alone. It is instantiated for each part; the compiler's "in instantiation
// of ... check_part<Owner, Field, T>" names the part.
template <class Owner, auto Field, class T>
consteval void check_part() {
  constexpr bool is_known_class =
      std::is_class_v<T> && (is_view<T> || is_shared_pointer<T> || is_weak_pointer<T> || is_optional<T>);
  if constexpr (std::is_reference_v<T>) {
    static_assert(!std::is_reference_v<T>,
                  "situ: a reference cannot travel, for it names an object of this place: make it a value, or a "
                  "situ::ptr to memory of a segment");
  } else if constexpr (std::is_function_v<std::remove_pointer_t<T>> || std::is_member_pointer_v<T>) {
    static_assert(!std::is_same_v<T, T>,
                  "situ: a pointer to a function or member cannot travel as a value: pass it as the function of at(), "
                  "or a number that both sides understand");
  } else if constexpr (std::is_pointer_v<T>) {
    static_assert(
        !std::is_pointer_v<T>,
        "situ: a raw pointer cannot travel as a value, for its address means nothing elsewhere: make it a "
        "situ::ptr (memory of a segment), a std::string or std::vector (many), a std::unique_ptr (one), or "
        "include <situ/graph.h> and pass a pointer to a described class as an argument of at() (an object graph)");
  } else if constexpr (is_view<T>) {
    static_assert(!is_view<T>,
                  "situ: a view cannot travel within a value, for what it names stays behind: make it a std::string or "
                  "a std::vector (as an argument it travels if the body takes std::span<const T> or "
                  "std::string_view)");
  } else if constexpr (is_shared_pointer<T> || is_weak_pointer<T>) {
    static_assert(shares_a_value<T>(),
                  "situ: a std::shared_ptr to an array, to void or to a class with virtual functions cannot travel, "
                  "for it does not tell what it leads to: make it one to a std::vector or a std::variant, or build an "
                  "object graph of situ::derived");
  } else if constexpr (std::is_union_v<T>) {
    static_assert(!std::is_union_v<T>,
                  "situ: a union cannot travel, since nobody knows what it holds: use std::variant");
  } else if constexpr (has_own_wire<T>()) {
    static_assert(has_wire_functions<T>,
                  "situ: wire<T> of this class lacks static size(const T&), write(wire_writer&, const T&) or "
                  "read(wire_reader&)");
  } else if constexpr (declared<T>) {
    static_assert(can_be_made<T>(),
                  "situ: a described class that travels by value has a public default constructor, or a wire<T> of its "
                  "own");
  } else if constexpr (has_known_fields<T>) {
    static_assert(can_be_made<T>(),
                  "situ: an aggregate with bit-fields, or with arrays and no default constructor, beside what is not "
                  "plain data cannot travel by itself: specialise situ::wire<T> for it");
  } else if constexpr (is_known_to_hold_addresses<T>()) {
    static_assert(!is_known_to_hold_addresses<T>(),
                  "situ: this class holds an address in its private members, which means nothing elsewhere: list its "
                  "fields with SITU_DESCRIBE(type, fields...), specialise situ::wire<T>, or, where the address is "
                  "good at every place, say situ::is_data<T> = true");
  } else if constexpr (!is_known_class) {
    static_assert(can_travel<T>(),
                  "situ: nothing is known of this class: list its fields once with SITU_DESCRIBE(type, fields...), or "
                  "specialise situ::wire<T>");
  }
}

// Checks T and its parts down to the first part that cannot travel.
template <class Owner, auto Field, class T, class... Seen>
consteval void find_fault();
template <class T, class... Seen, class... Ts, std::size_t... Index>
consteval void find_faults(type_list<Ts...>, std::index_sequence<Index...>) {
  if constexpr (kind_of<T>() == value_kind::fields && !declared<T>) {
    (find_fault<T, field_key<T, Index>(), std::remove_cv_t<Ts>, T, Seen...>(), ...);
  } else {
    (find_fault<T, Index, std::remove_cv_t<Ts>, T, Seen...>(), ...);
  }
}
template <class T, class... Seen, auto... Members>
consteval void find_faults_of_members(member_list<Members...>) {
  (find_fault<T, Members, std::remove_cv_t<member_type<Members>>, T, Seen...>(), ...);
}
template <class Owner, auto Field, class T, class... Seen>
consteval void find_fault() {
  if constexpr (can_travel<T, Seen...>()) {
  } else if constexpr (kind_of<T>() == value_kind::none || kind_of<T>() == value_kind::own) {
    check_part<Owner, Field, T>();
  } else if constexpr (kind_of<T>() == value_kind::fields) {
    if constexpr (!can_be_made<T>()) {
      check_part<Owner, Field, T>();
    } else if constexpr (declared<T>) {
      find_faults_of_members<T, Seen...>(typename get_description<T>::type::members{});
    } else {
      find_faults<T, Seen...>(parts_of<T>{}, std::make_index_sequence<parts_of<T>::size>{});
    }
  } else {
    find_faults<T, Seen...>(parts_of<T>{}, std::make_index_sequence<parts_of<T>::size>{});
  }
}

// Compiles if T travels; otherwise the error names the part of T that does not.
template <class T>
consteval void check_value() {
  find_fault<T, 0, T>();
}

}  // namespace detail
}  // namespace situ
