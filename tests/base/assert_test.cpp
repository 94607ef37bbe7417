// The level is this file's own: a condition above it must not be evaluated.
#undef SITU_ASSERT_LEVEL
#define SITU_ASSERT_LEVEL 2
#include <situ/base/detail/assert.h>

#include <gtest/gtest.h>

namespace {

TEST(assertion, a_condition_that_holds_is_evaluated_once) {
  int evaluated = 0;
  SITU_ASSERT(1, ++evaluated == 1, "nothing to do");
  SITU_ASSERT(2, ++evaluated == 2, "nothing to do");
  EXPECT_EQ(evaluated, 2);
}

TEST(assertion, levels_above_the_build_cost_nothing) {
  int evaluated = 0;
  SITU_ASSERT(3, ++evaluated < 0, "never seen");
  EXPECT_EQ(evaluated, 0);
}

TEST(assertion_death, names_condition_place_and_fix_and_aborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int size = 3;
  EXPECT_EXIT(SITU_ASSERT(1, size > 4, "pass at least five"), testing::KilledBySignal(SIGABRT),
              "situ: assertion failed: size > 4(.|\n)*assert_test.cpp:[0-9]+(.|\n)*pass at least five");
}

TEST(assertion, is_one_statement) {
  if (false)
    SITU_ASSERT(1, false, "not reached");
  else
    SUCCEED();
}

}  // namespace
