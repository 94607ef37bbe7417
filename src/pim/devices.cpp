#include "pim/devices.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fmt/format.h>

namespace situ::pim::detail {

std::string format_rows(std::span<const device_rows> devices) {
  std::string text;
  for (const device_rows& each : devices) {
    if (each.placed == 0) continue;
    const char* const unit = !text.empty() ? "" : each.placed == 1 ? " row" : " rows";
    text += fmt::format("{}{}{} in {}", text.empty() ? "" : ", ", each.placed, unit, each.name);
  }
  return text.empty() ? "no rows" : text;
}

void throw_no_room(std::string_view what, std::uint64_t bytes, std::span<const device_rows> devices,
                   std::string_view reason) {
  std::vector<computing_memory_use> uses;
  for (const device_rows& each : devices) {
    const std::uint64_t row_bytes = each.figures.columns / 8;
    uses.push_back({each.name, each.figures.bytes(), each.used * row_bytes, each.placed * row_bytes});
  }
  throw_error(
      errc::out_of_memory,
      fmt::format("{}: {} do not fit into memory that computes{}{}. Free memory, ask for less, or name a machine "
                  "file with more of it\n{}",
                  what, format_bytes(bytes), reason.empty() ? "" : ": ", reason, format_uses(bytes, uses)));
}

}  // namespace situ::pim::detail
