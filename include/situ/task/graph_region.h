// Object graphs as declared accesses: all that a root reaches, as one region.
//
//   const situ::graph_region whole{head};                                        // looks at it now
//   graph.add({situ::updates(whole)}, [head] { smooth(head); });
//   graph.add({situ::reads(*head->next), situ::writes(x)}, [&] { ... });         // waits: it is an object of the graph
//
// The region is where the objects lie when it looks (a class described as for copies: graph/describe.h), so two graphs
// that share an object conflict, and so do a graph and an object of it. A unit that declares the graph may change its
// shape: what it adds hangs from objects that are declared, so whoever declares the same graph, or reaches the new
// object through it, comes after. Objects that other units declare on their own, and that it links in, belong to it
// once it looks again; what is taken out belongs to it until then.
//
// Looking reads the graph: no unit under way may write it (wait_for it before). Standard containers, strings and smart
// pointers belong to the object that holds them. At places a graph lies where its objects lie, and a unit is handed a
// situ::ptr to its root: a plain pointer would be a copy of the graph. Not thread-safe. cost: of declaring a graph, a
// region for each piece.
#pragma once

#include <situ/graph/clone.h>
#include <situ/graph/detail/extents.h>
#include <situ/memory/ptr.h>
#include <situ/task/access.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace situ {

// What a root reached when it was last looked at. cost: of looking, a look-up for each pointer and a sort; of declaring
// it, a region for each piece in one: objects that lie side by side are one.
class graph_region {
 public:
  // The root outlives it, and stays where it is. Throws bad_argument where clone() would.
  template <class T>
  explicit graph_region(const T* root) : root_{detail::root_of(root)} {
    look();
  }
  template <class T>
  explicit graph_region(ptr<T> root) : graph_region{root.local()} {}
  template <class T>
  explicit graph_region(const owned<T>& graph) : graph_region{graph.get()} {}

  // Looks again, after units have changed its shape. pre: as of the constructor.
  void look();

  // Objects and blocks of containers; bytes of all; in how many pieces they lie.
  [[nodiscard]] std::uint64_t objects() const noexcept { return objects_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept;
  [[nodiscard]] const std::vector<memory_region>& pieces() const noexcept { return pieces_; }

 private:
  detail::graph_root root_;
  std::uint64_t objects_ = 0;
  std::vector<memory_region> pieces_;
};

// All of a graph. The region is looked at during add() only.
[[nodiscard]] inline declared_access reads(const graph_region& graph) {
  return {{}, access_mode::read, &graph.pieces()};
}
[[nodiscard]] inline declared_access writes(const graph_region& graph) {
  return {{}, access_mode::write, &graph.pieces()};
}
[[nodiscard]] inline declared_access updates(const graph_region& graph) {
  return {{}, access_mode::update, &graph.pieces()};
}

}  // namespace situ
