// The largest eigenvalue of a sparse matrix by power iteration, with declared accesses: a unit multiplies some rows,
// and declares the part of the vector that those rows need. Such parts overlap, each by its own bounds.
//
//   sparse_power                   the five-point Laplacian of a 300 x 300 grid, 100 steps
//   sparse_power --grid 1000 --steps 200 --rows 5000 --threads 4
//
// Its largest eigenvalue is 8 sin^2(pi n / (2 (n + 1))); power iteration comes near it from below.
#include <situ/task/task_graph.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace {

// Rows in a line (compressed sparse rows).
struct sparse_matrix {
  std::vector<std::size_t> first;  // of each row's elements; one more at the end
  std::vector<std::size_t> column;
  std::vector<double> value;

  [[nodiscard]] std::size_t rows() const { return first.size() - 1; }
};

sparse_matrix laplacian(std::size_t n) {
  sparse_matrix a{.first = {0}, .column = {}, .value = {}};
  for (std::size_t y = 0; y < n; ++y)
    for (std::size_t x = 0; x < n; ++x) {
      const auto add = [&](bool is_there, std::size_t to, double v) {
        if (!is_there) return;
        a.column.push_back(to);
        a.value.push_back(v);
      };
      const std::size_t at = y * n + x;
      add(y > 0, at - n, -1);
      add(x > 0, at - 1, -1);
      add(true, at, 4);
      add(x + 1 < n, at + 1, -1);
      add(y + 1 < n, at + n, -1);
      a.first.push_back(a.column.size());
    }
  return a;
}

struct block {  // of rows
  std::size_t begin, end;
  std::size_t needs_begin, needs_end;  // of the vector
};

std::vector<block> blocks_of(const sparse_matrix& a, std::size_t rows) {
  std::vector<block> all;
  for (std::size_t begin = 0; begin < a.rows(); begin += rows) {
    const std::size_t end = std::min(begin + rows, a.rows());
    const auto [low, high] = std::minmax_element(&a.column[a.first[begin]], &a.column[a.first[end] - 1] + 1);
    all.push_back({begin, end, *low, *high + 1});
  }
  return all;
}

// pre: x has length 1. Returns x * (A x), the estimate of the last step.
double iterate(const sparse_matrix& a, const std::vector<block>& blocks, std::vector<double>& x, int steps,
               situ::task_graph& graph) {
  std::vector<double> y(x.size());
  double square = 0, product = 0, scale = 1;
  for (int step = 0; step < steps; ++step) {
    graph.add({situ::writes(square), situ::writes(product)}, [&] { square = product = 0; }, "begin");
    for (const block& b : blocks) {
      const std::span<const double> needed{&x[b.needs_begin], b.needs_end - b.needs_begin};
      const std::span<double> made{&y[b.begin], b.end - b.begin};
      graph.add(
          {situ::reads(needed), situ::writes(made)},
          [&a, &x, &y, b] {
            for (std::size_t r = b.begin; r < b.end; ++r) {
              double sum = 0;
              for (std::size_t e = a.first[r]; e < a.first[r + 1]; ++e) sum += a.value[e] * x[a.column[e]];
              y[r] = sum;
            }
          },
          "multiply");
      graph.reduce(square, {situ::reads(made)}, [made](double& part) {
        for (const double each : made) part += each * each;
      });
      const std::span<const double> own{&x[b.begin], b.end - b.begin};
      graph.reduce(product, {situ::reads(made), situ::reads(own)}, [made, own](double& part) {
        for (std::size_t i = 0; i < made.size(); ++i) part += made[i] * own[i];
      });
    }
    graph.add({situ::reads(square), situ::writes(scale)}, [&] { scale = 1 / std::sqrt(square); }, "scale");
    for (const block& b : blocks) {
      const std::span<double> to{&x[b.begin], b.end - b.begin};
      const std::span<const double> from{&y[b.begin], b.end - b.begin};
      graph.add(
          {situ::reads(from), situ::reads(scale), situ::writes(to)},
          [to, from, &scale] {
            for (std::size_t i = 0; i < to.size(); ++i) to[i] = scale * from[i];
          },
          "next");
    }
  }
  graph.wait();
  return product;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "The largest eigenvalue of a grid's Laplacian, by power iteration with declared accesses.\n"
      "Example: sparse_power --grid 100 --steps 500"};
  std::size_t grid = 300, rows = 2000;
  int steps = 100;
  situ::task_graph_options options;
  app.add_option("--grid", grid, "Points along an edge of the grid (300)")->check(CLI::Range(2, 20'000));
  app.add_option("--rows", rows, "Rows of the matrix in a unit (2000)")->check(CLI::PositiveNumber);
  app.add_option("--steps", steps, "Steps of the iteration (100)")->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "Threads; 0: one for each processor (0)");
  CLI11_PARSE(app, argc, argv);

  const sparse_matrix a = laplacian(grid);
  std::vector<double> x(a.rows());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (i / grid + i % grid) % 2 == 0 ? 1 : -1;  // near the eigenvector
  for (double& each : x) each /= std::sqrt(static_cast<double>(a.rows()));
  situ::task_graph graph{options};
  const auto begin = std::chrono::steady_clock::now();
  const double found = iterate(a, blocks_of(a, rows), x, steps, graph);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;

  const double angle = std::numbers::pi * static_cast<double>(grid) / (2 * static_cast<double>(grid + 1));
  const double exact = 8 * std::sin(angle) * std::sin(angle);
  const situ::task_graph_statistics did = graph.statistics();
  fmt::print("{} rows, {} steps: {:.17g}, {:.2g} below the largest\n", a.rows(), steps, found, exact - found);
  fmt::print(stderr, "{} units, {} edges, {} threads, {:.3f} s\n", did.units, did.edges, graph.thread_count(),
             took.count());
  return found > 0.99 * exact && found <= exact ? 0 : 1;
}
