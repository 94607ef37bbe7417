// The objects of an image that an interpreter relies on: it reads their fields without a test.
#pragma once

#include "image.h"

#include <functional>
#include <string>

namespace squeak {

// Calls refuse(object, reason), which throws, for the first object that is not what it should be. pre: every reference
// leads to an object, and there are special::least special objects.
void check_image(const image& of, const std::function<void(std::uint32_t object, const std::string& reason)>& refuse);

}  // namespace squeak
