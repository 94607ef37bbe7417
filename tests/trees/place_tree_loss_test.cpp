// What a place tree does when units fail, or their places are lost: nothing that they use goes while they run, and
// wait() tells.
#include <situ/trees/place_tree.h>

#include <situ/base/error.h>
#include <situ/trees/placed_array.h>

#include "support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace situ {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using word = std::uint64_t;

TEST(place_tree_loss, what_units_throw_outlives_their_arrays) {
  place_tree tree = place_tree::of_memories({.threads = 2});
  {
    const placed_rows rows = tree.distribute(8);
    placed_array<int> a{rows, 1};
    tree.for_each(rows, [](const tree_part&, rows_view<int>) { throw std::runtime_error{"a row"}; }, writes(a));
  }
  EXPECT_THROW(tree.wait(), std::runtime_error);
  tree.wait();
}

// Place 0 has the tree, place 1 dies in its first unit, place 2 takes its time.
void lose_a_place(void (*with_tree)(place_tree& tree, ptr<word> ended)) {
  launch_options options;
  options.time_limit = 60s;
  const launch_result result = launch(
      3,
      [with_tree] {
        if (here().index() == 0) {
          place_tree tree = place_tree::of_places();
          // Units that have ended, whether place 1 is about to die, and whether place 2 has begun.
          const ptr<word> ended = allocate<word>(3);
          ended.local()[0] = ended.local()[1] = ended.local()[2] = 0;
          with_tree(tree, ended);
          if (testing::Test::HasFailure()) std::abort();
        } else {
          barrier();
        }
      },
      options);
  EXPECT_THAT(result.message(), HasSubstr("SIGKILL"));
  EXPECT_EQ(result.places[0].signal, 0) << result.message();
}

void await(ptr<word> flag) {
  while (atomic_load(flag) == 0) std::this_thread::sleep_for(1ms);
}

void die_or_work(ptr<word> ended, std::chrono::milliseconds work) {
  if (here().index() == 1) {
    await(ended + 2);
    atomic_fetch_add(ended + 1, 1);
    ::raise(SIGKILL);
  }
  if (here().index() == 2) {
    atomic_fetch_add(ended + 2, 1);
    await(ended + 1);
  }
  std::this_thread::sleep_for(work);
  atomic_fetch_add(ended, 1);
}

TEST(place_tree_loss, memory_stays_while_units_of_survivors_write_it) {
  lose_a_place([](place_tree& tree, ptr<word> ended) {
    {
      const placed_rows rows = tree.distribute(3);
      placed_array<int> a{rows, 1};
      tree.for_each(
          rows,
          [ended](const tree_part& part, rows_view<int> view) {
            die_or_work(ended, here().index() == 2 ? 300ms : 0ms);
            view(part.begin, 0) = 1;
          },
          writes(a));
    }
    EXPECT_EQ(atomic_load(ended), 2u) << "place 2 writes an array that is no more";
    EXPECT_THROW(tree.wait(), place_lost_error);
    tree.wait();
  });
}

TEST(place_tree_loss, runs_that_are_taken_have_ended_when_the_loop_throws) {
  lose_a_place([](place_tree& tree, ptr<word> ended) {
    const placed_rows rows = tree.distribute(100, deal::dynamic(1));
    const auto work = [ended](const tree_part&) {
      static bool has_waited = false;
      if (here().index() == 0) await(ended + 1);
      for (int i = 0; i < 300 && here().index() == 0 && !has_waited; ++i) {  // the loop's task hears of the loss
        try {
          progress();
        } catch (const place_lost_error&) {}
        std::this_thread::sleep_for(1ms);
      }
      has_waited = true;
      die_or_work(ended, 4ms);
    };
    EXPECT_THROW(tree.for_each(rows, work), place_lost_error);
    EXPECT_EQ(atomic_load(ended), 99u) << "all but that of the lost place";
  });
}

}  // namespace
}  // namespace situ
