// Measures the reach of a core's first data TLB.
#include "machine/measure_core.h"
#include "os/host.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace situ::machine::detail {

// Each page has one line in the chase, so that the first cache holds the lines long after the TLB does not hold the
// pages. They are chased in one cycle: if there are more pages than entries, each access misses. That is a step,
// whatever the replacement order.
tlb translations_held(std::span<std::byte> memory, std::size_t line_bytes, std::uint64_t first_cache_bytes,
                      double gigahertz) {
  constexpr std::size_t step = 8;
  constexpr double least_cycles = 1.5;  // a smaller difference is no step
  const std::size_t stride =
      situ::detail::page_bytes + line_bytes;  // so that the lines are not all in one set of the cache
  const std::size_t most = std::min<std::size_t>(first_cache_bytes / line_bytes * 3 / 4, memory.size() / stride);
  std::vector<double> times;
  for (std::size_t pages = step; pages <= most; pages += step)
    times.push_back(chase_ns(memory.first(pages * stride), stride));
  if (times.size() < 2) return {};
  const double held = times.front();
  const double walked = times.back();
  if ((walked - held) * gigahertz < least_cycles) return {};
  const auto beyond = std::find_if(times.begin(), times.end(), [&](double ns) { return ns > (held + walked) / 2; });
  const auto entries = static_cast<std::uint32_t>((beyond - times.begin()) * step);
  if (entries == 0) return {};
  return {.entries = entries,
          .ways = entries,
          .page_bytes = situ::detail::page_bytes,
          .walk_cycles = std::round((walked - held) * gigahertz * 100) / 100};
}

}  // namespace situ::machine::detail
