// The curve of what it costs to touch data again: between its points, as text, and kept in a folder.
#include <situ/machine/detail/reuse.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

using namespace situ::machine;
namespace fs = std::filesystem;

reuse_curve example() { return reuse_curve{{{1024, 0.5, 1, 2}, {4096, 1.5, 3, 2}, {16384, 1.5, 4, 10}}, 0.25}; }

TEST(reuse, costs_are_linear_over_the_logarithm_between_points) {
  const auto c = example();
  EXPECT_EQ(c.at(1023).read_ns, 0);  // nearer than the first point nothing costs more than in the nearest cache
  EXPECT_EQ(c.at(1024).read_ns, 0.5);
  EXPECT_DOUBLE_EQ(c.at(2048).read_ns, 1.0);
  EXPECT_DOUBLE_EQ(c.at(2048).write_ns, 2.0);
  EXPECT_DOUBLE_EQ(c.at(8192).start_ns, 6.0);
  EXPECT_EQ(c.at(1e12), (reuse_cost{16384, 1.5, 4, 10}));
  EXPECT_EQ(reuse_curve{}.at(1e6).read_ns, 0);
}

TEST(reuse, a_cost_above_that_of_more_bytes_was_disturbed) {
  const reuse_curve c{{{1024, 2, 3, 5}, {2048, 4, 5, 9}, {4096, 1, 4, 6}}};
  EXPECT_EQ(c.points()[0], (reuse_cost{1024, 1, 3, 5}));
  EXPECT_EQ(c.points()[1], (reuse_cost{2048, 1, 4, 6}));
  EXPECT_EQ(c.points()[2], (reuse_cost{4096, 1, 4, 6}));
}

TEST(reuse, text_is_read_again_by_the_same_machine_only) {
  const auto text = to_text(example(), "here 2 threads");
  const auto again = parse_reuse(text, "here 2 threads");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->points(), example().points());
  EXPECT_EQ(again->handed_ns(), 0.25);
  EXPECT_FALSE(parse_reuse(text, "here 4 threads"));
}

TEST(reuse, damaged_text_is_nothing) {
  const auto text = to_text(example(), "here");
  for (std::size_t n = 0; n < text.size(); ++n)
    EXPECT_FALSE(parse_reuse(std::string_view{text}.substr(0, n), "here")) << n;
  const std::string head = "situ reuse 3 here\n";
  for (const char* const bad :
       {"handed 1\n", "1 2 3\nhanded 1\n", "1 2 3 4 5\nhanded 1\n", "1 -2 3 4\nhanded 1\n", "1 nan 3 4\nhanded 1\n",
        "0 1 1 1\nhanded 1\n", "2 1 1 1\n1 1 1 1\nhanded 1\n", "1 1 1 1\nhanded -1\n", "1 1 1 1\nhanded 1\nmore\n"})
    EXPECT_FALSE(parse_reuse(head + bad, "here")) << bad;
  EXPECT_TRUE(parse_reuse(head + "1 1 1 1\nhanded 1\n", "here"));
}

struct kept : testing::Test {
  std::string folder = (fs::path{testing::TempDir()} / "situ_reuse_test_XXXXXX").string();
  int measured = 0;
  kept() {
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error{"no folder"};
  }
  ~kept() override { fs::remove_all(folder); }
  reuse_curve get(const std::string& where, const char* machine = "here") {
    return kept_reuse(where, machine, [&] { return ++measured, example(); });
  }
};

TEST_F(kept, is_measured_once_for_each_machine) {
  const auto inner = folder + "/made/here";
  EXPECT_EQ(get(inner).points(), example().points());
  EXPECT_EQ(get(inner).points(), example().points());
  EXPECT_EQ(measured, 1);
  (void)get(inner, "there");
  EXPECT_EQ(measured, 2);
  EXPECT_EQ(std::distance(fs::directory_iterator{inner}, fs::directory_iterator{}), 2);  // nothing unfinished is left
}

TEST_F(kept, what_is_damaged_is_measured_again_and_replaced) {
  (void)get(folder);
  const auto file = fs::directory_iterator { folder } -> path();
  std::ofstream{file} << "situ reuse 2 here\n1024 0.5";
  EXPECT_EQ(get(folder).points(), example().points());
  EXPECT_EQ(measured, 2);
  (void)get(folder);
  EXPECT_EQ(measured, 2);
}

TEST_F(kept, where_nothing_can_be_kept_it_is_measured_each_time) {
  std::ofstream{folder + "/file"} << "no folder";
  for (const auto& where : {folder + "/file", std::string{}}) {
    measured = 0;
    (void)get(where), (void)get(where);
    EXPECT_EQ(measured, 2) << where;
  }
}

TEST_F(kept, what_could_not_be_measured_is_not_kept) {
  EXPECT_TRUE(kept_reuse(folder, "here", [] { return reuse_curve{}; }).points().empty());
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(reuse, the_folder_is_the_users_choice) {
  const std::string before = std::getenv("SITU_CACHE_DIRECTORY") != nullptr ? std::getenv("SITU_CACHE_DIRECTORY") : "";
  setenv("SITU_CACHE_DIRECTORY", "off", 1);
  EXPECT_EQ(kept_directory(), "");
  setenv("SITU_CACHE_DIRECTORY", "/some/where", 1);
  EXPECT_EQ(kept_directory(), "/some/where");
  before.empty() ? unsetenv("SITU_CACHE_DIRECTORY") : setenv("SITU_CACHE_DIRECTORY", before.c_str(), 1);
}

TEST(reuse, is_measured_up_to_the_wanted_size) {
  const auto c = measure_reuse([](const auto& f) { f(0); }, 1, 1 << 20);
  ASSERT_EQ(c.points().size(), 7u);  // 64, 128, 256, 384, 512, 768, 1024 KiB
  EXPECT_EQ(c.points().front().bytes, 64 << 10);
  EXPECT_EQ(c.points().back().bytes, 1 << 20);
  for (const auto& p : c.points()) {
    EXPECT_TRUE(std::isfinite(p.read_ns) && p.read_ns >= 0);
    EXPECT_GE(p.write_ns, p.read_ns);
  }
  EXPECT_EQ(c.handed_ns(), 0);  // by whom
}

}  // namespace
