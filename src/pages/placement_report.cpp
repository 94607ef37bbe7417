#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "pages/placer.h"

namespace situ::detail {
namespace {

std::string name_of(const spill_memory& memory) {
  if (memory.node == no_node_here) return memory.name;
  if (memory.name[0] != '\0') return fmt::format("{} (node {})", memory.name, memory.node);
  return fmt::format("node {}{}", memory.node, memory.budget != nullptr ? " (part)" : "");
}

}  // namespace

std::string format_fills(const placement_report& report) {
  std::string text =
      fmt::format("{} of {} placed", format_bytes(report.placed_bytes), format_bytes(report.asked_bytes));
  if (report.by_kernel_bytes != 0)
    text += fmt::format(", {} of it by the kernel's policy", format_bytes(report.by_kernel_bytes));
  if (report.outcome == placement_outcome::no_room) text += ", no memory has room for more";
  if (report.outcome == placement_outcome::refused) text += fmt::format(": {}", std::strerror(report.error));
  std::vector<std::string> names;
  std::size_t width = 14;
  for (const memory_fill& row : report.memories) {
    names.push_back(name_of(row.memory));
    width = std::max(width, names.back().size() + 1);
  }
  text += fmt::format("\n  {:<{}}{:>11}{:>11}{:>9}{:>11}{:>11}{:>11}", "memory", width, "size", "used", "fill",
                      "threshold", "placed", "elsewhere");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const memory_fill& row = report.memories[i];
    const double fill =
        static_cast<double>(row.used_bytes) / static_cast<double>(std::max<std::uint64_t>(row.total_bytes, 1));
    const bool is_known = row.total_bytes != 0;
    text += fmt::format("\n  {:<{}}{:>11}{:>11}{:>9}{:>11}{:>11}{:>11}{}", names[i], width,
                        is_known ? format_bytes(row.total_bytes) : "?", is_known ? format_bytes(row.used_bytes) : "?",
                        is_known ? fmt::format("{:.1f} %", 100 * fill) : "?",
                        fmt::format("{:.1f} %", 100 * row.memory.fill), format_bytes(row.placed_bytes),
                        format_bytes(row.elsewhere_bytes), row.is_allowed ? "" : "  not allowed here");
  }
  return text;
}

void release_budgets(const placement_report& report) noexcept {
  for (const memory_fill& row : report.memories)
    if (row.memory.budget != nullptr) row.memory.budget->used.fetch_sub(row.placed_bytes, std::memory_order_relaxed);
}

}  // namespace situ::detail
