// The bytecodes from 176 to 184 for operands that are not both SmallIntegers: Floats, and large integers of four bytes.
// SqueakJS calculates the same cases without a send, so both count the same bytecodes.
#include "primitives.h"

#include <cmath>
#include <cstring>

namespace squeak {
namespace {

struct number {
  double value;  // of an integer, too: it has 32 bits, and a product has to have 32 bits to count
  bool is_float;
};

std::optional<number> number_of(const object_memory& memory, oop o) {
  if (is_integer(o)) return number{static_cast<double>(integer_of(o)), false};
  if (memory.is_float(o)) return number{memory.float_value(o), true};
  const bool is_negative = memory.has_class(o, memory.known().class_large_negative);
  if (!is_negative && !memory.has_class(o, memory.known().class_large_positive)) return std::nullopt;
  if (!memory.has_bytes(o) || byte_size(*memory.at(o)) != 4) return std::nullopt;
  std::uint32_t magnitude = 0;
  std::memcpy(&magnitude, bytes_of(*memory.at(o)), 4);
  return number{is_negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude), false};
}

// Returns the Integer; nothing if it has more than 32 bits.
std::optional<oop> make_integer(object_memory& memory, double value) {
  if (std::fabs(value) > 0xffff'ffffU) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(value);
  if (fits_integer(whole)) return word_of(static_cast<std::int32_t>(whole));
  const auto magnitude = static_cast<std::uint32_t>(std::abs(whole));
  const known_objects& known = memory.known();
  return memory.make_bytes(whole < 0 ? known.class_large_negative : known.class_large_positive,
                           {reinterpret_cast<const char*>(&magnitude), 4});
}

bool compare(std::uint32_t code, double a, double b) {
  switch (code) {
    case 178: return a < b;
    case 179: return a > b;
    case 180: return a <= b;
    case 181: return a >= b;
    case 182: return a == b;
    default: return a != b;  // 183
  }
}

}  // namespace

bool number_send(interpreter& vm, std::uint32_t code) {
  object_memory& memory = vm.memory();
  const std::optional<number> a = number_of(memory, vm.stack(1)), b = number_of(memory, vm.stack(0));
  if (!a || !b) return false;
  if (code >= 178 && code <= 183) {
    vm.answer_with(1, compare(code, a->value, b->value) ? memory.known().true_object : memory.known().false_object);
    return true;
  }
  const double result = code == 176 ? a->value + b->value : code == 177 ? a->value - b->value : a->value * b->value;
  const std::optional<oop> made =
      a->is_float || b->is_float ? std::optional{memory.make_float(result)} : make_integer(memory, result);
  if (made) vm.answer_with(1, *made);
  return made.has_value();
}

}  // namespace squeak
