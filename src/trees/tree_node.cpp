#include <situ/base/units.h>
#include <situ/machine/view.h>
#include <situ/trees/tree_node.h>

#include "trees/memories.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ {
namespace {

std::string line_of(const tree_node& node) {
  std::string text = node.name;
  if (node.bytes > 0) text += " " + format_bytes(node.bytes);
  if (node.bandwidth > 0) text += " " + format_bandwidth(node.bandwidth);
  if (!node.is_cache && node.workers > 0)
    text += fmt::format(", {} worker{}", node.workers, node.workers == 1 ? "" : "s");
  return text + "\n";
}

void draw_children(const tree_node& node, const std::string& prefix, std::string& text) {
  for (const tree_node& child : node.children) {
    const bool is_last = &child == &node.children.back();
    text += prefix + (is_last ? "└─ " : "├─ ") + line_of(child);
    draw_children(child, prefix + (is_last ? "   " : "│  "), text);
  }
}

// Returns the caches nearest to the workers that are private to them, except for L1: tiles of L1 would be too small.
std::vector<machine::node_id> private_caches(const machine::tree& machine, const machine::processor_set& near) {
  std::vector<machine::node_id> lowest;
  for (const machine::node_id id : machine.all(machine::node_kind::cache)) {
    const machine::node& n = machine.at(id);
    if (n.cache == machine::cache_kind::memory_side || n.cache == machine::cache_kind::instruction ||
        !near.includes(n.processors))
      continue;
    if (!lowest.empty() && machine.is_under(id, lowest.back())) {
      if (n.level == 1) continue;
      lowest.back() = id;
    } else {
      lowest.push_back(id);
    }
  }
  return lowest;
}

}  // namespace

std::uint32_t tree_node::levels() const noexcept {
  std::uint32_t below = 0;
  for (const tree_node& child : children) below = std::max(below, child.levels());
  return below + 1;
}

std::string tree_node::to_text() const {
  std::string text = line_of(*this);
  draw_children(*this, "", text);
  return text;
}

std::vector<machine::node_id> detail::memories_of(const machine::tree& machine) {
  std::vector<machine::node_id> all = machine.all(machine::node_kind::memory);
  std::erase_if(all, [&](machine::node_id id) {
    return !machine.is_addressable(id) || machine.at(machine.at(id).parent).kind == machine::node_kind::device;
  });
  return all;
}

tree_node shape_of(const machine::tree& machine) {
  tree_node root;
  root.name = machine.name().empty() ? "machine" : machine.name();
  for (const machine::node_id id : detail::memories_of(machine)) {
    const machine::node& memory = machine.at(id);
    tree_node child{machine.label(id), memory.bytes, machine.figures(memory.parent, id).best_bandwidth(), 0, false, {}};
    for (const machine::node_id cache : private_caches(machine, memory.processors)) {
      const machine::node& c = machine.at(cache);
      child.children.push_back({machine.label(cache), c.bytes, c.bandwidth, 1, true, {}});
    }
    for (const machine::node_id core : machine.all(machine::node_kind::core))
      if (memory.processors.includes(machine.at(core).processors)) ++child.workers;
    if (child.workers == 0) child.workers = static_cast<std::uint32_t>(memory.processors.size());
    root.bytes += child.bytes;
    root.children.push_back(std::move(child));
  }
  root.workers = static_cast<std::uint32_t>(machine::view(machine, machine::view_kind::flat).root().processors.size());
  return root;
}

}  // namespace situ
