// The stacks of tasks: what happens where one is used up, how to have more, and that what was touched goes back.
#include "support/forked.h"
#include "support/places.h"

#include "runtime/stack.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>

namespace situ {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

// About 1 KiB a call; twice as much in sanitized builds.
[[gnu::noinline]] int recurse(int depth) {
  volatile char frame[1024];
  frame[0] = 1;
  return depth == 0 ? 0 : recurse(depth - 1) + frame[0];
}

// A frame of `Bytes` that is written from its far end, as an array that a function fills is.
[[gnu::noinline]] void fill(char* at, std::size_t bytes, int value) {
  std::memset(at, value, bytes);
  asm volatile("" : : "r"(at) : "memory");
}
template <std::size_t Bytes>
[[gnu::noinline, gnu::optimize("no-stack-clash-protection")]] int large_frame(int n) {
  char frame[Bytes];
  fill(frame, Bytes / 4, n);
  return frame[n];
}
// As code is compiled that links situ::runtime: entered page by page.
[[gnu::noinline]] int frame_beyond_the_guard(int n) {
  char frame[std::size_t{8} << 20];
  fill(frame, sizeof frame / 4, n);
  return frame[n];
}

struct task_stacks : testing::Test {
  void SetUp() override {
    if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  }
};

// The place whose stack is used up is lost with a reason that names the task; a sanitizer ends the process in its own
// way.
void expect_overflow(const launch_result& result, std::uint32_t place_index, const std::string& name) {
  ASSERT_EQ(result.first_lost, place{place_index}) << result.message();
  EXPECT_THAT(result.message(), HasSubstr("a task has used up its stack of 256KiB"));
  EXPECT_THAT(result.message(), HasSubstr(name));
  EXPECT_THAT(result.message(), HasSubstr("situ run --stack 1MiB"));
  EXPECT_TRUE(result.places[place_index].signal == SIGSEGV || test::with_sanitizer);
}

// --- overflow --------------------------------------------------------------------------------------------------------

TEST_F(task_stacks, an_overflow_names_task_place_and_remedy) {
  const launch_result result = launch(2, [] {
    if (here().index() == 0) (void)at(place{1}, [](int depth) { return recurse(depth); }, 2000);
  });
  expect_overflow(result, 1, "an_overflow_names_task_place_and_remedy");
  EXPECT_THAT(result.message(), HasSubstr("<lambda(int)>, from place 0"));
}

TEST_F(task_stacks, an_overflow_of_a_plain_function_tells_where_it_lies) {
  const launch_result result = launch(2, [] {
    if (here().index() == 0) (void)at(place{1}, &recurse, 2000);
  });
  expect_overflow(result, 1, "int (*)(int) at 0x");
}

TEST_F(task_stacks, an_overflow_of_an_async_task_or_a_continuation_names_it) {
  expect_overflow(launch(1, [] { finish([] { async([] { return recurse(2000); }).get(); }); }), 0,
                  "TestBody()::<lambda()>");
  expect_overflow(launch(1, [] { async([] { return 2000; }).then([](int depth) { return recurse(depth); }).get(); }), 0,
                  "then");
}

// Tasks that wait lie above and below: a frame that stepped over the guard would change them in silence.
template <int (*LargeFrame)(int)>
launch_result call_with_large_frame_between_waiting_tasks() {
  return launch(1, [] {
    promise<int> go;
    const future<int> gone = go.get_future();
    std::vector<future<int>> waiting;
    for (int i = 0; i < 8; ++i) waiting.push_back(async([gone] { return gone.get(); }));
    async([] {}).wait();
    const auto stepped_over = async([] { return LargeFrame(7); });
    const int returned = stepped_over.get();
    go.set_value(0);
    return 100 + returned;
  });
}

TEST_F(task_stacks, a_large_frame_does_not_step_over_the_guard) {
  expect_overflow(call_with_large_frame_between_waiting_tasks<&large_frame<(std::size_t{300} << 10)>>(), 0, "lambda");
  expect_overflow(call_with_large_frame_between_waiting_tasks<&large_frame<(std::size_t{512} << 10)>>(), 0, "lambda");
  expect_overflow(call_with_large_frame_between_waiting_tasks<&large_frame<(std::size_t{1200} << 10)>>(), 0, "lambda");
  expect_overflow(call_with_large_frame_between_waiting_tasks<&frame_beyond_the_guard>(), 0, "lambda");
}

TEST_F(task_stacks, an_overflow_of_main_is_told_apart) {
  if (test::with_sanitizer) GTEST_SKIP() << "sanitizers report main's stack themselves";
  const launch_result result = launch(2, [] {
    if (here().index() == 1) (void)recurse(1 << 20);
    barrier();
  });
  EXPECT_EQ(result.first_lost, place{1});
  EXPECT_THAT(result.message(), HasSubstr("main has used up the process's stack of 8MiB"));
  EXPECT_THAT(result.message(), HasSubstr("ulimit -s"));
}

TEST_F(task_stacks, other_faults_are_not_taken_for_overflows) {
  const launch_result result = launch(2, [] {
    volatile std::uint64_t nowhere = 64;
    if (here().index() == 0)
      (void)at(
          place{1}, [](std::uint64_t address) { return *reinterpret_cast<volatile int*>(address); },
          std::uint64_t{nowhere});
  });
  EXPECT_EQ(result.first_lost, place{1});
  EXPECT_THAT(result.message(), Not(HasSubstr("stack")));
}

// --- handlers of the program -----------------------------------------------------------------------------------------

// Runs body in a child, alone; its exit code (128 + signal) and what it wrote to standard error.
std::pair<int, std::string> run_alone(const std::function<void()>& body) {
  const test::said_by_child said = test::said_in_forked_child(body, true);
  return {test::code_of(said.end), said.text};
}

void set_handler(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, nullptr);
}
void overflow_a_task() {
  (void)async([] { return recurse(2000); }).get();
}

TEST_F(task_stacks, a_handler_that_stood_before_is_called_after_the_report) {
  const auto [code, text] = run_alone([] {
    set_handler([](int) { ::_exit(42); });
    const runtime joined;
    overflow_a_task();
  });
  EXPECT_EQ(code, 42);
  EXPECT_THAT(text, HasSubstr("situ: place 0: a task has used up its stack of 256KiB"));
}

TEST_F(task_stacks, a_handler_of_the_programs_own_has_the_fault) {
  const auto [code, text] = run_alone([] {
    const runtime joined;
    set_handler([](int) { ::_exit(43); });
    overflow_a_task();
  });
  EXPECT_EQ(code, 43);
  EXPECT_THAT(text, Not(HasSubstr("stack")));
}

TEST_F(task_stacks, a_handler_that_passes_on_to_ours_is_no_circle) {
  static struct sigaction ours;
  const auto [code, text] = run_alone([] {
    const auto install = [] {
      struct sigaction action{};
      action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
        ours.sa_sigaction(signal, info, context);
      };
      action.sa_flags = SA_ONSTACK | SA_SIGINFO;
      ::sigaction(SIGSEGV, &action, &ours);
    };
    {
      const runtime joined;
      install();
    }
    const runtime again;  // ours is behind the program's still
    overflow_a_task();
  });
  EXPECT_THAT(text, HasSubstr("a task has used up its stack of 256KiB"));
  EXPECT_NE(code, 0);
  EXPECT_TRUE(code == 128 + SIGSEGV || test::with_sanitizer) << code;
}

TEST_F(task_stacks, the_handlers_go_with_the_last_place) {
  const auto [code, text] = run_alone([] {
    set_handler([](int) { ::_exit(44); });
    { const runtime joined; }
    struct sigaction now{};
    ::sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0) ::_exit(1);
    ::raise(SIGSEGV);
  });
  EXPECT_EQ(code, 44);
}

TEST_F(task_stacks, a_signal_that_somebody_sends_ends_the_process) {
  if (test::with_sanitizer) GTEST_SKIP() << "sanitizers have handlers of their own";
  const auto [code, text] = run_alone([] {
    const runtime joined;
    ::raise(SIGSEGV);
    ::_exit(1);
  });
  EXPECT_EQ(code, 128 + SIGSEGV);
}

// --- more ------------------------------------------------------------------------------------------------------------

TEST_F(task_stacks, are_as_large_as_the_launcher_says) {
  const launch_result result = launch(2,
                                      [] {
                                        const place next{1 - here().index()};
                                        EXPECT_EQ(at(next, &recurse, 2000), 2000);
                                        EXPECT_EQ(async([] { return recurse(2000); }).get(), 2000);
                                        barrier();
                                      },
                                      {.stack_bytes = 16 * mib});
  EXPECT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(test::error_of([] { (void)launch(1, [] {}, {.stack_bytes = 1000}); }).code, errc::bad_argument);
}

TEST_F(task_stacks, are_as_large_as_the_program_says) {
  const auto [code, text] = run_alone([] {
    const runtime joined{{.stack_bytes = 16 * mib}};
    ::_exit(async([] { return recurse(2000); }).get() == 2000 ? 0 : 1);
  });
  EXPECT_EQ(code, 0) << text;
}

TEST(stack_size, the_job_comes_before_the_environment_and_that_before_the_program) {
  ::unsetenv("SITU_STACK");
  EXPECT_EQ(detail::choose_stack_bytes(0, 0), 256U << 10);
  EXPECT_EQ(detail::choose_stack_bytes(0, mib), mib);
  ::setenv("SITU_STACK", "2MiB", 1);
  EXPECT_EQ(detail::choose_stack_bytes(0, mib), 2 * mib);
  EXPECT_EQ(detail::choose_stack_bytes(3 * mib, mib), 3 * mib);
  EXPECT_EQ(detail::choose_stack_bytes(100001, 0), 102400U) << "whole pages";
  ::setenv("SITU_STACK", "12", 1);
  const auto unreadable = test::error_of([] { (void)detail::choose_stack_bytes(0, 0); });
  EXPECT_EQ(unreadable.code, errc::bad_argument);
  EXPECT_TRUE(unreadable.says("SITU_STACK")) << unreadable.text;
  ::setenv("SITU_STACK", "64KiB", 1);
  EXPECT_EQ(detail::choose_stack_bytes(0, 0), 64U << 10);
  ::unsetenv("SITU_STACK");
  for (const std::uint64_t bytes : {std::uint64_t{65535}, (std::uint64_t{1} << 36) + 1})
    EXPECT_EQ(test::error_of([&] { (void)detail::choose_stack_bytes(bytes, 0); }).code, errc::bad_argument);
}

class with_stack_tasks : public test::on_places {};

TEST_P(with_stack_tasks, have_the_stack_that_they_ask_for) {
  run([] {
    EXPECT_EQ(async(with_stack(16 * mib), &recurse, 3000).get(), 3000);
    EXPECT_EQ(async(with_stack(1), [] { return 5; }).get(), 5) << "less than all have";
    for (const place p : places())
      EXPECT_EQ(at(p, [](int depth) { return async(with_stack(16 * mib), &recurse, depth); }, 3000), 3000);
    EXPECT_EQ(test::error_of([] { (void)async(with_stack(mib << 20), [] {}); }).code, errc::bad_argument);
  });
}

// Each waits with its large stack in use, while others, large and small, take turns.
TEST_P(with_stack_tasks, wait_and_go_on_like_others) {
  run([] {
    const place next{(here().index() + 1) % place_count()};
    std::vector<future<int>> all;
    finish([&] {
      for (int i = 0; i < 20; ++i) {
        const auto body = [next, i] {
          volatile char frame[65536];
          frame[i] = static_cast<char>(i);
          const int there = at(next, [](int n) { return async([n] { return n + 1; }).get(); }, i);
          return frame[i] + there;
        };
        all.push_back(i % 2 == 0 ? async(with_stack(static_cast<std::uint64_t>(1 + i) * mib), body) : async(body));
      }
    });
    for (int i = 0; i < 20; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), 2 * i + 1);
    try {
      async(with_stack(2 * mib), [] { throw std::runtime_error{"on purpose"}; }).get();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "on purpose");
    }
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, with_stack_tasks, testing::ValuesIn(test::layouts({1, 3})), test::layout_name);

std::uint64_t pages_of_process(int column) {
  std::ifstream file{"/proc/self/statm"};
  std::uint64_t pages = 0;
  for (int i = 0; i <= column; ++i) file >> pages;
  return pages;
}

TEST_F(task_stacks, that_cannot_be_had_are_an_error_of_the_task) {
  if (test::with_sanitizer) GTEST_SKIP() << "a limit on addresses leaves no room for shadow memory";
  const launch_result result = launch(1, [] {
    const std::uint64_t bytes = pages_of_process(0) * 4096 + 64 * mib;
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_AS, &limit);
    EXPECT_EQ(test::error_of([] { async(with_stack(1024 * mib), [] {}).get(); }).code, errc::out_of_memory);
    EXPECT_EQ(async(with_stack(2 * mib), [] { return 7; }).get(), 7) << "and the place goes on";
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

// --- what was touched goes back --------------------------------------------------------------------------------------

std::uint64_t resident_private_bytes() { return (pages_of_process(1) - pages_of_process(2)) * 4096; }

template <std::size_t Bytes>
[[gnu::noinline]] int touch() {
  volatile char frame[Bytes];
  for (std::size_t i = 0; i < Bytes; i += 4096) frame[i] = 1;
  return frame[0];
}

// Stacks of the usual size keep what they touched, for whoever comes next, until the place has had nothing to do for a
// while.
TEST_F(task_stacks, give_back_what_they_touched_while_the_place_is_idle) {
  if (test::with_sanitizer) GTEST_SKIP() << "shadow memory counts, too";
  const launch_result result = launch(2, [] {
    if (here().index() == 1) return 0;
    const std::uint64_t before = resident_private_bytes();
    promise<int> go;
    const future<int> gone = go.get_future();
    std::vector<future<int>> all;
    for (int i = 0; i < 60; ++i)
      all.push_back(async([gone] {
        (void)touch<180 << 10>();
        return gone.get();
      }));
    async([] {}).wait();
    go.set_value(1);
    for (const future<int>& each : all) each.wait();
    const std::uint64_t after = resident_private_bytes();
    EXPECT_GT(after, before + 8 * mib);
    for (int round = 0; round < 40 && resident_private_bytes() > after - 4 * mib; ++round)
      at(place{1}, [] { std::this_thread::sleep_for(std::chrono::milliseconds{150}); });
    EXPECT_LT(resident_private_bytes(), after - 4 * mib);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST_F(task_stacks, of_a_large_size_give_back_at_once) {
  if (test::with_sanitizer) GTEST_SKIP() << "shadow memory counts, too";
  const launch_result result = launch(1, [] {
    const std::uint64_t before = resident_private_bytes();
    const std::uint64_t within = async(with_stack(64 * mib), [] {
                                   (void)touch<48 << 20>();
                                   return resident_private_bytes();
                                 }).get();
    EXPECT_GT(within, before + 40 * mib) << "pages are taken as they are touched";
    for (int i = 0; i < 3; ++i) async([] {}).wait();
    EXPECT_LT(resident_private_bytes(), before + 4 * mib);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

// A place that is never idle keeps a bounded part of it.
TEST_F(task_stacks, keep_little_where_many_are_idle) {
  if (test::with_sanitizer) GTEST_SKIP() << "shadow memory counts, too";
  const launch_result result = launch(1, [] {
    const std::uint64_t before = resident_private_bytes();
    promise<int> go;
    const future<int> gone = go.get_future();
    std::vector<future<int>> all;
    for (int i = 0; i < 30; ++i)
      all.push_back(async(with_stack(16 * mib), [gone] {
        (void)touch<12 << 20>();
        return gone.get();
      }));
    for (int i = 0; i < 100; ++i) async([] {}).wait();
    EXPECT_GT(resident_private_bytes(), before + 300 * mib) << "the test's tasks all have a stack at the same time";
    go.set_value(1);
    for (const future<int>& each : all) each.wait();
    for (int i = 0; i < 100; ++i) async([] {}).wait();
    EXPECT_LT(resident_private_bytes(), before + 100 * mib);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

}  // namespace
}  // namespace situ
