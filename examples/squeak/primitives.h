// The numbered primitives, in groups. Each function returns whether it succeeded: then the answer is in the place of
// the receiver and the arguments. If it returns false, nothing has changed, and the method's code runs.
//
// The receiver is stack(arguments), the last argument stack(0).
#pragma once

#include "interpreter.h"

#include <cstdint>
#include <optional>

namespace squeak {

bool integer_primitive(interpreter& vm, std::uint32_t number, int arguments);  // 1 to 18
bool large_comparison(interpreter& vm, std::uint32_t number, int arguments);   // 23 to 28, of LargePositiveInteger
bool float_primitive(interpreter& vm, std::uint32_t number, int arguments);    // 40 to 59
bool element_primitive(interpreter& vm, std::uint32_t number, int arguments);  // 60 to 64, 73, 74, 105, 132
bool object_primitive(interpreter& vm, std::uint32_t number, int arguments);   // 68 to 79, 110, 111, 148 and others
bool process_primitive(interpreter& vm, std::uint32_t number, int arguments);  // 85 to 88, 124, 125, 136
bool system_primitive(interpreter& vm, std::uint32_t number, int arguments);   // 97, 113, 121, 130, 135 and others
bool place_primitive(interpreter& vm, std::uint32_t number, int arguments);    // 600 to 607
bool text_primitive(interpreter& vm, std::uint32_t number, int arguments);     // 235, 243, 246

// The bytecodes from 176 to 184 (+ - < > <= >= = ~= *) for operands that are not both SmallIntegers. It returns false if
// the message has to be sent.
bool number_send(interpreter& vm, std::uint32_t code);

// The elements of an object by index, behind `fixed` named fields.
struct elements {
  std::uint32_t fixed = 0;
  std::uint32_t count = 0;
};
[[nodiscard]] elements elements_of(const object_memory& memory, const object& o);
// Return the element of an index from 1 on, and set it; nothing, and false, if there is none, or if it cannot have the
// value.
[[nodiscard]] std::optional<oop> element_at(object_memory& memory, oop o, oop index);
[[nodiscard]] bool set_element(object_memory& memory, oop o, oop index, oop value);

}  // namespace squeak
