// The field types that an object graph may have, and how a class lists its fields.
//
//   struct node { int value; node* next; };                     // an aggregate: nothing to declare
//   class account {                                             // any other class lists its fields, inside or after it
//     double balance; owner* whose;
//    public:
//     SITU_DESCRIBE(account, balance, whose)
//   };
//   // with a base that is described
//   struct circle : situ::derived<circle, shape> { double r; SITU_DESCRIBE_DERIVED(circle, (shape), r) };
//
// A field is: trivially copyable data; a pointer to a described class; situ::ptr (a reference, not followed);
// situ::array, vector or string; situ::transient; a described class; std::array, optional, variant, pair or tuple of
// any of these; a standard container, string or smart pointer of values (runtime/serialize.h). Everything else is a
// compile error that names the field. If a class is data but the compiler cannot see its fields, the program declares
// it: template <> inline constexpr bool situ::is_data<T> = true. A pointer points to the start of an object: not into
// an array, nor at a member of another object. cost: each description is made once, when a program starts or a type is
// first used; text() formats the layout at each call.
#pragma once

#include <situ/base/describe.h>
#include <situ/base/is_data.h>
#include <situ/graph/detail/make_descriptor.h>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace situ {

// The layout of a type in memory, word by word. Prints as a table.
class type_layout {
 public:
  explicit type_layout(const detail::type_descriptor& type) noexcept : type_{&type} {}  // for Situ itself: see layout()
  // Returns the type's name as the compiler writes it; size_bytes() returns its size.
  [[nodiscard]] std::string_view name() const noexcept { return type_->name; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return type_->size; }
  // Returns the pointer mask as text, two digits for each word: "01 01 00".
  [[nodiscard]] std::string mask() const;
  // Returns a heading, then one line for each field: offset, bytes, mask, name, type.
  [[nodiscard]] std::string text() const;
  friend std::ostream& operator<<(std::ostream& out, const type_layout& layout);

 private:
  const detail::type_descriptor* type_;
};

// Returns the layout of T with its pointer mask: std::cout << situ::layout<node>();
template <class T>
[[nodiscard]] type_layout layout() {
  static_assert(detail::check_class<T>());
  return type_layout{detail::descriptor_of<T>()};
}

}  // namespace situ
