#include "graph/read_window.h"

namespace situ::detail {

void counted_reads::move_to(std::uintptr_t address, std::uint64_t bytes) {
  open_ = 0;
  open_ = open_for_reads(address, bytes);
  const place_context& context = *current;
  begin_ = address - (((address - context.base) & context.slice_mask) - context.heap_offset);
}

void counted_reads::count(std::uint64_t reads, std::uint64_t bytes) noexcept {
  // Reads that are checked on their own were counted by that.
  if (reads != 0 && open_ != 0) count_reads(begin_, reads, bytes);
}

}  // namespace situ::detail
