// An object heap whose memory or table is full: it spills to other places and says so, then refuses, and stays whole.
#include <situ/base/log.h>
#include <situ/heap/object_heap.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "support/places.h"

namespace {

using situ::ref;

struct cell {
  std::uint64_t value;
  ref<cell> next;
  ref<cell> other;
};

class full_heap : public situ::test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, full_heap, testing::ValuesIn(situ::test::layouts({1, 2, 4})),
                         situ::test::layout_name);

std::atomic<int> said;
void count_spills(situ::log_level, std::string_view message) {
  if (message.find("an object heap has no room for") != std::string_view::npos) ++said;
}
std::atomic<int> given_up;
void count_given_up(situ::log_level, std::string_view message) {
  if (message.find("a collection of an object heap renumbers nothing") != std::string_view::npos) ++given_up;
}

// Makes cells, in a list, until there is no room; returns how many.
std::uint64_t fill(situ::heap_thread& mine, situ::rooted<cell>& list) {
  for (std::uint64_t made = 0;; ++made) {
    try {
      list = mine.make<cell>(made, list.get(), ref<cell>{});
    } catch (const situ::error& refused) {
      EXPECT_EQ(refused.code(), situ::errc::out_of_memory) << refused.message();
      return made;
    }
  }
}
// Counts the cells of a list whose values go down by 1.
std::uint64_t cells_of(situ::heap_thread& mine, ref<cell> list) {
  std::uint64_t found = 0, last = 0;
  situ::heap_section section{mine};
  for (; list; list = section.load(list, &cell::next)) {
    const std::uint64_t value = section.load(list, &cell::value);
    if (found != 0) {
      EXPECT_EQ(value, last - 1);
    }
    last = value;
    ++found;
  }
  return found;
}

TEST_P(full_heap, of_entries_spills_and_says_so_and_then_refuses) {
  said = 0;
  const situ::log_sink before = situ::set_log_sink(count_spills);
  run([] {
    constexpr std::uint64_t entries = 7168;  // an odd number of runs, as the heap makes it
    situ::object_heap heap{{.entries = entries, .young_bytes = 1 << 30, .collect_after = 0}};
    situ::heap_thread mine{heap};
    if (situ::here().index() == 0) {
      situ::rooted<cell> list{mine};
      EXPECT_EQ(fill(mine, list), entries * situ::place_count() - 1);
      EXPECT_EQ(heap.counts().spills != 0, situ::place_count() > 1);
      EXPECT_EQ(said, situ::place_count() > 1 ? 1 : 0);
      EXPECT_EQ(cells_of(mine, list.get()), entries * situ::place_count() - 1);
      mine.collect_own();
      EXPECT_EQ(cells_of(mine, list.get()), entries * situ::place_count() - 1);
      list = ref<cell>{};
      mine.collect();
      EXPECT_GE(fill(mine, list), entries - 1);  // those of this place's part, at least
      list = ref<cell>{};
      mine.collect();
    }
    situ::barrier();
  });
  situ::set_log_sink(before);
}

TEST_P(full_heap, of_memory_loses_nothing) {
  if (situ::test::is_modelled) GTEST_SKIP() << "a modelled machine has no budget";
  run(
      [] {
        situ::object_heap heap{{.entries = 1 << 20, .young_bytes = 1 << 30, .collect_after = 0}};
        situ::heap_thread mine{heap};
        situ::rooted<cell> small{mine};
        std::vector<std::unique_ptr<situ::rooted<std::uint64_t[]>>> large;
        if (situ::here().index() == 0) {
          // Small objects, half of them dead; then objects of a chunk each until there is no more.
          situ::rooted<cell> dead{mine};
          for (std::uint64_t i = 0; i < 20'000; ++i) {
            small = mine.make<cell>(i, small.get(), ref<cell>{});
            (void)mine.make<cell>(i, ref<cell>{}, ref<cell>{});
          }
          try {
            while (true) {
              large.push_back(std::make_unique<situ::rooted<std::uint64_t[]>>(mine));
              *large.back() = mine.make_array<std::uint64_t>(20'000);
              mine.store(large.back()->get(), 19'999, large.size());
            }
          } catch (const situ::error& refused) {
            EXPECT_EQ(refused.code(), situ::errc::out_of_memory) << refused.message();
          }
          large.pop_back();
          EXPECT_GT(large.size(), 10U);
          const auto check = [&] {
            EXPECT_EQ(cells_of(mine, small.get()), 20'000U);
            for (std::size_t i = 0; i < large.size(); ++i) ASSERT_EQ(mine.load(large[i]->get(), 19'999), i + 1);
          };
          check();
          mine.collect_own();  // no room for a copy of all that lives
          check();
          mine.collect();
          check();
          EXPECT_THROW((void)mine.make_array<std::uint64_t>(4 << 20), situ::error);
          check();
          large.clear();
          mine.collect();
          EXPECT_EQ(cells_of(mine, small.get()), 20'000U);
          situ::rooted<std::uint64_t[]> again{mine};
          for (int i = 0; i < 10; ++i) again = mine.make_array<std::uint64_t>(20'000);
          mine.collect();
          EXPECT_EQ(cells_of(mine, small.get()), 20'000U);
        }
        situ::barrier();
      },
      {.memory_budget = std::uint64_t{96} << 20});
}

// Some place has no room for a copy of each of its objects, or place 0 none for a second table: no object gets a new
// number.
TEST_P(full_heap, renumbers_nothing_and_says_so) {
  if (situ::test::is_modelled) GTEST_SKIP() << "a modelled machine has no budget";
  const situ::log_sink before = situ::set_log_sink(count_given_up);
  for (const bool is_table_large : {false, true}) {
    given_up = 0;
    run(
        [&] {
          const std::uint32_t last = situ::place_count() - 1;
          const std::uint64_t entries = (is_table_large ? 10U << 20 : 1U << 16) / situ::place_count();
          situ::object_heap heap{{.entries = entries, .young_bytes = 1 << 30, .collect_after = 0}};
          situ::heap_thread mine{heap};
          situ::rooted<cell> small{mine};
          for (std::uint64_t i = 0; i < 4000; ++i) small = mine.make<cell>(i, small.get(), ref<cell>{});
          std::vector<std::unique_ptr<situ::rooted<std::uint64_t[]>>> large;
          if (situ::here().index() == last && !is_table_large) {
            const std::uint64_t spills = heap.counts().spills;
            while (heap.counts().spills == spills && large.size() < 300) {
              large.push_back(std::make_unique<situ::rooted<std::uint64_t[]>>(mine));
              try {
                *large.back() = mine.make_array<std::uint64_t>(60'000);
              } catch (const situ::error& refused) {
                EXPECT_EQ(refused.code(), situ::errc::out_of_memory) << refused.message();
                break;
              }
              mine.store(large.back()->get(), 59'999, large.size());
            }
            large.resize(large.size() - 8);  // there is room for a table
          }
          const std::uint32_t raw = small.get().raw();
          situ::barrier();
          for (int round = 0; round < 3; ++round) {
            if (situ::here().index() == 0) mine.collect({.sorts = true, .renumbers = true});
            situ::barrier();
            EXPECT_EQ(small.get().raw(), raw);
            EXPECT_EQ(cells_of(mine, small.get()), 4000U);
            for (std::size_t i = 0; i < large.size(); ++i) ASSERT_EQ(mine.load(large[i]->get(), 59'999), i + 1);
          }
          EXPECT_EQ(heap.counts().objects_renumbered, 0U);
          large.clear();
          situ::barrier();
          if (situ::here().index() == 0) mine.collect({.sorts = true, .renumbers = true});
          situ::barrier();
          EXPECT_EQ(heap.counts().objects_renumbered, is_table_large ? 0U : 4000U);
          EXPECT_EQ(cells_of(mine, small.get()), 4000U);
          situ::barrier();
        },
        {.memory_budget = std::uint64_t{96} << 20});
    if (GetParam().mode == situ::launch_mode::threads) {
      EXPECT_EQ(given_up, is_table_large ? 4 : 3);
    }
  }
  situ::set_log_sink(before);
}

TEST_P(full_heap, that_cannot_be_made_is_refused_at_all_places) {
  if (situ::test::is_modelled) GTEST_SKIP() << "a modelled machine has no budget";
  run(
      [] {
        try {
          const situ::object_heap heap{{.entries = (std::uint64_t{1} << 30) / situ::place_count()}};
          ADD_FAILURE() << "no error";
        } catch (const situ::error& refused) {
          EXPECT_EQ(refused.code(), situ::errc::out_of_memory) << refused.message();
        }
        situ::object_heap small{{.entries = 4096}};
        situ::heap_thread mine{small};
        EXPECT_EQ(mine.load(mine.make<cell>(5U, ref<cell>{}, ref<cell>{}), &cell::value), 5U);
      },
      {.memory_budget = std::uint64_t{96} << 20});
}

// Objects larger than a chunk take each way: home, read-mostly, exchange, collections.
TEST_P(full_heap, moves_large_objects_every_way) {
  run([] {
    situ::object_heap heap{{.replicas = situ::heap_replicas::always}};
    situ::heap_thread mine{heap};
    constexpr std::uint32_t n = 50'000;
    situ::rooted<std::uint64_t[]> a{mine, mine.make_array<std::uint64_t>(n)};
    situ::rooted<std::uint64_t[]> b{mine, mine.make_array<std::uint64_t>(2 * n)};
    const auto check = [&](std::uint64_t value) {
      EXPECT_EQ(mine.load(a.get(), 0), value);
      EXPECT_EQ(mine.load(a.get(), n - 1), value);
    };
    mine.store(a.get(), 0, 7U);
    mine.store(a.get(), n - 1, 7U);
    mine.store(b.get(), n - 1, 8U);
    mine.store(b.get(), 0, 8U);
    mine.move(a.get(), situ::place{(situ::here().index() + 1) % situ::place_count()});
    check(7);
    EXPECT_EQ(mine.make_read_mostly(a.get()), 1U);
    check(7);
    mine.exchange(a.get(), b.get());
    check(8);
    EXPECT_TRUE(mine.is_read_mostly(b.get()));
    EXPECT_FALSE(mine.is_read_mostly(a.get()));
    mine.collect_own();
    check(8);
    mine.store(b.get(), 5, 1U);
    EXPECT_FALSE(mine.is_read_mostly(b.get()));
    situ::barrier();
    mine.collect();
    check(8);
    EXPECT_EQ(mine.load(b.get(), n - 1), 7U);
    situ::barrier();
  });
}

}  // namespace
