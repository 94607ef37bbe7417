#include <situ/base/error_code.h>
#include <situ/machine/view.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace situ::machine {
namespace {

// Cores if there are any, else processing units: the units that compute, without a core's threads.
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

// Tells whether a program gives work to a device: it has an agent or its own memory, or copies or traverses by itself.
bool is_accelerator(const tree& machine, node_id id) {
  const node& n = machine.at(id);
  if (n.kind != node_kind::device) return false;
  if (n.device >= device_kind::dma && n.device != device_kind::bridge) return true;
  for (node_id i = id + 1; i <= id + n.descendants; ++i)
    if (machine.at(i).kind == node_kind::agent || machine.at(i).kind == node_kind::memory) return true;
  return false;
}

bool is_of_accelerator(const tree& machine, node_id id) {
  const node_id parent = machine.at(id).parent;
  return parent != no_node && machine.at(parent).kind == node_kind::device;
}

bool is_shown(const tree& machine, node_id id, const view_detail& detail) {
  const node& n = machine.at(id);
  switch (n.kind) {
    case node_kind::machine: return true;
    case node_kind::memory:
      return (detail.memories && machine.is_addressable(id)) ||
             (detail.accelerators && is_of_accelerator(machine, id) &&
              (detail.memories || !machine.is_addressable(id)));
    case node_kind::cache:
      if (n.cache == cache_kind::memory_side) return detail.lowest_cache == 0;
      return n.level >= detail.lowest_cache || (detail.memories && has_addressable_child(machine, id));
    case node_kind::core: return true;
    case node_kind::processing_unit: return detail.threads || is_worker(machine, id);
    case node_kind::agent: return detail.accelerators;
    case node_kind::device:
      return (detail.accelerators && is_accelerator(machine, id)) || (detail.devices && !is_accelerator(machine, id)) ||
             (detail.memories && has_addressable_child(machine, id));
    default: return detail.packages || (detail.memories && has_addressable_child(machine, id));
  }
}

// A core without its processing units is one processor, and takes the first one's index: the cores' own indices repeat
// across packages.
node_facts worker_facts(const tree& machine, node_id id) {
  node_facts facts = machine.at(id);
  facts.os_index = machine.at(id).processors.first();
  return facts;
}

// Returns the kept nodes that replace a hidden one: the topmost workers under it, or else its nearest kept ancestor.
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

class view_maker {
 public:
  view_maker(const tree& machine, const view_detail& detail)
      : machine_{machine},
        detail_{detail},
        builder_{machine.name(), machine.description()},
        kept_(machine.nodes().size(), no_node) {}

  tree run() {
    builder_.facts(root_node) = machine_.root();
    kept_[root_node] = root_node;
    if (!detail_.memories) merge_memories();
    for (node_id id = 1; id < machine_.nodes().size(); ++id) {
      if (kept_[id] != no_node || !is_shown(machine_, id, detail_)) continue;
      node_id parent = machine_.at(id).parent;
      while (kept_[parent] == no_node) parent = machine_.at(parent).parent;
      const bool alone = !detail_.threads && is_worker(machine_, id);
      kept_[id] = builder_.add(kept_[parent],
                               alone ? worker_facts(machine_, id) : static_cast<const node_facts&>(machine_.at(id)));
    }
    if (detail_.memories) paths();
    if (detail_.links) links();
    return std::move(builder_).build();
  }

 private:
  // Memories that can be allocated from become one of each kind.
  void merge_memories() {
    std::map<memory_technology, node_id> merged;
    for (const node_id id : machine_.all(node_kind::memory)) {
      if (!machine_.is_addressable(id)) continue;
      const memory_technology kind = machine_.at(id).memory;
      if (!merged.contains(kind)) {
        node_facts facts;
        facts.kind = node_kind::memory;
        facts.memory = kind;
        merged[kind] = builder_.add(root_node, facts);
      }
      builder_.facts(merged[kind]).bytes += machine_.at(id).bytes;
      kept_[id] = merged[kind];
    }
  }

  void paths() {
    for (const path& record : machine_.paths()) {
      if (kept_[record.memory] == no_node) continue;
      for (const node_id from : stand_ins(machine_, kept_, record.from)) {
        path copy = record;
        copy.from = from;
        copy.memory = kept_[record.memory];
        builder_.add_path(copy);
      }
    }
  }

  void links() {
    for (const link& joined : machine_.links()) {
      link shown = joined;
      shown.ends.clear();
      for (const node_id end : joined.ends)
        if (kept_[end] != no_node && std::ranges::find(shown.ends, kept_[end]) == shown.ends.end())
          shown.ends.push_back(kept_[end]);
      if (shown.ends.size() >= 2) builder_.add_link(std::move(shown));
    }
  }

  const tree& machine_;
  const view_detail& detail_;
  tree_builder builder_;
  std::vector<node_id> kept_;  // by node of the machine: its node of the view, or no_node
};

constexpr std::pair<std::string_view, view_kind> named_views[] = {{"full", view_kind::full},
                                                                  {"numa", view_kind::numa},
                                                                  {"flat", view_kind::flat},
                                                                  {"accelerators", view_kind::accelerators}};

void show(view_detail& detail, std::string_view part, std::string_view whole) {
  if (part == "packages") {
    detail.packages = true;
  } else if (part == "memories") {
    detail.memories = true;
  } else if (part == "caches") {
    detail.lowest_cache = 0;
  } else if (part.size() == 2 && part[0] == 'l' && part[1] >= '1' && part[1] <= '9') {
    detail.lowest_cache = std::min(detail.lowest_cache, static_cast<std::uint32_t>(part[1] - '0'));
  } else if (part == "threads") {
    detail.threads = true;
  } else if (part == "accelerators") {
    detail.accelerators = true;
  } else if (part == "devices") {
    detail.devices = true;
  } else if (part == "links") {
    detail.links = true;
  } else if (part != "workers") {
    throw_error(
        errc::bad_argument,
        fmt::format("\"{}\" in the view \"{}\" is not known; write full, numa, flat or accelerators, or a list of "
                    "packages, memories, caches, l1 to l9, threads, accelerators, devices, links, workers",
                    part, whole));
  }
}

}  // namespace

view_detail parse_view(std::string_view text) {
  for (const auto& [name, kind] : named_views)
    if (name == text) return view_detail::of(kind);
  view_detail detail;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    show(detail, rest.substr(0, comma), text);
    if (comma == std::string_view::npos) return detail;
    rest.remove_prefix(comma + 1);
  }
}

tree view(const tree& machine, const view_detail& detail) {
  if (detail == view_detail::of(view_kind::full)) return machine;
  return view_maker{machine, detail}.run();
}

}  // namespace situ::machine
