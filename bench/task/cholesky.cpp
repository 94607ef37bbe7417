// The kernels of the tiled Cholesky; one object for all subjects.
#include "patterns.h"

namespace task_bench {

void factor_tile(double* a, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    const double root = std::sqrt(a[k * n + k]);
    a[k * n + k] = root;
    for (std::size_t r = k + 1; r < n; ++r) a[r * n + k] /= root;
    for (std::size_t r = k + 1; r < n; ++r)
      for (std::size_t c = k + 1; c <= r; ++c) a[r * n + c] -= a[r * n + k] * a[c * n + k];
  }
}

void solve_tile(const double* l, double* b, std::size_t n) {
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = 0; c < n; ++c) {
      double x = b[r * n + c];
      for (std::size_t k = 0; k < c; ++k) x -= b[r * n + k] * l[c * n + k];
      b[r * n + c] = x / l[c * n + c];
    }
}

void update_tile(const double* a, const double* b, double* c, std::size_t n) {
  // Four rows and eight columns at a time; b is turned first, so that columns are vectors.
  double turned[64 * 64];
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < n; ++k) turned[k * n + r] = b[r * n + k];
  for (std::size_t r = 0; r < n; r += 4)
    for (std::size_t j = 0; j < n; j += 8) {
      double sum[4][8] = {};
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t i = 0; i < 4; ++i)
          for (std::size_t v = 0; v < 8; ++v) sum[i][v] += a[(r + i) * n + k] * turned[k * n + j + v];
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t v = 0; v < 8; ++v) c[(r + i) * n + j + v] -= sum[i][v];
    }
}

}  // namespace task_bench
