// staged_array over every kind of slow memory: the same rules for each. Two memories with budgets stand for two kinds
// (tests/memory/orderings.toml: 8 MiB "fast", 16 MiB "slow").
#include <situ/task/staged_array.h>

#include <situ/base/error.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/collective.h>

#include "stencil/memory_store.h"
#include "support/memory_kinds.h"
#include "support/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace situ {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using word = std::uint64_t;
constexpr std::size_t words = 512;  // of a tile of 4 KiB

[[nodiscard]] staging_options tiles(std::size_t budget) { return {.tile_bytes = 4096, .budget_bytes = budget * 4096}; }

std::span<word> tile_of(const staged_array<word>& a, std::size_t t) {
  return {a.data() + t * words, std::min(words, a.size() - t * words)};
}

// More goes through than the budget has; what is written whole is not fetched; what does not run changes nothing; a
// second array finds what the first one left. `open` makes a store over the same bytes, zero at first.
template <class Open>
void check_rules(Open open, staging_options options = tiles(4)) {
  constexpr std::size_t count = 20 * words + 7, all_tiles = 21;
  task_graph graph{{.threads = 3, .window = 64}};
  {
    staged_array<word> a{graph, open(count), count, options};
    for (std::size_t t = 0; t < all_tiles; ++t)
      graph.add({writes(tile_of(a, t))}, [mine = tile_of(a, t), t] { std::ranges::fill(mine, t); });
    graph.wait();
    EXPECT_EQ(a.statistics().fetched_bytes, 7 * sizeof(word)) << "the array ends within a page";
    for (int step = 0; step < 3; ++step)
      for (std::size_t t = 0; t + 1 < all_tiles; ++t) {
        const std::span<word> mine = tile_of(a, t);
        const std::span<const word> next = tile_of(a, t + 1).first(7);
        graph.add({updates(mine), reads(next)}, [mine, next] {
          for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = 3 * mine[i] + next[i % 7];
        });
      }
    graph.wait();
    EXPECT_LE(a.statistics().most_bytes, options.budget_bytes);
    EXPECT_GT(a.statistics().fetched_bytes, options.budget_bytes);
    a.flush();
  }
  std::vector<word> expected(count);
  for (std::size_t i = 0; i < count; ++i) expected[i] = i / words;
  for (int step = 0; step < 3; ++step)
    for (std::size_t i = 0; i < 20 * words; ++i)
      expected[i] = 3 * expected[i] + expected[(i / words + 1) * words + i % words % 7];
  if (auto again = open(count); again != nullptr) {
    staged_array<word> a{graph, std::move(again), count, options};
    int x = 0;
    graph.add({writes(x)}, [] { throw std::runtime_error{"no"}; });
    for (std::size_t t = 0; t < 8; ++t)
      graph.add({reads(x), writes(tile_of(a, t))}, [mine = tile_of(a, t)] { std::ranges::fill(mine, 9); });
    EXPECT_THAT([&] { graph.wait(); }, ThrowsMessage<std::runtime_error>("no"));
    std::vector<word> got(count);
    a.read(0, count, got.data());
    EXPECT_EQ(got, expected);
    a.write(words - 1, 2, std::array<word, 2>{5, 6}.data());
    word sum = 0;
    graph.add({reads(region(a.data() + words - 1, 2)), writes(sum)},
              [&sum, at = a.data() + words - 1] { sum = at[0] + at[1]; });
    graph.wait();
    EXPECT_EQ(sum, 11);
  }
}

class named_file : public testing::TestWithParam<page_cache> {
 protected:
  named_file() { ::close(::mkstemp(path_.data())); }
  ~named_file() override { std::filesystem::remove(path_); }
  std::string path_ = testing::TempDir() + "situ_memories_XXXXXX";
};
INSTANTIATE_TEST_SUITE_P(cache, named_file, testing::Values(page_cache::past, page_cache::through),
                         [](const auto& info) { return info.param == page_cache::past ? "past" : "through"; });

TEST_P(named_file, rules) {
  check_rules([&](std::size_t count) { return make_named_file_store(path_, count * sizeof(word), GetParam()); });
}

TEST_P(named_file, a_store_is_as_long_as_its_array_or_longer) {
  task_graph graph{{.threads = 2}};
  EXPECT_THAT([&] { staged_array<word>(graph, make_named_file_store(path_, 875 * sizeof(word), GetParam()), 1000); },
              ThrowsMessage<error>(HasSubstr("8000 bytes are asked for of a file of 7000")));
  const auto open = [&] { return make_named_file_store(path_, 2 * words * sizeof(word), GetParam()); };
  {
    staged_array<word> all{graph, open(), 2 * words, tiles(1)};
    all.write(0, 2 * words, std::vector<word>(2 * words, 1).data());
  }
  {
    staged_array<word> a{graph, open(), words + 7, tiles(1)};
    for (const std::size_t t : {0, 1})
      graph.add({writes(tile_of(a, t))}, [mine = tile_of(a, t)] { std::ranges::fill(mine, 2); });
    graph.wait();
  }
  std::vector<word> expected(2 * words, 1), got(2 * words);
  std::fill_n(expected.begin(), words + 7, 2);
  staged_array<word> all{graph, open(), 2 * words, tiles(1)};
  all.read(0, 2 * words, got.data());
  EXPECT_EQ(got, expected);
}

TEST(memories, of_an_intent_fetched_into_another) {
  bool is_first = true;
  const auto open = [&](std::size_t) {
    return std::exchange(is_first, false) ? make_memory_store(intent::capacity) : nullptr;
  };
  staging_options options = tiles(4);
  options.fast_memory = intent::bandwidth;
  check_rules(open, options);
}

TEST(memories, tiles_in_memory_of_every_kind) {
  const test::kinds_of_memory kinds{std::size_t{16} << 20};
  for (const memory_kind& kind : {memory_kind{}, memory_kind::of_node(0), kinds.file()}) {
    bool is_first = true;
    staging_options options = tiles(4);
    options.fast_memory = kind;
    check_rules(
        [&](std::size_t) { return std::exchange(is_first, false) ? make_memory_store(kinds.device()) : nullptr; },
        options);
  }
}

// Of 2 MiB each: they are mapped where a tile is, and the bytes that one had are in the store when another has come.
TEST(memories, tiles_of_huge_pages_and_of_devices_are_whole_units) {
  const test::kinds_of_memory kinds{std::size_t{16} << 20};
  auto all = kinds.files(2);
  all.erase(all.begin());
  constexpr std::size_t unit = std::size_t{2} << 20;
  for (const memory_kind& kind : all) {
    task_graph graph{{.threads = 2}};
    const auto open = [&](std::size_t tile_bytes) {
      return staged_array<char>{graph,
                                make_memory_store({}),
                                5 * unit,
                                {.tile_bytes = tile_bytes, .budget_bytes = 2 * unit, .fast_memory = kind}};
    };
    EXPECT_THAT([&] { (void)open(4096); }, ThrowsMessage<error>(HasSubstr("give a multiple of 2097152")));
    staged_array<char> a = open(unit);
    for (int step = 0; step < 2; ++step)
      for (std::size_t t = 0; t < 5; ++t)
        graph.add({updates(region(a.data() + t * unit, unit))}, [at = a.data() + t * unit, t] {
          std::for_each_n(at, unit, [t](char& c) { c += static_cast<char>(t); });
        });
    graph.wait();
    std::vector<char> got(5 * unit);
    a.read(0, got.size(), got.data());
    for (std::size_t i = 0; i < got.size(); i += 4096) ASSERT_EQ(got[i], static_cast<char>(2 * (i / unit)));
    EXPECT_LE(a.statistics().most_bytes, 2 * unit);
  }
}

// The budget is a memory's: what does not fit is refused, with what its memories hold, and given back.
TEST(memories, a_budget_that_the_fast_memory_does_not_have) {
  task_graph graph{{.threads = 2}};
  for (int round = 0; round < 3; ++round) {
    const std::size_t count = std::size_t{32} << 20;
    EXPECT_THAT(
        [&] {
          staged_array<char>(graph, std::make_shared<stencil::testing::memory_store>(), count,
                             {.tile_bytes = 1 << 20, .budget_bytes = count, .fast_memory = intent::bandwidth});
        },
        ThrowsMessage<error>(HasSubstr("bandwidth memory (fast > slow")));
    staged_array<char> a{graph,
                         std::make_shared<stencil::testing::memory_store>(),
                         count,
                         {.tile_bytes = 1 << 20, .budget_bytes = 9 << 20, .fast_memory = intent::bandwidth}};
    for (std::size_t t = 0; t < 32; ++t)
      graph.add({writes(region(a.data() + (t << 20), 1 << 20))},
                [at = a.data() + (t << 20), t] { std::fill_n(at, 1 << 20, static_cast<char>(t)); });
    char last = 0;
    graph.wait();
    a.read((std::size_t{31} << 20) + 5, 1, &last);
    EXPECT_EQ(last, 31);
  }
}

TEST(memories, a_store_that_ends_transfers_in_any_order) {
  const auto store = std::make_shared<stencil::testing::memory_store>();
  bool is_first = true;
  check_rules([&](std::size_t) { return std::exchange(is_first, false) ? store : nullptr; });
}

// Who needs the room of a tile that cannot be written does not run; the tile stays, and goes when it can.
TEST(memories, a_store_that_cannot_be_written) {
  task_graph graph{{.threads = 2}};
  const auto store = std::make_shared<stencil::testing::memory_store>();
  staged_array<word> a{graph, store, 3 * words, tiles(1)};
  graph.add({writes(tile_of(a, 0))}, [mine = tile_of(a, 0)] { std::ranges::fill(mine, 7); });
  graph.wait();
  store->fail_at_write(0);
  bool has_run = false;
  graph.add({reads(tile_of(a, 1))}, [&] { has_run = true; });
  EXPECT_THAT([&] { graph.wait(); }, ThrowsMessage<error>(HasSubstr("has failed at offset 4711")));
  EXPECT_FALSE(has_run);
  store->fail_at_write(0);
  EXPECT_THAT([&] { a.flush(); }, ThrowsMessage<error>(HasSubstr("has failed at offset 4711")));
  a.flush();
  graph.add({reads(tile_of(a, 1))}, [&] { has_run = true; });
  graph.wait();
  EXPECT_TRUE(has_run);
  word seen = 0;
  a.read(words - 1, 1, &seen);
  EXPECT_EQ(seen, 7);
}

class memories_on : public test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, memories_on, testing::ValuesIn(test::layouts({1, 2})), test::layout_name);

TEST_P(memories_on, of_another_place) {
  run([] {
    constexpr std::size_t count = 20 * words + 7;
    const ptr<word> mine = allocate<word>(count);
    std::fill_n(mine.local(), count, 0);
    const std::vector<ptr<word>> all = all_gather(mine);
    if (here().index() == 0) {
      check_rules([&](std::size_t n) { return make_segment_store(all.back(), n); });
      task_graph graph{{.threads = 2}};
      EXPECT_THAT([&] { staged_array<word>(graph, make_segment_store(all.back(), 875), 1000); },
                  ThrowsMessage<error>(HasSubstr("8000 bytes are asked for of 7000")));
    }
    barrier();
    if (here().index() == place_count() - 1) {
      EXPECT_EQ(mine.local()[words - 1], 5);
    }
    barrier();
    deallocate(mine);
  });
}

// --- overlapping maps -----------------------------------------------------------------------------------------------

// Two arrays over one file are two maps of it. Units that touch the same bytes through both have no order; each map has
// its own, and what one has flushed, the other reads once it fetches it.
TEST_P(named_file, litmus_two_maps_have_no_order) {
  task_graph graph{{.threads = 2, .window = 256}};
  staged_array<word> a{graph, path_, 4 * words, {.tile_bytes = 4096, .budget_bytes = 4 * 4096, .cache = GetParam()}};
  staged_array<word> b{graph, path_, 4 * words, {.tile_bytes = 4096, .budget_bytes = 4 * 4096, .cache = GetParam()}};
  for (word i = 1; i <= 50; ++i) {
    graph.add({updates(region(a.data(), 1))}, [x = a.data(), i] { *x = *x + 1 == i ? i : 1'000'000; });
    graph.add({updates(region(b.data(), 1))}, [x = b.data(), i] { *x = *x + 1 == i ? i : 1'000'000; });
  }
  graph.wait();
  EXPECT_EQ(graph.statistics().edges <= 98, true);  // within a map, and none between the two
  word of_a = 0, of_b = 0;
  a.read(0, 1, &of_a);
  b.read(0, 1, &of_b);
  EXPECT_EQ(of_a, 50);
  EXPECT_EQ(of_b, 50);
  graph.add({writes(region(a.data() + 2 * words, words))}, [x = a.data() + 2 * words] { std::fill_n(x, words, 3); });
  a.flush();
  word seen = 0;
  graph.add({reads(region(b.data() + 2 * words, 1)), writes(seen)}, [&seen, x = b.data() + 2 * words] { seen = *x; });
  graph.wait();
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace situ
