// OPS's HDF5 files. That OPS reads ours and the other way round was tried by hand with OPS's own library
// (docs/results/ops_programs.md).
#define OPS_2D
#include "ops_seq_v2.h"

#include "ops/session.h"

#include <situ/base/error.h>
#include <situ/stencil/hdf5.h>

namespace {

using situ::stencil::element_type;
using situ::stencil::hdf5_file;

void fill_two(ACC<double>& p, const int* idx) {
  p(0, 0, 0) = idx[0] + 100 * idx[1];
  p(1, 0, 0) = -idx[0];
}

struct ops_hdf5 : ops_session {
  ops_dat filled() {
    const ops_dat p = dat(grid, {3, 2}, "p", 2);
    int all[] = {-1, 4, -1, 3};
    ops_par_loop(fill_two, "fill", grid, 2, all, ops_arg_dat(p, 2, point, "double", OPS_WRITE), ops_arg_idx());
    return p;
  }
  temporary_file file;
};

TEST_P(ops_hdf5, datasets_go_to_a_file_and_come_back) {
  const ops_dat p = filled();
  EXPECT_THROW(ops_fetch_dat_hdf5_file(p, file.name()), situ::error) << "its block is not in the file";
  ops_fetch_block_hdf5_file(grid, file.name());
  ops_fetch_dat_hdf5_file(p, file.name());
  {
    const hdf5_file in{file.path, hdf5_file::open_mode::read};
    EXPECT_EQ(in.text("grid", "ops_type"), "ops_block");
    EXPECT_EQ(in.text("grid/p", "type"), "double");
    EXPECT_EQ(in.integers("grid/p", "size"), (std::vector<int>{3, 2}));
    EXPECT_EQ(in.integers("grid/p", "d_m"), (std::vector<int>{-1, -1}));
  }
  const ops_block again = ops_decl_block_hdf5(2, "grid", file.name());
  again->index = grid->index;  // as in a program of its own
  const ops_dat q = ops_decl_dat_hdf5(again, 2, "double", "p", file.name());
  EXPECT_EQ(fetch(q), fetch(p));
  EXPECT_EQ(fetch(q), (std::vector<double>{0, 0, 1, -1, 2, -2, 100, 0, 101, -1, 102, -2}));
  int ghost[] = {-1, 0, 2, 3};
  double corner[2] = {};
  q->fetch_data_slab(0, reinterpret_cast<char*>(corner), ghost);
  EXPECT_EQ(corner[0], 199);
  EXPECT_EQ(corner[1], 1);
}

TEST_P(ops_hdf5, what_the_program_says_must_stand_in_the_file) {
  const ops_dat p = filled();
  ops_fetch_block_hdf5_file(grid, file.name());
  ops_fetch_dat_hdf5_file(p, file.name());
  EXPECT_THROW(ops_decl_block_hdf5(3, "grid", file.name()), situ::error);
  EXPECT_THROW(ops_decl_block_hdf5(2, "plate", file.name()), situ::error);
  EXPECT_THROW(ops_decl_dat_hdf5(grid, 1, "double", "p", file.name()), situ::error);
  EXPECT_THROW(ops_decl_dat_hdf5(grid, 2, "float", "p", file.name()), situ::error);
  EXPECT_THROW(ops_decl_dat_hdf5(grid, 2, "double", "q", file.name()), situ::error);
  const ops_dat larger = dat(grid, {4, 2}, "p", 2);
  EXPECT_THROW(ops_fetch_dat_hdf5_file(larger, file.name()), situ::error)
      << "the dataset in the file has other extents";
  EXPECT_THROW(ops_decl_block_hdf5(2, "grid", "/does/not/exist.h5"), situ::error);
}

TEST_P(ops_hdf5, overwriting) {
  const ops_dat p = filled();
  ops_fetch_block_hdf5_file(grid, file.name());
  ops_fetch_dat_hdf5_file(p, file.name());
  std::vector<double> nines(12, 9);
  ops_dat_set_data(p, 0, reinterpret_cast<char*>(nines.data()));
  ops_fetch_dat_hdf5_file(p, file.name());
  const ops_dat q = ops_decl_dat_hdf5(grid, 2, "double", "p", file.name());
  EXPECT_EQ(fetch(q), nines);
  ops_dat_set_data(q, 0, reinterpret_cast<char*>(std::vector<double>(12, 1).data()));
  ops_read_dat_hdf5(q);
  EXPECT_EQ(fetch(q), nines);
}

TEST_P(ops_hdf5, slabs_and_planes) {
  const ops_dat p = filled();
  int range[] = {1, 3, 0, 2};
  ops_write_data_slab_hdf5(p, range, file.name(), "a/b/slab");
  ops_write_plane_hdf5(p, 1, 1, file.name(), "upper");
  ops_write_plane_hdf5(p, 0, 2, file.name(), "right", REAL_PRECISION::Single);
  int beyond = 5;
  EXPECT_THROW(ops_write_plane_hdf5(p, 1, beyond, file.name(), "none"), situ::error);
  const hdf5_file in{file.path, hdf5_file::open_mode::read};
  EXPECT_TRUE(in.contains("a/b/slab"));
  EXPECT_FALSE(in.contains("none"));
  std::vector<double> plane(6), column(4);  // one dimension less: read as arrays, the single numbers converted
  in.read_array("upper", element_type::float64, 6, plane.data());
  in.read_array("right", element_type::float64, 4, column.data());
  EXPECT_EQ(plane, (std::vector<double>{100, 0, 101, -1, 102, -2}));
  EXPECT_EQ(column, (std::vector<double>{2, -2, 102, -2}));
}

TEST_P(ops_hdf5, constants_stencils_and_halos) {
  double three[] = {1.5, 2.5, 3.5};
  ops_write_const_hdf5("three", 3, "double", reinterpret_cast<char*>(three), file.name());
  float back[3] = {};
  ops_get_const_hdf5("three", 3, "float", reinterpret_cast<char*>(back), file.name());
  EXPECT_EQ(back[2], 3.5F);
  EXPECT_THROW(ops_get_const_hdf5("three", 2, "double", reinterpret_cast<char*>(three), file.name()), situ::error);

  int size[] = {1, 2}, from[] = {2, 0}, to[] = {-1, 0}, straight[] = {1, 2}, flipped[] = {1, -2};
  const ops_dat p = filled();
  const ops_halo halo = ops_decl_halo(p, p, size, from, to, straight, flipped);
  ops_dump_to_hdf5(file.name());
  const ops_halo again = ops_decl_halo_hdf5(p, p, file.name());
  EXPECT_EQ(std::vector<int>(again->to_dir, again->to_dir + 2), std::vector<int>(halo->to_dir, halo->to_dir + 2));
  EXPECT_EQ(again->from_base[0], 2);
  const ops_stencil five_again = ops_decl_stencil_hdf5(2, 5, "five", file.name());
  EXPECT_EQ(std::vector<int>(five_again->stencil, five_again->stencil + 10), std::vector<int>(five, five + 10));
}

INSTANTIATE_TEST_SUITE_P(executors, ops_hdf5, all_executors());

}  // namespace
