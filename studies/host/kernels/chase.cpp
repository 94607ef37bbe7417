// A list of nodes of one line each, in random order in memory, whose values are added up while it is followed.
#include "array.h"
#include "kernels.h"

#include <algorithm>
#include <memory>

namespace situ::studies::host {

std::vector<std::uint32_t> random_order(std::uint64_t count, numbers& random) {
  std::vector<std::uint32_t> order(count);
  for (std::uint64_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  for (std::uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

namespace {

constexpr std::size_t least_steps = 400'000;  // so that a small list is timed for long enough

struct alignas(64) list_node {
  list_node* next;
  std::uint64_t value;
};

struct list {
  explicit list(std::uint64_t bytes)
      : nodes{std::max<std::size_t>(2, bytes / sizeof(list_node))}, steps{std::max(least_steps, nodes.size())} {
    numbers random{7};
    const std::vector<std::uint32_t> order = random_order(nodes.size(), random);
    for (std::size_t i = 0; i < order.size(); ++i) {
      nodes[order[i]].next = &nodes[order[(i + 1) % order.size()]];
      nodes[order[i]].value = random();
    }
    at = &nodes[0];
  }
  [[gnu::noinline]] void run() {
    const list_node* here = at;
    std::uint64_t added = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      added += here->value;
      here = here->next;
    }
    at = here;
    sum = added;
  }
  array<list_node> nodes;
  std::size_t steps;
  const list_node* at;
  std::uint64_t sum = 0;
};

}  // namespace

kernel make_chase(std::uint64_t bytes) {
  const auto its = std::make_shared<list>(bytes);
  return {.prepare = [its] { its->at = &its->nodes[0]; },
          .run = [its] { its->run(); },
          .checksum = [its] { return its->sum; }};
}

}  // namespace situ::studies::host
