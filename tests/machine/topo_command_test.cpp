// `situ topo` as a person or a script calls it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

using outcome = situ::test::shell_result;

outcome run(const std::string& arguments, const std::string& environment = "LC_ALL=C.UTF-8") {
  return situ::test::run_shell(environment + " " SITU_TEST_BIN_DIR "/situ topo " + arguments);
}

const std::string fixtures = SITU_TEST_SOURCE_DIR "/fixtures/machine/";
const std::string machines = SITU_TEST_SOURCE_DIR "/../machines/";

TEST(topo_command, draws_a_recorded_machine_as_its_golden_tree) {
  std::ostringstream golden;
  golden << std::ifstream{fixtures + "knl-cache-like.txt"}.rdbuf();
  const outcome result = run("--all --xml " + fixtures + "knl-cache-like.xml");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.text, golden.str());
}

TEST(topo_command, draws_ascii_where_the_locale_is_not_utf8) {
  const std::string arguments = "--synthetic '[numa(memory=1073741824)] core:2 pu:1'";
  EXPECT_NE(run(arguments).text.find("├─"), std::string::npos);
  EXPECT_NE(run(arguments, "LC_ALL=C").text.find("|- core 0"), std::string::npos);
  EXPECT_NE(run(arguments + " --ascii").text.find("|- core 0"), std::string::npos);
}

TEST(topo_command, json_of_this_machine_parses) {
  const outcome result = run("--json");
  EXPECT_EQ(result.exit_code, 0);
  const auto json = nlohmann::json::parse(result.text);
  EXPECT_EQ(json["machine"]["nodes"][0]["kind"], "machine");
  EXPECT_FALSE(json.contains("measured"));
}

TEST(topo_command, says_how_full_each_memory_is) {
  const auto json = nlohmann::json::parse(run("--fill --json").text);
  ASSERT_FALSE(json["fill"].empty());
  for (const auto& memory : json["fill"]) {
    EXPECT_EQ(json["machine"]["nodes"][memory["memory"].get<int>()]["kind"], "memory");
    EXPECT_GT(memory["used_bytes"].get<std::uint64_t>(), 1 << 20);
    EXPECT_LT(memory["used_bytes"].get<std::uint64_t>(), memory["total_bytes"].get<std::uint64_t>());
  }
  EXPECT_NE(run("--fill").text.find("Memories in use\n  dram 0"), std::string::npos);
  const outcome elsewhere = run("--fill --synthetic 'core:2 pu:1'");
  EXPECT_NE(elsewhere.exit_code, 0) << elsewhere.text;
}

TEST(topo_command, says_what_running_jobs_have) {
  const auto json = nlohmann::json::parse(run("--jobs --json").text);
  EXPECT_TRUE(json["jobs"].is_array());
  EXPECT_NE(run("--jobs").text.find("Memory of running jobs, by intent"), std::string::npos);
  EXPECT_NE(run("--jobs --synthetic 'core:2 pu:1'").exit_code, 0) << "they run on this machine";
}

// A pipe that nobody writes to: opening it would wait for good.
TEST(topo_command, waits_for_nothing_that_calls_itself_a_job) {
  const std::string name = testing::TempDir() + "situ_topo_pipe." + std::to_string(getpid());
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  const int reader = open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  std::remove(name.c_str());
  const std::string number = std::to_string(reader);
  const int sign = memfd_create(("situ-job-is:" + number).c_str(), MFD_CLOEXEC);
  const int path = memfd_create(("situ-job-is:../fd/" + number).c_str(), MFD_CLOEXEC);
  ASSERT_TRUE(reader >= 0 && sign >= 0 && path >= 0);
  const outcome result = run("--jobs --json", "timeout 20 env");
  ASSERT_EQ(result.exit_code, 0) << result.text;
  const auto found = nlohmann::json::parse(result.text);
  for (const auto& job : found["jobs"]) EXPECT_NE(job["launcher"], getpid());
  for (const int each : {reader, sign, path}) close(each);
}

TEST(topo_command, toml_reads_back_as_it_was_written) {
  const std::string path = testing::TempDir() + "situ_topo_command_test.toml";
  const outcome first = run("--toml --machine " + machines + "knl-7210-flat.toml");
  EXPECT_EQ(first.exit_code, 0);
  std::ofstream{path} << first.text;
  EXPECT_EQ(run("--toml --machine " + path).text, first.text);
  std::remove(path.c_str());
}

TEST(topo_command, draws_a_memory_that_computes) {
  const outcome result = run("--ascii --orderings --machine " + machines + "pim-bitsimd.toml");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(
      result.text.find("pim 1 \"BitSIMD-V\" 4 GiB 27.5 GB/s [bitsimd: 128 banks x 32 subarrays x 1024 rows x 8192 "
                       "columns]"),
      std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("\n  pim              pim 1\n"), std::string::npos) << result.text;
}

TEST(topo_command, lists_orderings) {
  const outcome result = run("--view numa --orderings --machine " + machines + "xeon-max-9480-flat.toml");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.text.find("Orderings seen from package 0\n"
                             "  normal           dram 0 > dram 2 > hbm 1 > hbm 3\n"
                             "  latency          dram 0 > hbm 1 > dram 2 > hbm 3\n"
                             "  write_latency    dram 0 > hbm 1 > dram 2 > hbm 3\n"
                             "  bandwidth        hbm 1 > dram 0 > hbm 3 > dram 2\n"
                             "  write_bandwidth  hbm 1 > dram 0 > hbm 3 > dram 2\n"
                             "  capacity         dram 0 > dram 2 > hbm 1 > hbm 3\n"),
            std::string::npos)
      << result.text;
}

TEST(topo_command, measures_within_one_processor) {
  const outcome result =
      run("--measure --json --seconds 0.01", "taskset -c $(taskset -pc $$ | sed 's/.*: *//; s/[-,].*//')");
  EXPECT_EQ(result.exit_code, 0) << result.text;
  const auto json = nlohmann::json::parse(result.text);
  EXPECT_TRUE(json["measured"]["ping_pongs"].empty());
  EXPECT_FALSE(json["measured"]["skipped"].empty());
}

TEST(topo_command, shows_the_parts_that_a_view_lists) {
  const outcome result = run("--view memories,accelerators,links --machine " + machines + "opteron-6172-2-tesla.toml");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.text.find("link explicit \"PCIe 2.0 x16\" 8 GB/s: dram 0, gpu 4"), std::string::npos) << result.text;
  EXPECT_EQ(result.text.find("L3"), std::string::npos) << result.text;
  const outcome mistake = run("--view memories,vram");
  EXPECT_NE(mistake.text.find("\"vram\" in the view"), std::string::npos) << mistake.text;
}

TEST(topo_command, mistakes_are_explained) {
  const outcome missing = run("--machine /no/such.toml");
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_NE(missing.text.find("/no/such.toml: cannot be read"), std::string::npos) << missing.text;
  for (const char* arguments : {"--view tall", "--measure --xml x.xml", "--toml --json", "--machine a --xml b",
                                "--cores 3", "--nonsense", "--measure --seconds -1", "--measure --json --view numa"})
    EXPECT_NE(run(arguments).exit_code, 0) << arguments;
  const outcome help = run("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.text.find("Examples:"), std::string::npos);
}

}  // namespace
