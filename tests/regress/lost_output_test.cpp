// Standard error that was closed or on a full disk aborted `situ` whenever it had something to say, and output that
// could not be written was lost with exit code 0 (fmtlib/fmt#3637, vsearch#243, jq#773). So were files that a command
// was asked for.
#include "launch/launch_support.h"

#include <situ/pool/pool.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/build_paths.h"
#include "support/programs.h"

namespace situ::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string situ_program = SITU_TEST_BIN_DIR "/situ";
const std::string probe = SITU_TEST_BIN_DIR "/tests/launch_probe";
constexpr const char* lost = "situ: cannot write standard output: No space left on device\n";

class scratch {
 public:
  scratch() {
    std::string name = testing::TempDir() + "situ-lost-XXXXXX";
    path = ::mkdtemp(name.data());
  }
  ~scratch() { std::filesystem::remove_all(path); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  std::string path;
};

// `situ ARGUMENTS` by a shell, which redirects its streams; %S is the command, %P the probe.
ended_program in_shell(std::string line) {
  for (const auto& [mark, text] : {std::pair{"%S", situ_program}, std::pair{"%P", probe}})
    for (std::size_t at = line.find(mark); at != std::string::npos; at = line.find(mark)) line.replace(at, 2, text);
  return run_program({"/bin/bash", "-c", line});
}

// --- standard error --------------------------------------------------------------------------------------------------

class without_standard_error : public testing::TestWithParam<const char*> {};

TEST_P(without_standard_error, the_exit_code_is_the_same) {
  for (const auto& [code, arguments] :
       {std::pair{7, "run -n 2 bash -c 'exit 7'"}, std::pair{124, "run -n 2 --timeout 0.2 %P sleep"},
        std::pair{0, "run --intent bandwidth --stats -- true"}, std::pair{0, "run -n 2 --stats %P environment"},
        std::pair{1, "run -n 2 ./nonexistent"}, std::pair{1, "topo --machine nope"}, std::pair{106, "run"},
        std::pair{109, "nonsense"}, std::pair{1, "pool info /nonexistent"},
        std::pair{1, "order check --file /nonexistent"}})
    EXPECT_EQ(in_shell(std::string{"%S "} + arguments + " >/dev/null " + GetParam()).exit_code,
              in_shell(std::string{"%S "} + arguments + " >/dev/null 2>/dev/null").exit_code)
        << arguments << " as a rule " << code;
}

TEST_P(without_standard_error, a_program_goes_on) {
  EXPECT_EQ(in_shell(std::string{"%P environment "} + GetParam()).exit_code, 0);
  // an assertion's words are lost, its abort is not
  EXPECT_EQ(in_shell(std::string{"%S run -n 2 %P kill 1 9 "} + GetParam()).exit_code, 137);
}

INSTANTIATE_TEST_SUITE_P(, without_standard_error, testing::Values("2>&-", "2>/dev/full"),
                         [](const auto& info) { return info.index == 0 ? "closed" : "full"; });

TEST(standard_error, exit_codes_are_those_that_the_design_promises) {
  EXPECT_EQ(in_shell("%S run -n 2 bash -c 'exit 7' 2>&-").exit_code, 7);
  EXPECT_EQ(in_shell("%S run -n 2 bash -c 'exit 7' 2>/dev/full").exit_code, 7);
  EXPECT_EQ(in_shell("%S run -n 2 --timeout 0.2 %P sleep 2>&-").exit_code, 124);
  EXPECT_EQ(in_shell("%S run --intent bandwidth --stats -- true 2>&-").exit_code, 0);
  EXPECT_EQ(in_shell("%S run -n 2 ./nonexistent 2>&-").exit_code, 1);
}

// --- standard output -------------------------------------------------------------------------------------------------

class full_output : public testing::TestWithParam<const char*> {
 protected:
  // With %D: a folder that has pools a and b, and the key file `keys` of a name server at unix:%D/names.
  ended_program run(std::string line) {
    for (std::size_t at = line.find("%D"); at != std::string::npos; at = line.find("%D"))
      line.replace(at, 2, folder_.path);
    return in_shell(line);
  }
  scratch folder_;
};

TEST_P(full_output, fails_the_command_with_a_sentence) {
  const std::string arguments = GetParam();
  if (arguments.starts_with("pool"))
    for (const char* const name : {"/a", "/b"}) (void)pool::create(folder_.path + name, {.most_bytes = 16U << 20});
  std::unique_ptr<running_program> server;
  if (arguments.starts_with("rmem ls") || arguments.starts_with("rmem stat")) {
    ASSERT_EQ(run("umask 077; %S rmem key cluster --operator > %D/keys").exit_code, 0);
    server = std::make_unique<running_program>(std::vector<std::string>{situ_program, "rmem", "serve", "--listen",
                                                                        "unix:" + folder_.path + "/names", "--keys",
                                                                        folder_.path + "/keys"});
    ASSERT_TRUE(server->wait_for_output("at unix:"));
  }
  const ended_program good = run("%S " + arguments + " >/dev/null");
  EXPECT_THAT(good.err, Not(HasSubstr("cannot write standard output")));
  if (arguments.starts_with("new")) std::filesystem::remove_all(folder_.path + "/sums");
  std::filesystem::remove(folder_.path + "/c");
  const ended_program full = run("%S " + arguments + " >/dev/full");
  EXPECT_EQ(full.exit_code, good.exit_code == 0 ? 1 : good.exit_code) << full.err << good.err;
  EXPECT_THAT(full.err, testing::EndsWith(lost));
}

INSTANTIATE_TEST_SUITE_P(
    , full_output,
    testing::Values("--help", "--version", "run --help", "pool info --help", "topo", "topo --toml", "topo --json",
                    "topo --orderings", "topo --fill", "topo --jobs", "order show", "order show --json", "order check",
                    "order kernel", "order set bandwidth 0 --file %D/c", "new %D/sums", "study list",
                    "run -n 2 --tag echo hello", "rmem key app", "rmem ls --keys %D/keys unix:%D/names",
                    "rmem stat --keys %D/keys unix:%D/names", "rmem stat --json --keys %D/keys unix:%D/names",
                    "pool info %D/a", "pool info --json %D/a", "pool check %D/a", "pool check --json %D/a",
                    "pool dump --json %D/a", "pool copy %D/a %D/c", "pool diff %D/a %D/b", "pool repair %D/a --to %D/c",
                    "pool compact %D/a"),
    [](const auto& info) {
      std::string name = info.param;
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name + "_" + std::to_string(info.index);
    });

TEST(standard_output, a_job_that_failed_keeps_its_code) {
  const ended_program ended = in_shell("%S run -n 2 --tag bash -c 'echo x; exit 7' >/dev/full");
  EXPECT_EQ(ended.exit_code, 7);
  EXPECT_THAT(ended.err, HasSubstr(lost));
}

TEST(standard_output, of_a_running_job_ends_the_view_of_it) {
  running_program job{{situ_program, "run", "-n", "2", probe, "sleep"}};
  ASSERT_TRUE(job.wait_for_output("\n"));
  const ended_program once = in_shell("%S top --once " + std::to_string(job.pid()) + " >/dev/full");
  EXPECT_EQ(once.exit_code, 1);
  EXPECT_THAT(once.err, HasSubstr(lost));
  const ended_program on = in_shell("%S top " + std::to_string(job.pid()) + " >/dev/full");
  EXPECT_EQ(on.exit_code, 1);
}

// A reader that has read enough ends the command, by a signal or, where that is ignored, by a failed write. Neither
// says anything.
TEST(standard_output, a_reader_that_has_gone_hears_nothing) {
  for (const char* const before : {"", "trap '' PIPE; "}) {
    const ended_program ended = in_shell(std::string{before} + "(sleep 0.2; %S topo --json; echo $? >&2) | true; true");
    EXPECT_THAT(ended.err, testing::AnyOf("141\n", "1\n")) << before;
  }
}

TEST(standard_output, of_a_job_that_nobody_reads_any_more_is_dropped) {
  EXPECT_EQ(in_shell("set -o pipefail; %S run -n 2 --tag bash -c 'sleep 0.2; echo x' | true").exit_code, 0);
}

// --- files -----------------------------------------------------------------------------------------------------------

class full_file : public testing::TestWithParam<const char*> {};

TEST_P(full_file, fails_the_command_with_its_name) {
  const ended_program ended = in_shell(std::string{"%S "} + GetParam());
  EXPECT_EQ(ended.exit_code, std::string_view{GetParam()}.find("--timeout") != std::string_view::npos ? 124 : 1);
  EXPECT_THAT(ended.err, HasSubstr("/dev/full cannot be written: No space left on device"));
}

INSTANTIATE_TEST_SUITE_P(, full_file,
                         testing::Values("run -n 2 --trace /dev/full %P environment",
                                         "run -n 2 --timeout 0.2 --report /dev/full %P sleep",
                                         "run --intent bandwidth --report /dev/full true"));

TEST(files, that_replace_others_are_written_whole_or_not_at_all) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer writes a file at the start of each program, and a limit of 0 ends it there";
#endif
  const scratch folder;
  const std::string file = folder.path + "/orderings.toml";
  ASSERT_EQ(in_shell("%S order set bandwidth 0 --file " + file).exit_code, 0);
  const auto bytes = std::filesystem::file_size(file);
  const ended_program ended =
      in_shell("ulimit -f 0; %S order set latency 0 --file " + file + " | cat; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, testing::AllOf(HasSubstr(file + " cannot be written"), HasSubstr("(ulimit -f)")));
  EXPECT_EQ(std::filesystem::file_size(file), bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder.path}, {}), 1) << "a file beside it is left";
}

TEST(files, that_cannot_be_written_leave_a_failed_job_its_code) {
  EXPECT_EQ(in_shell("%S run -n 2 --trace /dev/full bash -c 'exit 7'").exit_code, 7);
}

}  // namespace
}  // namespace situ::test
