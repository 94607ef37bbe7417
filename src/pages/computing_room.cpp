#include "pages/computing_room.h"

#include <situ/base/error_code.h>
#include <situ/machine/ordering.h>
#include <situ/machine/toml.h>

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

namespace situ {
namespace {

using detail::byte_budget;
using detail::memory_fill;
using detail::placement_outcome;
using detail::placement_report;

// Returns the process's budget for a memory of a file. Never destroyed: objects of static lifetime may hold bytes.
byte_budget& budget_of_cells(const std::string& path, std::string_view name, std::uint64_t bytes) {
  static std::mutex lock;
  static auto& known = *new std::map<std::string, std::unique_ptr<byte_budget>>;
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, failed);
  const std::string key = fmt::format("{} {} {}", failed ? path : whole.string(), name, bytes);
  const std::lock_guard held{lock};
  std::unique_ptr<byte_budget>& entry = known[key];
  if (entry == nullptr) {
    entry = std::make_unique<byte_budget>();
    entry->bytes = bytes;
  }
  return *entry;
}

memory_fill fill_of(const computing_memory_use& memory) {
  memory_fill row{.memory = {.node = detail::no_node_here, .fill = 1},
                  .placed_bytes = memory.placed_bytes,
                  .total_bytes = memory.total_bytes,
                  .used_bytes = memory.used_bytes};
  memory.name.copy(row.memory.name, sizeof row.memory.name - 1);
  return row;
}

computing_memory read_memory(const machine::tree& tree, machine::node_id id, std::string_view where) {
  const machine::node& node = tree.at(id);
  if (node.computes == machine::pim_figures{})
    throw_error(errc::bad_file,
                fmt::format("{}: {} has no figures of what it computes; write computes.design = and the numbers of its "
                            "cells (docs/design/machine.md)",
                            where, tree.label(id)));
  const machine::path bus = tree.figures(machine::root_node, id);
  return {.name = tree.label(id),
          .figures = node.computes,
          .bandwidth = bus.best_bandwidth(),
          .latency_ns = bus.latency(),
          .pages = {}};
}

}  // namespace

std::vector<computing_memory> read_computing_memories(const memory_kind& kind) {
  if (kind.from != memory_kind::source::pim)
    throw_error(errc::bad_argument,
                "this kind of memory does not compute; give pim:FILE, a machine file with a memory that does "
                "(machines/pim-bitsimd.toml)");
  std::vector<std::string> where;
  const machine::tree tree = machine::read_toml(kind.path, &where);
  std::vector<computing_memory> memories;
  for (const machine::ranked_memory& each : machine::ordering(tree, intent::pim, machine::root_node)) {
    memories.push_back(read_memory(tree, each.memory, where[each.memory]));
    memories.back().pages = kind.of_pages();
  }
  if (memories.empty())
    throw_error(errc::bad_file,
                fmt::format("{}: no memory of this machine computes; name a file that has one with memory "
                            "= \"pim\", as machines/pim-bitsimd.toml",
                            kind.path));
  return memories;
}

std::string format_uses(std::uint64_t asked_bytes, std::span<const computing_memory_use> memories) {
  placement_report report;
  report.asked_bytes = asked_bytes;
  for (const computing_memory_use& each : memories) {
    report.memories.push_back(fill_of(each));
    report.placed_bytes += each.placed_bytes;
  }
  if (report.placed_bytes < asked_bytes) report.outcome = placement_outcome::no_room;
  return format_fills(report);
}

namespace detail {

computing_room::computing_room(const memory_kind& kind) {
  for (const computing_memory& each : read_computing_memories(kind)) {
    description_ += fmt::format("{}{}", description_.empty() ? "" : " > ", each.name);
    memories_.push_back({each.name, &budget_of_cells(kind.path, each.name, each.figures.bytes())});
  }
  description_ = fmt::format("memory that computes ({}) of {}", description_, kind.path);
}

placement_report computing_room::take(std::uint64_t bytes) const {
  placement_report report;
  report.asked_bytes = bytes;
  for (const memory& each : memories_) {
    const std::uint64_t total = each.budget->bytes.load(std::memory_order_relaxed);
    const std::uint64_t rest = bytes - report.placed_bytes;
    const std::uint64_t taken = rest == 0 ? 0 : take_bytes(each.budget->used, total, 1, rest);
    report.placed_bytes += taken;
    report.memories.push_back(fill_of({each.name, total, each.budget->used.load(std::memory_order_relaxed), taken}));
    report.memories.back().memory.budget = each.budget;
  }
  if (report.placed_bytes < bytes) report.outcome = placement_outcome::no_room;
  return report;
}

}  // namespace detail
}  // namespace situ
