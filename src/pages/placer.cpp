#include "pages/placer.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace situ::detail {
namespace {

void check(const spill_memory& what) {
  if (what.weight == 0) throw_error(errc::bad_argument, fmt::format("NUMA node {} has the weight 0", what.node));
  if (!(what.fill > 0 && what.fill <= 1))
    throw_error(errc::bad_argument, fmt::format("NUMA node {} is to be filled up to {}: give a part above 0, at most 1",
                                                what.node, what.fill));
  if (what.node >= node_limit) throw_error(errc::bad_argument, fmt::format("there is no NUMA node {}", what.node));
}

}  // namespace

placer::placer(const spill_ordering& ordering, const placement_calls& calls, promises* promised)
    : calls_{calls}, policy_{ordering.policy}, fine_chunk_{ordering.least_chunk}, promised_{promised} {
  if (ordering.steps.empty()) throw_error(errc::bad_argument, "an ordering without a memory");
  for (const std::vector<spill_memory>& each : ordering.steps) {
    if (each.empty()) throw_error(errc::bad_argument, "a step of an ordering without a memory");
    const std::size_t begin = memories_.size();
    for (const spill_memory& what : each) add(what);
    steps_.push_back({begin, memories_.size()});
  }
  if (calls_.ordered_policies == nullptr || calls_.ordered_policies().empty()) return;
  kernel_nodes_ = nodes_for_kernel();
  if (!kernel_nodes_.empty()) kernel_policy_ = find_kernel_policy();
}

int placer::find_kernel_policy() const {
  const kernel_order* const found =
      calls_.ordered_policies().find_from_all(calls_.processors(), kernel_nodes_, memories_.front().what.fill);
  return found == nullptr ? 0 : found->mode;
}

// Returns the nodes of an ordering of single whole nodes with equal thresholds; an empty list for any other ordering.
std::vector<std::uint32_t> placer::nodes_for_kernel() const {
  std::vector<std::uint32_t> nodes;
  for (const memory& each : memories_) {
    if (each.what.budget != nullptr || each.what.fill != memories_.front().what.fill) return {};
    nodes.push_back(each.what.node);
  }
  return steps_.size() == memories_.size() ? nodes : std::vector<std::uint32_t>{};
}

void placer::add(const spill_memory& what) {
  check(what);
  is_node_0_only_ = is_node_0_only_ && what.node == 0;
  memories_.push_back({what, what.budget != nullptr ? 0 : find_or_add_node(what.node)});
}

std::size_t placer::find_or_add_node(std::uint32_t number) {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [number](const node& each) { return each.number == number; });
  if (found != nodes_.end()) return static_cast<std::size_t>(found - nodes_.begin());
  const bool is_told = calls_.find_meminfo(number) == 0;
  const int reason = errno;
  const bool is_hidden = reason == ENOENT || reason == EACCES || reason == EPERM;
  if (!is_told && !(number == 0 && is_hidden)) {
    if (reason == ENOENT) throw_error(errc::bad_argument, fmt::format("there is no NUMA node {}", number));
    throw_error(errc::not_supported,
                fmt::format("the free memory of NUMA node {} cannot be read: {}", number, std::strerror(reason)));
  }
  nodes_.push_back({number, is_told, calls_.kept_free(number)});
  return nodes_.size() - 1;
}

}  // namespace situ::detail
