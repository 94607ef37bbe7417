#include "image_names.h"

#include "image_objects.h"

#include <fmt/format.h>

#include <algorithm>

namespace squeak {
namespace {

constexpr std::uint32_t field_of_class_name = 6;
constexpr std::uint32_t field_of_sole_instance = 6;  // of a Metaclass in this format: its class

// Calls visit(selector, method) for each entry of a class's dictionary until it returns true; returns whether it did.
template <class Visit>
bool any_method(const object_memory& memory, oop of_class, Visit visit) {
  const oop dictionary = memory.field(of_class, 1);
  if (!memory.has_pointers(dictionary) || memory.at(dictionary)->words < 2) return false;
  const object& selectors = *memory.at(dictionary);
  const object& methods = *memory.at(selectors.body()[1]);
  for (std::uint32_t i = 2; i < selectors.words && i - 2 < methods.words; ++i)
    if (selectors.body()[i] != memory.known().nil && visit(selectors.body()[i], methods.body()[i - 2])) return true;
  return false;
}

}  // namespace

std::vector<oop> find_symbols(const object_memory& memory, std::span<const std::string_view> names) {
  const oop symbols = memory.class_of(memory.special(special::does_not_understand));
  std::vector<oop> found(names.size());
  for (const oop each : reachable_objects(memory)) {
    if (memory.at(each)->type != symbols || !memory.has_bytes(each)) continue;
    const auto at = std::ranges::find(names, text_of(*memory.at(each)));
    if (at != names.end()) found[static_cast<std::size_t>(at - names.begin())] = each;
  }
  return found;
}

oop find_symbol(const object_memory& memory, std::string_view name) { return find_symbols(memory, {&name, 1})[0]; }

oop find_global(const object_memory& memory, std::string_view name) {
  const oop associations = memory.field(memory.special(special::smalltalk), 1);
  if (!memory.has_pointers(associations)) return 0;
  const object& all = *memory.at(associations);
  for (std::uint32_t i = 0; i < all.words; ++i) {
    const oop each = all.body()[i];
    if (each == memory.known().nil || !memory.has_pointers(each) || memory.at(each)->words < 2) continue;
    if (memory.has_bytes(memory.field(each, 0)) && text_of(*memory.at(memory.field(each, 0))) == name)
      return memory.field(each, 1);
  }
  return 0;
}

std::string name_of_symbol(const object_memory& memory, oop symbol) {
  return memory.has_bytes(symbol) ? std::string{text_of(*memory.at(symbol))} : "?";
}

std::string name_of_class(const object_memory& memory, oop of_class) {
  const auto name_in = [&](oop o) {
    return memory.has_pointers(o) && memory.at(o)->words > field_of_class_name ? memory.field(o, field_of_class_name)
                                                                               : memory.known().nil;
  };
  const oop name = name_in(of_class);
  if (memory.has_bytes(name)) return name_of_symbol(memory, name);
  // A metaclass has its class in the same field, or names it nowhere.
  const oop inner = memory.has_pointers(of_class) && memory.at(of_class)->words > field_of_sole_instance
                        ? name_in(memory.field(of_class, field_of_sole_instance))
                        : memory.known().nil;
  if (memory.has_bytes(inner)) return name_of_symbol(memory, inner) + " class";
  for (const oop each : reachable_objects(memory))
    if (memory.at(each)->type == of_class && memory.has_bytes(name_in(each)))
      return name_of_symbol(memory, name_in(each)) + " class";
  return "?";
}

std::string name_of_method(const object_memory& memory, oop of_class, oop method) {
  for (oop each = of_class; each != memory.known().nil; each = memory.field(each, 0)) {
    oop found = 0;
    if (any_method(memory, each, [&](oop selector, oop it) { return it == method ? (found = selector, true) : false; }))
      return fmt::format("{}>>{}", name_of_class(memory, each), name_of_symbol(memory, found));
  }
  return "?";
}

std::string describe(const object_memory& memory, oop o) {
  const known_objects& known = memory.known();
  if (is_integer(o)) return fmt::format("{}", integer_of(o));
  if (o == known.nil) return "nil";
  if (o == known.true_object) return "true";
  if (o == known.false_object) return "false";
  const oop of_class = memory.class_of(o);
  if (of_class == known.class_string) return fmt::format("'{}'", text_of(*memory.at(o)));
  if (of_class == memory.class_of(memory.special(special::does_not_understand)))
    return fmt::format("#{}", text_of(*memory.at(o)));
  if (memory.is_float(o)) return fmt::format("{}", memory.float_value(o));
  return fmt::format("a {}", name_of_class(memory, of_class));
}

std::vector<std::string> stack_lines(const object_memory& memory, oop context, std::size_t most) {
  std::vector<std::string> lines;
  for (oop at = context; at != memory.known().nil && memory.has_pointers(at) && lines.size() < most;
       at = memory.field(at, 0)) {
    if (!memory.is_context(*memory.at(at))) break;
    const bool is_block = is_integer(memory.field(at, 3));
    const oop home = is_block ? memory.field(at, 5) : at;
    lines.push_back((is_block ? "[] in " : "") +
                    name_of_method(memory, memory.class_of(memory.field(home, 5)), memory.field(home, 3)));
  }
  return lines;
}

}  // namespace squeak
