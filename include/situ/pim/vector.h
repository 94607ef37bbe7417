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
  // Returns where it lies: "96 rows in pim 0, 32 in pim 1".
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

// The elements that an operation writes: those where a mask is true, or false. Others keep their values.
struct masked {
  const detail::vector_core* flags = nullptr;
  mask_use use = mask_use::none;
};
template <dimension D, unsigned B>
[[nodiscard]] masked when(const vector<bool, D, B>& flags) {
  return {&flags.core(), mask_use::when_true};
}
template <dimension D, unsigned B>
[[nodiscard]] masked unless(const vector<bool, D, B>& flags) {
  return {&flags.core(), mask_use::when_false};
}

namespace detail {

template <class V>
[[nodiscard]] constexpr operation_spec spec_of(operation what, masked where = {}) {
  return {.what = what,
          .direction = V::type.direction,
          .bits = V::type.bits,
          .is_signed = V::type.is_signed,
          .mask = where.use};
}
// An operation of one or two vectors, or of a vector and a scalar.
template <operation What, class V, class Result>
void unary(Result& r, const V& a, masked where) {
  operate(spec_of<V>(What, where), r.core(), {.a = &a.core(), .mask = where.flags});
}
template <operation What, class V, class Result>
void binary(Result& r, const V& a, const V& b, masked where) {
  operate(spec_of<V>(What, where), r.core(), {.a = &a.core(), .b = &b.core(), .mask = where.flags});
}
template <operation What, class V, class Result>
void with_scalar(Result& r, const V& a, typename V::value_type q, masked where) {
  operation_spec what = spec_of<V>(What, where);
  what.scalar = static_cast<std::uint64_t>(q);
  operate(what, r.core(), {.a = &a.core(), .mask = where.flags});
}

}  // namespace detail

// r = a OP b, or a OP q for a scalar q; r may be a or b. The second form of each is that with a scalar.
#define SITU_PIM_BINARY(NAME, OPERATION)                                                                  \
  template <element T, dimension D, unsigned B>                                                           \
  void NAME(vector<T, D, B>& r, const vector<T, D, B>& a, const vector<T, D, B>& b, masked where = {}) {  \
    detail::binary<operation::OPERATION>(r, a, b, where);                                                 \
  }                                                                                                       \
  template <element T, dimension D, unsigned B>                                                           \
  void NAME(vector<T, D, B>& r, const vector<T, D, B>& a, std::type_identity_t<T> q, masked where = {}) { \
    detail::with_scalar<operation::OPERATION>(r, a, q, where);                                            \
  }
SITU_PIM_BINARY(add, add)
SITU_PIM_BINARY(subtract, subtract)
SITU_PIM_BINARY(multiply, multiply)
SITU_PIM_BINARY(bit_and, logic_and)
SITU_PIM_BINARY(bit_or, logic_or)
SITU_PIM_BINARY(bit_nand, logic_nand)
SITU_PIM_BINARY(bit_nor, logic_nor)
SITU_PIM_BINARY(bit_xor, logic_xor)
SITU_PIM_BINARY(bit_xnor, logic_xnor)
SITU_PIM_BINARY(minimum, minimum)
SITU_PIM_BINARY(maximum, maximum)
#undef SITU_PIM_BINARY

// r = a OP b, for each element a flag.
#define SITU_PIM_COMPARISON(NAME, OPERATION)                                                         \
  template <element T, dimension D, unsigned B>                                                      \
  void NAME(mask<D, B>& r, const vector<T, D, B>& a, const vector<T, D, B>& b, masked where = {}) {  \
    detail::binary<operation::OPERATION>(r, a, b, where);                                            \
  }                                                                                                  \
  template <element T, dimension D, unsigned B>                                                      \
  void NAME(mask<D, B>& r, const vector<T, D, B>& a, std::type_identity_t<T> q, masked where = {}) { \
    detail::with_scalar<operation::OPERATION>(r, a, q, where);                                       \
  }
SITU_PIM_COMPARISON(equal, equal)
SITU_PIM_COMPARISON(not_equal, not_equal)
SITU_PIM_COMPARISON(less, less)
SITU_PIM_COMPARISON(less_equal, less_equal)
SITU_PIM_COMPARISON(greater, greater)
SITU_PIM_COMPARISON(greater_equal, greater_equal)
#undef SITU_PIM_COMPARISON

// r = OP a.
#define SITU_PIM_UNARY(NAME, OPERATION)                                        \
  template <element T, dimension D, unsigned B>                                \
  void NAME(vector<T, D, B>& r, const vector<T, D, B>& a, masked where = {}) { \
    detail::unary<operation::OPERATION>(r, a, where);                          \
  }
SITU_PIM_UNARY(copy, copy)
SITU_PIM_UNARY(invert, invert)
SITU_PIM_UNARY(absolute, absolute)
SITU_PIM_UNARY(popcount, popcount)
#undef SITU_PIM_UNARY

// r = a moved by `by` bits; to the right, copies of the sign come in if T is signed.
template <element T, dimension D, unsigned B>
void shift_left(vector<T, D, B>& r, const vector<T, D, B>& a, unsigned by, masked where = {}) {
  operation_spec what = detail::spec_of<vector<T, D, B>>(operation::shift_left, where);
  what.scalar = by;
  detail::operate(what, r.core(), {.a = &a.core(), .mask = where.flags});
}
template <element T, dimension D, unsigned B>
void shift_right(vector<T, D, B>& r, const vector<T, D, B>& a, unsigned by, masked where = {}) {
  operation_spec what = detail::spec_of<vector<T, D, B>>(operation::shift_right, where);
  what.scalar = by;
  detail::operate(what, r.core(), {.a = &a.core(), .mask = where.flags});
}

// r = a * b + c, or a * q + c.
template <element T, dimension D, unsigned B>
void multiply_add(vector<T, D, B>& r, const vector<T, D, B>& a, const vector<T, D, B>& b, const vector<T, D, B>& c,
                  masked where = {}) {
  detail::operate(detail::spec_of<vector<T, D, B>>(operation::multiply_add, where), r.core(),
                  {.a = &a.core(), .b = &b.core(), .c = &c.core(), .mask = where.flags});
}
template <element T, dimension D, unsigned B>
void multiply_add(vector<T, D, B>& r, const vector<T, D, B>& a, std::type_identity_t<T> q, const vector<T, D, B>& c,
                  masked where = {}) {
  operation_spec what = detail::spec_of<vector<T, D, B>>(operation::multiply_add, where);
  what.scalar = static_cast<std::uint64_t>(q);
  detail::operate(what, r.core(), {.a = &a.core(), .c = &c.core(), .mask = where.flags});
}
// r = a * b in full: elements of twice the width. Vertical only.
template <element T, element U, dimension D, unsigned B>
void multiply_wide(vector<U, D, 2 * B>& r, const vector<T, D, B>& a, const vector<T, D, B>& b) {
  static_assert(std::is_signed_v<T> == std::is_signed_v<U>, "situ::pim::multiply_wide: both signed, or both not");
  operation_spec what = detail::spec_of<vector<T, D, B>>(operation::multiply);
  what.wide = true;
  detail::operate(what, r.core(), {.a = &a.core(), .b = &b.core()});
}
// r = a where the condition is true, else b.
template <element T, dimension D, unsigned B>
void select(vector<T, D, B>& r, const mask<D, B>& condition, const vector<T, D, B>& a, const vector<T, D, B>& b,
            masked where = {}) {
  detail::operate(detail::spec_of<vector<T, D, B>>(operation::select, where), r.core(),
                  {.a = &a.core(), .b = &b.core(), .condition = &condition.core(), .mask = where.flags});
}
// r = a in another width: its lowest bits, or more of them by the sign (signed T) or zeros. Vertical only.
template <element T, element U, dimension D, unsigned B, unsigned ItsBits>
void convert(vector<U, D, ItsBits>& r, const vector<T, D, B>& a) {
  detail::convert(r.core(), a.core());
}

// Returns the sum of the elements, modulo 2^64, signed if T is.
template <element T, dimension D, unsigned B>
[[nodiscard]] auto sum(const vector<T, D, B>& a, masked where = {}) {
  const operation_spec what = detail::spec_of<vector<T, D, B>>(operation::reduce_sum, where);
  const std::uint64_t total = weighted_sum(what, detail::reduce(what, {.a = &a.core(), .mask = where.flags}));
  return static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(total);
}
// Returns the number of flags that are true.
template <dimension D, unsigned B>
[[nodiscard]] std::size_t count(const vector<bool, D, B>& flags) {
  return detail::reduce(detail::spec_of<vector<bool, D, B>>(operation::reduce_sum), {.a = &flags.core()})[0];
}

template <element T, dimension Direction, unsigned Bits>
void vector<T, Direction, Bits>::fill(T value) {
  operation_spec what = detail::spec_of<vector>(operation::broadcast);
  what.scalar = static_cast<std::uint64_t>(value);
  detail::operate(what, core_, {});
}

// The same as operators, whose result lies side by side with the left operand, or in it if that is a temporary.
#define SITU_PIM_OPERATOR(SIGN, NAME)                                                                \
  template <element T, dimension D, unsigned B>                                                      \
  [[nodiscard]] vector<T, D, B> operator SIGN(const vector<T, D, B>& a, const vector<T, D, B>& b) {  \
    auto r = a.beside();                                                                             \
    NAME(r, a, b);                                                                                   \
    return r;                                                                                        \
  }                                                                                                  \
  template <element T, dimension D, unsigned B>                                                      \
  [[nodiscard]] vector<T, D, B> operator SIGN(vector<T, D, B>&& a, const vector<T, D, B>& b) {       \
    NAME(a, a, b);                                                                                   \
    return std::move(a);                                                                             \
  }                                                                                                  \
  template <element T, dimension D, unsigned B>                                                      \
  [[nodiscard]] vector<T, D, B> operator SIGN(const vector<T, D, B>& a, std::type_identity_t<T> q) { \
    auto r = a.beside();                                                                             \
    NAME(r, a, q);                                                                                   \
    return r;                                                                                        \
  }
SITU_PIM_OPERATOR(+, add)
SITU_PIM_OPERATOR(-, subtract)
SITU_PIM_OPERATOR(*, multiply)
SITU_PIM_OPERATOR(&, bit_and)
SITU_PIM_OPERATOR(|, bit_or)
SITU_PIM_OPERATOR(^, bit_xor)
#undef SITU_PIM_OPERATOR
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator+(std::type_identity_t<T> q, const vector<T, D, B>& a) {
  return a + q;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator*(std::type_identity_t<T> q, const vector<T, D, B>& a) {
  return a * q;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator~(const vector<T, D, B>& a) {
  auto r = a.beside();
  invert(r, a);
  return r;
}

#define SITU_PIM_OPERATOR(SIGN, NAME)                                                           \
  template <element T, dimension D, unsigned B>                                                 \
  [[nodiscard]] mask<D, B> operator SIGN(const vector<T, D, B>& a, const vector<T, D, B>& b) {  \
    auto r = a.template beside_as<bool, mask<D, B>::type.bits>();                               \
    NAME(r, a, b);                                                                              \
    return r;                                                                                   \
  }                                                                                             \
  template <element T, dimension D, unsigned B>                                                 \
  [[nodiscard]] mask<D, B> operator SIGN(const vector<T, D, B>& a, std::type_identity_t<T> q) { \
    auto r = a.template beside_as<bool, mask<D, B>::type.bits>();                               \
    NAME(r, a, q);                                                                              \
    return r;                                                                                   \
  }
SITU_PIM_OPERATOR(==, equal)
SITU_PIM_OPERATOR(!=, not_equal)
SITU_PIM_OPERATOR(<, less)
SITU_PIM_OPERATOR(<=, less_equal)
SITU_PIM_OPERATOR(>, greater)
SITU_PIM_OPERATOR(>=, greater_equal)
#undef SITU_PIM_OPERATOR

}  // namespace situ::pim
