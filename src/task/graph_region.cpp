#include <situ/task/graph_region.h>

#include <numeric>

namespace situ {

void graph_region::look() {
  const detail::graph_extents found = detail::extents_of(root_);
  objects_ = found.objects;
  pieces_.clear();
  for (const detail::graph_extent& each : found.in_order)
    pieces_.push_back({.begin = reinterpret_cast<const void*>(each.begin), .bytes = each.bytes});
}

std::size_t graph_region::size_bytes() const noexcept {
  return std::accumulate(pieces_.begin(), pieces_.end(), std::size_t{0},
                         [](std::size_t sum, const memory_region& each) { return sum + each.bytes; });
}

}  // namespace situ
