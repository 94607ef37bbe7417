// Copies of object graphs: clone() copies every object that can be reached from a root once, keeps cycles and sharing,
// and puts the copies into one block of memory.
//
//   situ::owned<node> copy = situ::clone(head);       // copy->next, ... are ordinary pointers
//   situ::graph_size size = situ::measure(head);      // objects, bytes
//
// The copy is stored in the calling place's segment (outside a runtime: on the heap) and is freed with its owner. The
// original is only read, and must not change during the call. Standard containers, strings and smart pointers in it are
// copied as values are (runtime/serialize.h); the copy does not share the objects of a std::shared_ptr with the
// original. Errors: out_of_memory; bad_argument for a graph beyond 31 GiB, for an object whose header names no known
// type or that was never constructed, and for an object that is met first by a pointer to its first part. cost: linear
// in objects and bytes: a dozen instructions for a pointer whose target is known, two dozen for a new object, and the
// cache misses of walking the graph; during the call, working memory as large as the copy. Source: NEMESYS, sections
// 4.3 to 4.6; docs/decisions/0004-graph-copy.md.
#pragma once

#include <situ/graph/describe.h>
#include <situ/graph/detail/arena.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace situ {

// The size of a graph's copy: objects and the blocks of situ containers, and the bytes of both. Memory that standard
// containers and strings have allocated is not counted.
struct graph_size {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const graph_size&, const graph_size&) = default;
};

// The table in which a copy looks up the objects that it has met.
enum class copy_map : std::uint8_t {
  automatic,   // linear for a single object, side_table for more
  linear,      // linear search, as in the paper
  hash,        // a table hashed by H3, as in the paper
  side_table,  // a table with an entry for each word of the source memory
};

// Options of clone() and measure().
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

// Owns a graph, possibly with other owners: the memory is freed with the last of them, and so are the stores to which
// its containers have grown. An owner may outlive its runtime, whose end frees the graph. Movable; belongs to one place
// at a time (not thread-safe). cost: a pointer's; freeing a
// graph is one deallocation, and a visit to each object that may hold a container.
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

  // Returns the root; null if this owns nothing.
  [[nodiscard]] T* get() const noexcept { return root_; }
  [[nodiscard]] T& operator*() const noexcept { return *root_; }
  [[nodiscard]] T* operator->() const noexcept { return root_; }
  [[nodiscard]] explicit operator bool() const noexcept { return root_ != nullptr; }
  // Returns the size of the whole graph when it was copied.
  [[nodiscard]] graph_size size() const noexcept {
    return memory_.get() == nullptr ? graph_size{}
                                    : graph_size{memory_.get()->objects, memory_.get()->bytes - sizeof(detail::arena)};
  }

  // Makes another owner of the whole graph, with `object` as its root. The memory stays until the last owner is
  // destroyed. pre: `object` is part of this graph.
  template <class U>
  [[nodiscard]] owned<U> adopt(U* object) const noexcept {
    return owned<U>{memory_, object};
  }
  // For Situ itself: the reference that all owners share.
  [[nodiscard]] const detail::arena_reference& memory() const noexcept { return memory_; }

 private:
  detail::arena_reference memory_;
  T* root_ = nullptr;
};

// Copies all that `root` reaches. A null `root` gives an empty owner.
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
// Copies a graph whose root was not allocated on its own: a container, or a described object by value.
template <class T>
  requires(std::is_class_v<T>)
[[nodiscard]] owned<T> clone(const T& root, clone_options options = {}) {
  return clone(&root, options);
}

// Returns the size that a copy of all that `root` reaches would have. cost: the first of a copy's two passes.
template <class T>
[[nodiscard]] graph_size measure(const T* root, clone_options options = {}) {
  return root == nullptr ? graph_size{} : detail::measure_graph(detail::root_of(root), options.map);
}

}  // namespace situ
