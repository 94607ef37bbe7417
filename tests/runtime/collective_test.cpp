// Every collective against a sequential reference: each place can compute every other's value from the seed, so it knows what must
// come out. Random teams, roots, types and sizes; the operations are associative but do not commute.
#include "support/places.h"

#include <algorithm>
#include <functional>

namespace situ {
namespace {

using test::mixed;

class collectives : public test::on_places {};

// A value for each (seed, member) of each type.
template <class T>
struct value_of;
template <>
struct value_of<std::int64_t> {
  static std::int64_t make(std::uint64_t seed, std::uint64_t member) { return static_cast<std::int64_t>(mixed(seed, member) % 2000000) - 1000000; }
};
template <>
struct value_of<double> {
  static double make(std::uint64_t seed, std::uint64_t member) { return static_cast<double>(mixed(seed, member) % 1024) / 4; }
};
template <>
struct value_of<std::string> {
  static std::string make(std::uint64_t seed, std::uint64_t member) {
    const std::size_t length = mixed(seed, 7) % 40 == 0 ? 30000 : mixed(seed, member) % 30;  // now and then beyond a message, once joined
    return std::string(length, static_cast<char>('a' + member % 26)) + std::to_string(member);
  }
};
template <>
struct value_of<std::vector<std::uint32_t>> {
  static std::vector<std::uint32_t> make(std::uint64_t seed, std::uint64_t member) {
    std::vector<std::uint32_t> made(mixed(seed, member) % 50);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::uint32_t>(mixed(seed, 1000 * member + i));
    return made;
  }
};
struct matrix {  // 2 x 2 over the unsigned numbers: multiplication associates and does not commute
  std::array<std::uint32_t, 4> e;
  friend bool operator==(const matrix&, const matrix&) = default;
};
template <>
struct value_of<matrix> {
  static matrix make(std::uint64_t seed, std::uint64_t member) {
    matrix m;
    for (std::size_t i = 0; i < 4; ++i) m.e[i] = static_cast<std::uint32_t>(mixed(seed, 10 * member + i));
    return m;
  }
};

struct combine {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;  // numbers exactly (doubles here are multiples of 1/4), strings in order
  }
  matrix operator()(matrix a, matrix b) const {
    return {{a.e[0] * b.e[0] + a.e[1] * b.e[2], a.e[0] * b.e[1] + a.e[1] * b.e[3], a.e[2] * b.e[0] + a.e[3] * b.e[2], a.e[2] * b.e[1] + a.e[3] * b.e[3]}};
  }
  std::vector<std::uint32_t> operator()(std::vector<std::uint32_t> a, std::vector<std::uint32_t> b) const {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
};

template <class T>
T reduced(std::uint64_t seed, std::uint32_t first, std::uint32_t end) {
  T total = value_of<T>::make(seed, first);
  for (std::uint32_t i = first + 1; i < end; ++i) total = combine{}(total, value_of<T>::make(seed, i));
  return total;
}

template <class T>
void check_all(const team& t, std::uint64_t seed) {
  const std::uint32_t n = t.size();
  const std::uint32_t me = t.index();
  const auto root = static_cast<std::uint32_t>(mixed(seed, 5) % n);
  const T own = value_of<T>::make(seed, me);
  ASSERT_EQ(broadcast(me == root ? own : T{}, root, t), value_of<T>::make(seed, root));
  const T at_root = reduce(own, combine{}, root, t);
  if (me == root) {
    ASSERT_EQ(at_root, (reduced<T>(seed, 0, n)));
  }
  ASSERT_EQ(all_reduce(own, combine{}, t), (reduced<T>(seed, 0, n)));
  ASSERT_EQ(inclusive_scan(own, combine{}, t), (reduced<T>(seed, 0, me + 1)));
  const T first = value_of<T>::make(seed, 999);
  ASSERT_EQ(exclusive_scan(own, combine{}, first, t), me == 0 ? first : combine{}(first, reduced<T>(seed, 0, me)));

  std::vector<T> everybody;
  for (std::uint32_t i = 0; i < n; ++i) everybody.push_back(value_of<T>::make(seed, i));
  ASSERT_EQ(gather(own, root, t), me == root ? everybody : std::vector<T>{});
  ASSERT_EQ(all_gather(own, t), everybody);

  std::vector<T> outgoing, expected;
  std::vector<std::vector<T>> parcels, expected_parcels;
  for (std::uint32_t i = 0; i < n; ++i) {
    outgoing.push_back(value_of<T>::make(seed, 100 * me + i));
    expected.push_back(value_of<T>::make(seed, 100 * i + me));
    const auto count_from = [&](std::uint32_t from, std::uint32_t to) { return mixed(seed, 31 * from + to) % 4; };
    parcels.emplace_back(count_from(me, i), outgoing.back());
    expected_parcels.emplace_back(count_from(i, me), expected.back());
  }
  ASSERT_EQ(all_to_all(outgoing, t), expected);
  ASSERT_EQ(exchange(parcels, t), expected_parcels);
}

void check_all_types(const team& t, std::uint64_t seed) {
  check_all<std::int64_t>(t, mixed(seed, 1));
  check_all<double>(t, mixed(seed, 2));
  check_all<std::string>(t, mixed(seed, 3));
  check_all<std::vector<std::uint32_t>>(t, mixed(seed, 4));
  check_all<matrix>(t, mixed(seed, 5));
}

TEST_P(collectives, agree_with_a_sequential_reference) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const int rounds = place_count() > 16 ? 2 : test::rounds(20);
    for (int round = 0; round < rounds; ++round) check_all_types(world(), mixed(seed, static_cast<std::uint64_t>(round)));
  });
}

TEST_P(collectives, of_random_teams_agree_too) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const int rounds = place_count() > 16 ? 1 : test::rounds(10);
    for (int round = 0; round < rounds; ++round) {
      const std::uint64_t salt = mixed(seed, static_cast<std::uint64_t>(round));
      const team part = world().split(static_cast<std::uint32_t>(mixed(salt, here().index()) % 3), static_cast<std::uint32_t>(mixed(salt, 100 + here().index()) % 1000));
      check_all_types(part, mixed(salt, 17));
    }
  });
}

// Parts of the next collectives may arrive while a slow member is still in an earlier one.
TEST_P(collectives, follow_each_other_without_barriers) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    std::mt19937_64 random{mixed(seed, here().index())};
    const std::uint32_t n = place_count();
    const auto rounds = static_cast<std::uint32_t>(n > 16 ? test::rounds(40) : test::rounds(500));
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (std::uint64_t late = random() % 3; late > 0; --late) progress();
      const std::uint32_t root = round % n;
      ASSERT_EQ(broadcast(here().index() == root ? round : 0U, root), round);
      ASSERT_EQ(all_reduce(round + here().index(), std::plus<>{}), n * round + n * (n - 1) / 2);
    }
  });
}

TEST_P(collectives, of_several_teams_run_in_tasks_side_by_side) {
  run([] {
    const team a = world().split(0), b = world().split(1), c = world().split(here().index() % 2);
    finish([&] {
      async([&] {
        for (int i = 0; i < 20; ++i) EXPECT_EQ(all_reduce(1, std::plus<>{}, a), static_cast<int>(a.size()));
      });
      async([&] {
        for (int i = 0; i < 20; ++i) EXPECT_EQ(all_gather(here().index(), b).size(), b.size());
      });
      async([&] {
        for (int i = 0; i < 20; ++i) barrier(c);
      });
    });
  });
}

TEST_P(collectives, leave_no_memory_behind) {
  run([] {
    const std::uint64_t live = test::settled_memory().live_bytes;
    const std::vector<std::uint32_t> large(100000, here().index());  // through a buffer
    EXPECT_EQ(broadcast(large, place_count() - 1).front(), place_count() - 1);
    EXPECT_EQ(all_gather(large).back().back(), place_count() - 1);
    EXPECT_EQ(test::settled_memory().live_bytes, live);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, collectives, testing::ValuesIn(test::layouts({1, 2, 3, 4, 7, 20})), test::layout_name);

}  // namespace
}  // namespace situ
