#include "primitives.h"

#include <cmath>

namespace squeak {
namespace {

std::optional<double> number_value(const object_memory& memory, oop o) {
  if (is_integer(o)) return integer_of(o);
  if (memory.is_float(o)) return memory.float_value(o);
  return std::nullopt;
}

std::optional<double> calculate(std::uint32_t number, double a, double b) {
  switch (number) {
    case 41: return a + b;
    case 42: return a - b;
    case 49: return a * b;
    default: return b == 0 ? std::nullopt : std::optional{a / b};  // 50
  }
}

bool compare(std::uint32_t number, double a, double b) {
  switch (number) {
    case 43: return a < b;
    case 44: return a > b;
    case 45: return a <= b;
    case 46: return a >= b;
    case 47: return a == b;
    default: return a != b;  // 48
  }
}

// 52 and 55 to 59.
double function(std::uint32_t number, double a) {
  switch (number) {
    case 52: return a - std::trunc(a);
    case 55: return std::sqrt(a);
    case 56: return std::sin(a);
    case 57: return std::atan(a);
    case 58: return std::log(a);
    default: return std::exp(a);  // 59
  }
}

bool answer_integer(interpreter& vm, int arguments, double value) {
  if (!(std::fabs(value) < (1 << 30))) return false;
  vm.answer_with(arguments, word_of(static_cast<std::int32_t>(value)));
  return true;
}

}  // namespace

bool float_primitive(interpreter& vm, std::uint32_t number, int arguments) {
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(arguments);
  if (number == 40) {
    if (!is_integer(receiver)) return false;
    vm.answer_with(arguments, memory.make_float(integer_of(receiver)));
    return true;
  }
  const bool is_binary = (number >= 41 && number <= 50) || number == 54;
  if (!memory.is_float(receiver) || arguments != (is_binary ? 1 : 0)) return false;
  const double a = memory.float_value(receiver);
  if (number == 54) {
    if (!is_integer(vm.stack())) return false;
    vm.answer_with(1, memory.make_float(std::ldexp(a, integer_of(vm.stack()))));
    return true;
  }
  if (is_binary) {
    const std::optional<double> b = number_value(memory, vm.stack());
    if (!b) return false;
    if (number >= 43 && number <= 48) {
      vm.answer_with(1, compare(number, a, *b) ? memory.known().true_object : memory.known().false_object);
      return true;
    }
    const std::optional<double> result = calculate(number, a, *b);
    if (!result) return false;
    vm.answer_with(1, memory.make_float(*result));
    return true;
  }
  if (number == 51) return answer_integer(vm, 0, a);
  if (number == 53) {
    if (a == 0 || !std::isfinite(a)) return false;
    return answer_integer(vm, 0, std::ilogb(a));
  }
  vm.answer_with(0, memory.make_float(function(number, a)));
  return true;
}

}  // namespace squeak
