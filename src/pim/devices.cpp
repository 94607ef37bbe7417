#include "pim/devices.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include "pages/computing_room.h"

#include <utility>

namespace situ::pim::detail {
namespace {

using situ::detail::computing_memory;

std::uint64_t row_bytes(const device_rows& device) noexcept { return device.figures.columns / 8; }

}  // namespace

std::vector<device_entry> read_devices(const memory_kind& kind) {
  if (kind.from != memory_kind::source::pim)
    throw_error(errc::bad_argument,
                "pim: this kind of memory does not compute; give pim:FILE, a machine file with a memory that does "
                "(machines/pim-bitsimd.toml)");
  std::vector<device_entry> devices;
  for (computing_memory& each : situ::detail::read_computing_memories(kind.path))
    devices.push_back({.name = std::move(each.name),
                       .figures = each.figures,
                       .bandwidth = each.bandwidth,
                       .latency_ns = each.latency_ns,
                       .pages = kind.of_pages()});
  return devices;
}

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
  situ::detail::placement_report report;
  report.outcome = situ::detail::placement_outcome::no_room;
  report.asked_bytes = bytes;
  for (const device_rows& each : devices) {
    report.memories.push_back(situ::detail::fill_of_cells(each.name, each.figures.bytes(), each.used * row_bytes(each),
                                                          each.placed * row_bytes(each)));
    report.placed_bytes += report.memories.back().placed_bytes;
  }
  throw_error(
      errc::out_of_memory,
      fmt::format("{}: {} do not fit into memory that computes{}{}. Free memory, ask for less, or name a machine "
                  "file with more of it\n{}",
                  what, format_bytes(bytes), reason.empty() ? "" : ": ", reason, format_fills(report)));
}

}  // namespace situ::pim::detail
