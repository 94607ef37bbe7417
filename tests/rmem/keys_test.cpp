// Key files: what they say, and who may read them.
#include "rmem/servers.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

using namespace situ_rmem_test;

namespace {

class rmem_keys : public testing::Test {
 protected:
  ~rmem_keys() override { std::filesystem::remove(path); }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream{path} << text;
    ::chmod(path.c_str(), mode);
  }
  std::string path = testing::TempDir() + "situ-rmem-keys-" + std::to_string(::getpid());
};

TEST_F(rmem_keys, lines_are_read_as_they_are_written) {
  write("# all\n\n  " + packages().to_line() + "  # the first\n" + cluster().to_line() + "\n");
  const auto got = rmem::load_keys(path);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].application, "packages");
  EXPECT_EQ(got[0].key, packages().key);
  EXPECT_FALSE(got[0].is_operator);
  EXPECT_TRUE(got[1].is_operator);
  EXPECT_EQ(rmem::load_key(path).application, "packages");
  EXPECT_EQ(rmem::load_key(path, "cluster").key, cluster().key);
  expect_refused(errc::bad_argument, [&] { (void)rmem::load_key(path, "graphs"); }, "no key of graphs");
}

TEST_F(rmem_keys, a_file_that_others_may_read_is_refused) {
  for (const mode_t mode : {0640, 0604, 0660, 0602}) {
    write(packages().to_line(), mode);
    expect_refused(errc::bad_file, [&] { (void)rmem::load_keys(path); }, "chmod 600");
  }
  expect_refused(errc::bad_file, [&] { (void)rmem::load_keys(path + "-none"); }, "No such file");
  expect_refused(errc::bad_file, [&] { (void)rmem::load_keys(testing::TempDir()); });
}

TEST_F(rmem_keys, what_is_no_key_is_named_by_its_line_and_not_shown) {
  const std::string line = packages().to_line();
  const std::string digits = line.substr(line.find(' ') + 1);
  for (const std::string& bad : {std::string{"packages"}, "packages " + digits.substr(1), "packages " + digits + "0",
                                 "pack/ages " + digits, line + " king", line + " operator more",
                                 std::string(24, 'x') + " " + digits, "packages g" + digits.substr(1)}) {
    write(graphs().to_line() + "\n" + bad);
    try {
      (void)rmem::load_keys(path);
      ADD_FAILURE() << bad;
    } catch (const situ::error& refused) {
      EXPECT_THAT(refused.what(), testing::HasSubstr("line 2"));
      EXPECT_THAT(refused.what(), testing::Not(testing::HasSubstr(digits.substr(8, 8))));
    }
  }
  write(line + "\n" + line);
  expect_refused(errc::bad_file, [&] { (void)rmem::load_keys(path); }, "once more");
}

TEST_F(rmem_keys, new_ones_differ) {
  EXPECT_NE(rmem::application_key::generate("a").key, rmem::application_key::generate("a").key);
  for (const char* bad : {"", "a b", "x/y", "123456789012345678901234"})
    expect_refused(errc::bad_argument, [&] { (void)rmem::application_key::generate(bad); });
}

}  // namespace
