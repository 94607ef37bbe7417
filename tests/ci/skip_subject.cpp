// What run_tests_test.py lets .ci/run_tests run: cases that pass and cases that are skipped, with a reason or without.
#include <gtest/gtest.h>

namespace {

TEST(plain, passes) {}
TEST(plain, wants_more_nodes) { GTEST_SKIP() << "one <node> & no \"more\""; }
TEST(plain, wants_more_nodes_too) { GTEST_SKIP() << "one <node> & no \"more\""; }
TEST(plain, gives_two_lines) { GTEST_SKIP() << "the first line\nthe second line"; }

class prepared : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_SKIP() << "nothing to prepare"; }
};
TEST_F(prepared, is_never_run) {}

class each : public ::testing::TestWithParam<int> {};
TEST_P(each, is_for_two) {
  if (GetParam() != 2) GTEST_SKIP() << "of two only";
}
INSTANTIATE_TEST_SUITE_P(of, each, ::testing::Values(1, 2));

TEST(silent, gives_no_reason) { GTEST_SKIP(); }

}  // namespace
