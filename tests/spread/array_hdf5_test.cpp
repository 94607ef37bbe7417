// Distributed arrays to HDF5 files and back: random extents and cuts, read by other numbers of places than wrote them,
// and by HDF5's own interface for the order in the file; what cannot be is told to every member.
#include <situ/spread/hdf5.h>

#include "support/places.h"

#include <situ/base/log.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

namespace situ {
namespace {

class array_hdf5_on : public test::on_places {
 protected:
  std::string path =
      (std::filesystem::temp_directory_path() / ("situ-array-hdf5-test-" + std::to_string(getpid()))).string();
  ~array_hdf5_on() override { std::filesystem::remove(path); }
};

cut any_cut(std::mt19937_64& random) {
  return std::array{cut::block(), cut::cyclic(), cut::blocks_of(1 + random() % 5), cut::none()}[random() % 4];
}

template <class T, std::size_t D>
T value_at(const point<D>& p) {
  std::ptrdiff_t n = 1;
  for (const std::ptrdiff_t each : p) n = 20 * n + each;
  return static_cast<T>(n);
}

template <class T, std::size_t D>
void write_and_read(std::mt19937_64& random, const std::string& path, const std::string& name) {
  std::array<std::size_t, D> extents;
  std::array<cut, D> how, other;
  ghost_zones<D> ghosts;
  for (std::size_t d = 0; d < D; ++d) {
    extents[d] = 1 + random() % 15;
    how[d] = any_cut(random);
    other[d] = any_cut(random);
    if (how[d] == cut::block()) ghosts.low[d] = ghosts.high[d] = random() % 3;
  }
  distributed_array<T, D> out{extents, how, ghosts};
  out.for_each_local([](const point<D>& p, T& each) { each = value_at<T>(p); });
  write_hdf5(path, name, out);
  distributed_array<T, D> in{extents, other};
  read_hdf5(path, name, in);
  in.for_each_local([](const point<D>& p, const T& each) { EXPECT_EQ(each, value_at<T>(p)); });
  // By one place alone, and converted.
  const team alone = world().split(here().index());
  if (here().index() == 0) {
    distributed_array<double, D> all{extents, {}, {}, alone};
    read_hdf5(path, name, all);
    all.for_each_local([](const point<D>& p, double each) { EXPECT_EQ(each, static_cast<double>(value_at<T>(p))); });
  }
  barrier();
}

TEST_P(array_hdf5_on, comes_back_however_it_was_spread) {
  const std::uint64_t seed = test::test_seed();
  run([&] {
    std::mt19937_64 random{seed};
    for (int round = 0; round < test::rounds(10); ++round) {
      write_and_read<double, 2>(random, path, "groups/are made/" + std::to_string(round));
      write_and_read<std::int16_t, 3>(random, path, "cube " + std::to_string(round));
    }
  });
}

TEST_P(array_hdf5_on, is_overwritten) {
  run([&] {
    distributed_array<float, 2> u{{6, 5}};
    for (const float value : {1.0F, 2.0F}) {
      u.for_each_local([value](float& each) { each = value; });
      write_hdf5(path, "u", u);
    }
    u.for_each_local([](float& each) { each = 0; });
    read_hdf5(path, "u", u);
    u.for_each_local([](float each) { EXPECT_EQ(each, 2.0F); });
  });
}

TEST_P(array_hdf5_on, says_what_cannot_be_to_every_member) {
  run([&] {
    distributed_array<int, 2> u{{6, 5}};
    const distributed_array<int, 2> v{{5, 6}};
    write_hdf5(path, "u", u);
    const auto extents = test::error_of([&] { write_hdf5(path, "u", v); });
    EXPECT_EQ(extents.code, errc::bad_file);
    EXPECT_TRUE(extents.says("6 x 5 elements, not 5 x 6")) << extents.text;
    EXPECT_TRUE(test::error_of([&] { read_hdf5(path, "w", u); }).says("has no 'w'"));
    EXPECT_EQ(test::error_of([&] { read_hdf5(path + "/none", "u", u); }).code, errc::bad_file);
    EXPECT_EQ(test::error_of([&] { write_hdf5("/nowhere/none", "u", u); }).code, errc::bad_file);
    read_hdf5(path, "u", u);  // goes on
  });
}

TEST_P(array_hdf5_on, a_lost_place_is_told_to_who_writes_and_reads) {
  if (GetParam().places == 1) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [&] {
    distributed_array<int, 1> u{{20}};
    write_hdf5(path, "u", u);
    barrier();
    if (here().index() == 1) throw std::runtime_error{"died as it should"};
    EXPECT_THROW(write_hdf5(path, "u", u), place_lost_error);
    EXPECT_THROW(read_hdf5(path, "u", u), place_lost_error);
  });
  set_log_sink(before);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

INSTANTIATE_TEST_SUITE_P(layouts, array_hdf5_on, testing::ValuesIn(test::layouts({1, 2, 3, 4, 5, 6})),
                         test::layout_name);

}  // namespace
}  // namespace situ
