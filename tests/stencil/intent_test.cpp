// Stencils in memory of every kind, by intent above all. Two memories with budgets stand for two kinds:
// tests/memory/orderings.toml has 8 MiB "fast" and 16 MiB "slow"; bandwidth takes both, capacity half of "slow" and
// then what is left.
#include <situ/base/error.h>
#include <situ/stencil/stencil.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/memory_kinds.h"

namespace situ::stencil {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int nx = 512, ny = 512;  // 2 MiB a field, and some

options how(executor e) {
  options o;
  o.run_by = e;
  o.threads = 2;
  o.small_points = 0;
  o.resident_bytes = 0;
  return o;
}

options in_fast_memory(options o, intent what = intent::bandwidth) {
  o.memory = what;
  return o;
}

std::vector<double> diffuse(const options& o) {
  context c{o};
  const block<2> grid{c, "grid"};
  const dataset<double, 2> u{grid, "u", {nx, ny}, 1}, v{grid, "v", {nx, ny}, 1};
  par_loop(
      "start", grid, range(-1, nx + 1, -1, ny + 1), [](auto x, const auto& i) { x(0, 0) = i[0] % 7 + i[1] % 5; },
      write(u), index());
  for (int step = 0; step < 4; ++step) {
    par_loop(
        "average", grid, range(0, nx, 0, ny),
        [](auto x, auto y) { y(0, 0) = 0.25 * (x(1, 0) + x(-1, 0) + x(0, 1) + x(0, -1)); }, read(u, shape::star(2, 1)),
        write(v));
    par_loop("copy", grid, range(0, nx, 0, ny), [](auto x, auto y) { y(0, 0) = x(0, 0); }, read(v), write(u));
  }
  return u.fetch();
}

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::out_of_memory);
    return e.what();
  }
  return "";
}

TEST(intent, the_bits_are_the_same) {
  const std::vector<double> expected = diffuse(how(executor::plain));
  EXPECT_EQ(diffuse(in_fast_memory(how(executor::plain))), expected);
  EXPECT_EQ(diffuse(in_fast_memory(how(executor::tiled))), expected);
  options o = in_fast_memory(how(executor::out_of_core));
  o.fast_bytes = std::uint64_t{3} << 20;
  o.store = make_memory_store(intent::capacity);
  EXPECT_EQ(diffuse(o), expected);
}

TEST(kinds, the_bits_are_the_same_in_memory_of_every_kind) {
  const std::vector<double> expected = diffuse(how(executor::plain));
  const test::kinds_of_memory kinds{std::size_t{32} << 20};
  auto all = kinds.files(16);
  all.push_back(memory_kind::of_node(0));
  for (const memory_kind& kind : all) {
    options o = how(executor::tiled);
    o.memory = kind;
    EXPECT_EQ(diffuse(o), expected) << kind.path;
    o = how(executor::out_of_core);  // slots of that kind, rings of whole units; a device serves both
    o.memory = kind;
    o.fast_bytes = std::uint64_t{3} << 20;
    o.store = make_memory_store(kind);
    EXPECT_EQ(diffuse(o), expected) << kind.path;
  }
}

TEST(kinds, a_dataset_that_a_device_has_no_room_for_is_refused) {
  const test::kinds_of_memory kinds{std::size_t{8} << 20};
  options o = how(executor::plain);
  o.memory = kinds.device();
  context c{o};
  const block<2> grid{c, "grid"};
  const dataset<double, 2> kept{grid, "kept", {512, 1000}};
  EXPECT_THAT(message_of([&] { const dataset<double, 2> large{grid, "large", {1024, 1000}}; }),
              AllOf(HasSubstr("dataset 'large'"), HasSubstr("memory of a device")));
  par_loop("fill", grid, range(0, 512, 0, 1000), [](auto x) { x(0, 0) = 2; }, write(kept));
  EXPECT_EQ(kept.fetch(range(0, 2, 0, 1)), (std::vector<double>{2, 2}));
}

TEST(intent, datasets_that_no_memory_has_room_for_are_refused_and_the_rest_goes_on) {
  for (int round = 0; round < 3; ++round) {  // what a context took is there for the next
    context c{in_fast_memory(how(executor::plain))};
    const block<2> grid{c, "grid"};
    const dataset<double, 2> kept{grid, "kept", {1024, 2048}};
    const std::string said = message_of([&] { const dataset<double, 2> large{grid, "large", {1024, 2048}}; });
    EXPECT_THAT(said, AllOf(HasSubstr("dataset 'large'"), HasSubstr("bandwidth memory (fast > slow"),
                            HasSubstr("threshold"), HasSubstr("situ order set")));
    const dataset<double, 2> small{grid, "small", {256, 1024}};
    par_loop("fill", grid, range(0, 256, 0, 1024), [](auto x) { x(0, 0) = 2; }, write(small));
    EXPECT_EQ(small.fetch(), std::vector<double>(256 * 1024, 2.0));
  }
}

TEST(intent, a_store_that_is_full_refuses_datasets) {
  options o = how(executor::out_of_core);
  o.fast_bytes = std::uint64_t{4} << 20;
  o.store = make_memory_store(intent::bandwidth);
  context c{o};
  const block<2> grid{c, "grid"};
  const dataset<double, 2> first{grid, "first", {1024, 2000}};  // 16 MiB of 24
  EXPECT_THAT(message_of([&] { const dataset<double, 2> second{grid, "second", {1024, 2000}}; }),
              AllOf(HasSubstr("a store of datasets"), HasSubstr("bandwidth memory")));
  par_loop("fill", grid, range(0, 1024, 0, 2000), [](auto x) { x(0, 0) = 3; }, write(first));
  EXPECT_EQ(first.fetch(range(0, 2, 0, 1)), (std::vector<double>{3, 3}));
  std::ostringstream report;
  c.report(report);
  EXPECT_THAT(report.str(), HasSubstr("bandwidth memory (fast > slow"));
}

TEST(intent, slots_that_no_memory_has_room_for_leave_the_data) {
  options o = in_fast_memory(how(executor::out_of_core));
  o.fast_bytes = std::uint64_t{64} << 20;  // more than the 24 MiB there are
  context c{o};
  const block<2> grid{c, "grid"};
  const dataset<double, 2> u{grid, "u", {1024, 1200}}, v{grid, "v", {1024, 1200}}, w{grid, "w", {1024, 1200}};
  par_loop("u", grid, range(0, 1024, 0, 1200), [](auto x) { x(0, 0) = 1; }, write(u));
  c.execute();
  par_loop(
      "all", grid, range(0, 1024, 0, 1200), [](auto x, auto y, auto z) { x(0, 0) = 5, y(0, 0) = 6, z(0, 0) = 7; },
      write(u), write(v), write(w));
  EXPECT_THAT(message_of([&] { c.execute(); }), HasSubstr("bandwidth memory"));
  EXPECT_EQ(u.fetch(range(7, 9, 1199, 1200)), (std::vector<double>{1, 1}));
}

TEST(intent, pages_may_wait_for_their_first_touch) {
  options o = in_fast_memory(how(executor::tiled));
  o.memory_populate = false;
  context c{o};
  const block<2> grid{c, "grid"};
  const dataset<double, 2> u{grid, "u", {1024, 1200}};
  par_loop("u", grid, range(0, 1024, 0, 1200), [](auto x) { x(0, 0) = 1; }, write(u));
  c.execute();
  EXPECT_EQ(u.fetch(range(7, 9, 1199, 1200)), (std::vector<double>{1, 1}));
  EXPECT_THAT(message_of([&] { const dataset<double, 2> more{grid, "more", {4096, 1200}}; }),
              HasSubstr("bandwidth memory"))
      << "what is promised is used";
}

TEST(intent, the_environment_says_it) {
  ::setenv("SITU_STENCIL_POPULATE", "0", 1);
  EXPECT_FALSE(options::from_environment().memory_populate);
  ::unsetenv("SITU_STENCIL_POPULATE");
  ::setenv("SITU_STENCIL_MEMORY", "intent:capacity", 1);
  ::setenv("SITU_STENCIL_STORE", "intent:bandwidth", 1);
  const options o = options::from_environment();
  EXPECT_EQ(o.memory, memory_kind{intent::capacity});
  EXPECT_THAT(o.store->description(), HasSubstr("bandwidth memory"));
  for (const auto& [variable, text] : {std::pair{"SITU_STENCIL_MEMORY", "intent:Fast!"},
                                       {"SITU_STENCIL_INTENT", "bandwidth"},
                                       {"SITU_STENCIL_STORE", "intent:"},
                                       {"SITU_STENCIL_STORE", "file:/no/such/name"},
                                       {"SITU_STENCIL_STORE", "disk"}}) {
    ::setenv(variable, text, 1);
    try {
      (void)options::from_environment();
      ADD_FAILURE() << variable << " " << text;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::bad_argument);
      EXPECT_THAT(e.what(), HasSubstr(variable));
    }
    ::unsetenv(variable);
  }
  ::unsetenv("SITU_STENCIL_STORE");
}

}  // namespace
}  // namespace situ::stencil
