#include "primitives.h"

#include <algorithm>
#include <cstring>

namespace squeak {
namespace {

// Rounds towards minus infinity. pre: b is not 0.
std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The result of an operation on two SmallIntegers; nothing if it fails.
std::optional<std::int64_t> calculate(std::uint32_t number, std::int64_t a, std::int64_t b) {
  switch (number) {
    case 1: return a + b;
    case 2: return a - b;
    case 9: return a * b;
    case 14: return a & b;
    case 15: return a | b;
    case 16: return a ^ b;
    case 17:
      if (b < 0) return a >> std::min<std::int64_t>(-b, 63);
      // A negative number that is shifted left is the image's.
      return b > 30 || a < 0 ? std::nullopt : std::optional{a << b};
    default: break;
  }
  if (b == 0) return std::nullopt;
  switch (number) {
    case 10: return a % b != 0 ? std::nullopt : std::optional{a / b};
    case 11: return a - floor_divided(a, b) * b;
    case 12: return floor_divided(a, b);
    default: return a / b;  // 13
  }
}

bool compare(std::uint32_t number, std::int64_t a, std::int64_t b) {
  switch (number) {
    case 3: return a < b;
    case 4: return a > b;
    case 5: return a <= b;
    case 6: return a >= b;
    case 7: return a == b;
    default: return a != b;  // 8
  }
}

// Returns the value of a SmallInteger or of a large integer of at most 53 bits; nothing for others. SqueakJS has the same limit, so
// both count the same bytecodes.
std::optional<std::int64_t> value_of(const object_memory& memory, oop o) {
  constexpr std::uint64_t most = (std::uint64_t{1} << 53) - 1;
  if (is_integer(o)) return integer_of(o);
  const bool is_negative = memory.has_class(o, memory.known().class_large_negative);
  if (!is_negative && !memory.has_class(o, memory.known().class_large_positive)) return std::nullopt;
  const object& large = *memory.at(o);
  std::uint64_t magnitude = 0;
  if (!memory.has_bytes(o) || byte_size(large) > 7) return std::nullopt;
  std::memcpy(&magnitude, bytes_of(large), byte_size(large));
  if (magnitude > most) return std::nullopt;
  return is_negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
}

}  // namespace

bool large_comparison(interpreter& vm, std::uint32_t number, int arguments) {
  if (arguments != 1) return false;
  const known_objects& known = vm.memory().known();
  const std::optional<std::int64_t> a = value_of(vm.memory(), vm.stack(1)), b = value_of(vm.memory(), vm.stack(0));
  if (!a || !b) return false;
  constexpr std::uint32_t to_small = 20;  // 23 is what 3 is for SmallIntegers
  vm.answer_with(1, compare(number - to_small, *a, *b) ? known.true_object : known.false_object);
  return true;
}

bool integer_primitive(interpreter& vm, std::uint32_t number, int arguments) {
  if (arguments != 1) return false;
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(1), argument = vm.stack(0);
  if (number == 18) {  // @
    object* const point = memory.allocate(memory.known().class_point, 2, format::fixed, memory.known().nil);
    point->body()[0] = receiver;
    point->body()[1] = argument;
    vm.answer_with(1, point->self);
    return true;
  }
  if (!is_integer(receiver) || !is_integer(argument)) return false;
  const std::int64_t a = integer_of(receiver), b = integer_of(argument);
  if (number >= 3 && number <= 8) {
    vm.answer_with(1, compare(number, a, b) ? memory.known().true_object : memory.known().false_object);
    return true;
  }
  const std::optional<std::int64_t> result = calculate(number, a, b);
  if (!result || !fits_integer(*result)) return false;
  vm.answer_with(1, word_of(static_cast<std::int32_t>(*result)));
  return true;
}

}  // namespace squeak
