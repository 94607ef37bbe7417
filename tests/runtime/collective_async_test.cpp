// Asynchronous collectives of values, and those that only some members have something to say in: neighbours, messages
// that nobody expects.
#include "runtime/collective_values.h"

#include <array>
#include <map>

namespace situ {
namespace {

using test::mixed;
using test::value_of;

class async_collectives : public test::on_places {};

struct entry {  // as nothing declares it
  std::string name;
  std::map<std::string, std::vector<int>> numbers;
  friend bool operator==(const entry&, const entry&) = default;
};
struct join {  // of a program's own; does not commute
  entry operator()(entry a, const entry& b) const {
    a.name += "," + b.name;
    for (const auto& [key, values] : b.numbers)
      a.numbers[key].insert(a.numbers[key].end(), values.begin(), values.end());
    return a;
  }
};
entry entry_of(std::uint64_t seed, std::uint32_t member) {
  return {std::to_string(member), {{std::to_string(mixed(seed, member) % 3), {static_cast<int>(member)}}}};
}

TEST_P(async_collectives, of_the_programs_own_types_and_operations) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const std::uint32_t n = place_count();
    entry all = entry_of(seed, 0);
    for (std::uint32_t i = 1; i < n; ++i) all = join{}(std::move(all), entry_of(seed, i));
    const entry mine = entry_of(seed, here().index());
    const future<entry> reduced = all_reduce_async(mine, join{});
    const future<entry> scanned = inclusive_scan_async(mine, join{});
    const future<std::vector<entry>> gathered = all_gather_async(mine);
    const future<entry> told = broadcast_async(mine, n - 1);
    EXPECT_EQ(told.get(), entry_of(seed, n - 1));
    EXPECT_EQ(gathered.get().at(n / 2), entry_of(seed, n / 2));
    if (here().index() == n - 1) {
      EXPECT_EQ(scanned.get(), all);
    }
    EXPECT_EQ(reduced.get(), all);
    EXPECT_EQ(scatter(here().index() == 1 % n ? gathered.get() : std::vector<entry>{}, 1 % n), mine);
  });
}

// They keep the order of their calls, so results can be told apart; one that waits beside them takes its turn.
TEST_P(async_collectives, hundreds_are_under_way_at_once) {
  run([] {
    const std::uint32_t n = place_count();
    const std::uint32_t sum = n * (n - 1) / 2;
    std::vector<future<std::uint32_t>> reduced, told;
    std::vector<future<std::vector<std::uint32_t>>> swapped;
    for (std::uint32_t i = 0; i < 100; ++i) {
      reduced.push_back(all_reduce_async(here().index() + i, std::plus<>{}));
      told.push_back(broadcast_async(1000 * here().index() + i, i % n));
      swapped.push_back(all_to_all_async(std::vector<std::uint32_t>(n, here().index() * i)));
      if (mixed(i, here().index()) % 4 == 0) progress();
    }
    ASSERT_EQ(all_reduce(1U, std::plus<>{}), n);
    for (std::uint32_t i = 100; i-- > 0;) {
      ASSERT_EQ(reduced[i].get(), sum + n * i);
      ASSERT_EQ(told[i].get(), 1000 * (i % n) + i);
      for (std::uint32_t p = 0; p < n; ++p) ASSERT_EQ(swapped[i].get()[p], p * i);
    }
  });
}

TEST_P(async_collectives, go_on_with_then_and_in_coroutines) {
  run([] {
    const auto twice = [](std::uint32_t n) -> future<std::uint32_t> {
      const std::uint32_t one = co_await all_reduce_async(n, std::plus<>{});
      co_return co_await all_reduce_async(one, std::plus<>{});
    };
    const future<std::uint32_t> squares = twice(1).then([](std::uint32_t n) { return n + 1; });
    EXPECT_EQ(squares.get(), place_count() * place_count() + 1);
  });
}

TEST_P(async_collectives, neighbours_in_a_ring) {
  run([] {
    const std::uint32_t n = place_count(), me = here().index();
    const std::uint32_t left = (me + n - 1) % n, right = (me + 1) % n;
    const std::vector<std::string> got = neighbour_exchange(
        std::array{left, right}, std::vector{"to the left " + std::to_string(me), "to the right " + std::to_string(me)},
        std::array{right, left});
    EXPECT_EQ(got[0], "to the left " + std::to_string(right));
    EXPECT_EQ(got[1], "to the right " + std::to_string(left));
  });
}

// A random graph, the same at all members: edge (i, j) is there as often as a number of both says.
TEST_P(async_collectives, neighbours_in_random_graphs) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for (std::uint64_t round = 0; round < 20; ++round) {
      const std::uint64_t salt = mixed(seed, round);
      const team t = round % 2 == 0
                         ? world()
                         : world().split(0, static_cast<std::uint32_t>(mixed(salt, 70 + here().index()) % 1000));
      const std::uint32_t n = t.size(), me = t.index();
      const auto edges = [&](std::uint32_t i, std::uint32_t j) {
        return mixed(salt, 100 * std::min(i, j) + std::max(i, j)) % 3;
      };
      std::vector<std::uint32_t> neighbours;
      std::vector<std::vector<std::uint32_t>> values, expected;
      for (std::uint32_t i = 0; i < n; ++i)
        for (std::uint64_t k = 0; k < edges(me, i); ++k) {
          neighbours.push_back(i);
          values.push_back(value_of<std::vector<std::uint32_t>>::make(mixed(salt, k), 100 * me + i));
          expected.push_back(value_of<std::vector<std::uint32_t>>::make(mixed(salt, k), 100 * i + me));
        }
      const auto later = neighbour_exchange_async(neighbours, values, t);
      ASSERT_EQ(neighbour_exchange(neighbours, values, t), expected);
      ASSERT_EQ(later.get(), expected);
    }
  });
}

TEST_P(async_collectives, messages_that_nobody_expects) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for (std::uint64_t round = 0; round < 20; ++round) {
      const std::uint64_t salt = mixed(seed, round);
      const team t = round % 2 == 0 ? world() : world().split(here().index() % 2);
      const std::uint32_t n = t.size(), me = t.index();
      const auto sends = [&](std::uint32_t from, std::uint32_t to) { return mixed(salt, 100 * from + to) % 4 == 0; };
      std::map<std::uint32_t, std::string> messages;
      std::vector<std::pair<std::uint32_t, std::string>> expected, several;
      for (std::uint32_t i = 0; i < n; ++i) {
        if (sends(me, i)) messages[i] = value_of<std::string>::make(salt, 100 * me + i);
        if (sends(i, me)) expected.emplace_back(i, value_of<std::string>::make(salt, 100 * i + me));
      }
      for (const auto& [to, text] : messages) several.insert(several.end(), {{to, text}, {to, "more"}});
      const auto later = sparse_exchange_async(several, t);
      ASSERT_EQ(sparse_exchange(messages, t), expected);
      several.clear();
      for (const auto& [from, text] : expected) several.insert(several.end(), {{from, text}, {from, "more"}});
      ASSERT_EQ(later.get(), several);
    }
  });
}

TEST_P(async_collectives, of_spans_of_other_lengths_are_told) {
  if (GetParam().places == 1) return;
  run([] {
    if (here().index() > 1) return;
    const std::uint32_t both[] = {0, 1};
    std::vector<int> numbers(3 + here().index());
    const test::caught_error of_numbers =
        test::error_of([&] { all_reduce(std::span{numbers}, std::plus<>{}, world().subset(both)); });
    EXPECT_EQ(of_numbers.code, errc::bad_argument);
    EXPECT_TRUE(of_numbers.says("elements")) << of_numbers.text;
    std::vector<std::string> words(3 + here().index(), "word");
    const test::caught_error of_words =
        test::error_of([&] { all_reduce(std::span{words}, std::plus<>{}, world().subset(both)); });
    EXPECT_TRUE(of_words.says("another number of elements") || of_words.says("are announced")) << of_words.text;
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, async_collectives, testing::ValuesIn(test::layouts({1, 2, 3, 4, 7})),
                         test::layout_name);

}  // namespace
}  // namespace situ
