// A job's memory file was made longer than the limit on the size of files (ulimit -f), and SIGXFSZ ended the job with
// exit code 153 and no word (dotnet/runtime#117819, erlang/otp#11661, asmjit#527).
#include "launch/launch_support.h"

#include "memory/job.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "support/build_paths.h"
#include "support/programs.h"

namespace situ::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string situ_run = SITU_TEST_BIN_DIR "/situ run ";
const std::string probe = SITU_TEST_BIN_DIR "/tests/launch_probe ";

ended_program limited(std::uint64_t kib, const std::string& line) {
  return run_program({"/bin/bash", "-c", "ulimit -f " + std::to_string(kib) + "; exec " + line});
}

constexpr std::uint64_t ten_gb = 10'000'000;  // of KiB; a slice has 64 GiB without a limit

TEST(file_size_limit, a_job_that_fits_by_smaller_slices_runs) {
  for (const std::string& how : {situ_run + "-n 2 ", situ_run + "-n 2 --in-process ", situ_run + "-n 12 ",
                                 situ_run + "-n 2 --memory file:/tmp ", std::string{}}) {
    const ended_program ended = limited(ten_gb, how + probe + "environment");
    EXPECT_EQ(ended.exit_code, 0) << how << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("place 0 of ")) << how;
  }
  const ended_program launched = limited(ten_gb, probe + "streams-launch 0");
  EXPECT_EQ(launched.exit_code, 0) << launched.err;
}

TEST(file_size_limit, a_job_that_does_not_fit_is_refused_with_the_limits_name) {
  for (const std::string& how : {situ_run + "-n 2 ", situ_run + "-n 2 --in-process ", std::string{}}) {
    const ended_program ended = limited(100'000, how + probe + "environment");
    EXPECT_NE(ended.exit_code, 0) << how;
    EXPECT_NE(ended.exit_code, 128 + SIGXFSZ) << how;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("bad launch: "), HasSubstr("limit on the size of files is 97.7 MiB"),
                                 HasSubstr("(ulimit -f)")))
        << how;
  }
  EXPECT_THAT(limited(ten_gb, situ_run + "-n 2000 " + probe + "environment").err, HasSubstr("start fewer places"));
}

TEST(file_size_limit, a_program_that_is_not_of_situ_is_run_or_told) {
  EXPECT_EQ(limited(ten_gb, situ_run + "--intent bandwidth --stats -- true").exit_code, 0);
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer writes a file at the start of each program, and a limit of 0 ends it there";
#endif
  const ended_program small = limited(0, situ_run + "--intent bandwidth -- true");
  EXPECT_EQ(small.exit_code, 1);
  EXPECT_THAT(small.err, HasSubstr("(ulimit -f)"));
}

// Slices of less than 128 MiB are of no use, and the places of several hosts agree on their size.
TEST(file_size_limit, slices_are_halved_within_reason) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto shift = [&](rlim_t limit, const detail::job_options& options) -> std::uint32_t {
    const rlimit tight{limit, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tight);
    try {
      const std::uint32_t made = detail::job::create(options).control().slice_shift;
      ::setrlimit(RLIMIT_FSIZE, &before);
      return made;
    } catch (const error& refused) {
      ::setrlimit(RLIMIT_FSIZE, &before);
      EXPECT_THAT(refused.what(), HasSubstr("(ulimit -f)"));
      EXPECT_EQ(refused.code(), errc::bad_launch);
      return 0;
    }
  };
  const std::uint32_t unlimited = detail::job::create({.place_count = 2}).control().slice_shift;
  EXPECT_EQ(shift(rlim_t{1} << 40, {.place_count = 2}), unlimited);
  EXPECT_EQ(shift(rlim_t{1} << 30, {.place_count = 2}), 28);  // not 29: the control block comes on top
  EXPECT_EQ(shift((rlim_t{1} << 30) + (1 << 20), {.place_count = 2}), 29);
  EXPECT_EQ(shift(rlim_t{1} << 28, {.place_count = 2}), 0);
  const std::vector<detail::place_home> two_hosts{{0, 0}, {1, 0}};
  EXPECT_EQ(shift(rlim_t{1} << 30, {.place_count = 2, .homes = two_hosts, .host = 0}), 0);
}

}  // namespace
}  // namespace situ::test
