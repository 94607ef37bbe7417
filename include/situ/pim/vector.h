// Vectors in memory that computes. situ/pim/compute.h has the operations on them.
//
//   pim::vertical<std::uint64_t> a{dram, x}, b = a.beside(y);
//
// `vertical` and `horizontal` are the paper's _vertical and _horizontal (Leidel, Wang and Chen, MCHPC 2017, section
// 3.2): the bits of an element lie in one column, or in one row. Operands should lie side by side: take the second one
// from the first one's beside(). One thread at a time uses the vectors of a memory. cost: unless said otherwise, that
// of the cells that are read or written, and memory::cost() counts the bytes; size() and the like are loads.
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

// Elements whose bits lie in one column, over Bits rows.
template <element T, unsigned Bits = bits_of<T>>
using vertical = vector<T, dimension::vertical, Bits>;
// Elements whose bits lie in one row.
template <element T, unsigned Bits = bits_of<T>>
using horizontal = vector<T, dimension::horizontal, Bits>;

// The result of a comparison: one row for vertical elements; for horizontal ones, elements of the operands' width that
// are all ones or all zeros.
template <dimension Direction, unsigned Bits>
using mask = vector<bool, Direction, Direction == dimension::vertical ? 1 : Bits>;

namespace detail {

// The bits of a scalar: of flags, all or none.
template <element T, unsigned Bits>
[[nodiscard]] constexpr std::uint64_t scalar_bits(T value) noexcept {
  if constexpr (std::same_as<T, bool>)
    return value ? ~std::uint64_t{0} >> (64 - Bits) : 0;
  else
    return static_cast<std::uint64_t>(value);
}

}  // namespace detail

// A vector of n elements, T on the host and Bits wide in the memory. Move-only; gives its rows back when it is
// destroyed. pre: the memory outlives it.
template <element T, dimension Direction, unsigned Bits>
class vector {
  static_assert(Bits >= 1 && (Bits <= 8 * sizeof(T) || std::same_as<T, bool>) && Bits <= 64,
                "situ::pim::vector: an element has 1 bit to as many as its type");

 public:
  using value_type = T;  // on the host
  // Flags of horizontal elements are as wide as the elements, all ones or all zeros; the host has them one by one.
  static constexpr bool are_wide_flags = std::same_as<T, bool> && Bits > 1;
  static constexpr detail::element_type type{Direction, Bits, std::is_signed_v<T>,
                                             are_wide_flags ? sizeof(std::uint64_t) : sizeof(T)};

  // Takes room for n elements, whose values are indeterminate, or for a copy of `values`.
  // Errors: bad_argument for no elements; out_of_memory.
  vector(memory& in, std::size_t n) : core_{in, n, type} {}
  vector(memory& in, std::span<const T> values) : core_{in, values.size(), type} { assign(values); }
  explicit vector(detail::vector_core core) noexcept : core_{std::move(core)} {}

  // Takes room side by side with this vector, for as many elements.
  [[nodiscard]] vector beside() const { return vector{detail::vector_core{core_, type}}; }
  // Likewise, and assigns the values. Throws bad_argument unless there are as many.
  [[nodiscard]] vector beside(std::span<const T> values) const {
    vector made = beside();
    made.assign(values);
    return made;
  }
  // Takes room side by side for elements of another type or width.
  template <element U, unsigned ItsBits = bits_of<U>>
  [[nodiscard]] vector<U, Direction, ItsBits> beside_as() const {
    static_assert(Direction == dimension::vertical || ItsBits == Bits,
                  "situ::pim::vector::beside_as: horizontal elements that meet have the same width");
    return vector<U, Direction, ItsBits>{detail::vector_core{core_, vector<U, Direction, ItsBits>::type}};
  }

  // Returns the number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return core_.size(); }
  // Returns the vector's location as text: "96 rows in pim 0, 32 in pim 1".
  [[nodiscard]] std::string placement() const { return core_.placement(); }

  // Writes all elements. Throws bad_argument unless there are as many values.
  void assign(std::span<const T> values) {
    detail::check_count(size(), values.size());
    if constexpr (are_wide_flags) {
      std::vector<std::uint64_t> wide(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) wide[i] = values[i] ? ~std::uint64_t{0} : 0;
      core_.write(0, std::as_bytes(std::span{wide}));
    } else {
      core_.write(0, std::as_bytes(values));
    }
  }
  // Reads all elements, or one.
  void read(std::span<T> values) const {
    detail::check_count(size(), values.size());
    if constexpr (are_wide_flags) {
      std::vector<std::uint64_t> wide(values.size());
      core_.read(0, std::as_writable_bytes(std::span{wide}));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = wide[i] != 0;
    } else {
      core_.read(0, std::as_writable_bytes(values));
    }
  }
  [[nodiscard]] T operator[](std::size_t i) const {
    std::conditional_t<are_wide_flags, std::uint64_t, T> value;
    core_.read(i, std::as_writable_bytes(std::span{&value, 1}));
    return static_cast<T>(value);
  }
  // Sets all elements to a value.
  void fill(T value);

  // For the functions below.
  [[nodiscard]] detail::vector_core& core() noexcept { return core_; }
  [[nodiscard]] const detail::vector_core& core() const noexcept { return core_; }

 private:
  detail::vector_core core_;
};

template <element T, dimension Direction, unsigned Bits>
void vector<T, Direction, Bits>::fill(T value) {
  detail::operate({.what = operation::broadcast,
                   .direction = Direction,
                   .bits = Bits,
                   .is_signed = std::is_signed_v<T>,
                   .scalar = detail::scalar_bits<T, Bits>(value)},
                  core_, {});
}

}  // namespace situ::pim
