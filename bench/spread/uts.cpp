// UTS (support/uts.h) by a task pool, beside a stack at one place.
#include "support/uts.h"

#include "cases.h"

namespace situ_spread {
namespace {

using uts::node;

// Alone: a stack.
std::uint64_t count_alone() {
  std::vector<node> open{uts::root()};
  std::uint64_t nodes = 0;
  while (!open.empty()) {
    const node n = open.back();
    open.pop_back();
    ++nodes;
    const std::uint32_t children = uts::children_of(n);
    for (std::uint32_t i = 0; i < children; ++i) open.push_back(uts::child_of(n, i));
  }
  return nodes;
}

}  // namespace

void measure_uts() {
  std::vector<samples> all{{"sequential"}, {"situ"}};
  std::uint64_t nodes = 0;
  for (int sample = 0; sample < (is_quick() ? 1 : 3); ++sample) {
    const double alone = time_alone([&] { nodes = count_alone(); });
    nodes = situ::broadcast(nodes);
    const auto per_node = static_cast<double>(nodes);
    all[0].ns.push_back(alone / per_node);
    situ::task_pool pool;
    std::uint64_t mine = 0;
    all[1].ns.push_back(time_together([&] { mine = uts::count_by(pool, is_first()); }) / per_node);
    uts::check_count(situ::all_reduce(mine, std::plus<>{}), nodes);
  }
  print("uts", all);
}

}  // namespace situ_spread
