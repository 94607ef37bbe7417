// Pages of one process from every kind of memory: zeros, as many as asked for, given back when they end; and what is
// said where there are none.
#include "pages/page_source.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pages/page_file.h"
#include "support/memory_kinds.h"
#include "support/pim_file.h"

namespace situ::detail {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
constexpr std::size_t mib = std::size_t{1} << 20;

TEST(memory_kind, is_written_as_it_is_read) {
  EXPECT_EQ(memory_kind::parse("").from, memory_kind::source::kernel);
  EXPECT_EQ(memory_kind::parse("node:3"), memory_kind::of_node(3));
  EXPECT_EQ(memory_kind::parse("intent:capacity"), memory_kind{intent::capacity});
  EXPECT_EQ(memory_kind::parse("file:/scratch").path, "/scratch");
  EXPECT_TRUE(memory_kind::parse("huge").has_file());
  EXPECT_FALSE(memory_kind::parse("node:3").has_file());
  for (const char* text : {"huge:2", "node:", "node:-1", "node:1x", "device:", "intent:Fast!", "disk"})
    EXPECT_THROW((void)memory_kind::parse(text), error) << text;
}

TEST(memory_kind, of_memories_that_compute_has_a_file_and_a_kind_for_its_cells) {
  const memory_kind plain = memory_kind::parse("pim:m.toml");
  EXPECT_EQ(plain.from, memory_kind::source::pim);
  EXPECT_EQ(plain.path, "m.toml");
  EXPECT_EQ(plain.of_pages(), memory_kind{});
  EXPECT_FALSE(plain.has_file());
  EXPECT_EQ(memory_kind::parse("pim:m.toml,node:2").of_pages(), memory_kind::of_node(2));
  EXPECT_FALSE(memory_kind::parse("pim:m.toml,intent:capacity").has_file());
  const memory_kind in_file = memory_kind::parse("pim:m.toml,file:/scratch,1");
  EXPECT_EQ(in_file.path, "m.toml");
  EXPECT_EQ(in_file.of_pages(), memory_kind::parse("file:/scratch,1"));
  EXPECT_TRUE(in_file.has_file());
  EXPECT_TRUE(memory_kind::parse("pim:m.toml,huge").has_file());
  EXPECT_EQ(memory_kind::of_node(2).of_pages(), memory_kind::of_node(2));
  for (const char* text : {"pim", "pim:", "pim:,huge", "pim:m.toml,", "pim:m.toml,disk", "pim:m.toml,pim:m.toml"})
    EXPECT_THROW((void)memory_kind::parse(text), error) << text;
}

bool is_zero(const sourced_pages& p) {
  return std::all_of(p.data(), p.data() + p.size(), [](std::byte b) { return b == std::byte{}; });
}

TEST(page_source, every_kind_gives_zeros_again_and_again) {
  const test::kinds_of_memory kinds{8 * mib};
  auto all = kinds.files(3);
  all.emplace_back();
  for (const memory_kind& kind : all) {
    const page_source from{kind};
    for (int round = 0; round < 3; ++round) {  // 4 MiB and 2 of 8: only if they are given back
      const sourced_pages first = from.map(3 * mib, "first"), second = page_source{kind}.map(mib, "second");
      EXPECT_GE(first.size(), 3 * mib);
      EXPECT_TRUE(is_zero(first) && is_zero(second)) << from.description() << " round " << round;
      std::memset(first.data(), 1, first.size());
      EXPECT_TRUE(is_zero(second)) << from.description();
      std::memset(second.data(), 2, second.size());
    }
  }
}

TEST(page_source, a_stretch_is_the_same_bytes_wherever_it_is_mapped) {
  const test::kinds_of_memory kinds{8 * mib};
  for (const memory_kind& kind : kinds.files(2)) {
    const file_stretch other = page_source{kind}.open(2 * mib, "other");
    const file_stretch file = page_source{kind}.open(2 * mib, "a stretch");
    const os::mapping whole = file.map(0, file.bytes());
    const os::mapping again = file.map(0, file.bytes());
    ASSERT_TRUE(whole && again);
    whole.begin()[2 * mib - 1] = std::byte{7};
    EXPECT_EQ(again.begin()[2 * mib - 1], std::byte{7});
  }
}

TEST(page_source, a_device_is_dealt_out_and_its_end_is_said) {
  const test::kinds_of_memory kinds{8 * mib};
  const page_source from{kinds.device()};
  auto a = from.map(2 * mib, "a"), b = from.map(2 * mib, "b"), c = from.map(4 * mib, "c");
  EXPECT_THAT([&] { (void)from.map(1, "dataset 'd'"); },
              ThrowsMessage<error>(AllOf(HasSubstr("dataset 'd': memory of a device"), HasSubstr("of 8 MiB are free"),
                                         HasSubstr("2 MiB are needed"))));
  a = {};
  c = {};
  EXPECT_THAT([&] { (void)from.map(6 * mib, "e"); }, ThrowsMessage<error>(HasSubstr("4 MiB of 8 MiB are free")));
  b = {};
  EXPECT_EQ(from.map(8 * mib, "all").size(), 8 * mib) << "what was given back is one piece again";
}

TEST(page_source, what_cannot_be_had_is_said_by_what_wanted_it) {
  const test::kinds_of_memory kinds{8 * mib};
  const auto map = [](const memory_kind& kind, std::size_t bytes) {
    return [=] { (void)page_source{kind}.map(bytes, "dataset 'u'"); };
  };
  constexpr std::size_t huge = std::size_t{1} << 46;
  EXPECT_THAT(map(kinds.file(), huge), ThrowsMessage<error>(AllOf(HasSubstr("dataset 'u': memory in a file"),
                                                                  HasSubstr("are needed at least"))));
  EXPECT_THAT(map(kinds.huge(), huge), ThrowsMessage<error>(HasSubstr("nr_hugepages")));
  EXPECT_THAT(map(memory_kind::parse("device:/no/such"), 1), ThrowsMessage<error>(HasSubstr("cannot be opened")));
  EXPECT_THROW((void)page_source{memory_kind::of_node(1000)}, error);
  const auto code_of = [&](const memory_kind& kind, std::size_t bytes) -> std::optional<errc> {
    try {
      map(kind, bytes)();
    } catch (const error& bad) {
      return bad.code();
    }
    return std::nullopt;
  };
  EXPECT_EQ(code_of(kinds.file(), huge), errc::out_of_memory);
  EXPECT_EQ(code_of(kinds.huge(), huge), errc::out_of_memory);
  EXPECT_EQ(code_of(kinds.device(), 9 * mib), errc::out_of_memory);
  EXPECT_EQ(code_of({}, std::size_t{1} << 62), errc::out_of_memory);
  EXPECT_EQ(code_of(memory_kind::parse("device:/no/such"), 1), errc::bad_launch);
  EXPECT_EQ(code_of(memory_kind::parse("file:/no/such/name"), 1), errc::bad_launch);
  EXPECT_THAT(map({}, std::size_t{1} << 62), ThrowsMessage<error>(HasSubstr("Cannot allocate memory")));
}

// The memories are of 32 and 64 KiB.
TEST(page_source, memories_that_compute_are_filled_in_their_order_and_no_further) {
  const test::pim_file file;
  const test::kinds_of_memory kinds{8 * mib};
  constexpr std::size_t kib = 1024;
  for (const std::string& cells : {std::string{}, std::string{",node:0"}, ",file:" + kinds.file().path}) {
    const memory_kind kind = memory_kind::parse("pim:" + file.path() + cells);
    const page_source from{kind};
    EXPECT_FALSE(from.populates());
    EXPECT_THAT(from.description(), HasSubstr("memory that computes (pim 2 > pim 1) of " + file.path()));
    const auto refused = [&](std::size_t bytes) { return [&, bytes] { (void)from.map(bytes, "dataset 'u'"); }; };
    for (int round = 0; round < 2; ++round) {
      const sourced_pages first = from.map(40 * kib, "first");
      EXPECT_TRUE(is_zero(first)) << cells;
      std::memset(first.data(), 1, first.size());
      EXPECT_THAT(refused(60 * kib),
                  ThrowsMessage<error>(AllOf(
                      HasSubstr("dataset 'u': 60 KiB do not fit into the memory that computes (pim 2 > pim 1) of "),
                      HasSubstr("56 KiB of 60 KiB placed, no memory has room for more"),
                      HasSubstr("\n  pim 2              32 KiB     32 KiB  100.0 %    100.0 %        0 B"),
                      HasSubstr("\n  pim 1              64 KiB     64 KiB  100.0 %    100.0 %     56 KiB"))));
      const sourced_pages rest = page_source{kind}.map(56 * kib, "rest");
      EXPECT_THAT(refused(1), ThrowsMessage<error>(HasSubstr("do not fit"))) << cells;
    }
  }
}

TEST(page_source, without_a_memory_that_computes_there_is_none_for_it) {
  const auto make = [](const std::string& kind) { return [=] { (void)page_source{memory_kind::parse(kind)}; }; };
  EXPECT_THAT(make("pim:/no/such.toml"), ThrowsMessage<error>(HasSubstr("/no/such.toml")));
  EXPECT_THAT(make("intent:pim"),
              ThrowsMessage<error>(HasSubstr("no memory of this machine computes, so nothing can be allocated")));
  const test::pim_file file;
  EXPECT_THAT([&] { (void)page_file::create(memory_kind::parse("pim:" + file.path()), "name"); },
              ThrowsMessage<error>(HasSubstr("what several processes share cannot lie in it")));
}

// By one name, which each has for a moment only.
TEST(page_source, files_of_one_name_are_made_at_once) {
  const test::kinds_of_memory kinds{mib};
  const memory_kind kind = memory_kind::parse("file:" + kinds.file().path + "/name");
  std::atomic<int> made{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < 500; ++k) {
          (void)page_file::create(kind, "");
          made.fetch_add(1);
        }
      });
  }
  EXPECT_EQ(made.load(), 2000);
}

}  // namespace
}  // namespace situ::detail
