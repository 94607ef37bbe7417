// Byte ranges in a pool's file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace situ::detail {

struct pool_range {
  std::uint64_t offset;
  std::uint64_t bytes;
  [[nodiscard]] std::uint64_t end() const noexcept { return offset + bytes; }
};

// Sorts ranges by offset, and merges those that overlap or touch.
inline void merge_ranges(std::vector<pool_range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const pool_range& a, const pool_range& b) { return a.offset < b.offset; });
  std::size_t kept = 0;
  for (const pool_range& each : ranges) {
    if (kept != 0 && each.offset <= ranges[kept - 1].end()) {
      pool_range& last = ranges[kept - 1];
      last.bytes = std::max(last.end(), each.end()) - last.offset;
    } else {
      ranges[kept++] = each;
    }
  }
  ranges.resize(kept);
}

}  // namespace situ::detail
