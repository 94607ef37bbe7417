// situ::object: the header of polymorphic objects. A pointer to a base is copied with the whole object it points to.
//
//   struct shape : situ::derived<shape> { int id = 0; SITU_DESCRIBE_DERIVED(shape, (situ::object), id) };
//   struct circle : situ::derived<circle, shape> { double radius = 0; SITU_DESCRIBE_DERIVED(circle, (shape), radius) };
//   shape* s = ...; if (circle* c = situ::cast<circle>(s)) ...
//
// The header is 8 bytes: a tag made of the type's name, equal in every process. It replaces a vtable pointer, which
// would be meaningless in another process: such classes have no virtual functions. The header is the first base, so
// pointers to all bases are equal. cost: 8 bytes an object, and a store when an object is constructed.
#pragma once

#include <situ/base/detail/type_name.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace situ {

namespace detail {
struct type_descriptor;
// Makes the descriptor of T before the first message can arrive: on start-up, in every program that can construct a T.
template <class T>
struct registered_object {
  static const type_descriptor& descriptor;
};
[[nodiscard]] bool is_instance(std::uint64_t tag, const type_descriptor& of) noexcept;
template <class T>
[[nodiscard]] const type_descriptor& descriptor_of();
template <class T>
const type_descriptor& registered_object<T>::descriptor = descriptor_of<T>();
}  // namespace detail

// The root of all polymorphic classes; they derive from it through derived<>.
class object {
 public:
  // Returns the tag: a hash of the name of the object's class.
  [[nodiscard]] std::uint64_t type_tag() const noexcept { return tag_; }

 protected:
  object() noexcept = default;
  object(const object&) noexcept {}  // the copy keeps the tag of its own type
  object& operator=(const object&) noexcept { return *this; }
  ~object() = default;
  std::uint64_t tag_ = 0;
};

// The base of a polymorphic class `Derived`; `Base` is the class it derives from. The constructor sets the tag, as it
// would set a vtable pointer.
template <class Derived, class Base = object>
class derived : public Base {
  static_assert(std::is_base_of_v<object, Base>,
                "situ::derived<Derived, Base>: Base is situ::object or derives from it");

 public:
  template <class... Arguments>
    requires(std::is_constructible_v<Base, Arguments...> || std::is_same_v<Base, object>)
  explicit(sizeof...(Arguments) != 0) derived(Arguments&&... arguments) : Base(std::forward<Arguments>(arguments)...) {
    set_tag();
  }
  derived(const derived& other) : Base(other) { set_tag(); }
  derived& operator=(const derived&) = default;

 private:
  void set_tag() noexcept {
    (void)&detail::registered_object<Derived>::descriptor;
    this->tag_ = detail::name_hash<Derived>();
  }
};

// Returns `p` as a pointer to T if it points to a T (or to a class that derives from T), else null. cost: a look-up of
// the tag in a table, and of T among the bases.
template <class T, class From>
[[nodiscard]] T* cast(From* p) noexcept {
  static_assert(std::is_base_of_v<object, T> && std::is_base_of_v<From, T>,
                "situ::cast<T>(p): T derives from what p points to");
  return p != nullptr && detail::is_instance(p->type_tag(), detail::descriptor_of<std::remove_const_t<T>>())
             ? static_cast<T*>(p)
             : nullptr;
}

}  // namespace situ
