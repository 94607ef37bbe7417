// Chains and their views without sockets: seeded histories of clients while servers are killed, stopped and cut off,
// each checked for being linearizable.
#include <gtest/gtest.h>

#include <cstdlib>

#include "rmem/chain_simulation.h"
#include "rmem/linearizable.h"
#include "support/sanitized.h"

using namespace situ_rmem_test;

namespace {

TEST(rmem_chains, the_checker_tells_what_could_have_happened) {
  using enum register_call;
  const auto is_one = [](std::vector<register_operation> all) { return linearizable{std::move(all)}.check(); };
  EXPECT_TRUE(is_one({{write, 1, 0, 0, 0, 10}, {read, 0, 0, 1, 11, 12}}));
  EXPECT_FALSE(is_one({{write, 1, 0, 0, 0, 10}, {read, 0, 0, 0, 11, 12}}));
  EXPECT_TRUE(is_one({{write, 1, 0, 0, 0, 10}, {read, 0, 0, 0, 5, 12}}));
  // Seen, and then not seen any more.
  EXPECT_FALSE(is_one({{write, 1, 0, 0, 0, 20}, {read, 0, 0, 1, 1, 2}, {read, 0, 0, 0, 3, 4}}));
  // What has no end may have happened at any time, or not at all; but once.
  const register_operation open{fetch_add, 1, 0, 0, 0};
  EXPECT_TRUE(is_one({open, {read, 0, 0, 0, 5, 6}, {read, 0, 0, 1, 7, 8}}));
  EXPECT_FALSE(is_one({open, {read, 0, 0, 2, 7, 8}}));
  EXPECT_TRUE(is_one({{compare_swap, 7, 0, 0, 0, 1}, {compare_swap, 9, 0, 7, 2, 3}, {read, 0, 0, 7, 4, 5}}));
}

TEST(rmem_chains, a_thousand_histories_are_linearizable) {
  const char* const one = std::getenv("SITU_RMEM_SEED");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t count = one != nullptr ? 1 : situ::test::with_sanitizer ? 200 : 1000;
  std::uint64_t with_faults = 0, with_new_views = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    simulated_history seen = simulate_chain(seed);
    EXPECT_EQ(seen.unfinished, 0U) << "seed " << seed << '\n' << seen.faults;
    for (auto& each : seen.registers) {
      ASSERT_LE(each.size(), 64U);
      EXPECT_TRUE(linearizable{std::move(each)}.check()) << "seed " << seed << '\n' << seen.faults;
    }
    with_faults += !seen.faults.empty();
    with_new_views += seen.epochs > 4;
    if (testing::Test::HasFailure()) return;
  }
  if (count == 1) return;
  EXPECT_GT(with_faults, count / 2);
  EXPECT_GT(with_new_views, count * 3 / 10);
}

}  // namespace
