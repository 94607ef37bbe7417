// What the watcher reads of the kernel's lists.
#include "preload/address_map.h"
#include "preload/spill.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace {

using namespace situ::preload;

text_view view(const char* text) { return {text, text + std::strlen(text)}; }
std::string text(text_view of) { return {of.begin, of.end}; }

bool is_range(const char* line) {
  range found{};
  return parse_range(view(line), found) && found.begin == 0x7f0000001000 && found.end == 0x7f0000003000;
}

TEST(preload_text, numbers_words_and_what_stands_behind) {
  text_view line = view("  4711 kB x");
  EXPECT_EQ(line.take_number(), 4711u);
  EXPECT_EQ(text(line.take_word()), "kB");
  EXPECT_EQ(text(line), " x");
  EXPECT_EQ(view("7fFF").take_number(16), 0x7fu) << "the kernel writes small letters";
  EXPECT_EQ(view("").take_number(), 0u);
  EXPECT_EQ(view("Node 0 MemFree:   12 kB").behind("MemFree:").take_number(), 12u);
  EXPECT_TRUE(view("Node 0 MemFree").behind("MemFree:").empty());
}

TEST(preload_address_map, private_anonymous_memory_alone) {
  EXPECT_TRUE(is_range("7f0000001000-7f0000003000 rw-p 00000000 00:00 0 "));
  EXPECT_TRUE(is_range("7f0000001000-7f0000003000 ---p 00000000 00:00 0"));
  EXPECT_TRUE(is_range("7f0000001000-7f0000003000 rw-p 00000000 00:00 0                          [heap]"));
  EXPECT_TRUE(is_range("7f0000001000-7f0000003000 rw-p 00000000 00:00 0                          [stack]"));
  EXPECT_TRUE(is_range("7f0000001000-7f0000003000 rw-p 00000000 00:00 0                          [anon:jit]"));
  EXPECT_FALSE(is_range("7f0000001000-7f0000003000 r-xp 00000000 00:00 0                          [vdso]"));
  EXPECT_FALSE(is_range("7f0000001000-7f0000003000 rw-s 00000000 00:01 42 /memfd:x (deleted)"));
  EXPECT_FALSE(is_range("7f0000001000-7f0000003000 rw-p 00002000 fe:01 4711 /usr/lib/libc.so.6"));
  for (const char* bad : {"", "x", "7f0000001000", "7f0000001000-", "7f0000003000-7f0000001000 rw-p 0 00:00 0", "7f-"})
    EXPECT_FALSE(is_range(bad)) << bad;
}

class preload_file : public testing::Test {
 protected:
  preload_file() : path_{testing::TempDir() + "situ_preload_" + std::to_string(getpid())} {}
  ~preload_file() override {
    file_.close();
    std::filesystem::remove(path_);
  }
  const proc_file& write(const std::string& content) {
    std::ofstream{path_} << content;
    file_.open(path_.c_str());
    return file_;
  }
  std::string path_;
  proc_file file_;
};

TEST_F(preload_file, long_lines_are_cut_and_none_is_lost) {
  const proc_file& file =
      write(std::string(5000, 'x') + "\nsecond\n" + std::string(4095, 'y') + "\n\nlast\nunfinished");
  std::string seen;
  file.for_each_line([&](text_view line) {
    seen += std::to_string(line.size()) + " ";
    return true;
  });
  EXPECT_EQ(seen, "512 6 512 0 4 ");
  int lines = 0;
  file.for_each_line([&](text_view) { return ++lines < 2; });
  EXPECT_EQ(lines, 2);
}

TEST_F(preload_file, pages_of_each_node) {
  std::map<std::uint32_t, std::uint64_t> bytes;
  count_by_node(write("7f00 default heap anon=7 dirty=7 N0=3 N12=4 kernelpagesize_kB=4\n"
                      "7f10 prefer:1 anon=2 dirty=2 N1=2 kernelpagesize_kB=2048\n"
                      "7f20 default file=/usr/bin/N0=9 mapped=2 N0=2 kernelpagesize_kB=4\n"
                      "7f30 default file=/usr/lib/x anon=1 dirty=1 N0=1 kernelpagesize_kB=4\n"
                      "7f40 default\n"
                      "7f50 default anon=1 N99999999=1 N=3 N0 kernelpagesize_kB=4\n"),
                [&](std::uint32_t node, std::uint64_t part) { bytes[node] += part; });
  EXPECT_EQ(bytes, (std::map<std::uint32_t, std::uint64_t>{{0, 3 * 4096}, {12, 4 * 4096}, {1, 4 << 20}}));
}

TEST(preload_address_map, this_process_is_found_in_its_own_list) {
  void* const memory = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  proc_file maps;
  maps.open("/proc/thread-self/maps");
  bool is_found = false;
  for_each_range(maps, [&](const range& each) {
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    is_found = is_found || (each.begin <= at && at + (1 << 20) <= each.end);
    return true;
  });
  EXPECT_TRUE(is_found);
  maps.close();
  munmap(memory, 1 << 20);
}

TEST(preload_policy, memories_that_take_turns_alike_are_interleaved) {
  control all;
  all.memory_count = 3;
  for (std::uint32_t i = 0; i < 3; ++i) all.memories[i].node = 60 + 10 * i;
  all.memories[2].step = 1;
  const policy together = policy_of(all, 1);
  EXPECT_EQ(together.mode, static_cast<std::uint32_t>(MPOL_INTERLEAVE));
  EXPECT_EQ(together.nodes[0], std::uint64_t{1} << 60);
  EXPECT_EQ(together.nodes[1], std::uint64_t{1} << 6);
  EXPECT_EQ(policy_of(all, 2).mode, static_cast<std::uint32_t>(MPOL_PREFERRED));
  EXPECT_EQ(policy_of(all, 2).first_node(), 80u);
  all.memories[0].weight = 3;
  EXPECT_EQ(policy_of(all, 1).mode, static_cast<std::uint32_t>(MPOL_PREFERRED)) << "turns from look to look";
  EXPECT_EQ(policy_of(all, 1).first_node(), 70u);
}

}  // namespace
