// A root that was stored as version 1 of its type is brought to version 3 through 2, also where the process is killed
// between two steps, or within one.
#include "pools.h"

#include <situ/base/log.h>
#include <situ/pool/migration.h>

#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "support/forked.h"

// What a program of each version would have; each says `shelf`, and the migration says so.
namespace library::v1 {
struct book {
  std::uint64_t number;
  book* next;
};
struct shelf {
  std::uint64_t count;
  book* first;
};
}  // namespace library::v1
namespace library::v2 {
struct book {
  std::uint64_t number;
  std::uint64_t pages;
  book* next;
};
struct shelf {
  std::uint64_t count;
  book* first;
};
}  // namespace library::v2
namespace library {
struct book {
  std::uint64_t number;
  std::uint64_t pages;
  book* next;
  book* before;
};
struct shelf {
  std::uint64_t count;
  book* first;
  book* last;
};
}  // namespace library

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_migration;
using situ::transaction;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace v1 = library::v1;
namespace v2 = library::v2;

namespace {

constexpr std::uint64_t book_count = 100;
using names = std::vector<std::pair<std::string, std::string>>;

// Called for each book that a step has brought over; a test kills the process in it.
int books_until_kill = -1;
void brought_one() {
  if (books_until_kill > 0 && --books_until_kill == 0) ::raise(SIGKILL);
}

// In one transaction.
const pool_migration<v1::shelf, v2::shelf> count_pages{.name = "count pages",
                                                       .convert =
                                                           [](transaction& t, v1::shelf* old) {
                                                             auto* const made = t.make<v2::shelf>(old->count, nullptr);
                                                             v2::book** end = &made->first;
                                                             for (v1::book* each = old->first; each != nullptr;) {
                                                               *end = t.make<v2::book>(each->number, each->number * 10,
                                                                                       nullptr);
                                                               end = &(*end)->next;
                                                               v1::book* const next = each->next;
                                                               t.destroy(each);
                                                               each = next;
                                                               brought_one();
                                                             }
                                                             t.destroy(old);
                                                             return made;
                                                           },
                                                       .old_names = names{{"v1::", ""}},
                                                       .new_names = names{{"v2::", ""}}};

// In transactions of seven books.
const pool_migration<v2::shelf, library::shelf> link_back{
    .name = "link back",
    .convert = [](transaction& t, v2::shelf*) { return t.make<library::shelf>(); },
    .go_on =
        [](transaction& t, v2::shelf* old, library::shelf* made) {
          t.change(old);
          t.change(made);
          for (int i = 0; i < 7 && old->first != nullptr; ++i) {
            v2::book* const from = old->first;
            auto* const to = t.make<library::book>(from->number, from->pages, nullptr, made->last);
            if (made->last != nullptr) {
              t.set(made->last->next, to);
            } else {
              made->first = to;
            }
            made->last = to;
            ++made->count;
            old->first = from->next;
            t.destroy(from);
            brought_one();
          }
          if (old->first != nullptr) return true;
          t.destroy(old);
          return false;
        },
    .old_names = names{{"v2::", ""}}};

class pool_migrating : public testing::Test {
 protected:
  pool_migrating() : sink_{situ::set_log_sink([](situ::log_level, std::string_view) {})} { make_version_1(); }
  ~pool_migrating() override { situ::set_log_sink(sink_); }

  // The program of then had `library::shelf`; a step that does nothing but give it that name stands for it.
  void make_version_1() {
    std::filesystem::remove(in.file());
    pool made = pool::create(in.file(), small);
    made.transact([&](transaction& t) {
      auto* const shelf = t.make<v1::shelf>(book_count, nullptr);
      for (std::uint64_t i = book_count; i > 0; --i) shelf->first = t.make<v1::book>(i, shelf->first);
      t.set_root("books", shelf);
    });
    (void)made.migrate("books",
                       pool_migration<v1::shelf, v1::shelf>{.name = "as it was then",
                                                            .convert = [](transaction&, v1::shelf* old) { return old; },
                                                            .new_names = names{{"v1::", ""}}});
  }
  static void expect_version_3(pool& of) {
    const auto* const shelf = of.root<library::shelf>("books");
    ASSERT_NE(shelf, nullptr);
    EXPECT_EQ(shelf->count, book_count);
    std::uint64_t number = 0;
    const library::book* before = nullptr;
    for (const library::book* each = shelf->first; each != nullptr; before = each, each = each->next) {
      ASSERT_EQ(each->number, ++number);
      ASSERT_EQ(each->pages, number * 10);
      ASSERT_EQ(each->before, before);
    }
    EXPECT_EQ(number, book_count);
    EXPECT_EQ(shelf->last, before);
    EXPECT_THAT(of.check().damage, ElementsAre());
    EXPECT_EQ(of.check().blocks, book_count + 1) << "nothing of the old versions is left";
    EXPECT_EQ(of.info().roots.size(), 1);
  }
  folder in;

 private:
  situ::log_sink sink_;
};

TEST_F(pool_migrating, goes_from_version_1_to_3_through_2) {
  pool opened = pool::open(in.file());
  const auto done = opened.migrate("books", count_pages, link_back);
  ASSERT_EQ(done.size(), 2);
  EXPECT_EQ(done[0].name, "count pages");
  EXPECT_EQ(done[0].transactions, 1);
  EXPECT_EQ(done[1].name, "link back");
  EXPECT_EQ(done[1].transactions, 1 + (book_count + 6) / 7);
  EXPECT_EQ(done[0].to, done[1].from);
  EXPECT_FALSE(done[1].is_resumed);
  expect_version_3(opened);
  EXPECT_TRUE(opened.migrate("books", count_pages, link_back).empty()) << "it is there already";
  EXPECT_TRUE(opened.migrate("none", count_pages, link_back).empty());
}

TEST_F(pool_migrating, does_those_steps_that_are_left) {
  pool opened = pool::open(in.file());
  EXPECT_EQ(opened.migrate("books", count_pages).size(), 1);
  const auto done = opened.migrate("books", count_pages, link_back);
  ASSERT_EQ(done.size(), 1);
  EXPECT_EQ(done[0].name, "link back");
  expect_version_3(opened);
}

// A program of version 2 finds its own type after the first step: fingerprints have the names of then.
TEST_F(pool_migrating, stores_what_a_program_of_that_version_reads) {
  pool opened = pool::open(in.file());
  const auto first = opened.migrate("books", count_pages);
  EXPECT_EQ(opened.info().roots[0].fingerprint, first[0].to);
  const std::string refused = error_of(errc::bad_file, [&] { (void)opened.root<v2::shelf>("books"); });
  EXPECT_THAT(refused, HasSubstr("by pool::migrate (situ/pool/migration.h)"));
}

TEST_F(pool_migrating, a_step_that_throws_leaves_the_version_before_it) {
  pool opened = pool::open(in.file());
  const std::vector<char> before = bytes_of(in.file());
  const pool_migration<v1::shelf, v2::shelf> failing{.name = "fails",
                                                     .convert = [](transaction& t, v1::shelf* old) -> v2::shelf* {
                                                       t.set(old->count, 0u);
                                                       (void)t.make<v2::book>();
                                                       throw std::runtime_error{"no pages"};
                                                     },
                                                     .old_names = names{{"v1::", ""}},
                                                     .new_names = names{{"v2::", ""}}};
  EXPECT_THROW((void)opened.migrate("books", failing, link_back), std::runtime_error);
  EXPECT_EQ(opened.check().blocks, book_count + 1);
  EXPECT_EQ(opened.migrate("books", count_pages, link_back).size(), 2);
  expect_version_3(opened);
}

TEST_F(pool_migrating, steps_that_cannot_be_are_refused) {
  pool opened = pool::open(in.file());
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)opened.migrate("books", link_back); }),
              AllOf(HasSubstr("which no step of its migration takes"), HasSubstr("'link back' takes")));
  EXPECT_THAT(error_of(errc::bad_argument, [&] { (void)opened.migrate("books", link_back, count_pages); }),
              HasSubstr("do not follow each other"));
  EXPECT_THAT(error_of(errc::bad_argument, [&] { (void)opened.migrate("books"); }), HasSubstr("has no steps"));
  pool_migration<v1::shelf, v2::shelf> empty = count_pages;
  empty.convert = nullptr;
  EXPECT_THAT(error_of(errc::bad_argument, [&] { (void)opened.migrate("books", empty); }),
              HasSubstr("without convert"));
  empty.convert = [](transaction&, v1::shelf*) -> v2::shelf* { return nullptr; };
  EXPECT_THAT(error_of(errc::bad_argument, [&] { (void)opened.migrate("books", empty); }),
              HasSubstr("convert returns the new root"));
  EXPECT_EQ(opened.check().blocks, book_count + 1);
}

// Killed at each of these books: the first hundred are those of the first step, then those of the second.
TEST_F(pool_migrating, goes_on_after_a_kill_within_a_step_and_between_two) {
  int resumed = 0;
  for (const int books : {1, 50, 100, 101, 104, 107, 108, 150, 199, 200}) {
    SCOPED_TRACE(books);
    make_version_1();
    const situ::os::exit_status end = situ::test::in_forked_child([&] {
      books_until_kill = books;
      pool opened = pool::open(in.file());
      (void)opened.migrate("books", count_pages, link_back);
    });
    ASSERT_EQ(end.signal, SIGKILL);
    pool opened = pool::open(in.file());
    EXPECT_THAT(opened.check().damage, ElementsAre());
    if (books > 101) {
      EXPECT_THAT(error_of(errc::bad_file, [&] { (void)opened.root<library::shelf>("books"); }), HasSubstr("migrate"))
          << "what is half of one and half of the other is neither";
    }
    const auto done = opened.migrate("books", count_pages, link_back);
    EXPECT_EQ(done.size(), books <= 100 ? 2 : 1);
    resumed += done.back().is_resumed ? 1 : 0;
    expect_version_3(opened);
  }
  EXPECT_EQ(resumed, 7);
}

}  // namespace
