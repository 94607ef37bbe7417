// Kernels of OPS's first API: bare pointers and OPS_ACC0 ... (ops_seq.h).
#define OPS_2D
#include "ops_seq.h"

#include "ops/session.h"

namespace {

void raw_number(double* u, const int* idx, const double* scale) {
  u[OPS_ACC0(0, 0)] = *scale * (idx[0] + 100 * idx[1]);
}
void raw_smooth(const double* u, double* v) {
  v[OPS_ACC1(0, 0)] = u[OPS_ACC0(1, 0)] + u[OPS_ACC0(-1, 0)] + u[OPS_ACC0(0, 1)] + u[OPS_ACC0(0, -1)];
}
void raw_two(double* p, const int* idx) {
  p[OPS_ACC_MD0(0, 0, 0)] = idx[0];
  p[OPS_ACC_MD0(1, 0, 0)] = -idx[1];
}
void raw_swap(const double* p, double* q) {
  q[OPS_ACC_MD1(0, 0, 0)] = p[OPS_ACC_MD0(1, 0, 1)];
  q[OPS_ACC_MD1(1, 0, 0)] = p[OPS_ACC_MD0(0, -1, 0)];
}
void raw_spread(double* u, const double* x, const double* y) {
  u[OPS_ACC0(0, 0)] = x[OPS_ACC1(0, 0)] + x[OPS_ACC1(1, 0)] + 10 * (y[OPS_ACC2(0, 0)] - y[OPS_ACC2(0, -1)]);
}
void raw_column_sum(const double* u, double* s) { s[OPS_ACC1(0, 0)] += u[OPS_ACC0(0, 0)]; }
void raw_count(int* n, double* sum) {
  n[OPS_ACC0(0, 0)] += 1;
  *sum += n[OPS_ACC0(0, 0)];
}
void raw_many(const double* a, const double* b, const double* c, const double* d, const double* e, const double* f,
              const double* g, const double* h, const double* i, const double* j, const double* k, const double* l,
              const double* m, const double* n, const double* absent, double* to, const double* factor) {
  to[OPS_ACC15(0, 0)] =
      *factor * (a[OPS_ACC0(1, 0)] + b[OPS_ACC1(0, 0)] + c[OPS_ACC2(0, 0)] + d[OPS_ACC3(0, 0)] + e[OPS_ACC4(0, 0)] +
                 f[OPS_ACC5(0, 0)] + g[OPS_ACC6(0, 0)] + h[OPS_ACC7(0, 0)] + i[OPS_ACC8(0, 0)] + j[OPS_ACC9(0, 0)] +
                 k[OPS_ACC10(0, 0)] + l[OPS_ACC11(0, 0)] + m[OPS_ACC12(0, 0)] + n[OPS_ACC13(0, 1)]);
  (void)absent;
}

struct ops_raw : ops_session {
  ops_dat numbered(std::array<int, 2> size, const char* name, double scale) {
    const ops_dat u = dat(grid, size, name);
    int all[] = {-1, size[0] + 1, -1, size[1] + 1};
    ops_par_loop(raw_number, "number", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(),
                 ops_arg_gbl(&scale, 1, "double", OPS_READ));
    return u;
  }
};

TEST_P(ops_raw, neighbours) {
  const ops_dat u = numbered({5, 4}, "u", 1), v = dat(grid, {5, 4}, "v");
  int all[] = {0, 5, 0, 4};
  ops_par_loop(raw_smooth, "smooth", grid, 2, all, ops_arg_dat(u, 1, star, "double", OPS_READ),
               ops_arg_dat(v, 1, point, "double", OPS_WRITE));
  const auto got = fetch(v);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 5; ++x) EXPECT_EQ(got[static_cast<std::size_t>(x + 5 * y)], 4 * (x + 100 * y)) << x << ' ' << y;
  }
}

TEST_P(ops_raw, components) {
  const ops_dat p = dat(grid, {2, 2}, "p", 2), q = dat(grid, {2, 2}, "q", 2);
  int with_ghosts[] = {-1, 3, -1, 3}, all[] = {0, 2, 0, 2};
  ops_par_loop(raw_two, "two", grid, 2, with_ghosts, ops_arg_dat(p, 2, point, "double", OPS_WRITE), ops_arg_idx());
  ops_par_loop(raw_swap, "swap", grid, 2, all, ops_arg_dat(p, 2, star, "double", OPS_READ),
               ops_arg_dat(q, 2, point, "double", OPS_WRITE));
  EXPECT_EQ(fetch(q), (std::vector<double>{-1, -1, -1, 0, -2, -1, -2, 0}));
}

TEST_P(ops_raw, columns_are_read_and_reduced_into) {
  int along_x[] = {1, 0}, along_y[] = {0, 1}, pair[] = {0, 0, 1, 0}, below[] = {0, 0, 0, -1}, all[] = {0, 4, 0, 3};
  const ops_stencil sx = ops_decl_strided_stencil(2, 2, pair, along_x, "x"),
                    sy = ops_decl_strided_stencil(2, 2, below, along_y, "y"),
                    s0 = ops_decl_strided_stencil(2, 1, zero, along_y, "y0");
  const ops_dat x = numbered({4, 1}, "x", 1), y = numbered({1, 3}, "y", 0.01), u = dat(grid, {4, 3}, "u"),
                s = dat(grid, {1, 3}, "s");
  ops_par_loop(raw_spread, "spread", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE),
               ops_arg_dat(x, 1, sx, "double", OPS_READ), ops_arg_dat(y, 1, sy, "double", OPS_READ));
  ops_par_loop(raw_column_sum, "sum", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_READ),
               ops_arg_dat(s, 1, s0, "double", OPS_INC));
  EXPECT_EQ(fetch(u), (std::vector<double>{11, 13, 15, 17, 11, 13, 15, 17, 11, 13, 15, 17}));
  EXPECT_EQ(fetch(s), (std::vector<double>{56, 56, 56}));
}

TEST_P(ops_raw, other_types_and_reductions) {
  int base[] = {0, 0}, size[] = {5, 4}, none[] = {0, 0}, all[] = {0, 5, 0, 4};
  const ops_dat n = ops_decl_dat(grid, 1, size, base, none, none, static_cast<int*>(nullptr), "int", "n");
  const ops_reduction sum = ops_decl_reduction_handle(sizeof(double), "double", "sum");
  for (int k = 0; k < 3; ++k) {
    ops_par_loop(raw_count, "count", grid, 2, all, ops_arg_dat(n, 1, point, "int", OPS_RW),
                 ops_arg_reduce(sum, 1, "double", OPS_INC));
  }
  double total = 0;
  ops_reduction_result(sum, &total);
  EXPECT_EQ(total, 20 * (1 + 2 + 3));
  EXPECT_EQ(fetch<int>(n), std::vector<int>(20, 3));
}

TEST_P(ops_raw, seventeen_arguments) {
  const ops_dat u = numbered({5, 4}, "u", 1), to = dat(grid, {5, 4}, "to");
  int all[] = {0, 5, 0, 4};
  double two = 2;
  const auto in = [&](ops_stencil s) { return ops_arg_dat(u, 1, s, "double", OPS_READ); };
  ops_par_loop(raw_many, "many", grid, 2, all, in(star), in(point), in(point), in(point), in(point), in(point),
               in(point), in(point), in(point), in(point), in(point), in(point), in(point), in(star),
               ops_arg_dat_opt(u, 1, point, "double", OPS_READ, 0), ops_arg_dat(to, 1, point, "double", OPS_WRITE),
               ops_arg_gbl(&two, 1, "double", OPS_READ));
  EXPECT_EQ(fetch(to)[5 * 2 + 3], 2 * (14 * 203 + 1 + 100));
}

// More arguments than fit into a line of OPS's first macros.
#define TERM(n) a##n[OPS_ACC##n(0, 0)]
void raw_sum_20(const double* a0, const double* a1, const double* a2, const double* a3, const double* a4,
                const double* a5, const double* a6, const double* a7, const double* a8, const double* a9,
                const double* a10, const double* a11, const double* a12, const double* a13, const double* a14,
                const double* a15, const double* a16, const double* a17, const double* a18, const double* a19,
                double* to) {
  to[OPS_ACC20(0, 0)] = TERM(0) + TERM(1) + TERM(2) + TERM(3) + TERM(4) + TERM(5) + TERM(6) + TERM(7) + TERM(8) +
                        TERM(9) + TERM(10) + TERM(11) + TERM(12) + TERM(13) + TERM(14) + TERM(15) + TERM(16) +
                        TERM(17) + TERM(18) + a19[OPS_ACC19(1, 1)];
}
#undef TERM

TEST_P(ops_raw, more_than_18_arguments) {
  const ops_dat u = numbered({3, 2}, "u", 1), v = dat(grid, {3, 2}, "v");
  int all[] = {0, 3, 0, 2};
  const auto in = ops_arg_dat(u, 1, star, "double", OPS_READ);
  ops_par_loop(raw_sum_20, "sum", grid, 2, all, in, in, in, in, in, in, in, in, in, in, in, in, in, in, in, in, in, in,
               in, in, ops_arg_dat(v, 1, point, "double", OPS_WRITE));
  const auto got = fetch(v);
  for (std::size_t n = 0; n < got.size(); ++n) EXPECT_EQ(got[n], 20 * (n % 3 + 100 * (n / 3)) + 101) << n;
}

TEST(ops_raw_macros, go_to_99) {
  using situ::ops::raw_stride;
  raw_stride[99][0] = 2, raw_stride[99][1] = 30, raw_stride[99][OPS_MAX_DIM] = 1;
  raw_stride[50][1] = 7;
  EXPECT_EQ(OPS_ACC99(1, 2), 61);
  EXPECT_EQ(OPS_ACC_MD99(1, 1, 2), 63);
  EXPECT_EQ(OPS_ACC50(3, -1), -4);
}

INSTANTIATE_TEST_SUITE_P(executors, ops_raw, all_executors());

}  // namespace
