// Vectors in memory that computes, and what it does with them.
//
//   pim::vertical<std::uint64_t> a{dram, x}, b = a.beside(y), r = a.beside();
//   r = q * a + b;                               // the axpy of Leidel, Wang and Chen (MCHPC 2017, section 3.2)
//   pim::add(r, a, b, pim::when(a > b));         // only where the mask is true
//
// `vertical` and `horizontal` are the paper's _vertical and _horizontal (section 3.2): the bits of an element lie in
// one column, or in one row. Arithmetic is the host's, modulo 2^Bits. Operands should lie side by side: take the second
// one from the first one's beside(). If they do not, the operation copies what lies elsewhere, which the memory's cost
// counts apart.
//
// An operator makes a vector for its result, side by side with its left operand; the functions write into a vector that
// is there. Errors of all operations: bad_argument for vectors of different lengths or memories, not_supported if the
// device's design cannot do it, naming both; out_of_memory if there is no room for scratch rows, or for a result.
// cost: that of simulating each command (docs/results); the modelled cost is memory::cost(). One thread at a time uses
// the vectors of a memory.
#pragma once

#include <situ/pim/detail/operate.h>
#include <situ/pim/detail/vector_core.h>
#include <situ/pim/memory.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ::pim {

// The types of elements: integers and bool.
template <class T>
concept element = std::is_integral_v<T> && std::same_as<T, std::remove_cv_t<T>>;

// The width of an element unless a program says otherwise: that of its type; 1 for bool.
template <element T>
inline constexpr unsigned bits_of = std::same_as<T, bool> ? 1 : 8 * sizeof(T);

template <element T, dimension Direction, unsigned Bits = bits_of<T>>
class vector;

template <element T, unsigned Bits = bits_of<T>>
using vertical = vector<T, dimension::vertical, Bits>;
template <element T, unsigned Bits = bits_of<T>>
using horizontal = vector<T, dimension::horizontal, Bits>;

// The result of a comparison: one row for vertical elements; for horizontal ones, elements of the operands' width that
// are all ones or all zeros.
template <dimension Direction, unsigned Bits>
using mask = vector<bool, Direction, Direction == dimension::vertical ? 1 : Bits>;

// A vector of n elements, T on the host and Bits wide in the memory. Move-only; gives its rows back when it is destroyed.
// pre: the memory outlives it.
template <element T, dimension Direction, unsigned Bits>
class vector {
  static_assert(Bits >= 1 && (Bits <= 8 * sizeof(T) || std::same_as<T, bool>) && Bits <= 64,
                "situ::pim::vector: an element has 1 bit to as many as its type");

 public:
  using value_type = T;
  static constexpr detail::element_type type{Direction, Bits, std::is_signed_v<T>, sizeof(T)};

  // Takes room for n elements, whose values are indeterminate, or for a copy of `values`.
  // Errors: bad_argument for no elements; out_of_memory.
  vector(memory& in, std::size_t n) : core_{in, n, type} {}
  vector(memory& in, std::span<const T> values) : core_{in, values.size(), type} { assign(values); }
  explicit vector(detail::vector_core core) noexcept : core_{std::move(core)} {}

  // Takes room side by side with this vector, for as many elements.
  [[nodiscard]] vector beside() const { return vector{detail::vector_core{core_, type}}; }
  // The same for a copy of values. Throws bad_argument unless there are as many.
  [[nodiscard]] vector beside(std::span<const T> values) const {
    vector made = beside();
    made.assign(values);
    return made;
  }
  // The same for elements of another type or width.
  template <element U, unsigned ItsBits = bits_of<U>>
  [[nodiscard]] vector<U, Direction, ItsBits> beside_as() const {
    return vector<U, Direction, ItsBits>{detail::vector_core{core_, vector<U, Direction, ItsBits>::type}};
  }

  [[nodiscard]] std::size_t size() const noexcept { return core_.size(); }
  // Returns where it lies: "100000 elements in 128 rows of pim 0".
  [[nodiscard]] std::string placement() const { return core_.placement(); }

  // Writes all elements. Throws bad_argument unless there are as many values.
  void assign(std::span<const T> values) {
    detail::check_count(size(), values.size());
    core_.write(0, std::as_bytes(values));
  }
  // Reads all elements, or one.
  void read(std::span<T> values) const {
    detail::check_count(size(), values.size());
    core_.read(0, std::as_writable_bytes(values));
  }
  [[nodiscard]] T operator[](std::size_t i) const {
    T value;
    core_.read(i, std::as_writable_bytes(std::span{&value, 1}));
    return value;
  }
  // Sets all elements to a value.
  void fill(T value);

  // For the functions below.
  [[nodiscard]] detail::vector_core& core() noexcept { return core_; }
  [[nodiscard]] const detail::vector_core& core() const noexcept { return core_; }

 private:
  detail::vector_core core_;
};

}  // namespace situ::pim
