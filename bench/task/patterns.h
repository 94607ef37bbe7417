// Units of about 1 us with two declared regions each, in three patterns; every subject of `situ bench tasks` runs them.
//
//   independent   unit i reads a[i] and writes b[i]
//   chained       each unit reads one word and updates another, the same for all: one after the other
//   wavefront     rows of 64 words: each unit updates the next word of a row and reads the one before it in the row
//
// What is not work is overhead: threads * wall - work. Of `chained`, where one unit runs at a time, wall - work.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace task_bench {

inline constexpr int threads = 2;
inline constexpr std::size_t columns = 64;

inline double clock_ns() { return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count()); }

// Dependent multiplications, in the caller's registers.
inline void work(int steps) {
  std::uint64_t x = 1;
  for (int i = 0; i < steps; ++i) {
    x *= 0x9e37'79b9'7f4a'7c15U;
    asm volatile("" : "+r"(x));
  }
}
// Steps that take 1 us, by the best of some tries.
inline int steps_for_1us() {
  double best = 1e18;
  for (int i = 0; i < 50; ++i) {
    const double begin = clock_ns();
    work(100'000);
    best = best < clock_ns() - begin ? best : clock_ns() - begin;
  }
  return static_cast<int>(100'000 * 1000 / best);
}

struct pattern {
  const char* name;
  std::size_t units;
  int steps;
  std::vector<std::uint64_t> a, b;

  pattern(const char* name, std::size_t units, int steps)
      : name{name}, units{units}, steps{steps}, a(std::strcmp(name, "independent") == 0 ? units : columns), b(a.size()) {}

  // What unit i reads, and what it writes or (`updates`) updates.
  [[nodiscard]] const std::uint64_t& read(std::size_t i) const {
    switch (name[0]) {
      case 'i': return a[i];
      case 'c': return a[0];
      default: return i % columns == 0 ? a[0] : b[i % columns - 1];
    }
  }
  [[nodiscard]] std::uint64_t& written(std::size_t i) {
    switch (name[0]) {
      case 'i': return b[i];
      case 'c': return b[0];
      default: return b[i % columns];
    }
  }
  [[nodiscard]] bool updates() const { return name[0] != 'i'; }
};

// run(pattern): all units, and waits for them. Returns the overhead of a unit in ns; the work is measured just before and after.
template <class Run>
double overhead_ns(pattern& p, Run run) {
  const auto alone = [&] {
    const double begin = clock_ns();
    for (std::size_t i = 0; i < p.units / 10; ++i) work(p.steps);
    return (clock_ns() - begin) * 10;
  };
  const double before = alone();
  const double begin = clock_ns();
  run(p);
  const double wall = clock_ns() - begin;
  const double work_ns = (before + alone()) / 2;
  return ((p.name[0] == 'c' ? 1 : threads) * wall - work_ns) / static_cast<double>(p.units);
}

// The program of one rival: CASE UNITS STEPS TIMES; prints an overhead a line.
template <class Run>
int main_of_rival(int argc, char** argv, Run run);

}  // namespace task_bench
