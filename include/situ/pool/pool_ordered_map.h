// A map in a pool that keeps its keys in order, as std::map does in ordinary memory, with range scans along leaves.
//
//   struct ledger { situ::pool_ordered_map<long, double> by_day; };
//   pool.transact([&](situ::transaction& t) { all->by_day.set(t, 20261125, 12.5); });
//   for (auto at = all->by_day.lower_bound(20261101); at != all->by_day.end(); ++at) use(at.key(), at.value());
//
// A B+tree of nodes of half a kilobyte. Keys are data with an order (Less, by default std::less<>), or pool_string,
// which is looked up by a std::string_view; values are as pool_map's. Changes to the map take a transaction, and are
// rolled back with it. Any change invalidates pointers to values and iterators. Empty nodes are freed; others are never
// merged. Not copyable. Release a map before its object is destroyed, else its blocks stay until the pool is collected.
// As thread-safe as the pool's other objects. Errors: as transaction's; if a change throws, abort its transaction,
// which rolls the change back. cost: logarithmic; a change keeps a quarter of a kilobyte in the log, the division of a
// node half a kilobyte.
#pragma once

#include <situ/pool/detail/pool_tree_node.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

namespace situ {

// A map in a pool that keeps its keys in order. cost: two words.
template <class K, class V, class Less = std::less<>>
class pool_ordered_map {
  using node = detail::pool_tree_node<K, V>;
  using keys = detail::pool_key<K>;

 public:
  using key_view = typename keys::view;  // const K&; std::string_view for strings

  // Iterates over entries in order; valid until the map changes.
  class const_iterator {
   public:
    // References to a key and its value in the map.
    struct entry {
      const K& key;
      const V& value;
    };
    // Names that the standard library expects.
    using value_type = entry;
    using difference_type = std::ptrdiff_t;
    using reference = entry;
    using iterator_category = std::input_iterator_tag;

    const_iterator() noexcept = default;
    // Return the key and the value of the current entry.
    [[nodiscard]] const K& key() const noexcept { return in_->keys[at_]; }
    [[nodiscard]] const V& value() const noexcept { return in_->values()[at_]; }
    [[nodiscard]] entry operator*() const noexcept { return {key(), value()}; }
    const_iterator& operator++() noexcept {
      ++at_;
      settle();
      return *this;
    }
    const_iterator operator++(int) noexcept {
      const const_iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const const_iterator&, const const_iterator&) noexcept = default;

   private:
    friend class pool_ordered_map;
    const_iterator(const node* in, std::uint32_t at) noexcept : in_{in}, at_{at} { settle(); }
    void settle() noexcept {
      if (in_ == nullptr || at_ != in_->count) return;
      in_ = in_->next();
      at_ = 0;
    }
    const node* in_ = nullptr;
    std::uint32_t at_ = 0;
  };

  pool_ordered_map() noexcept = default;
  pool_ordered_map(const pool_ordered_map&) = delete;
  pool_ordered_map& operator=(const pool_ordered_map&) = delete;

  // --- reading ---

  // Return the number of entries, and whether it is 0.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  // find returns the value of a key; null if the key is absent. The value may be written after `transaction::change`.
  [[nodiscard]] const V* find(key_view key) const noexcept {
    const node* const in = leaf_of(key);
    if (in == nullptr) return nullptr;
    const std::uint32_t at = rank(*in, key, false);
    return is_at(*in, at, key) ? &in->values()[at] : nullptr;
  }
  [[nodiscard]] V* find(key_view key) noexcept { return const_cast<V*>(std::as_const(*this).find(key)); }
  [[nodiscard]] bool contains(key_view key) const noexcept { return find(key) != nullptr; }
  [[nodiscard]] const_iterator begin() const noexcept {
    const node* in = root_;
    while (in != nullptr && !in->is_leaf()) in = in->children()[0];
    return {in, 0};
  }
  [[nodiscard]] const_iterator end() const noexcept { return {}; }
  // Returns an iterator to the first entry whose key is not less than `key` (lower_bound) or is greater (upper_bound).
  [[nodiscard]] const_iterator lower_bound(key_view key) const noexcept { return bound(key, false); }
  [[nodiscard]] const_iterator upper_bound(key_view key) const noexcept { return bound(key, true); }

  // --- changing ---

  // Returns the value of a key, which may be written in this transaction, and whether the entry is new. A new value is
  // made from the arguments.
  template <class... Arguments>
  std::pair<V*, bool> emplace(transaction& t, key_view key, Arguments&&... arguments) {
    if (root_ == nullptr) t.set(root_, node::make(t, true));
    path way;
    node* in = descend(key, way);
    std::uint32_t at = rank(*in, key, false);
    if (is_at(*in, at, key)) {
      t.snapshot(&in->values()[at], sizeof(V));
      return {&in->values()[at], false};
    }
    node* added = nullptr;
    if (in->count == node::most) {
      added = divide_leaf(t, *in, at);
      if (at > in->count || in->count == node::most) {
        at -= in->count;
        in = added;
      }
    }
    detail::open_gap(t, in->keys, at, in->count);
    detail::open_gap(t, in->values(), at, in->count);
    keys::store(t, in->keys[at], key);
    V* const value = in->values() + at;
    if constexpr (std::is_constructible_v<V, Arguments&&...>) {
      new (value) V(std::forward<Arguments>(arguments)...);
    } else {
      new (value) V{std::forward<Arguments>(arguments)...};
    }
    t.set(in->count, in->count + 1);
    t.set(count_, count_ + 1);
    if (added != nullptr) add_child(t, way, added);
    return {value, true};
  }
  // Adds an entry if the key is absent. Returns true if it was.
  bool insert(transaction& t, key_view key, const V& value) { return emplace(t, key, value).second; }
  // Sets the value of a key, and adds the key if it is absent. Returns true if it was.
  bool set(transaction& t, key_view key, const V& value) {
    const auto [at, is_new] = emplace(t, key, value);
    if (!is_new) *at = value;
    return is_new;
  }
  // Removes an entry, and frees the blocks of its containers. Returns true if the key was present.
  bool erase(transaction& t, key_view key) {
    if (root_ == nullptr) return false;
    path way;
    node* const in = descend(key, way);
    const std::uint32_t at = rank(*in, key, false);
    if (!is_at(*in, at, key)) return false;
    detail::release_parts(t, in->keys[at]);
    detail::release_parts(t, in->values()[at]);
    t.set(count_, count_ - 1);
    if (in->count == 1) {
      unlink_leaf(t, *in);
      remove_child(t, way);
      return true;
    }
    detail::close_gap(t, in->keys, at, in->count);
    detail::close_gap(t, in->values(), at, in->count);
    t.set(in->count, in->count - 1);
    return true;
  }
  // Removes all entries, and frees all blocks of the map. cost: linear.
  void clear(transaction& t) {
    if (root_ == nullptr) return;
    release_node(t, root_);
    t.set(root_, nullptr);
    t.set(count_, std::uint64_t{0});
  }
  void release(transaction& t) { clear(t); }

 private:
  static_assert(detail::check_pool_element<K>() && detail::check_pool_element<V>());

  // The nodes above a leaf, and the index of the child taken at each. Each further level takes at least twice the
  // insertions, since only a full root is divided.
  struct path {
    static constexpr std::uint32_t most_levels = 48;
    node* nodes[most_levels];
    std::uint32_t children[most_levels];
    std::uint32_t levels = 0;
  };

  [[nodiscard]] static std::uint32_t rank(const node& in, key_view key, bool with_equal) noexcept {
    return in.template rank<Less>(key, with_equal);
  }
  [[nodiscard]] static bool is_at(const node& in, std::uint32_t at, key_view key) noexcept {
    return at != in.count && !Less{}(key, keys::look(in.keys[at]));
  }
  [[nodiscard]] const node* leaf_of(key_view key) const noexcept {
    const node* in = root_;
    while (in != nullptr && !in->is_leaf()) in = in->children()[rank(*in, key, true)];
    return in;
  }
  [[nodiscard]] node* descend(key_view key, path& way) const noexcept {
    node* in = root_;
    while (!in->is_leaf()) {
      const std::uint32_t child = rank(*in, key, true);
      way.nodes[way.levels] = in;
      way.children[way.levels++] = child;
      in = in->children()[child];
    }
    return in;
  }
  [[nodiscard]] const_iterator bound(key_view key, bool with_equal) const noexcept {
    const node* const in = leaf_of(key);
    return in == nullptr ? end() : const_iterator{in, rank(*in, key, with_equal)};
  }

  // --- growing ---

  // Makes a new right neighbour of a leaf, and moves the upper half of the entries to it. If keys arrive in order, it
  // moves none, so that leaves stay full.
  [[nodiscard]] node* divide_leaf(transaction& t, node& left, std::uint32_t at) {
    const std::uint32_t kept = at == node::most && left.next() == nullptr ? node::most : node::most / 2;
    node* const right = node::make(t, true);
    detail::move_to_new(t, right->keys, left.keys, kept, left.count);
    detail::move_to_new(t, right->values(), left.values(), kept, left.count);
    right->count = left.count - kept;
    right->previous() = &left;
    right->next() = left.next();
    if (left.next() != nullptr) t.set(left.next()->previous(), right);
    t.set(left.next(), right);
    t.set(left.count, kept);
    return right;
  }
  // A key on its way to the node above: `copied` from a key below, or the bytes `moved` out of a divided inner node.
  struct separator {
    const K* copied = nullptr;
    alignas(K) std::byte moved[sizeof(K)];

    // Stores the key in a node, at bytes that are zero.
    void put(transaction& t, K& at) const {
      if (copied != nullptr) {
        keys::store(t, at, keys::look(*copied));
      } else {
        std::memcpy(static_cast<void*>(&at), moved, sizeof(K));
      }
    }
  };
  // Inserts a node behind the one that the path leads to.
  void add_child(transaction& t, path& way, node* added) {
    separator between{.copied = &added->keys[0], .moved = {}};
    while (way.levels != 0) {
      node* in = way.nodes[--way.levels];
      std::uint32_t at = way.children[way.levels];
      if (in->count != node::most) return put_child(t, *in, at, between, added);
      separator above;
      node* const right = divide_inner(t, *in, above);
      if (at > in->count) {
        at -= in->count + 1;
        put_child(t, *right, at, between, added);
      } else {
        put_child(t, *in, at, between, added);
      }
      between = above;
      added = right;
    }
    node* const top = node::make(t, false);
    top->children()[0] = root_;
    put_child(t, *top, 0, between, added);
    t.set(root_, top);
  }
  static void put_child(transaction& t, node& in, std::uint32_t at, const separator& between, node* added) {
    detail::open_gap(t, in.keys, at, in.count);
    detail::open_gap(t, in.children(), at + 1, in.count + 1);
    between.put(t, in.keys[at]);
    in.children()[at + 1] = added;
    t.set(in.count, in.count + 1);
  }
  [[nodiscard]] static node* divide_inner(transaction& t, node& left, separator& above) {
    constexpr std::uint32_t middle = node::most / 2;
    node* const right = node::make(t, false);
    detail::move_to_new(t, right->keys, left.keys, middle + 1, left.count);
    detail::move_to_new(t, right->children(), left.children(), middle + 1, left.count + 1);
    right->count = left.count - middle - 1;
    above.copied = nullptr;
    detail::move_to_new(t, reinterpret_cast<K*>(above.moved), left.keys, middle, middle + 1);
    t.set(left.count, middle);
    return right;
  }

  // --- shrinking ---

  static void unlink_leaf(transaction& t, node& leaf) {
    if (leaf.previous() != nullptr) t.set(leaf.previous()->next(), leaf.next());
    if (leaf.next() != nullptr) t.set(leaf.next()->previous(), leaf.previous());
    t.destroy(&leaf);
  }
  // Removes the child that the path leads to, which was freed, from its parents.
  void remove_child(transaction& t, path& way) {
    while (way.levels != 0) {
      node* const in = way.nodes[--way.levels];
      if (in->count == 0) {  // the child was the only one
        t.destroy(in);
        continue;
      }
      const std::uint32_t child = way.children[way.levels];
      const std::uint32_t key = child == 0 ? 0 : child - 1;
      detail::release_parts(t, in->keys[key]);
      detail::close_gap(t, in->keys, key, in->count);
      detail::close_gap(t, in->children(), child, in->count + 1);
      t.set(in->count, in->count - 1);
      return lower_root(t);
    }
    t.set(root_, nullptr);
  }
  void lower_root(transaction& t) {
    while (!root_->is_leaf() && root_->count == 0) {
      node* const old = root_;
      t.set(root_, old->children()[0]);
      t.destroy(old);
    }
  }
  static void release_node(transaction& t, node* of) {
    if (of->is_leaf()) {
      if constexpr (detail::may_lead_on<V>)
        for (std::uint32_t i = 0; i < of->count; ++i) detail::release_parts(t, of->values()[i]);
    } else {
      for (std::uint32_t i = 0; i <= of->count; ++i) release_node(t, of->children()[i]);
    }
    if constexpr (detail::may_lead_on<K>)
      for (std::uint32_t i = 0; i < of->count; ++i) detail::release_parts(t, of->keys[i]);
    t.destroy(of);
  }

  node* root_ = nullptr;
  std::uint64_t count_ = 0;

  SITU_DESCRIBE(pool_ordered_map, root_, count_)
};

}  // namespace situ
