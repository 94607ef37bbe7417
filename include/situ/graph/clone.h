// Copies of object graphs: everything that can be reached from a root, once each, with cycles and sharing, as one block
// of memory.
//
//   situ::owned<node> copy = situ::clone(head);       // copy->next, ... are ordinary pointers
//   situ::graph_size size = situ::measure(head);      // objects, bytes
//
// The copy lies in the calling place's segment (outside a runtime: on the heap) and goes when its owner goes. The
// original is only read, and must not change meanwhile. Standard containers, strings and smart pointers in it are
// copied as values are (runtime/serialize.h), and what std::shared_ptr share is the copy's own. Errors: out_of_memory;
// bad_argument for a graph beyond 31 GiB, for an object whose header names no known type or that was never constructed,
// and for one that is met first by a pointer to its first part. cost: linear in objects and bytes: a dozen instructions
// for a pointer whose target is known, two dozen for a new object, and the cache misses of walking the graph; meanwhile
// working memory as large as the copy. Source: NEMESYS, sections 4.3 to 4.6; docs/decisions/0004-graph-copy.md.
#pragma once

#include <situ/graph/describe.h>
#include <situ/graph/detail/arena.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace situ {

// A graph as it would be copied: its objects and the blocks of its containers, and the bytes of both, without what
// standard containers and strings have allocated.
struct graph_size {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const graph_size&, const graph_size&) = default;
};

// How originals are found again.
enum class copy_map : std::uint8_t {
  automatic,   // what suits the size: a single object by search, more in the side table
  linear,      // by linear search, as in the paper
  hash,        // in a table hashed by H3, as in the paper
  side_table,  // in a table beside the source memory
};

// How to copy or measure a graph.
struct clone_options {
  copy_map map = copy_map::automatic;
};

namespace detail {

struct cloned {
  arena_reference memory;
  void* root = nullptr;
};
[[nodiscard]] cloned clone_graph(graph_root root, copy_map map);
[[nodiscard]] graph_size measure_graph(graph_root root, copy_map map);

}  // namespace detail

// A graph that belongs to whoever holds this: its memory goes with the last holder, and so do the stores that its
// containers have got since. Movable; belongs to one place at a time (not thread-safe). cost: a pointer's; giving a
// graph back is one deallocation, and a visit to each object that may hold a container.
template <class T>
class owned {
 public:
  owned() noexcept = default;
  owned(std::nullptr_t) noexcept {}
  // For Situ itself.
  owned(detail::arena_reference memory, T* root) noexcept : memory_{std::move(memory)}, root_{root} {}
  owned(owned&& other) noexcept : memory_{std::move(other.memory_)}, root_{std::exchange(other.root_, nullptr)} {}
  owned& operator=(owned&& other) noexcept {
    owned old{std::move(*this)};
    memory_ = std::move(other.memory_);
    root_ = std::exchange(other.root_, nullptr);
    return *this;
  }

  // The root; null where it holds nothing.
  [[nodiscard]] T* get() const noexcept { return root_; }
  [[nodiscard]] T& operator*() const noexcept { return *root_; }
  [[nodiscard]] T* operator->() const noexcept { return root_; }
  [[nodiscard]] explicit operator bool() const noexcept { return root_ != nullptr; }
  // The size of the whole graph, as it was copied.
  [[nodiscard]] graph_size size() const noexcept {
    return memory_.get() == nullptr ? graph_size{}
                                    : graph_size{memory_.get()->objects, memory_.get()->bytes - sizeof(detail::arena)};
  }

  // Shares in the ownership of one object of this graph: the memory of the whole graph stays until the last holder
  // goes. pre: `object` is part of this graph.
  template <class U>
  [[nodiscard]] owned<U> adopt(U* object) const noexcept {
    return owned<U>{memory_, object};
  }
  // For Situ itself: what the holders share.
  [[nodiscard]] const detail::arena_reference& memory() const noexcept { return memory_; }

 private:
  detail::arena_reference memory_;
  T* root_ = nullptr;
};

// A copy of all that `root` reaches; nothing of null.
template <class T>
[[nodiscard]] owned<std::remove_const_t<T>> clone(T* root, clone_options options = {}) {
  if (root == nullptr) return {};
  detail::cloned copy = detail::clone_graph(detail::root_of(root), options.map);
  return {std::move(copy.memory), static_cast<std::remove_const_t<T>*>(copy.root)};
}
template <class T>
[[nodiscard]] owned<T> clone(const owned<T>& graph, clone_options options = {}) {
  return clone(graph.get(), options);
}
// The same of a graph whose root is not on its own: a container, or a described object by value.
template <class T>
  requires(std::is_class_v<T>)
[[nodiscard]] owned<T> clone(const T& root, clone_options options = {}) {
  return clone(&root, options);
}

// How large the copy of all that `root` reaches would be. cost: the first of a copy's two passes.
template <class T>
[[nodiscard]] graph_size measure(const T* root, clone_options options = {}) {
  return root == nullptr ? graph_size{} : detail::measure_graph(detail::root_of(root), options.map);
}

}  // namespace situ
