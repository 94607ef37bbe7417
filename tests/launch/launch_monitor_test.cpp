// What the launcher says of places that are stopped, and of those that the kernel ends for want of memory.
#include "launch/launch_support.h"

#include "launch/monitor.h"

#include <situ/base/log.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>

#include "support/forked.h"

namespace situ::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// What is logged meanwhile, and a wait for it.
class heard_log {
 public:
  heard_log() {
    before_ = set_log_sink([this](log_level, std::string_view message) {
      const std::lock_guard lock{mutex_};
      lines_.emplace_back(message);
      more_.notify_all();
    });
  }
  ~heard_log() { set_log_sink(before_); }
  heard_log(const heard_log&) = delete;
  heard_log& operator=(const heard_log&) = delete;
  bool wait_for(std::string_view text, std::size_t times = 1) {
    std::unique_lock lock{mutex_};
    return more_.wait_for(lock, 20s, [&] {
      std::size_t count = 0;
      for (const std::string& line : lines_) count += line.find(text) != std::string::npos;
      return count >= times;
    });
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock{mutex_};
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::string> lines_;
  log_sink before_;
};

// Watches one sleeping process as `places` places while drive(its pid) does things to it on another thread, until it
// has ended.
launch_result watch_sleeper(detail::job& shared, detail::launch_monitor::limits limits,
                            const std::function<void(pid_t)>& drive, std::uint32_t places = 1) {
  for (std::uint32_t place = 0; place < places; ++place)
    shared.control().slot(place).state.store(detail::place_state::joined);
  detail::launch_monitor monitor{shared.control(), limits, nullptr};
  os::child child = fork_child([] { sleep_for_ever(); });
  const pid_t sleeper = child.id();
  monitor.watch(std::move(child), 0, places);
  std::thread driver{[&] {
    drive(sleeper);
    ::kill(sleeper, SIGKILL);
  }};
  launch_result result = monitor.run();
  driver.join();
  return result;
}

struct launch_monitor_says : testing::Test {
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "forks beside threads";
#endif
  }
};

TEST_F(launch_monitor_says, that_a_place_is_stopped_and_that_it_goes_on) {
  detail::job shared = detail::job::create({.place_count = 1});
  heard_log heard;
  const launch_result result = watch_sleeper(shared, {.stopped_after = 10ms}, [&](pid_t sleeper) {
    for (std::size_t round = 1; round <= 2; ++round) {
      ::kill(sleeper, SIGSTOP);
      EXPECT_TRUE(heard.wait_for("is stopped by a signal", round));
      EXPECT_EQ(shared.control().failure_epoch.load(), 0U) << "a stopped place is not lost";
      std::this_thread::sleep_for(50ms);  // several looks, in which nothing more is to be said
      ::kill(sleeper, SIGCONT);
      EXPECT_TRUE(heard.wait_for("goes on", round));
    }
  });
  EXPECT_THAT(result.message(), HasSubstr("place 0 is lost: killed by signal 9 (SIGKILL)"));
  ASSERT_EQ(heard.lines().size(), 4U) << "once for each stop, and once that it goes on";
  EXPECT_THAT(heard.lines()[0], HasSubstr("place 0 (process "));
  EXPECT_THAT(heard.lines()[0], HasSubstr("kill -CONT "));
}

TEST_F(launch_monitor_says, that_a_debugger_holds_all_places_of_a_process) {
  detail::job shared = detail::job::create({.place_count = 3});
  heard_log heard;
  bool may_trace = true;
  watch_sleeper(
      shared, {.stopped_after = 10ms},
      [&](pid_t sleeper) {
        may_trace = ::ptrace(PTRACE_SEIZE, sleeper, nullptr, nullptr) == 0 &&
                    ::ptrace(PTRACE_INTERRUPT, sleeper, nullptr, nullptr) == 0;
        if (!may_trace) return;
        EXPECT_TRUE(heard.wait_for("is stopped by a debugger"));
        EXPECT_EQ(shared.control().failure_epoch.load(), 0U);
        ::ptrace(PTRACE_DETACH, sleeper, nullptr, nullptr);
        EXPECT_TRUE(heard.wait_for("goes on"));
      },
      3);
  if (!may_trace) GTEST_SKIP() << "this system allows no tracing";
  EXPECT_THAT(heard.lines()[0], HasSubstr("the process of all places"));
}

// --- out of memory ---------------------------------------------------------------------------------------------------

std::atomic<std::uint64_t> told_kills{0};
std::uint64_t told() { return told_kills.load(); }

TEST_F(launch_monitor_says, that_the_control_group_was_out_of_memory) {
  detail::job shared = detail::job::create({.place_count = 1});
  const launch_result result = watch_sleeper(shared, {.oom_kills = &told}, [](pid_t) { ++told_kills; });
  EXPECT_THAT(result.message(), HasSubstr("killed by signal 9 (SIGKILL), while the control group ran out of memory"));
  EXPECT_THAT(result.message(), HasSubstr("situ run --memory"));
  detail::job other = detail::job::create({.place_count = 1});
  EXPECT_THAT(watch_sleeper(other, {.oom_kills = &told}, [](pid_t) {}).message(), Not(HasSubstr("memory")))
      << "the count stands where it stood";
}

// Neither a first look that failed, nor a last one, says that there were kills.
TEST_F(launch_monitor_says, nothing_of_memory_where_the_count_could_not_be_read) {
  constexpr auto unread = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [first, last] : {std::pair{unread, std::uint64_t{3}}, {std::uint64_t{3}, unread}}) {
    detail::job shared = detail::job::create({.place_count = 1});
    told_kills = first;
    const launch_result result = watch_sleeper(shared, {.oom_kills = &told}, [last](pid_t) { told_kills = last; });
    EXPECT_THAT(result.message(), HasSubstr("killed by signal 9 (SIGKILL)"));
    EXPECT_THAT(result.message(), Not(HasSubstr("memory")));
  }
}

TEST(control_group, tells_its_kills_in_both_interfaces) {
  const std::string path = testing::TempDir() + "situ-oom-" + std::to_string(::getpid());
  const auto count_in = [&](const char* text) {
    std::ofstream{path} << text;
    return detail::read_oom_kills(path);
  };
  EXPECT_EQ(count_in("low 0\nhigh 3\nmax 12\noom 5\noom_kill 4\noom_group_kill 0\n"), 4U);
  EXPECT_EQ(count_in("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), 2U);
  EXPECT_EQ(count_in("oom_kill_disable 0\nunder_oom 0\n"), 0U) << "kernels before 4.13";
  std::filesystem::remove(path);
  EXPECT_EQ(detail::read_oom_kills(path), 0U);
  EXPECT_EQ(detail::read_oom_kills(testing::TempDir()), std::numeric_limits<std::uint64_t>::max())
      << "it is there, and not read";
}

}  // namespace
}  // namespace situ::test
