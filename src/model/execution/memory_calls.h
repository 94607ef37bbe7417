// Accesses to ranges of memory by functions and instructions that go through them.
#pragma once

#include <cstddef>

namespace situ::model {

// Lets the running core touch the range in pieces of 16 bytes, from its begin to its end.
void touch_range(const void* range, std::size_t bytes, bool writes);

}  // namespace situ::model
