// `situ rmem run`: programs that know nothing of Situ, with remote memory.
#include "rmem/command.h"

#include <sys/syscall.h>

#include <tuple>

#include "support/build_paths.h"
#include "support/programs.h"

using namespace situ_rmem_test;
using nlohmann::json;

namespace {

class rmem_run : public rmem_keys {
 protected:
  void SetUp() override {
    const long made = ::syscall(SYS_userfaultfd, O_CLOEXEC);
    if (made < 0) GTEST_SKIP() << "this user may not have the kernel's own touches told";
    ::close(static_cast<int>(made));
  }
  ~rmem_run() override { std::filesystem::remove(report_file); }
  // A server's memory for all tests of one process.
  [[nodiscard]] std::string options(const std::string& endpoint, const std::string& more = "--local 8MiB") const {
    return "run " + more + " --timeout 5 --server " + endpoint + " --keys " + keys + " --report " + report_file +
           " -- ";
  }
  [[nodiscard]] json report() const { return json::parse(std::ifstream{report_file}); }
  const std::string report_file = keys + ".json";
  const std::string subject = SITU_TEST_BIN_DIR "/tests/rmem_run_subject ";
};

// What the program does, and how pages come and go.
class rmem_run_of : public rmem_run, public testing::WithParamInterface<std::tuple<const char*, bool>> {};

TEST_P(rmem_run_of, finds_what_a_program_expects_of_memory) {
  const auto [what, by_copies] = GetParam();
  served memory{{"--keys", keys, "--memory", "512MiB", "--listen", "unix:" + keys + ".socket"}};
  const told ran = run(options(by_copies ? "unix:" + keys + ".socket" : memory.endpoint()) + subject + what);
  EXPECT_EQ(ran.exit_code, 0) << ran.text;
  EXPECT_EQ(ran.text, "done\n");
  const json counts = report();
  EXPECT_GT(counts["allocations"], 0);
  EXPECT_LE(counts["local_most_bytes"], 8 << 20);
  EXPECT_GE(counts["most_bytes"], 16 << 20);
  EXPECT_GT(counts["fetched_pages"], 1000);
  EXPECT_EQ(counts["is_mapped"], by_copies);
  const json left = json::parse(run("stat --json --keys " + keys + " " + memory.endpoint()).text);
  EXPECT_EQ(left[0]["used_bytes"], 0);
  EXPECT_EQ(left[0]["reads"] == 0 && left[0]["writes"] == 0, by_copies) << left;
}
INSTANTIATE_TEST_SUITE_P(, rmem_run_of,
                         testing::Combine(testing::Values("blocks", "random", "system_calls", "mappings", "forks",
                                                          "fork_beside_threads", "threads", "others"),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::string{std::get<0>(info.param)} +
                                  (std::get<1>(info.param) ? "_by_copies" : "_by_messages");
                         });

TEST_F(rmem_run, programs_of_the_system_find_their_results) {
  served memory{{"--keys", keys, "--memory", "512MiB"}};
  // 100,000 lines the other way round.
  const told sorted = run(options(memory.endpoint(), "--local 2MiB") +
                          "sh -c 'seq 100000 -1 1 | sort -n -S 24M --parallel=1 | cksum; seq 1 100000 | cksum'");
  const std::size_t half = sorted.text.size() / 2;
  EXPECT_EQ(sorted.text.substr(0, half), sorted.text.substr(half)) << sorted.text;
  EXPECT_GT(report()["allocations"], 0);
}

TEST_F(rmem_run, the_exit_is_the_programs) {
  served memory{{"--keys", keys, "--memory", "64MiB"}};
  EXPECT_EQ(run(options(memory.endpoint()) + "sh -c 'exit 7'").exit_code, 7);
  EXPECT_EQ(run(options(memory.endpoint()) + "/no/such/program").exit_code, 1);
  const told refused = run(options(memory.endpoint()) + subject + "too_much");
  EXPECT_EQ(refused.exit_code, 0);
  EXPECT_THAT(refused.text,
              testing::HasSubstr("1 allocations of the program were refused (ENOMEM): 32 MiB at the server"));
}

class rmem_run_lost : public rmem_run, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(, rmem_run_lost, testing::Bool(),
                         [](const auto& info) { return info.param ? "by_copies" : "by_messages"; });

TEST_P(rmem_run_lost, a_server_that_is_lost_ends_the_program_with_a_sentence) {
  const std::string socket = keys + ".socket";
  served memory{{"--keys", keys, "--memory", "64MiB", "--listen", "unix:" + socket}};
  const std::string endpoint = GetParam() ? "unix:" + socket : memory.endpoint();
  situ::test::running_program program{
      {"/bin/sh", "-c", SITU_TEST_BIN_DIR "/situ rmem " + options(endpoint) + subject + "fills_and_waits 2>&1"}};
  EXPECT_TRUE(program.wait_for_output("filled\n"));
  EXPECT_TRUE(program.output().starts_with("filled\n")) << program.output();
  memory.signal(SIGKILL);
  const situ::test::ended_program ended = program.wait(std::chrono::seconds{100});
  EXPECT_EQ(ended.exit_code, 1) << ended.out;
  const std::string text = ended.out.substr(std::min(ended.out.size(), std::string_view{"filled\n"}.size()));
  // By a touch, or while room is made for the next ones.
  EXPECT_THAT(text,
              testing::ContainsRegex("\\(byte [0-9]+ of the region at 0x[0-9a-f]+ of server 0\\) cannot be (touched|"
                                     "written back): .*" +
                                     endpoint));
  std::filesystem::remove(socket);  // a killed server leaves it
}

TEST_F(rmem_run, what_cannot_be_is_said_with_the_figures) {
  served memory{{"--keys", keys, "--memory", "64MiB"}};
  const auto said = [&](const std::string& more, const std::string& endpoint) {
    const told ran = run(options(endpoint, more) + "true");
    EXPECT_EQ(ran.exit_code, 1);
    return ran.text;
  };
  EXPECT_THAT(said("--local 512KiB", memory.endpoint()), testing::HasSubstr("needs a budget of 1 MiB or more"));
  EXPECT_THAT(
      said("--local 8MiB --remote 1GiB", memory.endpoint()),
      testing::AllOf(testing::HasSubstr("no 1 GiB for the program"), testing::HasSubstr("where 64 MiB are free")));
  EXPECT_THAT(said("--local 8MiB", "127.0.0.1:1"), testing::HasSubstr("Start a server (situ rmem serve"));
  EXPECT_THAT(said("--local 8MiB --from 4KiB", memory.endpoint()), testing::HasSubstr("--from is 64KiB or more"));
}

}  // namespace
