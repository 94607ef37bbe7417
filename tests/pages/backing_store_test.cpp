// Backing stores: what is written is read again, by several queues at once; a file's end, its errors, and the file as
// others see it.
#include <situ/pages/backing_store.h>

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "pages/file_store.h"
#include "support/memory_kinds.h"

namespace situ {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;
using direction = backing_store::direction;
constexpr std::size_t page = backing_store::page_bytes;

struct free_memory {
  void operator()(std::byte* p) const { std::free(p); }
};
std::unique_ptr<std::byte, free_memory> pages(std::size_t count, int value) {
  auto* const made = static_cast<std::byte*>(std::aligned_alloc(page, count * page));
  std::memset(made, value, count * page);
  return std::unique_ptr<std::byte, free_memory>{made};
}
void now(backing_store& s, direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  s.start(to, memory, offset, bytes, 3);
  s.wait(3);
}

class file : public testing::TestWithParam<page_cache> {
 protected:
  file() { ::close(::mkstemp(path_.data())); }
  ~file() override { std::filesystem::remove(path_); }
  [[nodiscard]] std::shared_ptr<backing_store> store(std::uint64_t bytes) const {
    return make_named_file_store(path_, bytes, GetParam());
  }
  [[nodiscard]] std::string text() const {
    std::ifstream in{path_, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  std::string path_ = testing::TempDir() + "situ_store_XXXXXX";
};
INSTANTIATE_TEST_SUITE_P(cache, file, testing::Values(page_cache::past, page_cache::through),
                         [](const auto& info) { return info.param == page_cache::past ? "past" : "through"; });

TEST_P(file, keeps_what_is_written_and_ends_where_it_ended) {
  {
    const auto s = store(3 * page + 100);
    EXPECT_EQ(s->allocate(3 * page + 100), 0);
    const auto in = pages(4, 'x');
    now(*s, direction::write, in.get(), 0, 4 * page);
    auto out = pages(4, 'y');
    now(*s, direction::read, out.get(), 0, 4 * page);
    EXPECT_EQ(std::memcmp(in.get(), out.get(), 3 * page + 100), 0);
    EXPECT_EQ(out.get()[3 * page + 100], std::byte{0});  // behind the end
  }
  EXPECT_EQ(text(), std::string(3 * page + 100, 'x'));
  std::ofstream{path_, std::ios::in | std::ios::out} << "other words";
  auto out = pages(1, 'y');
  now(*store(10), direction::read, out.get(), 0, page);
  EXPECT_EQ(std::string(reinterpret_cast<char*>(out.get()), 10), "other word");
}

TEST_P(file, several_queues_at_once) {
  const auto s = store(70 * page);
  std::vector<std::unique_ptr<std::byte, free_memory>> in;
  for (int i = 0; i < 70; ++i) {
    in.push_back(pages(1, i));
    s->start(direction::write, in.back().get(), static_cast<std::uint64_t>(i) * page, page, i % backing_store::queues);
  }
  for (int q = 0; q < backing_store::queues; ++q) s->wait(q);
  const std::string now_there = text();
  for (std::size_t i = 0; i < 70; ++i) EXPECT_EQ(now_there[i * page], static_cast<char>(i));
}

// By SIGXFSZ it ended the process, without a word.
TEST_P(file, a_limit_on_the_size_of_files_is_an_error_that_names_it) {
  const auto s = store(4 * page);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{2 * page, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  const auto in = pages(1, 'x');
  EXPECT_THAT(
      [&] { now(*s, direction::write, in.get(), 3 * page, page); },
      ThrowsMessage<error>(HasSubstr("cannot be written at byte 12288: the limit on the size of files is 8 KiB")));
  EXPECT_THAT([&] { (void)store(8 * page); },
              ThrowsMessage<error>(AllOf(HasSubstr("cannot be made long enough"), HasSubstr("(ulimit -f)"))));
  now(*s, direction::write, in.get(), page, page);
  ::setrlimit(RLIMIT_FSIZE, &before);
}

TEST_P(file, says_what_is_wrong_once) {
  EXPECT_THAT([] { (void)make_named_file_store("/no/such/folder/x", 1); },
              ThrowsMessage<error>(HasSubstr("/no/such/folder/x: cannot be opened")));
  const auto s = store(4 * page);
  (void)s->allocate(4 * page);
  EXPECT_THAT([&] { (void)s->allocate(page); }, ThrowsMessage<error>(HasSubstr("which gives all once")));
  std::filesystem::resize_file(path_, page);
  auto out = pages(1, 0);
  EXPECT_THAT([&] { now(*s, direction::read, out.get(), 2 * page, page); },
              ThrowsMessage<error>(HasSubstr("cannot be read at byte 8192: it has been made shorter")));
  now(*s, direction::read, out.get(), 0, page);  // the queue goes on
}

TEST(unnamed_file, without_a_carrier_of_its_own_has_threads) {
  const auto s = detail::make_unnamed_file_store({.directory = testing::TempDir(), .name_begin = "situ-test-"});
  EXPECT_THAT(s->description(), AllOf(HasSubstr("file in " + testing::TempDir()), Not(HasSubstr("threads"))));
  EXPECT_EQ(s->allocate(1), 0u);
  constexpr std::size_t many = 3 * detail::carried_piece_bytes / page + 1;
  EXPECT_EQ(s->allocate(many * page), page) << "whole pages";
  auto in = pages(many, 'x');
  in.get()[2 * detail::carried_piece_bytes] = std::byte{'z'};
  now(*s, direction::write, in.get(), page, many * page);
  const auto out = pages(many + 1, 'y');
  now(*s, direction::read, out.get(), 0, (many + 1) * page);
  EXPECT_EQ(out.get()[0], std::byte{0});
  EXPECT_EQ(std::memcmp(in.get(), out.get() + page, many * page), 0);
  EXPECT_THAT([&] { now(*s, direction::read, out.get(), (many + 1) * page, page); },
              ThrowsMessage<error>(AllOf(HasSubstr("the backing file in '" + testing::TempDir() + "' cannot be read"),
                                         HasSubstr("unexpected end of file"))));
}

TEST(unnamed_file, says_which_carrier_was_refused) {
  const detail::make_carrier refused = [](const detail::store_file& file, std::string& refusal) {
    refusal = file.number() >= 0 ? "there is no ring" : "there is no file";
    return std::unique_ptr<detail::file_carrier>{};
  };
  const auto s = detail::make_unnamed_file_store(
      {.directory = testing::TempDir(), .name_begin = "situ-test-", .preferred = refused});
  EXPECT_THAT(s->description(), HasSubstr("; by threads, since there is no ring"));
  EXPECT_THAT(
      [&] { (void)detail::make_unnamed_file_store({.directory = "/no/such/folder", .remedy = "choose another"}); },
      ThrowsMessage<error>(
          HasSubstr("no backing file in '/no/such/folder': No such file or directory; choose another")));
}

TEST(memory_of_any_kind, is_zero_and_keeps_what_is_written) {
  const test::kinds_of_memory kinds{std::size_t{8} << 20};
  auto all = kinds.files(2);
  all.push_back(memory_kind::of_node(0));
  for (const memory_kind& kind : all) {
    const auto s = make_memory_store(kind);
    (void)s->allocate(page);
    const std::uint64_t second = s->allocate(2 * page);
    auto out = pages(2, 'y');
    now(*s, direction::read, out.get(), second, 2 * page);
    EXPECT_EQ(out.get()[page], std::byte{0}) << s->description();
    const auto in = pages(1, 'x');
    now(*s, direction::write, in.get(), second + page, page);
    now(*s, direction::read, out.get(), second, 2 * page);
    EXPECT_EQ(out.get()[page], std::byte{'x'});
    EXPECT_EQ(out.get()[page - 1], std::byte{0});
  }
}

}  // namespace
}  // namespace situ
