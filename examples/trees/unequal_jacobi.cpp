// Jacobi's iteration over children of unequal speed, under every policy: figure 3 of Yan, Brightwell and Sun
// (Memory-Centric Programming, MCHPC 2017). Each policy gives the same bits; they differ in time.
//
//   situ run -n 2 unequal_jacobi --speeds 1,3          two places, the second three times as fast
//   unequal_jacobi --tree memories --threads 2         the same source on the memories of one place
//
// A slow child is a real one that rests: what it has computed (its own processor time) times how much slower than the
// fastest it shall be, less one, it sleeps, a tenth of a millisecond or more at a time.
#include "tree_option.h"

#include <situ/situ.h>
#include <situ/trees/placed_array.h>

#include <fmt/format.h>
#include <time.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t most_children = 16;

struct options {
  std::size_t size = 1500;
  int steps = 20;
  std::vector<double> speeds;
  std::string tree = "places";
  std::uint32_t threads = 0;
  std::size_t block = 16;
};

// What each child has computed, and owes of its rest: shared words, which bodies add to.
struct clocks {
  std::array<std::uint64_t, most_children> computed_ns{};
  std::array<std::int64_t, most_children> owed_ns{};
};

// How much slower than the fastest each child is; plain data, so that bodies capture it.
struct handicap {
  std::array<double, most_children> slower{};
  situ::ptr<clocks> shared;

  void rest(std::uint32_t child, std::uint64_t computed_ns) const {
    std::atomic_ref{shared.local()->computed_ns[child]} += computed_ns;
    const std::atomic_ref owed{shared.local()->owed_ns[child]};
    const auto more = static_cast<std::int64_t>((slower[child] - 1) * static_cast<double>(computed_ns));
    const std::int64_t all = owed.fetch_add(more) + more;
    if (all < 100'000) return;  // shorter sleeps are not what they say
    const auto begin = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::nanoseconds{all});
    owed -= std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  }
};

std::uint64_t processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void relax(const double* above, const double* at, const double* below, double* to, std::size_t columns) {
  to[0] = at[0];
  for (std::size_t j = 1; j + 1 < columns; ++j) to[j] = 0.25 * (above[j] + below[j] + at[j - 1] + at[j + 1]);
  to[columns - 1] = at[columns - 1];
}

void begin_plate(double* u, std::size_t n) {
  for (std::size_t i = 0; i < n * n; ++i) u[i] = i < n ? 1 : 0;  // one hot side
}

std::vector<double> plain(const options& o) {
  std::vector<double> u(o.size * o.size), v(u.size());
  begin_plate(u.data(), o.size);
  v = u;
  for (int s = 0; s < o.steps; ++s) {
    for (std::size_t i = 1; i + 1 < o.size; ++i)
      relax(&u[(i - 1) * o.size], &u[i * o.size], &u[(i + 1) * o.size], &v[i * o.size], o.size);
    std::swap(u, v);
  }
  return u;
}

struct outcome {
  double seconds;           // of all steps
  double computed_seconds;  // by all children together, without their rests
  double slowest_seconds;   // that one child computed, at its speed
  std::vector<std::size_t> rows;
  std::uint64_t across_bytes;
  bool same_bits;
};

outcome run(situ::place_tree& tree, const situ::deal& how, const options& o, const handicap& slow,
            situ::ptr<double> plate, const std::vector<double>& expected) {
  begin_plate(plate.local(), o.size);
  *slow.shared.local() = {};
  const situ::placed_rows rows = tree.distribute(o.size, how);
  situ::placed_array<double> u{rows, o.size, 1}, v{rows, o.size, 1};
  u.move_down(plate);
  tree.wait();
  const std::uint64_t across_before = tree.traffic().across;
  const auto begin = std::chrono::steady_clock::now();
  for (int s = 0; s < o.steps; ++s) {
    u.copy_ghosts();
    tree.for_each(
        rows,
        [n = static_cast<std::ptrdiff_t>(o.size), slow](const situ::tree_part& part, situ::rows_view<const double> from,
                                                        situ::rows_view<double> to) {
          const std::uint64_t started = processor_ns();
          for (std::ptrdiff_t i = part.begin; i < part.end; ++i) {
            if (i == 0 || i + 1 == n)
              std::copy_n(from.row(i), from.columns, to.row(i));
            else
              relax(from.row(i - 1), from.row(i), from.row(i + 1), to.row(i), to.columns);
          }
          slow.rest(part.child, processor_ns() - started);
        },
        situ::reads(u), situ::writes(v));
    std::swap(u, v);
  }
  tree.wait();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  outcome result{took.count(), 0, 0, rows.counts(), tree.traffic().across - across_before, false};
  for (std::size_t c = 0; c < most_children; ++c) {
    const double computed = static_cast<double>(slow.shared.local()->computed_ns[c]) / 1e9;
    result.computed_seconds += computed;
    result.slowest_seconds = std::max(result.slowest_seconds, computed * slow.slower[c]);
  }
  u.move_up(plate);
  tree.wait();
  result.same_bits = std::equal(expected.begin(), expected.end(), plate.local());
  return result;
}

// Prints a line for each policy; whether all have the same bits.
bool compare(const options& o) {
  situ::place_tree tree = tree_of(o.tree, o.threads);
  fmt::print("{}", tree.root().to_text());
  const std::size_t children = tree.children().size();
  std::vector<double> speeds = o.speeds;
  if (speeds.empty()) speeds.assign(children, 1.0);
  if (speeds.size() != children || children > most_children) {
    fmt::print(stderr, "unequal_jacobi: {} speeds for {} children (at most {}): give one for each\n", speeds.size(),
               children, most_children);
    return false;
  }
  const double fastest = *std::ranges::max_element(speeds), all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  handicap slow{.shared = situ::allocate<clocks>()};
  for (std::size_t c = 0; c < children; ++c) slow.slower[c] = fastest / speeds[c];

  const std::vector<double> expected = plain(o);
  const situ::ptr<double> plate = situ::allocate<double>(o.size * o.size);
  fmt::print("{} x {}, {} steps, speeds {}\n", o.size, o.size, o.steps, fmt::join(speeds, ", "));
  fmt::print("{:<16} {:>8} {:>8} {:>8} {:>10}  {:<16} {}\n", "policy", "s", "/ ideal", "balance", "MB across",
             "rows at the end", "bits");
  bool is_right = true;
  for (const situ::deal& how :
       {situ::deal::block(), situ::deal::cyclic(), situ::deal::blocks_of(o.block), situ::deal::model(),
        situ::deal::weighted(speeds), situ::deal::automatic(), situ::deal::dynamic()}) {
    const outcome did = run(tree, how, o, slow, plate, expected);
    const double ideal = did.computed_seconds * fastest / all;
    fmt::print("{:<16} {:>8.3f} {:>8.2f} {:>8.2f} {:>10.2f}  {:<16} {}\n", how.to_text(), did.seconds,
               did.seconds / ideal, did.slowest_seconds / ideal, static_cast<double>(did.across_bytes) / 1e6,
               fmt::format("{}", fmt::join(did.rows, ", ")), did.same_bits ? "same" : "DIFFERENT");
    is_right &= did.same_bits;
  }
  situ::deallocate(plate);
  situ::deallocate(slow.shared);
  return is_right;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Jacobi's iteration over children of unequal speed, under every policy.\n"
      "Example: situ run -n 2 unequal_jacobi --speeds 1,3"};
  options o;
  app.add_option("--size", o.size, "Rows and columns of the plate (1500)")->check(CLI::Range(3, 30'000));
  app.add_option("--steps", o.steps, "Steps (20)")->check(CLI::PositiveNumber);
  app.add_option("--speeds", o.speeds, "Relative speed of each child (equal)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--tree", o.tree, tree_help);
  app.add_option("--threads", o.threads, "Threads of a tree of memories; 0: one for each processor (0)");
  app.add_option("--block", o.block, "Rows of a block of the block-cyclic policy (16)")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  situ::runtime rt{argc, argv};
  const bool is_right = situ::here().index() != 0 || told("unequal_jacobi", [&] { return compare(o); });
  situ::barrier();
  return is_right ? 0 : 1;
}
