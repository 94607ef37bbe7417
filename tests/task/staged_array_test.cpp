// staged_array: the bits of plain memory whatever the budget, what stays in the file, failures of units and of the
// file.
#include <situ/task/staged_array.h>

#include <situ/base/error.h>

#include "random_units.h"
#include "support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace situ {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using word = std::uint64_t;
constexpr std::size_t words = 512;  // of a tile of 4 KiB

class staged : public testing::Test {
 protected:
  staged() { ::close(::mkstemp(path_.data())); }
  ~staged() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + "b");
  }

  [[nodiscard]] static staging_options tiles(std::size_t budget) {
    return {.tile_bytes = 4096, .budget_bytes = budget * 4096};
  }
  std::vector<word> in_file() {
    std::ifstream file{path_, std::ios::binary};
    std::vector<word> all(std::filesystem::file_size(path_) / sizeof(word));
    file.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(word)));
    return all;
  }

  std::string path_ = testing::TempDir() + "situ_staged_XXXXXX";
  task_graph graph_{{.threads = 3, .window = 64}};
};

TEST_F(staged, more_than_the_budget_goes_through) {
  constexpr std::size_t count = 40 * words;
  staged_array<word> a{graph_, path_, count, tiles(4)};
  for (int step = 1; step <= 3; ++step)
    for (std::size_t t = 0; t < 40; ++t) {
      const std::span<word> mine{a.data() + t * words, words};
      graph_.add({updates(mine)}, [mine, t] {
        for (word& each : mine) each += t;
      });
    }
  graph_.wait();
  EXPECT_LE(a.statistics().most_bytes, 4 * 4096);
  EXPECT_GE(a.statistics().fetched_bytes, 100 * 4096);
  std::vector<word> all(count);
  a.read(0, count, all.data());
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(all[i], 3 * (i / words)) << i;
  a.flush();
  EXPECT_EQ(in_file(), all);
}

TEST_F(staged, what_is_written_whole_is_not_fetched) {
  staged_array<word> a{graph_, path_, 20 * words, tiles(4)};
  for (std::size_t t = 0; t < 20; ++t) {
    const std::span<word> mine{a.data() + t * words, words};
    graph_.add({writes(mine)}, [mine, t] { std::ranges::fill(mine, t + 1); });
  }
  graph_.wait();
  EXPECT_EQ(a.statistics().fetched_bytes, 0);
  a.flush();
  EXPECT_EQ(a.statistics().written_bytes, 20 * 4096);
  EXPECT_EQ(in_file()[19 * words], 20);
}

// Sweeps that repeat: what is used longest ago would be fetched again each time. The units that wait say what will be
// used, and half of the budget is for that.
TEST_F(staged, sweeps_keep_a_part_in_memory) {
  constexpr std::size_t count = 40, sweeps = 10, budget = 24;
  task_graph graph{{.threads = 2, .window = 1024}};
  staged_array<word> b{graph, path_ + "b", count * words, tiles(budget)};
  std::atomic<bool> all_added{false};
  int go = 0;
  graph.add({writes(go)}, [&] {
    while (!all_added) std::this_thread::yield();
  });
  for (std::size_t s = 0; s < sweeps; ++s)
    for (std::size_t t = 0; t < count; ++t)
      graph.add({reads(go), updates(region(b.data() + t * words, words))}, [x = b.data() + t * words] { ++x[7]; });
  all_added = true;
  graph.wait();
  EXPECT_LT(b.statistics().fetched_bytes, (count * sweeps - 60) * 4096);
  EXPECT_LE(b.statistics().most_bytes, budget * 4096);
  for (std::size_t t = 0; t < count; ++t) {
    word seen = 0;
    b.read(t * words + 7, 1, &seen);
    EXPECT_EQ(seen, sweeps);
  }
}

TEST_F(staged, a_file_keeps_it_for_the_next_program) {
  {
    staged_array<word> a{graph_, path_, 3 * words + 7, tiles(2)};
    graph_.add({writes(region(a.data() + 3 * words, 7))}, [x = a.data() + 3 * words] { std::iota(x, x + 7, word{1}); });
  }  // flushes
  staged_array<word> again{graph_, path_, 3 * words + 7, tiles(2)};
  word last = 0;
  again.read(3 * words + 6, 1, &last);
  EXPECT_EQ(last, 7);
  const word more[2] = {10, 11};
  again.write(3 * words - 1, 2, more);
  word seen = 0;
  graph_.add({reads(region(again.data() + 3 * words - 1, 2)), writes(seen)},
             [&seen, x = again.data() + 3 * words - 1] { seen = x[0] + x[1]; });
  graph_.wait();
  EXPECT_EQ(seen, 21);
}

TEST_F(staged, a_unit_that_does_not_run_changes_nothing) {
  staged_array<word> a{graph_, path_, 8 * words, tiles(2)};
  const std::vector<word> before(8 * words, 5);
  a.write(0, before.size(), before.data());
  int x = 0;
  graph_.add({writes(x)}, [] { throw std::runtime_error{"no"}; });
  for (std::size_t t = 0; t < 8; ++t) {
    const std::span<word> mine{a.data() + t * words, words};
    graph_.add({reads(x), writes(mine)}, [mine] { std::ranges::fill(mine, 9); });
  }
  EXPECT_THAT([&] { graph_.wait(); }, ThrowsMessage<std::runtime_error>("no"));
  a.flush();
  EXPECT_EQ(in_file(), before);
  word sum = 0;
  for (std::size_t t = 0; t < 8; ++t)
    graph_.add({reads(region(a.data() + t * words, words)), updates(sum)},
               [&sum, x = a.data() + t * words] { sum += x[0] + x[words - 1]; });
  graph_.wait();
  EXPECT_EQ(sum, 80);
}

TEST_F(staged, what_ran_is_in_the_file_though_another_unit_threw) {
  {
    staged_array<word> a{graph_, path_, 4 * words, tiles(4)};
    graph_.add({writes(region(a.data(), words))}, [x = a.data()] { std::fill_n(x, words, 3); });
    graph_.add({}, [] { throw std::runtime_error{"another"}; });
  }
  EXPECT_EQ(in_file()[words - 1], 3);
  EXPECT_THAT([&] { graph_.wait(); }, ThrowsMessage<std::runtime_error>("another"));
}

TEST_F(staged, says_what_cannot_be) {
  EXPECT_THAT([&] { staged_array<word>(graph_, "/no/such/folder/x", 10); },
              ThrowsMessage<error>(HasSubstr("/no/such/folder/x: cannot be opened")));
  EXPECT_THAT([&] { staged_array<word>(graph_, path_, 10, {.tile_bytes = 1000}); },
              ThrowsMessage<error>(HasSubstr("a multiple of 4096")));
  EXPECT_THAT([&] { staged_array<word>(graph_, path_, 10, {.tile_bytes = 8192, .budget_bytes = 8191}); },
              ThrowsMessage<error>(HasSubstr("holds no tile")));
  EXPECT_THAT([&] { staged_array<word>(graph_, path_, std::size_t{1} << 28, tiles(30'000)); },
              ThrowsMessage<error>(HasSubstr("give tiles of 8192 bytes or more")));
  staged_array<word> a{graph_, path_, 10 * words, tiles(2)};
  EXPECT_THAT([&] { graph_.add({reads(region(a.data(), 3 * words))}, [] {}); },
              ThrowsMessage<error>(HasSubstr("declares 3 tiles of")));
  EXPECT_THAT([&] { graph_.add({reads(region(a.data() + 10 * words - 1, 2))}, [] {}); },
              ThrowsMessage<error>(HasSubstr("which has 40960")));
  word x = 0;
  EXPECT_THAT([&] { a.read(10 * words, 1, &x); }, ThrowsMessage<error>(HasSubstr("bytes 40960 to 40968")));
  graph_.wait();
  EXPECT_EQ(graph_.statistics().units, 0);
}

TEST_F(staged, a_file_that_loses_its_end_is_an_error_of_the_units_that_need_it) {
  staged_array<word> a{graph_, path_, 10 * words, tiles(4)};
  std::filesystem::resize_file(path_, 5 * 4096);
  std::vector<int> ran(10), after(10);
  for (std::size_t t = 0; t < 10; ++t) {
    graph_.add({reads(region(a.data() + t * words, words)), writes(ran[t])}, [&ran, t] { ran[t] = 1; });
    graph_.add({reads(ran[t]), writes(after[t])}, [&after, t] { after[t] = 1; });
  }
  EXPECT_THAT([&] { graph_.wait(); }, ThrowsMessage<error>(HasSubstr("cannot be read at byte")));
  EXPECT_THAT(ran, testing::ElementsAre(1, 1, 1, 1, 1, 0, 0, 0, 0, 0));
  EXPECT_EQ(after, ran);
}

// As many mappings as tiles would be too many.
TEST_F(staged, twenty_thousand_tiles) {
  constexpr std::size_t count = 20'000;
  staging_options through = tiles(8);
  through.cache = page_cache::through;
  staged_array<word> a{graph_, path_, count * words, through};
  word sum = 0;
  for (std::size_t t = 0; t < count; ++t)
    graph_.add({reads(region(a.data() + t * words, 1)), updates(sum)},
               [&sum, x = a.data() + t * words] { sum += *x + 1; });
  graph_.wait();
  EXPECT_EQ(sum, count);
  std::ifstream maps{"/proc/self/maps"};
  EXPECT_LT(std::count(std::istreambuf_iterator<char>{maps}, {}, '\n'), 2000);
}

TEST_F(staged, what_no_unit_declares_is_not_touched) {
  staged_array<word> a{graph_, path_, 10 * words, tiles(2)};
  EXPECT_DEATH(*const_cast<volatile word*>(a.data()) = 1, "");
}

// What the kernel refuses is said in the words of the program: unit, array and element.
class staged_checked : public staged {
 protected:
  // Runs a unit of these accesses in a graph of its own, and ends well if nothing stops it.
  template <class Body>
  void run(std::initializer_list<access_mode> mode_of_tile, Body body) const {
    task_graph graph{{.threads = 2, .checked = true}};
    staged_array<word> a{graph, path_, 10 * words, tiles(4)};
    std::vector<declared_access> all;
    for (const access_mode each : mode_of_tile) {
      const std::size_t t = all.size();
      graph.add({updates(region(a.data() + t * words, words))}, [] {});  // so that the tile is there
      all.push_back({region(a.data() + t * words, words), each});
    }
    graph.wait();
    graph.add(all, [body, x = const_cast<volatile word*>(a.data())] { body(x); }, "smooth");
    graph.wait();
  }
  void touch_between_units() const {
    task_graph graph{{.threads = 1, .checked = true}};
    const staged_array<word> a{graph, path_, 10 * words, tiles(4)};
    graph.add({updates(region(a.data(), 1))}, [] {});
    graph.wait();
    const_cast<volatile word*>(a.data())[1] = 4;
  }
};

TEST_F(staged_checked, names_unit_array_and_element) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  EXPECT_DEATH(run({access_mode::read}, [](volatile word* x) { x[3 * words + 5] = 1; }),
               "situ: unit 2 \\(smooth\\) writes .*situ_staged.*\\[1541\\], which it has not declared: add writes");
  EXPECT_DEATH(run({access_mode::read}, [](volatile word* x) { x[7] = 1; }), "unit 2 .*writes .*\\[7\\], which");
  EXPECT_DEATH(run({access_mode::read, access_mode::read}, [](volatile word* x) { (void)x[2 * words]; }),
               "unit 3 .*reads .*\\[1024\\], which it has not declared: add reads");
  EXPECT_DEATH(touch_between_units(), "a thread that runs no unit writes .*\\[1\\], of a staged array: its read");
}

TEST_F(staged_checked, allows_what_is_declared_and_moves_it) {
  run({access_mode::read, access_mode::update, access_mode::write}, [](volatile word* x) {
    x[words] = x[0] + 1;
    x[2 * words] = x[words];
  });
  EXPECT_EQ(in_file()[2 * words], 1);
  task_graph graph{{.threads = 3, .window = 32, .checked = true}};
  staged_array<word> a{graph, path_, 10 * words, tiles(2)};
  for (int step = 0; step < 20; ++step)
    for (std::size_t t = 0; t + 1 < 10; ++t)
      graph.add({updates(region(a.data() + t * words, words)), reads(region(a.data() + (t + 1) * words, 1))},
                [x = a.data() + t * words] { x[3] += 1 + x[words]; });
  graph.wait();
  word last = 0;
  a.read(8 * words + 3, 1, &last);
  EXPECT_EQ(last, 20);
  a.write(8 * words + 3, 1, &last);
  a.flush();
}

// Units over several tiles of two arrays and plain memory, as few tiles as they need at once and more.
TEST_F(staged, random_programs_have_the_bits_of_plain_memory) {
  std::mt19937_64 random{test::test_seed()};
  constexpr std::size_t count = 24 * words;
  for (int program = 0; program < 60; ++program) {
    const std::string other = path_ + "b";
    std::vector<word> plain(count), plain_b(count);
    std::vector<word> got(count), got_b(count);
    {
      task_graph graph{{.threads = static_cast<std::uint32_t>(1 + random() % 3), .window = 1U << (random() % 7)}};
      staged_array<word> a{graph, path_, count, tiles(6 + random() % 6)};
      staged_array<word> b{graph, other, count, tiles(6 + random() % 6)};
      a.write(0, count, plain.data());
      b.write(0, count, plain_b.data());
      for (int unit = 0; unit < 150; ++unit)
        test::add_random_unit(graph, random, {{{a.data(), plain.data()}, {b.data(), plain_b.data()}}}, [&random] {
          const std::size_t size = random() % 4 == 0 ? words : 1 + random() % 300;
          return test::array_range{size == words ? random() % 24 * words : random() % (count - size), size};
        });
      a.read(0, count, got.data());
      b.read(0, count, got_b.data());
      EXPECT_LE(a.statistics().most_bytes, 11 * 4096);
    }
    std::filesystem::remove(other);
    ASSERT_EQ(got, plain) << "program " << program;
    ASSERT_EQ(got_b, plain_b) << "program " << program;
  }
}

}  // namespace
}  // namespace situ
