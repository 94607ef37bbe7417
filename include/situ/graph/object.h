// situ::object: the header of polymorphic objects. Pointers to a base travel as what they point to.
//
//   struct shape : situ::derived<shape> { int id = 0; SITU_DESCRIBE_DERIVED(shape, (situ::object), id) };
//   struct circle : situ::derived<circle, shape> { double radius = 0; SITU_DESCRIBE_DERIVED(circle, (shape), radius) };
//   shape* s = ...; if (circle* c = situ::cast<circle>(s)) ...
//
// The header is 8 bytes: a tag made of the type's name, equal in every process. It stands in the place of a vtable
// pointer, which would mean nothing elsewhere: such classes have no virtual functions. The header is the first base, so
// pointers to all bases are equal. cost: 8 bytes an object, and a store when one is made.
#pragma once

#include <situ/base/detail/type_name.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace situ {

namespace detail {
struct type_descriptor;
// Makes the descriptor of T known before the first message can arrive: on start-up, wherever a T can be made.
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
  // What the header holds: a hash of the name of the object's class.
  [[nodiscard]] std::uint64_t type_tag() const noexcept { return tag_; }

 protected:
  object() noexcept = default;
  object(const object&) noexcept {}  // the copy gets the tag of its own type
  object& operator=(const object&) noexcept { return *this; }
  ~object() = default;
  std::uint64_t tag_ = 0;
};

// The base of a polymorphic class: Derived itself, and what it derives from. Sets the tag, as a constructor sets a
// vtable pointer.
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

// `p` as a pointer to T if it points to one (or to what derives from T), else null. cost: a look-up of
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
