#include <situ/base/error.h>
#include <situ/machine/discover.h>
#include <situ/pages/memory_kind.h>
#include <situ/runtime/runtime.h>
#include <situ/spread/detail/members.h>
#include <situ/trees/place_tree.h>

#include "trees/memories.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ {
namespace {

// Returns the first cache as all workers together see it: one cache for each worker.
std::vector<tree_node> first_cache(const tree_node& machine) {
  for (const tree_node& memory : machine.children)
    if (!memory.children.empty()) return {memory.children.front()};
  return {};
}

}  // namespace

place_tree place_tree::of_places() {
  (void)detail::check_one_host(world(), "a place tree",
                               "spread rows by situ::distributed_array, and make a tree of memories at each place");
  const tree_node machine = shape_of(machine::discover());
  const std::uint32_t places = place_count();
  tree_node root{"job", machine.bytes, 0, places, false, {}};
  const std::vector<tree_node> cache = first_cache(machine);
  for (std::uint32_t p = 0; p < places; ++p) {
    tree_node child{fmt::format("place {}", p), machine.bytes / places, 0, 1, false, cache};
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
  for (std::uint32_t c = 0; c < core_->children(); ++c)
    sum.cached += core_->record(c).cached_bytes.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace situ
