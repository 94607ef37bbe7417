// Atomics of every type, from all places at once: nothing is lost, nothing is seen twice.
#include "support/places.h"

#include <sched.h>

#include <algorithm>
#include <limits>
#include <random>
#include <type_traits>

namespace situ {
namespace {

using test::mixed;

class atomics : public test::on_places {};

template <class T>
struct typed {
  using type = T;
};

template <class Body>
void for_each_integer(Body body) {
  body(typed<std::int32_t>{});
  body(typed<std::uint32_t>{});
  body(typed<std::int64_t>{});
  body(typed<std::uint64_t>{});
  body(typed<long long>{});
}
template <class Body>
void for_each_word(Body body) {
  for_each_integer(body);
  body(typed<double>{});
}

// A word at every place, set to `start`; the place's neighbours and itself work on all of them.
template <class T>
class shared_words {
 public:
  explicit shared_words(T start) : words_{all_gather(allocate<T>(1, {.alignment = 64}))} {
    atomic_store(words_[here().index()], start);
    barrier();
  }
  ~shared_words() {
    barrier();
    deallocate(words_[here().index()]);
  }
  [[nodiscard]] ptr<T> operator[](std::size_t i) const { return words_[i % words_.size()]; }
  [[nodiscard]] ptr<T> mine() const { return words_[here().index()]; }

 private:
  std::vector<ptr<T>> words_;
};

constexpr int operations = 2000;

TEST_P(atomics, fetch_add_hands_out_each_value_once) {
  run([] {
    for_each_word([]<class T>(typed<T>) {
      const shared_words<T> words{0};
      const auto count = static_cast<std::size_t>(test::rounds(operations));
      std::vector<T> seen;
      for (std::size_t i = 0; i < count; ++i) seen.push_back(atomic_fetch_add(words[0], 1));
      const std::vector<std::vector<T>> all = all_gather(seen);
      std::vector<T> together;
      for (const auto& each : all) together.insert(together.end(), each.begin(), each.end());
      std::sort(together.begin(), together.end());
      ASSERT_EQ(together.size(), count * place_count());
      for (std::size_t i = 0; i < together.size(); ++i) ASSERT_EQ(together[i], static_cast<T>(i));
      EXPECT_EQ(atomic_load(words[0]), static_cast<T>(together.size()));
    });
  });
}

TEST_P(atomics, sums_over_words_of_all_places_are_exact) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for_each_word([seed]<class T>(typed<T>) {
      const shared_words<T> words{0};
      std::mt19937_64 random{mixed(seed, here().index())};
      T sum = 0;
      for (int i = 0; i < test::rounds(operations); ++i) {
        const T value = static_cast<T>(random() % 100);
        sum += value;
        if (i % 2 == 0) {
          atomic_fetch_add(words[random()], value);
        } else {
          (void)atomic_fetch_add_async(words[random()], value).get();
        }
      }
      barrier();
      EXPECT_EQ(all_reduce(atomic_load(words.mine()), std::plus<>{}), all_reduce(sum, std::plus<>{}));
    });
  });
}

TEST_P(atomics, fetch_add_wraps_as_unsigned_does) {
  run([] {
    const shared_words<std::int32_t> words{std::numeric_limits<std::int32_t>::max()};
    EXPECT_EQ(atomic_fetch_add(words.mine(), 1), std::numeric_limits<std::int32_t>::max());
    EXPECT_EQ(atomic_load(words.mine()), std::numeric_limits<std::int32_t>::min());
  });
}

TEST_P(atomics, exchange_passes_each_value_on_once) {
  run([] {
    for_each_word([]<class T>(typed<T>) {
      const shared_words<T> words{0};
      const int count = test::rounds(operations);
      std::vector<T> seen;
      for (int i = 0; i < count; ++i)
        seen.push_back(atomic_exchange(words[0], static_cast<T>(1 + static_cast<int>(here().index()) * count + i)));
      barrier();
      if (here().index() == 0) seen.push_back(atomic_load(words[0]));
      const std::vector<std::vector<T>> all = gather(seen);
      std::vector<T> together;
      for (const auto& each : all) together.insert(together.end(), each.begin(), each.end());
      std::sort(together.begin(), together.end());
      for (std::size_t i = 0; i < together.size(); ++i) ASSERT_EQ(together[i], static_cast<T>(i));
    });
  });
}

TEST_P(atomics, compare_exchange_writes_exactly_where_it_says_so) {
  run([] {
    for_each_word([]<class T>(typed<T>) {
      const shared_words<T> words{0};
      const int count = test::rounds(operations) / 4;
      for (int i = 0; i < count; ++i) {
        T expected = atomic_load(words[0]);
        for (T found; (found = atomic_compare_exchange(words[0], expected, expected + 1)) != expected;
             expected = found) {}
      }
      barrier();
      EXPECT_EQ(atomic_load(words[0]), static_cast<T>(count * static_cast<int>(place_count())));
      barrier();
      if (here().index() == 0) {
        EXPECT_NE(atomic_compare_exchange(words[0], -1, 5), static_cast<T>(-1));
        EXPECT_EQ(atomic_load(words[0]), static_cast<T>(count * static_cast<int>(place_count())));
      }
    });
  });
}

TEST_P(atomics, bits_of_others_are_left_alone) {
  run([] {
    for_each_integer([]<class T>(typed<T>) {
      using bits = std::make_unsigned_t<T>;
      const shared_words<T> words{0};
      const bits mine = static_cast<bits>(bits{15} << 4 * here().index());  // four bits for each of up to seven places
      bits model = 0;                                                       // this place's bits of word 0
      std::mt19937_64 random{here().index()};
      for (int i = 0; i < test::rounds(operations); ++i) {
        const bits value = static_cast<bits>(random()) & mine;
        bits before = 0;
        switch (random() % 3) {
          case 0:
            before = static_cast<bits>(atomic_fetch_or(words[0], static_cast<T>(value)));
            ASSERT_EQ(before & mine, model);
            model |= value;
            break;
          case 1:
            before = static_cast<bits>(atomic_fetch_and(words[0], static_cast<T>(value | ~mine)));
            ASSERT_EQ(before & mine, model);
            model &= value;
            break;
          default:
            before = static_cast<bits>(atomic_fetch_xor(words[0], static_cast<T>(value)));
            ASSERT_EQ(before & mine, model);
            model ^= value;
        }
      }
      const bits expected = all_reduce(model, std::bit_or<>{});
      EXPECT_EQ(static_cast<bits>(atomic_load(words[0])), expected);
    });
  });
}

TEST_P(atomics, min_and_max_only_move_one_way) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for_each_word([seed]<class T>(typed<T>) {
      const shared_words<T> lowest{std::numeric_limits<T>::max()};
      const shared_words<T> highest{std::numeric_limits<T>::lowest()};
      std::mt19937_64 random{mixed(seed, here().index())};
      T own_lowest = std::numeric_limits<T>::max(), own_highest = std::numeric_limits<T>::lowest();
      T last_low = own_lowest, last_high = own_highest;
      for (int i = 0; i < test::rounds(operations); ++i) {
        const T value = static_cast<T>(static_cast<std::int32_t>(random()));
        own_lowest = std::min(own_lowest, value);
        own_highest = std::max(own_highest, value);
        const T low = atomic_fetch_min(lowest[0], value);
        const T high = atomic_fetch_max(highest[0], value);
        ASSERT_LE(low, last_low);
        ASSERT_GE(high, last_high);
        last_low = std::min(low, value);
        last_high = std::max(high, value);
      }
      const T expected_low = all_reduce(own_lowest, [](T a, T b) { return std::min(a, b); });
      const T expected_high = all_reduce(own_highest, [](T a, T b) { return std::max(a, b); });
      EXPECT_EQ(atomic_load(lowest[0]), expected_low);
      EXPECT_EQ(atomic_load(highest[0]), expected_high);
    });
  });
}

// A flag stored after data publishes the data, and passes round the places: each reads what the one before wrote.
TEST_P(atomics, a_flag_publishes_what_was_put_before) {
  run([] {
    constexpr std::size_t elements = 64;
    const shared_words<std::uint64_t> flags{0};
    const auto data = all_gather(allocate<std::uint64_t>(elements));
    const std::uint32_t n = place_count();
    const std::uint32_t me = here().index();
    const auto laps = static_cast<std::uint64_t>(test::rounds(200));
    std::vector<std::uint64_t> numbers(elements);
    for (std::uint64_t lap = 1; lap <= laps; ++lap) {
      if (me != 0) {
        while (atomic_load(flags.mine()) != lap) sched_yield();
        for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(data[me].local()[i], mixed(lap, i));
      }
      for (std::size_t i = 0; i < elements; ++i) numbers[i] = mixed(lap + (me + 1 == n ? 1 : 0), i);
      if (me == 0 && lap > 1 && n > 1) {
        while (atomic_load(flags.mine()) != lap) sched_yield();
        for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(data[0].local()[i], mixed(lap, i));
      }
      put(data[(me + 1) % n], numbers.data(), elements);
      atomic_store(flags[(me + 1) % n], me + 1 == n ? lap + 1 : lap);
    }
    barrier();
    deallocate(data[me]);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, atomics, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
