// Operations on vectors in memory that computes.
//
//   pim::vertical<std::uint64_t> a{dram, x}, b = a.beside(y), r = a.beside();
//   r = q * a + b;                            // the axpy of Leidel, Wang and Chen (MCHPC 2017, section 3.2)
//   pim::add(r, a, b, pim::when(a > b));      // only where the mask is true
//
// The functions write into a vector that exists; it may be one of the operands. An operator makes a vector for its
// result, side by side with its left operand, or reuses that operand if it is a temporary. Arithmetic is the host's,
// modulo 2^Bits. Operands that do not lie side by side are copied first, which the memory's cost counts apart.
//
// Errors of all: bad_argument for vectors of different lengths or memories, a mask of another kind, or a scalar that
// the elements' width does not hold; not_supported, naming both, if the device's design cannot do the operation;
// out_of_memory if there is no room for scratch rows, for a copy or for a result. A refused operation has changed
// nothing.
//
// cost: that of simulating each command on all columns (docs/results); the modelled cost is memory::cost(). One thread
// at a time uses the vectors of a memory.
#pragma once

#include <situ/pim/detail/operate.h>
#include <situ/pim/vector.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace situ::pim {

// Restricts an operation to the elements whose flag is true, or false. Other elements keep their values.
struct masked {
  const detail::vector_core* flags = nullptr;
  mask_use use = mask_use::none;
};
// Returns a mask for an operation: only elements whose flag is true.
template <dimension D, unsigned B>
[[nodiscard]] masked when(const vector<bool, D, B>& flags) {
  return {&flags.core(), mask_use::when_true};
}
// Returns a mask for an operation: only elements whose flag is false.
template <dimension D, unsigned B>
[[nodiscard]] masked unless(const vector<bool, D, B>& flags) {
  return {&flags.core(), mask_use::when_false};
}

// The second operand of an operation: a vector like the first, or a scalar for all elements. Made by conversion.
template <element T, dimension D, unsigned B>
class second {
 public:
  second(const vector<T, D, B>& values) noexcept : core_{&values.core()} {}
  second(T value) noexcept : scalar_{detail::scalar_bits<T, B>(value)} {}

  // For the functions below: null, or the vector; no value, or the scalar.
  [[nodiscard]] const detail::vector_core* core() const noexcept { return core_; }
  [[nodiscard]] const std::optional<std::uint64_t>& scalar() const noexcept { return scalar_; }

 private:
  const detail::vector_core* core_ = nullptr;
  std::optional<std::uint64_t> scalar_;
};

namespace detail {

template <class V>
[[nodiscard]] constexpr operation_spec spec_of(operation what, const std::optional<std::uint64_t>& scalar = {},
                                               masked where = {}) {
  return {.what = what,
          .direction = V::type.direction,
          .bits = V::type.bits,
          .is_signed = V::type.is_signed,
          .scalar = scalar,
          .mask = where.use};
}
template <class Result, element T, dimension D, unsigned B>
void unary(operation what, Result& r, const vector<T, D, B>& a, masked where) {
  operate(spec_of<vector<T, D, B>>(what, {}, where), r.core(), {.a = &a.core(), .mask = where.flags});
}
template <class Result, element T, dimension D, unsigned B>
void binary(operation what, Result& r, const vector<T, D, B>& a, const second<T, D, B>& b, masked where) {
  operate(spec_of<vector<T, D, B>>(what, b.scalar(), where), r.core(),
          {.a = &a.core(), .b = b.core(), .mask = where.flags});
}

}  // namespace detail

// The second operand without deduction, so that integers of other types convert.
template <element T, dimension D, unsigned B>
using second_of = std::type_identity_t<second<T, D, B>>;

// r = a + b.
template <element T, dimension D, unsigned B>
void add(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::add, r, a, b, where);
}
// r = a - b.
template <element T, dimension D, unsigned B>
void subtract(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::subtract, r, a, b, where);
}
// r = a * b, its lowest bits.
template <element T, dimension D, unsigned B>
void multiply(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::multiply, r, a, b, where);
}
// r = the lesser of a and b.
template <element T, dimension D, unsigned B>
void minimum(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::minimum, r, a, b, where);
}
// r = the greater of a and b.
template <element T, dimension D, unsigned B>
void maximum(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::maximum, r, a, b, where);
}
// r = a and b, bit for bit.
template <element T, dimension D, unsigned B>
void bit_and(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::logic_and, r, a, b, where);
}
// r = a or b.
template <element T, dimension D, unsigned B>
void bit_or(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::logic_or, r, a, b, where);
}
// r = not (a and b).
template <element T, dimension D, unsigned B>
void bit_nand(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::logic_nand, r, a, b, where);
}
// r = not (a or b).
template <element T, dimension D, unsigned B>
void bit_nor(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::logic_nor, r, a, b, where);
}
// r = either a or b.
template <element T, dimension D, unsigned B>
void bit_xor(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::logic_xor, r, a, b, where);
}
// r = not (either a or b).
template <element T, dimension D, unsigned B>
void bit_xnor(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::logic_xnor, r, a, b, where);
}

// r = a == b: for each element a flag.
template <element T, dimension D, unsigned B>
void equal(mask<D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::equal, r, a, b, where);
}
// r = a != b: for each element a flag.
template <element T, dimension D, unsigned B>
void not_equal(mask<D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::not_equal, r, a, b, where);
}
// r = a < b: for each element a flag.
template <element T, dimension D, unsigned B>
void less(mask<D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::less, r, a, b, where);
}
// r = a <= b: for each element a flag.
template <element T, dimension D, unsigned B>
void less_equal(mask<D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::less_equal, r, a, b, where);
}
// r = a > b: for each element a flag.
template <element T, dimension D, unsigned B>
void greater(mask<D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::greater, r, a, b, where);
}
// r = a >= b: for each element a flag.
template <element T, dimension D, unsigned B>
void greater_equal(mask<D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, masked where = {}) {
  detail::binary(operation::greater_equal, r, a, b, where);
}

// r = a.
template <element T, dimension D, unsigned B>
void copy(vector<T, D, B>& r, const vector<T, D, B>& a, masked where = {}) {
  detail::unary(operation::copy, r, a, where);
}
// r = not a, bit for bit.
template <element T, dimension D, unsigned B>
void invert(vector<T, D, B>& r, const vector<T, D, B>& a, masked where = {}) {
  detail::unary(operation::invert, r, a, where);
}
// r = a without its sign; of the least value itself.
template <element T, dimension D, unsigned B>
void absolute(vector<T, D, B>& r, const vector<T, D, B>& a, masked where = {}) {
  detail::unary(operation::absolute, r, a, where);
}
// r = the number of ones in a.
template <element T, dimension D, unsigned B>
void popcount(vector<T, D, B>& r, const vector<T, D, B>& a, masked where = {}) {
  detail::unary(operation::popcount, r, a, where);
}
// r = a moved by `by` bits to the left; zeros come in.
template <element T, dimension D, unsigned B>
void shift_left(vector<T, D, B>& r, const vector<T, D, B>& a, unsigned by, masked where = {}) {
  detail::operate(detail::spec_of<vector<T, D, B>>(operation::shift_left, by, where), r.core(),
                  {.a = &a.core(), .mask = where.flags});
}
// r = a moved by `by` bits to the right; copies of the sign come in if T is signed, else zeros.
template <element T, dimension D, unsigned B>
void shift_right(vector<T, D, B>& r, const vector<T, D, B>& a, unsigned by, masked where = {}) {
  detail::operate(detail::spec_of<vector<T, D, B>>(operation::shift_right, by, where), r.core(),
                  {.a = &a.core(), .mask = where.flags});
}

// r = a * b + c.
template <element T, dimension D, unsigned B>
void multiply_add(vector<T, D, B>& r, const vector<T, D, B>& a, const second_of<T, D, B>& b, const vector<T, D, B>& c,
                  masked where = {}) {
  detail::operate(detail::spec_of<vector<T, D, B>>(operation::multiply_add, b.scalar(), where), r.core(),
                  {.a = &a.core(), .b = b.core(), .c = &c.core(), .mask = where.flags});
}
// r = a * b in full: elements of twice the width. Vertical only.
template <element T, element U, dimension D, unsigned B>
void multiply_wide(vector<U, D, 2 * B>& r, const vector<T, D, B>& a, const vector<T, D, B>& b) {
  static_assert(std::is_signed_v<T> == std::is_signed_v<U>, "situ::pim::multiply_wide: both signed, or both not");
  operation_spec what = detail::spec_of<vector<T, D, B>>(operation::multiply);
  what.wide = true;
  detail::operate(what, r.core(), {.a = &a.core(), .b = &b.core()});
}
// r = a if the condition is true, else b.
template <element T, dimension D, unsigned B>
void select(vector<T, D, B>& r, const mask<D, B>& condition, const vector<T, D, B>& a, const vector<T, D, B>& b,
            masked where = {}) {
  detail::operate(detail::spec_of<vector<T, D, B>>(operation::select, {}, where), r.core(),
                  {.a = &a.core(), .b = &b.core(), .condition = &condition.core(), .mask = where.flags});
}
// r = a in another width: its lowest bits, or more of them by the sign (signed T) or zeros. Vertical only.
template <element T, element U, dimension D, unsigned B, unsigned ItsBits>
void convert(vector<U, D, ItsBits>& r, const vector<T, D, B>& a) {
  detail::convert(r.core(), a.core());
}

// Returns the sum of the elements, modulo 2^64, signed if T is. Of flags: count().
template <element T, dimension D, unsigned B>
  requires(!std::same_as<T, bool>)
[[nodiscard]] auto sum(const vector<T, D, B>& a, masked where = {}) {
  const operation_spec what = detail::spec_of<vector<T, D, B>>(operation::reduce_sum, {}, where);
  const std::uint64_t total = weighted_sum(what, detail::reduce(what, {.a = &a.core(), .mask = where.flags}));
  return static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(total);
}
// Returns the number of flags that are true.
template <dimension D, unsigned B>
[[nodiscard]] std::size_t count(const vector<bool, D, B>& flags) {
  return detail::reduce(detail::spec_of<vector<bool, D, B>>(operation::reduce_sum), {.a = &flags.core()})[0];
}

// --- operators ---

template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator+(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.beside();
  add(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator+(vector<T, D, B>&& a, const second_of<T, D, B>& b) {
  add(a, a, b);
  return std::move(a);
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator-(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.beside();
  subtract(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator-(vector<T, D, B>&& a, const second_of<T, D, B>& b) {
  subtract(a, a, b);
  return std::move(a);
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator*(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.beside();
  multiply(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator*(vector<T, D, B>&& a, const second_of<T, D, B>& b) {
  multiply(a, a, b);
  return std::move(a);
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator&(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.beside();
  bit_and(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator&(vector<T, D, B>&& a, const second_of<T, D, B>& b) {
  bit_and(a, a, b);
  return std::move(a);
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator|(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.beside();
  bit_or(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator|(vector<T, D, B>&& a, const second_of<T, D, B>& b) {
  bit_or(a, a, b);
  return std::move(a);
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator^(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.beside();
  bit_xor(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator^(vector<T, D, B>&& a, const second_of<T, D, B>& b) {
  bit_xor(a, a, b);
  return std::move(a);
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator+(std::type_identity_t<T> q, const vector<T, D, B>& a) {
  return a + q;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator*(std::type_identity_t<T> q, const vector<T, D, B>& a) {
  return a * q;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator~(vector<T, D, B>&& a) {
  invert(a, a);
  return std::move(a);
}
template <element T, dimension D, unsigned B>
[[nodiscard]] vector<T, D, B> operator~(const vector<T, D, B>& a) {
  auto r = a.beside();
  invert(r, a);
  return r;
}

template <element T, dimension D, unsigned B>
[[nodiscard]] mask<D, B> operator==(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.template beside_as<bool, mask<D, B>::type.bits>();
  equal(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] mask<D, B> operator!=(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.template beside_as<bool, mask<D, B>::type.bits>();
  not_equal(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] mask<D, B> operator<(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.template beside_as<bool, mask<D, B>::type.bits>();
  less(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] mask<D, B> operator<=(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.template beside_as<bool, mask<D, B>::type.bits>();
  less_equal(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] mask<D, B> operator>(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.template beside_as<bool, mask<D, B>::type.bits>();
  greater(r, a, b);
  return r;
}
template <element T, dimension D, unsigned B>
[[nodiscard]] mask<D, B> operator>=(const vector<T, D, B>& a, const second_of<T, D, B>& b) {
  auto r = a.template beside_as<bool, mask<D, B>::type.bits>();
  greater_equal(r, a, b);
  return r;
}

}  // namespace situ::pim
