// The kernels of the study `host`: each with its inputs, what is timed, and a checksum of its result.
//
// A kernel is made with all of its inputs, runs once untimed, so that caches hold what they hold in the steady state,
// and once timed. Inputs come from a fixed seed. The checksum is a function of the result alone, so that it is equal in
// the native and in the modelled form. All memory comes from huge pages where the system gives them, since the model
// has no TLB. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace situ::studies::host {

// What is done between two looks at the clock.
struct kernel {
  std::function<void()> prepare;            // before each run; its time is nobody's
  std::function<void()> run;                // once to warm up, then timed
  std::function<std::uint64_t()> checksum;  // of the last run's result
};

struct kernel_kind {
  std::string_view name;
  std::string_view size_is;  // what the size counts
  std::uint64_t usual_size;
  kernel (*make)(std::uint64_t size);
};

[[nodiscard]] kernel make_stream(std::uint64_t elements);
[[nodiscard]] kernel make_chase(std::uint64_t bytes);
[[nodiscard]] kernel make_join(std::uint64_t tuples);
[[nodiscard]] kernel make_stencil(std::uint64_t edge);
[[nodiscard]] kernel make_sort(std::uint64_t keys);
[[nodiscard]] kernel make_graph_copy(std::uint64_t nodes);
// No rows of the study: what the model's wrong paths are held against.
[[nodiscard]] kernel make_gather(std::uint64_t bytes);
[[nodiscard]] kernel make_gather_branch(std::uint64_t bytes);

inline constexpr kernel_kind all_kernels[] = {
    {"stream", "elements of each of three arrays", 3'000'000, make_stream},
    {"chase", "bytes", 96U << 20, make_chase},
    {"join", "tuples of the smaller side", 500'000, make_join},
    {"stencil", "points along an edge", 768, make_stencil},
    {"sort", "keys", 200'000, make_sort},
    {"graph_copy", "nodes", 150'000, make_graph_copy},
    {"gather", "bytes", 128U << 20, make_gather},
    {"gather_branch", "bytes", 128U << 20, make_gather_branch},
};

// A generator whose numbers are the same everywhere: splitmix64.
class numbers {
 public:
  explicit numbers(std::uint64_t seed) : state_{seed} {}
  std::uint64_t operator()() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Below `limit`.
  std::uint64_t below(std::uint64_t limit) noexcept { return (*this)() % limit; }

 private:
  std::uint64_t state_;
};

// A random order of [0, count).
[[nodiscard]] std::vector<std::uint32_t> random_order(std::uint64_t count, numbers& random);

// FNV-1a over words.
class checksum {
 public:
  void add(std::uint64_t word) noexcept { sum_ = (sum_ ^ word) * 1099511628211ULL; }
  [[nodiscard]] std::uint64_t value() const noexcept { return sum_; }

 private:
  std::uint64_t sum_ = 14695981039346656037ULL;
};

}  // namespace situ::studies::host
