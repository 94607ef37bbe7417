#include <situ/machine/view.h>

#include <algorithm>
#include <map>
#include <vector>

namespace situ::machine {
namespace {

// Cores where there are any, else processing units: what computes, without the threads of a core.
bool is_worker(const tree& machine, node_id id) {
  const node& n = machine.at(id);
  if (n.kind == node_kind::core) return true;
  if (n.kind != node_kind::processing_unit) return false;
  for (node_id up = n.parent; up != no_node; up = machine.at(up).parent)
    if (machine.at(up).kind == node_kind::core) return false;
  return true;
}

bool has_addressable_child(const tree& machine, node_id id) {
  const auto& children = machine.at(id).children;
  return std::any_of(children.begin(), children.end(), [&](node_id child) {
    if (machine.at(child).kind == node_kind::cache && machine.at(child).cache == cache_kind::memory_side)
      return has_addressable_child(machine, child);
    return machine.is_addressable(child);
  });
}

bool in_numa_view(const tree& machine, node_id id) {
  const node& n = machine.at(id);
  switch (n.kind) {
    case node_kind::machine: return true;
    case node_kind::memory: return machine.is_addressable(id);
    case node_kind::cache: return n.cache != cache_kind::memory_side && has_addressable_child(machine, id);
    case node_kind::device: return has_addressable_child(machine, id);
    case node_kind::core:
    case node_kind::processing_unit: return is_worker(machine, id);
    default: return has_addressable_child(machine, id);
  }
}

// A core without its processing units is one processor, and takes the first one's index: cores' own repeat across
// packages.
node_facts worker_facts(const tree& machine, node_id id) {
  node_facts facts = machine.at(id);
  facts.os_index = machine.at(id).processors.first();
  return facts;
}

// The kept nodes that stand where a hidden one stood: the topmost workers under it, or else its nearest kept ancestor.
std::vector<node_id> stand_ins(const tree& machine, const std::vector<node_id>& kept, node_id id) {
  if (kept[id] != no_node) return {kept[id]};
  std::vector<node_id> result;
  const node_id last = id + machine.at(id).descendants;
  for (node_id i = id + 1; i <= last;) {
    if (kept[i] != no_node && machine.at(i).kind != node_kind::memory) {
      result.push_back(kept[i]);
      i += machine.at(i).descendants + 1;
    } else {
      ++i;
    }
  }
  for (node_id up = id; result.empty();) {
    up = machine.at(up).parent;
    if (kept[up] != no_node) result.push_back(kept[up]);
  }
  return result;
}

tree numa_view(const tree& machine) {
  tree_builder builder{machine.name(), machine.description()};
  std::vector<node_id> kept(machine.nodes().size(), no_node);
  kept[root_node] = root_node;
  for (node_id id = 1; id < machine.nodes().size(); ++id) {
    if (!in_numa_view(machine, id)) continue;
    node_id parent = machine.at(id).parent;
    while (kept[parent] == no_node) parent = machine.at(parent).parent;
    kept[id] = builder.add(kept[parent], is_worker(machine, id) ? worker_facts(machine, id)
                                                                : static_cast<const node_facts&>(machine.at(id)));
  }
  for (const path& record : machine.paths()) {
    if (kept[record.memory] == no_node) continue;
    for (const node_id from : stand_ins(machine, kept, record.from)) {
      path copy = record;
      copy.from = from;
      copy.memory = kept[record.memory];
      builder.add_path(copy);
    }
  }
  return std::move(builder).build();
}

tree flat_view(const tree& machine) {
  tree_builder builder{machine.name(), machine.description()};
  std::map<memory_kind, node_id> merged;
  for (const node_id id : machine.all(node_kind::memory)) {
    if (!machine.is_addressable(id)) continue;
    const memory_kind kind = machine.at(id).memory;
    if (!merged.contains(kind)) {
      node_facts facts;
      facts.kind = node_kind::memory;
      facts.memory = kind;
      merged[kind] = builder.add(root_node, facts);
    }
    builder.facts(merged[kind]).bytes += machine.at(id).bytes;
  }
  for (node_id id = 1; id < machine.nodes().size(); ++id)
    if (is_worker(machine, id)) builder.add(root_node, worker_facts(machine, id));
  return std::move(builder).build();
}

}  // namespace

tree view(const tree& machine, view_kind kind) {
  switch (kind) {
    case view_kind::numa: return numa_view(machine);
    case view_kind::flat: return flat_view(machine);
    default: return machine;
  }
}

}  // namespace situ::machine
