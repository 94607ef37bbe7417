// Arithmetic of LargePositiveInteger and LargeNegativeInteger: magnitudes, bytes in ascending order, of the class's
// sign.
#include "named_primitives.h"
#include "primitives.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

namespace squeak {
namespace {

using digits = std::vector<std::uint32_t>;  // of 32 bits, ascending; the last one is not 0

void trim(digits& of) {
  while (!of.empty() && of.back() == 0) of.pop_back();
}

bool is_large(const object_memory& memory, oop o) {
  return memory.has_class(o, memory.known().class_large_positive) ||
         memory.has_class(o, memory.known().class_large_negative);
}

// The magnitude of an Integer; nothing for another object.
std::optional<digits> magnitude(const object_memory& memory, oop o) {
  if (is_integer(o)) {
    digits one{static_cast<std::uint32_t>(std::abs(integer_of(o)))};
    trim(one);
    return one;
  }
  if (!is_large(memory, o) || !memory.has_bytes(o)) return std::nullopt;
  const object& large = *memory.at(o);
  digits all((byte_size(large) + 3) / 4);
  std::copy_n(bytes_of(large), byte_size(large), reinterpret_cast<std::uint8_t*>(all.data()));
  trim(all);
  return all;
}

oop make_large(object_memory& memory, const digits& of, bool is_negative, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::copy_n(reinterpret_cast<const char*>(of.data()), std::min(bytes, 4 * of.size()), text.data());
  return memory.make_bytes(is_negative ? memory.known().class_large_negative : memory.known().class_large_positive,
                           text);
}

std::size_t bytes_in(const digits& of) {
  return of.empty() ? 0 : 4 * of.size() - static_cast<std::size_t>(std::countl_zero(of.back())) / 8;
}

// A SmallInteger if it fits, otherwise as few bytes as there can be.
oop make_normal(object_memory& memory, digits of, bool is_negative) {
  trim(of);
  if (of.size() <= 1) {
    const std::int64_t value = of.empty() ? 0 : is_negative ? -std::int64_t{of[0]} : std::int64_t{of[0]};
    if (fits_integer(value)) return word_of(static_cast<std::int32_t>(value));
  }
  return make_large(memory, of, is_negative, bytes_in(of));
}

digits product(const digits& a, const digits& b) {
  digits all(a.size() + b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t k = 0; k < b.size(); ++k) {
      carry += std::uint64_t{a[i]} * b[k] + all[i + k];
      all[i + k] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    all[i + b.size()] = static_cast<std::uint32_t>(carry);
  }
  return all;
}

digits shifted_left(const digits& of, int bits) {
  digits all(of.size() + 1);
  for (std::size_t i = 0; i < of.size(); ++i) {
    const std::uint64_t both = std::uint64_t{of[i]} << bits;
    all[i] |= static_cast<std::uint32_t>(both);
    all[i + 1] = static_cast<std::uint32_t>(both >> 32);
  }
  return all;
}

struct quotient_and_rest {
  digits quotient;
  digits rest;
};

// Subtracts digit * divisor from `from` at `at`; returns whether the digit was one too large, and then adds it back.
bool subtract_product(digits& from, std::size_t at, const digits& divisor, std::uint64_t digit) {
  std::uint64_t carry = 0;
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i <= divisor.size(); ++i) {
    carry += i < divisor.size() ? digit * divisor[i] : 0;
    const std::int64_t left = std::int64_t{from[at + i]} - static_cast<std::uint32_t>(carry) + borrow;
    from[at + i] = static_cast<std::uint32_t>(left);
    borrow = left >> 32;
    carry >>= 32;
  }
  if (borrow == 0) return false;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i <= divisor.size(); ++i) {
    sum += std::uint64_t{from[at + i]} + (i < divisor.size() ? divisor[i] : 0);
    from[at + i] = static_cast<std::uint32_t>(sum);
    sum >>= 32;
  }
  return true;
}

// Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D. pre: b is not 0.
quotient_and_rest divide(const digits& a, const digits& b) {
  if (a.size() < b.size()) return {{}, a};
  const int shift = std::countl_zero(b.back());
  digits rest = shifted_left(a, shift);
  digits divisor = shifted_left(b, shift);
  divisor.pop_back();
  rest.push_back(0);
  const std::size_t n = divisor.size();
  digits quotient(a.size() - n + 1);
  for (std::size_t at = quotient.size(); at-- > 0;) {
    const std::uint64_t top = std::uint64_t{rest[at + n]} << 32 | rest[at + n - 1];
    std::uint64_t digit = std::min<std::uint64_t>(top / divisor[n - 1], 0xffff'ffff);
    std::uint64_t left = top - digit * divisor[n - 1];
    while (n > 1 && left >> 32 == 0 && digit * divisor[n - 2] > (left << 32 | rest[at + n - 2])) {
      --digit;
      left += divisor[n - 1];
    }
    if (subtract_product(rest, at, divisor, digit)) --digit;
    quotient[at] = static_cast<std::uint32_t>(digit);
  }
  for (std::size_t i = 0; i + 1 < rest.size(); ++i)
    rest[i] = shift == 0 ? rest[i] : rest[i] >> shift | rest[i + 1] << (32 - shift);
  trim(rest);
  return {quotient, rest};
}

// -1, 0 or 1.
int compare(const digits& a, const digits& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (std::size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

digits sum(const digits& a, const digits& b) {
  digits all(std::max(a.size(), b.size()) + 1);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    carry += std::uint64_t{i < a.size() ? a[i] : 0} + (i < b.size() ? b[i] : 0);
    all[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return all;
}

// pre: a is not less than b.
digits difference(const digits& a, const digits& b) {
  digits all(a.size());
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t left = std::int64_t{a[i]} - (i < b.size() ? b[i] : 0) + borrow;
    all[i] = static_cast<std::uint32_t>(left);
    borrow = left >> 32;
  }
  return all;
}

// Returns the value of a Boolean; nothing for another object.
std::optional<bool> truth(const object_memory& memory, oop o) {
  if (o == memory.known().true_object) return true;
  if (o == memory.known().false_object) return false;
  return std::nullopt;
}

// digitMultiply: other neg: isNegative
bool multiply(interpreter& vm, int arguments) {
  object_memory& memory = vm.memory();
  if (arguments != 2) return false;
  const auto a = magnitude(memory, vm.stack(2)), b = magnitude(memory, vm.stack(1));
  const auto is_negative = truth(memory, vm.stack());
  if (!a || !b || !is_negative) return false;
  vm.answer_with(2, make_normal(memory, product(*a, *b), *is_negative));
  return true;
}

// digitDiv: other neg: isNegative; an Array of quotient and rest, which the image normalizes
bool divide(interpreter& vm, int arguments) {
  object_memory& memory = vm.memory();
  if (arguments != 2) return false;
  const oop receiver = vm.stack(2);
  const auto a = magnitude(memory, receiver), b = magnitude(memory, vm.stack(1));
  const auto is_negative = truth(memory, vm.stack());
  if (!a || !b || !is_negative || b->empty()) return false;
  object* const both = memory.at(memory.make_array(2));
  if (bytes_in(*a) < bytes_in(*b)) {
    both->body()[0] = word_of(0);
    both->body()[1] = is_integer(receiver) ? make_large(memory, *a, false, bytes_in(*a)) : receiver;
  } else {
    const quotient_and_rest found = divide(*a, *b);
    both->body()[0] = make_large(memory, found.quotient, *is_negative, bytes_in(*a) - bytes_in(*b) + 1);
    both->body()[1] = make_large(memory, found.rest, *is_negative, bytes_in(found.rest));
  }
  vm.answer_with(2, both->self);
  return true;
}

bool is_negative(const object_memory& memory, oop o) {
  return is_integer(o) ? integer_of(o) < 0 : memory.has_class(o, memory.known().class_large_negative);
}

// digitCompare:, digitAdd: and digitSubtract: other; signs are the caller's but for that of the result.
bool compare(interpreter& vm, int arguments) {
  const object_memory& memory = vm.memory();
  if (arguments != 1) return false;
  const auto a = magnitude(memory, vm.stack(1)), b = magnitude(memory, vm.stack());
  if (!a || !b) return false;
  vm.answer_with(1, word_of(compare(*a, *b)));
  return true;
}
bool add(interpreter& vm, int arguments) {
  object_memory& memory = vm.memory();
  if (arguments != 1) return false;
  const auto a = magnitude(memory, vm.stack(1)), b = magnitude(memory, vm.stack());
  if (!a || !b) return false;
  vm.answer_with(1, make_normal(memory, sum(*a, *b), is_negative(memory, vm.stack(1))));
  return true;
}
bool subtract(interpreter& vm, int arguments) {
  object_memory& memory = vm.memory();
  if (arguments != 1) return false;
  const auto a = magnitude(memory, vm.stack(1)), b = magnitude(memory, vm.stack());
  if (!a || !b) return false;
  const bool is_less = compare(*a, *b) < 0;
  const digits left = is_less ? difference(*b, *a) : difference(*a, *b);
  vm.answer_with(1, make_normal(memory, left, is_negative(memory, vm.stack(1)) != is_less));
  return true;
}

bool normalize(interpreter& vm, int arguments) {
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(arguments);
  if (arguments != 0 || !is_large(memory, receiver)) return false;
  const auto all = magnitude(memory, receiver);
  if (!all) return false;
  // The receiver is the answer if it is normal already.
  const oop normal = make_normal(memory, *all, is_negative(memory, receiver));
  const bool is_same = !is_integer(normal) && byte_size(*memory.at(receiver)) == byte_size(*memory.at(normal));
  vm.answer_with(0, is_same ? receiver : normal);
  return true;
}

}  // namespace

named_function large_integers_function(std::string_view name) {
  if (name == "primDigitMultiplyNegative") return multiply;
  if (name == "primDigitDivNegative") return divide;
  if (name == "primNormalizePositive" || name == "primNormalizeNegative") return normalize;
  if (name == "primDigitCompare") return compare;
  if (name == "primDigitAdd") return add;
  if (name == "primDigitSubtract") return subtract;
  return nullptr;
}

}  // namespace squeak
