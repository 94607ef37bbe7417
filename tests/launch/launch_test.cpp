// situ::launch: places as forks and as threads, every way they can end, and nothing left behind.
#include "launch/launch_support.h"

#include "launch/launch.h"

#include <situ/base/error.h>
#include <situ/memory/allocate.h>
#include <situ/memory/placement.h>
#include <situ/runtime/launch.h>
#include <situ/runtime/runtime.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <atomic>
#include <stdexcept>

#include "support/forked.h"
#include "support/stalls.h"

namespace {

using namespace situ::test;
using situ::launch;
using situ::launch_mode;
using situ::launch_result;
using testing::HasSubstr;

class launch_in_mode : public testing::TestWithParam<launch_mode> {
 protected:
  void SetUp() override {
    launch(1, [] {}, options());  // what is loaded and kept at the first time (ThreadSanitizer's thread) is no leftover
    before_ = count_leftovers();
  }
  void TearDown() override {
    EXPECT_EQ(count_leftovers(), before_);
    EXPECT_FALSE(has_children());
  }
  [[nodiscard]] situ::launch_options options() const { return {.mode = GetParam(), .time_limit = 20s}; }

 private:
  leftovers before_;
};
INSTANTIATE_TEST_SUITE_P(, launch_in_mode, testing::Values(launch_mode::processes, launch_mode::threads),
                         [](const auto& info) {
                           return info.param == launch_mode::processes ? "processes" : "threads";
                         });

TEST_P(launch_in_mode, runs_the_body_at_each_place) {
  const launch_result result =
      launch(5, [] { return static_cast<int>(10 * my_place() + control().place_count); }, options());
  ASSERT_EQ(result.places.size(), 5U);
  for (int place = 0; place < 5; ++place) {
    EXPECT_EQ(result.places[place].exit_code, 10 * place + 5);
    EXPECT_EQ(result.places[place].signal, 0);
    EXPECT_EQ(result.places[place].reason, "");
  }
  EXPECT_FALSE(result.first_lost);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.exit_code() % 5, 0);
}

TEST_P(launch_in_mode, memory_may_lie_by_an_intent) {
  situ::launch_options with = options();
  with.memory_intent = situ::intent::capacity;
  const auto body = [] {
    const auto block = situ::allocate<int>(100);
    const std::string what = situ::placement(block).intent;
    situ::deallocate(block);
    return what == "capacity" ? 0 : 1;
  };
  const launch_result result = launch(2, body, with);
  EXPECT_TRUE(result.ok()) << result.message();
  EXPECT_FALSE(launch(2, body, options()).ok()) << "the kernel places it";
}

TEST_P(launch_in_mode, a_void_body_succeeds) {
  const launch_result result = launch(3, [] {}, options());
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.exit_code(), 0);
  EXPECT_EQ(result.message(), "");
}

TEST_P(launch_in_mode, one_place) {
  EXPECT_TRUE(launch(1, [] {}, options()).ok());
}

TEST_P(launch_in_mode, a_failing_exit_code_loses_nobody) {
  const launch_result result = launch(3, [] { return my_place() == 1 ? 42 : 0; }, options());
  EXPECT_FALSE(result.first_lost);
  ASSERT_TRUE(result.first_failed);
  EXPECT_EQ(result.first_failed->index(), 1U);
  EXPECT_EQ(result.exit_code(), 42);
  EXPECT_EQ(result.message(), "place 1 exited with code 42");
}

TEST_P(launch_in_mode, a_body_that_throws_is_lost_with_its_reason) {
  const witness seen;
  const auto body = [&] {
    if (my_place() == 2) {
      seen.await(3);
      throw std::runtime_error{"disk full"};
    }
    seen.arrive();
    try {
      sleep_until_loss();
    } catch (const situ::place_lost_error& error) {
      return error.place_index() == 2 && std::string_view{error.what()}.find("disk full") != std::string_view::npos ? 7
                                                                                                                    : 8;
    }
  };
  const launch_result result = launch(4, body, options());
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 2U);
  EXPECT_EQ(result.message(), "place 2 is lost: its body threw std::runtime_error: disk full");
  EXPECT_EQ(result.places[2].exit_code, 1);
  for (const int other : {0, 1, 3}) EXPECT_EQ(result.places[other].exit_code, 7) << other;
}

TEST_P(launch_in_mode, an_escaped_loss_names_the_first_place) {
  const witness seen;
  const auto body = [&] {
    if (my_place() == 1) {
      seen.await(2);
      throw 5;
    }
    seen.arrive();
    sleep_until_loss();
  };
  const launch_result result = launch(3, body, options());
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  EXPECT_EQ(result.places[1].reason, "its body threw int");
  EXPECT_THAT(result.places[0].reason, HasSubstr("place lost: place 1"));
}

TEST_P(launch_in_mode, the_time_limit_ends_a_job_that_hangs) {
  situ::launch_options limited = options();
  limited.time_limit = 200ms;
  const auto body = [] {
    if (my_place() == 0) return;
    sleep_until_loss();
  };
  const launch_result result = launch(2, body, limited);
  ASSERT_TRUE(result.first_lost);
  EXPECT_THAT(result.message(), HasSubstr("time limit of 200 ms"));
  EXPECT_NE(result.exit_code(), 0);
}

TEST_P(launch_in_mode, refuses_impossible_numbers) {
  for (const std::uint32_t places : {0U, 32769U}) {
    try {
      launch(places, [] {}, options());
      FAIL() << places;
    } catch (const situ::error& error) {
      EXPECT_EQ(error.code(), situ::errc::bad_argument);
    }
  }
}

TEST_P(launch_in_mode, refuses_to_nest) {
  const auto body = [this] {
    try {
      launch(2, [] {}, options());
    } catch (const situ::error& error) {
      return error.code() == situ::errc::bad_launch ? 0 : 2;
    }
    return 3;
  };
  EXPECT_EQ(launch(1, body, options()).exit_code(), 0);
}

TEST_P(launch_in_mode, moves_to_the_next_base_where_the_first_is_taken) {
  const auto first_base = situ::detail::job::create({.place_count = 2}).control().candidates[0];
  void* const wanted = reinterpret_cast<void*>(first_base + 4096);
  void* const taken = ::mmap(wanted, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(taken, wanted);
  const auto body = [] { return situ::detail::current->base == control().candidates[1] ? 0 : 1; };
  const launch_result result = launch(2, body, options());
  ::munmap(taken, 4096);
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST_P(launch_in_mode, launches_at_the_same_time_do_not_meet) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  // The sanitizers of gcc 12 do not take their allocator's locks for a fork: a child may find one held by a thread that
  // it does not have.
  if (GetParam() == launch_mode::processes) GTEST_SKIP() << "a sanitized program cannot fork beside other threads";
#endif
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back(
          [&] { good += launch(2, [] { return control().place_count == 2 ? 0 : 1; }, options()).ok(); });
  }
  EXPECT_EQ(good, 3);
}

// --- what only processes can do --------------------------------------------------------------------------------------

class launch_processes : public testing::Test {
 protected:
  void TearDown() override { EXPECT_FALSE(has_children()); }
  situ::launch_options options{.time_limit = 20s};
};

TEST_F(launch_processes, a_killed_place_is_reported_within_a_second) {
  const witness seen;
  const stall_meter stalls;
  const auto body = [&] {
    if (my_place() == 1) {
      seen.await(3);
      ::kill(::getpid(), SIGKILL);
    }
    seen.arrive();
    try {
      sleep_until_loss();
    } catch (const situ::place_lost_error& error) {
      return stalls.allow(seen.since_death(), told_within) && error.place_index() == 1 ? 7 : 8;
    }
  };
  const launch_result result = launch(4, body, options);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.message(), "place 1 is lost: killed by signal 9 (SIGKILL)");
  EXPECT_EQ(result.places[1].signal, SIGKILL);
  EXPECT_EQ(result.exit_code(), 128 + SIGKILL);
  for (const int other : {0, 2, 3}) EXPECT_EQ(result.places[other].exit_code, 7) << other;
}

TEST_F(launch_processes, an_early_exit_is_a_loss_whatever_its_code) {
  for (const int code : {0, 3}) {
    const auto body = [code] {
      if (my_place() == 0) std::_Exit(code);
      try {
        sleep_until_loss();
      } catch (const situ::place_lost_error&) {}
    };
    const launch_result result = launch(2, body, options);
    EXPECT_EQ(result.message(), "place 0 is lost: exited early with code " + std::to_string(code));
    EXPECT_EQ(result.exit_code(), code == 0 ? 1 : code);
  }
}

void throw_out_of_range() { throw std::out_of_range{"row 12"}; }
void cannot_throw() noexcept { throw_out_of_range(); }

TEST_F(launch_processes, an_uncaught_exception_is_the_reason) {
  const auto body = [] {
    if (my_place() == 1) cannot_throw();
    try {
      sleep_until_loss();
    } catch (const situ::place_lost_error&) {}
  };
  testing::internal::CaptureStderr();  // the C++ runtime says it too
  const launch_result result = launch(2, body, options);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(result.message(), "place 1 is lost: uncaught exception: std::out_of_range: row 12");
  EXPECT_EQ(result.places[1].signal, SIGABRT);
}

TEST_F(launch_processes, survivors_that_do_not_end_are_stopped_after_the_grace) {
  options.grace = 200ms;
  const witness seen;
  const stall_meter stalls;
  const auto body = [&] {
    if (my_place() == 0) {
      seen.await(2);
      ::kill(::getpid(), SIGKILL);
    }
    if (my_place() == 2) ::signal(SIGTERM, SIG_IGN);
    seen.arrive();
    sleep_for_ever();
  };
  const launch_result result = launch(3, body, options);
  const std::chrono::nanoseconds time = seen.since_death();
  EXPECT_EQ(result.first_lost->index(), 0U);
  EXPECT_EQ(result.places[1].signal, SIGTERM);
  EXPECT_EQ(result.places[2].signal, SIGKILL);
  EXPECT_THAT(result.places[1].reason, HasSubstr("stopped by the launcher"));
  EXPECT_THAT(result.places[2].reason, HasSubstr("stopped by the launcher"));
  EXPECT_GE(time, 1200ms);
  EXPECT_TRUE(stalls.allow(time, 1200ms + told_within));
}

TEST_F(launch_processes, a_stopped_process_is_ended_too) {
  options.grace = 100ms;
  const auto body = [] {
    if (my_place() == 0) ::kill(::getpid(), SIGKILL);
    ::raise(SIGSTOP);
    sleep_for_ever();
  };
  const launch_result result = launch(2, body, options);
  EXPECT_EQ(result.places[1].signal, SIGTERM);
}

TEST_F(launch_processes, the_parents_output_is_not_written_again) {
  testing::internal::CaptureStdout();
  std::printf("once;");
  const launch_result result = launch(3, [] { std::printf("p;"); }, options);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "once;p;p;p;");
}

TEST_F(launch_processes, the_places_variables_are_their_own) {
  int value = 0;
  EXPECT_TRUE(launch(2, [&] { return ++value == 1 ? 0 : 1; }, options).ok());
  EXPECT_EQ(value, 0);
}

// The test's child launches; it is killed; its places must go too. This process adopts them, to see them go.
TEST_F(launch_processes, places_die_with_their_launcher) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const situ::os::pipe_ends ends = situ::os::pipe_ends::make();
  ASSERT_TRUE(ends);
  situ::os::child launcher = fork_child([&] {
    launch(3, [&] {
      const pid_t mine = ::getpid();
      if (::write(ends.write.number(), &mine, sizeof mine) != sizeof mine) ::_exit(1);
      sleep_for_ever();
    });
  });
  std::vector<pid_t> places(3);
  for (pid_t& each : places)
    ASSERT_EQ(::read(ends.read.number(), &each, sizeof each), static_cast<ssize_t>(sizeof each));
  for (const pid_t each : places) EXPECT_FALSE(is_gone(each));
  launcher.send(SIGKILL);
  EXPECT_TRUE(are_gone_within(places, 2s));
  launcher.wait();
  reap_adopted(true);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

struct ignoring_children {
  ~ignoring_children() { std::signal(SIGCHLD, before); }
  void (*before)(int) = std::signal(SIGCHLD, SIG_IGN);
};

TEST_F(launch_processes, the_outcome_is_known_where_the_program_ignores_sigchld) {
  const ignoring_children ignoring;
  EXPECT_TRUE(launch(2, [] {}, options).ok());
  const launch_result failed = launch(4, [] { return static_cast<int>(my_place()); }, options);
  EXPECT_FALSE(failed.first_lost) << failed.message();
  for (int place = 0; place < 4; ++place) EXPECT_EQ(failed.places[place].exit_code, place);
  const auto die = [] {
    if (my_place() == 1) ::kill(::getpid(), SIGKILL);
    try {
      sleep_until_loss();
    } catch (const situ::place_lost_error&) {}
  };
  const launch_result lost = launch(3, die, options);
  ASSERT_TRUE(lost.first_lost);
  EXPECT_EQ(lost.first_lost->index(), 1U);
  EXPECT_THAT(lost.message(), HasSubstr("SIGCHLD"));
}

}  // namespace
