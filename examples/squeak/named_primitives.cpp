#include "named_primitives.h"

#include "interpreter.h"

namespace squeak {

bool named_primitives::call(interpreter& vm, int arguments) {
  const object_memory& memory = vm.memory();
  const object& method = *memory.at(vm.primitive_method());
  if (method_header{method.body()[0]}.literals() == 0) return false;
  const oop names = method.body()[1];
  if (!memory.has_class(names, memory.known().class_array) || memory.at(names)->words < 2) return false;
  const oop module = memory.field(names, 0), name = memory.field(names, 1);
  if (!memory.has_bytes(module) || !memory.has_bytes(name)) return false;
  const std::string_view of = text_of(*memory.at(module)), function = text_of(*memory.at(name));
  const named_function found = of == "LargeIntegers" ? large_integers_function(function)
                               : of == "FilePlugin"  ? file_function(function)
                                                     : nullptr;
  return found != nullptr && found(vm, arguments);
}

}  // namespace squeak
