#include "task/homes.h"

#include <situ/base/error.h>

#include <sched.h>

#include <algorithm>

#include "os/host.h"
#include "os/numa_nodes.h"
#include "pages/placer.h"

namespace situ::detail {
namespace {

constexpr std::uint8_t answers_of_absent = 16;

std::optional<std::uint32_t> node_of_page(const void* address) {
  const page_locations found = locate_pages(address, 1);
  if (found.error != 0 || found.node_bytes.empty()) return std::nullopt;
  return static_cast<std::uint32_t>(found.node_bytes.size() - 1);
}

}  // namespace

task_nodes nodes_of_thread() {
  task_nodes found{.nodes = {}, .first = 0, .node_of = node_of_page};
  std::vector<os::node_processors> all;
  try {
    static const std::vector<os::node_processors> read = os::nodes_with_processors();
    all = read;
  } catch (const error&) {  // not readable now: units have one home, and the next graph tries again
  }
  if (all.size() < 2) return found;
  const auto allowed = machine::processor_set::of_this_thread();
  const int now = ::sched_getcpu();
  for (const os::node_processors& each : all) {
    machine::processor_set here;
    for (const int processor : each.processors) here.insert(static_cast<std::uint32_t>(processor));
    here &= allowed;
    if (here.empty()) continue;
    if (now >= 0 && here.contains(static_cast<std::uint32_t>(now)))
      found.first = static_cast<std::uint32_t>(found.nodes.size());
    found.nodes.push_back({static_cast<std::uint32_t>(each.node), std::move(here)});
  }
  return found;
}

std::vector<std::uint32_t> deal_threads(const task_nodes& to, std::uint32_t threads) {
  std::vector<std::uint32_t> counts(to.nodes.size()), dealt;
  for (std::uint32_t t = 0; t < threads; ++t) {
    std::uint32_t best = to.first;
    for (std::uint32_t n = 0; t > 0 && n < to.nodes.size(); ++n)  // most processors per thread, with one more thread
      if (to.nodes[n].processors.size() * (counts[best] + 1) > to.nodes[best].processors.size() * (counts[n] + 1))
        best = n;
    ++counts[best];
    dealt.push_back(best);
  }
  return dealt;
}

std::vector<std::uint32_t> threads_of_nodes(task_nodes& to, std::uint32_t threads) {
  std::vector<std::uint32_t> dealt = deal_threads(to, threads), place(to.nodes.size());
  std::vector<task_nodes::node> kept;
  for (std::uint32_t n = 0; n < to.nodes.size(); ++n) {
    if (std::ranges::find(dealt, n) == dealt.end()) continue;
    place[n] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(std::move(to.nodes[n]));
  }
  for (std::uint32_t& each : dealt) each = place[each];
  to.first = place[to.first];
  to.nodes = std::move(kept);
  return dealt;
}

std::uint16_t unit_homes::find(std::span<const declared_access> accesses) {
  const declared_access* largest = nullptr;
  for (const declared_access& each : accesses)
    if (largest == nullptr || each.region.size() > largest->region.size()) largest = &each;
  if (largest == nullptr || largest->region.size() == 0) return no_home;
  const memory_region& region = largest->region;
  const auto middle =
      reinterpret_cast<std::uint64_t>(region.begin) + region.rows / 2 * region.stride + region.bytes / 2;
  chunk& at = known_[middle / huge_page_bytes];
  if (at.is_there) return at.home;
  if (at.answers != 0) {
    --at.answers;
    return no_home;
  }
  const std::optional<std::uint32_t> node = machine_.node_of(reinterpret_cast<const void*>(middle));
  at.is_there = node.has_value();
  at.answers = answers_of_absent;
  const auto found = std::ranges::find(machine_.nodes, node, &task_nodes::node::number);
  if (found != machine_.nodes.end()) at.home = static_cast<std::uint16_t>(found - machine_.nodes.begin());
  return at.home;
}

}  // namespace situ::detail
