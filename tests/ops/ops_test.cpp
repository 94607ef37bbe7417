// OPS's API over situ::stencil, with programs of our own in its style. OPS's own programs are tried by hand
// (docs/guide/ops.md).
#define OPS_2D
#include "ops_seq_v2.h"

#include "ops/session.h"

#include <situ/base/error.h>

#include <fstream>
#include <sstream>

double factor = 1;

namespace {

void number(ACC<double>& u, const int* idx, const double* scale) { u(0, 0) = *scale * (idx[0] + 100 * idx[1]); }
void smooth(const ACC<double>& u, ACC<double>& v) { v(0, 0) = u(1, 0) + u(-1, 0) + u(0, 1) + u(0, -1); }
void scale_by_factor(ACC<double>& u) { u(0, 0) *= factor; }
double undeclared = 1;
void scale_by_undeclared(ACC<double>& u, const double* by) { u(0, 0) *= *by * undeclared; }
void add_up(const ACC<double>& u, double* sum, double* least, double* most) {
  *sum += u(0, 0);
  *least = MIN(*least, u(0, 0));
  *most = MAX(*most, u(0, 0));
}
void two(ACC<double>& p, const int* idx) {
  p(0, 0, 0) = idx[0];
  p(1, 0, 0) = -idx[1];
}
void second_if_even(ACC<double>& p, const int* idx) {
  if (idx[0] % 2 == 0) p(1, 0, 0) = 0.5;
}
void spread(ACC<double>& u, const ACC<double>& x, const ACC<double>& y) { u(0, 0) = x(0, 0) + x(1, 0) + 10 * y(0, 0); }
void column_sum(const ACC<double>& u, ACC<double>& s) { s.combine_inc(0, 0, u(0, 0)); }
void column_max(const ACC<double>& u, ACC<double>& s) { s.combine_max(0, 0, u(0, 0)); }
void maybe(ACC<double>& u, ACC<double>& v, const int* flags) {
  if (flags[0]) u(0, 0) = 1;
  if (flags[1]) v(0, 0) = 1;
}
void coarsen(const ACC<double>& fine, ACC<double>& coarse) { coarse(0, 0) = fine(0, 0) + fine(1, 0); }
void refine(const ACC<double>& coarse, ACC<double>& fine) { fine(0, 0) = coarse(0, 0); }

void add_left(const ACC<double>& w, ACC<double>& sum) { sum(0, 0) = w(0, -1, 0) + w(1, 0, 0); }
void count_three(const ACC<double>& u, double* s) {
  s[0] += u(0, 0);
  s[1] += 1;
  if (u(0, 0) == 2) s[2] += 1;
}

struct ops : ops_session {};

TEST_P(ops, loops_index_globals_and_reductions) {
  const ops_dat u = dat(grid, {5, 4}, "u"), v = dat(grid, {5, 4}, "v");
  int with_ghosts[] = {-1, 6, -1, 5}, inner[] = {0, 5, 0, 4};
  double scale = 2;
  ops_par_loop(number, "number", grid, 2, with_ghosts, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(),
               ops_arg_gbl(&scale, 1, "double", OPS_READ));
  scale = 3;  // the loop has taken its value
  ops_par_loop(smooth, "smooth", grid, 2, inner, ops_arg_dat(u, 1, star, "double", OPS_READ),
               ops_arg_dat(v, 1, point, "double", OPS_WRITE));
  const ops_reduction sum = ops_decl_reduction_handle(sizeof(double), "double", "sum"),
                      least = ops_decl_reduction_handle(sizeof(double), "double", "least"),
                      most = ops_decl_reduction_handle(sizeof(double), "double", "most");
  ops_par_loop(add_up, "add_up", grid, 2, inner, ops_arg_dat(v, 1, point, "double", OPS_READ),
               ops_arg_reduce(sum, 1, "double", OPS_INC), ops_arg_reduce(least, 1, "double", OPS_MIN),
               ops_arg_reduce(most, 1, "double", OPS_MAX));
  double s, lo, hi;
  ops_reduction_result(sum, &s);
  ops_reduction_result(least, &lo);
  ops_reduction_result(most, &hi);
  EXPECT_EQ(s, 8 * (4 * 10 + 5 * 600));  // four neighbours, twice the number
  EXPECT_EQ(lo, 0);
  EXPECT_EQ(hi, 8 * 304);
}

TEST_P(ops, constants_change_between_queued_loops) {
  const ops_dat u = dat(grid, {3, 1}, "u");
  int all[] = {0, 3, 0, 1};
  double one = 1;
  factor = 2;
  ops_decl_const("factor", 1, "double", &factor);
  ops_par_loop(number, "number", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(),
               ops_arg_gbl(&one, 1, "double", OPS_READ));
  ops_par_loop(scale_by_factor, "scale", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_RW));
  factor = 10;  // the queued loop is still to use 2
  ops_update_const("factor", 1, "double", &factor);
  ops_par_loop(scale_by_factor, "scale", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_RW));
  double next = 100;  // a temporary, as CloverLeaf passes it
  ops_update_const("factor", 1, "double", &next);
  factor = next;
  ops_par_loop(scale_by_factor, "scale", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_RW));
  EXPECT_EQ(fetch(u), (std::vector<double>{0, 2000, 4000}));
}

TEST_P(ops, components_lie_side_by_side) {
  const ops_dat p = dat(grid, {2, 2}, "p", 2);
  int all[] = {0, 2, 0, 2};
  ops_par_loop(two, "two", grid, 2, all, ops_arg_dat(p, 2, point, "double", OPS_WRITE), ops_arg_idx());
  EXPECT_EQ(fetch(p), (std::vector<double>{0, 0, 1, 0, 0, -1, 1, -1}));
}

TEST_P(ops, strided_stencils_read_columns_and_reduce_into_them) {
  const ops_dat x = dat(grid, {4, 1}, "x"), y = dat(grid, {1, 3}, "y"), u = dat(grid, {4, 3}, "u"),
                s = dat(grid, {1, 3}, "s");
  int along_x[] = {1, 0}, along_y[] = {0, 1}, pair[] = {0, 0, 1, 0}, columns[] = {-1, 5, 0, 1}, rows[] = {0, 1, 0, 3},
      all[] = {0, 4, 0, 3};
  const ops_stencil sx = ops_decl_strided_stencil(2, 2, pair, along_x, "x"),
                    sy = ops_decl_strided_stencil(2, 1, zero, along_y, "y");
  double one = 1, hundredth = 0.01;
  ops_par_loop(number, "x", grid, 2, columns, ops_arg_dat(x, 1, point, "double", OPS_WRITE), ops_arg_idx(),
               ops_arg_gbl(&one, 1, "double", OPS_READ));
  ops_par_loop(number, "y", grid, 2, rows, ops_arg_dat(y, 1, point, "double", OPS_WRITE), ops_arg_idx(),
               ops_arg_gbl(&hundredth, 1, "double", OPS_READ));
  ops_par_loop(spread, "spread", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE),
               ops_arg_dat(x, 1, sx, "double", OPS_READ), ops_arg_dat(y, 1, sy, "double", OPS_READ));
  EXPECT_EQ(fetch(u), (std::vector<double>{1, 3, 5, 7, 11, 13, 15, 17, 21, 23, 25, 27}));
  for (int repeat = 0; repeat < 2; ++repeat) {  // each starts anew after it was read
    ops_par_loop(column_sum, "sum", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_READ),
                 ops_arg_dat(s, 1, sy, "double", OPS_INC));
    EXPECT_EQ(fetch(s), (std::vector<double>{16, 56, 96}));
    ops_par_loop(column_max, "max", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_READ),
                 ops_arg_dat(s, 1, sy, "double", OPS_MAX));
    EXPECT_EQ(fetch(s), (std::vector<double>{7, 17, 27}));
  }
}

TEST_P(ops, optional_arguments_are_left_alone) {
  const ops_dat u = dat(grid, {2, 1}, "u"), v = dat(grid, {2, 1}, "v");
  int all[] = {0, 2, 0, 1}, flags[] = {0, 1, 0};
  ops_par_loop(maybe, "maybe", grid, 2, all, ops_arg_dat_opt(u, 1, point, "double", OPS_WRITE, flags[0]),
               ops_arg_dat_opt(v, 1, point, "double", OPS_WRITE, flags[1]), ops_arg_gbl(flags, 2, "int", OPS_READ));
  EXPECT_EQ(fetch(u), (std::vector<double>{0, 0}));
  EXPECT_EQ(fetch(v), (std::vector<double>{1, 1}));
  // Left alone, written or not declared as such: the values stay.
  int neither[] = {0, 0};
  ops_par_loop(maybe, "maybe", grid, 2, all, ops_arg_dat_opt(v, 1, point, "double", OPS_WRITE, 0),
               ops_arg_dat_opt(u, 1, point, "double", OPS_RW, 0), ops_arg_gbl(neither, 2, "int", OPS_READ));
  EXPECT_EQ(fetch(v), (std::vector<double>{1, 1}));
  // A wrong flag: the kernel writes.
  ops_par_loop(maybe, "maybe", grid, 2, all, ops_arg_dat_opt(u, 1, point, "double", OPS_WRITE, 0),
               ops_arg_dat_opt(v, 1, point, "double", OPS_RW, 0), ops_arg_gbl(flags + 1, 2, "int", OPS_READ));
  EXPECT_EQ(fetch(u), (std::vector<double>{1, 1}));
}

TEST_P(ops, restriction_and_prolongation) {
  const ops_dat fine = dat(grid, {6, 1}, "fine"), coarse = dat(grid, {3, 1}, "coarse"),
                back = dat(grid, {6, 1}, "back");
  int by_two[] = {2, 1}, pair[] = {0, 0, 1, 0}, six[] = {0, 6, 0, 1}, three[] = {0, 3, 0, 1};
  const ops_stencil down = ops_decl_restrict_stencil(2, 2, pair, by_two, "down"),
                    up = ops_decl_prolong_stencil(2, 1, zero, by_two, "up");
  double one = 1;
  ops_par_loop(number, "number", grid, 2, six, ops_arg_dat(fine, 1, point, "double", OPS_WRITE), ops_arg_idx(),
               ops_arg_gbl(&one, 1, "double", OPS_READ));
  ops_par_loop(coarsen, "coarsen", grid, 2, three, ops_arg_dat(fine, 1, down, "double", OPS_READ),
               ops_arg_dat(coarse, 1, point, "double", OPS_WRITE));
  ops_par_loop(refine, "refine", grid, 2, six, ops_arg_dat(coarse, 1, up, "double", OPS_READ),
               ops_arg_dat(back, 1, point, "double", OPS_WRITE));
  EXPECT_EQ(fetch(back), (std::vector<double>{1, 1, 5, 5, 9, 9}));
}

TEST_P(ops, halos_turn_and_flip_between_blocks) {
  const ops_block other = ops_decl_block(2, "other");
  const ops_dat u = dat(grid, {3, 4}, "u"), w = dat(other, {4, 3}, "w");
  int all[] = {0, 3, 0, 4};
  double one = 1;
  ops_par_loop(number, "number", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(),
               ops_arg_gbl(&one, 1, "double", OPS_READ));
  // The right column of u, upwards, becomes the lower row of w, from right to left.
  int size[] = {1, 4}, from[] = {2, 0}, to[] = {0, 0}, straight[] = {1, 2}, turned[] = {-2, 1};
  ops_halo halo = ops_decl_halo(u, w, size, from, to, straight, turned);
  ops_halo_transfer(ops_decl_halo_group(1, &halo));
  const auto got = fetch(w);
  EXPECT_EQ((std::vector<double>{got.begin(), got.begin() + 4}), (std::vector<double>{302, 202, 102, 2}));
}

TEST_P(ops, programs_may_bring_memory_and_take_pointers) {
  std::vector<double> mine(6 * 5, 7);  // 4 x 3 with ghosts
  const ops_dat u = dat(grid, {4, 3}, "u", 1, mine.data());
  int all[] = {0, 4, 0, 3};
  double one = 1;
  ops_par_loop(number, "number", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(),
               ops_arg_gbl(&one, 1, "double", OPS_READ));
  ops_memspace where = 0;
  auto* const raw = reinterpret_cast<double*>(ops_dat_get_raw_pointer(u, 0, point, &where));
  EXPECT_EQ(where, OPS_HOST);
  EXPECT_EQ(raw, mine.data() + 7);
  int stride[2];
  ops_dat_get_raw_metadata(u, 0, nullptr, nullptr, stride, nullptr, nullptr);
  EXPECT_EQ(stride[0], 6);
  EXPECT_EQ(raw[stride[0] + 3], 103);
  EXPECT_EQ(mine[0], 7) << "ghosts were not touched";
  ops_dat_release_raw_data(u, 0, OPS_READ);
}

TEST_P(ops, straight_halos_stay_in_their_chain) {
  const ops_block right = ops_decl_block(2, "right");
  const ops_dat u = dat(grid, {3, 4}, "u", 2), w = dat(right, {3, 4}, "w", 2), sum = dat(right, {3, 4}, "sum");
  int all[] = {0, 3, 0, 4}, here[] = {0, 0, -1, 0};
  const ops_stencil left = ops_decl_stencil(2, 2, here, "left");
  // The right column of u becomes the left ghost column of w, and the other way round.
  int size[] = {1, 4}, last[] = {2, 0}, before[] = {-1, 0}, first[] = {0, 0}, after[] = {3, 0}, straight[] = {1, 2};
  ops_halo both[] = {ops_decl_halo(u, w, size, last, before, straight, straight),
                     ops_decl_halo(w, u, size, first, after, straight, straight)};
  const ops_halo_group group = ops_decl_halo_group(2, both);
  const auto& statistics = grid->instance->situ().statistics();
  const auto chains = statistics.chains;
  ops_par_loop(two, "u", grid, 2, all, ops_arg_dat(u, 2, point, "double", OPS_WRITE), ops_arg_idx());
  ops_par_loop(two, "w", right, 2, all, ops_arg_dat(w, 2, point, "double", OPS_WRITE), ops_arg_idx());
  group->halo_transfer();
  ops_par_loop(add_left, "add", right, 2, all, ops_arg_dat(w, 2, left, "double", OPS_READ),
               ops_arg_dat(sum, 1, point, "double", OPS_WRITE));
  EXPECT_EQ(fetch(sum), (std::vector<double>{2, 0, 1, 1, -1, 0, 0, -2, -1, -1, -3, -2}));
  EXPECT_EQ(statistics.chains, chains + 1);
  int ghosts[] = {3, 4, 0, 4};
  std::vector<double> got(8);
  u->fetch_data_slab(0, reinterpret_cast<char*>(got.data()), ghosts);
  EXPECT_EQ(got, (std::vector<double>{0, 0, 0, -1, 0, -2, 0, -3}));
  int beyond[] = {4, 0};
  ops_halo wrong = ops_decl_halo(u, w, size, first, beyond, straight, straight);
  EXPECT_THROW(ops_halo_transfer(ops_decl_halo_group(1, &wrong)), situ::error);
}

void laplace_row(ACC<double>& a, ACC<double>& b, ACC<double>& c, ACC<double>& x, const int* idx) {
  a(0, 0) = -1;
  b(0, 0) = 4;
  c(0, 0) = -2;
  x(0, 0) = idx[0] + 10 * idx[1] + 1;
}
void times_x(const ACC<double>& a, const ACC<double>& b, const ACC<double>& c, const ACC<double>& x, ACC<double>& d) {
  d(0, 0) = a(0, 0) * x(-1, 0) + b(0, 0) * x(0, 0) + c(0, 0) * x(1, 0);
}
void times_y(const ACC<double>& a, const ACC<double>& b, const ACC<double>& c, const ACC<double>& x, ACC<double>& d) {
  d(0, 0) = a(0, 0) * x(0, -1) + b(0, 0) * x(0, 0) + c(0, 0) * x(0, 1);
}

TEST_P(ops, tridiagonal_systems) {
  const ops_dat a = dat(grid, {5, 4}, "a"), b = dat(grid, {5, 4}, "b"), c = dat(grid, {5, 4}, "c"),
                x = dat(grid, {5, 4}, "x"), d = dat(grid, {5, 4}, "d");
  int all[] = {0, 5, 0, 4};
  ops_par_loop(laplace_row, "rows", grid, 2, all, ops_arg_dat(a, 1, point, "double", OPS_WRITE),
               ops_arg_dat(b, 1, point, "double", OPS_WRITE), ops_arg_dat(c, 1, point, "double", OPS_WRITE),
               ops_arg_dat(x, 1, point, "double", OPS_WRITE), ops_arg_idx());
  ops_tridsolver_params how{grid, ops_tridsolver_params::JACOBI};
  // x has zeros around it, so the first a and the last c do not count on either side.
  ops_par_loop(times_x, "times x", grid, 2, all, ops_arg_dat(a, 1, point, "double", OPS_READ),
               ops_arg_dat(b, 1, point, "double", OPS_READ), ops_arg_dat(c, 1, point, "double", OPS_READ),
               ops_arg_dat(x, 1, star, "double", OPS_READ), ops_arg_dat(d, 1, point, "double", OPS_WRITE));
  ops_tridMultiDimBatch(2, 0, all, a, b, c, d, &how);
  const auto expected = fetch(x), along_x = fetch(d);
  for (std::size_t n = 0; n < expected.size(); ++n) EXPECT_NEAR(along_x[n], expected[n], 1e-9) << n;
  ops_par_loop(times_y, "times y", grid, 2, all, ops_arg_dat(a, 1, point, "double", OPS_READ),
               ops_arg_dat(b, 1, point, "double", OPS_READ), ops_arg_dat(c, 1, point, "double", OPS_READ),
               ops_arg_dat(x, 1, star, "double", OPS_READ), ops_arg_dat(d, 1, point, "double", OPS_WRITE));
  ops_tridMultiDimBatch_Inc(2, 1, all, a, b, c, d, x, &how);
  const auto twice = fetch(x);
  for (std::size_t n = 0; n < expected.size(); ++n) EXPECT_NEAR(twice[n], 2 * expected[n], 1e-9) << n;
  int beyond[] = {0, 9, 0, 4};
  EXPECT_THROW(ops_tridMultiDimBatch(2, 0, beyond, a, b, c, d, &how), situ::error);
  EXPECT_THROW(ops_tridMultiDimBatch(2, 2, all, a, b, c, d, &how), situ::error);
}

TEST_P(ops, random_numbers) {
  const ops_dat u = dat(grid, {40, 25}, "u");
  ops_randomgen_init(7, 0);
  ops_fill_random_uniform(u);
  const auto first = fetch(u);
  for (const double v : first) EXPECT_TRUE(v >= 0 && v < 1) << v;
  ops_fill_random_normal(u);
  const auto normal = fetch(u);
  double square = 0;
  for (const double v : normal) square += v * v;
  EXPECT_NEAR(square / 1000, 1, 0.2);
  ops_randomgen_init(7, 0);
  ops_fill_random_uniform(u);
  EXPECT_EQ(fetch(u), first) << "the seed decides";
  ops_randomgen_exit();
}

TEST_P(ops, several_instances) {
  std::ostringstream text;
  const int before = OPS_instance::numInstances();
  const char* const arguments[] = {"program", GetParam()};
  OPS_instance mine{2, arguments, 1, text};
  EXPECT_EQ(OPS_instance::numInstances(), before + 1);
  const ops_block b = mine.decl_block(2, "mine");
  int base[] = {0, 0}, size[] = {3, 1}, none[] = {0, 0}, all[] = {0, 3, 0, 1};
  const ops_dat u = b->decl_dat(1, size, base, none, none, static_cast<double*>(nullptr), "double", "u");
  const ops_stencil here = mine.decl_stencil(2, 1, zero, "here");
  const ops_reduction sum = mine.decl_reduction_handle(3 * sizeof(double), "double", "sum");
  double scale = 2;
  ops_par_loop(number, "number", b, 2, all, ops_arg_dat(u, 1, here, "double", OPS_WRITE), ops_arg_idx(),
               ops_arg_gbl(&scale, 1, "double", OPS_READ));
  ops_par_loop(count_three, "count", b, 2, all, ops_arg_dat(u, 1, here, "double", OPS_READ),
               ops_arg_reduce(sum, 3, "double", OPS_INC));
  double got[3];
  sum->get_result(got);
  EXPECT_EQ(got[0], 6);
  EXPECT_EQ(got[1], 3);
  EXPECT_EQ(got[2], 1);
  mine.ostream() << "to its own stream";
  EXPECT_EQ(text.str(), "to its own stream");
}

// An instance whose budget, out of core, is a fraction of dataset p with two components.
struct ops_tight : ops_session {
  static std::unique_ptr<OPS_instance> make(const char* request) {
    setenv("SITU_STENCIL_FAST", "200000", 1);
    const char* const arguments[] = {"program", GetParam(), request};
    auto made = std::make_unique<OPS_instance>(3, arguments, 1);
    unsetenv("SITU_STENCIL_FAST");
    return made;
  }
  ops_tight() : ops_tight{""} {}
  explicit ops_tight(const char* request) : mine{make(request)} {}
  void write() {
    ops_par_loop(two, "two", b, 2, all, ops_arg_dat(p, 2, here, "double", OPS_WRITE), ops_arg_idx());
    mine->execute();
  }
  std::unique_ptr<OPS_instance> mine;
  int base[2] = {0, 0}, size[2] = {100, 600}, none[2] = {0, 0}, all[4] = {0, 100, 0, 600};
  ops_block b = mine->decl_block(2, "mine");
  ops_dat p = b->decl_dat(2, size, base, none, none, static_cast<double*>(nullptr), "double", "p");
  ops_stencil here = mine->decl_stencil(2, 1, zero, "here");
};
struct ops_tight_writes_all : ops_tight {
  ops_tight_writes_all() : ops_tight{"SITU_WRITE_ALL"} {}
};

// A kernel may leave out points and components of what it declares as written.
TEST_P(ops_tight, what_a_kernel_does_not_write_keeps_its_value) {
  write();
  ops_par_loop(second_if_even, "second", b, 2, all, ops_arg_dat(p, 2, here, "double", OPS_WRITE), ops_arg_idx());
  const auto got = fetch(p);
  for (std::size_t n = 0; n < got.size() / 2; ++n) {
    ASSERT_EQ(got[2 * n], n % 100);
    ASSERT_EQ(got[2 * n + 1], n % 2 == 0 ? 0.5 : -static_cast<double>(n / 100));
  }
  EXPECT_EQ(mine->situ().statistics().bytes_read > 0, p->core->in_file);
}

TEST_P(ops_tight_writes_all, what_is_written_is_not_read_first) {
  write();
  write();
  EXPECT_EQ(mine->situ().statistics().bytes_read, 0);
  EXPECT_EQ(fetch(p)[2 * 202], 2);
}
INSTANTIATE_TEST_SUITE_P(executors, ops_tight, all_executors());
INSTANTIATE_TEST_SUITE_P(executors, ops_tight_writes_all, all_executors());

TEST_P(ops, loops_run_at_once_on_request) {
  const char* const arguments[] = {"program", GetParam(), "SITU_AT_ONCE"};
  OPS_instance mine{3, arguments, 1};
  const ops_block b = mine.decl_block(2, "mine");
  int base[] = {0, 0}, size[] = {1, 1}, none[] = {0, 0}, all[] = {0, 1, 0, 1};
  const ops_dat u = b->decl_dat(1, size, base, none, none, static_cast<double*>(nullptr), "double", "u");
  const ops_stencil here = mine.decl_stencil(2, 1, zero, "here");
  double one = 1;
  std::vector<double> ones{1};
  ops_dat_set_data(u, 0, reinterpret_cast<char*>(ones.data()));
  for (const double value : {2.0, 5.0}) {
    undeclared = value;
    ops_par_loop(scale_by_undeclared, "scale", b, 2, all, ops_arg_dat(u, 1, here, "double", OPS_RW),
                 ops_arg_gbl(&one, 1, "double", OPS_READ));
  }
  undeclared = 100;
  EXPECT_EQ(fetch(u)[0], 10);
}

TEST(ops_exception, carries_a_code_and_text) {
  try {
    OPSException e{OPS_INVALID_ARGUMENT};
    e << "size " << 3;
    throw e;
  } catch (const std::exception& e) {
    EXPECT_STREQ(e.what(), "size 3");
    EXPECT_EQ(dynamic_cast<const OPSException&>(e).code, OPS_INVALID_ARGUMENT);
  }
}

TEST_P(ops, raw_memory_is_indexed_by_size) {
  const ops_dat u = dat(grid, {4, 3}, "u");
  int all[] = {0, 4, 0, 3};
  double one = 1;
  ops_par_loop(number, "number", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(),
               ops_arg_gbl(&one, 1, "double", OPS_READ));
  for (int d = 0; d < 2; ++d) EXPECT_EQ(u->size[d] - u->d_p[d] + u->d_m[d], 4 - d) << d;
  EXPECT_EQ(u->d_p[0] - u->x_pad, 1);
  ops_memspace where = OPS_HOST;
  auto* raw = reinterpret_cast<double*>(ops_dat_get_raw_pointer(u, 0, point, &where));
  EXPECT_EQ(raw[u->size[0] * 2 + 3], 203);
  raw[u->size[0] * 1 + 2] = -1;
  ops_dat_release_raw_data(u, 0, OPS_RW);
  EXPECT_EQ(fetch(u), (std::vector<double>{0, 1, 2, 3, 100, 101, -1, 103, 200, 201, 202, 203}));
  raw = reinterpret_cast<double*>(ops_dat_get_raw_pointer(u, 0, point, &where));
  EXPECT_EQ(raw[u->size[0] * 1 + 2], -1);
  EXPECT_EQ(raw[-1], 0) << "a ghost point";
  ops_dat_release_raw_data(u, 0, OPS_READ);
}

TEST_P(ops, extents_of_slabs) {
  const ops_dat u = dat(grid, {6, 5}, "u");
  int slab[] = {1, 4, 2, 3}, first[2], size[2];
  EXPECT_EQ(ops_dat_get_slab_extents(u, 0, first, size, slab), 3 * sizeof(double));
  EXPECT_EQ(first[0], 1);
  EXPECT_EQ(first[1], 2);
  EXPECT_EQ(size[0], 3);
  EXPECT_EQ(size[1], 1);
}

TEST_P(ops, text_files) {
  const temporary_file file;
  std::vector<double> values{1, 2};
  const ops_dat u = dat(grid, {2, 1}, "u");
  ops_dat_set_data(u, 0, reinterpret_cast<char*>(values.data()));
  ops_print_dat_to_txtfile(u, file.name());
  std::ifstream in{file.path};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  const std::string zeros = " 0.0000000000 0.0000000000 0.0000000000 0.0000000000\n";
  EXPECT_EQ(text, "ops_dat:  u \nops_dat dim:  1 \nblock Dims : 2 [4][3]\nelem size 8 \n" + zeros +
                      " 0.0000000000 1.0000000000 2.0000000000 0.0000000000\n" + zeros + "\n");
}

INSTANTIATE_TEST_SUITE_P(executors, ops, all_executors());

}  // namespace
