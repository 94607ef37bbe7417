// A tiled Cholesky factorization by declared accesses: A = L * L^T, tiles in place, units that run when their tiles are
// ready.
//
//   cholesky                       2048 x 2048, tiles of 64, as many threads as processors
//   cholesky --size 4096 --tile 128 --threads 4 --check
#include <situ/task/task_graph.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

namespace {

// Tiles of the lower triangle, each n x n in one piece, row-major.
class tiled_matrix {
 public:
  tiled_matrix(std::size_t size, std::size_t n) : n_{n}, tiles_{size / n}, data_(size * size) {
    for (std::size_t r = 0; r < size; ++r)
      for (std::size_t c = 0; c < size; ++c)
        at(r / n, c / n)[r % n * n + c % n] = r == c ? static_cast<double>(size) : 1 / static_cast<double>(1 + r + c);
  }
  [[nodiscard]] std::size_t n() const { return n_; }
  [[nodiscard]] std::size_t tiles() const { return tiles_; }
  [[nodiscard]] double* at(std::size_t r, std::size_t c) { return &data_[(r * tiles_ + c) * n_ * n_]; }
  [[nodiscard]] situ::memory_region region(std::size_t r, std::size_t c) { return situ::region(at(r, c), n_ * n_); }
  [[nodiscard]] double element(std::size_t r, std::size_t c) { return at(r / n_, c / n_)[r % n_ * n_ + c % n_]; }

 private:
  std::size_t n_, tiles_;
  std::vector<double> data_;
};

void factor(double* a, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    a[k * n + k] = std::sqrt(a[k * n + k]);
    for (std::size_t r = k + 1; r < n; ++r) a[r * n + k] /= a[k * n + k];
    for (std::size_t r = k + 1; r < n; ++r)
      for (std::size_t c = k + 1; c <= r; ++c) a[r * n + c] -= a[r * n + k] * a[c * n + k];
  }
}
void solve(const double* l, double* b, std::size_t n) {
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t k = 0; k < c; ++k) b[r * n + c] -= b[r * n + k] * l[c * n + k];
      b[r * n + c] /= l[c * n + c];
    }
}
void update(const double* a, const double* b, double* c, std::size_t n) {
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) c[r * n + j] -= a[r * n + k] * b[j * n + k];
}

void factorize(tiled_matrix& m, situ::task_graph& graph) {
  const std::size_t n = m.n();
  for (std::size_t k = 0; k < m.tiles(); ++k) {
    graph.add({situ::updates(m.region(k, k))}, [&m, n, k] { factor(m.at(k, k), n); }, "factor");
    for (std::size_t r = k + 1; r < m.tiles(); ++r)
      graph.add(
          {situ::reads(m.region(k, k)), situ::updates(m.region(r, k))},
          [&m, n, k, r] { solve(m.at(k, k), m.at(r, k), n); }, "solve");
    for (std::size_t r = k + 1; r < m.tiles(); ++r)
      for (std::size_t c = k + 1; c <= r; ++c)
        graph.add(
            {situ::reads(m.region(r, k)), situ::reads(m.region(c, k)), situ::updates(m.region(r, c))},
            [&m, n, k, r, c] { update(m.at(r, k), m.at(c, k), m.at(r, c), n); }, "update");
  }
  graph.wait();
}

// The largest difference of L * L^T to A, of some rows.
double difference(tiled_matrix& l, tiled_matrix& a, std::size_t size) {
  double worst = 0;
  for (std::size_t r = 0; r < size; r += std::max<std::size_t>(1, size / 16))
    for (std::size_t c = 0; c <= r; ++c) {
      double sum = 0;
      for (std::size_t k = 0; k <= c; ++k) sum += l.element(r, k) * l.element(c, k);
      worst = std::max(worst, std::abs(sum - a.element(r, c)));
    }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A tiled Cholesky factorization by declared accesses.\nExample: cholesky --size 1024 --tile 32 --check"};
  std::size_t size = 2048, tile = 64;
  situ::task_graph_options options;
  bool check = false;
  app.add_option("--size", size, "Rows of the matrix, a multiple of the tile (2048)")->check(CLI::PositiveNumber);
  app.add_option("--tile", tile, "Rows of a tile (64)")->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "Threads; 0: one for each processor (0)");
  app.add_flag("--check", check, "Compare L * L^T with the matrix");
  CLI11_PARSE(app, argc, argv);
  if (size % tile != 0) {
    fmt::print(stderr, "cholesky: {} rows are not whole tiles of {}\n", size, tile);
    return 2;
  }

  tiled_matrix m{size, tile};
  situ::task_graph graph{options};
  const auto begin = std::chrono::steady_clock::now();
  factorize(m, graph);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const situ::task_graph_statistics did = graph.statistics();
  fmt::print("{} x {}, {} units, {} edges, {} threads: {:.3f} s, {:.2f} GFLOP/s\n", size, size, did.units, did.edges,
             graph.thread_count(), took.count(), std::pow(static_cast<double>(size), 3) / 3 / took.count() / 1e9);
  if (!check) return 0;
  tiled_matrix a{size, tile};
  const double worst = difference(m, a, size);
  fmt::print("largest difference {:.2g}\n", worst);
  return worst < 1e-9 * static_cast<double>(size) ? 0 : 1;
}
