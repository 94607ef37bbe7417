// The out-of-core executor: what is moved, what is refused. That results match is in executor_test.cpp.
#include "stencil/memory_store.h"

#include <situ/base/error.h>
#include <situ/stencil/stencil.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using namespace situ::stencil;
using situ::stencil::testing::memory_store;

options small_budget(std::uint64_t fast_bytes) {
  options o;
  o.run_by = executor::out_of_core;
  o.threads = 2;
  o.small_points = 0;
  o.resident_bytes = 0;
  o.fast_bytes = fast_bytes;
  return o;
}

constexpr int nx = 500, ny = 600;  // a layer is one page
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

constexpr std::uint64_t half_a_field = field_bytes / 2;
// After a chain the first tile of the next is read already.
auto is_with_read_ahead(std::uint64_t bytes) {
  return ::testing::AllOf(::testing::Ge(bytes), ::testing::Le(bytes + field_bytes / 10));
}

TEST(out_of_core, chains_larger_than_the_budget_run_in_tiles) {
  fields f{small_budget(field_bytes)};  // for two fields and more
  const auto five = shape::star(2, 1);
  const reduction<double> total{f.c, "total"};
  f.fill(f.a, 1);
  for (int step = 0; step < 4; ++step) {
    par_loop(
        "sum", f.grid, range(1, nx - 1, 1, ny - 1),
        [](auto x, auto y) { y(0, 0) = x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1); }, read(f.a, five), write(f.b));
    par_loop(
        "copy", f.grid, range(1, nx - 1, 1, ny - 1), [](auto x, auto y) { y(0, 0) = 0.25 * x(0, 0); }, read(f.b),
        write(f.a));
  }
  par_loop("total", f.grid, range(0, nx, 0, ny), [](auto x, double& s) { s += x(0, 0); }, read(f.a), sum(total));
  EXPECT_EQ(total.value(), nx * ny);
  EXPECT_GT(f.c.statistics().last_tiles, 3);
  EXPECT_LE(f.c.statistics().last_footprint_bytes, field_bytes);
}

TEST(out_of_core, what_is_written_first_is_not_read_and_what_is_read_is_not_written) {
  fields f{small_budget(half_a_field)};
  f.fill(f.a, 3);
  f.c.execute();
  EXPECT_EQ(f.c.statistics().bytes_read, 0u);
  EXPECT_EQ(f.c.statistics().bytes_written, field_bytes);
  par_loop("copy", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(f.a), write(f.b));
  par_loop(
      "square", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0) * x(0, 0); }, read(f.b),
      write(f.d));
  f.c.execute();
  EXPECT_THAT(f.c.statistics().bytes_read, is_with_read_ahead(field_bytes));
  EXPECT_EQ(f.c.statistics().bytes_written, 3 * field_bytes);
  EXPECT_EQ(f.d.fetch(range(7, 9, 599, 600)), (std::vector<double>{9, 9}));
}

// The inside by one loop, its edges by others, and all of it read after that.
TEST(out_of_core, what_several_loops_write_first_is_not_read) {
  fields f{small_budget(half_a_field)};
  f.fill(f.a, 3);
  f.fill(f.b, 7);
  f.c.execute();
  dataset_core* const temporaries[] = {f.d.core()};
  f.c.begin_cyclic(temporaries);
  const auto before = f.c.statistics();
  const shape left{"left", 2, {{1, 0}}}, right{"right", 2, {{-1, 0}}}, below{"below", 2, {{0, 1}}},
      above{"above", 2, {{0, -1}}}, cross = shape::star(2, 1);
  const auto fill_to = [&](const dataset<double, 2>& to) {
    par_loop(
        "inside", f.grid, range(1, nx - 1, 1, ny - 1), [](auto x, auto y) { y(0, 0) = 2 * x(0, 0); }, read(f.a),
        write(to));
    par_loop(
        "left", f.grid, range(0, 1, 1, ny - 1), [](auto x, auto y) { y(0, 0) = x(1, 0); }, read(to, left), write(to));
    par_loop(
        "right", f.grid, range(nx - 1, nx, 1, ny - 1), [](auto x, auto y) { y(0, 0) = x(-1, 0); }, read(to, right),
        write(to));
  };
  fill_to(f.b);
  par_loop(
      "below", f.grid, range(0, nx, 0, 1), [](auto x, auto y) { y(0, 0) = x(0, 1); }, read(f.b, below), write(f.b));
  par_loop(
      "above", f.grid, range(0, nx, ny - 1, ny), [](auto x, auto y) { y(0, 0) = x(0, -1); }, read(f.b, above),
      write(f.b));
  fill_to(f.d);  // of its corners nothing is written, and nothing read
  par_loop(
      "sum", f.grid, range(1, nx - 1, 2, ny - 2),
      [](auto x, auto y) { y(0, 0) += x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1); }, read(f.d, cross), read_write(f.b));
  f.c.execute();
  EXPECT_THAT(f.c.statistics().bytes_read - before.bytes_read, is_with_read_ahead(field_bytes));
  EXPECT_EQ(f.c.statistics().bytes_written - before.bytes_written, field_bytes);
  EXPECT_EQ(f.b.fetch(range(0, 2, 300, 301)), (std::vector<double>{6, 30}));
  EXPECT_EQ(f.b.fetch(range(nx - 1, nx, ny - 1, ny)), (std::vector<double>{6}));
}

TEST(out_of_core, of_what_is_filled_only_what_is_read_before_is_read) {
  fields f{small_budget(half_a_field)};
  f.fill(f.a, 3);
  f.c.execute();
  const auto before = f.c.statistics();
  par_loop("peek", f.grid, range(0, nx, 590, ny), [](auto x, auto y) { y(0, 0) = x(0, 0) + 1; }, read(f.a), write(f.b));
  f.fill(f.a, 4);
  f.c.execute();
  EXPECT_THAT(f.c.statistics().bytes_read - before.bytes_read, is_with_read_ahead(field_bytes / 60));
  EXPECT_EQ(f.a.fetch(range(0, 1, 595, 596)), (std::vector<double>{4}));
  EXPECT_EQ(f.b.fetch(range(0, 1, 595, 596)), (std::vector<double>{4}));
}

TEST(out_of_core, a_partial_write_keeps_the_rest) {
  fields f{small_budget(half_a_field)};
  f.fill(f.a, 3);
  f.c.execute();
  par_loop("inner", f.grid, range(1, nx, 0, ny), [](auto x) { x(0, 0) = 4; }, write(f.a));
  EXPECT_EQ(f.a.fetch(range(0, 2, 100, 101)), (std::vector<double>{3, 4}));
  par_loop("upper", f.grid, range(0, nx, 300, ny), [](auto x) { x(0, 0) = 5; }, write(f.a));
  EXPECT_EQ(f.a.fetch(range(1, 2, 299, 301)), (std::vector<double>{4, 5}));
}

TEST(out_of_core, cyclic_temporaries_are_not_moved) {
  fields f{small_budget(half_a_field)};
  f.fill(f.a, 3);
  dataset_core* const temporaries[] = {f.b.core()};
  f.c.begin_cyclic(temporaries);
  const auto before = f.c.statistics();
  for (int step = 0; step < 2; ++step) {
    par_loop("half", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0) / 2; }, read(f.a), write(f.b));
    par_loop("back", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { x(0, 0) = y(0, 0) + 1; }, write(f.a), read(f.b));
    f.c.execute();
  }
  EXPECT_THAT(f.c.statistics().bytes_read - before.bytes_read, is_with_read_ahead(2 * field_bytes));
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
    EXPECT_THAT(e.what(), ::testing::AllOf(::testing::HasSubstr("'b'"), ::testing::HasSubstr("'peek'")));
  }
}

TEST(out_of_core, a_budget_too_small_for_one_loop_says_the_least_that_works) {
  const auto run = [](std::uint64_t fast_bytes) {
    fields f{small_budget(fast_bytes)};
    f.fill(f.a, 1);
    par_loop("copy", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(f.a), write(f.b));
    EXPECT_THROW(
        try { f.c.execute(); } catch (const situ::error& e) {
          EXPECT_EQ(e.code(), situ::errc::out_of_memory);
          EXPECT_THAT(e.what(), ::testing::AllOf(::testing::HasSubstr("kernel 'copy' alone needs 8192 bytes"),
                                                 ::testing::HasSubstr("the budget is 8191 bytes"),
                                                 ::testing::HasSubstr("options::fast_bytes (SITU_STENCIL_FAST)")));
          throw;
        },
        situ::error);
    EXPECT_FALSE(f.c.is_queued());
  };
  run(8191);  // a page for each of two fields
  fields f{small_budget(8192)};
  f.fill(f.a, 1);
  par_loop("copy", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(f.a), write(f.b));
  EXPECT_EQ(f.b.fetch(), std::vector<double>(nx * ny, 1.0));
}

TEST(out_of_core, what_fits_stays_in_memory_until_others_need_the_room) {
  fields f{small_budget(2 * field_bytes)};
  const auto five = shape::star(2, 1);
  f.fill(f.a, 1);
  for (int step = 0; step < 3; ++step) {
    par_loop(
        "sum", f.grid, range(1, nx - 1, 1, ny - 1),
        [](auto x, auto y) { y(0, 0) = 0.25 * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1)); }, read(f.a, five),
        write(f.b));
    f.c.execute();
  }
  EXPECT_EQ(f.a.fetch(range(0, 1, 5, 6)), (std::vector<double>{1}));
  EXPECT_EQ(f.c.statistics().bytes_read + f.c.statistics().bytes_written, 0u);
  f.fill(f.d, 5);
  f.c.execute();  // a chain that fits, if the others leave
  EXPECT_EQ(f.c.statistics().bytes_written, 2 * field_bytes - 2 * 4096)
      << "b's first and last layer were never written";
  par_loop(
      "all", f.grid, range(0, nx, 0, ny), [](auto x, auto y, auto z) { z(0, 0) += x(0, 0) + y(0, 0); }, read(f.a),
      read(f.b), read_write(f.d));
  EXPECT_EQ(f.d.fetch(range(0, 2, 5, 6)), (std::vector<double>{6, 7}));
  EXPECT_EQ(f.b.fetch(range(7, 8, 9, 10)), (std::vector<double>{1}));
}

TEST(out_of_core, what_fits_beside_the_rings_of_a_larger_chain_stays) {
  auto o = small_budget(field_bytes + half_a_field);
  o.tile = {0, 20};
  fields f{o};
  f.fill(f.d, 5);
  f.c.execute();  // stays
  for (int step = 0; step < 3; ++step) {
    f.fill(f.a, 2);
    par_loop(
        "double", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = 2 * x(0, 0); }, read(f.a), write(f.b));
    f.c.execute();
    par_loop("more", f.grid, range(0, nx, 0, ny), [](auto x) { x(0, 0) += 1; }, read_write(f.d));
    f.c.execute();
  }
  EXPECT_EQ(f.c.statistics().bytes_read, 0u);
  EXPECT_EQ(f.c.statistics().bytes_written, 3 * 2 * field_bytes) << "a and b";
  EXPECT_EQ(f.d.fetch(range(0, 1, 0, 1)), (std::vector<double>{8}));
}

TEST(out_of_core, the_first_tiles_of_the_next_chain_are_read_ahead) {
  auto o = small_budget(half_a_field);
  const auto store = std::make_shared<memory_store>();
  o.store = store;
  o.tune = false;
  fields f{o};
  f.fill(f.a, 1);
  f.c.execute();
  const auto before = f.c.statistics();
  constexpr int chains = 4;
  for (int step = 0; step < chains; ++step) {
    par_loop("more", f.grid, range(0, nx, 0, ny), [](auto x) { x(0, 0) += 1; }, read_write(f.a));
    f.c.execute();
    EXPECT_EQ(store->started(backing_store::queues - 1), step + 1) << "one dataset, one read or write";
  }
  const auto ahead = f.c.statistics().bytes_read - before.bytes_read - chains * field_bytes;
  EXPECT_GT(ahead, 0u);
  EXPECT_LT(ahead, field_bytes / 3) << "what was read ahead is not read again";
  const auto all = f.a.fetch();
  EXPECT_EQ(std::count(all.begin(), all.end(), 1.0 + chains), nx * ny);
}

// Heat in a cube, 300 steps without a result in between: the skew alone would need all of the data.
std::vector<double> heat(options how, std::int64_t& parts) {
  context c{std::move(how)};
  const block<3> cube{c, "cube"};
  const dataset<double, 3> u{cube, "u", {20, 24, 100}, 1}, v{cube, "v", {20, 24, 100}, 1};
  const auto seven = shape::star(3, 1);
  // lines are as long as layers need, and computed as far as the test does
  const auto inside = range(0, 4, 0, 24, 0, 100);
  par_loop(
      "set", cube, range(-1, 21, -1, 25, -1, 101),
      [](auto x, auto y, const auto& i) { x(0, 0, 0) = i[0] + 2 * i[1] % 7 + i[2] % 3, y(0, 0, 0) = 0; }, write(u),
      write(v), index());
  for (int step = 0; step < 300; ++step) {
    par_loop(
        "step", cube, inside,
        [](auto x, auto y) {
          y(0, 0, 0) = x(0, 0, 0) + 0.1 * (x(1, 0, 0) + x(-1, 0, 0) + x(0, 1, 0) + x(0, -1, 0) + x(0, 0, 1) +
                                           x(0, 0, -1) - 6 * x(0, 0, 0));
        },
        read(step % 2 == 0 ? u : v, seven), write(step % 2 == 0 ? v : u));
  }
  auto all = u.fetch(u.valid());
  parts = c.statistics().last_parts;
  return all;
}

TEST(out_of_core, a_chain_that_does_not_fit_is_cut_into_parts) {
  options plain;
  plain.run_by = executor::plain;
  std::int64_t parts = 0;
  const auto expected = heat(plain, parts);
  const std::uint64_t plane_bytes = 22 * 26 * 8, third = 2 * plane_bytes * 102 / 3, least = 61440;
  for (const auto budget : {third, third / 4, least}) {
    auto o = small_budget(budget);
    o.threads = 1;
    o.store = std::make_shared<memory_store>();
    ASSERT_EQ(heat(o, parts), expected) << budget;
    EXPECT_GT(parts, 1) << budget;
  }
  EXPECT_GT(parts, 100) << "single loops, or nearly";
}

// Parts are read and written once each; cutting a chain once more than needed would show here.
TEST(out_of_core, parts_are_as_long_as_fits) {
  auto o = small_budget(half_a_field);
  o.threads = 1;
  o.store = std::make_shared<memory_store>();
  fields f{o};
  const auto three = shape{"three", 2, {{0, -1}, {0, 0}, {0, 1}}};
  f.fill(f.a, 1);
  f.fill(f.b, 1);
  f.c.execute();
  const auto before = f.c.statistics();
  constexpr int loops = 600;  // of which 150 layers of two fields hold some 140
  for (int n = 0; n < loops; ++n) {
    par_loop(
        "mean", f.grid, range(0, 20, 1, ny - 1), [](auto x, auto y) { y(0, 0) = 0.5 * (x(0, -1) + x(0, 1)); },
        read(n % 2 ? f.b : f.a, three), write(n % 2 ? f.a : f.b));
  }
  f.c.execute();
  const auto parts = f.c.statistics().last_parts;
  EXPECT_GE(parts, 5);
  EXPECT_LE(parts, 8);
  EXPECT_LE(f.c.statistics().bytes_written - before.bytes_written, static_cast<std::uint64_t>(parts) * 2 * field_bytes);
  EXPECT_LE(f.c.statistics().plans_made - before.plans_made, 6u) << "alike parts share a plan";
}

// What a part leaves in a temporary is there for the next one, and only that is moved.
TEST(out_of_core, cyclic_temporaries_are_carried_between_parts_of_a_chain) {
  auto o = small_budget(2 * 4096);  // for loops of two fields
  o.store = std::make_shared<memory_store>();
  fields f{o};
  f.fill(f.a, 3);
  f.c.execute();
  dataset_core* const temporaries[] = {f.b.core(), f.d.core()};
  f.c.begin_cyclic(temporaries);
  for (int step = 0; step < 3; ++step) {
    const auto before = f.c.statistics();
    par_loop("half", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0) / 2; }, read(f.a), write(f.b));
    par_loop(
        "back", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { x(0, 0) += y(0, 0) + 1; }, read_write(f.a),
        read(f.b));
    par_loop("trace", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(f.a), write(f.d));
    f.c.execute();
    EXPECT_EQ(f.c.statistics().last_parts, 3);
    EXPECT_EQ(f.c.statistics().bytes_written - before.bytes_written, 2 * field_bytes) << "b once, a once, d never";
    EXPECT_EQ(f.c.statistics().bytes_read - before.bytes_read, 4 * field_bytes) << "a three times, b once";
  }
  EXPECT_EQ(f.a.fetch(range(0, 1, 0, 1)), (std::vector<double>{3 * 3.375 + 4.75}));
}

// Whatever write fails: the data is that of the chains before, small datasets in memory included, and the program goes
// on. In one part, in many, and where the chains before have left the data in memory.
// The budget, time steps of the chain, and in how many parts it runs at least: grids of other dimensions make a second
// one.
struct failing_chains : ::testing::TestWithParam<std::tuple<std::uint64_t, int, int>> {};

TEST_P(failing_chains, change_nothing) {
  const auto [budget, steps, parts] = GetParam();
  auto o = small_budget(budget);
  const auto store = std::make_shared<memory_store>();
  o.store = store;
  o.threads = 1;
  o.resident_bytes = 10000;
  context c{o};
  const block<2> grid{c, "grid"};
  const block<3> cube{c, "cube"};
  const dataset<double, 2> u{grid, "u", {500, 60}}, v{grid, "v", {500, 60}}, small{grid, "small", {500, 1}};
  const dataset<double, 3> w{cube, "w", {50, 10, 30}};
  ASSERT_EQ(small.core()->memory != nullptr, true);
  const auto three = shape{"three", 2, {{0, -1}, {0, 0}, {0, 1}}};
  const auto flat = shape{"flat", 2, {{0, 0}}, {1, 0, 1, 1, 1}};
  const auto more = [&] { par_loop("more", grid, range(0, 500, 0, 60), [](auto x) { x(0, 0) += 1; }, read_write(v)); };
  const auto chain = [&] {
    for (int n = 0; n < steps; ++n) {
      par_loop(
          "ahead", grid, range(0, 500, 1, 59), [](auto x, auto y) { y(0, 0) += x(0, -1) + 2 * x(0, 0) - x(0, 1); },
          read(u, three), read_write(v));
      par_loop("back", grid, range(0, 500, 1, 59), [](auto x, auto y) { x(0, 0) += y(0, 0); }, read_write(u), read(v));
    }
    par_loop(
        "trace", grid, range(0, 500, 0, 60), [](auto x, auto y) { y(0, 0) += x(0, 0); }, read(u),
        increment(small, flat));
    par_loop("aside", cube, range(0, 50, 0, 10, 0, 30), [](auto x) { x(0, 0, 0) += 1; }, read_write(w));
    c.execute();
  };
  par_loop(
      "start", grid, range(0, 500, 0, 60),
      [](auto x, auto y, const auto& i) { x(0, 0) = i[0] * 3 + i[1] * i[1], y(0, 0) = 1; }, write(u), write(v),
      index());
  chain();
  int failures = 0;
  int at = 0;
  for (bool completed = false; !completed; ++failures, at += 1 + at / 8) {
    ASSERT_LT(at, 10000);
    for (int n = 0; n < 2; ++n, c.execute()) more();  // if v fits, it is changed in memory only, by the second
    const auto before = std::tuple{u.fetch(), v.fetch(), small.fetch(), w.fetch()};
    store->fail_at_write(at);
    try {
      chain();
      completed = true;
      EXPECT_NE((std::tuple{u.fetch(), v.fetch(), small.fetch(), w.fetch()}), before);
    } catch (const situ::error& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr("4711"));
      EXPECT_EQ((std::tuple{u.fetch(), v.fetch(), small.fetch(), w.fetch()}), before) << at;
    }
    store->fail_at_write(-1);
  }
  EXPECT_GT(failures, 10);
  EXPECT_GE(c.statistics().last_parts, parts);
  store->fail_at_write(0);
  const auto before = u.fetch();
  EXPECT_THROW(u.store(range(0, 500, 0, 60), std::vector<double>(500 * 60, 1.0)), situ::error);
  EXPECT_EQ(u.fetch(), before);
  store->fail_at_write(-1);
  chain();
}

INSTANTIATE_TEST_SUITE_P(out_of_core, failing_chains,
                         ::testing::Values(std::tuple{64u << 10, 1, 2}, std::tuple{64u << 10, 20, 7},
                                           std::tuple{36u << 10, 4, 6}, std::tuple{300u << 10, 60, 4}));

// The limit cuts one request short and refuses the rest, as a disk does that is full. It sends no signal.
TEST(out_of_core, a_full_disk_is_an_error_with_the_offset_and_the_data_stays) {
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  fields f{small_budget(half_a_field)};
  f.fill(f.a, 3);
  f.c.execute();
  const rlimit tight{40 * 4096, old.rlim_max};  // the file's first version of a has 40 layers; the second is current
  setrlimit(RLIMIT_FSIZE, &tight);
  f.fill(f.a, 4);
  std::string what;
  try {
    f.c.execute();
  } catch (const situ::error& e) {
    what = e.what();
  }
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_THAT(what,
              ::testing::AllOf(::testing::HasSubstr("cannot be written at offset " + std::to_string(tight.rlim_cur)),
                               ::testing::HasSubstr("(ulimit -f)")));
  EXPECT_EQ(f.a.fetch(), std::vector<double>(nx * ny, 3.0));
  f.fill(f.a, 4);
  EXPECT_EQ(f.a.fetch(), std::vector<double>(nx * ny, 4.0));
}

TEST(out_of_core, a_limit_on_the_size_of_files_refuses_what_is_longer) {
  const auto store = make_file_store("");
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit tight{1 << 20, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  std::string what;
  try {
    (void)store->allocate(2 << 20);
  } catch (const situ::error& e) {
    what = e.what();
  }
  EXPECT_EQ(store->allocate(1 << 20), 0u);
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_THAT(what, ::testing::AllOf(::testing::HasSubstr("cannot grow to 2097152 bytes"),
                                     ::testing::HasSubstr("is 1 MiB; raise it (ulimit -f)")));
}

// In bytes, from the process's status; 0 where the system does not tell.
std::uint64_t memory_status(const std::string& key) {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == key && status >> kib) return kib << 10;
  }
  return 0;
}

TEST(out_of_core, memory_in_use_does_not_grow_with_the_data) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer's shadow memory would be counted, too";
#endif
  constexpr int x = 250, y = 256, z = 64;
  constexpr std::uint64_t mib = 1 << 20, budget = 8 * mib;
  fields f{small_budget(budget)};
  const block<3> cube{f.c, "cube"};
  const dataset<double, 3> u{cube, "u", {x, y, z}}, v{cube, "v", {x, y, z}}, w{cube, "w", {x, y, z}};
  if (!(std::ofstream{"/proc/self/clear_refs"} << 5 << std::flush) || memory_status("VmHWM:") == 0)
    GTEST_SKIP() << "the system does not count";
  const auto before = memory_status("VmRSS:");
  par_loop(
      "start", cube, range(0, x, 0, y, 0, z),
      [](auto a, auto b, const auto& i) { a(0, 0, 0) = i[2], b(0, 0, 0) = i[0]; }, write(u), write(v), index());
  f.c.execute();
  const reduction<double> total{f.c, "total"};
  for (int step = 0; step < 2; ++step) {
    par_loop(
        "add", cube, range(0, x, 0, y, 0, z), [](auto a, auto b, auto c) { c(0, 0, 0) = a(0, 0, 0) + b(0, 0, 0); },
        read(u), read(v), write(w));
    par_loop("total", cube, range(0, x, 0, y, 0, z), [](auto c, double& s) { s += c(0, 0, 0); }, read(w), sum(total));
    EXPECT_EQ(total.value(), x * y * (z * (z - 1) / 2.0) + y * z * (x * (x - 1) / 2.0));
  }
  const auto data = u.core()->bytes + v.core()->bytes + w.core()->bytes;
  const auto grown = memory_status("VmHWM:") - before;
  EXPECT_GT(data, 11 * budget);
  EXPECT_LT(grown, 2 * budget + 8 * mib)
      << "rings are mapped, and counted, twice; beside them queues of requests and the heap";
}

TEST(out_of_core, memory_of_a_node_backs_as_well) {
  auto o = small_budget(half_a_field);
  o.store = make_memory_store(situ::memory_kind::of_node(0));
  fields f{o};
  f.fill(f.a, 3);
  for (int step = 0; step < 3; ++step) {
    par_loop("half", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0) / 2; }, read(f.a), write(f.b));
    par_loop("back", f.grid, range(0, nx, 0, ny), [](auto x, auto y) { x(0, 0) = y(0, 0) + 1; }, write(f.a), read(f.b));
    f.c.execute();
  }
  EXPECT_EQ(f.a.fetch(), std::vector<double>(nx * ny, 2.125));
  EXPECT_GT(f.c.statistics().last_tiles, 3);
  std::ostringstream report;
  f.c.report(report);
  EXPECT_THAT(report.str(), ::testing::HasSubstr("memory of NUMA node 0"));
}

TEST(out_of_core, a_node_that_is_not_there_is_named) {
  try {
    (void)make_memory_store(situ::memory_kind::of_node(1000));
    FAIL();
  } catch (const situ::error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("NUMA node 1000"));
  }
}

TEST(out_of_core, lines_and_narrow_grids_have_layers_of_many_points) {
  constexpr int n = 300000, rows = 20000;
  context c{small_budget(1 << 20)};
  const block<1> line{c, "line"};
  const block<2> strip{c, "strip"};
  const dataset<double, 1> u{line, "u", {n}, 1}, v{line, "v", {n}, 1};
  const dataset<double, 2> narrow{strip, "narrow", {10, rows}};
  EXPECT_TRUE(u.core()->in_file && narrow.core()->in_file);
  EXPECT_LT(u.core()->bytes, 8ull * (n + 1000));
  EXPECT_LT(narrow.core()->bytes, 130ull * rows);
  par_loop(
      "start", line, range(-1, n + 1), [](auto x, auto y, const auto& i) { x(0) = i[0], y(0) = i[0]; }, write(u),
      write(v), index());
  for (int sweep = 0; sweep < 4; ++sweep) {  // what is linear stays so
    par_loop(
        "mean", line, range(0, n), [](auto x, auto y) { y(0) = 0.5 * (x(1) + x(-1)); },
        read(sweep % 2 ? v : u, shape::star(1, 1)), write(sweep % 2 ? u : v));
  }
  const auto got = u.fetch();
  EXPECT_GT(c.statistics().last_tiles, 5);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += got[static_cast<std::size_t>(i)] != i ? 1 : 0;
  EXPECT_EQ(wrong, 0);
  for (int step = 0; step < 2; ++step) {
    par_loop(
        "add", strip, range(0, 10, 3, rows), [](auto x, const auto& i) { x(0, 0) += i[1]; }, read_write(narrow),
        index());
    c.execute();
  }
  EXPECT_EQ(narrow.fetch(range(9, 10, 2, 5)), (std::vector<double>{0, 6, 8}));
}

TEST(out_of_core, a_directory_that_is_not_there_is_named) {
  auto o = small_budget(field_bytes);
  o.directory = "/nonexistent/situ";
  try {
    const context c{o};
    FAIL();
  } catch (const situ::error& e) {
    EXPECT_EQ(e.code(), situ::errc::bad_file);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("/nonexistent/situ"));
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
