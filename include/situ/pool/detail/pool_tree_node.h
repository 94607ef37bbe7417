// A node of pool_ordered_map: a leaf with values, or an inner node with children.
//
// Invariants
//   1. A leaf has keys [0, count) and their values. An inner node has children [0, count]; key i is the first key below
//      child i + 1, or a lower bound of it.
//   2. Elements beyond these are zero if their type may lead on.
#pragma once

#include <situ/pool/detail/pool_map_parts.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <variant>

namespace situ::detail {

template <class K, class V>
struct pool_tree_node {
  // Half a kilobyte, so that a change in the middle of a node keeps a quarter of a kilobyte in the log.
  static constexpr std::uint32_t most = std::clamp<std::uint32_t>(
      static_cast<std::uint32_t>(480 / (sizeof(K) + std::max<std::size_t>(sizeof(V), 8))), 4, 32);
  struct leaf {
    V values[most];
    pool_tree_node* previous;
    pool_tree_node* next;
  };
  struct inner {
    pool_tree_node* children[most + 1];
  };

  std::uint32_t count;
  K keys[most];
  std::variant<leaf, inner> rest;

  [[nodiscard]] static pool_tree_node* make(transaction& t, bool is_leaf) {
    auto* const made = static_cast<pool_tree_node*>(t.allocate(sizeof(pool_tree_node), alignof(pool_tree_node)));
    std::memset(static_cast<void*>(made), 0, sizeof(pool_tree_node));  // zero selects the first alternative, a leaf
    if (!is_leaf) new (&made->rest) std::variant<leaf, inner>(std::in_place_index<1>);
    return made;
  }
  [[nodiscard]] bool is_leaf() const noexcept { return rest.index() == 0; }
  [[nodiscard]] V* values() noexcept { return std::get_if<0>(&rest)->values; }
  [[nodiscard]] const V* values() const noexcept { return std::get_if<0>(&rest)->values; }
  [[nodiscard]] pool_tree_node*& next() noexcept { return std::get_if<0>(&rest)->next; }
  [[nodiscard]] pool_tree_node* next() const noexcept { return std::get_if<0>(&rest)->next; }
  [[nodiscard]] pool_tree_node*& previous() noexcept { return std::get_if<0>(&rest)->previous; }
  [[nodiscard]] pool_tree_node** children() noexcept { return std::get_if<1>(&rest)->children; }
  [[nodiscard]] pool_tree_node* const* children() const noexcept { return std::get_if<1>(&rest)->children; }

  // Returns the number of keys less than `key`; with_equal: less than or equal to it.
  template <class Less, class View>
  [[nodiscard]] std::uint32_t rank(const View& key, bool with_equal) const noexcept {
    std::uint32_t from = 0;
    for (std::uint32_t left = count; left != 0;) {
      const std::uint32_t half = left / 2;
      const auto there = pool_key<K>::look(keys[from + half]);
      const bool is_before = with_equal ? !Less{}(key, there) : Less{}(there, key);
      from = is_before ? from + half + 1 : from;
      left = is_before ? left - half - 1 : half;
    }
    return from;
  }
};

// Shifts elements from a position on by one, up (open_gap) or down (close_gap), within a snapshot. The element that
// becomes free is zeroed if elements may lead on.
template <class T>
void open_gap(transaction& t, T* all, std::uint32_t from, std::uint32_t count) {
  t.snapshot(all + from, (count - from + 1) * sizeof(T));
  std::memmove(static_cast<void*>(all + from + 1), all + from, (count - from) * sizeof(T));
  if constexpr (may_lead_on<T>) std::memset(static_cast<void*>(all + from), 0, sizeof(T));
}
template <class T>
void close_gap(transaction& t, T* all, std::uint32_t at, std::uint32_t count) {
  t.snapshot(all + at, (count - at) * sizeof(T));
  std::memmove(static_cast<void*>(all + at), all + at + 1, (count - at - 1) * sizeof(T));
  if constexpr (may_lead_on<T>) std::memset(static_cast<void*>(all + count - 1), 0, sizeof(T));
}
// Moves [from, to) bytewise to a new node.
template <class T>
void move_to_new(transaction& t, T* new_place, T* all, std::uint32_t from, std::uint32_t to) {
  if (from == to) return;
  std::memcpy(static_cast<void*>(new_place), all + from, (to - from) * sizeof(T));
  if constexpr (may_lead_on<T>) {
    t.snapshot(all + from, (to - from) * sizeof(T));
    std::memset(static_cast<void*>(all + from), 0, (to - from) * sizeof(T));
  }
}

}  // namespace situ::detail
