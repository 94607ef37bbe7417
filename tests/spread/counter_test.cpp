// counter: what all add is there; each number is handed out once; losses.
#include <situ/spread/counter.h>

#include "support/places.h"

#include <situ/base/log.h>

#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>

namespace situ {
namespace {

class counter_on : public test::on_places {};

// One of each kind, in turn.
std::optional<counter>& make(std::optional<counter>& made, int kind, const counter_options& options) {
  if (kind == 0) {
    made.emplace(options);
  } else {
    made.emplace(place{place_count() - 1}, options);
  }
  return made;
}

TEST_P(counter_on, what_all_add_is_read) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for (int kind = 0; kind < 2; ++kind) {
      std::optional<counter> c;
      make(c, kind, {.first = 5});
      std::mt19937_64 random{test::mixed(seed, here().index())};
      std::int64_t mine = 0;
      for (int i = 0; i < 1000; ++i) {
        const auto n = static_cast<std::int64_t>(random() % 100) - 30;
        c->add(n);
        mine += n;
      }
      barrier();
      const std::int64_t all = all_reduce(mine, std::plus<>{});
      EXPECT_EQ(c->read(), 5 + all);
      barrier();
      if (here().index() == 0) c->add();
      barrier();
      EXPECT_EQ(c->read(), 6 + all);
    }
  });
}

TEST_P(counter_on, each_number_is_handed_out_once) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for (int kind = 0; kind < 2; ++kind)
      for (const std::int64_t end : {1, 17, 5000}) {
        std::optional<counter> work;
        make(work, kind, {.first = -3, .end = end});
        std::mt19937_64 random{test::mixed(seed, here().index())};
        std::vector<std::int64_t> mine;
        while (true) {
          const auto n = static_cast<std::int64_t>(random() % 9) + 1;
          const number_range some = work->next(n);
          if (some.empty()) break;
          EXPECT_LE(some.size(), n);
          for (const std::int64_t each : some) mine.push_back(each);
        }
        EXPECT_TRUE(work->next(1).empty());
        std::vector<std::int64_t> all;
        for (const auto& each : all_gather(mine)) all.insert(all.end(), each.begin(), each.end());
        std::sort(all.begin(), all.end());
        std::vector<std::int64_t> expected(static_cast<std::size_t>(end + 3));
        std::iota(expected.begin(), expected.end(), -3);
        EXPECT_EQ(all, expected);
        EXPECT_EQ(work->read(), end);
        barrier();
      }
  });
}

TEST_P(counter_on, without_an_end_numbers_go_on) {
  run([] {
    for (int kind = 0; kind < 2; ++kind) {
      std::optional<counter> ids;
      make(ids, kind, {});
      std::vector<std::int64_t> mine;
      for (int i = 0; i < 300; ++i)
        for (const std::int64_t id : ids->next(1 + i % 3)) mine.push_back(id);
      barrier();
      std::vector<std::int64_t> all;
      for (const auto& each : all_gather(mine)) all.insert(all.end(), each.begin(), each.end());
      EXPECT_EQ(ids->read(), static_cast<std::int64_t>(all.size()));
      std::sort(all.begin(), all.end());
      EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
      barrier();
    }
  });
}

TEST_P(counter_on, what_cannot_be_is_refused) {
  run([] {
    counter c;
    EXPECT_EQ(test::error_of([&] { (void)c.next(0); }).code, errc::bad_argument);
    EXPECT_EQ(test::error_of([] { const counter none{place{place_count()}}; }).code, errc::bad_argument);
  });
}

TEST_P(counter_on, memory_is_given_back) {
  run([] {
    const std::uint64_t before = test::settled_memory().live_bytes;
    for (int i = 0; i < 20; ++i) {
      counter spread;
      counter single{place{0}};
      spread.add();
      single.add();
    }
    EXPECT_EQ(test::settled_memory().live_bytes, before);
  });
}

TEST_P(counter_on, a_lost_place_is_told_to_who_needs_its_word) {
  if (GetParam().places == 1) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    counter spread;
    counter single{place{1}};
    counter other{place{0}};
    barrier();
    if (here().index() == 1) throw std::runtime_error{"died as it should"};
    EXPECT_THROW(
        while (true) {
          single.add();
          progress();
        },
        place_lost_error);
    EXPECT_THROW(single.add(), place_lost_error);
    EXPECT_THROW((void)single.next(), place_lost_error);
    EXPECT_THROW((void)single.read(), place_lost_error);
    EXPECT_THROW((void)spread.read(), place_lost_error);
    spread.add();
    if (GetParam().places == 2) {
      other.add(3);
      EXPECT_EQ(other.read(), 3);
    }
  });
  set_log_sink(before);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

INSTANTIATE_TEST_SUITE_P(layouts, counter_on, testing::ValuesIn(test::layouts({1, 2, 3, 5})), test::layout_name);

}  // namespace
}  // namespace situ
