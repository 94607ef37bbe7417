// An image's objects brought into a heap, and a heap's objects taken out of it as an image.
#pragma once

#include "image.h"
#include "object_memory.h"

#include <vector>

namespace squeak {

// Makes all objects of an image, and makes its special objects those of `memory`. pre: read_image returned the image;
// within memory's section. Throws out_of_memory.
void load_image(const image& of, object_memory& memory);

// Returns the objects that the special objects and `also` lead to, in the order in which they were met: the special
// objects first. Weak fields lead to nothing. cost: a walk through them.
[[nodiscard]] std::vector<oop> reachable_objects(const object_memory& memory, const std::vector<oop>& also = {});

// Takes the objects that the special objects lead to. Stacks above a context's stack pointer, and weak fields whose
// object nothing else refers to, hold nil. `like` gives what objects do not say: window and flags.
[[nodiscard]] image take_image(const object_memory& memory, const image& like);

}  // namespace squeak
