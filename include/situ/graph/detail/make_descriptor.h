// Makes the descriptor of a type from its fields (describe.h has the rules for fields, and how a class lists them).
//
// Everything happens at run time, once for each type, on first use: the offsets are taken from an object that is never
// read. Thread-safe.
#pragma once

#include <situ/base/detail/padding.h>
#include <situ/graph/detail/descriptor.h>
#include <situ/graph/detail/field_kinds.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

class layout_builder {
 public:
  explicit layout_builder(type_descriptor& into) noexcept
      : into_{into}, ops_{into.others}, headers_{into.headers}, bools_{into.bools}, values_{into.values} {}
  // Adds to one alternative of a choice.
  layout_builder(type_descriptor& into, detail::choice& cases, std::size_t alternative) noexcept
      : into_{into},
        ops_{cases.alternatives[alternative]},
        headers_{cases.headers[alternative]},
        bools_{cases.bools[alternative]},
        values_{cases.values[alternative]} {}
  void pointer(std::size_t offset, const type_descriptor& target);
  void array(std::size_t offset, const type_descriptor& block, bool terminated, bool in_pool);
  void transient(std::size_t offset, std::size_t bytes);
  void copied_value(std::size_t offset, const value_functions& functions);
  void header(std::size_t offset, const type_descriptor& type) {
    headers_.push_back({static_cast<std::uint32_t>(offset), &type});
  }
  void boolean(std::size_t offset);
  // Adds bytes that belong to the value: all their bits, or the given ones.
  void value(std::size_t offset, std::size_t bytes, std::uint8_t bits = 0xff);
  void value_bits(std::size_t offset, const std::vector<std::byte>& bits);
  detail::choice& choice(std::size_t offset, std::size_t bytes, std::size_t flag_offset, std::size_t alternatives);
  void field(std::string name, std::string_view type, std::size_t offset, std::size_t bytes);
  void base(const type_descriptor& base);
  [[nodiscard]] type_descriptor& into() const noexcept { return into_; }

 private:
  type_descriptor& into_;
  std::vector<op>& ops_;
  std::vector<part_header>& headers_;
  std::vector<bool_run>& bools_;
  std::vector<value_run>& values_;
};

struct type_entry {
  type_descriptor type;
  std::atomic<bool> is_ready{false};
  bool is_begun = false;
};
struct type_facts {
  std::string_view name;
  std::uint64_t tag;
  std::size_t size;
  std::size_t alignment;
  bool is_tagged;
};
// Fills the entry with fill(), and the entries of all types that fill() asks for, then numbers them. Until then only
// the calling thread sees these entries.
void make_known(type_entry& entry, const type_facts& facts, void (*fill)(type_descriptor&));

// Never destroyed, since objects may outlive statics. A function, since static initialisers ask for descriptors, too.
template <class T>
type_entry& entry_of() {
  static type_entry* const entry = new type_entry;
  return *entry;
}
template <class Element>
type_entry& block_entry_of() {
  static type_entry* const entry = new type_entry;
  return *entry;
}

template <class T>
const T& fake_object() noexcept {
  alignas(T) static const std::byte storage[sizeof(T)]{};
  return reinterpret_cast<const T&>(storage);
}
template <class Owner, class Part>
std::size_t offset_in(const Owner& owner, const Part& part) noexcept {
  return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(std::addressof(part)) -
                                  reinterpret_cast<const std::byte*>(std::addressof(owner)));
}

[[nodiscard]] std::string take_name(std::string_view& names);
[[nodiscard]] std::string name_in_address(std::string_view text);

template <class T, std::size_t... Index>
std::vector<std::string> names_of_fields(std::index_sequence<Index...>) {
  std::vector<std::string> names;
  if constexpr (field_keys_are_addresses) {
    (names.push_back(name_in_address(value_text<field_key<T, Index>()>())), ...);
  } else {
    (names.push_back("field " + std::to_string(Index)), ...);
  }
  return names;
}

inline constexpr std::string_view base_name = "(base)";

// Calls visit(name, offset, std::type_identity<F>) for each base and field of a class that is declared or an aggregate.
template <class T, class Visit>
void visit_parts(Visit visit) {
  const T& fake = fake_object<T>();
  if constexpr (declared<T>) {
    using description_type = typename get_description<T>::type;
    [&]<class... Bases>(type_list<Bases...>) {
      static_assert((std::is_base_of_v<Bases, T> && ...),
                    "SITU_DESCRIBE_DERIVED(type, (bases), fields...): one of these is not a base of the type");
      (visit(std::string{base_name}, offset_in(fake, static_cast<const Bases&>(fake)), std::type_identity<Bases>{}),
       ...);
    }(typename description_type::bases{});
    std::string_view names = description_type::names;
    [&]<auto... Members>(member_list<Members...>) {
      (visit(take_name(names), offset_in(fake, fake.*Members),
             std::type_identity<std::remove_cvref_t<decltype(fake.*Members)>>{}),
       ...);
    }(typename description_type::members{});
  } else {
    auto names = names_of_fields<T>(std::make_index_sequence<field_count<T>>{});
    std::size_t i = 0;
    visit_fields(fake,
                 [&]<class F>(const F& field) { visit(names[i++], offset_in(fake, field), std::type_identity<F>{}); });
  }
}

// Returns the offset of the flag: constructs each alternative and compares the bytes. The flag is the byte after the
// payload that holds the alternative's number.
[[nodiscard]] std::size_t find_flag(std::string_view type, const std::vector<std::vector<std::byte>>& images,
                                    std::size_t payload_bytes);

template <class Sum>
std::vector<std::byte> image_of(Sum (*make)()) {
  alignas(Sum) std::byte storage[sizeof(Sum)]{};
  Sum* const made = new (storage) Sum(make());
  const std::vector<std::byte> image(storage, storage + sizeof(Sum));
  std::destroy_at(made);
  return image;
}
template <class T>
std::size_t flag_offset_of(std::type_identity<std::optional<T>>) {
  static_assert(std::is_default_constructible_v<T>,
                "situ: a std::optional in a graph holds a type with a default constructor");
  return find_flag(type_name<std::optional<T>>(),
                   {image_of<std::optional<T>>([] { return std::optional<T>{}; }),
                    image_of<std::optional<T>>([] { return std::optional<T>{T{}}; })},
                   sizeof(T));
}
template <class... Ts>
std::size_t flag_offset_of(std::type_identity<std::variant<Ts...>>) {
  static_assert((std::is_default_constructible_v<Ts> && ...),
                "situ: a std::variant in a graph holds types with default constructors");
  using V = std::variant<Ts...>;
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return find_flag(type_name<V>(), {image_of<V>([] { return V{std::in_place_index<Index>}; })...},
                     std::max({sizeof(Ts)...}));
  }(std::make_index_sequence<sizeof...(Ts)>{});
}

template <class T>
[[nodiscard]] const type_descriptor& descriptor_of();
template <class Element>
[[nodiscard]] const type_descriptor& block_of();

// Returns whether data contains bools, as far as its fields are known.
template <class T>
consteval bool holds_bools() {
  const auto any = []<class... Ts>(type_list<Ts...>) { return (holds_bools<Ts>() || ...); };
  if constexpr (std::is_same_v<std::remove_cv_t<T>, bool>) {
    return true;
  } else if constexpr (!std::is_class_v<T> && !fixed<T>) {
    return false;
  } else if constexpr (std::is_const_v<T>) {
    return holds_bools<std::remove_const_t<T>>();
  } else if constexpr (fixed<T>) {
    return fixed_array<T>::count != 0 && holds_bools<typename fixed_array<T>::type>();
  } else if constexpr (is_data<T>) {
    return false;
  } else if constexpr (product<T>) {
    return any(typename product_parts<T>::type{});
  } else if constexpr (has_known_fields<T>) {
    return any(field_types<T>{});
  } else {
    return false;
  }
}
// Adds the bytes of data that belong to values.
template <class T>
void describe_bytes(layout_builder to, std::size_t offset) {
  if constexpr (std::is_const_v<T>) {
    describe_bytes<std::remove_const_t<T>>(to, offset);
  } else if constexpr (!has_padding<T>()) {
    to.value(offset, sizeof(T));
  } else if constexpr (fixed<T>) {
    using element = typename fixed_array<T>::type;
    for (std::size_t i = 0; i < fixed_array<T>::count; ++i) describe_bytes<element>(to, offset + i * sizeof(element));
  } else if constexpr (product<T>) {
    const T& fake = fake_object<T>();
    std::apply([&]<class... Parts>(
                   const Parts&... parts) { (describe_bytes<Parts>(to, offset + offset_in(fake, parts)), ...); },
               fake);
  } else if constexpr (has_addressable_fields<T>) {
    visit_parts<T>([&]<class F>(const std::string&, std::size_t at, std::type_identity<F>) {
      describe_bytes<F>(to, offset + at);
    });
  } else {
    std::vector<std::byte> bits(sizeof(T));
    set_value_bits<T>(bits.data());
    to.value_bits(offset, bits);
  }
}
template <class T>
void describe_data(layout_builder to, std::size_t offset) {
  if constexpr (!holds_bools<T>()) {
  } else if constexpr (std::is_const_v<T>) {
    describe_data<std::remove_const_t<T>>(to, offset);
  } else if constexpr (std::is_same_v<T, bool>) {
    to.boolean(offset);
  } else if constexpr (fixed<T>) {
    using element = typename fixed_array<T>::type;
    for (std::size_t i = 0; i < fixed_array<T>::count; ++i) describe_data<element>(to, offset + i * sizeof(element));
  } else if constexpr (product<T>) {
    const T& fake = fake_object<T>();
    std::apply([&]<class... Parts>(
                   const Parts&... parts) { (describe_data<Parts>(to, offset + offset_in(fake, parts)), ...); },
               fake);
  } else {
    visit_parts<T>(
        [&]<class F>(const std::string&, std::size_t at, std::type_identity<F>) { describe_data<F>(to, offset + at); });
  }
}

template <class T>
inline constexpr value_functions value_functions_of{
    type_name<T>(), [](const std::byte* value) { return wire<T>::size(*reinterpret_cast<const T*>(value)); },
    [](wire_writer& writer, const std::byte* value) { wire<T>::write(writer, *reinterpret_cast<const T*>(value)); },
    [](wire_reader& reader, std::byte* at) { ::new (static_cast<void*>(at)) T(wire<T>::read(reader)); },
    [](std::byte* value) noexcept { std::destroy_at(reinterpret_cast<T*>(value)); }};

template <class T>
void describe_value(layout_builder to, std::size_t offset);
// Adds a value that is a field or an element.
template <class T>
void describe_part(layout_builder to, std::size_t offset) {
  if constexpr (std::is_base_of_v<object, T> && !std::is_same_v<object, T>) to.header(offset, descriptor_of<T>());
  describe_value<T>(to, offset);
}
// Adds the parts of a value of type T at `offset`.
template <class T>
void describe_value(layout_builder to, std::size_t offset) {
  if constexpr (carries_only_data<T>()) {
    describe_data<T>(to, offset);
    describe_bytes<T>(to, offset);
  } else if constexpr (std::is_pointer_v<T>) {
    to.pointer(offset, descriptor_of<std::remove_cv_t<std::remove_pointer_t<T>>>());
  } else if constexpr (is_transient<T>) {
    to.transient(offset, sizeof(T));
  } else if constexpr (container<T>) {
    to.array(offset, block_of<typename container_element<T>::type>(), is_terminated<T>, is_pool_container<T>);
  } else if constexpr (fixed<T>) {
    using element = std::remove_cv_t<typename fixed_array<T>::type>;
    for (std::size_t i = 0; i < fixed_array<T>::count; ++i) describe_part<element>(to, offset + i * sizeof(element));
  } else if constexpr (sum<T>) {
    [&]<class... Ts>(type_list<Ts...>) {
      choice& cases = to.choice(offset, sizeof(T), offset + flag_offset_of(std::type_identity<T>{}), sizeof...(Ts));
      std::size_t i = 0;
      (
          [&] {
            if constexpr (!std::is_void_v<Ts>)
              describe_part<std::remove_cv_t<Ts>>(layout_builder{to.into(), cases, i}, offset);
            ++i;
          }(),
          ...);
    }(typename sum_alternatives<T>::type{});
  } else if constexpr (product<T>) {
    const T& fake = fake_object<T>();
    std::apply([&]<class... Parts>(
                   const Parts&... parts) { (describe_part<Parts>(to, offset + offset_in(fake, parts)), ...); },
               fake);
  } else if constexpr (std::is_same_v<T, object>) {
    to.value(offset, sizeof(T));
  } else if constexpr (is_value_part<T>()) {
    if constexpr (can_travel<T>()) to.copied_value(offset, value_functions_of<T>);
  } else {
    static_assert(check_class<T>());
    visit_parts<T>([&]<class F>(const std::string& name, std::size_t at, std::type_identity<F>) {
      if (name == base_name) {
        describe_value<F>(to, offset + at);
      } else {
        describe_part<F>(to, offset + at);
      }
    });
  }
}

template <class T>
inline constexpr bool has_parts =
    std::is_class_v<T> && !container<T> && !is_transient<T> && !fixed<T> && !sum<T> && !product<T> && !is_data<T> &&
    !std::is_same_v<T, object> && (declared<T> || has_known_fields<T>);

// Adds the part at offset 0 of an object that is not tagged. (A pointer to a tagged object always finds the whole
// object.)
template <class F>
void describe_first_part(type_descriptor& type) {
  if constexpr (sum<F>) {
    type.starts_with_class = true;
  } else if constexpr (fixed<F>) {
    describe_first_part<std::remove_cv_t<typename fixed_array<F>::type>>(type);
  } else if constexpr (product<F>) {
    type.starts_with_class = true;
  } else if constexpr (has_parts<F>) {
    type.starts_with_class = true;
    type.first_parts.push_back(&descriptor_of<F>());
  }
}

template <class T>
void fill_descriptor(type_descriptor& type) {
  layout_builder to{type};
  describe_value<T>(to, 0);
  if constexpr (has_parts<T>) {
    visit_parts<T>([&]<class F>(std::string name, std::size_t at, std::type_identity<F>) {
      to.field(std::move(name), type_name<F>(), at, sizeof(F));
      if constexpr (!std::is_base_of_v<object, T>) {
        if (at == 0) describe_first_part<F>(type);
      }
      if constexpr (std::is_base_of_v<object, F> && std::is_base_of_v<F, T> && !std::is_same_v<F, object>)
        to.base(descriptor_of<F>());
    });
  }
}
template <class Element>
void fill_block(type_descriptor& type) {
  if constexpr (carries_only_data<Element>()) {
    type.kind = object_kind::data_block;
    describe_data<Element>(layout_builder{type}, 0);
    describe_bytes<Element>(layout_builder{type}, 0);
  } else if constexpr (std::is_pointer_v<Element>) {
    type.kind = object_kind::pointer_block;
    type.element = &descriptor_of<std::remove_cv_t<std::remove_pointer_t<Element>>>();
  } else {
    type.kind = object_kind::object_block;
    type.element = &descriptor_of<Element>();
  }
}

// Returns the descriptor of T, which is any class (or data) that a graph can hold. cost: a load, after the first time.
template <class T>
const type_descriptor& descriptor_of() {
  static_assert(std::is_same_v<T, std::remove_cv_t<T>> && std::is_object_v<T>);
  type_entry& entry = entry_of<T>();
  if (!entry.is_ready.load(std::memory_order_acquire)) [[unlikely]] {
    constexpr type_facts facts{type_name<T>(), name_hash<T>(), sizeof(T), alignof(T), std::is_base_of_v<object, T>};
    make_known(entry, facts, &fill_descriptor<T>);
  }
  return entry.type;
}
template <class Element>
const type_descriptor& block_of() {
  type_entry& entry = block_entry_of<Element>();
  if (!entry.is_ready.load(std::memory_order_acquire)) [[unlikely]] {
    constexpr type_facts facts{type_name<Element>(), 0, sizeof(Element), alignof(Element), false};
    make_known(entry, facts, &fill_block<Element>);
  }
  return entry.type;
}

}  // namespace situ::detail
