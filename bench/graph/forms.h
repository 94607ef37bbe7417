// The object graphs of `situ bench graph`, as plain structures, and how their subjects take samples. No part of Situ is
// needed: the rivals are compiled from a copy of this file.
//
// A sample: a clock check (or, with two places, a raw ping-pong), a batch of raw walks over the case's graph (for flat
// and primitives: of memcpy), and a batch of copies of it. Batches are sized once for each case, to at least 200 us.
// Times are for one object, or one byte of flat and primitives.
//   {"case":"clone_dlist_1e4","subject":"situ","ns":3.3,"calibration_ns":61.2,"raw_ns":1.55}
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace graph_bench {

// --- forms ---

struct list_node {
  list_node* next;
  list_node* previous;
  std::uint64_t value;
};
struct leaf {
  std::uint64_t value;
};
struct tree_node {
  tree_node* left;
  tree_node* right;
  std::uint64_t value;
};
struct web_node {
  std::array<web_node*, 4> links;
  std::uint64_t value;
};

// Positions 0 to n - 1, in order or not.
inline std::vector<std::size_t> positions(std::size_t n, bool shuffled) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  if (shuffled) std::shuffle(order.begin(), order.end(), std::mt19937_64{n});
  return order;
}

// Into memory for n nodes; the root is returned.
inline list_node* make_list(list_node* nodes, std::size_t n, bool shuffled) {
  const std::vector<std::size_t> at = positions(n, shuffled);
  for (std::size_t i = 0; i < n; ++i)
    nodes[at[i]] = {i + 1 < n ? &nodes[at[i + 1]] : nullptr, i > 0 ? &nodes[at[i - 1]] : nullptr, i};
  return &nodes[at[0]];
}
// Complete, in the order in which a recursive construction would make it: a node, its left tree, its right tree.
inline tree_node* make_tree(tree_node* nodes, std::size_t n) {
  if (n == 0) return nullptr;
  const std::size_t left = (n - 1) / 2;
  *nodes = {nullptr, nullptr, n};
  nodes->left = make_tree(nodes + 1, left);
  nodes->right = make_tree(nodes + 1 + left, n - 1 - left);
  return nodes;
}
// Four pointers a node; the first leads to the next, so that all are reached, the others anywhere.
inline web_node* make_web(web_node* nodes, std::size_t n) {
  std::mt19937_64 random{n};
  for (std::size_t i = 0; i < n; ++i)
    nodes[i] = {{&nodes[(i + 1) % n], &nodes[random() % n], &nodes[random() % n], &nodes[random() % n]}, 0};
  return nodes;
}

// --- raw walks: every object once, with nothing in between ---

inline std::uint64_t walk(list_node* at) {
  std::uint64_t sum = 0;
  for (; at != nullptr; at = at->next) {
    sum += at->value;
    asm volatile("" ::"r"(sum));
  }
  return sum;
}
inline std::uint64_t walk(tree_node* at) { return at == nullptr ? 0 : at->value + walk(at->left) + walk(at->right); }
// Marks what it has met in the nodes themselves.
inline std::uint64_t walk(web_node* root, std::vector<web_node*>& pending) {
  const std::uint64_t mark = root->value + 1;
  std::uint64_t met = 1;
  root->value = mark;
  pending.assign(1, root);
  while (!pending.empty()) {
    web_node* const at = pending.back();
    pending.pop_back();
    for (web_node* const link : at->links) {
      if (link->value == mark) continue;
      link->value = mark;
      ++met;
      pending.push_back(link);
    }
  }
  return met;
}
inline std::uint64_t walk(leaf* const* leaves, std::size_t n) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += leaves[i]->value;
    asm volatile("" ::"r"(sum));
  }
  return sum;
}

// --- cases ---

inline constexpr const char* sizes[] = {"1e2", "1e3", "1e4", "1e5", "1e6", "1e7"};
inline constexpr std::size_t size_of(std::size_t i) {
  std::size_t n = 100;
  for (; i > 0; --i) n *= 10;
  return n;
}

inline bool is_wanted(const std::string& case_name) {
  const char* const cases = std::getenv("SITU_BENCH_CASES");
  return cases != nullptr && std::string{cases}.find("," + case_name + ",") != std::string::npos;
}
inline double seconds_given() {
  const char* const text = std::getenv("SITU_BENCH_SECONDS");
  return text == nullptr ? 1 : std::atof(text);
}
inline double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// How fast the processor is now: 50 dependent multiplications.
inline double clock_check_ns() {
  constexpr int rounds = 200;
  std::uint64_t value = 1;
  const double start = now_ns();
  for (int i = 0; i < rounds * 50; ++i) {
    value = value * 0x9e3779b97f4a7c15 | 1;
    asm volatile("" : "+r"(value));
  }
  return (now_ns() - start) / rounds;
}

// For a sampler: all operations are timed at once, or each by itself where operation() does more than what is timed and
// returns the time.
template <class Operation>
auto in_one_go(Operation operation) {
  return [operation](std::size_t n) mutable {
    const double start = now_ns();
    for (; n > 0; --n) operation();
    return now_ns() - start;
  };
}
template <class Operation>
auto one_by_one(Operation operation) {
  return [operation](std::size_t n) mutable {
    double sum = 0;
    for (; n > 0; --n) sum += operation();
    return sum;
  };
}
template <class Operation>
double timed(Operation operation) {
  const double start = now_ns();
  operation();
  return now_ns() - start;
}

class sampler {
 public:
  // calibrate() is called before each sample; it tells how fast the machine is now.
  sampler(const char* subject, std::size_t cases, double (*calibrate)() = clock_check_ns)
      : subject_{subject},
        seconds_{seconds_given() / static_cast<double>(std::max<std::size_t>(cases, 1))},
        calibrate_{calibrate} {}

  // raw() and copy() do one operation on `units` objects or bytes. copy() may do more than what is timed; it returns
  // the time.
  template <class Raw, class Copy>
  void take(const std::string& case_name, double units, Raw raw, Copy copy) const {
    take_batches(case_name, units, in_one_go(raw), one_by_one(copy));
  }
  // The same where all of copy() is timed.
  template <class Raw, class Copy>
  void take_all(const std::string& case_name, double units, Raw raw, Copy copy) const {
    take_batches(case_name, units, in_one_go(raw), in_one_go(copy));
  }
  // take_once() does one operation and returns the time of its raw counterpart and its own.
  template <class TakeOnce>
  void take_pairs(const std::string& case_name, double units, TakeOnce take_once) const {
    take_once();
    take_until_end([&] {
      const double clock = calibrate_();
      const auto [raw_ns, ns] = take_once();
      print(case_name, clock, raw_ns / units, ns / units);
    });
  }
  void end() const {
    std::printf("{\"end\":\"%s\"}\n", subject_);
    std::fflush(stdout);
  }

 private:
  // raw(n) and copy(n) do n operations and return how long they took.
  template <class Raw, class Copy>
  void take_batches(const std::string& case_name, double units, Raw raw, Copy copy) const {
    const std::size_t raw_count = size_batch(raw);
    const std::size_t copy_count = size_batch(copy);
    take_until_end([&] {
      const double clock = calibrate_();
      const double raw_ns = raw(raw_count);
      const double copy_ns = copy(copy_count);
      print(case_name, clock, raw_ns / (units * static_cast<double>(raw_count)),
            copy_ns / (units * static_cast<double>(copy_count)));
    });
  }
  template <class Take>
  void take_until_end(Take take) const {
    const double end = now_ns() + seconds_ * 1e9;
    int samples = 0;
    do {
      take();
    } while (++samples < 3 || (now_ns() < end && samples < 1000));
  }
  void print(const std::string& case_name, double calibration_ns, double raw_ns, double ns) const {
    std::printf("{\"case\":\"%s\",\"subject\":\"%s\",\"ns\":%.6g,\"calibration_ns\":%.6g,\"raw_ns\":%.6g}\n",
                case_name.c_str(), subject_, ns, calibration_ns, raw_ns);
    std::fflush(stdout);
  }
  // So many operations that a reading of the clock does not count. Warms up, too: three copies at least.
  template <class Operation>
  static std::size_t size_batch(Operation operation) {
    operation(2);
    const double one = operation(1);
    return one >= 200'000 ? 1 : static_cast<std::size_t>(200'000 / std::max(one, 20.0)) + 1;
  }

  const char* subject_;
  double seconds_;
  double (*calibrate_)();
};

// The value counts as used.
template <class T>
void keep(T value) {
  asm volatile("" ::"r"(value) : "memory");
}

}  // namespace graph_bench
