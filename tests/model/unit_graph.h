// Random object graphs of what the graph units' pointer masks can describe, and a form of a graph that is equal for
// graphs that are isomorphic, and only for those.
#pragma once

#include <situ/graph/clone.h>
#include <situ/graph/containers.h>
#include <situ/graph/object.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace situ::test {

struct unit_leaf {
  std::uint32_t value = 0;
  unit_leaf* other = nullptr;
};
struct unit_shape : derived<unit_shape> {
  std::uint16_t id = 0;
  unit_shape* neighbour = nullptr;
  SITU_DESCRIBE_DERIVED(unit_shape, (situ::object), id, neighbour)
};
struct unit_disk : derived<unit_disk, unit_shape> {
  double radius = 0;
  unit_leaf* centre = nullptr;
  SITU_DESCRIBE_DERIVED(unit_disk, (unit_shape), radius, centre)
};
struct alignas(32) unit_wide {
  std::uint8_t byte = 0;
  unit_leaf* leaf = nullptr;
};
struct marked_leaf {
  unit_leaf* leaf = nullptr;
  situ::transient<std::uint64_t> mark;
};
struct unit_node {
  std::uint64_t value = 0;
  std::array<unit_node*, 3> next{};
  situ::string name;
  situ::array<double> numbers;
  situ::vector<unit_node*> friends;
  situ::vector<marked_leaf> leaves;
  situ::transient<int> cache;
  unit_shape* shape = nullptr;
  unit_wide* wide = nullptr;
  std::array<char, 3> tail{};
};

// Owns what it makes. One seed makes one graph.
class unit_graph_maker {
 public:
  explicit unit_graph_maker(std::uint64_t seed) : random_{seed} {}
  // The root of a graph of up to `size` nodes, and as many other objects; each points anywhere, or nowhere.
  unit_node* make(std::size_t size) {
    nodes_.resize(size);
    leaves_.resize(size / 2 + 1);
    disks_.resize(size / 3 + 1);
    wides_.resize(size / 4 + 1);
    for (unit_leaf& each : leaves_) each = {static_cast<std::uint32_t>(random_()), any(leaves_)};
    for (unit_disk& each : disks_) {
      each.id = static_cast<std::uint16_t>(random_());
      each.neighbour = any(disks_);
      each.radius = static_cast<double>(random_() % 1000);
      each.centre = any(leaves_);
    }
    for (unit_wide& each : wides_) each = {static_cast<std::uint8_t>(random_()), any(leaves_)};
    for (unit_node& each : nodes_) fill(each);
    return &nodes_[0];
  }

 private:
  template <class T>
  T* any(std::deque<T>& all) {
    return random_() % 3 == 0 ? nullptr : &all[random_() % all.size()];
  }
  void fill(unit_node& node) {
    node.value = random_();
    for (unit_node*& next : node.next) next = any(nodes_);
    node.name = situ::string{std::string(random_() % 20, 'n')};
    node.numbers = situ::array<double>(random_() % 5);
    for (double& each : node.numbers) each = static_cast<double>(random_() % 100);
    for (std::size_t n = random_() % 4; n > 0; --n) node.friends.push_back(any(nodes_));
    for (std::size_t n = random_() % 3; n > 0; --n) node.leaves.push_back({any(leaves_), std::uint64_t{7}});
    node.cache = 42;
    node.shape = any(disks_);
    node.wide = any(wides_);
    node.tail = {'x', 'y', static_cast<char>(random_())};
  }
  std::mt19937_64 random_;
  std::deque<unit_node> nodes_;
  std::deque<unit_leaf> leaves_;
  std::deque<unit_disk> disks_;
  std::deque<unit_wide> wides_;
};

// All values of a graph and the numbers of its objects, in the order in which they are met: pointers of an object go by
// their order, so graphs are isomorphic just where these are equal. Transients are listed, too.
class canonical_graph {
 public:
  explicit canonical_graph(const unit_node* root) {
    meet(root, &canonical_graph::list<unit_node>);
    while (!pending_.empty()) {
      const auto [function, object] = pending_.front();
      pending_.pop_front();
      (this->*function)(object);
    }
  }
  [[nodiscard]] const std::vector<std::uint64_t>& words() const noexcept { return words_; }
  [[nodiscard]] std::size_t objects() const noexcept { return numbers_.size(); }
  // Where the objects and the elements of their arrays lie: addresses and bytes. Empty arrays are left out.
  [[nodiscard]] const std::vector<std::pair<std::uintptr_t, std::size_t>>& ranges() const noexcept { return ranges_; }
  // Each lies at an address that suits its type.
  [[nodiscard]] bool is_aligned() const noexcept { return is_aligned_; }

 private:
  using list_function = void (canonical_graph::*)(const void*);
  template <class T>
  void list(const void* object) {
    is_aligned_ &= reinterpret_cast<std::uintptr_t>(object) % alignof(T) == 0;
    list_of(*static_cast<const T*>(object));
  }
  void meet(const void* object, list_function function) {
    if (object == nullptr) return words_.push_back(0);
    const auto [known, is_new] = numbers_.emplace(object, numbers_.size() + 1);
    words_.push_back(known->second);
    if (is_new) pending_.emplace_back(function, object);
  }
  template <class T>
  void meet(const T* object) {
    meet(object, &canonical_graph::list<T>);
  }
  void add_range(const void* begin, std::size_t bytes) {
    if (bytes != 0) ranges_.emplace_back(reinterpret_cast<std::uintptr_t>(begin), bytes);
  }
  void list_of(const unit_leaf& leaf) {
    add_range(&leaf, sizeof leaf);
    words_.push_back(leaf.value);
    meet(leaf.other);
  }
  void list_of(const unit_wide& wide) {
    add_range(&wide, sizeof wide);
    words_.push_back(wide.byte);
    meet(wide.leaf);
  }
  void list_of(const unit_shape& shape) {
    words_.push_back(shape.type_tag());
    words_.push_back(shape.id);
    meet(shape.neighbour);
    const auto* const disk = cast<const unit_disk>(&shape);
    add_range(&shape, disk == nullptr ? sizeof shape : sizeof *disk);
    if (disk == nullptr) return;
    words_.push_back(static_cast<std::uint64_t>(disk->radius));
    meet(disk->centre);
  }
  void list_of(const unit_node& node) {
    add_range(&node, sizeof node);
    if (!node.name.empty()) add_range(node.name.data(), node.name.size() + 1);
    add_range(node.numbers.data(), node.numbers.size() * sizeof(double));
    add_range(node.friends.data(), node.friends.size() * sizeof(unit_node*));
    add_range(node.leaves.data(), node.leaves.size() * sizeof(marked_leaf));
    words_.push_back(node.value);
    for (const unit_node* next : node.next) meet(next);
    words_.push_back(node.name.size());
    for (const char c : node.name.view()) words_.push_back(static_cast<std::uint64_t>(c));
    words_.push_back(static_cast<std::uint64_t>(*node.name.c_str()));
    words_.push_back(node.numbers.size());
    for (const double each : node.numbers) words_.push_back(static_cast<std::uint64_t>(each));
    words_.push_back(node.friends.size());
    for (const unit_node* each : node.friends) meet(each);
    words_.push_back(node.leaves.size());
    for (const marked_leaf& each : node.leaves) {
      meet(each.leaf);
      words_.push_back(each.mark.value);
    }
    words_.push_back(static_cast<std::uint64_t>(node.cache.value));
    meet(node.shape);
    meet(node.wide);
    for (const char c : node.tail) words_.push_back(static_cast<std::uint64_t>(c));
  }

  std::vector<std::uint64_t> words_;
  std::vector<std::pair<std::uintptr_t, std::size_t>> ranges_;
  std::unordered_map<const void*, std::size_t> numbers_;
  std::deque<std::pair<list_function, const void*>> pending_;
  bool is_aligned_ = true;
};

}  // namespace situ::test
