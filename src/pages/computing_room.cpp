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

namespace situ::detail {
namespace {

// Returns the process's budget for a memory of a file. Never destroyed: objects of static lifetime may hold bytes.
byte_budget& budget_of(const std::string& path, std::string_view name, std::uint64_t bytes) {
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

}  // namespace

std::vector<computing_memory> read_computing_memories(const std::string& path) {
  std::vector<std::string> where;
  const machine::tree tree = machine::read_toml(path, &where);
  std::vector<computing_memory> memories;
  for (const machine::ranked_memory& each : machine::ordering(tree, intent::pim, machine::root_node)) {
    const machine::node& node = tree.at(each.memory);
    const std::string name = tree.label(each.memory);
    if (node.computes == machine::pim_figures{})
      throw_error(
          errc::bad_file,
          fmt::format("{}: {} has no figures of what it computes; write computes.design = and the numbers of its "
                      "cells (docs/design/machine.md)",
                      where[each.memory], name));
    const machine::path bus = tree.figures(machine::root_node, each.memory);
    memories.push_back({.name = name,
                        .figures = node.computes,
                        .bandwidth = bus.best_bandwidth(),
                        .latency_ns = bus.latency(),
                        .budget = &budget_of(path, name, node.bytes)});
  }
  if (memories.empty())
    throw_error(errc::bad_file,
                fmt::format("{}: no memory of this machine computes; name a file that has one with memory "
                            "= \"pim\", as machines/pim-bitsimd.toml",
                            path));
  return memories;
}

memory_fill fill_of_cells(std::string_view name, std::uint64_t total_bytes, std::uint64_t used_bytes,
                          std::uint64_t placed_bytes) {
  memory_fill row{.memory = {.node = no_node_here, .fill = 1},
                  .placed_bytes = placed_bytes,
                  .total_bytes = total_bytes,
                  .used_bytes = used_bytes};
  name.copy(row.memory.name, sizeof row.memory.name - 1);
  return row;
}

computing_room::computing_room(const memory_kind& kind) : memories_{read_computing_memories(kind.path)} {
  for (const computing_memory& each : memories_)
    description_ += fmt::format("{}{}", description_.empty() ? "" : " > ", each.name);
  description_ = fmt::format("memory that computes ({}) of {}", description_, kind.path);
}

placement_report computing_room::take(std::uint64_t bytes) const {
  placement_report report;
  report.asked_bytes = bytes;
  for (const computing_memory& each : memories_) {
    const std::uint64_t rest = bytes - report.placed_bytes;
    const std::uint64_t taken =
        rest == 0 ? 0 : take_bytes(each.budget->used, each.budget->bytes.load(std::memory_order_relaxed), 1, rest);
    report.placed_bytes += taken;
    memory_fill& row = report.memories.emplace_back(
        fill_of_cells(each.name, each.figures.bytes(), each.budget->used.load(std::memory_order_relaxed), taken));
    row.memory.budget = each.budget;
  }
  if (report.placed_bytes < bytes) report.outcome = placement_outcome::no_room;
  return report;
}

}  // namespace situ::detail
