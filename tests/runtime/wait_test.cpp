// Waiting for words: woken by whatever changes them, in main and in tasks, with and without a deadline.
#include "support/places.h"

#include <functional>
#include <random>
#include <string>

#include "support/stalls.h"

namespace situ {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

class word_waits : public test::on_places {};

// A signal at every place, all 0 before anybody goes on.
class shared_signals {
 public:
  explicit shared_signals(std::size_t each = 1) : signals_{all_gather(allocate_signals(each))} {}
  ~shared_signals() {
    barrier();
    deallocate(mine());
  }
  shared_signals(const shared_signals&) = delete;
  shared_signals& operator=(const shared_signals&) = delete;
  [[nodiscard]] ptr<signal> operator[](std::size_t i) const { return signals_[i % signals_.size()]; }
  [[nodiscard]] ptr<signal> mine() const { return signals_[here().index()]; }
  [[nodiscard]] ptr<signal> next() const { return (*this)[here().index() + 1]; }

 private:
  std::vector<ptr<signal>> signals_;
};

constexpr auto at_least = [](std::uint64_t n) { return [n](std::uint64_t value) { return value >= n; }; };

TEST_P(word_waits, end_at_once_where_the_condition_holds) {
  run([] {
    const ptr<signal> own = allocate_signals();
    EXPECT_EQ(own.address() % 64, 0U);
    EXPECT_EQ(wait_until(own, 0), 0U);
    *word(own).local() = 5;
    EXPECT_EQ(wait_until(own, 5), 5U);
    EXPECT_EQ(wait_until(own, at_least(3)), 5U);
    EXPECT_EQ(wait_until(word(own), at_least(3), 1h), 5U);
    const ptr<double> number = allocate<double>();
    atomic_store(number, 0.5);
    EXPECT_EQ(wait_until(number, [](double x) { return x > 0; }), 0.5);
    deallocate(number);
    deallocate(own);
  });
}

// A token goes round; each hop is awaited awake, or, where the holder dawdles, asleep.
TEST_P(word_waits, pass_a_token_round) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const shared_signals signals;
    std::mt19937_64 random{test::mixed(seed, here().index())};
    const auto laps = static_cast<std::uint64_t>(test::rounds(400));
    for (std::uint64_t lap = 1; lap <= laps; ++lap) {
      if (here().index() != 0) ASSERT_EQ(wait_until(signals.mine(), lap), lap);
      if (random() % 64 == 0) std::this_thread::sleep_for(500us);
      send_signal(signals.next(), lap);
      if (here().index() == 0) ASSERT_EQ(wait_until(signals.mine(), lap), lap);
    }
  });
}

struct way {
  const char* name;
  void (*set)(ptr<std::uint64_t>, std::uint64_t before);  // from `before` to before + 1
};
const way ways[] = {
    {"store", [](ptr<std::uint64_t> w, std::uint64_t n) { atomic_store(w, n + 1); }},
    {"exchange", [](ptr<std::uint64_t> w, std::uint64_t n) { EXPECT_EQ(atomic_exchange(w, n + 1), n); }},
    {"compare_exchange",
     [](ptr<std::uint64_t> w, std::uint64_t n) { EXPECT_EQ(atomic_compare_exchange(w, n, n + 1), n); }},
    {"fetch_add", [](ptr<std::uint64_t> w, std::uint64_t n) { EXPECT_EQ(atomic_fetch_add(w, 1), n); }},
    {"fetch_or", [](ptr<std::uint64_t> w, std::uint64_t n) { EXPECT_EQ(atomic_fetch_or(w, n ^ (n + 1)), n); }},
    {"fetch_xor", [](ptr<std::uint64_t> w, std::uint64_t n) { EXPECT_EQ(atomic_fetch_xor(w, n ^ (n + 1)), n); }},
    {"fetch_max", [](ptr<std::uint64_t> w, std::uint64_t n) { EXPECT_EQ(atomic_fetch_max(w, n + 1), n); }},
    {"send_signal", [](ptr<std::uint64_t> w, std::uint64_t n) { send_signal(w, n + 1); }},
    {"add_to_signal", [](ptr<std::uint64_t> w, std::uint64_t) { send_signal(w, 1, signal_by::add); }},
    {"plain_put", [](ptr<std::uint64_t> w, std::uint64_t n) { put(w, n + 1); }},
    {"plain_store",
     [](ptr<std::uint64_t> w, std::uint64_t n) {
       std::atomic_ref<std::uint64_t>{*w.local()}.store(n + 1, std::memory_order_release);  // for ThreadSanitizer
     }},
};

// The setter comes late, so that the waiting place sleeps by then.
TEST_P(word_waits, end_by_whatever_changes_the_word) {
  run([] {
    const shared_signals signals;
    std::uint64_t value = 0;
    for (int round = 0; round < 3; ++round) {
      for (const way& each : ways) {
        if (test::with_thread_sanitizer && std::string{each.name} == "plain_put") continue;
        // fetch_or can only set bits: of an even number one more.
        if (std::string{each.name} == "fetch_or" && value % 2 != 0) {
          barrier();
          atomic_store(word(signals.mine()), ++value);
          barrier();
        }
        const int before = round == 0 ? 0 : 1;
        barrier();
        std::this_thread::sleep_for(before * 1ms);
        each.set(word(signals.next()), value);
        ++value;
        ASSERT_EQ(wait_until(signals.mine(), value), value) << each.name;
      }
    }
  });
}

TEST_P(word_waits, end_though_the_place_sleeps) {
  run([] {
    const shared_signals signals;
    if (here().index() == 0) {  // the others sleep
      for (std::uint64_t round = 1; round <= 20; ++round) {
        std::this_thread::sleep_for(2ms);
        for (std::uint32_t p = 0; p < place_count(); ++p) send_signal(signals[p], round);
      }
    }
    for (std::uint64_t round = 1; round <= 20; ++round) wait_until(signals.mine(), at_least(round));
  });
}

TEST_P(word_waits, let_messages_and_tasks_run) {
  run([] {
    const shared_signals signals;
    thread_local int served = 0;
    served = 0;
    barrier();
    const place next{(here().index() + 1) % place_count()};
    future<int> own = async([] { return at(place{(here().index() + 1) % place_count()}, [] { return ++served; }); });
    // Each call sets the signal of the place that it runs at, which waits for it.
    async_at(next, [](ptr<signal> there) { send_signal(there, 1); }, signals.next());
    wait_until(signals.mine(), 1);
    EXPECT_EQ(own.get(), 1);
  });
}

TEST_P(word_waits, of_many_tasks_side_by_side) {
  run([] {
    constexpr std::size_t tasks = 100;
    const shared_signals signals{tasks};
    std::vector<future<std::uint64_t>> values;
    for (std::size_t i = 0; i < tasks; ++i)
      values.push_back(async([mine = signals.mine() + static_cast<std::ptrdiff_t>(i / 2 * 2)] {
        return wait_until(mine, [](std::uint64_t n) { return n != 0; });
      }));
    progress();
    barrier();
    for (std::size_t i = tasks; i-- > 0;)
      if (i % 2 == 0) send_signal(signals.next() + static_cast<std::ptrdiff_t>(i), 1000 + i);
    for (std::size_t i = 0; i < tasks; ++i) EXPECT_EQ(values[i].get(), 1000 + i / 2 * 2);
  });
}

TEST_P(word_waits, for_any_and_for_all_of_several) {
  run([] {
    constexpr std::size_t count = 5;
    const shared_signals signals{count};
    std::vector<ptr<std::uint64_t>> own;
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(count); ++i) own.push_back(word(signals.mine() + i));
    const std::span<const ptr<std::uint64_t>> all{own};
    EXPECT_FALSE(wait_until_any(all, 1, 1ms));
    EXPECT_FALSE(wait_until_all(all, 1, 1ms));
    barrier();
    send_signal(signals.next() + 3, 1);
    EXPECT_EQ(wait_until_any(all, 1), 3U);
    EXPECT_FALSE(wait_until_all(all, 1, 1ms));
    barrier();
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(count); ++i) send_signal(signals.next() + i, 1);
    EXPECT_TRUE(wait_until_all(all, 1));
    EXPECT_EQ(wait_until_any(all, 1), 0U);
  });
}

TEST_P(word_waits, end_by_their_deadline) {
  run([] {
    const shared_signals signals;
    const auto start = clock::now();
    EXPECT_EQ(wait_until(signals.mine(), 1, 5ms), std::nullopt);
    EXPECT_GE(clock::now() - start, 5ms);
    EXPECT_EQ(wait_until(signals.mine(), 1, clock::now() - 1s), std::nullopt);
    EXPECT_EQ(wait_until(signals.mine(), 1, -1s), std::nullopt);
    // That of one task ends no other's wait.
    const future<> longer = async([&] { EXPECT_EQ(wait_until(signals.mine(), 1, 1h), 1U); });
    const future<> shorter = async([&] { EXPECT_EQ(wait_until(signals.mine(), 1, 5ms), std::nullopt); });
    shorter.get();
    EXPECT_FALSE(longer.is_ready());
    barrier();
    send_signal(signals.next(), 1);
    longer.get();
    EXPECT_EQ(wait_until(signals.mine(), 1, std::chrono::hours::max()), 1U);
  });
}

TEST_P(word_waits, of_misuse_say_what_to_do) {
  run([] {
    const shared_signals signals;
    if (place_count() > 1) {
      const auto elsewhere = test::error_of([&] { wait_until(signals.next(), 1); });
      EXPECT_EQ(elsewhere.code, errc::bad_address);
      EXPECT_TRUE(elsewhere.says("waits for words of its own segment")) << elsewhere.text;
      const auto apart = test::error_of([&] { put_signal(word(signals.mine()), 1UL, signals.next(), 1); });
      EXPECT_EQ(apart.code, errc::bad_address);
      EXPECT_TRUE(apart.says("both lie at one place")) << apart.text;
    }
    std::uint64_t own = 0;
    EXPECT_EQ(test::error_of([&] { wait_until(ptr<std::uint64_t>{&own}, 0); }).code, errc::bad_address);
    EXPECT_EQ(test::error_of([&] { wait_until(ptr<std::uint64_t>{}, 0); }).code, errc::bad_address);
    const ptr<std::uint64_t> crooked{
        reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(signals.mine().local()) + 4)};
    EXPECT_EQ(test::error_of([&] { wait_until(crooked, 0); }).code, errc::misaligned);
  });
}

TEST(word_waits, outside_a_runtime_are_refused) {
  EXPECT_EQ(test::error_of([] { wait_until(ptr<int>{}, 0); }).code, errc::no_runtime);
}

class a_sleeping_place : public test::on_places {};

// A plain put wakes nobody: the sleeper looks by itself, at least once a millisecond. To that the machine adds the time
// until it runs a thread whose sleep is over, which the waiting place measures in turns with its waits. On a busy
// machine that time changes from one moment to the next, so one try of five has to hold.
TEST_P(a_sleeping_place, sees_a_plain_put_within_a_millisecond) {
  constexpr int rounds = 80;
  static constexpr int tries = 5;
  run([] {
    using nanoseconds = std::chrono::nanoseconds;
    const auto now = [] { return nanoseconds{clock::now().time_since_epoch()}.count(); };
    const shared_signals signals;
    const std::vector<ptr<std::int64_t>> put_at = all_gather(allocate<std::int64_t>());
    std::uint64_t round = 0;
    std::string missed = "not tried";
    for (int attempt = 0; attempt < tries && !missed.empty(); ++attempt) {
      std::vector<std::int64_t> seen_after;
      std::vector<std::int64_t> woken_late;
      for (const std::uint64_t last = round + rounds; round < last;) {
        ++round;
        if (here().index() == 1) {
          wait_until(signals.mine(), round);
          std::this_thread::sleep_for(2ms + round % 10 * 100us);  // by then the other sleeps, at any time of its sleep
          atomic_store(put_at[1], now());
          if constexpr (test::with_thread_sanitizer)  // for which a plain put is a race
            std::atomic_ref<std::uint64_t>{*word(signals.next()).local()}.store(round, std::memory_order_release);
          else
            put(word(signals.next()), round);
        } else {
          const std::int64_t asleep_at = now();
          std::this_thread::sleep_for(1ms);
          woken_late.push_back(now() - asleep_at - nanoseconds{1ms}.count());
          send_signal(signals.next(), round);
          wait_until(signals.mine(), round);
          seen_after.push_back(now() - atomic_load(put_at[1]));
        }
      }
      missed.clear();
      for (const double part : {0.5, 0.9}) {
        if (here().index() != 0) continue;
        const std::int64_t seen = test::quantile(seen_after, part), late = test::quantile(woken_late, part);
        if (seen > nanoseconds{1ms}.count() + late)
          missed = std::to_string(static_cast<int>(100 * part)) + " in 100 puts were seen after " +
                   std::to_string(seen) + " ns, beside sleeps that ended " + std::to_string(late) + " ns late";
      }
      missed = broadcast(missed, 0);
    }
    EXPECT_EQ(missed, "") << "in the last of " << tries << " tries";
    barrier();
    deallocate(put_at[here().index()]);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, a_sleeping_place, testing::ValuesIn(test::layouts({2})), test::layout_name);
INSTANTIATE_TEST_SUITE_P(layouts, word_waits, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
