// sort and stable_sort over places against std::sort of all elements at one: random sizes, equal and sorted ones,
// strings and structs, teams; how even the parts are, memory, and losses.
#include <situ/spread/sort.h>

#include "support/places.h"

#include <situ/base/log.h>
#include <situ/runtime/collective.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

namespace situ {
namespace {

class sort_on : public test::on_places {};

// What each member gives: all can compute it.
template <class T>
using shares = std::vector<std::vector<T>>;

template <class T>
std::vector<T> joined(const shares<T>& parts) {
  std::vector<T> all;
  for (const std::vector<T>& each : parts) all.insert(all.end(), each.begin(), each.end());
  return all;
}

// As sort.h promises: to within a sixteenth, and an element for each member.
template <class T>
void expect_even(const shares<T>& parts) {
  const std::size_t n = parts.size(), all = joined(parts).size();
  for (const std::vector<T>& each : parts) {
    EXPECT_LE(each.size(), all / n + all / n / 16 + n);
    EXPECT_GE(each.size() + all / n / 16 + n, all / n);
  }
}

template <class T, class Compare = std::less<>>
void expect_sorted(const shares<T>& given, Compare before = {}, const team& members = world()) {
  std::vector<T> model = joined(given);
  std::stable_sort(model.begin(), model.end(), before);
  const std::vector<T> stable = stable_sort(given[members.index()], before, members);
  const shares<T> parts = all_gather(stable, members);
  EXPECT_EQ(joined(parts), model);
  expect_even(parts);
  EXPECT_TRUE(is_sorted(stable, before, members));
  // Equal elements may have changed places: compared by what the comparison sees of them.
  const auto differ = [&](const T& a, const T& b) { return before(a, b) || before(b, a); };
  const std::vector<T> quick = joined(all_gather(sort(given[members.index()], before, members), members));
  EXPECT_EQ(quick.size(), model.size());
  EXPECT_EQ(std::mismatch(quick.begin(), quick.end(), model.begin(), std::not_fn(differ)).first, quick.end());
}

std::size_t any_size(std::mt19937_64& random) {
  switch (random() % 5) {
    case 0: return 0;
    case 1: return random() % 4;
    case 2: return random() % 5000;  // more than all are samples
    default: return random() % 200;
  }
}

template <class T, class Make>
shares<T> any_shares(std::mt19937_64& random, std::uint32_t members, Make make) {
  shares<T> given(members);
  for (std::vector<T>& each : given) {
    each.resize(any_size(random));
    for (T& element : each) element = make();
  }
  return given;
}

struct order {
  std::uint32_t day;
  std::string customer;
  bool operator==(const order&) const = default;
};

TEST_P(sort_on, agrees_with_a_sort_at_one_place) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    std::mt19937_64 random{seed};
    for (int round = 0; round < test::rounds(10); ++round) {
      const std::uint64_t values = 1 + random() % (random() % 2 == 0 ? 10 : 1'000'000);  // many are equal, or few
      expect_sorted(any_shares<std::uint64_t>(random, place_count(), [&] { return random() % values; }));
      expect_sorted(any_shares<double>(random, place_count(), [&] { return 0.5 * double(random() % values); }),
                    std::greater<>{});
      expect_sorted(any_shares<std::string>(random, place_count(), [&] { return std::to_string(random() % values); }));
      expect_sorted(any_shares<order>(random, place_count(),
                                      [&] {
                                        const auto day = static_cast<std::uint32_t>(random() % values);
                                        return order{day, std::to_string(random())};
                                      }),
                    [](const order& a, const order& b) { return a.day < b.day; });
    }
  });
}

TEST_P(sort_on, takes_what_is_equal_sorted_or_at_one_place_only) {
  run([] {
    const std::uint32_t n = place_count();
    const std::size_t count = test::rounds(3000);
    expect_sorted(shares<int>(n));
    expect_sorted(shares<int>(n, std::vector<int>(count, 7)));
    shares<int> in_order(n), backwards(n), at_the_last(n);
    for (std::uint32_t p = 0; p < n; ++p) {
      in_order[p].resize(count);
      std::iota(in_order[p].begin(), in_order[p].end(), static_cast<int>(p * count));
      backwards[n - 1 - p].assign(in_order[p].rbegin(), in_order[p].rend());
    }
    expect_sorted(in_order);
    expect_sorted(backwards);
    at_the_last.back() = joined(backwards);
    expect_sorted(at_the_last);
    expect_sorted(shares<std::string>(n, std::vector<std::string>(count, "all alike, and too long for its place")));
  });
}

TEST_P(sort_on, stays_stable_where_only_the_order_tells_elements_apart) {
  run([] {
    struct entry {
      std::uint32_t key, place, number;
      bool operator==(const entry&) const = default;
    };
    shares<entry> given(place_count());
    for (std::uint32_t p = 0; p < place_count(); ++p)
      for (std::uint32_t i = 0; i < 2000; ++i) given[p].push_back({i % 3, p, i});
    expect_sorted(given, [](const entry& a, const entry& b) { return a.key < b.key; });
  });
}

TEST_P(sort_on, a_comparison_may_capture) {
  run([] {
    std::vector<std::uint32_t> rank(100);
    for (std::uint32_t i = 0; i < 100; ++i) rank[i] = (i * 37 + 11) % 100;
    shares<std::uint32_t> given(place_count());
    for (std::uint32_t p = 0; p < place_count(); ++p)
      for (std::uint32_t i = 0; i < 500; ++i) given[p].push_back(static_cast<std::uint32_t>(test::mixed(p, i) % 100));
    expect_sorted(given, [&rank](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
  });
}

TEST_P(sort_on, members_of_a_team_sort_among_themselves) {
  run([] {
    const team half = world().split(here().index() % 2);
    shares<int> given(half.size());
    for (std::uint32_t i = 0; i < half.size(); ++i)
      for (int k = 0; k < 300; ++k)
        given[i].push_back(static_cast<int>(test::mixed(i * 2 + here().index() % 2, k) % 1000));
    expect_sorted(given, std::less<>{}, half);
    barrier();
  });
}

TEST_P(sort_on, says_where_an_order_is_broken) {
  run([] {
    const std::uint32_t me = here().index(), last = place_count() - 1;
    EXPECT_TRUE(is_sorted(std::vector<std::uint32_t>{me, me, me + 1}));
    EXPECT_TRUE(is_sorted(std::vector<std::uint32_t>{}));
    EXPECT_FALSE(is_sorted(me == last ? std::vector<std::uint32_t>{2, 1} : std::vector<std::uint32_t>{}));
    // In order at each, and not over all: places in between have nothing.
    const std::vector<std::uint32_t> ends = me == 0      ? std::vector<std::uint32_t>{5, 6}
                                            : me == last ? std::vector<std::uint32_t>{4, 9}
                                                         : std::vector<std::uint32_t>{};
    EXPECT_EQ(is_sorted(ends), place_count() == 1);
  });
}

TEST_P(sort_on, gives_its_memory_back) {
  run([] {
    const std::vector<std::uint64_t> numbers(5000, here().index());
    (void)sort(numbers);
    const memory_usage before = test::settled_memory();
    for (int i = 0; i < 5; ++i) (void)sort(numbers);
    EXPECT_EQ(test::settled_memory().live_bytes, before.live_bytes);
  });
}

TEST_P(sort_on, no_room_at_one_place_is_told_to_all) {
  if (GetParam().places == 1) return;
  run(
      [] {
        // The last place takes what the job has left, and has many elements; the others have room for their few.
        const bool is_last = here().index() + 1 == place_count();
        std::vector<ptr<std::byte>> taken;
        (void)sort(std::vector<std::uint64_t>(10));
        if (is_last) {
          for (std::size_t bytes = std::size_t{1} << 27; bytes >= 1024;) try {
              taken.push_back(allocate_bytes(bytes));
            } catch (const error&) {
              bytes /= 2;
            }
        }
        barrier();
        const auto told = test::error_of([&] { (void)sort(std::vector<std::uint64_t>(is_last ? 1 << 20 : 10)); });
        EXPECT_EQ(told.code, errc::out_of_memory);
        EXPECT_TRUE(told.says("place " + std::to_string(place_count() - 1) + " has no room")) << told.text;
        barrier();
        for (const ptr<std::byte> each : taken) deallocate(each);
        EXPECT_TRUE(is_sorted(sort(std::vector<std::uint64_t>(1000, here().index()))));
      },
      {.memory_budget = std::size_t{128} << 20});
}

template <class T>
void sort_until_lost(const T& element) {
  barrier();
  for (int round = 0;; ++round) {
    if (here().index() == 1 && round == 3) throw std::runtime_error{"died as it should"};
    (void)sort(std::vector<T>(2000, element));
  }
}

TEST_P(sort_on, a_lost_place_is_told_to_who_sorts) {
  if (GetParam().places == 1) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    if (here().index() == 1)
      sort_until_lost(1.5);
    else
      EXPECT_THROW(sort_until_lost(2.5), place_lost_error);
  });
  set_log_sink(before);
  test::expect_only_lost(result, 1);
}

TEST_P(sort_on, survivors_sort_on) {
  if (GetParam().places < 3) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    if (here().index() == 1)
      sort_until_lost(std::string{"a text that is too long for its place"});
    else
      EXPECT_THROW(sort_until_lost(std::string{"another text, as long as that one"}), place_lost_error);
    const team left = survivors();
    shares<int> given(left.size());
    for (std::uint32_t i = 0; i < left.size(); ++i)
      for (int k = 0; k < 1000; ++k) given[i].push_back(static_cast<int>(test::mixed(i, k) % 500));
    expect_sorted(given, std::less<>{}, left);
  });
  set_log_sink(before);
  test::expect_only_lost(result, 1);
}

INSTANTIATE_TEST_SUITE_P(layouts, sort_on, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
