// Making objects, their identity and class, and all objects of a class.
#include "primitives.h"

#include <algorithm>

namespace squeak {
namespace {

// basicNew, and basicNew: size
bool make_instance(interpreter& vm, bool is_indexed, int arguments) {
  object_memory& memory = vm.memory();
  const oop of_class = vm.stack(arguments);
  if (arguments != (is_indexed ? 1 : 0) || (is_indexed && !is_integer(vm.stack()))) return false;
  const std::int64_t size = is_indexed ? integer_of(vm.stack()) : 0;
  const std::uint8_t of_format = memory.instance_format(of_class);
  if (size < 0 || (is_indexed && of_format < format::indexed) || is_method(of_format)) return false;
  const bool has_bytes = of_format >= format::bytes;
  const std::int64_t words = has_bytes ? (size + 3) / 4 : size + memory.named_fields(of_class);
  if (!vm.has_room(4 * static_cast<std::uint64_t>(words))) return false;
  const auto made_format =
      static_cast<std::uint8_t>(has_bytes ? format::bytes + static_cast<std::uint8_t>(4 * words - size) : of_format);
  const std::uint32_t fill = is_pointers(of_format) ? memory.known().nil : 0;
  vm.answer_with(arguments, memory.allocate(of_class, static_cast<std::uint32_t>(words), made_format, fill)->self);
  return true;
}

// newMethod: bytes header: header
bool make_method(interpreter& vm, int arguments) {
  object_memory& memory = vm.memory();
  const oop header = vm.stack(), bytes = vm.stack(1);
  if (arguments != 2 || !is_integer(header) || !is_integer(bytes) || integer_of(bytes) < 0) return false;
  const std::uint32_t literals = method_header{header}.literals();
  const std::uint32_t size = 4 * (literals + 1) + static_cast<std::uint32_t>(integer_of(bytes));
  const std::uint32_t words = (size + 3) / 4;
  object* const made =
      memory.allocate(vm.stack(2), words, static_cast<std::uint8_t>(format::method + 4 * words - size), 0);
  made->body()[0] = header;
  std::fill_n(made->body() + 1, literals, memory.known().nil);
  vm.answer_with(2, made->self);
  return true;
}

// objectAt: index, and objectAt: index put: value; of a method, the first being its header
bool literal_primitive(interpreter& vm, bool is_put, int arguments) {
  object_memory& memory = vm.memory();
  if (arguments != (is_put ? 2 : 1)) return false;
  const oop method = vm.stack(arguments), index = vm.stack(arguments - 1), value = vm.stack();
  if (is_integer(method) || !is_integer(index) || !is_method(format_of(*memory.at(method)))) return false;
  const auto at = static_cast<std::uint32_t>(integer_of(index)) - 1;
  if (at > method_header{memory.field(method, 0)}.literals()) return false;
  if (!is_put) {
    vm.answer_with(1, memory.field(method, at));
    return true;
  }
  if (at == 0 && !is_integer(value)) return false;
  memory.store(method, at, value);
  if (at == 0) vm.flush_method_cache();
  vm.answer_with(2, value);
  return true;
}

// stackp: depth, of a context that is not active
bool set_stack_pointer(interpreter& vm, int arguments) {
  object_memory& memory = vm.memory();
  const oop context = vm.stack(arguments), depth = vm.stack();
  if (arguments != 1 || is_integer(context) || !memory.is_context(*memory.at(context)) || !is_integer(depth) ||
      context == vm.context())
    return false;
  const std::int32_t to = integer_of(depth);
  if (to < 0 || static_cast<std::uint32_t>(to) > memory.at(context)->words - 6) return false;
  const oop before = memory.field(context, 2);
  for (std::int32_t i = is_integer(before) ? std::max(integer_of(before), 0) : 0; i < to; ++i)
    memory.store(context, 6 + static_cast<std::uint32_t>(i), memory.known().nil);
  memory.store(context, 2, depth);
  vm.answer_with(1, context);
  return true;
}

// someInstance, and nextInstance: instances are in the order of their references.
bool next_instance(interpreter& vm, oop of_class, oop after, int arguments) {
  if (arguments != 0) return false;
  const oop found = vm.next_instance(of_class, after);
  if (found == 0) return false;
  vm.answer_with(0, found);
  return true;
}

// elementsExchangeIdentityWith: another array
bool become(interpreter& vm, int arguments) {
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(arguments), other = vm.stack();
  const oop arrays = memory.known().class_array;
  if (arguments != 1 || !memory.has_class(receiver, arrays) || !memory.has_class(other, arrays)) return false;
  const object &a = *memory.at(receiver), &b = *memory.at(other);
  if (a.words != b.words || std::any_of(a.body(), a.body() + a.words, is_integer) ||
      std::any_of(b.body(), b.body() + b.words, is_integer))
    return false;
  std::vector<oop> from(a.body(), a.body() + a.words), to(b.body(), b.body() + b.words);
  vm.exchange(from, to);
  vm.answer_with(1, receiver);
  return true;
}

bool copy(interpreter& vm, int arguments) {
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(arguments);
  if (arguments != 0) return false;
  if (is_integer(receiver)) return true;
  if (receiver == vm.context()) vm.store_frame();
  const object& from = *memory.at(receiver);
  if (!vm.has_room(4 * std::uint64_t{from.words})) return false;
  object* const made = memory.allocate(from.type, from.words, format_of(from), 0);
  std::copy_n(from.body(), from.words, made->body());
  vm.answer_with(0, made->self);
  return true;
}

}  // namespace

bool object_primitive(interpreter& vm, std::uint32_t number, int arguments) {
  object_memory& memory = vm.memory();
  const oop receiver = vm.stack(arguments);
  switch (number) {
    case 68: return literal_primitive(vm, false, arguments);
    case 69: return literal_primitive(vm, true, arguments);
    case 70: return make_instance(vm, false, arguments);
    case 71: return make_instance(vm, true, arguments);
    case 75:
      if (is_integer(receiver) || arguments != 0) return false;
      vm.answer_with(0, word_of(static_cast<std::int32_t>(hash_of(*memory.at(receiver)))));
      return true;
    case 76: return set_stack_pointer(vm, arguments);
    case 77: return next_instance(vm, receiver, 0, arguments);
    case 78: return !is_integer(receiver) && next_instance(vm, memory.class_of(receiver), receiver, arguments);
    case 79: return make_method(vm, arguments);
    case 89:
    case 116:
    case 119:
      vm.flush_method_cache();
      vm.answer_with(arguments, receiver);
      return true;
    case 110:
      if (arguments != 1) return false;
      vm.answer_with(1, receiver == vm.stack() ? memory.known().true_object : memory.known().false_object);
      return true;
    case 111: vm.answer_with(arguments, memory.class_of(vm.stack())); return true;
    case 128: return become(vm, arguments);
    case 148: return copy(vm, arguments);
    default: return false;
  }
}

}  // namespace squeak
