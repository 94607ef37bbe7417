// Datasets to HDF5 files and back, by each executor.
#include <situ/base/error.h>
#include <situ/stencil/hdf5.h>
#include <situ/stencil/stencil.h>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace {

using namespace situ::stencil;

struct stencil_hdf5 : testing::TestWithParam<executor> {
  static options how() {
    options o;
    o.run_by = GetParam();
    o.resident_bytes = 0;
    o.fast_bytes = std::uint64_t{16} << 20;
    return o;
  }
  context run{how()};
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("situ-hdf5-test-" + std::to_string(getpid()));
  ~stencil_hdf5() override { std::filesystem::remove(path); }
};

TEST_P(stencil_hdf5, larger_than_the_buffer) {
  const int nx = 1000, ny = 1300;  // 10 MB: three pieces
  const block<2> plate{run, "plate"};
  const dataset<double, 2> u{plate, "u", {nx, ny}, 1}, v{plate, "v", {nx, ny}, 2};
  par_loop(
      "fill", plate, range(0, nx, 0, ny), [](auto x, const auto& at) { x(0, 0) = at[0] + 10000.0 * at[1]; }, write(u),
      index());
  hdf5_file out{path, hdf5_file::open_mode::create};
  out.write(u);  // executes the loop
  out.write(u, range(0, 3, 1298, 1300), "groups/are made/corner");
  out.close();

  hdf5_file in{path, hdf5_file::open_mode::read};
  in.read(v, v.inner(), "u");
  EXPECT_EQ(v.fetch(), u.fetch());
  EXPECT_EQ(v.fetch(range(999, 1000, 1299, 1300)), std::vector<double>{999 + 12990000.0});
  const dataset<float, 2> corner{plate, "groups/are made/corner", {3, 2}};
  in.read(corner);  // converted
  EXPECT_EQ(corner.fetch(), (std::vector<float>{12980000, 12980001, 12980002, 12990000, 12990001, 12990002}));
}

TEST_P(stencil_hdf5, components_lie_side_by_side) {
  const block<3> cube{run, "cube"};
  const dataset<int, 3> u{cube, "u", {2, 1, 2}, 0, 2};
  u.store(u.inner(), std::vector<int>{1, 2, 3, 4, 10, 20, 30, 40});  // the second component follows the first
  hdf5_file file{path, hdf5_file::open_mode::create};
  file.write(u);
  const block<1> line{run, "line"};
  const dataset<short, 1> flat{line, "flat", {4}}, other{line, "other", {5}};
  file.write(flat);
  EXPECT_THROW(file.read(flat, flat.inner(), "u"), situ::error) << "three dimensions there, one here";
  EXPECT_THROW(file.read(other, other.inner(), "flat"), situ::error) << "other extents";
  EXPECT_THROW(file.write(other, other.inner(), "flat"), situ::error);
  EXPECT_THROW(file.read(other), situ::error) << "not in the file";
  const dataset<int, 3> v{cube, "v", {2, 1, 2}, 0, 2};
  file.read(v, v.inner(), "u");
  EXPECT_EQ(v.fetch(), (std::vector<int>{1, 2, 3, 4, 10, 20, 30, 40}));
}

INSTANTIATE_TEST_SUITE_P(executors, stencil_hdf5,
                         testing::Values(executor::plain, executor::tiled, executor::out_of_core));

TEST(stencil_hdf5_errors, name_the_file_and_the_reason) {
  try {
    hdf5_file{"/does/not/exist.h5", hdf5_file::open_mode::read};
    FAIL();
  } catch (const situ::error& e) {
    EXPECT_EQ(e.code(), situ::errc::bad_file);
    EXPECT_NE(std::string{e.what()}.find("/does/not/exist.h5"), std::string::npos) << e.what();
  }
  const auto path = std::filesystem::temp_directory_path() / ("situ-hdf5-test-text-" + std::to_string(getpid()));
  std::ofstream{path} << "no HDF5 file";
  EXPECT_THROW((hdf5_file{path, hdf5_file::open_mode::update}), situ::error);
  std::filesystem::remove(path);
}

TEST(stencil_hdf5_errors, only_numbers_can_be_written) {
  struct pair {
    double a, b;
  };
  context run;
  const block<1> line{run, "line"};
  const dataset<pair, 1> u{line, "u", {4}};
  EXPECT_THROW((void)element_type_of(*u.core()), situ::error);
}

TEST(stencil_hdf5_errors, a_file_that_cannot_grow_is_reported) {
  const auto path = std::filesystem::temp_directory_path() / ("situ-hdf5-test-limit-" + std::to_string(getpid()));
  context run;
  const block<2> plate{run, "plate"};
  const dataset<double, 2> u{plate, "u", {1000, 100}};
  rlimit before{};  // the limit stands for a full disk
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 64 << 10;
  setrlimit(RLIMIT_FSIZE, &small);
  const auto write_it = [&] {
    hdf5_file out{path, hdf5_file::open_mode::create};
    out.write(u);
    out.close();
  };
  EXPECT_THROW(write_it(), situ::error);
  setrlimit(RLIMIT_FSIZE, &before);
  std::filesystem::remove(path);
}

}  // namespace
