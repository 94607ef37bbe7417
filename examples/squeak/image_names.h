// Names in an image: symbols, globals, classes, methods; for messages to people, and to find what they name.
#pragma once

#include "object_memory.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace squeak {

// Find an object; return 0 if there is none. cost: a walk through all objects; through the globals.
[[nodiscard]] oop find_symbol(const object_memory& memory, std::string_view name);
// Finds several symbols in one walk; 0 for each that is not there.
[[nodiscard]] std::vector<oop> find_symbols(const object_memory& memory, std::span<const std::string_view> names);
[[nodiscard]] oop find_global(const object_memory& memory, std::string_view name);

// Returns the text of a symbol or string; "?" for another object.
[[nodiscard]] std::string name_of_symbol(const object_memory& memory, oop symbol);
// Returns "Point", or "Point class" for a metaclass.
[[nodiscard]] std::string name_of_class(const object_memory& memory, oop of_class);
// Returns "Point>>+" for a method that `of_class` or a superclass has; "?" if none has it.
[[nodiscard]] std::string name_of_method(const object_memory& memory, oop of_class, oop method);
// Returns "3", "nil", "'text'", "#symbol", "a Point".
[[nodiscard]] std::string describe(const object_memory& memory, oop o);
// Returns the names of the methods that a context and its senders run, innermost first, at most `most`.
[[nodiscard]] std::vector<std::string> stack_lines(const object_memory& memory, oop context, std::size_t most = 20);

}  // namespace squeak
