// 1,000 launches in a row leave nothing: no process, thread, descriptor, mapping or shared file.
#include "launch/launch_support.h"

#include <situ/runtime/launch.h>

#include <gtest/gtest.h>

namespace {

using namespace situ::test;

class launches_in_a_row : public testing::TestWithParam<situ::launch_mode> {};

TEST_P(launches_in_a_row, leave_nothing_behind) {
  EXPECT_TRUE(situ::launch(2, [] {}, {.mode = GetParam()}).ok());  // what the first one loads and keeps is no leftover
  const leftovers before = count_leftovers();
  for (int i = 0; i < 1000; ++i) {
    const situ::launch_result result = situ::launch(2, [i] { return i % 100 == 99 && my_place() == 1 ? 3 : 0; },
                                                    {.mode = GetParam(), .time_limit = 20s});
    ASSERT_EQ(result.exit_code(), i % 100 == 99 ? 3 : 0) << i << ": " << result.message();
  }
  EXPECT_EQ(count_leftovers(), before);
  EXPECT_FALSE(has_children());
}
INSTANTIATE_TEST_SUITE_P(, launches_in_a_row, testing::Values(situ::launch_mode::processes, situ::launch_mode::threads),
                         [](const auto& info) {
                           return info.param == situ::launch_mode::processes ? "processes" : "threads";
                         });

TEST(launches_with_a_loss, leave_nothing_behind) {
  const leftovers before = count_leftovers();
  for (int i = 0; i < 100; ++i) {
    const auto body = [] {
      if (my_place() == 1) ::kill(::getpid(), SIGKILL);
      try {
        sleep_until_loss();
      } catch (const std::exception&) {}
    };
    const situ::launch_result result = situ::launch(3, body, {.time_limit = 20s});
    ASSERT_EQ(result.message(), "place 1 is lost: killed by signal 9 (SIGKILL)") << i;
  }
  EXPECT_EQ(count_leftovers(), before);
  EXPECT_FALSE(has_children());
}

}  // namespace
