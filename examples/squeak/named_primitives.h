// Primitive 117: functions by name, as the first literal of the method has it: (module, function, ...).
#pragma once

#include "object_memory.h"
#include "open_files.h"

#include <string_view>

namespace squeak {

class interpreter;

class named_primitives {
 public:
  // Calls the function of the method that vm.primitive_method() is; returns false if there is none.
  bool call(interpreter& vm, int arguments);
  // Returns whether the function of a method uses what the place has: its files.
  [[nodiscard]] static bool uses_place(const object_memory& memory, oop method);
  [[nodiscard]] open_files& files() { return files_; }

 private:
  open_files files_;
};

using named_function = bool (*)(interpreter& vm, int arguments);
// Return a function of a module; nullptr if there is none.
[[nodiscard]] named_function large_integers_function(std::string_view name);
[[nodiscard]] named_function file_function(std::string_view name);

}  // namespace squeak
