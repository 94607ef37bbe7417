// The out-of-core executor: what is transferred, what is refused. That results match is in executor_test.cpp.
#include <situ/base/error.h>
#include <situ/stencil/stencil.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

namespace {

using namespace situ::stencil;

options small_budget(std::uint64_t fast_bytes) {
  options o;
  o.run_by = executor::out_of_core;
  o.threads = 2;
  o.small_points = 0;
  o.resident_bytes = 0;
  o.fast_bytes = fast_bytes;
  return o;
}

constexpr int nx = 500, ny = 600;              // a slab is one page
constexpr std::uint64_t field_bytes = 4096ull * ny;

struct fields {
  context c;
  block<2> grid{c, "grid"};
  dataset<double, 2> a{grid, "a", {nx, ny}}, b{grid, "b", {nx, ny}}, d{grid, "d", {nx, ny}};
  explicit fields(options o) : c{std::move(o)} {}
  void fill(const dataset<double, 2>& to, double value) {
    par_loop("fill", grid, range(0, nx, 0, ny), [value](auto x) { x(0, 0) = value; }, write(to));
  }
};

TEST(out_of_core, chains_larger_than_the_budget_run_in_tiles) {
  fields f{small_budget(field_bytes)};  // for three fields
  const auto five = shape::star(2, 1);
  const reduction<double> total{f.c, "total"};
  f.fill(f.a, 1);
  for (int step = 0; step < 4; ++step) {
    par_loop("sum", f.grid, range(1, nx - 1, 1, ny - 1), [](auto x, auto y) { y(0, 0) = x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1); }, read(f.a, five), write(f.b));
    par_loop("copy", f.grid, range(1, nx - 1, 1, ny - 1), [](auto x, auto y) { y(0, 0) = 0.25 * x(0, 0); }, read(f.b), write(f.a));
  }
  par_loop("total", f.grid, range(0, nx, 0, ny), [](auto x, double& s) { s += x(0, 0); }, read(f.a), sum(total));
  EXPECT_EQ(total.value(), nx * ny);
  EXPECT_GT(f.c.statistics().last_tiles, 3);
  EXPECT_LE(f.c.statistics().last_footprint_bytes, field_bytes);
}

TEST(out_of_core, what_is_written_first_is_not_read_and_what_is_read_is_not_written) {
  fields f{small_budget(field_bytes)};
  f.fill(f.a, 3);
  f.c.execute();
  EXPECT_EQ(f.c.statistics().bytes_read, 0u);
  EXPECT_EQ(f.c.statistics().bytes_written, field_bytes);
  par_loop("copy", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(f.a), write(f.b));
  par_loop("square", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0) * x(0, 0); }, read(f.b), write(f.d));
  f.c.execute();
  EXPECT_EQ(f.c.statistics().bytes_read, field_bytes);
  EXPECT_EQ(f.c.statistics().bytes_written, 3 * field_bytes);
  EXPECT_EQ(f.d.fetch(range(7, 9, 599, 600)), (std::vector<double>{9, 9}));
}

TEST(out_of_core, a_partial_write_keeps_the_rest) {
  fields f{small_budget(field_bytes)};
  f.fill(f.a, 3);
  f.c.execute();
  par_loop("inner", f.grid, range(1, nx, 0, ny), [](auto x) { x(0, 0) = 4; }, write(f.a));
  EXPECT_EQ(f.a.fetch(range(0, 2, 100, 101)), (std::vector<double>{3, 4}));
  par_loop("upper", f.grid, range(0, nx, 300, ny), [](auto x) { x(0, 0) = 5; }, write(f.a));
  EXPECT_EQ(f.a.fetch(range(1, 2, 299, 301)), (std::vector<double>{4, 5}));
}

TEST(out_of_core, cyclic_temporaries_are_not_transferred) {
  fields f{small_budget(field_bytes)};
  f.fill(f.a, 3);
  dataset_core* const temporaries[] = {f.b.core()};
  f.c.begin_cyclic(temporaries);
  const auto before = f.c.statistics();
  for (int step = 0; step < 2; ++step) {
    par_loop("half", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0) / 2; }, read(f.a), write(f.b));
    par_loop("back", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { x(0, 0) = y(0, 0) + 1; }, write(f.a), read(f.b));
    f.c.execute();
  }
  EXPECT_EQ(f.c.statistics().bytes_read - before.bytes_read, 2 * field_bytes);
  EXPECT_EQ(f.c.statistics().bytes_written - before.bytes_written, 2 * field_bytes);
  EXPECT_EQ(f.a.fetch(range(0, 1, 0, 1)), (std::vector<double>{2.25}));
}

TEST(out_of_core, a_cyclic_temporary_that_is_read_first_is_refused) {
  fields f{small_budget(field_bytes)};
  dataset_core* const temporaries[] = {f.b.core()};
  f.c.begin_cyclic(temporaries);
  par_loop("peek", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(f.b), write(f.a));
  try {
    f.c.execute();
    FAIL();
  } catch (const situ::error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("'b'"), testing::HasSubstr("'peek'")));
  }
}

TEST(out_of_core, a_budget_too_small_says_the_least_that_works) {
  fields f{small_budget(16 << 10)};
  f.fill(f.a, 1);
  par_loop("copy", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(f.a), write(f.b));
  try {
    f.c.execute();
    FAIL();
  } catch (const situ::error& e) {
    EXPECT_EQ(e.code(), situ::errc::out_of_memory);
    EXPECT_THAT(e.what(), testing::HasSubstr("24 KiB"));  // three slots of a page for each of two fields
  }
  EXPECT_FALSE(f.c.is_queued());
}

TEST(out_of_core, a_directory_that_is_not_there_is_named) {
  auto o = small_budget(field_bytes);
  o.directory = "/nonexistent/situ";
  try {
    const context c{o};
    FAIL();
  } catch (const situ::error& e) {
    EXPECT_EQ(e.code(), situ::errc::bad_file);
    EXPECT_THAT(e.what(), testing::HasSubstr("/nonexistent/situ"));
  }
}

TEST(out_of_core, nothing_is_left_in_the_directory) {
  const auto directory = std::filesystem::temp_directory_path() / ("situ-stencil-test-" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  auto o = small_budget(field_bytes);
  o.directory = directory;
  {
    fields f{o};
    f.fill(f.a, 1);
    f.c.execute();
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << "the file has no name";
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove(directory);
}

}  // namespace
