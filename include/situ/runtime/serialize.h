// How values travel: measured, written to bytes at one place, read back (with every bound checked) at another.
//
// Here for trivially copyable types, std::string, std::vector, std::tuple, std::pair, std::optional, std::variant and
// std::array of those. A class of a program's own that is none of these, and no aggregate, gets a specialisation of
// wire<T>. An aggregate that is not plain travels as an object graph (graph/at.h), whatever wire<T> says. Layout: the
// value's bytes in host order (both ends run the same build), containers behind a 64-bit count. Not self-describing:
// the function that travels along knows the types.
//
// Nothing but values leaves: padding is zero, and optionals, variants and aggregates that hold such travel by parts, so
// that what is not there any more stays behind. Equal values give equal bytes. Unions, and aggregates that hold
// addresses, do not travel. What no compiler tells (private members) goes as base/detail/padding.h says: such a class
// that holds an optional has a wire<T> of its own. cost: a memcpy of what is plain, also in a vector; else a call for
// each part. What is read allocates where its type does.
#pragma once

#include <situ/base/detail/padding.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace situ {

namespace detail {
[[noreturn]] void throw_truncated(std::size_t wanted_bytes, std::size_t left_bytes);
[[noreturn]] void throw_bad_alternative(std::size_t index, std::size_t alternatives);
}  // namespace detail

// Writes into a buffer that was measured beforehand, by size() of all that goes there. Nothing is checked.
class wire_writer {
 public:
  explicit wire_writer(std::byte* at) noexcept : at_{at} {}
  // Copies bytes to where the writer stands, and goes on behind them.
  void write(const void* bytes, std::size_t count) noexcept {
    if (count != 0) std::memcpy(at_, bytes, count);
    at_ += count;
  }
  // The next `count` bytes, for the caller to write all of them.
  [[nodiscard]] std::byte* skip(std::size_t count) noexcept { return std::exchange(at_, at_ + count); }

 private:
  std::byte* at_;
};

// Reads from bytes that may be anything: each read is checked against what is left. Throws bad_message.
class wire_reader {
 public:
  wire_reader(const std::byte* at, std::size_t bytes) noexcept : at_{at}, left_{bytes} {}
  // Bytes that have not been read yet.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  // Copies the next bytes out.
  void read(void* destination, std::size_t count) {
    if (count > left_) [[unlikely]]
      detail::throw_truncated(count, left_);
    if (count != 0) std::memcpy(destination, at_, count);
    at_ += count;
    left_ -= count;
  }
  // The next `count` bytes where they lie.
  [[nodiscard]] const std::byte* take(std::size_t count) {
    if (count > left_) [[unlikely]]
      detail::throw_truncated(count, left_);
    left_ -= count;
    return std::exchange(at_, at_ + count);
  }
  // A count of things that take at least `least_bytes` each, so that a false count cannot make us allocate beyond the
  // message.
  [[nodiscard]] std::size_t read_count(std::size_t least_bytes) {
    std::uint64_t count = 0;
    read(&count, sizeof(count));
    if (least_bytes != 0 && count > left_ / least_bytes) [[unlikely]]
      detail::throw_truncated(count, left_);
    return count;
  }

 private:
  const std::byte* at_;
  std::size_t left_;
};

// How a T travels. Specialised for each kind of type that does, with three static functions:
//
//   size(value)            how many bytes write() takes for this value
//   write(writer, value)   writes exactly so many
//   read(reader)           returns the value; checks every bound by the reader, and throws bad_message of bad bytes
template <class T>
struct wire;

namespace detail {
template <class T>
inline constexpr bool is_pointer_like =
    std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>;
template <class T>
inline constexpr bool is_optional = false;  // their bytes beyond the flag may be indeterminate, so they travel by parts
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
// Trivially copyable, but their bytes are addresses of this process.
template <class T>
inline constexpr bool is_view = std::is_same_v<T, std::string_view>;
template <class T, std::size_t Extent>
inline constexpr bool is_view<std::span<T, Extent>> = true;
template <class T>
inline constexpr bool is_view<std::initializer_list<T>> = true;
template <class T>
inline constexpr bool is_view<std::reference_wrapper<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;

template <class T>
consteval bool is_plain_value();
template <class T>
inline constexpr bool is_plain = is_plain_value<T>();

// What a field of plain data may be, besides plain: an array, or a choice between such.
template <class T>
consteval bool is_plain_field();
template <class... Ts>
consteval bool are_plain_fields(type_list<Ts...>) {
  return (is_plain_field<std::remove_cv_t<Ts>>() && ...);
}
template <class T>
struct choices_of {};
template <class T>
struct choices_of<std::optional<T>> {
  using type = type_list<T>;
};
template <class... Ts>
struct choices_of<std::variant<Ts...>> {
  using type = type_list<Ts...>;
};
template <class T>
consteval bool is_plain_field() {
  if constexpr (std::is_bounded_array_v<T>) {
    return is_plain_field<std::remove_cv_t<std::remove_extent_t<T>>>();
  } else if constexpr (std_array_size<T> != 0) {
    return is_plain_field<std::remove_cv_t<typename T::value_type>>();
  } else if constexpr (is_optional<T> || is_variant<T>) {
    return are_plain_fields(typename choices_of<T>::type{});
  } else {
    return is_plain<T>;
  }
}
template <class... Ts>
consteval bool hold_choice(type_list<Ts...>);
// Trivially copyable, and no address of this process, as far as the compiler tells.
template <class T>
consteval bool is_plain_value() {
  if constexpr (!std::is_trivially_copyable_v<T> || is_optional<T> || is_variant<T> || is_view<T> ||
                is_pointer_like<T> || std::is_reference_v<T> || std::is_array_v<T> || std::is_union_v<T>) {
    return false;
  } else if constexpr (std_array_size<T> != 0) {
    return is_plain<std::remove_cv_t<typename T::value_type>>;
  } else if constexpr (std::is_class_v<T> && !std::is_empty_v<T>) {
    if constexpr (has_known_fields<T>)
      return are_plain_fields(field_types<T>{}) && (has_addressable_fields<T> || !hold_choice(field_types<T>{}));
    return true;
  } else {
    return true;
  }
}

// Whether plain data holds choices, so that it travels by parts.
template <class T>
consteval bool holds_choice();
template <class... Ts>
consteval bool hold_choice(type_list<Ts...>) {
  return (holds_choice<std::remove_cv_t<Ts>>() || ...);
}
template <class T>
consteval bool holds_choice() {
  if constexpr (is_optional<T> || is_variant<T>) {
    return true;
  } else if constexpr (std::is_bounded_array_v<T>) {
    return holds_choice<std::remove_cv_t<std::remove_extent_t<T>>>();
  } else if constexpr (std_array_size<T> != 0) {
    return holds_choice<std::remove_cv_t<typename T::value_type>>();
  } else if constexpr (std::is_class_v<T> && !std::is_empty_v<T>) {
    if constexpr (has_known_fields<T>) return hold_choice(field_types<T>{});
    return false;
  } else {
    return false;
  }
}
}  // namespace detail

// Whether values of T can be sent to another place.
template <class T>
concept travels = requires(const T& value, wire_writer& writer, wire_reader& reader) {
  { wire<T>::size(value) } -> std::convertible_to<std::size_t>;
  wire<T>::write(writer, value);
  { wire<T>::read(reader) } -> std::convertible_to<T>;
};

template <class T>
  requires(detail::is_plain<T> && !detail::holds_choice<T>())
struct wire<T> {
  static constexpr std::size_t size(const T&) noexcept { return std::is_empty_v<T> ? 0 : sizeof(T); }
  static void write(wire_writer& writer, const T& value) noexcept {
    if constexpr (!std::is_empty_v<T>) detail::write_value(writer.skip(sizeof(T)), value);
  }
  static T read(wire_reader& reader) {
    if constexpr (std::is_empty_v<T> && std::is_default_constructible_v<T>) {
      return T{};
    } else if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      reader.read(&byte, 1);
      return byte != 0;  // a received byte may be neither 0 nor 1
    } else {
      alignas(T) std::byte storage[sizeof(T)];
      reader.read(storage, sizeof(T));
      return *std::launder(reinterpret_cast<T*>(storage));
    }
  }
};

// An aggregate with choices: field by field.
template <class T>
  requires(detail::is_plain<T> && detail::holds_choice<T>() && detail::std_array_size<T> == 0)
struct wire<T> {
  static std::size_t size(const T& value) {
    std::size_t bytes = 0;
    detail::visit_fields(value, [&](const auto& field) { bytes += part_size(field); });
    return bytes;
  }
  static void write(wire_writer& writer, const T& value) {
    detail::visit_fields(value, [&](const auto& field) { write_part(writer, field); });
  }
  static T read(wire_reader& reader) {
    T value{};
    detail::visit_fields(value, [&](auto& field) { read_part(reader, field); });
    return value;
  }

 private:
  template <class Field>
  static std::size_t part_size(const Field& field) {
    if constexpr (std::is_array_v<Field>) {
      std::size_t bytes = 0;
      for (const auto& each : field) bytes += part_size(each);
      return bytes;
    } else {
      return wire<Field>::size(field);
    }
  }
  template <class Field>
  static void write_part(wire_writer& writer, const Field& field) {
    if constexpr (std::is_array_v<Field>) {
      for (const auto& each : field) write_part(writer, each);
    } else {
      wire<Field>::write(writer, field);
    }
  }
  template <class Field>
  static void read_part(wire_reader& reader, Field& field) {
    if constexpr (std::is_array_v<Field>) {
      for (auto& each : field) read_part(reader, each);
    } else {
      field = wire<Field>::read(reader);
    }
  }
};

template <>
struct wire<std::string> {
  static std::size_t size(const std::string& text) noexcept { return sizeof(std::uint64_t) + text.size(); }
  static void write(wire_writer& writer, const std::string& text) noexcept {
    const std::uint64_t count = text.size();
    writer.write(&count, sizeof(count));
    writer.write(text.data(), text.size());
  }
  static std::string read(wire_reader& reader) {
    std::string text(reader.read_count(1), '\0');
    reader.read(text.data(), text.size());
    return text;
  }
};

namespace detail {

// Built straight from the message where that is aligned (it is, but for odd sizes before it), so that nothing is zeroed
// first.
template <class T>
std::vector<T> read_plain_elements(wire_reader& reader) {
  const std::size_t count = reader.read_count(sizeof(T));
  const std::byte* const bytes = reader.take(count * sizeof(T));
  if (reinterpret_cast<std::uintptr_t>(bytes) % alignof(T) == 0) {
    const T* const first = reinterpret_cast<const T*>(bytes);
    return std::vector<T>(first, first + count);
  }
  std::vector<T> elements(count);
  if (count != 0) std::memcpy(elements.data(), bytes, count * sizeof(T));
  return elements;
}

template <class T>
inline constexpr bool copies_in_bulk = is_plain<T> && !holds_choice<T>() && !std::is_empty_v<T> &&
                                       !std::is_same_v<T, bool> && std::is_default_constructible_v<T>;

// In a vector each element takes a byte at least, so that every count can be held against the bytes that are left.
template <class T>
std::size_t element_bytes(const T& element) {
  const std::size_t bytes = wire<T>::size(element);
  return bytes == 0 ? 1 : bytes;
}

}  // namespace detail

template <travels T>
struct wire<std::vector<T>> {
  static std::size_t size(const std::vector<T>& elements) {
    if constexpr (detail::copies_in_bulk<T>) return sizeof(std::uint64_t) + elements.size() * sizeof(T);
    std::size_t bytes = sizeof(std::uint64_t);
    for (const T& element : elements) bytes += detail::element_bytes<T>(element);
    return bytes;
  }
  static void write(wire_writer& writer, const std::vector<T>& elements) {
    const std::uint64_t count = elements.size();
    writer.write(&count, sizeof(count));
    if constexpr (detail::copies_in_bulk<T> && !detail::has_padding<T>()) {
      writer.write(elements.data(), elements.size() * sizeof(T));
    } else {
      for (const T& element : elements) {
        if (wire<T>::size(element) == 0) writer.write("", 1);
        wire<T>::write(writer, element);
      }
    }
  }
  static std::vector<T> read(wire_reader& reader) {
    if constexpr (detail::copies_in_bulk<T>) {
      return detail::read_plain_elements<T>(reader);
    } else {
      const std::size_t count = reader.read_count(1);
      std::vector<T> elements;
      elements.reserve(
          std::min(count, reader.left() / sizeof(T) + 1));  // elements may be larger than what announces them
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t before = reader.left();
        elements.push_back(wire<T>::read(reader));
        if (reader.left() == before) (void)reader.take(1);
      }
      return elements;
    }
  }
};

template <travels T>
struct wire<std::optional<T>> {
  static std::size_t size(const std::optional<T>& value) { return 1 + (value ? wire<T>::size(*value) : 0); }
  static void write(wire_writer& writer, const std::optional<T>& value) {
    const std::uint8_t present = value ? 1 : 0;
    writer.write(&present, 1);
    if (value) wire<T>::write(writer, *value);
  }
  static std::optional<T> read(wire_reader& reader) {
    std::uint8_t present = 0;
    reader.read(&present, 1);
    return present != 0 ? std::optional<T>{wire<T>::read(reader)} : std::nullopt;
  }
};
template <travels... Ts>
struct wire<std::variant<Ts...>> {
  static_assert(sizeof...(Ts) <= 256, "situ: a std::variant of more than 256 alternatives does not travel");
  using value_type = std::variant<Ts...>;
  static std::size_t size(const value_type& value) {
    return 1 + std::visit([]<class T>(const T& alternative) { return wire<T>::size(alternative); }, value);
  }
  static void write(wire_writer& writer, const value_type& value) {
    const auto index = static_cast<std::uint8_t>(value.index());
    writer.write(&index, 1);
    std::visit([&]<class T>(const T& alternative) { wire<T>::write(writer, alternative); }, value);
  }
  static value_type read(wire_reader& reader) {
    std::uint8_t index = 0;
    reader.read(&index, 1);
    if (index >= sizeof...(Ts)) detail::throw_bad_alternative(index, sizeof...(Ts));
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      static constexpr value_type (*read_alternative[])(wire_reader&) = {
          [](wire_reader& from) { return value_type{std::in_place_index<Index>, wire<Ts>::read(from)}; }...};
      return read_alternative[index](reader);
    }(std::index_sequence_for<Ts...>{});
  }
};
template <travels... Ts>
struct wire<std::tuple<Ts...>> {
  static std::size_t size(const std::tuple<Ts...>& values) {
    return std::apply([](const Ts&... each) { return (std::size_t{0} + ... + wire<Ts>::size(each)); }, values);
  }
  static void write(wire_writer& writer, const std::tuple<Ts...>& values) {
    std::apply([&](const Ts&... each) { (wire<Ts>::write(writer, each), ...); }, values);
  }
  static std::tuple<Ts...> read([[maybe_unused]] wire_reader& reader) {
    return std::tuple<Ts...>{wire<Ts>::read(reader)...};
  }
};

template <travels A, travels B>
  requires(!detail::is_plain<std::pair<A, B>>)
struct wire<std::pair<A, B>> {
  static std::size_t size(const std::pair<A, B>& value) {
    return wire<A>::size(value.first) + wire<B>::size(value.second);
  }
  static void write(wire_writer& writer, const std::pair<A, B>& value) {
    wire<A>::write(writer, value.first);
    wire<B>::write(writer, value.second);
  }
  static std::pair<A, B> read(wire_reader& reader) {
    A first = wire<A>::read(reader);
    return {std::move(first), wire<B>::read(reader)};
  }
};

template <travels T, std::size_t N>
  requires(!detail::is_plain<std::array<T, N>> || detail::holds_choice<T>())
struct wire<std::array<T, N>> {
  static std::size_t size(const std::array<T, N>& elements) {
    std::size_t bytes = 0;
    for (const T& element : elements) bytes += wire<T>::size(element);
    return bytes;
  }
  static void write(wire_writer& writer, const std::array<T, N>& elements) {
    for (const T& element : elements) wire<T>::write(writer, element);
  }
  static std::array<T, N> read(wire_reader& reader) {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return std::array<T, N>{((void)Index, wire<T>::read(reader))...};
    }(std::make_index_sequence<N>{});
  }
};

}  // namespace situ
