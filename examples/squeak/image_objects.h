// An image's objects brought into a heap, and a heap's objects taken out of it as an image.
#pragma once

#include "image.h"
#include "object_memory.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace squeak {

// An object that is to be made: one without class and fields.
struct object_shape {
  std::uint32_t words = 0;
  std::uint16_t tag = 0;  // hash and format
  bool is_context = false;
};
// Makes such objects. Within memory's section. Throws out_of_memory.
[[nodiscard]] std::vector<oop> make_objects(object_memory& memory, const std::vector<object_shape>& shapes);
using object_maker = std::function<std::vector<oop>(const std::vector<object_shape>& shapes)>;

// Makes all objects of an image by `make`, and makes its special objects those of `memory`. Returns all objects. pre:
// read_image returned the image; within memory's section. Throws out_of_memory.
std::vector<oop> load_image(const image& of, object_memory& memory, const object_maker& make);

// Returns the objects that the special objects and `also` lead to, in the order in which they were met: the special
// objects first. Weak fields lead to nothing. cost: a walk through them.
[[nodiscard]] std::vector<oop> reachable_objects(const object_memory& memory, const std::vector<oop>& also = {});

// Takes the objects that the special objects lead to. Stacks above a context's stack pointer, and weak fields whose
// object nothing else refers to, hold nil. `like` gives what objects do not say: window and flags.
[[nodiscard]] image take_image(const object_memory& memory, const image& like);

}  // namespace squeak
