// Measures, writes and reads each kind of value. The last part of serialize.h.
#pragma once

#include <situ/runtime/detail/shared_objects.h>
#include <situ/runtime/serialize.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace situ::detail {

template <class T, value_kind Kind>
struct kind_wire;
template <class T>
struct sharing_wire;
template <class T>
struct value_wire : std::conditional_t<shares<T>, sharing_wire<T>, kind_wire<T, kind_of<T>()>> {};

// A pass over values of these types, if a pass has to track their shared objects.
template <class Objects, class... Ts>
using pass_over = std::conditional_t<(shares<Ts> || ...), sharing_pass<Objects>, no_pass>;

// The outermost sharing_wire opens the pass of the message, unless a pass over more values has begun.
template <class T>
struct sharing_wire {
  using parts = kind_wire<T, kind_of<T>()>;
  static std::size_t size(const T& value) {
    sharing_pass<measured_objects> pass;
    const std::size_t bytes = parts::size(value);
    pass.finish();
    return bytes;
  }
  static void write(wire_writer& writer, const T& value) {
    sharing_pass<written_objects> pass;
    parts::write(writer, value);
    pass.finish();
  }
  static T read(wire_reader& reader)
    requires(!std::is_array_v<T>)
  {
    sharing_pass<read_objects> pass;
    T value = parts::read(reader);
    pass.finish();
    return value;
  }
};

// Classes that contain themselves may be nested so deep that the recursion over them overflows the stack: a list of a
// million elements does. So each pass counts its levels and refuses more than this number, which fits a task's stack
// of 256 KiB, also with AddressSanitizer.
inline constexpr std::size_t most_levels = 100;

// One level of the values that the thread measures or writes. Throws bad_argument beyond the last level.
class sent_level {
 public:
  explicit sent_level(std::string_view type) {
    if (sent_levels == most_levels) [[unlikely]]
      throw_sent_too_deep(most_levels, type);
    ++sent_levels;
  }
  sent_level(const sent_level&) = delete;
  sent_level& operator=(const sent_level&) = delete;
  ~sent_level() { --sent_levels; }
};
// One level of the values that a reader reads. Throws bad_message beyond the last level.
class nesting {
 public:
  explicit nesting(wire_reader& reader) : reader_{reader} {
    if (++reader_.levels_ > most_levels) [[unlikely]]
      throw_too_deep(most_levels);
  }
  nesting(const nesting&) = delete;
  nesting& operator=(const nesting&) = delete;
  ~nesting() { --reader_.levels_; }

 private:
  wire_reader& reader_;
};
struct no_level {
  explicit no_level(const auto&) noexcept {}
};
template <class T>
using level_to_send = std::conditional_t<nests<T>, sent_level, no_level>;
template <class T>
using level_to_read = std::conditional_t<nests<T>, nesting, no_level>;

// A type that does not travel: check_value has already reported it, and no further error is wanted.
template <class T>
struct kind_wire<T, value_kind::none> {
  static std::size_t size(const T&) noexcept { return 0; }
  static void write(wire_writer&, const T&) noexcept {}
  [[noreturn]] static T read(wire_reader&) { std::abort(); }
};

template <class T>
struct kind_wire<T, value_kind::plain> {
  static constexpr std::size_t size(const T&) noexcept { return std::is_empty_v<T> ? 0 : sizeof(T); }
  static void write(wire_writer& writer, const T& value) noexcept {
    if constexpr (!std::is_empty_v<T>) write_value(writer.skip(sizeof(T)), value);
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
      if constexpr (!std::is_empty_v<T>) reader.read(storage, sizeof(T));
      return *std::launder(reinterpret_cast<T*>(storage));
    }
  }
};

// --- parts of classes ---

// Measures a part of a class; a part may be an array, which no function can return.
template <class Part>
std::size_t part_size(const Part& part) {
  if constexpr (std::is_array_v<Part>) {
    return value_wire<Part>::size(part);
  } else {
    return wire<Part>::size(part);
  }
}
template <class Part>
void write_part(wire_writer& writer, const Part& part) {
  if constexpr (std::is_array_v<Part>) {
    value_wire<Part>::write(writer, part);
  } else {
    wire<Part>::write(writer, part);
  }
}
template <class Part>
void read_part(wire_reader& reader, Part& part) {
  if constexpr (std::is_array_v<Part>) {
    for (auto& each : part) read_part(reader, each);
  } else {
    part = wire<Part>::read(reader);
  }
}

template <class T, class Visit, class... Bases, auto... Members>
void visit_described(T& value, Visit visit, type_list<Bases...>, member_list<Members...>) {
  using class_type = std::remove_const_t<T>;
  static_assert((std::is_base_of_v<Bases, class_type> && ...),
                "SITU_DESCRIBE_DERIVED(type, (bases), fields...): one of these is not a base of the type");
  (visit(static_cast<std::conditional_t<std::is_const_v<T>, const Bases, Bases>&>(value)), ...);
  (visit(value.*Members), ...);
}
// Calls visit(part) for each base and field.
template <class T, class Visit>
void visit_values(T& value, Visit visit) {
  using class_type = std::remove_const_t<T>;
  if constexpr (declared<class_type>) {
    using description_type = typename get_description<class_type>::type;
    visit_described(value, visit, typename description_type::bases{}, typename description_type::members{});
  } else {
    visit_fields(value, visit);
  }
}

template <class T>
struct kind_wire<T, value_kind::fields> {
  static std::size_t size(const T& value) {
    if constexpr (bytes_of_all<T>() != varies) return bytes_of_all<T>();
    [[maybe_unused]] const level_to_send<T> level{type_name<T>()};
    std::size_t bytes = 0;
    visit_values(value, [&](const auto& part) { bytes += part_size(part); });
    return bytes;
  }
  static void write(wire_writer& writer, const T& value) {
    [[maybe_unused]] const level_to_send<T> level{type_name<T>()};
    visit_values(value, [&](const auto& part) { write_part(writer, part); });
  }
  static T read(wire_reader& reader) {
    [[maybe_unused]] const level_to_read<T> level{reader};
    if constexpr (is_read_by_parts<T>()) {
      T value{};
      visit_values(value, [&](auto& part) { read_part(reader, part); });
      return value;
    } else {
      return [&]<class... Parts>(type_list<Parts...>) {
        return T{wire<std::remove_cv_t<Parts>>::read(reader)...};
      }(parts_of<T>{});
    }
  }
};

template <class T>
struct kind_wire<T, value_kind::array> {
  static std::size_t size(const T& elements) {
    if constexpr (bytes_of_all<T>() != varies) return bytes_of_all<T>();
    std::size_t bytes = 0;
    for (const auto& element : elements) bytes += part_size(element);
    return bytes;
  }
  static void write(wire_writer& writer, const T& elements) {
    for (const auto& element : elements) write_part(writer, element);
  }
  static std::conditional_t<std::is_array_v<T>, void, T> read(wire_reader& reader)
    requires(!std::is_array_v<T>)
  {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return T{((void)Index, wire<typename T::value_type>::read(reader))...};
    }(std::make_index_sequence<std_array_size<T> - 1>{});
  }
};

template <class T>
struct kind_wire<T, value_kind::tuple> {
  static std::size_t size(const T& values) {
    if constexpr (bytes_of_all<T>() != varies) return bytes_of_all<T>();
    return std::apply([](const auto&... each) { return (std::size_t{0} + ... + part_size(each)); }, values);
  }
  static void write(wire_writer& writer, const T& values) {
    std::apply([&](const auto&... each) { (write_part(writer, each), ...); }, values);
  }
  static T read(wire_reader& reader) {
    return [&]<class... Parts>(type_list<Parts...>) {
      return T{wire<std::remove_cv_t<Parts>>::read(reader)...};
    }(parts_of<T>{});
  }
};

// --- choices ---

// A value that may be absent: a byte tells if it is present, then the value follows.
template <class T, class Value>
struct maybe_wire {
  static std::size_t size(const T& value) { return 1 + (value ? wire<Value>::size(*value) : 0); }
  static void write(wire_writer& writer, const T& value) {
    const std::uint8_t present = value ? 1 : 0;
    writer.write(&present, 1);
    if (value) wire<Value>::write(writer, *value);
  }
  [[nodiscard]] static bool read_present(wire_reader& reader) {
    std::uint8_t present = 0;
    reader.read(&present, 1);
    return present != 0;
  }
};

template <class T>
struct kind_wire<T, value_kind::optional> : maybe_wire<T, typename T::value_type> {
  static T read(wire_reader& reader) {
    if (!kind_wire::read_present(reader)) return std::nullopt;
    return T{wire<typename T::value_type>::read(reader)};
  }
};

template <class T>
struct kind_wire<T, value_kind::unique> : maybe_wire<T, std::remove_const_t<typename T::element_type>> {
  using value_type = std::remove_const_t<typename T::element_type>;
  static T read(wire_reader& reader) {
    if (!kind_wire::read_present(reader)) return nullptr;
    return T{new value_type(wire<value_type>::read(reader))};
  }
};

template <class T>
struct kind_wire<T, value_kind::shared> {
  using value_type = std::remove_const_t<typename T::element_type>;
  static std::size_t size(const T& pointer) {
    if (!pointer) return sizeof(std::uint32_t);
    measured_objects& objects = *open_objects<measured_objects>;
    if (!objects.enter({pointer.get(), &shared_type_of<value_type>}, pointer)) return sizeof(std::uint32_t);
    const std::size_t bytes = sizeof(std::uint32_t) + wire<value_type>::size(*pointer);
    objects.leave();
    return bytes;
  }
  static void write(wire_writer& writer, const T& pointer) {
    written_objects::numbered found{0, false};
    if (pointer) found = open_objects<written_objects>->number_of({pointer.get(), &shared_type_of<value_type>});
    writer.write(&found.number, sizeof(found.number));
    if (found.is_new) wire<value_type>::write(writer, *pointer);
  }
  static T read(wire_reader& reader) {
    std::uint32_t number = 0;
    reader.read(&number, sizeof(number));
    if (number == 0) return nullptr;
    read_objects& objects = *open_objects<read_objects>;
    if (number <= objects.count()) return objects.known<value_type>(number);
    objects.check(number, 1);
    return objects.make_next<value_type>([&] { return wire<value_type>::read(reader); });
  }
};

template <class T>
struct kind_wire<T, value_kind::weak> {
  using value_type = std::remove_const_t<typename T::element_type>;
  static std::size_t size(const T&) noexcept { return sizeof(std::uint32_t); }
  static void write(wire_writer& writer, const T& pointer) {
    std::byte* const at = writer.skip(sizeof(std::uint32_t));
    std::memset(at, 0, sizeof(std::uint32_t));
    if (const auto object = pointer.lock())
      open_objects<written_objects>->add_weak({object.get(), &shared_type_of<value_type>}, at);
  }
  static T read(wire_reader& reader) {
    std::uint32_t number = 0;
    reader.read(&number, sizeof(number));
    if (number == 0) return {};
    read_objects& objects = *open_objects<read_objects>;
    return objects.announced<value_type>(number, sizeof(number) + least_bytes<value_type>, reader.left());
  }
};

template <class... Ts>
struct kind_wire<std::variant<Ts...>, value_kind::variant> {
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
    if (index >= sizeof...(Ts)) throw_bad_alternative(index, sizeof...(Ts));
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      static constexpr value_type (*read_alternative[])(wire_reader&) = {
          [](wire_reader& from) { return value_type{std::in_place_index<Index>, wire<Ts>::read(from)}; }...};
      return read_alternative[index](reader);
    }(std::index_sequence_for<Ts...>{});
  }
};

// --- containers ---

// In a container each element takes at least a byte, so that every count can be checked against the remaining bytes.
template <class T>
std::size_t element_bytes(const T& element) {
  return std::max<std::size_t>(wire<T>::size(element), 1);
}
template <class T>
void write_element(wire_writer& writer, const T& element) {
  if constexpr (least_bytes<T> == 0) {
    if (wire<T>::size(element) == 0) writer.write("", 1);
  }
  wire<T>::write(writer, element);
}
template <class T, class Add>
void read_elements(wire_reader& reader, std::size_t count, Add add) {
  for (std::size_t i = 0; i < count; ++i) {
    [[maybe_unused]] const std::size_t before = reader.left();
    add();
    if constexpr (least_bytes<T> == 0) {
      if (reader.left() == before) (void)reader.take(1);
    }
  }
}
template <class C>
std::size_t size_of_elements(const C& elements) {
  using element = typename C::value_type;
  constexpr std::size_t each = bytes_of_all<element>();
  if constexpr (each != varies) return sizeof(std::uint64_t) + elements.size() * std::max<std::size_t>(each, 1);
  std::size_t bytes = sizeof(std::uint64_t);
  for (const element& e : elements) bytes += element_bytes<element>(e);
  return bytes;
}
template <class C>
void write_elements(wire_writer& writer, const C& elements) {
  const std::uint64_t count = elements.size();
  writer.write(&count, sizeof(count));
  for (const typename C::value_type& e : elements) write_element<typename C::value_type>(writer, e);
}

// Reads elements directly from the message if it is aligned for them; otherwise through a buffer that fits the
// first-level cache, so that no element is zeroed first.
template <class C>
C read_in_bulk(wire_reader& reader) {
  using element = typename C::value_type;
  const std::size_t count = reader.read_count(sizeof(element));
  const std::byte* const bytes = reader.take(count * sizeof(element));
  if (reinterpret_cast<std::uintptr_t>(bytes) % alignof(element) == 0) {
    const auto* const first = reinterpret_cast<const element*>(bytes);
    return C(first, first + count);
  }
  constexpr std::size_t most = std::max<std::size_t>(1, 4096 / sizeof(element));
  C elements;
  elements.reserve(count);
  alignas(element) std::byte buffer[most * sizeof(element)];
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(most, count - done);
    std::memcpy(buffer, bytes + done * sizeof(element), n * sizeof(element));
    const auto* const first = std::launder(reinterpret_cast<const element*>(buffer));
    elements.insert(elements.end(), first, first + n);
    done += n;
  }
  return elements;
}

template <class C>
struct kind_wire<C, value_kind::sequence> {
  using element = typename C::value_type;
  static constexpr bool is_in_bulk = [] {
    if constexpr (copies_in_bulk<element>) return std::ranges::contiguous_range<const C>;
    return false;
  }();

  static std::size_t size(const C& elements) { return size_of_elements(elements); }
  static void write(wire_writer& writer, const C& elements) {
    if constexpr (is_in_bulk && !has_padding<element>()) {
      const std::uint64_t count = elements.size();
      writer.write(&count, sizeof(count));
      writer.write(std::ranges::data(elements), elements.size() * sizeof(element));
    } else {
      write_elements(writer, elements);
    }
  }
  static C read(wire_reader& reader) {
    if constexpr (is_in_bulk) {
      return read_in_bulk<C>(reader);
    } else {
      const std::size_t count = reader.read_count(std::max<std::size_t>(least_bytes<element>, 1));
      C elements;
      if constexpr (requires { elements.reserve(count); })  // elements may be larger than their bytes in the message
        elements.reserve(std::min(count, reader.left() / sizeof(element) + 1));
      read_elements<element>(reader, count, [&] { elements.push_back(wire<element>::read(reader)); });
      return elements;
    }
  }
};

// Keys arrive in the order of the sender's container, so in a tree each belongs at the end.
template <class C>
struct kind_wire<C, value_kind::keyed> {
  using element = typename C::value_type;
  static std::size_t size(const C& elements) { return size_of_elements(elements); }
  static void write(wire_writer& writer, const C& elements) { write_elements(writer, elements); }
  static C read(wire_reader& reader) {
    const std::size_t count = reader.read_count(std::max<std::size_t>(least_bytes<element>, 1));
    C elements;
    if constexpr (requires { elements.reserve(count); }) elements.reserve(count);
    read_elements<element>(reader, count, [&] {
      if constexpr (keyed_map<C>) {
        auto key = wire<typename C::key_type>::read(reader);
        elements.emplace_hint(elements.end(), std::move(key), wire<typename C::mapped_type>::read(reader));
      } else {
        elements.emplace_hint(elements.end(), wire<typename C::key_type>::read(reader));
      }
    });
    if (elements.size() != count) throw_repeated_keys(count, elements.size());
    return elements;
  }
};

template <class P>
struct kind_wire<P, value_kind::path> {
  using text = typename P::string_type;
  static std::size_t size(const P& path) { return wire<text>::size(path.native()); }
  static void write(wire_writer& writer, const P& path) { wire<text>::write(writer, path.native()); }
  static P read(wire_reader& reader) { return P{wire<text>::read(reader)}; }
};

// Copies a value; writes and reads it if it has no copy constructor, or if a copy would share objects with the
// original.
template <class T>
inline constexpr bool is_copied_by_wire = !is_copyable<T>() || shares<T>;
template <class T>
T copy_value(const T& value) {
  if constexpr (!is_copied_by_wire<T>) {
    return value;
  } else {
    std::vector<std::byte> bytes(wire<T>::size(value));
    wire_writer writer{bytes.data()};
    wire<T>::write(writer, value);
    wire_reader reader{bytes.data(), bytes.size()};
    return wire<T>::read(reader);
  }
}
// Copies several values, whose copies share objects as the originals do.
template <class... Ts>
std::tuple<Ts...> copy_values(const Ts&... values) {
  if constexpr (!(shares<Ts> || ...)) {
    return std::tuple<Ts...>{copy_value(values)...};
  } else {
    const auto of_shared = [&](auto use) {
      const auto each = [&]<class T>(const T& value) {
        if constexpr (shares<T>) use(value);
      };
      (each(values), ...);
    };
    std::size_t size = 0;
    sharing_pass<measured_objects> measuring;
    of_shared([&]<class T>(const T& value) { size += wire<T>::size(value); });
    measuring.finish();
    std::vector<std::byte> bytes(size);
    wire_writer writer{bytes.data()};
    sharing_pass<written_objects> writing;
    of_shared([&]<class T>(const T& value) { wire<T>::write(writer, value); });
    writing.finish();
    wire_reader reader{bytes.data(), bytes.size()};
    sharing_pass<read_objects> reading;
    const auto copy = [&]<class T>(const T& value) {
      if constexpr (shares<T>) {
        return wire<T>::read(reader);
      } else {
        return copy_value(value);
      }
    };
    std::tuple<Ts...> copies{copy(values)...};
    reading.finish();
    return copies;
  }
}

}  // namespace situ::detail
