#include "memory/place_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace situ::detail {
std::string describe(const collective_call& call) {
  constexpr std::string_view names[] = {
      "nothing", "barrier",    "broadcast",  "reduce",  "all_reduce",         "inclusive_scan", "exclusive_scan",
      "gather",  "all_gather", "all_to_all", "scatter", "neighbour_exchange", "sparse_exchange"};
  const auto kind = static_cast<std::size_t>(call.kind);
  if (kind >= std::size(names)) return "an unknown collective";
  const bool has_root = call.kind == collective_kind::broadcast || call.kind == collective_kind::reduce ||
                        call.kind == collective_kind::gather || call.kind == collective_kind::scatter;
  return fmt::format("{}{}{}", names[kind], has_root ? fmt::format(" with root {}", call.root) : "",
                     call.bytes != 0 ? fmt::format(" of {} bytes", call.bytes) : "");
}

std::string_view name_table::operator[](std::uint32_t name) const noexcept {
  if (name == 0 || name > std::min(count.load(std::memory_order_acquire), most_names)) return {};
  const std::uint32_t begin = name == 1 ? 0 : ends[name - 2].load(std::memory_order_relaxed);
  const std::uint32_t end = ends[name - 1].load(std::memory_order_relaxed);
  return begin <= end && end <= sizeof text ? std::string_view{text + begin, end - begin} : std::string_view{};
}

}  // namespace situ::detail
