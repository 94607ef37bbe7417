// Named spans, whose accesses a checked graph holds against the declarations of its units.
//
//   const situ::declared_span<double> a{"a", storage};
//   graph.add({situ::reads(region(&storage[0], 10)), situ::writes(storage[10])}, [&] { a[10] = a[9]; }, "smooth");
#pragma once

#include <situ/task/detail/work_unit.h>

#include <cstddef>
#include <span>
#include <type_traits>

namespace situ {

// An element of a declared_span: what `a[i]` is. Reading it (as a T) and writing it (by an assignment) are checked
// apart; `a[i] += x` does both. It refers to the element, as T& would, and can be neither copied nor passed to a
// function that wants a T&: name the type of a variable (`double x = a[i]`), and use the span's data() for pointers.
// Errors of each access: bad_argument in a unit of a checked graph that has not declared it. cost: unchecked, a load of
// a thread-local variable.
template <class T>
class declared_element {
 public:
  declared_element(T& element, const char* array, std::size_t index) noexcept
      : element_{element}, array_{array}, index_{index} {}
  declared_element(const declared_element&) = delete;

  // Returns the element, to read it. NOLINTNEXTLINE(google-explicit-constructor)
  operator const T&() const {
    check(false);
    return element_;
  }
  // Write the element.
  const declared_element& operator=(const T& value) const {
    check(true);
    element_ = value;
    return *this;
  }
  // Assigned to itself it is read and written. NOLINTNEXTLINE(bugprone-unhandled-self-assignment)
  const declared_element& operator=(const declared_element& other) const {
    return *this = static_cast<const T&>(other);
  }
  // Read the element and write it.
  template <class U>
  const declared_element& operator+=(const U& by) const {
    return updated() += by, *this;
  }
  template <class U>
  const declared_element& operator-=(const U& by) const {
    return updated() -= by, *this;
  }
  template <class U>
  const declared_element& operator*=(const U& by) const {
    return updated() *= by, *this;
  }
  template <class U>
  const declared_element& operator/=(const U& by) const {
    return updated() /= by, *this;
  }
  template <class U>
  const declared_element& operator%=(const U& by) const {
    return updated() %= by, *this;
  }
  template <class U>
  const declared_element& operator&=(const U& by) const {
    return updated() &= by, *this;
  }
  template <class U>
  const declared_element& operator|=(const U& by) const {
    return updated() |= by, *this;
  }
  template <class U>
  const declared_element& operator^=(const U& by) const {
    return updated() ^= by, *this;
  }
  const declared_element& operator++() const { return ++updated(), *this; }
  const declared_element& operator--() const { return --updated(), *this; }
  T operator++(int) const { return updated()++; }
  T operator--(int) const { return updated()--; }

 private:
  void check(bool writes) const {
    if (detail::checked_unit != nullptr) detail::check_declared(&element_, sizeof(T), writes, array_, index_);
  }
  // A unit that declares writes() alone may read bytes that it has written, so the write is what is checked.
  T& updated() const {
    check(true);
    return element_;
  }

  T& element_;
  const char* array_;
  std::size_t index_;
};

// A named span that checks each access to an element against the declarations of the running unit, if its graph is
// checked. It sees accesses through itself alone: an access by a pointer, or by the array that it was made of, is not
// seen. Page protection sees accesses by any code, in a watched_array or a staged_array. cost: unchecked, a load of a
// thread-local variable for each access.
template <class T>
class declared_span {
 public:
  // Makes a span. `name`, of static storage, identifies it in errors.
  declared_span(const char* name, std::span<T> elements) : elements_{elements}, name_{name} {}

  // Returns the element. For numbers and pointers it is a declared_element, whose reading and writing are checked
  // apart; in spans of const, the element, as at() does; else, since C++ cannot tell `a[i].x = 1` from a read, a
  // reference that counts as a write: use at() to read. Throws bad_argument, now or in the access, in a unit of a
  // checked graph that has not declared it.
  [[nodiscard]] decltype(auto) operator[](std::size_t i) const {
    if constexpr (std::is_const_v<T>) {
      return at(i);
    } else if constexpr (std::is_scalar_v<T>) {
      return declared_element<T>{elements_[i], name_, i};
    } else {
      if (detail::checked_unit != nullptr) detail::check_declared(&elements_[i], sizeof(T), true, name_, i);
      return (elements_[i]);
    }
  }
  // Returns the element for reading. Throws bad_argument in a unit of a checked graph that has not declared to read or
  // write the element.
  const T& at(std::size_t i) const {
    if (detail::checked_unit != nullptr) detail::check_declared(&elements_[i], sizeof(T), false, name_, i);
    return elements_[i];
  }
  // Return the elements, unchecked: the address of the first and their number, so that reads(), writes() and updates()
  // accept the span; and the name.
  [[nodiscard]] T* data() const noexcept { return elements_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); }
  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] T* begin() const noexcept { return elements_.data(); }
  [[nodiscard]] T* end() const noexcept { return elements_.data() + elements_.size(); }

 private:
  std::span<T> elements_;
  const char* name_;
};

}  // namespace situ
