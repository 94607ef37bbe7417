// Matrix multiplication over a place tree of three levels: figure 2e of Yan, Brightwell and Sun (Memory-Centric
// Programming, MCHPC 2017), hybrid tiling and parallelism.
//
//   situ run -n 2 tree_matmul --size 1024              two places
//   tree_matmul --tree memories --threads 2            the memories of one place
//   tree_matmul --tree machines/opteron-6172-2-tesla.toml
//
//   level 1  the parent's memory has A, B and C
//   level 2  rows of A and C are dealt to the children; panels of B come down to each of them, the next while they work
//   level 3  tiles of a panel come down into a cache, where all rows of the part meet them
#include "tree_option.h"

#include <situ/situ.h>
#include <situ/trees/cache_tile.h>
#include <situ/trees/child_copies.h>
#include <situ/trees/placed_array.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

struct options {
  std::size_t size = 1024;
  std::size_t panel = 256;  // rows of B that come down together
  std::string tree = "places";
  std::uint32_t threads = 0;
};

// c += a * tile for 4 rows of c and `columns` columns: `depth` elements of each row of a, a tile of as many rows.
// Elements of c are in registers, 4 x 4 at a time; each is summed up in the order of the plain triple loop.
void multiply_rows(double* const (&c)[4], const double* const (&a)[4], const double* tile, std::size_t depth,
                   std::size_t columns) {
  constexpr std::size_t width = 4;
  for (std::size_t j = 0; j + width <= columns; j += width) {
    double sum[4][width];
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t q = 0; q < width; ++q) sum[r][q] = c[r][j + q];
    for (std::size_t k = 0; k < depth; ++k)
      for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t q = 0; q < width; ++q) sum[r][q] += a[r][k] * tile[k * columns + j + q];
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t q = 0; q < width; ++q) c[r][j + q] = sum[r][q];
  }
  for (std::size_t j = columns / width * width; j < columns; ++j)
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t k = 0; k < depth; ++k) c[r][j] += a[r][k] * tile[k * columns + j];
}

// The rows [begin, end), four at a time; what is left over goes through four pointers to the same rows.
template <class RowOfC, class RowOfA>
void multiply_tile(std::ptrdiff_t begin, std::ptrdiff_t end, RowOfC row_of_c, RowOfA row_of_a, const double* tile,
                   std::size_t depth, std::size_t columns) {
  std::ptrdiff_t i = begin;
  for (; i + 4 <= end; i += 4)
    multiply_rows({row_of_c(i), row_of_c(i + 1), row_of_c(i + 2), row_of_c(i + 3)},
                  {row_of_a(i), row_of_a(i + 1), row_of_a(i + 2), row_of_a(i + 3)}, tile, depth, columns);
  for (; i < end; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < depth; ++k) row_of_c(i)[j] += row_of_a(i)[k] * tile[k * columns + j];
}

// Columns of a tile that is `depth` rows deep and fits into so many bytes.
std::size_t tile_columns(std::size_t bytes, std::size_t depth, std::size_t most) {
  return std::clamp<std::size_t>(bytes / (depth * sizeof(double)) / 4 * 4, 4, std::max<std::size_t>(4, most));
}

// The same tiles by hand, in one memory: the rows [begin, end) of c.
void by_hand(const double* a, const double* b, double* c, std::size_t n, std::size_t panel, std::size_t cache_bytes,
             std::ptrdiff_t begin, std::ptrdiff_t end) {
  std::vector<double> tile;
  for (std::size_t k = 0; k < n; k += panel) {
    const std::size_t depth = std::min(panel, n - k), width = tile_columns(cache_bytes, depth, n);
    tile.resize(depth * width);
    for (std::size_t j = 0; j < n; j += width) {
      const std::size_t columns = std::min(width, n - j);
      for (std::size_t r = 0; r < depth; ++r) std::copy_n(&b[(k + r) * n + j], columns, &tile[r * columns]);
      multiply_tile(
          begin, end, [&](std::ptrdiff_t i) { return &c[static_cast<std::size_t>(i) * n + j]; },
          [&](std::ptrdiff_t i) { return &a[static_cast<std::size_t>(i) * n + k]; }, tile.data(), depth, columns);
    }
  }
}

void by_hand(const double* a, const double* b, double* c, std::size_t n, std::size_t panel, std::size_t cache_bytes,
             std::size_t threads) {
  std::vector<std::jthread> others;
  for (std::size_t t = 0; t < threads; ++t)
    others.emplace_back([=] {
      by_hand(a, b, c, n, panel, cache_bytes, static_cast<std::ptrdiff_t>(n * t / threads),
              static_cast<std::ptrdiff_t>(n * (t + 1) / threads));
    });
}

void by_tree(situ::place_tree& tree, const double* a, const double* b, double* c, const options& o) {
  const std::size_t n = o.size;
  const situ::placed_rows rows = tree.distribute(n, situ::deal::block());
  situ::placed_array<double> own_a{rows, n}, own_c{rows, n};
  situ::child_copies<double> panels[2] = {{tree, o.panel, n}, {tree, o.panel, n}};
  own_a.move_down(a);  // level 1 to level 2
  for (std::size_t k = 0, turn = 0; k < n; k += o.panel, turn = 1 - turn) {
    panels[turn].move_down(b + k * n, std::min(o.panel, n - k), n, n);
    tree.for_each(
        rows,
        [k](const situ::tree_part& part, situ::rows_view<double> to, situ::rows_view<const double> from,
            situ::tile_view<const double> panel) {
          const std::size_t width = tile_columns(situ::cache_tile<double>::most_bytes(part), panel.rows, panel.columns);
          situ::cache_tile<double> tile{part, panel.rows * width};
          for (std::size_t j = 0; j < panel.columns; j += width) {
            const std::size_t columns = std::min(width, panel.columns - j);
            tile.load(panel.row(0) + j, panel.rows, columns, panel.columns);  // level 2 to level 3
            multiply_tile(
                part.begin, part.end, [&](std::ptrdiff_t i) { return to.row(i) + j; },
                [&](std::ptrdiff_t i) { return from.row(i) + k; }, tile.data(), panel.rows, columns);
          }
        },
        situ::updates(own_c), situ::reads(own_a), situ::reads(panels[turn]));
  }
  own_c.move_up(c);
  tree.wait();
}

template <class F>
double seconds_of(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool multiply(const options& o) {
  situ::place_tree tree = tree_of(o.tree, o.threads);
  fmt::print("{}", tree.root().to_text());
  const std::size_t n = o.size;
  const situ::ptr<double> memory = situ::allocate<double>(3 * n * n);
  double* const a = memory.local();
  double* const b = a + n * n;
  double* const c = b + n * n;
  std::mt19937 random{1};
  for (std::size_t i = 0; i < 2 * n * n; ++i) a[i] = static_cast<double>(random() % 1000) / 1000 - 0.5;
  std::vector<double> expected(n * n);

  const auto& caches = tree.children().front().children;
  const std::size_t cache_bytes =
      situ::cache_tile<double>::most_bytes({.cache_bytes = caches.empty() ? 0 : caches.front().bytes});
  const std::size_t threads = o.tree == "places" ? tree.children().size()
                              : o.threads > 0    ? o.threads
                                                 : std::thread::hardware_concurrency();
  const double hand = seconds_of([&] { by_hand(a, b, expected.data(), n, o.panel, cache_bytes, threads); });
  const double took = seconds_of([&] { by_tree(tree, a, b, c, o); });
  double worst = 0;
  for (std::size_t i = 0; i < n * n; ++i) worst = std::max(worst, std::abs(c[i] - expected[i]));
  double plain_worst = 0;  // some rows against the plain loops
  for (std::size_t i = 0; i < n; i += std::max<std::size_t>(1, n / 8))
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      plain_worst = std::max(plain_worst, std::abs(c[i * n + j] - sum));
    }

  const double flops = 2 * std::pow(static_cast<double>(n), 3);
  const situ::tree_traffic moved = tree.traffic();
  fmt::print("{0} x {0}: by the tree {1:.2f} GFLOP/s, by hand on as many threads ({2}) {3:.2f}: {4:.2f} x\n", n,
             flops / took / 1e9, threads, flops / hand / 1e9, hand / took);
  fmt::print("vertical: {:.1f} MB down, {:.1f} MB up, {:.1f} MB into caches; horizontal: {:.1f} MB\n", moved.down / 1e6,
             moved.up / 1e6, moved.cached / 1e6, moved.across / 1e6);
  fmt::print("largest difference: {:.2g} to the hand-tiled, {:.2g} to the plain loops\n", worst, plain_worst);
  situ::deallocate(memory);
  return worst == 0 && plain_worst < 1e-12 * static_cast<double>(n);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Matrix multiplication over a place tree of three levels.\nExample: situ run -n 2 tree_matmul --size 1024"};
  options o;
  app.add_option("--size", o.size, "Rows and columns of the matrices (1024)")->check(CLI::Range(1, 20'000));
  app.add_option("--panel", o.panel, "Rows of B that come down together (256)")->check(CLI::PositiveNumber);
  app.add_option("--tree", o.tree, tree_help);
  app.add_option("--threads", o.threads, "Threads of a tree of memories; 0: one for each processor (0)");
  CLI11_PARSE(app, argc, argv);
  situ::runtime rt{argc, argv};
  const bool is_right = situ::here().index() != 0 || told("tree_matmul", [&] { return multiply(o); });
  situ::barrier();
  return is_right ? 0 : 1;
}
