// Reductions that give the same bits however many places the elements are spread over.
#include "support/places.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace situ {
namespace {

using test::mixed;

// Numbers whose sum depends on where the brackets stand.
std::vector<double> numbers(std::uint64_t seed, std::size_t count) {
  std::vector<double> made;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mixed(seed, i);
    made.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits)), static_cast<int>(bits % 90) - 100));
  }
  return made;
}

// Where member `i` of `n` begins: as evenly as can be, or anywhere.
std::size_t begin_of(std::uint32_t i, std::uint32_t n, std::size_t count, std::uint64_t seed) {
  if (i == 0) return 0;
  if (i >= n) return count;
  if (seed == 0) return count * i / n;
  std::vector<std::size_t> cuts;
  for (std::uint32_t k = 1; k < n; ++k) cuts.push_back(mixed(seed, k) % (count + 1));
  std::sort(cuts.begin(), cuts.end());
  return cuts[i - 1];
}

template <class T>
std::span<const T> own_part(const std::vector<T>& all, std::uint64_t seed) {
  const std::size_t begin = begin_of(here().index(), place_count(), all.size(), seed);
  return std::span{all}.subspan(begin, begin_of(here().index() + 1, place_count(), all.size(), seed) - begin);
}

// What one place makes of them, written down apart from the library.
template <class T, class Operation>
T by_trees(const T* first, std::size_t count, Operation operation) {
  if (count == 1) return *first;
  const std::size_t largest = std::bit_floor(count);
  const std::size_t left = largest == count ? count / 2 : largest;
  return operation(by_trees(first, left, operation), by_trees(first + left, count - left, operation));
}

class reproducible_reductions : public test::on_places {};

TEST_P(reproducible_reductions, of_doubles_have_the_same_bits_on_any_number_of_places) {
  const std::uint64_t seed = test::test_seed();
  bool brackets_matter = false;
  for (const std::size_t count : {1, 2, 7, 64, 1000, 4097, 20000}) {
    const std::vector<double> all = numbers(seed, count);
    const double expected = by_trees(all.data(), count, std::plus<>{});
    double in_turn = 0;
    for (const double each : all) in_turn += each;
    brackets_matter =
        brackets_matter || std::bit_cast<std::uint64_t>(in_turn) != std::bit_cast<std::uint64_t>(expected);
    run([&, expected] {
      for (const std::uint64_t cut : {std::uint64_t{0}, seed | 1, mixed(seed, count) | 1}) {
        const double sum = all_reduce(reproducible, own_part(all, cut), std::plus<>{});
        ASSERT_EQ(std::bit_cast<std::uint64_t>(sum), std::bit_cast<std::uint64_t>(expected)) << count;
      }
    });
  }
  EXPECT_TRUE(brackets_matter) << "any order of adding would have done";
}

TEST_P(reproducible_reductions, keep_the_order_of_elements) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    std::vector<std::string> words;
    std::string text;
    for (int i = 0; i < 100; ++i) text += words.emplace_back(std::to_string(i)) += ' ';
    ASSERT_EQ(all_reduce(reproducible, own_part(words, seed | 1), std::plus<>{}), text);
    const future<std::string> later = all_reduce_async(reproducible, own_part(words, 0), std::plus<>{});
    ASSERT_EQ(later.get(), text);
  });
}

TEST_P(reproducible_reductions, of_teams_and_of_nothing) {
  run([] {
    const team reversed = world().split(0, place_count() - here().index());
    const std::vector<std::uint32_t> mine(here().index() % 3, here().index());
    const std::vector<std::uint32_t> none;
    std::uint32_t expected = 0;
    for (std::uint32_t p = 0; p < place_count(); ++p) expected += p % 3 * p;
    if (place_count() > 1) {
      EXPECT_EQ(all_reduce(reproducible, std::span{mine}, std::plus<>{}, reversed), expected);
    }
    EXPECT_EQ(test::error_of([&] { (void)all_reduce(reproducible, std::span{none}, std::plus<>{}); }).code,
              errc::bad_argument);
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, reproducible_reductions, testing::ValuesIn(test::layouts({1, 2, 3, 4, 5, 6, 7})),
                         test::layout_name);

}  // namespace
}  // namespace situ
