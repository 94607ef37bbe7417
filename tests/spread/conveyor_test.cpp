// conveyor: every item is handled once, in order, whatever its size; finish, flush and drain; handlers that push;
// bounds of memory; errors and losses.
#include <situ/spread/conveyor.h>

#include "support/places.h"

#include <situ/base/log.h>

#include <numeric>
#include <random>
#include <stdexcept>

namespace situ {
namespace {

class conveyor_on : public test::on_places {};

struct numbered {
  std::uint32_t from;
  std::uint32_t number;
};

TEST_P(conveyor_on, each_item_is_handled_once_and_in_the_order_of_its_sender) {
  run([] {
    std::vector<std::uint32_t> next(place_count());
    conveyor<numbered> items{[&](numbered item) { EXPECT_EQ(item.number, next[item.from]++); },
                             {.buffer_bytes = 256, .buffers = 2}};
    constexpr std::uint32_t count = test::or_modelled(5000, 500);
    for (std::uint32_t i = 0; i < count; ++i)
      for (const place p : places()) items.push(p, {here().index(), i});
    items.flush();
    barrier();
    EXPECT_EQ(next, std::vector<std::uint32_t>(place_count(), count));
  });
}

TEST_P(conveyor_on, finish_waits_for_items_and_for_those_that_handlers_push) {
  run([] {
    std::uint64_t handled = 0;
    std::optional<conveyor<std::uint32_t>> items;
    const place next{(here().index() + 1) % place_count()};
    items.emplace([&](std::uint32_t hops) {
      ++handled;
      if (hops != 0) items->push(next, hops - 1);
    });
    constexpr std::uint32_t hops = 40, starts = 25;
    for (std::uint32_t turn = 0; turn < place_count(); ++turn) {
      // One place after the other starts chains; when its scope ends all of its items are handled.
      const std::uint64_t before = all_reduce(handled, std::plus<>{});
      if (here().index() == turn) {
        finish([&] {
          for (std::uint32_t i = 0; i < starts; ++i) items->push(next, hops);
        });
      }
      barrier();
      EXPECT_EQ(all_reduce(handled, std::plus<>{}) - before, std::uint64_t{starts} * (hops + 1));
    }
    items.reset();
  });
}

TEST_P(conveyor_on, scopes_of_all_places_at_once_end_when_their_own_items_are_handled) {
  run([] {
    std::vector<std::uint64_t> handled_of(place_count());
    std::optional<conveyor<numbered>> items;
    items.emplace([&](numbered item) {
      ++handled_of[item.from];
      if (item.number != 0)
        items->push(place{(here().index() + item.number) % place_count()}, {item.from, item.number - 1});
    });
    for (int round = 0; round < test::rounds(20); ++round) {
      finish([&] {
        for (std::uint32_t i = 0; i < 30; ++i) items->push(place{i % place_count()}, {here().index(), i % 7});
        async([&] { items->push(place{0}, {here().index(), 3}); });
      });
    }
    barrier();
    std::uint64_t expected = 0;
    for (std::uint32_t i = 0; i < 30; ++i) expected += i % 7 + 1;
    expected = (expected + 4) * static_cast<std::uint64_t>(test::rounds(20));
    for (const place p : places()) EXPECT_EQ(all_reduce(handled_of[p.index()], std::plus<>{}), expected);
    items.reset();
  });
}

TEST_P(conveyor_on, drain_waits_for_what_anybodys_handlers_push) {
  run([] {
    std::uint64_t handled = 0;
    std::optional<conveyor<std::uint64_t>> items;
    items.emplace([&](std::uint64_t item) {
      ++handled;
      const std::uint64_t depth = item >> 56;
      if (depth == 0) return;
      for (std::uint64_t child = 0; child < 2; ++child) {
        const std::uint64_t mixed = test::mixed(item, child) & 0xff'ffff'ffff'ffff;
        items->push(place{static_cast<std::uint32_t>(mixed % place_count())}, (depth - 1) << 56 | mixed);
      }
    });
    for (int round = 1; round <= test::rounds(10); ++round) {
      if (here().index() == 0) items->push(place{place_count() - 1}, std::uint64_t{9} << 56 | 5);
      items->drain();
      EXPECT_EQ(all_reduce(handled, std::plus<>{}), static_cast<std::uint64_t>(round) * 1023);
    }
    items.reset();
  });
}

TEST_P(conveyor_on, items_of_any_size_travel) {
  run([] {
    std::vector<std::string> got;
    {
      conveyor<std::string> items{[&](const std::string& text) { got.push_back(text); }, {.buffer_bytes = 512}};
      for (const place p : places())
        for (const std::size_t size : {0, 1, 7, 300, 600, 5000, 200000})
          items.push(p, std::string(size, static_cast<char>('a' + here().index())));
    }
    EXPECT_EQ(got.size(), 7 * place_count());
    std::size_t bytes = 0;
    for (const std::string& each : got) {
      bytes += each.size();
      EXPECT_TRUE(each.empty() || each.find_first_not_of(each[0]) == std::string::npos);
    }
    EXPECT_EQ(bytes, place_count() * std::size_t{205908});
  });
}

struct nothing {};
// What a member sends in a round, and to whom: all can compute it.
struct parcel {
  std::uint32_t to;
  std::vector<std::uint32_t> words;
};
std::vector<parcel> parcels_of(std::uint64_t seed, std::uint32_t sender) {
  std::mt19937_64 random{test::mixed(seed, sender)};
  std::vector<parcel> all(random() % 400);
  for (parcel& each : all) {
    each.to = static_cast<std::uint32_t>(random() % place_count());
    each.words.resize(random() % (random() % 20 == 0 ? 2000 : 6));
    for (std::uint32_t& word : each.words) word = static_cast<std::uint32_t>(random());
  }
  return all;
}

TEST_P(conveyor_on, random_items_arrive_as_in_the_model) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for (std::uint64_t round = 0; round < static_cast<std::uint64_t>(test::rounds(10)); ++round) {
      using item = std::pair<std::uint32_t, std::vector<std::uint32_t>>;  // sender, words
      std::vector<std::vector<std::vector<std::uint32_t>>> got(place_count());
      const std::uint64_t mixed = test::mixed(seed, round);
      conveyor<item> items{
          [&](item i) { got[i.first].push_back(std::move(i.second)); },
          {.buffer_bytes = std::size_t{16384} << mixed % 3, .buffers = 2 + static_cast<std::uint32_t>(mixed % 4)}};
      std::size_t sent = 0;
      for (parcel& each : parcels_of(mixed, here().index())) {
        items.push(place{each.to}, item{here().index(), std::move(each.words)});
        if (test::mixed(mixed, ++sent) % 100 == 0) items.flush();
        if (test::mixed(mixed, sent) % 50 == 1) progress();
      }
      items.drain();
      for (std::uint32_t from = 0; from < place_count(); ++from) {
        std::vector<std::vector<std::uint32_t>> expected;
        for (parcel& each : parcels_of(mixed, from))
          if (each.to == here().index()) expected.push_back(std::move(each.words));
        EXPECT_EQ(got[from], expected);
      }
      barrier();
    }
  });
}

TEST_P(conveyor_on, items_without_bytes_are_counted) {
  run([] {
    int count = 0;
    {
      conveyor<nothing> items{[&](nothing) { ++count; }};
      for (const place p : places())
        for (int i = 0; i < 100; ++i) items.push(p, {});
    }
    EXPECT_EQ(count, 100 * static_cast<int>(place_count()));
  });
}

TEST_P(conveyor_on, a_waiting_place_sends_what_it_has_pushed) {
  run([] {
    int handled = 0;
    conveyor<int> items{[&](int) { ++handled; }};
    const place next{(here().index() + 1) % place_count()};
    items.push(next, 1);
    while (handled == 0) progress();  // nobody flushes
    EXPECT_EQ(handled, 1);
    barrier();
  });
}

TEST_P(conveyor_on, memory_stays_within_its_bound) {
  run([] {
    std::uint64_t sum = 0;
    conveyor<std::uint64_t> items{[&](std::uint64_t n) { sum += n; }, {.buffer_bytes = 1024, .buffers = 3}};
    const std::uint64_t live = test::settled_memory().live_bytes;
    constexpr std::uint64_t count = test::or_modelled(50000, 2000);
    for (std::uint64_t i = 0; i < count; ++i) {
      items.push(place{static_cast<std::uint32_t>(i % place_count())}, i);
      if (i % 1000 == 0) {
        EXPECT_LE(items.buffer_bytes(), 3 * 1024 * place_count());
        EXPECT_LE(memory_statistics().live_bytes, live + 3 * (1024 + 64) * place_count() + 65536);
      }
    }
    items.drain();
    EXPECT_EQ(all_reduce(sum, std::plus<>{}), (count - 1) * (count / 2) * place_count());
  });
}

TEST_P(conveyor_on, a_handler_may_wait) {
  run([] {
    int handled = 0;
    conveyor<std::uint32_t> items{[&](std::uint32_t from) {
      EXPECT_EQ(at(place{from}, [](std::uint32_t n) { return n + 1; }, from), from + 1);
      ++handled;
    }};
    for (const place p : places())
      for (int i = 0; i < 20; ++i) items.push(p, here().index());
    items.drain();
    EXPECT_EQ(handled, 20 * static_cast<int>(place_count()));
  });
}

TEST_P(conveyor_on, what_a_handler_throws_comes_out_at_the_sender) {
  if (GetParam().places == 1) return;
  run([] {
    int handled = 0;
    conveyor<int> items{[&](int n) {
      if (n < 0) throw std::runtime_error{"a bad item"};
      ++handled;
    }};
    const place next{(here().index() + 1) % place_count()};
    items.push(next, 1);
    items.push(next, -1);
    const auto told = test::error_of([&] { items.flush(); });
    EXPECT_EQ(told.code, errc::remote_exception);
    EXPECT_TRUE(told.says("a bad item")) << told.text;
    items.push(next, 2);
    items.flush();
    barrier();
    EXPECT_EQ(handled, 2);
    if (here().index() == 0) items.push(next, -1);
    if (here().index() == 0) {
      EXPECT_TRUE(test::error_of([&] { items.drain(); }).says("a bad item"));
    } else {
      items.drain();
    }
    EXPECT_THROW(items.push(place{place_count()}, 1), error);
  });
}

TEST_P(conveyor_on, what_nobody_asked_for_reaches_the_scope) {
  if (GetParam().places == 1) return;
  run([] {
    const auto told = test::error_of([] {
      finish([] {
        conveyor<int> items{[](int) { throw std::runtime_error{"unheard"}; }};
        items.push(place{(here().index() + 1) % place_count()}, 1);
      });
    });
    EXPECT_TRUE(told.says("unheard")) << told.text;
  });
}

TEST_P(conveyor_on, a_lost_place_is_told_to_who_pushes_and_the_others_go_on) {
  if (GetParam().places == 1) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    int handled = 0;
    conveyor<int> items{[&](int) { ++handled; }, {.buffer_bytes = 128, .buffers = 2}};
    if (here().index() == 1) throw std::runtime_error{"died as it should"};
    EXPECT_THROW(
        while (true) {
          items.push(place{1}, 1);
          progress();
        },
        place_lost_error);
    EXPECT_THROW(
        {
          items.push(place{1}, 1);
          items.flush();
        },
        place_lost_error);
    const int own = handled;
    items.push(here(), 1);
    while (handled == own) {
      try {
        progress();
      } catch (const place_lost_error&) {  // who leaves is an end, too
      }
    }
    EXPECT_EQ(handled, own + 1);
  });
  set_log_sink(before);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

// The others wait in the drain for whoever has pushed what failed.
TEST_P(conveyor_on, a_handler_may_lose_a_place_that_is_no_member) {
  if (GetParam().places < 3) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    const team rest = world().split(here().index() == 1);
    int handled = 0;
    conveyor<int> items{[&](int n) {
                          if (n < 0) at(place{1}, [] {});
                          handled += n;
                        },
                        {},
                        rest};
    try {
      barrier();  // all have come so far
    } catch (const place_lost_error&) {}
    if (here().index() == 1) throw std::runtime_error{"died as it should"};
    (void)survivors();  // who are told now, and by no wait later
    const place last = rest.member(rest.size() - 1);
    items.push(last, 1);
    if (rest.index() == 0) items.push(last, -1);
    bool is_told = false;
    try {
      items.drain();
    } catch (const place_lost_error&) {
      is_told = true;
    }
    EXPECT_EQ(is_told, rest.index() == 0);
    EXPECT_EQ(all_reduce(handled, std::plus<>{}, rest), static_cast<int>(rest.size()));
    items.push(last, 1);
    items.drain();
    EXPECT_EQ(all_reduce(handled, std::plus<>{}, rest), 2 * static_cast<int>(rest.size()));
  });
  set_log_sink(before);
  test::expect_only_lost(result, 1);
}

TEST_P(conveyor_on, a_team_has_one_of_its_own) {
  run([] {
    const team half = world().split(here().index() % 2);
    std::uint32_t sum = 0;
    conveyor<std::uint32_t> items{[&](std::uint32_t n) { sum += n; }, {}, half};
    for (std::uint32_t i = 0; i < half.size(); ++i) items.push(half.member(i), half.index() + 1);
    items.drain();
    EXPECT_EQ(sum, half.size() * (half.size() + 1) / 2);
    if (place_count() > 1) {
      const place other{here().index() ^ 1};
      const std::uint32_t outside = other.index() < place_count() ? other.index() : here().index() - 1;
      EXPECT_EQ(test::error_of([&] { items.push(place{outside}, 1); }).code, errc::bad_argument);
    }
  });
}

TEST_P(conveyor_on, options_that_cannot_be_are_refused) {
  run([] {
    EXPECT_EQ(test::error_of([] { const conveyor<int> items{[](int) {}, {.buffers = 1}}; }).code, errc::bad_argument);
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, conveyor_on, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
