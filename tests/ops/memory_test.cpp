// Memory that a program can look at without a call: its own, raw pointers before their release, dat->data. OPS runs
// loops at once, so it is right at any time; here, too (docs/decisions/0006-ops-memory.md).
#define OPS_2D
#include "ops_seq_v2.h"

#include "ops/session.h"

#include <situ/base/error.h>

#include <fstream>
#include <numeric>

namespace {

void add_one(ACC<double>& u) { u(0, 0) += 1; }
void copy_point(const ACC<double>& from, ACC<double>& to) { to(0, 0) = from(0, 0); }
void number_components(ACC<double>& p, const int* idx) {
  for (int c = 0; c < 3; ++c) p(c, 0, 0) = 100 * c + 10 * idx[1] + idx[0];
}
void weigh_components(const ACC<double>& p, double* sum) { *sum += p(0, 0, 0) + 7 * p(1, 0, 0) + 13 * p(2, 0, 0); }
void sum_two(const ACC<double>& u, double* sum) {
  sum[0] += u(0, 0);
  sum[1] += 1;
}
void sum_one(const ACC<double>& u, double* sum) { sum[0] += u(0, 0); }

struct ops_memory : ops_session {
  void add(ops_dat u) { ops_par_loop(add_one, "add", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_RW)); }
  void copy(ops_dat from, ops_dat to) {
    ops_par_loop(copy_point, "copy", grid, 2, all, ops_arg_dat(from, 1, point, "double", OPS_READ),
                 ops_arg_dat(to, 1, point, "double", OPS_WRITE));
  }
  int all[4] = {0, 2, 0, 2};
};

TEST_P(ops_memory, of_the_program_is_right_between_loops) {
  std::vector<double> a(16), b(16);  // 2 x 2 with ghost points
  const ops_dat u = dat(grid, {2, 2}, "u", 1, a.data()), v = dat(grid, {2, 2}, "v", 1, b.data()),
                w = dat(grid, {2, 2}, "w");
  for (int step = 0; step < 3; ++step) {
    a[5] = 10 * step;
    copy(u, v);
    EXPECT_EQ(b[5], 10 * step) << "what a loop has written";
    a[5] = -1;  // the loop is over: it has read the value before
    copy(v, w);
    add(v);
    EXPECT_EQ(b[5], 10 * step + 1);
    b[5] = 77;
    EXPECT_EQ(fetch(w)[0], 10 * step);
    EXPECT_EQ(fetch(v)[0], 77) << "what the program has written";
  }
}

TEST_P(ops_memory, of_the_program_is_right_after_halos_and_solvers) {
  std::vector<double> values(5 * 16);
  ops_dat d[5];
  for (int n = 0; n < 5; ++n) d[n] = dat(grid, {2, 2}, "d", 1, values.data() + 16 * n);
  int size[] = {1, 2}, from[] = {1, 0}, to[] = {-1, 0}, straight[] = {1, 2};
  ops_halo halo = ops_decl_halo(d[0], d[0], size, from, to, straight, straight);
  values[6] = 3;  // the last point of the lower row
  ops_halo_transfer(ops_decl_halo_group(1, &halo));
  EXPECT_EQ(values[4], 3) << "its copy before the first";
  for (int n = 0; n < 16; ++n) values[16 + n] = 2, values[48 + n] = 6;  // 2 x = 6 at each point: the others are 0
  ops_tridsolver_params how{grid};
  ops_tridMultiDimBatch(2, 0, all, d[2], d[1], d[4], d[3], &how);
  EXPECT_EQ(values[48 + 5], 3);
}

TEST_P(ops_memory, raw_pointers_are_right_until_their_release) {
  const ops_dat u = dat(grid, {2, 2}, "u");
  ops_memspace where = OPS_HOST;
  auto* const raw = reinterpret_cast<double*>(ops_dat_get_raw_pointer(u, 0, point, &where));
  add(u);
  EXPECT_EQ(raw[0], 1);
  raw[0] = 5;
  add(u);
  add(u);
  EXPECT_EQ(raw[0], 7);
  EXPECT_EQ(fetch(u)[0], 7);
  std::vector<double> nines(4, 9);
  ops_dat_set_data(u, 0, reinterpret_cast<char*>(nines.data()));
  EXPECT_EQ(raw[0], 9);
  raw[1] = 10;
  ops_dat_release_raw_data(u, 0, OPS_RW);
  EXPECT_EQ(fetch(u)[1], 10);
  EXPECT_THROW(ops_dat_release_raw_data(u, 0, OPS_RW), situ::error) << "there is none any more";
}

TEST_P(ops_memory, a_released_dataset_stays_in_its_chain) {
  const ops_dat u = dat(grid, {2, 2}, "u");
  ops_dat_get_raw_pointer(u, 0, point, nullptr);
  ops_dat_release_raw_data(u, 0, OPS_READ);
  const auto& statistics = grid->instance->situ().statistics();
  const auto chains = statistics.chains;
  add(u);
  add(u);
  EXPECT_EQ(fetch(u)[0], 2);
  EXPECT_EQ(statistics.chains, chains + 1);
}

TEST_P(ops_memory, looking_at_data) {
  const ops_dat u = dat(grid, {2, 2}, "u"), v = dat(grid, {2, 2}, "v");
  add(u);
  EXPECT_FALSE(u->data == nullptr);
  auto* const values = static_cast<double*>(u->data);
  const auto at = static_cast<std::size_t>(u->size[0]) + 1;  // the first inner point
  EXPECT_EQ(values[at], 1) << "what was queued has run";
  add(u);
  EXPECT_EQ(values[at], 2) << "and runs at once from now on";
  values[at] = 20;
  copy(u, v);
  EXPECT_EQ(fetch(v)[0], 20);
  EXPECT_EQ(fetch(v)[1], 2);
  EXPECT_EQ(*reinterpret_cast<double*>(u->data + static_cast<std::ptrdiff_t>(at * sizeof(double))), 20);
  std::memcpy(v->data, u->data, at * sizeof(double));
  const temporary_file file;
  std::FILE* const out = std::fopen(file.name(), "wb");
  EXPECT_EQ(std::fwrite(u->data, sizeof(double), at + 2, out), at + 2);
  std::fclose(out);
  std::vector<double> back(at + 2);
  std::ifstream{file.path}.read(reinterpret_cast<char*>(back.data()),
                                static_cast<std::streamsize>(back.size() * sizeof(double)));
  EXPECT_EQ(back[at], 20);
  EXPECT_EQ(back[at + 1], 2);
  ops_free_dat(u);
  EXPECT_TRUE(u->data == nullptr);
}

TEST_P(ops_memory, what_is_summed_up_so_far) {
  const ops_dat u = dat(grid, {2, 2}, "u");
  const ops_reduction sum = ops_decl_reduction_handle(2 * sizeof(double), "double", "sum");
  EXPECT_EQ(static_cast<double*>(sum->data)[0], 0);
  add(u);
  ops_par_loop(sum_two, "sum", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_READ),
               ops_arg_reduce(sum, 2, "double", OPS_INC));
  EXPECT_EQ(static_cast<double*>(sum->data)[1], 4);
  add(u);
  // Of fewer values than before, which a queued loop still sums up.
  ops_par_loop(sum_two, "sum", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_READ),
               ops_arg_reduce(sum, 2, "double", OPS_INC));
  ops_par_loop(sum_one, "sum", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_READ),
               ops_arg_reduce(sum, 1, "double", OPS_INC));
  double got[2];
  ops_reduction_result(sum, got);
  EXPECT_EQ(got[0], 4 + 8 + 8);
  EXPECT_EQ(got[1], 8);
}

TEST_P(ops_memory, globals_are_read_only) {
  double sum = 0;
  EXPECT_THROW(ops_arg_gbl(&sum, 1, "double", OPS_INC), situ::error);
  EXPECT_THROW(ops_arg_gbl(&sum, 1, "double", OPS_WRITE), situ::error);
}

// With OPS_soa: all of one component, then all of the next.
TEST_P(ops_memory, component_major) {
  grid->instance->OPS_soa = 1;
  std::vector<double> mine(7 * 6 * 3);
  std::iota(mine.begin(), mine.end(), 0);
  int range[] = {0, 5, 0, 4};
  const ops_dat given = dat(grid, {5, 4}, "given", 3, mine.data()), made = dat(grid, {5, 4}, "made", 3);
  const ops_reduction sum = ops_decl_reduction_handle(sizeof(double), "double", "sum");
  ops_par_loop(weigh_components, "weigh", grid, 2, range, ops_arg_dat(given, 3, point, "double", OPS_READ),
               ops_arg_reduce(sum, 1, "double", OPS_INC));
  double got, expected = 0;
  ops_reduction_result(sum, &got);
  for (int y = 1; y < 5; ++y) {
    for (int x = 1; x < 6; ++x) expected += 21 * (7 * y + x) + (7 + 2 * 13) * 7 * 6;
  }
  EXPECT_EQ(got, expected);
  ops_par_loop(number_components, "number", grid, 2, range, ops_arg_dat(made, 3, point, "double", OPS_WRITE),
               ops_arg_idx());
  EXPECT_EQ(fetch(made)[8], 202) << "side by side in buffers, as in OPS";
  ops_memspace where = OPS_HOST;
  auto* const raw = reinterpret_cast<double*>(ops_dat_get_raw_pointer(made, 0, point, &where));
  const std::ptrdiff_t field = made->size[0] * made->size[1];
  for (int c = 0; c < 3; ++c) EXPECT_EQ(raw[2 + made->size[0] + c * field], 100 * c + 12);
  raw[2 + made->size[0] + field] = -1;
  ops_dat_release_raw_data(made, 0, OPS_RW);
  EXPECT_EQ(fetch(made)[3 * 7 + 1], -1);
}

INSTANTIATE_TEST_SUITE_P(executors, ops_memory, all_executors());

}  // namespace
