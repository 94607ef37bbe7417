#include <situ/base/detail/assert.h>
#include <situ/base/error_code.h>
#include <situ/machine/tree.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace situ::machine {

std::string_view name(node_kind kind) noexcept {
  static constexpr std::string_view names[] = {"machine",         "package", "group",  "cache", "core",
                                               "processing_unit", "memory",  "device", "agent"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name(memory_technology kind) noexcept {
  static constexpr std::string_view names[] = {"dram", "hbm", "persistent", "cxl", "gpu", "scratchpad", "file", "pim"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name(cache_kind kind) noexcept {
  static constexpr std::string_view names[] = {"unified", "data", "instruction", "memory_side"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name(device_kind kind) noexcept {
  static constexpr std::string_view names[] = {
      "other",           "gpu",        "network", "storage", "network_adapter", "dma", "range_operations",
      "graph_writeback", "graph_copy", "gascore", "pams",    "bridge"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name(grade how_much) noexcept {
  static constexpr std::string_view names[] = {"unknown", "low", "medium", "high"};
  return names[static_cast<std::size_t>(how_much)];
}

std::string_view name(addressability unit) noexcept {
  static constexpr std::string_view names[] = {"unknown", "byte", "block", "page", "none"};
  return names[static_cast<std::size_t>(unit)];
}

std::string_view name(link_kind kind) noexcept {
  static constexpr std::string_view names[] = {"coherent", "explicit", "incoherent"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name(write_policy policy) noexcept {
  static constexpr std::string_view names[] = {"unknown", "write_back", "write_through"};
  return names[static_cast<std::size_t>(policy)];
}

std::string_view name(line_allocation when) noexcept {
  static constexpr std::string_view names[] = {"unknown", "reads", "reads_and_writes"};
  return names[static_cast<std::size_t>(when)];
}

std::string_view name(replacement by) noexcept {
  static constexpr std::string_view names[] = {"unknown", "lru", "tree_plru", "srrip", "random"};
  return names[static_cast<std::size_t>(by)];
}

std::string_view name(inclusion how) noexcept {
  static constexpr std::string_view names[] = {"unknown", "none", "inclusive", "exclusive"};
  return names[static_cast<std::size_t>(how)];
}

std::string_view name(page_policy how) noexcept {
  static constexpr std::string_view names[] = {"unknown", "open", "closed"};
  return names[static_cast<std::size_t>(how)];
}

std::string_view name(address_mapping how) noexcept {
  static constexpr std::string_view names[] = {"unknown", "row_bank_column", "row_column_bank", "permutation"};
  return names[static_cast<std::size_t>(how)];
}

std::string_view name(page_walks how) noexcept {
  static constexpr std::string_view names[] = {"unknown", "fixed", "through_caches"};
  return names[static_cast<std::size_t>(how)];
}

std::string_view name(coherence how) noexcept {
  static constexpr std::string_view names[] = {"unknown", "none", "snooping", "directory"};
  return names[static_cast<std::size_t>(how)];
}

std::string_view name(topology shape) noexcept {
  static constexpr std::string_view names[] = {"direct", "mesh", "torus", "full", "ring"};
  return names[static_cast<std::size_t>(shape)];
}

std::string_view name(traffic what) noexcept { return what == traffic::messages ? "messages" : "all"; }

const node& tree::at(node_id id) const {
  SITU_ASSERT(1, id < nodes_.size(), "pass a node id of this tree; ids of another tree or view differ");
  return nodes_[id];
}

std::vector<node_id> tree::all(node_kind kind) const {
  std::vector<node_id> result;
  for (node_id id = 0; id < nodes_.size(); ++id)
    if (nodes_[id].kind == kind) result.push_back(id);
  return result;
}

namespace {

std::string kind_label(const node_facts& facts) {
  switch (facts.kind) {
    case node_kind::cache:
      if (facts.cache == cache_kind::memory_side) return "memory-side cache";
      return fmt::format("L{}{}", facts.level,
                         facts.cache == cache_kind::data          ? "d"
                         : facts.cache == cache_kind::instruction ? "i"
                                                                  : "");
    case node_kind::processing_unit: return "pu";
    case node_kind::memory: return std::string{name(facts.memory)};
    case node_kind::device:
      return facts.device == device_kind::other ? "device" : std::string{name(facts.device)} + " device";
    default: return std::string{name(facts.kind)};
  }
}

}  // namespace

std::string tree::label(node_id id) const {
  const node& n = at(id);
  if (n.kind == node_kind::machine) return "machine";
  return fmt::format("{} {}", kind_label(n), n.index);
}

node_id tree::common_ancestor(node_id a, node_id b) const noexcept {
  while (!is_under(b, a)) a = nodes_[a].parent;
  return a;
}

namespace {

// Tells whether a processor hangs under a node: a memory tile is a group without processors.
bool has_processors(std::span<const node> nodes, node_id id) {
  for (node_id i = id; i <= id + nodes[id].descendants; ++i)
    if (nodes[i].kind == node_kind::core || nodes[i].kind == node_kind::processing_unit) return true;
  return false;
}

// Returns the child that holds all of these processors, or no_node. A memory or device only repeats its parent's.
node_id child_with(std::span<const node> nodes, node_id parent, const processor_set& processors) {
  for (const node_id child : nodes[parent].children) {
    const node& n = nodes[child];
    if (n.kind != node_kind::memory && n.kind != node_kind::device && n.kind != node_kind::agent &&
        n.cache != cache_kind::memory_side && n.processors.includes(processors) && has_processors(nodes, child))
      return child;
  }
  return no_node;
}

}  // namespace

node_id tree::covering(const processor_set& processors) const {
  node_id best = root_node;
  if (processors.empty()) return best;
  for (node_id at = root_node; at != no_node; at = child_with(nodes_, at, processors))
    if (nodes_[at].processors.size() < nodes_[best].processors.size()) best = at;
  return best;
}

bool tree::is_processor(node_id id) const {
  const node& n = at(id);
  if (n.kind == node_kind::processing_unit) return true;
  if (n.kind != node_kind::core) return false;
  for (node_id i = id + 1; i <= id + n.descendants; ++i)
    if (nodes_[i].kind == node_kind::processing_unit) return false;
  return true;
}

node_id tree::processor(std::uint32_t os_index) const noexcept {
  for (node_id id = 0; id < nodes_.size(); ++id)
    if (nodes_[id].os_index == os_index && is_processor(id)) return id;
  return no_node;
}

node_id tree::memory(std::uint32_t os_index) const noexcept {
  for (node_id id = 0; id < nodes_.size(); ++id)
    if (nodes_[id].kind == node_kind::memory && nodes_[id].os_index == os_index && os_index != no_index) return id;
  return no_node;
}

bool tree::is_addressable(node_id memory) const {
  return at(memory).kind == node_kind::memory && at(memory).os_index != no_index;
}

std::uint64_t tree::memory_bytes(node_id id, bool with_devices) const {
  std::uint64_t sum = 0;
  for (node_id i = id; i <= id + at(id).descendants; ++i)
    if (nodes_[i].kind == node_kind::memory && (with_devices || is_addressable(i))) sum += nodes_[i].bytes;
  return sum;
}

path tree::figures(node_id from, node_id memory) const {
  path result;
  // Nodes with the same processors have the same paths: the search begins at the lowest of them.
  node_id lowest = from;
  for (node_id below = from; below != no_node && at(from).kind != node_kind::device;) {
    below = child_with(nodes_, lowest, at(from).processors);
    if (below != no_node) lowest = below;
  }
  for (node_id node = lowest; node != no_node; node = at(node).parent) {
    const auto found =
        std::lower_bound(paths_.begin(), paths_.end(), std::pair{node, memory},
                         [](const path& a, const auto& key) { return std::pair{a.from, a.memory} < key; });
    if (found == paths_.end() || found->from != node || found->memory != memory) continue;
    result = *found;
    break;
  }
  result.from = from;
  result.memory = memory;
  const machine::node& target = at(memory);
  if (target.processors.includes(at(from).processors)) {
    if (result.latency() == 0) {
      result.latency_ns = target.latency_ns;
      result.read_latency_ns = target.read_latency_ns;
    }
    if (result.write_latency_ns == 0) result.write_latency_ns = target.write_latency_ns;
    if (result.best_bandwidth() == 0) {
      result.bandwidth = target.bandwidth;
      result.read_bandwidth = target.read_bandwidth;
    }
    if (result.write_bandwidth == 0) result.write_bandwidth = target.write_bandwidth;
  }
  return result;
}

tree_builder::tree_builder(std::string name, std::string description) : description_{std::move(description)} {
  node_facts root;
  root.kind = node_kind::machine;
  root.name = std::move(name);
  nodes_.push_back({std::move(root), no_node, {}});
}

namespace {

// Returns why a child cannot hang there, or nullptr.
const char* misplaced(const node_facts& parent, const node_facts& child) {
  if (child.kind == node_kind::machine) return "a machine has one root";
  if (parent.kind == node_kind::memory) return "nothing hangs under a memory; put it beside it";
  if (parent.kind == node_kind::processing_unit) return "nothing hangs under a processing unit";
  if (parent.kind == node_kind::agent) return "nothing hangs under an agent";
  if (child.kind == node_kind::agent && parent.kind != node_kind::device)
    return "an agent hangs under the device that it gives work to";
  if (parent.kind == node_kind::device && child.kind != node_kind::memory && child.kind != node_kind::device &&
      child.kind != node_kind::agent)
    return "only memories, agents and devices hang under a device";
  if (parent.cache == cache_kind::memory_side && parent.kind == node_kind::cache && child.kind != node_kind::memory &&
      child.kind != node_kind::cache)
    return "only memories hang under a memory-side cache";
  if (parent.kind == node_kind::core && (child.kind == node_kind::core || child.kind == node_kind::package))
    return "a core holds caches and processing units";
  if (child.kind == node_kind::cache && child.level == 0 && child.cache != cache_kind::memory_side)
    return "a cache has a level from 1 on";
  return nullptr;
}

}  // namespace

namespace {

bool has_memory_figures(const node_facts& facts) {
  return facts.read_latency_ns > 0 || facts.write_latency_ns > 0 || facts.read_bandwidth > 0 ||
         facts.write_bandwidth > 0 || facts.density_bytes > 0 || facts.leakage != grade::unknown ||
         facts.read_power != grade::unknown || facts.write_power != grade::unknown ||
         facts.unit != addressability::unknown;
}

}  // namespace

namespace {

void check_figure(double figure) {
  if (!(figure >= 0) || !std::isfinite(figure))
    throw_error(errc::bad_argument, "times and cycles are finite numbers, not below zero");
}

void check_model_figures(const node_facts& facts) {
  for (const double figure :
       {facts.access_ns, facts.occupancy_ns, facts.width, facts.cycles.integer, facts.cycles.multiply,
        facts.cycles.divide, facts.cycles.floating, facts.cycles.branch, facts.cycles.call, facts.cycles.mispredict,
        facts.rows.trcd_ns, facts.rows.trp_ns, facts.rows.tras_ns, facts.rows.trefi_ns, facts.rows.trfc_ns})
    check_figure(figure);
  for (const auto& [key, of] : tlb_keys) {
    check_figure((facts.*of).walk_cycles);
    check_figure((facts.*of).hit_cycles);
  }
  if ((facts.x == no_index) != (facts.y == no_index))
    throw_error(errc::bad_argument, "a position has a column and a row");
}

// A memory that computes is as large as its cells.
void complete_cells(node_facts& facts) {
  if (facts.computes == pim_figures{}) return;
  if (facts.kind != node_kind::memory || facts.memory != memory_technology::pim)
    throw_error(errc::bad_argument, "figures of computing are those of a memory with the technology pim");
  check(facts.computes);
  if (facts.bytes == 0) facts.bytes = facts.computes.bytes();
  if (facts.bytes != facts.computes.bytes())
    throw_error(errc::bad_argument,
                fmt::format("its cells are {} bytes, and its size is {}; leave the size out: it follows from the cells",
                            facts.computes.bytes(), facts.bytes));
}

}  // namespace

node_id tree_builder::add(node_id parent, node_facts facts) {
  if (parent >= nodes_.size()) throw_error(errc::bad_argument, "add parents before their children");
  if (nodes_.size() >= max_nodes)
    throw_error(errc::bad_argument, fmt::format("a machine of more than {} nodes; check the counts", max_nodes));
  for (const double ns : {facts.latency_ns, facts.read_latency_ns, facts.write_latency_ns})
    if (!(ns >= 0) || !std::isfinite(ns))
      throw_error(errc::bad_argument, "a latency is a finite number, not below zero");
  check_model_figures(facts);
  complete_cells(facts);
  if (facts.kind != node_kind::memory && facts.kind != node_kind::cache && has_memory_figures(facts))
    throw_error(errc::bad_argument,
                fmt::format("power, density, addressability and figures of reads and writes are those "
                            "of memories and caches, not of a {}",
                            kind_label(facts)));
  if (const char* reason = misplaced(nodes_[parent].facts, facts))
    throw_error(errc::bad_argument,
                fmt::format("a {} under a {}: {}", kind_label(facts), kind_label(nodes_[parent].facts), reason));
  const auto id = static_cast<node_id>(nodes_.size());
  nodes_[parent].children.push_back(id);
  nodes_.push_back({std::move(facts), parent, {}});
  return id;
}

void tree_builder::add_path(path record) {
  if (record.from >= nodes_.size() || record.memory >= nodes_.size())
    throw_error(errc::bad_argument, "a path names nodes that were added");
  if (nodes_[record.memory].facts.kind != node_kind::memory)
    throw_error(errc::bad_argument, "a path leads to a memory");
  if (nodes_[record.from].facts.kind == node_kind::memory)
    throw_error(errc::bad_argument, "a path starts at processors or a device, not at a memory");
  for (const double ns : {record.latency_ns, record.read_latency_ns, record.write_latency_ns})
    if (!(ns >= 0) || !std::isfinite(ns))
      throw_error(errc::bad_argument, "a latency is a finite number, not below zero");
  paths_.push_back(record);
}

namespace {

bool is_grid(topology shape) { return shape == topology::mesh || shape == topology::torus; }
bool is_full_or_ring(topology shape) { return shape == topology::full || shape == topology::ring; }

// Returns which figure a link has that is of another shape, or an empty string if it has none.
std::string figure_of_other_shape(const link& joined) {
  if (!is_grid(joined.shape) && (joined.columns != 0 || joined.rows != 0))
    return "columns and rows are those of a mesh or a torus";
  if (!is_grid(joined.shape) && joined.raw != raw_channels{}) return "raw channels are those of a mesh or a torus";
  if (joined.shape == topology::direct && (joined.width_bits != 0 || joined.hertz != 0))
    return "a width and a clock are those of a mesh, a torus, a full link or a ring";
  if (!is_full_or_ring(joined.shape) && joined.queue != 0) return "a queue is that of a full link or a ring";
  return "";
}

// Returns why a grid is impossible for its positions (one for each end), or an empty string if it is possible.
std::string impossible_grid(const link& joined, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& positions) {
  if (joined.columns == 0 || joined.rows == 0)
    return fmt::format("a {} has columns and rows, 1 or more", name(joined.shape));
  std::set<std::pair<std::uint32_t, std::uint32_t>> taken;
  for (const auto& at : positions) {
    if (at.first == no_index)
      return fmt::format("each end of a {} has a position on it; give the nodes `position`", name(joined.shape));
    if (at.first >= joined.columns || at.second >= joined.rows)
      return fmt::format("the position {},{} is outside of a {} of {} columns and {} rows", at.first, at.second,
                         name(joined.shape), joined.columns, joined.rows);
    if (!taken.insert(at).second)
      return fmt::format("two ends of a {} have the position {},{}; give each its own", name(joined.shape), at.first,
                         at.second);
  }
  return "";
}

}  // namespace

void tree_builder::add_link(link joined) {
  if (joined.ends.size() < 2)
    throw_error(errc::bad_argument,
                joined.shape == topology::ring ? "a ring joins two nodes or more" : "a link joins two nodes or more");
  if (!(joined.latency_ns >= 0) || !std::isfinite(joined.latency_ns))
    throw_error(errc::bad_argument, "a latency is a finite number, not below zero");
  check_figure(joined.raw.send_ns);
  check_figure(joined.raw.receive_ns);
  std::set<node_id> seen;
  for (const node_id end : joined.ends) {
    if (end >= nodes_.size()) throw_error(errc::bad_argument, "a link names nodes that were added");
    if (!seen.insert(end).second) throw_error(errc::bad_argument, "a link joins different nodes, and names each once");
    const node_kind kind = nodes_[end].facts.kind;
    const bool holds_nodes = kind == node_kind::group || kind == node_kind::package;
    if (joined.kind == link_kind::copying && kind != node_kind::memory && kind != node_kind::device &&
        !(holds_nodes && is_full_or_ring(joined.shape)))
      throw_error(errc::bad_argument,
                  "an explicit link joins memories and devices; caches and cores have coherent ones");
  }
  check_shape(joined);
  links_.push_back(std::move(joined));
}

void tree_builder::check_shape(const link& joined) const {
  std::string reason = figure_of_other_shape(joined);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> positions;
  for (const node_id end : joined.ends) {
    positions.emplace_back(nodes_[end].facts.x, nodes_[end].facts.y);
    if (joined.shape != topology::full) continue;
    if (nodes_[end].facts.kind == node_kind::memory)
      reason = "a full link joins no memories, but the nodes around them";
    if (nodes_[end].parent != nodes_[joined.ends.front()].parent)
      reason = "a full link joins nodes under one node; add a link for each of several";
  }
  if (reason.empty() && is_grid(joined.shape)) reason = impossible_grid(joined, positions);
  if (!reason.empty()) throw_error(errc::bad_argument, reason);
}

namespace {

// Numbers nodes of one kind (and level) in tree order.
using family_key = std::tuple<node_kind, std::uint32_t, cache_kind>;
family_key family_of(const node_facts& facts) {
  const bool is_cache = facts.kind == node_kind::cache;
  return {facts.kind, is_cache ? facts.level : 0, is_cache ? facts.cache : cache_kind::unified};
}

void number_nodes(std::vector<node>& nodes) {
  std::map<family_key, std::uint32_t> next;
  std::vector<char> in_device(nodes.size(), 0);
  for (node_id id = 0; id < nodes.size(); ++id) {
    node& n = nodes[id];
    in_device[id] = n.kind == node_kind::device || (n.parent != no_node && in_device[n.parent] != 0) ? 1 : 0;
    n.index = next[family_of(n)]++;
    if (n.parent != no_node) n.depth = nodes[n.parent].depth + 1;
    const bool numbered = n.kind == node_kind::processing_unit || n.kind == node_kind::core ||
                          n.kind == node_kind::package || n.kind == node_kind::memory;
    if (n.kind == node_kind::memory && n.unit == addressability::none) {
      if (n.os_index != no_index)
        throw_error(
            errc::bad_argument,
            fmt::format("{} {} has an OS index, and addressability none: nobody can allocate from it; give one of "
                        "them",
                        name(n.memory), n.index));
      continue;
    }
    if (numbered && in_device[id] == 0 && n.os_index == no_index) n.os_index = n.index;
  }
}

void collect_processors(std::vector<node>& nodes) {
  for (node_id id = static_cast<node_id>(nodes.size()); id-- > 0;) {
    node& n = nodes[id];
    if (n.kind == node_kind::processing_unit || (n.kind == node_kind::core && n.processors.empty()))
      n.processors.insert(n.os_index);
    if (n.parent == no_node) continue;
    nodes[n.parent].processors |= n.processors;
    nodes[n.parent].descendants += n.descendants + 1;
  }
  for (node& n : nodes)
    if (n.processors.empty() && n.parent != no_node) n.processors = nodes[n.parent].processors;
}

}  // namespace

tree tree_builder::build(std::vector<node_id>* ids) && {
  tree result;
  result.description_ = std::move(description_);
  // Depth first, children in the order they were added.
  std::vector<node_id> renumbered(nodes_.size());
  std::vector<node_id> stack{root_node};
  while (!stack.empty()) {
    const node_id old = stack.back();
    stack.pop_back();
    renumbered[old] = static_cast<node_id>(result.nodes_.size());
    node n{std::move(nodes_[old].facts)};
    if (old != root_node) {
      n.parent = renumbered[nodes_[old].parent];
      result.nodes_[n.parent].children.push_back(renumbered[old]);
    }
    result.nodes_.push_back(std::move(n));
    stack.insert(stack.end(), nodes_[old].children.rbegin(), nodes_[old].children.rend());
  }
  number_nodes(result.nodes_);
  collect_processors(result.nodes_);
  if (result.root().processors.empty()) throw_error(errc::bad_argument, "a machine needs a core or a processing unit");

  processor_set processors;
  std::map<std::uint32_t, node_id> memories;
  for (node_id id = 0; id < result.nodes_.size(); ++id) {
    const node& n = result.nodes_[id];
    if (result.is_processor(id)) {
      if (processors.contains(n.os_index))
        throw_error(errc::bad_argument,
                    fmt::format("{} has the OS index {} of another processor", result.label(id), n.os_index));
      processors.insert(n.os_index);
    }
    if (n.kind == node_kind::memory && n.os_index != no_index && !memories.emplace(n.os_index, id).second)
      throw_error(errc::bad_argument, fmt::format("{} has the OS index {} of {}", result.label(id), n.os_index,
                                                  result.label(memories[n.os_index])));
  }

  std::map<std::pair<node_id, node_id>, path> paths;
  for (path record : paths_) {
    record.from = renumbered[record.from];
    record.memory = renumbered[record.memory];
    paths[{record.from, record.memory}] = record;
  }
  for (const auto& [pair, record] : paths) result.paths_.push_back(record);
  for (link& joined : links_) {
    for (node_id& end : joined.ends) end = renumbered[end];
    if (joined.shape == topology::ring) std::ranges::sort(joined.ends);
    result.links_.push_back(std::move(joined));
  }
  if (ids != nullptr) *ids = std::move(renumbered);
  return result;
}

}  // namespace situ::machine
