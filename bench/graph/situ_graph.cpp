// The subjects of `situ bench graph` that are ours: situ, and beside it the raw walk, memcpy, and a copy with new and
// std::unordered_map. Graphs are copied within one place, or sent from the first of two to the second.
#include "forms.h"

#include <situ/graph.h>
#include <situ/situ.h>

#include <time.h>

#include <atomic>
#include <memory>
#include <new>
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

// An array, which lies there with its elements.
template <class T>
class array_memory {
 public:
  explicit array_memory(std::size_t n)
      : memory_{situ::allocate_bytes(sizeof(situ::array<T>))}, array_{new(memory_.local()) situ::array<T>(n)} {}
  ~array_memory() {
    std::destroy_at(array_);
    situ::deallocate(memory_);
  }
  array_memory(const array_memory&) = delete;
  array_memory& operator=(const array_memory&) = delete;
  [[nodiscard]] situ::array<T>& get() const noexcept { return *array_; }

 private:
  situ::ptr<std::byte> memory_;
  situ::array<T>* array_;
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

// --- what Situ does with a graph ---

enum class operation_kind { clone, ship, free };
struct operation {
  const char* name;
  operation_kind what;
  situ::transfer how;
};
constexpr operation operations[] = {
    {"clone", operation_kind::clone, situ::transfer::automatic},
    {"ship_auto", operation_kind::ship, situ::transfer::automatic},
    {"ship_message", operation_kind::ship, situ::transfer::message},
    {"ship_pull", operation_kind::ship, situ::transfer::pull},
    {"ship_offload", operation_kind::ship, situ::transfer::offload},
    {"free_message", operation_kind::free, situ::transfer::message},
    {"free_pull", operation_kind::free, situ::transfer::pull},
    {"free_offload", operation_kind::free, situ::transfer::offload},
};

// With two places, the second serves the first, and answers its pings while it is asked to.
struct page {
  enum : std::uint64_t { serve, answer, end };
  alignas(128) std::atomic<std::uint64_t> wish{serve};
  alignas(128) std::atomic<std::uint64_t> ping{0};
  alignas(128) std::atomic<std::uint64_t> pong{0};
};
page* shared = nullptr;
constexpr situ::place peer{1};

// Shared memory's own round trip.
double ping_pong_ns() {
  constexpr std::uint64_t rounds = 400;
  shared->wish.store(page::answer);
  std::uint64_t value = shared->ping.load();
  const auto exchange = [&](std::uint64_t n) {
    while (n-- > 0) {
      shared->ping.store(++value, std::memory_order_release);
      while (shared->pong.load(std::memory_order_acquire) != value) {}
    }
  };
  exchange(rounds / 4);
  const double start = now_ns();
  exchange(rounds);
  const double each = (now_ns() - start) / rounds;
  shared->wish.store(page::serve);
  return each;
}
void serve_first_place() {
  for (std::uint64_t wish; (wish = shared->wish.load(std::memory_order_acquire)) != page::end;) {
    if (wish == page::answer) {
      shared->pong.store(shared->ping.load(std::memory_order_acquire), std::memory_order_release);
    } else {
      situ::progress();
    }
  }
}

template <class T>
auto send(situ::route to, T* root) {
  return situ::async_at(to, [](T* arrived) { keep(arrived); }, root);
}
template <class T>
auto send(situ::route to, const situ::array<T>& root) {
  return situ::async_at(to, [](situ::array<T>& arrived) { keep(arrived.data()); }, root);
}
template <class T>
void ship(situ::route to, T* root) {
  situ::at(to, [](T* arrived) { keep(arrived); }, root);
}
template <class T>
void ship(situ::route to, const situ::array<T>& root) {
  situ::at(to, [](situ::array<T>& arrived) { keep(arrived.data()); }, root);
}

double thread_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}
void work_a_little() {
  std::uint64_t value = 1;
  for (int i = 0; i < 1000; ++i) {
    value = value * 0x9e3779b97f4a7c15 | 1;
    asm volatile("" : "+r"(value));
  }
}

// The caller works while the graph is on its way. What it did not spend on its work, the transfer took from it. Raw:
// until it was there.
template <class Root>
std::pair<double, double> ship_and_work(situ::route to, const Root& root) {
  constexpr int calibration = 200;
  double start = thread_ns();
  for (int i = 0; i < calibration; ++i) work_a_little();
  const double work_ns = (thread_ns() - start) / calibration;
  const double begin = now_ns();
  start = thread_ns();
  double done = 0;
  auto arrival = send(to, root);
  for (; !arrival.is_ready(); ++done) {
    work_a_little();
    situ::progress();
  }
  const double spent = thread_ns() - start - done * work_ns;
  return {now_ns() - begin, std::max(spent, 1.0)};
}

template <class Root, class Raw>
void take_situ(const sampler& samples, const operation& op, const std::string& name, double units, Raw raw,
               const Root& root) {
  const situ::route to = situ::via(peer, op.how);
  switch (op.what) {
    case operation_kind::clone:
      return samples.take_all(name, units, raw, [&] { keep(situ::clone(root).get()); });  // and given back
    case operation_kind::ship: return samples.take_all(name, units, raw, [&] { ship(to, root); });
    case operation_kind::free: return samples.take_pairs(name, units, [&] { return ship_and_work(to, root); });
  }
}

// `bytes` at `from`, into memory that is warm.
void copy_bytes(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  to.resize(std::max(to.size(), bytes));
  std::memcpy(to.data(), from, bytes);
  keep(to.data());
}

template <class T, class Walk>
void take_graph(const sampler& samples, const operation& op, subject who, const std::string& name, T* nodes, T* root,
                std::size_t n, Walk walk) {
  std::vector<std::byte> buffer;
  const auto units = static_cast<double>(n);
  switch (who) {
    case subject::raw_walk: return samples.take_all(name, units, walk, walk);
    case subject::memcpy: return samples.take_all(name, units, walk, [&] { copy_bytes(buffer, nodes, n * sizeof(T)); });
    case subject::situ: return take_situ(samples, op, name, units, walk, root);
    case subject::map_clone:
      return samples.take(name, units, walk, [&] {
        map_copier<T> copier;
        return timed([&] { keep(copier.copy(root)); });
      });
  }
}

void take_pointer_array(const sampler& samples, const operation& op, subject who, const std::string& name,
                        std::size_t n) {
  const node_memory<leaf> leaves{n};
  const array_memory<leaf*> array{n};
  situ::array<leaf*>& pointers = array.get();
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
    case subject::situ: return take_situ(samples, op, name, units, raw, pointers);
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
void take_flat(const sampler& samples, const operation& op, subject who, const std::string& name) {
  using object = flat_object<Bytes>;
  const node_memory<object> memory{1};
  std::memset(memory.get(), 1, Bytes);
  std::vector<std::byte> buffer;
  const auto raw = [&] { copy_bytes(buffer, memory.get(), Bytes); };
  if (who == subject::situ) return take_situ(samples, op, name, Bytes, raw, memory.get());
  if (who != subject::map_clone) return samples.take_all(name, Bytes, raw, raw);
  samples.take(name, Bytes, raw, [&] {
    std::unique_ptr<object> copy;
    return timed([&] {
      copy.reset(new object(*memory.get()));
      keep(copy.get());
    });
  });
}

void take_primitives(const sampler& samples, const operation& op, subject who, const std::string& name, std::size_t n) {
  const array_memory<double> array{n};
  const situ::array<double>& numbers = array.get();
  std::vector<std::byte> buffer;
  const auto raw = [&] { copy_bytes(buffer, numbers.data(), n * sizeof(double)); };
  const auto units = static_cast<double>(n * sizeof(double));
  if (who == subject::situ) return take_situ(samples, op, name, units, raw, numbers);
  if (who != subject::map_clone) return samples.take_all(name, units, raw, raw);
  samples.take(name, units, raw, [&] {
    std::vector<double> copy;
    return timed([&] {
      copy.assign(numbers.begin(), numbers.end());
      keep(copy.data());
    });
  });
}

void take_form(const sampler& samples, const operation& op, subject who, const std::string& form,
               const std::string& name, std::size_t n, std::size_t size) {
  if (form == "dlist" || form == "dlist_shuffled") {
    const node_memory<list_node> nodes{n};
    list_node* const root = make_list(nodes.get(), n, form != "dlist");
    return take_graph(samples, op, who, name, nodes.get(), root, n, [=] { keep(walk(root)); });
  }
  if (form == "tree") {
    const node_memory<tree_node> nodes{n};
    tree_node* const root = make_tree(nodes.get(), n);
    return take_graph(samples, op, who, name, nodes.get(), root, n, [=] { keep(walk(root)); });
  }
  if (form == "random4") {
    const node_memory<web_node> nodes{n};
    web_node* const root = make_web(nodes.get(), n);
    std::vector<web_node*> pending;
    return take_graph(samples, op, who, name, nodes.get(), root, n, [&] { keep(walk(root, pending)); });
  }
  if (form == "ptr_array") return take_pointer_array(samples, op, who, name, n);
  if (form == "primitives") return take_primitives(samples, op, who, name, n);
  switch (size) {
    case 0: return take_flat<size_of(0)>(samples, op, who, name);
    case 1: return take_flat<size_of(1)>(samples, op, who, name);
    case 2: return take_flat<size_of(2)>(samples, op, who, name);
    case 3: return take_flat<size_of(3)>(samples, op, who, name);
    case 4: return take_flat<size_of(4)>(samples, op, who, name);
    default: return take_flat<size_of(5)>(samples, op, who, name);
  }
}

constexpr const char* subjects[] = {"raw_walk", "memcpy", "situ", "map_clone"};
constexpr const char* forms[] = {"dlist", "dlist_shuffled", "ptr_array", "tree", "random4", "flat", "primitives"};

int run(const char* name) {
  const auto* const found = std::find_if(std::begin(subjects), std::end(subjects),
                                         [&](const char* each) { return std::string{each} == name; });
  if (found == std::end(subjects)) return 2;
  struct wanted {
    const operation* op;
    std::string form;
    std::string name;
    std::size_t size;
  };
  std::vector<wanted> cases;
  for (const operation& op : operations)
    for (const char* form : forms)
      for (std::size_t i = 0; i < std::size(sizes); ++i)
        if (const std::string case_name = std::string{op.name} + "_" + form + "_" + sizes[i]; is_wanted(case_name))
          cases.push_back({&op, form, case_name, i});
  const sampler samples{name, cases.size(), shared != nullptr ? ping_pong_ns : clock_check_ns};
  for (const wanted& each : cases) {
    if ((each.op->what != operation_kind::clone) != (shared != nullptr)) return 2;
    take_form(samples, *each.op, static_cast<subject>(found - std::begin(subjects)), each.form, each.name,
              size_of(each.size), each.size);
  }
  samples.end();
  return 0;
}

}  // namespace
}  // namespace graph_bench

int main(int argc, char** argv) {
  using namespace graph_bench;
  const char* const name = argc > 1 ? argv[1] : "";
  situ::runtime rt;
  situ::ptr<page> memory;
  if (situ::place_count() == 2) {
    if (situ::here() == peer) {
      memory = situ::allocate<page>(1, {.alignment = alignof(page)});
      new (memory.local()) page;
    }
    memory = situ::broadcast(memory, peer.index());
    shared = memory.local();
    if (situ::here() == peer) {
      serve_first_place();
      situ::barrier();
      situ::deallocate(memory);
      return 0;
    }
  }
  const int code = run(name);
  if (shared != nullptr) {
    shared->wish.store(page::end);
    situ::barrier();
  }
  if (code != 0)
    std::fprintf(stderr,
                 "usage: situ_bench_graph raw_walk|memcpy|situ|map_clone (started by `situ bench graph`: on one place, "
                 "to ship graphs on two)\n");
  return code;
}
