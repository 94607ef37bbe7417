// A copy of an object graph, breadth first: nodes of a line with four pointers to others, random ones but for the
// first, which makes sure that all are reached. What has been copied is looked up in a hash map from objects to
// copies; the copies lie behind one another, and are the queue at the same time (Cheney's).
#include "array.h"
#include "kernels.h"

#include <bit>
#include <memory>

namespace situ::studies::host {
namespace {

struct alignas(64) graph_node {
  graph_node* to[4];
  std::uint64_t value;
};

struct copied {
  graph_node* object;  // null: nothing
  graph_node* copy;
};

struct graph {
  explicit graph(std::size_t count)
      : nodes{count}, copies{count}, map{std::bit_ceil(count * 2)}, shift{64 - std::countr_zero(map.size())} {
    numbers random{5};
    const std::vector<std::uint32_t> order = random_order(count, random);
    for (std::size_t i = 0; i < count; ++i) {
      graph_node& node = nodes[order[i]];
      node.value = random();
      node.to[0] = i + 1 < count ? &nodes[order[i + 1]] : nullptr;
      for (int e = 1; e < 4; ++e) node.to[e] = &nodes[random.below(count)];
    }
    root = &nodes[order[0]];
  }
  void forget() const {
    for (std::size_t i = 0; i < map.size(); ++i) map[i] = {};
  }
  graph_node* copy_of(graph_node* object) {
    const std::size_t mask = map.size() - 1;
    std::size_t at = (std::bit_cast<std::uintptr_t>(object) * 0x9e3779b97f4a7c15ULL) >> shift;
    while (map[at].object != object && map[at].object != nullptr) at = (at + 1) & mask;
    if (map[at].object == nullptr) {
      map[at] = {object, &copies[used]};
      copies[used++] = *object;
    }
    return map[at].copy;
  }
  [[gnu::noinline]] void run() {
    used = 0;
    copy_of(root);
    for (std::size_t i = 0; i < used; ++i)
      for (graph_node*& edge : copies[i].to)
        if (edge != nullptr) edge = copy_of(edge);
  }
  // By places within the copies, which differ in no run.
  [[nodiscard]] std::uint64_t sum() const {
    checksum all;
    for (std::size_t i = 0; i < used; ++i) {
      all.add(copies[i].value);
      for (const graph_node* const edge : copies[i].to)
        all.add(edge == nullptr ? ~std::uint64_t{0} : static_cast<std::uint64_t>(edge - copies.data()));
    }
    return all.value();
  }
  array<graph_node> nodes, copies;
  array<copied> map;
  int shift;
  graph_node* root;
  std::size_t used = 0;
};

}  // namespace

kernel make_graph_copy(std::uint64_t nodes) {
  const auto its = std::make_shared<graph>(nodes);
  return {.prepare = [its] { its->forget(); }, .run = [its] { its->run(); }, .checksum = [its] { return its->sum(); }};
}

}  // namespace situ::studies::host
