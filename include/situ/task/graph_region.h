// Object graphs as declared accesses: everything that a root reaches, as one region.
//
//   const situ::graph_region whole{head};                                        // looks at it now
//   graph.add({situ::updates(whole)}, [head] { smooth(head); });
//   graph.add({situ::reads(*head->next), situ::writes(x)}, [&] { ... });         // waits: it is an object of the graph
//
// The region covers the addresses of the objects at the time of the last look (for classes described as for copies:
// graph/describe.h). Two graphs that share an object therefore conflict, and so do a graph and an object of it. A unit
// that declares the graph may change its shape: an object that it adds hangs from declared objects, so every later unit
// that declares the same graph, or that reaches the new object through it, runs after the unit. If a unit links in
// objects that other units declare on their own, the region includes them after the next look(); an object that a unit
// removes stays in the region until then.
//
// A look reads the graph, so no unit under way may write the graph (call wait_for first). Standard containers, strings
// and smart pointers belong to the object that holds them. In a place_graph, the objects of a graph do not move, and a
// unit takes a situ::ptr to the root: a plain pointer would be sent as a copy of the graph. Not thread-safe. cost:
// declaring a graph costs a region for each piece.
#pragma once

#include <situ/graph/clone.h>
#include <situ/graph/detail/extents.h>
#include <situ/memory/ptr.h>
#include <situ/task/access.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace situ {

// The objects that a root reached at the last look. cost: a look takes a look-up for each pointer and a sort; declaring
// the region costs a region for each piece, and adjacent objects form one piece.
class graph_region {
 public:
  // Looks at the graph of `root`, which must outlive the region and must not move. Throws bad_argument if clone()
  // would.
  template <class T>
  explicit graph_region(const T* root) : root_{detail::root_of(root)} {
    look();
  }
  template <class T>
  explicit graph_region(ptr<T> root) : graph_region{root.local()} {}
  template <class T>
  explicit graph_region(const owned<T>& graph) : graph_region{graph.get()} {}

  // Looks again, after units have changed the shape. pre: as of the constructor.
  void look();

  // Return the number of objects and container blocks, the bytes of all of them, and the contiguous pieces that hold
  // them.
  [[nodiscard]] std::uint64_t objects() const noexcept { return objects_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept;
  [[nodiscard]] const std::vector<memory_region>& pieces() const noexcept { return pieces_; }

 private:
  detail::graph_root root_;
  std::uint64_t objects_ = 0;
  std::vector<memory_region> pieces_;
};

// Declare a whole graph. add() reads the region only while it runs.
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
