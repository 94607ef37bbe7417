// at:, at:put:, size and their kin.
#include "primitives.h"

#include <algorithm>

namespace squeak {

elements elements_of(const object_memory& memory, const object& o) {
  const std::uint8_t format = format_of(o);
  if (format >= format::bytes) return {0, byte_size(o)};
  if (format == format::words) return {0, o.words};
  if (format < format::indexed) return {};
  const std::uint32_t fixed = std::min(memory.named_fields(o.type), o.words);
  if (memory.is_context(o)) {
    const std::int32_t depth = is_integer(o.body()[2]) ? std::max(integer_of(o.body()[2]), 0) : 0;
    return {6, std::min(static_cast<std::uint32_t>(depth), o.words - 6)};
  }
  return {fixed, o.words - fixed};
}

std::optional<oop> element_at(object_memory& memory, oop o, oop index) {
  if (is_integer(o) || !is_integer(index)) return std::nullopt;
  const object& of = *memory.at(o);
  const elements all = elements_of(memory, of);
  const auto at = static_cast<std::uint32_t>(integer_of(index)) - 1;
  if (at >= all.count) return std::nullopt;
  if (format_of(of) >= format::bytes) return word_of(bytes_of(of)[at]);
  if (format_of(of) == format::words) return memory.make_unsigned(of.body()[at]);
  return of.body()[all.fixed + at];
}

bool set_element(object_memory& memory, oop o, oop index, oop value) {
  if (is_integer(o) || !is_integer(index)) return false;
  const object& of = *memory.at(o);
  const elements all = elements_of(memory, of);
  const auto at = static_cast<std::uint32_t>(integer_of(index)) - 1;
  if (at >= all.count) return false;
  if (format_of(of) >= format::bytes) {
    if (!is_integer(value) || integer_of(value) < 0 || integer_of(value) > 255) return false;
    bytes_of(*memory.at_to_change(o))[at] = static_cast<std::uint8_t>(integer_of(value));
  } else if (format_of(of) == format::words) {
    const std::optional<std::uint32_t> word = memory.unsigned_value(value);
    if (!word) return false;
    memory.at_to_change(o)->body()[at] = *word;
  } else {
    memory.store(o, all.fixed + at, value);
  }
  return true;
}

namespace {

// Returns a number for the way in which elements are stored: 0 references, 1 words, 2 bytes.
int kind_of(const object& o) { return is_pointers(format_of(o)) ? 0 : format_of(o) == format::words ? 1 : 2; }

// replaceFrom: start to: stop with: other startingAt: first
bool replace(interpreter& vm) {
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(4), other = vm.stack(1);
  if (is_integer(receiver) || is_integer(other) || !is_integer(vm.stack(3)) || !is_integer(vm.stack(2)) ||
      !is_integer(vm.stack(0)))
    return false;
  const std::int64_t start = integer_of(vm.stack(3)), stop = integer_of(vm.stack(2)), first = integer_of(vm.stack(0));
  const elements to = elements_of(memory, *memory.at(receiver)), from = elements_of(memory, *memory.at(other));
  const std::int64_t count = stop - start + 1;
  if (start < 1 || first < 1 || count < 0 || stop > to.count || first + count - 1 > from.count) return false;
  const int kind = kind_of(*memory.at(receiver));
  if (kind != kind_of(*memory.at(other))) return false;
  const auto at = static_cast<std::uint32_t>(start - 1), of = static_cast<std::uint32_t>(first - 1),
             n = static_cast<std::uint32_t>(count);
  if (kind == 0) {
    const bool is_backwards = receiver == other && of < at;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t k = is_backwards ? n - 1 - i : i;
      memory.store(receiver, to.fixed + at + k, memory.field(other, from.fixed + of + k));
    }
  } else {
    object* const target = memory.at_to_change(receiver);
    const std::size_t unit = kind == 1 ? 4 : 1;
    std::memmove(bytes_of(*target) + at * unit, bytes_of(*memory.at(other)) + of * unit, n * unit);
  }
  vm.answer_with(4, receiver);
  return true;
}

bool points_to(const object_memory& memory, oop receiver, oop other) {
  if (is_integer(receiver)) return false;
  const object& o = *memory.at(receiver);
  if (o.type == other) return true;
  const std::uint32_t pointers = pointer_words(format_of(o), o.words, o.words != 0 ? o.body()[0] : 0);
  return std::find(o.body(), o.body() + pointers, other) != o.body() + pointers;
}

// instVarAt: and instVarAt:put:
bool field_primitive(interpreter& vm, std::uint32_t number, int arguments) {
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(arguments), index = vm.stack(arguments - 1);
  if (is_integer(receiver) || !is_integer(index) || integer_of(index) < 1) return false;
  const object& o = *memory.at(receiver);
  const auto at = static_cast<std::uint32_t>(integer_of(index)) - 1;
  if (!is_pointers(format_of(o)) || at >= o.words) return false;
  if (number == 73) {
    vm.answer_with(arguments, o.body()[at]);
    return true;
  }
  const oop value = vm.stack();
  memory.store(receiver, at, value);
  vm.answer_with(arguments, value);
  return true;
}

}  // namespace

bool element_primitive(interpreter& vm, std::uint32_t number, int arguments) {
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(arguments);
  if (receiver == vm.context()) vm.store_frame();  // it has its own stack pointer in a field
  switch (number) {
    case 60:
    case 63: {
      if (arguments != 1) return false;
      const std::optional<oop> found = element_at(memory, receiver, vm.stack());
      if (!found) return false;
      if (number == 60) {
        vm.answer_with(1, *found);
        return true;
      }
      if (format_of(*memory.at(receiver)) < format::bytes) return false;
      vm.answer_with(1,
                     memory.field(memory.special(special::characters), static_cast<std::uint32_t>(integer_of(*found))));
      return true;
    }
    case 61:
    case 64: {
      if (arguments != 2) return false;
      const oop value = vm.stack();
      if (number == 64 && (!memory.has_class(value, memory.known().class_character) || !memory.has_bytes(receiver)))
        return false;
      if (!set_element(memory, receiver, vm.stack(1), number == 64 ? memory.field(value, 0) : value)) return false;
      vm.answer_with(2, value);
      return true;
    }
    case 62: {
      if (is_integer(receiver) || format_of(*memory.at(receiver)) < format::indexed) return false;
      vm.answer_with(arguments, word_of(static_cast<std::int32_t>(elements_of(memory, *memory.at(receiver)).count)));
      return true;
    }
    case 105: return arguments == 4 && replace(vm);
    case 132: {
      if (arguments != 1) return false;
      const bool does = points_to(memory, receiver, vm.stack());
      vm.answer_with(1, does ? memory.known().true_object : memory.known().false_object);
      return true;
    }
    default: return arguments == (number == 73 ? 1 : 2) && field_primitive(vm, number, arguments);
  }
}

}  // namespace squeak
