// Memory for arenas and containers: of the place's segment inside a runtime, so that other places reach it; of the heap
// outside.
#pragma once

#include <situ/memory/detail/place_context.h>

#include <cstddef>

#include "memory/huge_pages.h"

namespace situ::detail {

struct store {
  std::byte* bytes = nullptr;
  bool in_segment = false;
};

// Throws out_of_memory. The alignment is at least 16.
[[nodiscard]] store allocate_bytes_anywhere(std::size_t bytes, std::size_t alignment);
void free_bytes_anywhere(std::byte* block, bool in_segment) noexcept;

// For who is about to write all of these bytes of one store, in order.
[[nodiscard]] write_front front_of(std::byte* bytes, std::size_t count) noexcept;

}  // namespace situ::detail
