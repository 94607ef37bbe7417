// watched_array: which accesses end the program, and with what message; which programs run as without it.
#include <situ/task/watched_array.h>

#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/task/staged_array.h>

#include "random_units.h"
#include "support/forked.h"
#include "support/places.h"
#include "support/restricted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace situ {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;
using word = std::uint64_t;
constexpr std::size_t words = 512;  // of a page
const std::string sight =
    "\n  Page protection sees loads and stores by any code, but whole pages of 4096 bytes alone: ";

// Collects the log's messages as long as it lives.
class log_reader {
 public:
  ~log_reader() { set_log_sink(std::move(before_)); }
  std::string text;

 private:
  log_sink before_ = set_log_sink([this](log_level, std::string_view message) { (text += message) += "\n"; });
};

// Memory on whole pages, as an allocator gives it for large blocks.
struct page_block {
  explicit page_block(std::size_t pages) : bytes{pages * 4096} {}
  ~page_block() { ::munmap(begin, bytes); }
  page_block(const page_block&) = delete;
  page_block& operator=(const page_block&) = delete;
  [[nodiscard]] std::span<word> elements() const { return {begin, bytes / sizeof(word)}; }

  std::size_t bytes;
  word* begin = static_cast<word*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

// Runs one unit in a graph over ten pages, in a forked child, and returns what the child wrote to standard error.
// body(x) has a plain pointer to the elements.
template <class Accesses, class Body>
std::string report_of(Accesses accesses, Body body, bool ends_by_fault = true) {
  const test::said_by_child said = test::said_in_forked_child(
      [&] {
        const page_block storage{10};
        const declared_span<word> a{"a", storage.elements()};
        task_graph graph{{.checked_by_pages = true}};
        const watched_array watched{graph, a};
        const std::vector<declared_access> declared = accesses(a.data());
        graph.add(declared, [&, x = const_cast<volatile word*>(a.data())] { body(x); }, "smooth");
        graph.wait();
        storage.begin[9 * words] = 1;  // no unit runs
      },
      true, {.seconds = 20});
  EXPECT_EQ(test::code_of(said.end), ends_by_fault ? 128 + SIGSEGV : 0) << said.text;
  return said.text;
}
std::vector<declared_access> nothing(word*) { return {}; }
std::vector<declared_access> all_read(word* x) { return {reads(region(x, 10 * words))}; }
std::vector<declared_access> first_page(word* x) { return {updates(region(x, words))}; }

class watched : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  }
};

TEST_F(watched, a_write_past_the_declared_span_is_reported_by_name) {
  EXPECT_EQ(
      report_of(first_page, [](volatile word* x) { x[5 * words + 3] = 1; }),
      "situ: unit 1 (smooth) writes a[2563] (byte 20504), which it has not declared: add writes() or updates() of "
      "it.\n  Of a it has declared updates [0, 512)." +
          sight + "none to the rest of a declared page, and no system calls (they fail: EFAULT)\n");
}

TEST_F(watched, a_write_of_what_is_declared_to_be_read_is_reported) {
  EXPECT_THAT(report_of(all_read, [](volatile word* x) { x[7] = x[6] + 1; }),
              HasSubstr("unit 1 (smooth) writes a[7] (byte 56), which it has declared to read only: add writes() or "
                        "updates() of it.\n  Of a it has declared reads [0, 5120).\n"));
}

TEST_F(watched, a_read_of_what_is_not_declared_is_reported) {
  EXPECT_THAT(
      report_of(nothing, [](volatile word* x) { (void)x[words]; }),
      HasSubstr("unit 1 (smooth) reads a[512] (byte 4096), which it has not declared: add reads() of it.\n  Of a "
                "it has declared nothing.\n"));
  const auto regions = [](word* x) {
    return std::vector<declared_access>{reads(tile(x, 3, 4, words)), writes(region(x + 8 * words, 5)), updates(x[1]),
                                        reads(x[2]), reads(x[3])};
  };
  EXPECT_THAT(
      report_of(regions,
                [](volatile word* x) {
                  x[words + 400] = 0;  // the tile's second page, which is declared to be read
                }),
      HasSubstr("a[912] (byte 7296), which it has declared to read only: add writes() or updates() of it.\n  Of a "
                "it has declared reads [0, 4) and 2 more rows, writes [4096, 4101), updates [1, 2) and 2 more."));
}

TEST_F(watched, a_thread_that_a_unit_starts_is_reported_with_the_unit) {
  EXPECT_THAT(report_of(first_page, [](volatile word* x) { std::thread{[x] { x[words] = 1; }}.join(); }),
              HasSubstr("situ: a thread that runs no unit writes a[512] (byte 4096), while unit 1 (smooth) runs, which "
                        "that unit has not declared: add writes()"));
}

// A library's calls, which know nothing of the span: memset and memcpy.
TEST_F(watched, what_a_library_touches_is_reported) {
  EXPECT_THAT(report_of(first_page, [](volatile word* x) { std::memset(const_cast<word*>(x), 0, 4097); }),
              HasSubstr("writes a[512]"));
}

TEST_F(watched, what_it_cannot_see_is_no_report) {
  EXPECT_EQ(report_of([](word* x) { return std::vector<declared_access>{updates(*x)}; },
                      [](volatile word* x) { x[words - 1] = 1; }, false),
            "");  // the rest of a declared page
  EXPECT_EQ(report_of(
                first_page,
                [](volatile word* x) {
                  errno = 0;
                  EXPECT_EQ(::syscall(SYS_getcwd, x + words, 4096), -1);
                  EXPECT_EQ(errno, EFAULT);
                },
                false),
            "");
}

// An array below a page's size is seen if Situ has made it; else the log says that it is not watched.
TEST_F(watched, small_arrays_are_seen_on_pages_of_their_own) {
  const test::said_by_child own = test::said_in_forked_child(
      [] {
        task_graph graph{{.checked_by_pages = true}};
        const watched_array<int> few{graph, "few", 10};
        EXPECT_EQ(few.watched_bytes(), 4096);
        graph.add({updates(few)}, [&] { few[9] = few[8] + 1; }, "fill");
        graph.wait();
        EXPECT_EQ(few[9], 1);
        graph.add({}, [&] { few.data()[3] = 2; }, "smooth");
        graph.wait();
      },
      true, {.seconds = 20});
  EXPECT_EQ(test::code_of(own.end), 128 + SIGSEGV);
  EXPECT_THAT(own.text, HasSubstr("situ: unit 2 (smooth) writes few[3] (byte 12), which it has not declared"));
  const test::said_by_child past = test::said_in_forked_child(
      [] {
        task_graph graph{{.checked_by_pages = true}};
        const watched_array<int> few{graph, "few", 10};
        graph.add({}, [x = few.data()] { (void)*const_cast<volatile int*>(x + 10); }, "smooth");
        graph.wait();
      },
      true, {.seconds = 20});
  EXPECT_THAT(past.text, HasSubstr("reads few[10] (byte 40), past its 10 elements, which it has not declared"));
}

TEST(watched_arrays, an_array_that_shares_its_pages_is_not_watched_and_the_log_says_so) {
  const page_block storage{2};
  log_reader log;
  task_graph graph{{.checked_by_pages = true}};
  const watched_array small{graph, declared_span<word>{"small", storage.elements().subspan(3, 700)}};
  EXPECT_EQ(small.watched_bytes(), 0);
  graph.add({}, [&] { storage.begin[3] = 1; });
  graph.wait();
  EXPECT_EQ(log.text,
            "array small (5600 bytes) is not watched: it shares its pages of 4096 bytes with other data: let "
            "situ::watched_array make it, on pages of its own\n"
            "a task graph is checked by pages and watches no array: make a situ::watched_array\n");
  // Its first and last bytes share pages; the page between is its own.
  const page_block more{3};
  const watched_array middle{graph, declared_span<word>{"middle", more.elements().subspan(1, 3 * words - 2)}};
  EXPECT_EQ(middle.watched_bytes(), 4096);
  graph.add({}, [&] { more.begin[1] = more.begin[2 * words] = more.begin[0] = 1; });
  graph.wait();
}

TEST(watched_arrays, memory_with_rights_of_its_own_is_not_watched) {
  const page_block storage{4};
  ::mprotect(storage.begin + words, 4096, PROT_READ);
  log_reader log;
  task_graph graph{{.checked_by_pages = true}};
  const watched_array constants{graph, declared_span<const word>{"constants", storage.elements()}};
  EXPECT_EQ(constants.watched_bytes(), 0);
  EXPECT_THAT(log.text, HasSubstr("array constants (16384 bytes) is not watched: not all its pages are readable"));
  const std::string file = testing::TempDir() + "situ_watched_" + std::to_string(::getpid());
  {
    const staged_array<word> staged{graph, file, 4 * words, {.tile_bytes = 4096, .budget_bytes = 16384}};
    const declared_span<word> of{"staged", {staged.data(), staged.size()}};
    EXPECT_THAT([&] { const watched_array refused(graph, of); },
                ThrowsMessage<error>(HasSubstr("a staged array: its checked graph protects them already")));
  }
  std::filesystem::remove(file);
}

// The system may refuse rights (here: all; else, too many mappings). Then nothing is protected, and the log says so.
TEST_F(watched, a_refusal_of_the_system_is_logged_and_no_fault) {
  const std::string said = test::in_a_child([] {
    const page_block storage{4};
    log_reader log;
    task_graph graph{{.checked_by_pages = true}};
    const watched_array a{graph, declared_span<word>{"a", storage.elements()}};
    test::refuse_calls({SYS_mprotect}, ENOMEM);
    for (int i = 0; i < 2; ++i) graph.add({}, [&] { ++storage.begin[words]; });
    graph.wait();
    graph.wait();
    return std::to_string(storage.begin[words]) + log.text;
  });
  if (said.starts_with("skipped")) GTEST_SKIP() << said;
  EXPECT_THAT(said,
              testing::MatchesRegex("2array a .16384 bytes. is not watched: the system does not protect its pages "
                                    "for some units: [^\n]+\n"));
}

// --- right programs --------------------------------------------------------------------------------------------------

TEST(watched_arrays, right_programs_have_the_bits_of_plain_memory) {
  std::mt19937_64 random{test::test_seed()};
  constexpr std::size_t count = 12 * words + 77;
  for (int program = 0; program < 30; ++program) {
    std::vector<word> plain(count), plain_b(count), storage(count);
    task_graph graph{{.window = 1U << (random() % 7), .checked_by_pages = true}};
    const watched_array a{graph, declared_span<word>{"a", storage}};
    const watched_array<word> b{graph, "b", count};
    EXPECT_GE(a.watched_bytes(), 11 * 4096);
    for (int unit = 0; unit < 60; ++unit)
      test::add_random_unit(graph, random, {{{a.data(), plain.data()}, {b.data(), plain_b.data()}}}, [&random] {
        const std::size_t size = 1 + random() % 1500;
        return test::array_range{random() % (count - size), size};
      });
    graph.wait();
    ASSERT_EQ(storage, plain) << "program " << program;
    ASSERT_EQ(std::vector<word>(b.begin(), b.end()), plain_b) << "program " << program;
  }
}

// A unit's own graph, over the same array: afterwards the unit has its own rights again.
TEST(watched_arrays, graphs_within_units_and_exceptions_leave_the_rights_as_they_were) {
  const page_block storage{4};
  const declared_span<word> a{"a", storage.elements()};
  task_graph graph{{.threads = 3, .checked_by_pages = true}};
  const watched_array of_graph{graph, a};
  EXPECT_EQ(graph.thread_count(), 1);
  graph.add({updates(region(a.data(), 3 * words))}, [&] {
    task_graph inner{{.checked_by_pages = true}};
    const watched_array of_inner{inner, a};
    EXPECT_EQ(of_inner.watched_bytes(), 4 * 4096);
    inner.add({updates(region(a.data(), words))}, [&] { storage.begin[0] = 1; });
    inner.wait();
    storage.begin[words] = storage.begin[0] + 1;
  });
  graph.wait();
  EXPECT_EQ(storage.begin[words], 2);
  graph.add({}, [] { throw std::runtime_error{"on purpose"}; });
  EXPECT_THROW(graph.wait(), std::runtime_error);
  storage.begin[0] = 3;
  graph.reduce(storage.begin[0], {reads(region(a.data() + words, words))},
               [&](word& part) { part += storage.begin[words]; });
  graph.wait();
  EXPECT_EQ(storage.begin[0], 5);
  graph.add({reads(a)}, [&] { EXPECT_THROW((watched_array<word>{graph, "late", 1}), error); });
  graph.wait();
}

TEST_F(watched, a_unit_has_its_own_rights_again_after_a_graph_within) {
  EXPECT_THAT(report_of(all_read,
                        [](volatile word* x) {
                          const declared_span<word> again{"again", {const_cast<word*>(x), 10 * words}};
                          task_graph inner{{.checked_by_pages = true}};
                          const watched_array of_inner{inner, again};
                          if (of_inner.watched_bytes() == 0) return;
                          inner.add({}, [] {}, "inner");
                          inner.wait();
                          x[words] = 1;
                        }),
              HasSubstr("unit 1 (smooth) writes a[512] (byte 4096), which it has declared to read only"));
}

// An array that is not watched any more may be accessed, and be freed, while the graph goes on.
TEST(watched_arrays, the_end_of_a_watch_gives_the_pages_back) {
  const page_block storage{4};
  task_graph graph{{.checked_by_pages = true}};
  std::optional<watched_array<word>> a{std::in_place, graph, declared_span<word>{"a", storage.elements()}};
  const watched_array<word> other{graph, "other", 1};
  graph.add({}, [&] {
    a.reset();
    storage.begin[words] = 1;
  });
  graph.add({}, [&] { ++storage.begin[words]; });
  graph.wait();
  EXPECT_EQ(storage.begin[words], 2);
}

// --- which check is chosen -------------------------------------------------------------------------------------------

TEST(watched_arrays, graphs_without_the_check_are_as_without_them) {
  log_reader log;
  const page_block storage{2};
  task_graph graph{{.threads = 3, .checked = true}};
  const watched_array a{graph, declared_span<word>{"a", storage.elements()}};
  const watched_array<word> b{graph, "b", 5};
  EXPECT_EQ(a.watched_bytes() + b.watched_bytes(), 0);
  EXPECT_EQ(graph.thread_count(), 3);
  graph.add({}, [&] { storage.begin[0] = b.data()[1] = 1; });
  graph.wait();
  EXPECT_EQ(b[1], 1);
  EXPECT_EQ(log.text, "");
  graph.add({}, [&] { b[1] = 2; }, "smooth");
  EXPECT_THAT([&] { graph.wait(); }, ThrowsMessage<error>(HasSubstr("unit 2 (smooth) writes b[1], which it has not")));
}

TEST_F(watched, the_environment_chooses_the_check) {
  const auto watched_bytes_by = [](const char* value) {
    return test::in_a_child([value] {
      ::setenv("SITU_CHECK_UNITS", value, 1);
      task_graph graph{{.threads = 3}};
      const watched_array<word> a{graph, "a", 5};
      graph.add({}, [&] { a[1] = 2; }, "smooth");
      try {
        graph.wait();
      } catch (const error& refused) {
        return std::to_string(a.watched_bytes()) + " " + std::string{refused.message()};
      }
      return std::to_string(a.watched_bytes()) + " not checked";
    });
  };
  EXPECT_EQ(watched_bytes_by(""), "0 not checked");
  EXPECT_THAT(watched_bytes_by("spans"), testing::StartsWith("0 unit 1 (smooth) writes a[1], which it has not"));
  EXPECT_THAT(watched_bytes_by("pages"), testing::StartsWith("4096 unit 1 (smooth) writes a[1], which it has not"));
  EXPECT_THAT(watched_bytes_by("page"), HasSubstr("SITU_CHECK_UNITS=page: give spans or pages"));
}

}  // namespace
}  // namespace situ
