// Memory for arenas and containers: from the place's segment inside a runtime, so that other places can access it; from
// the heap outside.
#pragma once

#include <situ/memory/detail/place_context.h>

#include <cstddef>

namespace situ::detail {

class write_front;

struct store {
  std::byte* bytes = nullptr;
  bool in_segment = false;
};

// Allocates bytes. The alignment is at least 16. Throws out_of_memory.
[[nodiscard]] store allocate_bytes_anywhere(std::size_t bytes, std::size_t alignment);
void free_bytes_anywhere(std::byte* block, bool in_segment) noexcept;

// Returns the write front for a caller that will write all of these bytes of one store, in order.
[[nodiscard]] write_front front_of(std::byte* bytes, std::size_t count) noexcept;

}  // namespace situ::detail
