#include <situ/base/error.h>
#include <situ/machine/discover.h>
#include <situ/pages/memory_kind.h>
#include <situ/runtime/at.h>
#include <situ/runtime/runtime.h>
#include <situ/trees/place_tree.h>

#include "trees/memories.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace situ {
namespace {

// Returns the first cache as all workers together see it: one cache for each worker.
std::vector<tree_node> first_cache(const tree_node& machine) {
  for (const tree_node& memory : machine.children)
    if (!memory.children.empty()) return {memory.children.front()};
  return {};
}

// A host of the job: the bytes of its memory, and its places.
struct host_share {
  std::uint64_t bytes = 0;
  std::uint32_t places = 0;
};

// own_bytes: of this host. The first place of each other one is asked.
std::vector<host_share> shares_of_hosts(std::uint64_t own_bytes) {
  std::vector<host_share> hosts;
  std::vector<std::uint32_t> firsts;
  for (std::uint32_t p = 0; p < place_count(); ++p) {
    const std::uint32_t host = detail::host_of_place(p);
    if (host >= hosts.size()) {
      hosts.resize(host + 1);
      firsts.resize(host + 1);
    }
    if (hosts[host].places++ == 0) firsts[host] = p;
  }
  const std::uint32_t own = detail::host_of_place(here().index());
  hosts[own].bytes = own_bytes;
  for (std::uint32_t h = 0; h < hosts.size(); ++h)
    if (h != own) hosts[h].bytes = at(place{firsts[h]}, [] { return shape_of(machine::discover()).bytes; });
  return hosts;
}

}  // namespace

place_tree place_tree::of_places() {
  const tree_node machine = shape_of(machine::discover());
  const std::vector<host_share> hosts = shares_of_hosts(machine.bytes);
  const std::vector<tree_node> cache = first_cache(machine);
  tree_node root{"job", 0, 0, place_count(), false, {}};
  for (const host_share& each : hosts) root.bytes += each.bytes;
  for (std::uint32_t p = 0; p < place_count(); ++p) {
    const host_share& host = hosts[detail::host_of_place(p)];
    tree_node child{fmt::format("place {}", p), host.bytes / host.places, 0, 1, false, cache};
    for (tree_node& below : child.children) below.name += fmt::format(" of place {}", p);
    root.children.push_back(std::move(child));
  }
  return place_tree{detail::tree_core::of_places(std::move(root))};
}

place_tree place_tree::of_memories() { return of_memories({}); }
place_tree place_tree::of_memories(const memory_options& options) {
  const machine::tree here = machine::discover({.devices = false});
  tree_node root = shape_of(here);
  std::vector<memory_kind> memories;
  for (const machine::node_id id : detail::memories_of(here))
    memories.push_back(memory_kind::of_node(here.at(id).os_index));
  return place_tree{detail::tree_core::of_memories(std::move(root), memories, options.threads)};
}

place_tree place_tree::of_intents(std::span<const intent> intents, const memory_options& options) {
  if (intents.empty()) throw error{errc::bad_argument, "a tree of no intents: name one or more"};
  const tree_node machine = shape_of(machine::discover({.devices = false}));
  tree_node root{"machine", machine.bytes, 0, machine.workers, false, {}};
  std::vector<memory_kind> memories;
  const auto share = static_cast<std::uint32_t>(std::max<std::size_t>(1, machine.workers / intents.size()));
  for (const intent& each : intents) {
    root.children.push_back({std::string{each.name()}, 0, 0, share, false, first_cache(machine)});
    memories.emplace_back(each);
  }
  return place_tree{detail::tree_core::of_memories(std::move(root), memories, options.threads)};
}

place_tree place_tree::of_machine(const machine::tree& machine, const memory_options& options) {
  tree_node root = shape_of(machine);
  if (root.children.empty())
    throw error{
        errc::bad_argument,
        fmt::format("the machine \"{}\" has no memory that can be allocated from: give it one", machine.name())};
  const std::vector<memory_kind> memories(root.children.size());
  return place_tree{detail::tree_core::of_memories(std::move(root), memories, options.threads)};
}

placed_rows place_tree::distribute(std::size_t rows, deal how) const {
  return placed_rows{std::make_shared<detail::placed_rows_core>(core_, rows, std::move(how))};
}

tree_traffic place_tree::traffic() const {
  tree_traffic sum = core_->traffic;
  for (std::uint32_t c = 0; c < core_->children(); ++c) sum.cached += core_->read(core_->record(c).cached_bytes);
  return sum;
}

}  // namespace situ
