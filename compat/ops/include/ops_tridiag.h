// Tridiagonal systems along one dimension of datasets: a[i] x[i - 1] + b[i] x[i] + c[i] x[i + 1] = d[i] on each line
// of the range (a of the first and c of the last point do not count). A solve is queued as one loop whose stencils
// reach over the whole line, so all executors can run it; out of core a solve along the outermost dimension needs fast
// memory for all of its datasets.
#pragma once

#include "ops_lib_core.h"

// OPS's settings for a solve with several processes or on a GPU: Situ ignores them.
class ops_tridsolver_params {
 public:
  enum SolveStrategy {
    GATHER_SCATTER = 0,
    ALLGATHER,
    JACOBI,
    PCR,
    LATENCY_HIDING_INTERLEAVED,
    LATENCY_HIDING_TWO_STEP
  };
  explicit ops_tridsolver_params(ops_block) {}
  ops_tridsolver_params(ops_block, SolveStrategy) {}
  void set_jacobi_params(double, double, int) {}
  void set_batch_size(int) {}
  void set_cuda_opts(int, int, int) {}
  void set_cuda_sync(int) {}
};

// The solution replaces d.
void ops_tridMultiDimBatch(int ndim, int solvedim, int* range, ops_dat a, ops_dat b, ops_dat c, ops_dat d,
                           ops_tridsolver_params* tridsolver_ctx);
// The solution is added to u.
void ops_tridMultiDimBatch_Inc(int ndim, int solvedim, int* range, ops_dat a, ops_dat b, ops_dat c, ops_dat d,
                               ops_dat u, ops_tridsolver_params* tridsolver_ctx);
