// Random object graphs of every kind of field, and whether two graphs are the same: equal values, and pointers alike,
// so that sharing and cycles correspond one to one.
#pragma once

#include <situ/graph/clone.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace situ::test {

struct small {
  std::uint32_t value = 0;
  small* other = nullptr;
};

struct shape : derived<shape> {
  std::uint16_t id = 0;
  shape* neighbour = nullptr;
  SITU_DESCRIBE_DERIVED(shape, (situ::object), id, neighbour)
};
struct circle : derived<circle, shape> {
  double radius = 0;
  small* centre = nullptr;
  SITU_DESCRIBE_DERIVED(circle, (shape), radius, centre)
};
struct group : derived<group, shape> {
  situ::vector<shape*> members;
  SITU_DESCRIBE_DERIVED(group, (shape), members)
};

struct alignas(64) wide {
  std::uint8_t byte = 0;
  struct node* owner = nullptr;
};

struct pair_of_smalls {
  small first;
  small second;
};

struct node {
  std::uint64_t value = 0;
  std::array<node*, 3> next{};
  situ::string name;
  situ::array<double> numbers;
  situ::vector<node*> friends;
  situ::vector<pair_of_smalls> parts;
  situ::vector<situ::vector<std::uint8_t>> rows;
  situ::transient<int> cache;
  std::optional<small*> maybe;
  std::variant<int, node*, situ::string> either;
  std::pair<std::uint8_t, small*> both{};
  shape* figure = nullptr;
  wide* aligned = nullptr;
  char tail[3]{};
};

// Objects in memory that is full of `noise` when they are made: their padding, and what their constructors leave alone.
template <class T>
class noisy_pool {
 public:
  explicit noisy_pool(std::byte noise) noexcept : noise_{noise} {}
  noisy_pool(const noisy_pool&) = delete;
  noisy_pool& operator=(const noisy_pool&) = delete;
  ~noisy_pool() {
    for (T* each : objects_) {
      each->~T();
      ::operator delete(each, std::align_val_t{alignof(T)});
    }
  }
  void emplace_back() {
    void* const memory = ::operator new(sizeof(T), std::align_val_t{alignof(T)});
    std::memset(memory, static_cast<int>(noise_), sizeof(T));
    asm volatile("" : : "r"(memory) : "memory");  // else the compiler leaves out what the constructor would find
    objects_.push_back(::new (memory) T);
  }
  [[nodiscard]] std::size_t size() const noexcept { return objects_.size(); }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return *objects_[i]; }

 private:
  std::byte noise_;
  std::vector<T*> objects_;
};

// Owns what it makes. One seed makes one graph, whatever lay in its memory; where there is noise, each object has held
// other values before.
class graph_maker {
 public:
  explicit graph_maker(std::uint64_t seed, std::byte noise = std::byte{0})
      : random_{seed}, noise_{noise}, nodes_{noise}, smalls_{noise}, circles_{noise}, groups_{noise}, wides_{noise} {}

  // The root of a graph of about `size` nodes; each points anywhere.
  node* make(std::size_t size) {
    const std::size_t smalls = size / 2 + 1;
    for (std::size_t i = 0; i < smalls; ++i) smalls_.emplace_back();
    for (std::size_t i = 0; i < size / 3 + 1; ++i) circles_.emplace_back();
    for (std::size_t i = 0; i < size / 5 + 1; ++i) groups_.emplace_back();
    for (std::size_t i = 0; i < size / 7 + 1; ++i) wides_.emplace_back();
    for (std::size_t i = 0; i < size; ++i) nodes_.emplace_back();
    if (noise_ != std::byte{0}) {
      const std::mt19937_64 kept = random_;
      random_.seed(static_cast<std::uint64_t>(noise_));
      fill_all();
      random_ = kept;
    }
    fill_all();
    return &nodes_[0];
  }

 private:
  void fill_all() {
    for (std::size_t i = 0; i < smalls_.size(); ++i) {
      smalls_[i].value = static_cast<std::uint32_t>(random_());
      smalls_[i].other = maybe_of(smalls_);
    }
    for (std::size_t i = 0; i < circles_.size(); ++i) {
      fill(circles_[i]);
      circles_[i].radius = static_cast<double>(random_() % 1000);
      circles_[i].centre = maybe_of(smalls_);
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      fill(groups_[i]);
      groups_[i].members.clear();
      for (std::size_t n = random_() % 4; n > 0; --n) groups_[i].members.push_back(any_shape());
    }
    for (std::size_t i = 0; i < wides_.size(); ++i) {
      wides_[i].byte = static_cast<std::uint8_t>(random_());
      wides_[i].owner = maybe_of(nodes_);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) fill(nodes_[i], i + 1 < nodes_.size() ? &nodes_[i + 1] : nullptr);
  }
  template <class T>
  T* maybe_of(noisy_pool<T>& all) {
    return random_() % 4 == 0 ? nullptr : &all[random_() % all.size()];
  }
  shape* any_shape() { return random_() % 2 == 0 ? static_cast<shape*>(maybe_of(circles_)) : maybe_of(groups_); }
  void fill(shape& s) {
    s.id = static_cast<std::uint16_t>(random_());
    s.neighbour = any_shape();
  }
  void fill(node& n, node* chain) {
    n.value = random_();
    n.next = {chain, maybe_of(nodes_), maybe_of(nodes_)};
    n.name = situ::string{std::string(random_() % 20, static_cast<char>('a' + random_() % 26))};
    n.numbers = situ::array<double>(random_() % 5);
    for (double& d : n.numbers) d = static_cast<double>(random_());
    n.friends.clear();
    n.parts.clear();
    n.rows.clear();
    for (std::size_t i = random_() % 4; i > 0; --i) n.friends.push_back(maybe_of(nodes_));
    for (std::size_t i = random_() % 3; i > 0; --i) n.parts.push_back({{1, maybe_of(smalls_)}, {2, maybe_of(smalls_)}});
    for (std::size_t i = random_() % 3; i > 0; --i)
      n.rows.emplace_back(random_() % 6, static_cast<std::uint8_t>(random_()));
    n.cache = 42;
    n.maybe.reset();
    if (random_() % 2 == 0) n.maybe = maybe_of(smalls_);
    switch (random_() % 3) {
      case 0: n.either = 7; break;
      case 1: n.either = maybe_of(nodes_); break;
      default: n.either = situ::string{"text"};
    }
    n.both = {static_cast<std::uint8_t>(random_()), maybe_of(smalls_)};
    n.figure = any_shape();
    n.aligned = maybe_of(wides_);
    n.tail[2] = 'z';
  }

  std::mt19937_64 random_;
  std::byte noise_;
  noisy_pool<node> nodes_;
  noisy_pool<small> smalls_;
  noisy_pool<circle> circles_;
  noisy_pool<group> groups_;
  noisy_pool<wide> wides_;
};

// Walks two graphs side by side. The first difference is told by difference(), empty if there is none.
class graph_comparison {
 public:
  [[nodiscard]] std::string difference(const node* a, const node* b) {
    meet(a, b);
    while (!pending_.empty() && found_.empty()) {
      auto [compare, x, y] = pending_.front();
      pending_.pop_front();
      (this->*compare)(x, y);
    }
    return found_;
  }
  [[nodiscard]] std::size_t objects() const noexcept { return copies_.size(); }

 private:
  using compare_function = void (graph_comparison::*)(const void*, const void*);

  void expect(bool same, const char* what) {
    if (!same && found_.empty()) found_ = what;
  }
  template <class T>
  void meet(const T* a, const T* b) {
    expect((a == nullptr) == (b == nullptr), "one pointer is null, the other is not");
    if (a == nullptr || b == nullptr) return;
    const auto [known, is_new] = copies_.emplace(a, b);
    const auto [back, back_is_new] = originals_.emplace(b, a);
    expect(known->second == b && back->second == a, "two objects became one, or one became two");
    if (is_new && back_is_new) pending_.push_back({&graph_comparison::compare<T>, a, b});
    expect(reinterpret_cast<std::uintptr_t>(b) % alignof(T) == 0, "an object is not aligned");
  }
  template <class T>
  void compare(const void* a, const void* b) {
    same(*static_cast<const T*>(a), *static_cast<const T*>(b));
  }

  void same(const small& a, const small& b) {
    expect(a.value == b.value, "small.value");
    meet(a.other, b.other);
  }
  void same(const wide& a, const wide& b) {
    expect(a.byte == b.byte, "wide.byte");
    meet(a.owner, b.owner);
  }
  void same(const shape& a, const shape& b) {
    expect(a.type_tag() == b.type_tag() && a.id == b.id, "shape");
    meet(a.neighbour, b.neighbour);
    if (const auto* const c = cast<const circle>(&a)) {
      const auto* const d = cast<const circle>(&b);
      expect(d != nullptr && c->radius == d->radius, "circle");
      if (d != nullptr) meet(c->centre, d->centre);
    }
    if (const auto* const g = cast<const group>(&a)) {
      const auto* const h = cast<const group>(&b);
      expect(h != nullptr && g->members.size() == h->members.size(), "group");
      if (found_.empty())
        for (std::size_t i = 0; i < g->members.size(); ++i) meet(g->members[i], h->members[i]);
    }
  }
  void same(const node& a, const node& b) {
    expect(
        a.value == b.value && a.name == b.name && a.numbers == b.numbers && a.rows == b.rows && b.tail[2] == a.tail[2],
        "node's data");
    expect(b.cache.value == 0, "a transient field did not arrive as zero");
    expect(a.friends.size() == b.friends.size() && a.parts.size() == b.parts.size(), "node's sizes");
    expect(a.maybe.has_value() == b.maybe.has_value() && a.either.index() == b.either.index() &&
               a.both.first == b.both.first,
           "node's choices");
    if (!found_.empty()) return;
    for (std::size_t i = 0; i < 3; ++i) meet(a.next[i], b.next[i]);
    for (std::size_t i = 0; i < a.friends.size(); ++i) meet(a.friends[i], b.friends[i]);
    for (std::size_t i = 0; i < a.parts.size(); ++i) {
      same(a.parts[i].first, b.parts[i].first);
      same(a.parts[i].second, b.parts[i].second);
    }
    if (a.maybe) meet(*a.maybe, *b.maybe);
    if (a.either.index() == 0) expect(std::get<0>(a.either) == std::get<0>(b.either), "variant's number");
    if (a.either.index() == 1) meet(std::get<1>(a.either), std::get<1>(b.either));
    if (a.either.index() == 2) expect(std::get<2>(a.either) == std::get<2>(b.either), "variant's text");
    meet(a.both.second, b.both.second);
    meet(a.figure, b.figure);
    meet(a.aligned, b.aligned);
    expect(reinterpret_cast<std::uintptr_t>(&b) % alignof(node) == 0, "a node is not aligned");
  }

  struct pending_pair {
    compare_function compare;
    const void* a;
    const void* b;
  };
  std::string found_;
  std::deque<pending_pair> pending_;
  std::unordered_map<const void*, const void*> copies_;
  std::unordered_map<const void*, const void*> originals_;
};

}  // namespace situ::test
