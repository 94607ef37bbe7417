#include "os/numa_nodes.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace situ {
namespace {

std::string file_with(const std::string& text) {
  std::string path = testing::TempDir() + "/numa_nodes." + std::to_string(::getpid());
  std::ofstream{path} << text;
  return path;
}

TEST(processor_list, is_what_the_file_lists) {
  using list = std::vector<int>;
  for (const auto& [text, expected] : {std::pair{"0-3,8,10-11\n", list{0, 1, 2, 3, 8, 10, 11}},
                                       {"7\n", list{7}},
                                       {"\n", list{}},
                                       {"", list{}},
                                       {"2-", list{2}},
                                       {"x", list{}}})
    EXPECT_EQ(os::read_processor_list(file_with(text)), expected) << text;
  ::unlink(file_with("").c_str());
}

TEST(processor_list, is_empty_without_a_file_and_an_error_if_it_cannot_be_read) {
  EXPECT_TRUE(os::read_processor_list("/sys/devices/system/node/none/cpulist").empty());
  try {
    (void)os::read_processor_list(testing::TempDir());  // a folder opens, and cannot be read
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::bad_launch);
    EXPECT_NE(e.message().find(testing::TempDir() + " cannot be read"), std::string::npos) << e.message();
  }
}

TEST(nodes_with_processors, have_processors) {
  for (const os::node_processors& each : os::nodes_with_processors()) EXPECT_FALSE(each.processors.empty());
}

TEST(numa_balancing, is_what_the_file_says) {
  for (const auto& [text, is_on] : {std::pair{"0\n", false}, {"1\n", true}, {"2\n", true}, {"", false}})
    EXPECT_EQ(os::is_numa_balancing_on(file_with(text)), is_on) << text;
  const std::string path = file_with("");
  ::unlink(path.c_str());
  EXPECT_FALSE(os::is_numa_balancing_on(path)) << "a kernel without NUMA";
}

}  // namespace
}  // namespace situ
