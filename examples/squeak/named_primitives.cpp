#include "named_primitives.h"

#include "interpreter.h"

namespace squeak {

namespace {

named_function function_of(const object_memory& memory, oop of_method) {
  const object& method = *memory.at(of_method);
  if (method_header{method.body()[0]}.literals() == 0) return nullptr;
  const oop names = method.body()[1];
  if (!memory.has_class(names, memory.known().class_array) || memory.at(names)->words < 2) return nullptr;
  const oop module = memory.field(names, 0), name = memory.field(names, 1);
  if (!memory.has_bytes(module) || !memory.has_bytes(name)) return nullptr;
  const std::string_view of = text_of(*memory.at(module)), function = text_of(*memory.at(name));
  return of == "LargeIntegers" ? large_integers_function(function)
         : of == "FilePlugin"  ? file_function(function)
                               : nullptr;
}

}  // namespace

bool named_primitives::uses_place(const object_memory& memory, oop method) {
  const object& of = *memory.at(method);
  if (method_header{of.body()[0]}.literals() == 0) return false;
  const oop names = of.body()[1];
  if (!memory.has_class(names, memory.known().class_array) || memory.at(names)->words == 0) return false;
  const oop module = memory.field(names, 0);
  return memory.has_bytes(module) && text_of(*memory.at(module)) == "FilePlugin";
}

bool named_primitives::call(interpreter& vm, int arguments) {
  const named_function found = function_of(vm.memory(), vm.primitive_method());
  return found != nullptr && found(vm, arguments);
}

}  // namespace squeak
