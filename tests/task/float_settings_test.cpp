// Units compute with the floating-point settings that their thread had when it added them, on whichever thread and at
// whichever place they run; and so do those that combine a reduction.
#include <situ/task/place_graph.h>
#include <situ/task/task_graph.h>

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "support/float_modes.h"
#include "support/places.h"

namespace situ {
namespace {

using test::all_float_modes;
using test::compute_floats;
using test::computing_as;
using test::float_mode;
using test::float_results;

class float_settings_on : public testing::TestWithParam<std::uint32_t> {
 protected:
  task_graph graph_{{.threads = GetParam(), .window = 64}};
};
INSTANTIATE_TEST_SUITE_P(threads, float_settings_on, testing::Values(1, 2, 4), testing::PrintToStringParamName());

TEST_P(float_settings_on, units_have_those_of_when_they_were_added) {
  constexpr std::size_t units = 40;  // of each mode
  const std::vector<float_mode> modes = all_float_modes();
  std::vector<float_results> expected(modes.size());
  std::vector<std::array<float_results, units>> found(modes.size());
  const float_results usual = compute_floats();
  for (std::size_t m = 0; m < modes.size(); ++m) {
    const computing_as mode{modes[m]};
    expected[m] = compute_floats();
    for (float_results& each : found[m])
      graph_.add({writes(each)}, [&each] {
        each = compute_floats();
        std::fesetround(FE_TOWARDZERO);  // ends with the unit
      });
    EXPECT_EQ(compute_floats(), expected[m]);  // though a unit may have run here
  }
  graph_.wait();
  EXPECT_EQ(compute_floats(), usual);
  for (std::size_t m = 0; m < modes.size(); ++m)
    for (const float_results& each : found[m]) EXPECT_EQ(each, expected[m]) << modes[m];
}

// Of the units all run on other threads, so that one thread alone cannot pass.
TEST(float_settings, units_on_other_threads_have_them) {
  task_graph graph{{.threads = 2}};
  const computing_as mode{{true, FE_UPWARD}};
  std::atomic<bool> has_run{false};
  float_results found;
  std::thread::id by;
  graph.add({writes(found)}, [&] {
    found = compute_floats();
    by = std::this_thread::get_id();
    has_run.store(true);
  });
  while (!has_run.load()) std::this_thread::yield();
  graph.wait();
  EXPECT_NE(by, std::this_thread::get_id());
  EXPECT_EQ(found, compute_floats());
}

TEST_P(float_settings_on, a_reduction_is_combined_with_those_of_its_units) {
  std::vector<double> expected, found;
  for (const float_mode& each : all_float_modes()) {
    double sum = 0, in_order = 0;
    {
      const computing_as mode{each};
      for (int i = 1; i <= 100; ++i) {
        in_order += 1.0 / i;
        graph_.reduce(sum, {}, [i](double& part) { part = 1.0 / i; });
      }
    }
    graph_.wait();  // as usual
    expected.push_back(in_order);
    found.push_back(sum);
  }
  EXPECT_EQ(found, expected);
}

class place_graph_float_settings : public test::on_places {};

TEST_P(place_graph_float_settings, units_have_those_of_who_adds_them_at_every_place) {
  run([] {
    const ptr<float_results> mine = allocate<float_results>(8);
    const auto all = all_gather(mine);
    if (here().index() == 0) {
      place_graph graph{{.at_once = 2}};
      const std::vector<float_mode> modes = all_float_modes();
      std::vector<float_results> expected;
      for (std::size_t m = 0; m < modes.size(); ++m) {
        const computing_as mode{modes[m]};
        expected.push_back(compute_floats());
        for (const ptr<float_results> each : all)
          graph.add(
              {writes(region(each + static_cast<std::ptrdiff_t>(m), 1))},
              [](ptr<float_results> to) { *to.local() = compute_floats(); }, each + static_cast<std::ptrdiff_t>(m));
      }
      graph.wait();
      for (const ptr<float_results> each : all)
        for (std::size_t m = 0; m < modes.size(); ++m)
          EXPECT_EQ(get(each + static_cast<std::ptrdiff_t>(m)), expected[m]) << modes[m];
    }
    barrier();
    deallocate(mine);
  });
}
INSTANTIATE_TEST_SUITE_P(layouts, place_graph_float_settings, testing::ValuesIn(test::all_layouts()),
                         test::layout_name);

}  // namespace
}  // namespace situ
