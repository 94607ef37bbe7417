// What the subjects of `situ bench pool` do, each a program of its own: PROGRAM CASE FOLDER SIZE. It prints the time of
// one operation in nanoseconds and a number that all subjects of the case must agree on; it keeps its files in the
// folder, where the next case of the same subject may look for them.
//
//   small_process, small_machine, small_batched
//                                  SIZE transactions, each writes 64 B of one of 1024 records
//   publish_1, publish_1000        SIZE objects of 32 B are made and linked to a list, so many a transaction
//   graph_store                    a graph of SIZE objects in memory is stored
//   graph_open                     what graph_store has left is opened, and walked
//   hash_insert                     SIZE keys to a map, 1000 a transaction; the map stays
//   hash_mixed                      that map's SIZE keys are read; then two threads do 4 SIZE operations, which are
//                                  timed: nine reads, each of a key, then a write, and so on
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pool_bench {

inline double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

// The finalizer of splitmix64: the same choices for all subjects.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct outcome {
  double ns = 0;
  std::uint64_t check = 0;
};

// --- small transactions ---

struct record {
  std::uint64_t words[8];
};
inline constexpr std::size_t record_count = 1024;
[[nodiscard]] constexpr std::size_t updated(std::uint64_t i) { return mix(i) % record_count; }
[[nodiscard]] constexpr record contents(std::uint64_t i) { return {{i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i}}; }

// write(index, record): one transaction. read(index): what is there.
template <class Write, class Read>
outcome time_updates(std::size_t count, Write write, Read read) {
  for (std::size_t i = 0; i < count / 10; ++i) write(updated(i), contents(i));  // warm
  const double begin = now_ns();
  for (std::size_t i = 0; i < count; ++i) write(updated(i), contents(i));
  outcome done{(now_ns() - begin) / static_cast<double>(count), 0};
  for (std::size_t i = 0; i < record_count; ++i) done.check += read(i).words[7];
  return done;
}

// --- objects ---

// push(first, last): makes objects with these keys, in one transaction. sum(): of the keys in the list.
template <class Push, class Sum>
outcome time_publishing(std::size_t count, std::size_t each, Push push, Sum sum) {
  const double begin = now_ns();
  for (std::size_t i = 0; i < count; i += each) push(i, i + each < count ? i + each : count);
  const double ns = (now_ns() - begin) / static_cast<double>(count);
  return {ns, sum()};
}
[[nodiscard]] inline std::size_t each_of(std::string_view what) { return what == "publish_1" ? 1 : 1000; }

// --- a graph: a binary tree whose nodes have one more edge, to any node ---

[[nodiscard]] constexpr std::size_t other_of(std::size_t i, std::size_t count) { return mix(i) % count; }

// Node: value, left, right, other; walked along the tree.
template <class Node>
std::uint64_t sum_of_graph(const Node* root) {
  std::uint64_t sum = 0;
  std::vector<const Node*> left{root};
  while (!left.empty()) {
    const Node* const at = left.back();
    left.pop_back();
    sum += at->value + 3 * at->other->value;
    if (at->right) left.push_back(&*at->right);
    if (at->left) left.push_back(&*at->left);
  }
  return sum;
}

// --- a map ---

[[nodiscard]] constexpr std::uint64_t key_of(std::uint64_t i) { return mix(i) >> 1; }
[[nodiscard]] constexpr std::uint64_t value_of(std::uint64_t i) { return i + 1; }

// read(key): its value. write(key, value): one transaction. Each thread has keys of its own to write, so that the
// result is the same in any order.
template <class Read, class Write>
outcome time_mixed(std::size_t keys, Read read, Write write) {
  const std::size_t count = 4 * keys;
  for (std::size_t i = 0; i < keys; ++i)  // warm
    if (read(key_of(i)) == 0) throw std::runtime_error{"a key has no value"};
  std::uint64_t sums[2] = {};
  std::exception_ptr failed[2];
  const auto body = [&](std::size_t which) {
    try {
      for (std::size_t i = 0; i < count / 2; ++i) {
        const std::uint64_t chosen = mix(i * 2 + which) % (keys / 2) * 2 + which;
        if (i % 10 == 9) {
          write(key_of(chosen), value_of(i));
        } else {
          sums[which] += read(key_of(chosen));
        }
      }
    } catch (...) {
      failed[which] = std::current_exception();
    }
  };
  const double begin = now_ns();
  std::thread second{body, 1};
  body(0);
  second.join();
  const double ns = now_ns() - begin;
  for (const auto& each : failed)
    if (each != nullptr) std::rethrow_exception(each);
  return {ns / static_cast<double>(count), sums[0] + sums[1]};
}

// --- the program ---

struct order {
  std::string what;
  std::string folder;
  std::size_t size = 0;
  [[nodiscard]] std::string file(const char* name) const { return folder + "/" + name; }
};

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "situ bench pool: %s\n", why.c_str());
  std::exit(1);
}

template <class Run>
int main_of_subject(int argc, char** argv, Run run) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s CASE FOLDER SIZE (situ bench pool)\n", argv[0]);
    return 2;
  }
  try {
    const outcome done = run(order{argv[1], argv[2], std::strtoull(argv[3], nullptr, 10)});
    std::printf("%.8g %llu\n", done.ns, static_cast<unsigned long long>(done.check));
    std::fflush(stdout);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  std::_Exit(0);  // graphs of others are not taken apart: that is not measured
}

}  // namespace pool_bench
