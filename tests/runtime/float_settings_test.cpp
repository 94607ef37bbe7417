// With whose floating-point settings the code of a place runs: calls with their caller's, tasks with those of who
// started them, handlers with main's, and code that waits with its own.
#include <situ/runtime/place_threads.h>
#include <situ/runtime/serve.h>

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

class float_settings : public test::on_places {};

place next_place() { return place{(here().index() + 1) % place_count()}; }

TEST_P(float_settings, a_call_has_its_callers) {
  run([] {
    const float_results usual = compute_floats();
    for (const float_mode& each : all_float_modes()) {
      const computing_as mode{each};
      const float_results expected = compute_floats();
      for (const place p : places()) {
        EXPECT_EQ(at(p, compute_floats), expected) << each;
        EXPECT_EQ(async_at(p, compute_floats).get(), expected) << each;
      }
      // Through another place, and back.
      EXPECT_EQ(at(next_place(), [](place back) { return at(back, compute_floats); }, here()), expected) << each;
      EXPECT_EQ(compute_floats(), expected) << each;
      barrier();  // others are called in this mode, and in the next
    }
    EXPECT_EQ(compute_floats(), usual);
    barrier();
  });
}

TEST_P(float_settings, what_a_call_sets_ends_with_it_and_outlasts_its_waits) {
  run([] {
    const auto set_and_wait = [](place next) {
      std::fesetround(FE_UPWARD);
      const float_results before = compute_floats();
      (void)at(next, [] { return 0; });
      (void)async([] { return compute_floats(); }).get();
      return before == compute_floats();
    };
    const float_results usual = compute_floats();
    std::vector<future<bool>> sets;
    std::vector<future<float_results>> others;
    for (int i = 0; i < 20; ++i) {
      sets.push_back(async_at(next_place(), set_and_wait, here()));
      others.push_back(async_at(next_place(), compute_floats));
    }
    for (const auto& each : sets) EXPECT_TRUE(each.get());
    for (const auto& each : others) EXPECT_EQ(each.get(), usual);
    EXPECT_EQ(compute_floats(), usual);
    barrier();
  });
}

TEST_P(float_settings, a_task_has_those_of_who_starts_it) {
  run([] {
    const std::vector<float_mode> modes = all_float_modes();
    std::vector<float_results> expected;
    std::vector<future<float_results>> found, nested, on_stacks;
    for (int repeat = 0; repeat < 20; ++repeat) {
      for (const float_mode& each : modes) {
        const computing_as mode{each};
        expected.push_back(compute_floats());
        found.push_back(async(compute_floats));
        nested.push_back(async([] { return async([] { return compute_floats(); }); }));
        if (repeat == 0)
          on_stacks.push_back(async(with_stack(std::uint64_t{1} << 20), [] { return compute_floats(); }));
        else if (repeat == 1)
          std::fesetround(FE_TOWARDZERO);
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].get(), expected[i]) << modes[i % modes.size()];
      EXPECT_EQ(nested[i].get(), expected[i]) << modes[i % modes.size()];
    }
    for (std::size_t i = 0; i < on_stacks.size(); ++i) EXPECT_EQ(on_stacks[i].get(), expected[i]) << modes[i];
    barrier();
  });
}

thread_local float_results handled;
void note_results(am::token&) { handled = compute_floats(); }

TEST_P(float_settings, a_handler_has_mains) {
  run([] {
    for (const float_mode& each : all_float_modes()) {
      const computing_as mode{each};
      handled = {};
      barrier();
      am::request_short<note_results>(next_place());
      // Of a task that computes otherwise, and polls.
      async([] {
        std::fesetround(FE_TOWARDZERO);
        while (handled == float_results{}) progress();
      }).get();
      EXPECT_EQ(handled, compute_floats()) << each;
      barrier();
    }
  });
}

TEST_P(float_settings, other_threads_of_a_place_keep_theirs) {
  run([] {
    for (const float_mode& each : all_float_modes()) {
      const computing_as mode{each};
      const float_results expected = compute_floats();
      float_results computed;
      serve_while([&] { computed = compute_floats(); });
      EXPECT_EQ(computed, expected) << each;
      place_threads threads;
      float_results of_thread, handed_over;
      threads.start([&] {
        of_thread = compute_floats();
        const computing_as other{{true, FE_DOWNWARD}};
        handed_over = threads.run([] { return compute_floats(); });
      });
      threads.join();
      EXPECT_EQ(of_thread, expected) << each;
      const computing_as other{{true, FE_DOWNWARD}};
      EXPECT_EQ(handed_over, compute_floats());
    }
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, float_settings, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
