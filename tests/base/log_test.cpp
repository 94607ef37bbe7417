#include <situ/base/log.h>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

class log_test : public testing::Test {
 protected:
  void TearDown() override { situ::set_log_sink({}); }
};

TEST_F(log_test, a_sink_sees_level_and_message) {
  std::vector<std::pair<situ::log_level, std::string>> seen;
  situ::set_log_sink([&](situ::log_level level, std::string_view message) { seen.emplace_back(level, message); });
  situ::log(situ::log_level::debug, "one");
  situ::log(situ::log_level::error, "two");
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], std::pair(situ::log_level::debug, std::string{"one"}));
  EXPECT_EQ(seen[1], std::pair(situ::log_level::error, std::string{"two"}));
}

TEST_F(log_test, the_sink_before_is_handed_back) {
  int first = 0;
  situ::set_log_sink([&](situ::log_level, std::string_view) { ++first; });
  situ::log_sink before = situ::set_log_sink([](situ::log_level, std::string_view) {});
  situ::log(situ::log_level::info, "not the first sink's");
  EXPECT_EQ(first, 0);
  before(situ::log_level::info, "the first sink's");
  EXPECT_EQ(first, 1);
}

TEST_F(log_test, by_default_warnings_and_errors_go_to_standard_error) {
  situ::set_log_sink({});
  testing::internal::CaptureStderr();
  situ::log(situ::log_level::debug, "quiet");
  situ::log(situ::log_level::info, "quiet");
  situ::log(situ::log_level::warning, "odd");
  situ::log(situ::log_level::error, "bad");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "situ: warning: odd\nsitu: bad\n");
}

TEST_F(log_test, a_sink_may_log_and_be_replaced_from_within) {
  int calls = 0;
  situ::set_log_sink([&](situ::log_level, std::string_view) {
    ++calls;
    situ::set_log_sink([&](situ::log_level, std::string_view) { calls += 10; });
    situ::log(situ::log_level::info, "from within");
  });
  situ::log(situ::log_level::info, "from without");
  EXPECT_EQ(calls, 11);
}

TEST_F(log_test, many_threads_log_while_the_sink_changes) {
  std::atomic<int> seen{0};
  const situ::log_sink sink = [&](situ::log_level, std::string_view) { seen.fetch_add(1); };
  situ::set_log_sink(sink);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) situ::log(situ::log_level::info, "x");
    });
  for (int i = 0; i < 200; ++i) situ::set_log_sink(sink);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, 2000);
}

}  // namespace
