// OPS's API over situ::stencil, with programs of our own in its style. OPS's own programs are tried by hand (docs/stencil.md).
#define OPS_2D
#include "ops_seq_v2.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

double factor = 1;

namespace {

void number(ACC<double>& u, const int* idx, const double* scale) { u(0, 0) = *scale * (idx[0] + 100 * idx[1]); }
void smooth(const ACC<double>& u, ACC<double>& v) { v(0, 0) = u(1, 0) + u(-1, 0) + u(0, 1) + u(0, -1); }
void scale_by_factor(ACC<double>& u) { u(0, 0) *= factor; }
void add_up(const ACC<double>& u, double* sum, double* least, double* most) {
  *sum += u(0, 0);
  *least = MIN(*least, u(0, 0));
  *most = MAX(*most, u(0, 0));
}
void two(ACC<double>& p, const int* idx) {
  p(0, 0, 0) = idx[0];
  p(1, 0, 0) = -idx[1];
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

struct ops : testing::TestWithParam<const char*> {
  // Before the members that are declared with it.
  struct session {
    session() {
      const char* const arguments[] = {"program", GetParam(), "OPS_TILESIZE_X=3", "OPS_TILESIZE_Y=2"};
      ops_init(4, arguments, 1);
    }
    ~session() { ops_exit(); }
  };
  session started;

  ops_dat dat(ops_block b, std::array<int, 2> size, const char* name, int dim = 1, double* data = nullptr) {
    int base[] = {0, 0}, m[] = {-1, -1}, p[] = {1, 1};
    return ops_decl_dat(b, dim, size.data(), base, m, p, data, "double", name);
  }
  static std::vector<double> fetch(ops_dat d) {
    int disp[2], size[2];
    ops_dat_get_extents(d, 0, disp, size);
    std::vector<double> all(static_cast<std::size_t>(size[0] * size[1] * d->dim));
    ops_dat_fetch_data(d, 0, reinterpret_cast<char*>(all.data()));
    return all;
  }

  ops_block grid = ops_decl_block(2, "grid");
  int zero[2] = {0, 0}, five[10] = {0, 0, 1, 0, -1, 0, 0, 1, 0, -1};
  ops_stencil point = ops_decl_stencil(2, 1, zero, "00");
  ops_stencil star = ops_decl_stencil(2, 5, five, "five");
};

TEST_P(ops, loops_index_globals_and_reductions) {
  const ops_dat u = dat(grid, {5, 4}, "u"), v = dat(grid, {5, 4}, "v");
  int with_ghosts[] = {-1, 6, -1, 5}, inner[] = {0, 5, 0, 4};
  double scale = 2;
  ops_par_loop(number, "number", grid, 2, with_ghosts, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(), ops_arg_gbl(&scale, 1, "double", OPS_READ));
  scale = 3;  // the loop has taken its value
  ops_par_loop(smooth, "smooth", grid, 2, inner, ops_arg_dat(u, 1, star, "double", OPS_READ), ops_arg_dat(v, 1, point, "double", OPS_WRITE));
  const ops_reduction sum = ops_decl_reduction_handle(sizeof(double), "double", "sum"), least = ops_decl_reduction_handle(sizeof(double), "double", "least"),
                      most = ops_decl_reduction_handle(sizeof(double), "double", "most");
  ops_par_loop(add_up, "add_up", grid, 2, inner, ops_arg_dat(v, 1, point, "double", OPS_READ), ops_arg_reduce(sum, 1, "double", OPS_INC),
               ops_arg_reduce(least, 1, "double", OPS_MIN), ops_arg_reduce(most, 1, "double", OPS_MAX));
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
  ops_par_loop(number, "number", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(), ops_arg_gbl(&one, 1, "double", OPS_READ));
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
  const ops_dat x = dat(grid, {4, 1}, "x"), y = dat(grid, {1, 3}, "y"), u = dat(grid, {4, 3}, "u"), s = dat(grid, {1, 3}, "s");
  int along_x[] = {1, 0}, along_y[] = {0, 1}, pair[] = {0, 0, 1, 0}, columns[] = {-1, 5, 0, 1}, rows[] = {0, 1, 0, 3}, all[] = {0, 4, 0, 3};
  const ops_stencil sx = ops_decl_strided_stencil(2, 2, pair, along_x, "x"), sy = ops_decl_strided_stencil(2, 1, zero, along_y, "y");
  double one = 1, hundredth = 0.01;
  ops_par_loop(number, "x", grid, 2, columns, ops_arg_dat(x, 1, point, "double", OPS_WRITE), ops_arg_idx(), ops_arg_gbl(&one, 1, "double", OPS_READ));
  ops_par_loop(number, "y", grid, 2, rows, ops_arg_dat(y, 1, point, "double", OPS_WRITE), ops_arg_idx(), ops_arg_gbl(&hundredth, 1, "double", OPS_READ));
  ops_par_loop(spread, "spread", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_dat(x, 1, sx, "double", OPS_READ),
               ops_arg_dat(y, 1, sy, "double", OPS_READ));
  EXPECT_EQ(fetch(u), (std::vector<double>{1, 3, 5, 7, 11, 13, 15, 17, 21, 23, 25, 27}));
  for (int repeat = 0; repeat < 2; ++repeat) {  // each starts anew after it was read
    ops_par_loop(column_sum, "sum", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_READ), ops_arg_dat(s, 1, sy, "double", OPS_INC));
    EXPECT_EQ(fetch(s), (std::vector<double>{16, 56, 96}));
    ops_par_loop(column_max, "max", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_READ), ops_arg_dat(s, 1, sy, "double", OPS_MAX));
    EXPECT_EQ(fetch(s), (std::vector<double>{7, 17, 27}));
  }
}

TEST_P(ops, optional_arguments_are_left_alone) {
  const ops_dat u = dat(grid, {2, 1}, "u"), v = dat(grid, {2, 1}, "v");
  int all[] = {0, 2, 0, 1}, flags[] = {0, 1};
  ops_par_loop(maybe, "maybe", grid, 2, all, ops_arg_dat_opt(u, 1, point, "double", OPS_WRITE, flags[0]),
               ops_arg_dat_opt(v, 1, point, "double", OPS_WRITE, flags[1]), ops_arg_gbl(flags, 2, "int", OPS_READ));
  EXPECT_EQ(fetch(u), (std::vector<double>{0, 0}));
  EXPECT_EQ(fetch(v), (std::vector<double>{1, 1}));
}

TEST_P(ops, restriction_and_prolongation) {
  const ops_dat fine = dat(grid, {6, 1}, "fine"), coarse = dat(grid, {3, 1}, "coarse"), back = dat(grid, {6, 1}, "back");
  int by_two[] = {2, 1}, pair[] = {0, 0, 1, 0}, six[] = {0, 6, 0, 1}, three[] = {0, 3, 0, 1};
  const ops_stencil down = ops_decl_restrict_stencil(2, 2, pair, by_two, "down"), up = ops_decl_prolong_stencil(2, 1, zero, by_two, "up");
  double one = 1;
  ops_par_loop(number, "number", grid, 2, six, ops_arg_dat(fine, 1, point, "double", OPS_WRITE), ops_arg_idx(), ops_arg_gbl(&one, 1, "double", OPS_READ));
  ops_par_loop(coarsen, "coarsen", grid, 2, three, ops_arg_dat(fine, 1, down, "double", OPS_READ), ops_arg_dat(coarse, 1, point, "double", OPS_WRITE));
  ops_par_loop(refine, "refine", grid, 2, six, ops_arg_dat(coarse, 1, up, "double", OPS_READ), ops_arg_dat(back, 1, point, "double", OPS_WRITE));
  EXPECT_EQ(fetch(back), (std::vector<double>{1, 1, 5, 5, 9, 9}));
}

TEST_P(ops, halos_turn_and_flip_between_blocks) {
  const ops_block other = ops_decl_block(2, "other");
  const ops_dat u = dat(grid, {3, 4}, "u"), w = dat(other, {4, 3}, "w");
  int all[] = {0, 3, 0, 4};
  double one = 1;
  ops_par_loop(number, "number", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(), ops_arg_gbl(&one, 1, "double", OPS_READ));
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
  ops_par_loop(number, "number", grid, 2, all, ops_arg_dat(u, 1, point, "double", OPS_WRITE), ops_arg_idx(), ops_arg_gbl(&one, 1, "double", OPS_READ));
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

TEST_P(ops, text_files) {
  const auto path = std::filesystem::temp_directory_path() / ("situ-ops-test-" + std::to_string(getpid()));
  const ops_dat u = dat(grid, {1, 1}, "u");
  ops_print_dat_to_txtfile(u, path.c_str());
  std::ifstream in{path};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  std::filesystem::remove(path);
  EXPECT_TRUE(text.starts_with("ops_dat:  u \nops_dat dim:  1 \nblock Dims : 2 [3][3]\nelem size 8 \n")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
}

INSTANTIATE_TEST_SUITE_P(executors, ops, testing::Values("OPS_NO_TILING", "OPS_TILING", "SITU_OUT_OF_CORE"));

}  // namespace
