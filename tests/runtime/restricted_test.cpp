// A system that refuses something: errors name what it was, and what can do without it does.
#include "support/restricted.h"

#include <situ/situ.h>

#include <gmock/gmock.h>

#include <csignal>

#include "pages/page_source.h"
#include "support/places.h"

namespace situ {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct restricted : testing::Test {
  void SetUp() override {
    if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  }
  // The limit of locked memory, and not another, is the cause; `of`: what could not be had.
  static void expect_locked_out(const char* of, const std::function<void()>& body) {
    if (test::with_sanitizer) GTEST_SKIP() << "a sanitizer's own mappings are locked, too";
    const std::string said = test::in_a_child([&]() -> std::string {
      test::lock_future_memory(std::uint64_t{8} << 20);
      body();
      return "nothing was refused";
    });
    if (said.starts_with("skipped")) GTEST_SKIP() << said;
    EXPECT_THAT(said, AllOf(HasSubstr(of), HasSubstr("ulimit -l"), HasSubstr("8 MiB"), HasSubstr("MCL_FUTURE"),
                            Not(HasSubstr("ulimit -v"))));
  }
};

TEST_F(restricted, a_job_beyond_the_limit_of_locked_memory) {
  expect_locked_out("addresses of the job's places", [] {
    char name[] = "restricted_test";
    char* arguments[] = {name, nullptr};
    int count = 1;
    char** given = arguments;
    const runtime rt{count, given};
  });
}

TEST_F(restricted, pages_beyond_the_limit_of_locked_memory) {
  expect_locked_out("a dataset: 64 MiB", [] { (void)detail::page_source{}.map(std::size_t{64} << 20, "a dataset"); });
  const memory_kind of_file = memory_kind::parse("file:/tmp");
  expect_locked_out("a dataset: 64 MiB",
                    [&] { (void)detail::page_source{of_file}.map(std::size_t{64} << 20, "a dataset"); });
}

// The launcher finds each end by looking: codes, signals and losses are told as ever.
TEST_F(restricted, a_launcher_without_descriptors_of_processes) {
  for (const int refusal : {EPERM, ENOSYS}) {
    const std::string said = test::in_a_child([&]() -> std::string {
      test::refuse_calls({SYS_pidfd_open, SYS_pidfd_send_signal}, refusal);
      const launch_result fine = launch(3, [] { barrier(); });
      if (!fine.ok()) return fine.message();
      const launch_result code = launch(2, [] { return here().index() == 1 ? 42 : 0; });
      if (code.exit_code() != 42) return "exit code " + std::to_string(code.exit_code());
      const launch_result killed = launch(2, [] {
        if (here().index() == 1) std::raise(SIGKILL);
        barrier();
      });
      if (killed.places[1].signal != SIGKILL || killed.first_lost != place{1}) return killed.message();
      // Those that do not end in time are ended.
      const launch_result late = launch(2,
                                        [] {
                                          if (here().index() == 0)
                                            for (;;) ::pause();
                                        },
                                        {.time_limit = std::chrono::milliseconds{200}});
      return late.ok() ? "nobody was late" : "as ever: " + late.message();
    });
    if (said.starts_with("skipped")) GTEST_SKIP() << said;
    EXPECT_THAT(said, AllOf(HasSubstr("as ever"), HasSubstr("time limit"))) << refusal;
  }
}

}  // namespace
}  // namespace situ
