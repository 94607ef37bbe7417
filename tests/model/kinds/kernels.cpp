// Loops over arrays, after PolyBench: a matrix product, a stencil, a matrix and its transpose times a vector, all
// shortest paths, and a contraction.
#include <algorithm>

#include "kinds.h"

namespace kinds {
namespace {

constexpr int gemm_size = 80;
alignas(set_bytes) double gemm_a[gemm_size][gemm_size];
alignas(set_bytes) double gemm_b[gemm_size][gemm_size];
alignas(set_bytes) double gemm_c[gemm_size][gemm_size];

constexpr int grid_size = 180;
alignas(set_bytes) double grid_a[grid_size][grid_size];
alignas(set_bytes) double grid_b[grid_size][grid_size];

constexpr int atax_size = 350;
alignas(set_bytes) double atax_a[atax_size][atax_size];
alignas(set_bytes) double atax_x[atax_size];
alignas(set_bytes) double atax_y[atax_size];

constexpr int nodes = 110;
alignas(set_bytes) int paths[nodes][nodes];

constexpr int doitgen_size = 34;
alignas(set_bytes) double doitgen_a[doitgen_size][doitgen_size][doitgen_size];
alignas(set_bytes) double doitgen_c[doitgen_size][doitgen_size];
alignas(set_bytes) double doitgen_sum[doitgen_size];

void jacobi_step(double (&to)[grid_size][grid_size], const double (&from)[grid_size][grid_size]) {
  for (int i = 1; i < grid_size - 1; ++i)
    for (int j = 1; j < grid_size - 1; ++j)
      to[i][j] = 0.2 * (from[i][j] + from[i][j - 1] + from[i][j + 1] + from[i + 1][j] + from[i - 1][j]);
}

}  // namespace

double gemm() {
  for (int i = 0; i < gemm_size; ++i)
    for (int j = 0; j < gemm_size; ++j) {
      gemm_a[i][j] = (i * j + 1) % gemm_size;
      gemm_b[i][j] = i * (j + 1) % gemm_size;
    }
  for (int i = 0; i < gemm_size; ++i) {
    for (int j = 0; j < gemm_size; ++j) gemm_c[i][j] *= 1.2;
    for (int k = 0; k < gemm_size; ++k)
      for (int j = 0; j < gemm_size; ++j) gemm_c[i][j] += 1.5 * gemm_a[i][k] * gemm_b[k][j];
  }
  return gemm_c[gemm_size / 2][gemm_size / 3];
}

double jacobi_2d() {
  for (int i = 0; i < grid_size; ++i)
    for (int j = 0; j < grid_size; ++j) grid_a[i][j] = (i * (j + 2) + 2.0) / grid_size;
  for (int step = 0; step < 4; ++step) {
    jacobi_step(grid_b, grid_a);
    jacobi_step(grid_a, grid_b);
  }
  return grid_a[grid_size / 2][grid_size / 2];
}

double atax() {
  for (int i = 0; i < atax_size; ++i) {
    atax_x[i] = 1.0 + i / 350.0;
    atax_y[i] = 0;
    for (int j = 0; j < atax_size; ++j) atax_a[i][j] = (i + j) % atax_size / 350.0;
  }
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < atax_size; ++i) {
      double sum = 0;
      for (int j = 0; j < atax_size; ++j) sum += atax_a[i][j] * atax_x[j];
      for (int j = 0; j < atax_size; ++j) atax_y[j] += atax_a[i][j] * sum;
    }
  return atax_y[atax_size / 2];
}

double floyd_warshall() {
  for (int i = 0; i < nodes; ++i)
    for (int j = 0; j < nodes; ++j) paths[i][j] = (i + j) % 13 == 0 || (i + j) % 7 == 0 ? 999 : i * j % 7 + 1;
  for (int k = 0; k < nodes; ++k)
    for (int i = 0; i < nodes; ++i)
      for (int j = 0; j < nodes; ++j) paths[i][j] = std::min(paths[i][j], paths[i][k] + paths[k][j]);
  return paths[nodes / 2][nodes / 3];
}

double doitgen() {
  for (int r = 0; r < doitgen_size; ++r)
    for (int q = 0; q < doitgen_size; ++q) {
      doitgen_c[r][q] = r * q % doitgen_size;
      for (int p = 0; p < doitgen_size; ++p) doitgen_a[r][q][p] = (r * q + p) % doitgen_size;
    }
  for (int r = 0; r < doitgen_size; ++r)
    for (int q = 0; q < doitgen_size; ++q) {
      for (int p = 0; p < doitgen_size; ++p) {
        doitgen_sum[p] = 0;
        for (int s = 0; s < doitgen_size; ++s) doitgen_sum[p] += doitgen_a[r][q][s] * doitgen_c[s][p];
      }
      for (int p = 0; p < doitgen_size; ++p) doitgen_a[r][q][p] = doitgen_sum[p];
    }
  return doitgen_a[3][4][5];
}

}  // namespace kinds
