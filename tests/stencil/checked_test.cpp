// Checked mode: compiled with SITU_STENCIL_CHECKED=1. Each lie of a loop is told by kernel, argument, offset and point.
#include <situ/base/error.h>
#include <situ/stencil/stencil.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace situ::stencil;

struct checked : testing::Test {
  context c{{.run_by = executor::tiled, .threads = 2, .small_points = 0, .tile = {0, 2}}};
  block<2> grid{c, "grid"};
  dataset<double, 2> u{grid, "u", {6, 5}, 1}, v{grid, "v", {6, 5}, 1, 2};
  shape right{"right", 2, {{0, 0}, {1, 0}}};

  std::string failure() {
    try {
      c.execute();
    } catch (const situ::error& e) {
      return std::string{e.message()};
    }
    return "";
  }
};

TEST_F(checked, what_keeps_to_its_declaration_runs) {
  const reduction<double> total{c, "total"};
  par_loop("fill", grid, range(-1, 7, -1, 6), [](auto x) { x(0, 0) = 2; }, write(u));
  par_loop(
      "both", grid, range(0, 6, 0, 5),
      [](auto x, auto y) {
        y.at(1, 0, 0) = x(0, 0) + x(1, 0);
        y(0, 0) = y.at(1, 0, 0);  // its own value, just written
        y(0, 0) *= 2;
      },
      read(u, right), write(v));
  par_loop("add", grid, range(0, 6, 0, 5), [](auto x, double& s) { s += x.at(0, 0, 0); }, read(v), sum(total));
  EXPECT_EQ(total.value(), 30 * 8);
}

TEST_F(checked, an_offset_that_is_not_in_the_stencil) {
  par_loop("lean", grid, range(4, 5, 2, 3), [](auto x, auto y) { y(0, 0) = x(0, 1); }, read(u, right), write(v));
  EXPECT_EQ(failure(),
            "kernel 'lean', argument 0 (dataset 'u'), component 0: offset (0, 1) at point (4, 2) is not a point of "
            "stencil 'right'");
  EXPECT_EQ(failure(), "") << "the queue is empty after a failure";
}

TEST_F(checked, reading_what_is_to_be_written) {
  par_loop("early", grid, range(0, 1, 0, 1), [](auto x) { x(0, 0) = x(0, 0) + 1; }, write(u));
  EXPECT_THAT(failure(),
              testing::HasSubstr("offset (0, 0) at point (0, 0) is read before it is written, but declared 'write'"));
}

TEST_F(checked, reading_what_is_incremented) {
  par_loop("sum", grid, range(0, 1, 0, 1), [](auto x) { x(0, 0) += 1; }, increment(u));
  EXPECT_EQ(failure(), "");
  par_loop("sum", grid, range(0, 1, 0, 1), [](auto x) { x(0, 0) = 2 * x(0, 0); }, increment(u));
  EXPECT_THAT(failure(), testing::HasSubstr("is read, but declared 'increment'"));
}

TEST_F(checked, a_broken_chain_leaves_no_partial_sums) {
  const reduction<double> total{c, "total"};
  par_loop("ones", grid, range(0, 6, 0, 5), [](double& s) { s += 1; }, sum(total));
  par_loop("early", grid, range(0, 1, 0, 1), [](auto x) { x(0, 0) = x(0, 0) + 1; }, write(u));
  EXPECT_NE(failure(), "");
  EXPECT_EQ(total.value(), 0);
  par_loop("ones", grid, range(0, 6, 0, 5), [](double& s) { s += 1; }, sum(total));
  EXPECT_EQ(total.value(), 30);
}

TEST_F(checked, a_component_that_does_not_exist) {
  par_loop("third", grid, range(0, 1, 0, 1), [](auto x) { x.at(2, 0, 0) = 1; }, write(v));
  EXPECT_THAT(failure(), testing::HasSubstr("component 2: offset (0, 0) at point (0, 0) has no such component of 2"));
}

TEST_F(checked, what_is_declared_written_and_is_not) {
  par_loop(
      "some", grid, range(0, 6, 0, 5),
      [](auto x, const auto& at) {
        if (at[0] != 5) x(0, 0) = 1;
      },
      write(u), index());
  EXPECT_EQ(failure(),
            "kernel 'some', argument 0 (dataset 'u'), component 0: offset (0, 0) at point (5, 0) is not written, but "
            "declared 'write'");
  par_loop("one", grid, range(0, 1, 0, 1), [](auto x) { x.at(0, 0, 0) = 1; }, write(v));
  EXPECT_THAT(
      failure(),
      testing::HasSubstr(
          "argument 0 (dataset 'v'), component 1: offset (0, 0) at point (0, 0) is not written, but declared 'write'"));
  par_loop("gaps", grid, range(0, 5, 0, 5), [](auto x) { x(1, 0) = 1; }, write(u, right));
  EXPECT_EQ(failure(), "") << "at several points gaps are possible, and taken into account";
}

// Temporaries that are none: told by every executor, whether they lie in memory or in a store.
struct temporaries : testing::TestWithParam<std::pair<executor, std::uint64_t>> {
  static options how() {
    options o;
    o.run_by = GetParam().first;
    o.resident_bytes = GetParam().second;
    o.fast_bytes = 1 << 20;
    o.threads = 1;
    return o;
  }
  context c{how()};
  block<1> line{c, "line"};
  dataset<double, 1> u{line, "u", {6}, 1}, t{line, "t", {6}, 1};
  shape two{"two", 1, {{0}, {1}}};

  void begin() {
    dataset_core* const all[] = {t.core()};
    c.begin_cyclic(all);
  }
  void half() {
    par_loop("half", line, range(0, 6), [](auto x, auto y) { y(0) = x(0) / 2; }, read(u), write(t));
  }
  void back() {
    par_loop("back", line, range(0, 6), [](auto x, auto y) { y(0) = x(0) + 1; }, read(t), write(u));
  }
  template <class F>
  static std::string failure(const F& f) {
    try {
      f();
    } catch (const situ::error& e) {
      EXPECT_EQ(e.code(), situ::errc::bad_argument);
      return std::string{e.message()};
    }
    return "";
  }
};

TEST_P(temporaries, that_are_read_first_are_refused_each_time) {
  half(), back(), c.execute();
  back(), c.execute();  // no temporary yet
  begin();
  half(), back(), c.execute();
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_THAT(failure([&] { back(), c.execute(); }),
                testing::AllOf(testing::HasSubstr("'t'"), testing::HasSubstr("kernel 'back' reads")))
        << repeat;
  }
  half(), back(), c.execute();
}

TEST_P(temporaries, that_are_read_beyond_what_was_written_are_refused) {
  begin();
  half();
  par_loop("lean", line, range(0, 6), [](auto x, auto y) { y(0) = x(0) + x(1); }, read(t, two), write(u));
  EXPECT_THAT(failure([&] { c.execute(); }), testing::HasSubstr("kernel 'lean' reads"))
      << "point 6 is a ghost that nobody wrote";
}

TEST_P(temporaries, cannot_be_fetched_or_stored) {
  begin();
  half(), back();
  EXPECT_THAT(failure([&] { (void)t.fetch(); }), testing::HasSubstr("'t' was declared a cyclic temporary"));
  EXPECT_THAT(failure([&] { t.store(t.inner(), std::vector<double>(6)); }),
              testing::HasSubstr("'t' was declared a cyclic temporary"));
  EXPECT_EQ(u.fetch(), std::vector<double>(6, 1));
}

TEST_P(temporaries, of_another_context_are_refused) {
  context other{how()};
  dataset_core* const all[] = {t.core()};
  EXPECT_THAT(failure([&] { other.begin_cyclic(all); }), testing::HasSubstr("dataset 't' is of another context"));
}

INSTANTIATE_TEST_SUITE_P(executors, temporaries,
                         testing::Values(std::pair{executor::plain, 0}, std::pair{executor::tiled, 0},
                                         std::pair{executor::out_of_core, 0},
                                         std::pair{executor::out_of_core, 1 << 20}));

}  // namespace
