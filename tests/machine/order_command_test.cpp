// `situ order` as an administrator, a user or a script calls it.
#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

namespace fs = std::filesystem;

using outcome = situ::test::shell_result;

const std::string xeon_max = " --machine " SITU_TEST_SOURCE_DIR "/../machines/xeon-max-9480-flat.toml";

// A home folder of its own, in which the user's file is.
class order_command : public testing::Test {
 protected:
  order_command()
      : home_{testing::TempDir() + "situ_order_command_" + std::to_string(getpid())},
        user_file_{home_ + "/config/situ/orderings.toml"} {
    fs::create_directories(home_);
  }
  ~order_command() override { fs::remove_all(home_); }

  [[nodiscard]] outcome run(const std::string& arguments, const std::string& variables = "") const {
    return situ::test::run_shell("XDG_CONFIG_HOME=" + home_ + "/config " + variables +
                                 " " SITU_TEST_BIN_DIR "/situ order " + arguments);
  }
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
  }

  std::string home_;
  std::string user_file_;
};

TEST_F(order_command, shows_what_decides_by_itself) {
  const outcome result = run("show normal bandwidth" + xeon_max);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(
      result.text.substr(0, result.text.find("\n\n")),
      "Seen from package 0\n"
      "  intent     memories, best first             fill  no room  by\n"
      "  normal     dram 0 > dram 2 > hbm 1 > hbm 3   90%  error    kinds and nearness\n"
      "  bandwidth  hbm 1 > dram 0 > hbm 3 > dram 2   90%  error    kinds and nearness: no bandwidth of dram 2 is "
      "known");
}

TEST_F(order_command, shows_memories_that_compute_under_their_intent) {
  const outcome result = run("show --machine " SITU_TEST_SOURCE_DIR "/../machines/pim-bitsimd.toml");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.text.find("\n  capacity         dram 0                 90%  error    sizes\n"
                             "  pim              pim 1                  90%  error    nearness\n"),
            std::string::npos)
      << result.text;
}

TEST_F(order_command, shows_what_one_initiator_sees) {
  const auto from = [this](const std::string& what) { return run("show bandwidth --from " + what + xeon_max).text; };
  EXPECT_NE(from("'package 1'").find("Seen from package 1\n"), std::string::npos) << from("'package 1'");
  EXPECT_NE(from("1").find("hbm 3 > dram 2 > hbm 1 > dram 0"), std::string::npos) << from("1");
  EXPECT_NE(from("0-1").find("Seen from machine"), std::string::npos) << from("0-1");
  EXPECT_NE(from("'core 3'").find("hbm 1 > dram 0"), std::string::npos) << from("'core 3'");
  EXPECT_NE(from("9").find("there is no NUMA node 9 here"), std::string::npos);
  EXPECT_NE(from("nowhere").find("nothing here is called so"), std::string::npos);
  const std::string gpu = " --xml " SITU_TEST_SOURCE_DIR "/fixtures/machine/gpu-node.xml";
  const outcome device = run("show bandwidth --from 'gpu device 1'" + gpu);
  EXPECT_EQ(device.exit_code, 0) << device.text;
  EXPECT_EQ(device.text.find("Seen from gpu device 1\n"), 0u) << device.text;
}

TEST_F(order_command, knows_the_machines_that_come_with_situ_by_name) {
  const outcome named = run("show bandwidth --machine xeon-max-9480-flat");
  EXPECT_EQ(named.exit_code, 0);
  EXPECT_EQ(named.text, run("show bandwidth" + xeon_max).text);
  const outcome unknown = run("show --machine xeon-max");
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_NE(unknown.text.find("xeon-max: there is no such file, and no such machine: "), std::string::npos)
      << unknown.text;
  EXPECT_NE(unknown.text.find(", xeon-max-9480-flat; give one of these"), std::string::npos) << unknown.text;
}

TEST_F(order_command, sets_what_is_shown_then) {
  const outcome written =
      run("set checkpoint '2*3 + 0, dram 2' --from 0 --fill 75 --no-room last --file " + home_ + "/o.toml" + xeon_max);
  EXPECT_EQ(written.exit_code, 0) << written.text;
  const outcome shown = run("show checkpoint --json --orderings " + home_ + "/o.toml" + xeon_max);
  EXPECT_EQ(shown.exit_code, 0) << shown.text;
  const auto row = nlohmann::json::parse(shown.text)["orderings"][0];
  EXPECT_EQ(row["from"], "package 0");
  EXPECT_EQ(row["steps"][0][0]["name"], "hbm 1");
  EXPECT_EQ(row["steps"][0][0]["weight"], 3);
  EXPECT_EQ(row["steps"][0][1]["node"], 0);
  EXPECT_EQ(row["steps"][1][0]["name"], "dram 2");
  EXPECT_EQ(row["fill"], 0.75);
  EXPECT_EQ(row["no_room"], "last");
  EXPECT_EQ(row["source"], home_ + "/o.toml:1: ordering[0]");
}

TEST_F(order_command, keeps_what_else_is_in_the_file) {
  fs::create_directories(fs::path{user_file_}.parent_path());
  std::ofstream{user_file_} << "# mine\n\n"
                               "[[memory]]\nname = \"half\"\nnode = 0\nbudget = \"1 GiB\"\n\n"
                               "# why: measured in May\n[[ordering]]\nintent = \"latency\"\nmemories = \"0\"\n\n"
                               "# to be replaced\n[[ordering]]\nintent = \"bandwidth\"\nmemories = \"0\"\n";
  const outcome written = run("set bandwidth 'half, 0'");
  EXPECT_EQ(written.exit_code, 0) << written.text;
  EXPECT_EQ(text_of(user_file_),
            "# mine\n\n"
            "[[memory]]\nname = \"half\"\nnode = 0\nbudget = \"1 GiB\"\n\n"
            "# why: measured in May\n[[ordering]]\nintent = \"latency\"\nmemories = \"0\"\n\n"
            "[[ordering]]\nintent = \"bandwidth\"\nmemories = \"half, 0\"\n");
  EXPECT_NE(run("show bandwidth").text.find("half > "), std::string::npos) << "the user's file is read";
  EXPECT_EQ(run("set bandwidth --remove").exit_code, 0);
  EXPECT_EQ(text_of(user_file_).find("bandwidth"), std::string::npos);
  EXPECT_NE(text_of(user_file_).find("measured in May"), std::string::npos);
  EXPECT_NE(run("set bandwidth --remove").exit_code, 0) << "it is not there any more";
}

TEST_F(order_command, writes_nothing_that_does_not_hold_here) {
  const outcome missing = run("set bandwidth '77, 0'");
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_NE(missing.text.find("there is no memory \"77\" here"), std::string::npos) << missing.text;
  EXPECT_FALSE(fs::exists(user_file_));
  EXPECT_EQ(run("set bandwidth 0").exit_code, 0);
  const std::string before = text_of(user_file_);
  for (const char* arguments :
       {"set bandwidth '0,'", "set bandwidth '0, 0'", "set Bandwidth 0", "set bandwidth 0 --from x",
        "set bandwidth 0 --fill 0", "set bandwidth 0 --no-room kill", "set bandwidth"})
    EXPECT_NE(run(arguments).exit_code, 0) << arguments;
  EXPECT_EQ(text_of(user_file_), before);
  for (const auto& file : fs::directory_iterator{fs::path{user_file_}.parent_path()})
    EXPECT_EQ(file.path().string(), user_file_) << "nothing unfinished is left";
}

TEST_F(order_command, the_environment_counts_most) {
  EXPECT_EQ(run("set bandwidth 0 --fill 50").exit_code, 0);
  std::ofstream{home_ + "/run.toml"} << "[[ordering]]\nintent = \"bandwidth\"\nmemories = \"0\"\nfill = 60\n";
  EXPECT_NE(run("show bandwidth").text.find("50%"), std::string::npos);
  EXPECT_NE(run("show bandwidth", "SITU_ORDERINGS=" + home_ + "/run.toml").text.find("60%"), std::string::npos);
  const outcome missing = run("show", "SITU_ORDERINGS=" + home_ + "/none.toml");
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_NE(missing.text.find("none.toml: cannot be read"), std::string::npos) << missing.text;
}

TEST_F(order_command, checks_files_and_says_what_is_wrong) {
  EXPECT_EQ(run("check").exit_code, 0);
  EXPECT_EQ(run("set bandwidth 0").exit_code, 0);
  const outcome good = run("check");
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_EQ(good.text, user_file_ + ": read\nno faults\n");
  std::ofstream{home_ + "/bad.toml"} << "[[ordering]]\nintent = \"bandwidth\"\nmemories = \"77\"\n";
  const outcome absent = run("check " + home_ + "/bad.toml");
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_NE(absent.text.find("bad.toml:3: ordering[0].memories: there is no memory \"77\" here"), std::string::npos)
      << absent.text;
  std::ofstream{home_ + "/bad.toml"} << "[[ordering\n";
  EXPECT_EQ(run("check " + home_ + "/bad.toml").exit_code, 1);
}

TEST_F(order_command, help_has_examples) {
  const outcome help = run("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.text.find("Examples:"), std::string::npos);
  EXPECT_NE(run("").exit_code, 0);
  EXPECT_NE(run("show --nonsense").exit_code, 0);
}

// --- the kernel's lists ---

// A folder as the kernel's, of node 0 whose lists are as given.
class kernel_lists : public order_command {
 protected:
  kernel_lists() : folder_{home_ + "/node"} {
    for (const char* node : {"/node0", "/node1"}) {
      fs::create_directories(folder_ + node);
      std::ofstream{folder_ + node + "/cpulist"} << (std::string{node} == "/node0" ? "0\n" : "\n");
      for (const char* name : {"latency", "bandwidth", "capacity", "normal"}) {
        std::ofstream{folder_ + node + "/" + name + "_order"} << "0\n";
        std::ofstream{folder_ + node + "/" + name + "_order_fill"} << "90\n";
      }
    }
  }
  std::string folder_;
};

TEST_F(kernel_lists, are_shown_beside_what_situ_orders) {
  ASSERT_EQ(run("set bandwidth 0 --fill 80").exit_code, 0);
  const outcome result = run("kernel --nodes " + folder_);
  EXPECT_EQ(result.exit_code, 0) << result.text;
  EXPECT_NE(result.text.find("node 0  latency    0                      90%  the kernel"), std::string::npos)
      << result.text;
  EXPECT_NE(result.text.find("Situ, which orders dram 0 up to 80%"), std::string::npos) << result.text;
  EXPECT_EQ(result.text.find("node 1"), std::string::npos) << "it has no processors";
  EXPECT_EQ(text_of(folder_ + "/node0/bandwidth_order_fill"), "90\n") << "shown only";
}

TEST_F(kernel_lists, are_written_where_they_differ) {
  ASSERT_EQ(run("set bandwidth 0 --fill 80").exit_code, 0);
  const outcome result = run("kernel --write --nodes " + folder_);
  EXPECT_EQ(result.exit_code, 0) << result.text;
  EXPECT_EQ(text_of(folder_ + "/node0/bandwidth_order_fill"), "80");
  EXPECT_EQ(text_of(folder_ + "/node0/bandwidth_order"), "0");
  EXPECT_EQ(text_of(folder_ + "/node0/capacity_order"), "0\n") << "untouched";
  EXPECT_NE(result.text.find("80%  the kernel, from now on"), std::string::npos) << result.text;
}

TEST_F(kernel_lists, a_kernel_without_them_is_said_to_be_one) {
  const outcome shown = run("kernel --nodes " + home_);
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_NE(shown.text.find("no ordered policies"), std::string::npos);
  EXPECT_EQ(run("kernel --write --nodes " + home_).exit_code, 1);
}

}  // namespace
