// The stacks of threads that run the program's code: as large as the limit says, 64 MiB where there is none, and a
// sentence where one is used up. The limit counts when a program starts, so each case is a run of this program.
#include "os/thread_stacks.h"

#include <situ/situ.h>
#include <situ/stencil/stencil.h>
#include <situ/task/task_graph.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "support/places.h"
#include "support/programs.h"

namespace situ {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr rlim_t mib = rlim_t{1} << 20;

// Takes so many MiB of the running thread's stack, 64 KiB a call.
[[gnu::noinline]] int use_stack(std::size_t mebibytes, std::size_t depth = 0) {
  volatile char frame[64 << 10];
  frame[0] = frame[sizeof frame - 1] = 1;
  return depth == 16 * mebibytes ? frame[0] : use_stack(mebibytes, depth + 1) + frame[0];
}

// --- what runs in the program that is started
// ---------------------------------------------------------------------------

void use_in_a_unit(std::size_t mebibytes) {
  task_graph graph{{.threads = 2}};
  std::atomic<bool> is_over{false};
  graph.add({}, [&] {
    (void)use_stack(mebibytes);
    is_over = true;
  });
  while (!is_over) std::this_thread::yield();  // so that the other thread runs it
  graph.wait();
}

void use_in_a_context(std::size_t mebibytes) {
  stencil::options how;
  how.threads = 2;
  stencil::context c{how};
  c.on_all_threads([&](int thread) {
    if (thread == 1) (void)use_stack(mebibytes);
  });
}

void use_in_a_place(std::size_t mebibytes) {
  const launch_result result = launch(2,
                                      [&] {
                                        if (here().index() == 1) (void)use_stack(mebibytes);
                                      },
                                      {.mode = launch_mode::threads});
  if (!result.ok()) std::exit(9);
}

void use_in_a_thread_of_a_place(std::size_t mebibytes) {
  char name[] = "thread_stacks_test";
  char* arguments[] = {name, nullptr};
  int count = 1;
  char** given = arguments;
  const runtime rt{count, given};
  place_threads threads;
  threads.start([&] { (void)use_stack(mebibytes); });
  threads.join();
}

TEST(thread_stacks, DISABLED_probe) {
  const char* const what = std::getenv("SITU_TEST_STACK_OF");
  const char* const mebibytes = std::getenv("SITU_TEST_STACK_MIB");
  ASSERT_TRUE(what != nullptr && mebibytes != nullptr);
  ::prctl(PR_SET_DUMPABLE, 0);  // no core file
  const std::string_view which{what};
  const std::size_t count = std::strtoull(mebibytes, nullptr, 10);
  if (which == "unit") use_in_a_unit(count);
  if (which == "context") use_in_a_context(count);
  if (which == "place") use_in_a_place(count);
  if (which == "thread") use_in_a_thread_of_a_place(count);
  std::printf("used\n");
}

// --- starting it
// --------------------------------------------------------------------------------------------------------

struct ended {
  os::exit_status end{.is_known = false};
  std::string output;
};

// 77: the limit cannot be so.
ended use(const char* what, int mebibytes, rlim_t limit) {
  const os::exec_texts arguments{
      {"thread_stacks_test", "--gtest_also_run_disabled_tests", "--gtest_filter=thread_stacks.DISABLED_probe"}};
  const os::exec_texts variables{test::environment_with(
      {std::string{"SITU_TEST_STACK_OF="} + what, "SITU_TEST_STACK_MIB=" + std::to_string(mebibytes)})};
  os::output_capture capture;
  os::start_failures failures;
  const auto set_limit = [limit] {
    rlimit now{};
    ::getrlimit(RLIMIT_STACK, &now);
    now.rlim_cur = limit;
    if (limit == RLIM_INFINITY) now.rlim_max = limit;
    if (::setrlimit(RLIMIT_STACK, &now) != 0) ::_exit(77);
    return true;
  };
  os::child child = os::child::start({.file = "/proc/self/exe",
                                      .arguments = arguments,
                                      .environment = &variables,
                                      .output = capture.output_end(),
                                      .errors = capture.output_end()},
                                     {.in_child = set_limit}, failures);
  if (!child) return {};
  (void)capture.read_until_closed({});
  return {child.wait(), std::move(capture.output())};
}

class stacks_of : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (test::with_sanitizer) GTEST_SKIP() << "sanitizers report stacks themselves, and use more of them";
  }
};
INSTANTIATE_TEST_SUITE_P(, stacks_of, testing::Values("unit", "context", "place", "thread"),
                         [](const auto& info) { return std::string{info.param}; });

bool is_out_of_reach(const ended& run) { return run.end.is_known && run.end.code == 77; }

TEST_P(stacks_of, are_as_the_limit_says) {
  const ended fits = use(GetParam(), 40, 48 * mib);
  if (is_out_of_reach(fits)) GTEST_SKIP() << "the hard limit of stacks is lower";
  EXPECT_EQ(test::code_of(fits.end), 0) << fits.output;
  const ended over = use(GetParam(), 60, 48 * mib);
  EXPECT_EQ(over.end.signal, SIGSEGV) << over.output;
  EXPECT_THAT(over.output, AllOf(HasSubstr("48MiB"), HasSubstr("Raise"), HasSubstr("(ulimit -s)")));
}

TEST_P(stacks_of, have_64_MiB_where_there_is_no_limit) {
  const ended fits = use(GetParam(), 56, RLIM_INFINITY);
  if (is_out_of_reach(fits)) GTEST_SKIP() << "stacks cannot be without a limit here";
  EXPECT_EQ(test::code_of(fits.end), 0) << fits.output;
  const ended over = use(GetParam(), 72, RLIM_INFINITY);
  EXPECT_EQ(over.end.signal, SIGSEGV) << over.output;
  EXPECT_THAT(over.output,
              AllOf(HasSubstr("64MiB, which"), HasSubstr("no limit is set"), HasSubstr("ulimit -s 262144")));
}

// The size is that of threads which are made within; the program's own threads have what they had.
TEST(thread_stacks, of_others_are_left_alone) {
  const auto usual = [] {
    pthread_attr_t now;
    std::size_t bytes = 0;
    pthread_getattr_default_np(&now);
    pthread_attr_getstacksize(&now, &bytes);
    pthread_attr_destroy(&now);
    return bytes;
  };
  const std::size_t before = usual();
  {
    const detail::program_stacks outer;
    const detail::program_stacks inner;
  }
  EXPECT_EQ(usual(), before);
}

}  // namespace
}  // namespace situ
