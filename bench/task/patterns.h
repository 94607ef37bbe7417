// Programs of units with declared accesses, which every subject of `situ bench tasks` runs: what a unit reads and
// writes, and what it does.
//
//   independent   unit i reads a[i] and writes b[i]
//   short_graphs  likewise, but 64 units and a wait at a time; of runtimes that make a graph, a graph each time
//   chained       each unit reads one word and updates another, the same for all: one after the other
//   wavefront     rows of 64 words: each unit updates the next word of a row and reads the one before it in the row
//   cholesky      a matrix in tiles, lower triangle, right-looking; tiles of 32 x 32 or 64 x 64 doubles
//
// Of the first four each unit takes about 1 us. Their overhead: threads * wall - work, a unit; of `chained`, where one
// unit runs at a time, wall - work. The work is that of the same units without a runtime, measured before and after.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace task_bench {

inline constexpr int threads = 2;
inline constexpr std::size_t columns = 64;
inline constexpr std::size_t short_units = 64;

inline double clock_ns() { return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count()); }

// Dependent multiplications.
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
    best = std::min(best, clock_ns() - begin);
  }
  return static_cast<int>(100'000 * 1000 / best);
}

struct pattern {
  std::string name;
  std::size_t units;
  int steps = steps_for_1us();
  std::vector<std::uint64_t> a, b;

  pattern(std::string name, std::size_t units)
      : name{std::move(name)}, units{units}, a(is_independent() ? units : columns), b(a.size()) {}

  [[nodiscard]] bool is_independent() const { return name == "independent" || is_short(); }
  [[nodiscard]] bool is_short() const { return name == "short_graphs"; }
  [[nodiscard]] bool is_chained() const { return name == "chained"; }

  // What unit i reads; what it updates, or of `independent` writes.
  [[nodiscard]] const std::uint64_t& read(std::size_t i) const {
    if (is_independent()) return a[i];
    return is_chained() || i % columns == 0 ? a[0] : b[i % columns - 1];
  }
  [[nodiscard]] std::uint64_t& written(std::size_t i) {
    if (is_independent()) return b[i];
    return is_chained() ? b[0] : b[i % columns];
  }
  // The units that unit i has to wait for; -1 for none. For subjects to which edges are given, not accesses.
  struct before {
    std::ptrdiff_t units[3] = {-1, -1, -1};
  };
  [[nodiscard]] before before_unit(std::size_t i) const {
    const auto at = static_cast<std::ptrdiff_t>(i);
    if (is_independent()) return {};
    if (is_chained()) return {{at - 1, -1, -1}};
    const std::size_t column = i % columns;
    const bool has_above = i >= columns;
    return {{column > 0 ? at - 1 : -1, has_above ? at - static_cast<std::ptrdiff_t>(columns) : -1,
             has_above && column + 1 < columns ? at - static_cast<std::ptrdiff_t>(columns) + 1 : -1}};
  }
};

// run(begin, end) for all units, or of short graphs for some at a time.
template <class Run>
void run_in_parts(const pattern& p, Run run) {
  const std::size_t part = p.is_short() ? short_units : p.units;
  for (std::size_t begin = 0; begin < p.units; begin += part) run(begin, std::min(begin + part, p.units));
}

template <class Run>
double overhead_ns(pattern& p, Run run) {
  const auto alone = [&] {
    const double begin = clock_ns();
    for (std::size_t i = 0; i < p.units / 10; ++i) work(p.steps);
    return (clock_ns() - begin) * static_cast<double>(p.units) / static_cast<double>(p.units / 10);
  };
  const double before = alone();
  const double begin = clock_ns();
  run(p);
  const double wall = clock_ns() - begin;
  const double work_ns = (before + alone()) / 2;
  return std::max(((p.is_chained() ? 1 : threads) * wall - work_ns) / static_cast<double>(p.units), 1.0);
}

// A symmetric positive matrix by tiles, each in one piece; only those of the lower triangle are used.
struct tiled_matrix {
  std::size_t tile, tiles;
  std::vector<double> data;

  tiled_matrix(std::size_t size, std::size_t tile) : tile{tile}, tiles{size / tile}, data(size * size) {
    for (std::size_t r = 0; r < size; ++r)
      for (std::size_t c = 0; c <= r; ++c) {
        const double x = r == c ? static_cast<double>(size) : 1.0 / static_cast<double>(1 + (r * 7 + c * 13) % 101);
        at(r / tile, c / tile)[r % tile * tile + c % tile] = x;
        if (r / tile == c / tile) at(r / tile, c / tile)[c % tile * tile + r % tile] = x;
      }
  }
  [[nodiscard]] double* at(std::size_t r, std::size_t c) { return &data[(r * tiles + c) * tile * tile]; }

  // Of the diagonal: the product of all steps, so that a wrong order shows.
  [[nodiscard]] double sum_of_logarithms() {
    double sum = 0;
    for (std::size_t r = 0; r < tiles; ++r)
      for (std::size_t i = 0; i < tile; ++i) sum += std::log(at(r, r)[i * tile + i]);
    return sum;
  }
};

// The kernels, the same code for all subjects. Row-major tiles of n x n.
void factor_tile(double* a, std::size_t n);                                    // a = its lower factor
void solve_tile(const double* l, double* b, std::size_t n);                    // b = b * l^-T
void update_tile(const double* a, const double* b, double* c, std::size_t n);  // c -= a * b^T

// visit.factor(k), solve(k, r), update(k, r, c): the units in the order of the program.
template <class Visit>
void for_each_unit(std::size_t tiles, Visit& visit) {
  for (std::size_t k = 0; k < tiles; ++k) {
    visit.factor(k);
    for (std::size_t r = k + 1; r < tiles; ++r) visit.solve(k, r);
    for (std::size_t r = k + 1; r < tiles; ++r)
      for (std::size_t c = k + 1; c <= r; ++c) visit.update(k, r, c);
  }
}

// The program of one subject. run_pattern(pattern&) and run_cholesky(tiled_matrix&) run all units and wait for them.
// Arguments: CASE UNITS, or CASE SIZE. Prints ns a unit (the overhead, or of cholesky_32 and cholesky_64 the wall time,
// the best of `rounds`), then the result of a Cholesky, bit by bit, which is the same for all subjects.
template <class RunPattern, class RunCholesky>
int main_of_subject(int argc, char** argv, RunPattern run_pattern, RunCholesky run_cholesky, int rounds = 2) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CASE UNITS\n", argv[0]);
    return 2;
  }
  const std::string name = argv[1];
  const auto count = static_cast<std::size_t>(std::atol(argv[2]));
  if (!name.starts_with("cholesky")) {
    pattern p{name, count};
    (void)overhead_ns(p, run_pattern);  // warm
    std::printf("%.2f -\n", overhead_ns(p, run_pattern));
    return 0;
  }
  const std::size_t tile = name == "cholesky_32" ? 32 : 64;
  const std::size_t tiles = count / tile;
  double best = 1e18, result = 0;
  for (int round = 0; round < rounds; ++round) {
    tiled_matrix m{count, tile};
    const double begin = clock_ns();
    run_cholesky(m);
    best = std::min(best, clock_ns() - begin);
    result = m.sum_of_logarithms();
  }
  std::printf("%.2f %a\n", best / (static_cast<double>(tiles * (tiles + 1) * (tiles + 2)) / 6), result);
  return 0;
}

}  // namespace task_bench
