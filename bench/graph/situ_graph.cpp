// The subjects of `situ bench graph` that are ours: situ, and beside it the raw walk, memcpy, and a copy with new and std::unordered_map.
#include "shapes.h"

#include <situ/graph/clone.h>
#include <situ/situ.h>

#include <memory>
#include <unordered_map>

namespace graph_bench {
namespace {

// In the place's segment, where objects that travel lie.
template <class T>
class node_memory {
 public:
  explicit node_memory(std::size_t n) : nodes_{situ::allocate<T>(n, {.alignment = 64})} {}
  ~node_memory() { situ::deallocate(nodes_); }
  node_memory(const node_memory&) = delete;
  node_memory& operator=(const node_memory&) = delete;
  [[nodiscard]] T* get() const noexcept { return nodes_.local(); }

 private:
  situ::ptr<T> nodes_;
};

// --- a copy as it is written by hand: one object at a time, originals looked up in a hash table ---

template <class T>
class map_copier {
 public:
  map_copier() = default;
  ~map_copier() {
    for (const auto& [original, copy] : copies_) delete copy;
  }
  map_copier(const map_copier&) = delete;
  map_copier& operator=(const map_copier&) = delete;
  T* copy(const T* original) {
    if (original == nullptr) return nullptr;
    T* const root = reach(original);
    while (!pending_.empty()) {
      T* const object = pending_.back();
      pending_.pop_back();
      for_each_pointer(*object, [&](auto*& pointer) {
        if (pointer != nullptr) pointer = reach(pointer);
      });
    }
    return root;
  }

 private:
  T* reach(const T* original) {
    T*& copy = copies_[original];
    if (copy == nullptr) {
      copy = new T(*original);
      pending_.push_back(copy);
    }
    return copy;
  }
  static void for_each_pointer(list_node& n, auto visit) {
    visit(n.next);
    visit(n.previous);
  }
  static void for_each_pointer(tree_node& n, auto visit) {
    visit(n.left);
    visit(n.right);
  }
  static void for_each_pointer(web_node& n, auto visit) {
    for (web_node*& link : n.links) visit(link);
  }
  static void for_each_pointer(leaf&, auto) {}

  std::unordered_map<const T*, T*> copies_;
  std::vector<T*> pending_;
};

enum class subject { raw_walk, memcpy, situ, map_clone };

// `bytes` at `from`, into memory that is warm.
void copy_bytes(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  to.resize(std::max(to.size(), bytes));
  std::memcpy(to.data(), from, bytes);
  keep(to.data());
}

template <class T, class Walk>
void take_graph(const sampler& samples, subject who, const std::string& name, T* nodes, T* root, std::size_t n, Walk walk) {
  std::vector<std::byte> buffer;
  const auto units = static_cast<double>(n);
  switch (who) {
    case subject::raw_walk: return samples.take_all(name, units, walk, walk);
    case subject::memcpy: return samples.take_all(name, units, walk, [&] { copy_bytes(buffer, nodes, n * sizeof(T)); });
    case subject::situ: return samples.take_all(name, units, walk, [&] { keep(situ::clone(root).get()); });  // and given back
    case subject::map_clone:
      return samples.take(name, units, walk, [&] {
        map_copier<T> copier;
        return timed([&] { keep(copier.copy(root)); });
      });
  }
}

void take_pointer_array(const sampler& samples, subject who, const std::string& name, std::size_t n) {
  const node_memory<leaf> leaves{n};
  situ::array<leaf*> pointers(n);
  for (std::size_t i = 0; i < n; ++i) {
    leaves.get()[i].value = i;
    pointers[i] = &leaves.get()[i];
  }
  std::vector<std::byte> buffer;
  const auto units = static_cast<double>(n);
  const auto raw = [&] { keep(walk(pointers.data(), n)); };
  switch (who) {
    case subject::raw_walk: return samples.take_all(name, units, raw, raw);
    case subject::memcpy:
      return samples.take_all(name, units, raw, [&] {
        copy_bytes(buffer, pointers.data(), n * sizeof(leaf*));
        copy_bytes(buffer, leaves.get(), n * sizeof(leaf));
      });
    case subject::situ: return samples.take_all(name, units, raw, [&] { keep(situ::clone(pointers).get()); });
    case subject::map_clone:
      return samples.take(name, units, raw, [&] {
        map_copier<leaf> copier;
        std::vector<leaf*> copy;
        return timed([&] {
          copy.resize(n);
          for (std::size_t i = 0; i < n; ++i) copy[i] = copier.copy(pointers[i]);
        });
      });
  }
}

template <std::size_t Bytes>
struct flat_object {
  std::array<std::uint8_t, Bytes> bytes;
};

// One object of so many bytes.
template <std::size_t Bytes>
void take_flat(const sampler& samples, subject who, const std::string& name) {
  using object = flat_object<Bytes>;
  const node_memory<object> memory{1};
  std::memset(memory.get(), 1, Bytes);
  std::vector<std::byte> buffer;
  const auto raw = [&] { copy_bytes(buffer, memory.get(), Bytes); };
  if (who == subject::situ) return samples.take_all(name, Bytes, raw, [&] { keep(situ::clone(memory.get()).get()); });
  if (who != subject::map_clone) return samples.take_all(name, Bytes, raw, raw);
  samples.take(name, Bytes, raw, [&] {
    std::unique_ptr<object> copy;
    return timed([&] {
      copy.reset(new object(*memory.get()));
      keep(copy.get());
    });
  });
}

void take_primitives(const sampler& samples, subject who, const std::string& name, std::size_t n) {
  const situ::array<double> numbers(n);
  std::vector<std::byte> buffer;
  const auto raw = [&] { copy_bytes(buffer, numbers.data(), n * sizeof(double)); };
  const auto units = static_cast<double>(n * sizeof(double));
  if (who == subject::situ) return samples.take_all(name, units, raw, [&] { keep(situ::clone(numbers).get()); });
  if (who != subject::map_clone) return samples.take_all(name, units, raw, raw);
  samples.take(name, units, raw, [&] {
    std::vector<double> copy;
    return timed([&] {
      copy.assign(numbers.begin(), numbers.end());
      keep(copy.data());
    });
  });
}

void take_shape(const sampler& samples, subject who, const std::string& shape, const std::string& name, std::size_t n, std::size_t size) {
  if (shape == "dlist" || shape == "dlist_shuffled") {
    const node_memory<list_node> nodes{n};
    list_node* const root = make_list(nodes.get(), n, shape != "dlist");
    return take_graph(samples, who, name, nodes.get(), root, n, [=] { keep(walk(root)); });
  }
  if (shape == "tree") {
    const node_memory<tree_node> nodes{n};
    tree_node* const root = make_tree(nodes.get(), n);
    return take_graph(samples, who, name, nodes.get(), root, n, [=] { keep(walk(root)); });
  }
  if (shape == "random4") {
    const node_memory<web_node> nodes{n};
    web_node* const root = make_web(nodes.get(), n);
    std::vector<web_node*> pending;
    return take_graph(samples, who, name, nodes.get(), root, n, [&] { keep(walk(root, pending)); });
  }
  if (shape == "ptr_array") return take_pointer_array(samples, who, name, n);
  if (shape == "primitives") return take_primitives(samples, who, name, n);
  switch (size) {
    case 0: return take_flat<size_of(0)>(samples, who, name);
    case 1: return take_flat<size_of(1)>(samples, who, name);
    case 2: return take_flat<size_of(2)>(samples, who, name);
    case 3: return take_flat<size_of(3)>(samples, who, name);
    case 4: return take_flat<size_of(4)>(samples, who, name);
    default: return take_flat<size_of(5)>(samples, who, name);
  }
}

constexpr const char* subjects[] = {"raw_walk", "memcpy", "situ", "map_clone"};
constexpr const char* shapes[] = {"dlist", "dlist_shuffled", "ptr_array", "tree", "random4", "flat", "primitives"};

int run(const char* name) {
  const auto* const found = std::find_if(std::begin(subjects), std::end(subjects), [&](const char* each) { return std::string{each} == name; });
  if (found == std::end(subjects)) return 2;
  struct wanted {
    std::string shape;
    std::string name;
    std::size_t size;
  };
  std::vector<wanted> cases;
  for (const char* shape : shapes)
    for (std::size_t i = 0; i < std::size(sizes); ++i)
      if (const std::string case_name = std::string{"clone_"} + shape + "_" + sizes[i]; is_wanted(case_name)) cases.push_back({shape, case_name, i});
  const sampler samples{name, cases.size()};
  for (const wanted& each : cases) take_shape(samples, static_cast<subject>(found - std::begin(subjects)), each.shape, each.name, size_of(each.size), each.size);
  samples.end();
  return 0;
}

}  // namespace
}  // namespace graph_bench

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "";
  situ::runtime rt;
  const int code = graph_bench::run(name);
  if (code != 0) std::fprintf(stderr, "usage: situ_bench_graph raw_walk|memcpy|situ|map_clone (started by `situ bench graph`)\n");
  return code;
}
