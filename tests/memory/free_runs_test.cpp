#include "memory/free_runs.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace {

using namespace situ::detail;

TEST(free_runs, lists_are_exact_up_to_31_then_sixteen_to_a_doubling) {
  for (std::uint32_t chunks = 1; chunks <= 31; ++chunks) EXPECT_EQ(free_runs::list_of(chunks), chunks);
  EXPECT_EQ(free_runs::list_of(32), 32u);
  EXPECT_EQ(free_runs::list_of(33), 32u);
  EXPECT_EQ(free_runs::list_of(34), 33u);
  EXPECT_EQ(free_runs::list_of(63), 47u);
  EXPECT_EQ(free_runs::list_of(64), 48u);
  EXPECT_LT(free_runs::list_of(0xfffffffe), 464u);
}

TEST(free_runs, finds_nothing_in_nothing) {
  std::vector<chunk_state> states(4);
  EXPECT_EQ(free_runs{states.data()}.find(1, no_chunk), no_chunk);
}

TEST(free_runs, prefers_the_exact_size) {
  std::vector<chunk_state> states(1000);
  free_runs runs{states.data()};
  runs.insert(0, 100);
  runs.insert(200, 7);
  runs.insert(300, 5);
  EXPECT_EQ(runs.find(5, no_chunk), 300u);
  EXPECT_EQ(runs.find(6, no_chunk), 200u);
  EXPECT_EQ(runs.find(8, no_chunk), 0u);
  EXPECT_EQ(runs.find(101, no_chunk), no_chunk);  // the same list as 100
}

// Against a map: with unlimited patience it finds a run iff there is one, and never one that is too small.
TEST(free_runs, agrees_with_a_map) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    std::vector<chunk_state> states(2000);
    free_runs runs{states.data()};
    std::map<std::uint32_t, std::uint32_t> model;
    for (int step = 0; step < 20000; ++step) {
      const std::uint32_t first = random() % 2000;
      if (const auto found = model.find(first); found != model.end()) {
        runs.remove(first);
        model.erase(found);
      } else if (model.size() < 40) {
        const std::uint32_t chunks = 1 + random() % (1u << (random() % 16));
        runs.insert(first, chunks);
        model.emplace(first, chunks);
      }
      const std::uint32_t wanted = 1 + random() % (1u << (random() % 16));
      bool exists = false;
      for (const auto& [run, chunks] : model) exists = exists || chunks >= wanted;
      const std::uint32_t found = runs.find(wanted, no_chunk);
      ASSERT_EQ(found != no_chunk, exists) << "step " << step;
      if (exists) {
        ASSERT_GE(model.at(found), wanted) << "step " << step;
      }
    }
  }
}

}  // namespace
