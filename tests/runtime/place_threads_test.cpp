// Threads of a place besides its own: what they may do directly, what they hand over, and what is refused.
#include "support/places.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

namespace situ {
namespace {

class threads_of_places : public test::on_places {};

place next_place() { return place{(here().index() + 1) % place_count()}; }

TEST_P(threads_of_places, access_all_segments_at_the_same_time) {
  run([] {
    constexpr int threads_each = 3, additions = 2000;
    const ptr<std::uint64_t> sum = allocate<std::uint64_t>();
    const ptr<int> slots = allocate<int>(threads_each);
    *sum.local() = 0;
    const auto sums = all_gather(sum);
    const auto all_slots = all_gather(slots);
    barrier();
    place_threads threads;
    for (int t = 0; t < threads_each; ++t)
      threads.start([&, t] {
        EXPECT_EQ(place_count(), all_slots.size());
        for (int i = 0; i < additions; ++i)
          atomic_fetch_add(sums[static_cast<std::size_t>(i) % sums.size()], std::uint64_t{1});
        put(all_slots[next_place().index()] + t, t + 10);
      });
    threads.join();
    barrier();
    std::uint64_t total = 0;
    for (const auto& each : sums) total += get(each);
    EXPECT_EQ(total, std::uint64_t{threads_each} * additions * place_count());
    for (int t = 0; t < threads_each; ++t) EXPECT_EQ(slots.local()[t], t + 10);
    barrier();
  });
}

// Calls to other places, by many threads at once, while the place's own thread waits in join.
TEST_P(threads_of_places, hand_over_what_the_places_own_thread_does) {
  run([] {
    place_threads threads;
    std::atomic<long> sum{0};
    for (int t = 0; t < 4; ++t)
      threads.start([&, t] {
        for (int i = 0; i < test::rounds(50); ++i) {
          sum += threads.run([&] { return at(next_place(), [](int n) { return n * 2; }, t + i); });
          threads.run([] { deallocate(allocate<int>(10)); });
        }
      });
    threads.join();
    long expected = 0;
    for (int t = 0; t < 4; ++t)
      for (int i = 0; i < test::rounds(50); ++i) expected += (t + i) * 2;
    EXPECT_EQ(sum.load(), expected);
    barrier();
  });
}

// One that waits long holds up none of the others.
TEST_P(threads_of_places, wait_by_tasks_of_their_own) {
  run([] {
    place_threads threads;
    const ptr<signal> ready = allocate_signals();
    std::atomic<int> order{0};
    threads.start([&] {
      threads.run([&] { wait_until(ready, 1); });
      EXPECT_EQ(order.exchange(2), 1);
    });
    threads.start([&] {
      threads.run([] { progress(); });
      EXPECT_EQ(order.exchange(1), 0);
      send_signal(ready, 1);  // by this thread: it wakes the place
    });
    threads.join();
    EXPECT_EQ(order.load(), 2);
    deallocate(ready);
    barrier();
  });
}

TEST_P(threads_of_places, tell_what_their_bodies_threw) {
  run([] {
    place_threads threads;
    threads.start([&] {
      EXPECT_THROW(threads.run([]() -> int { throw std::logic_error{"handed over"}; }), std::logic_error);
      throw std::runtime_error{"left the body"};
    });
    EXPECT_THROW(threads.join(), std::runtime_error);
    threads.start([] {});
    EXPECT_NO_THROW(threads.join());
    EXPECT_EQ(threads.run([] { return std::string{"by the place itself"}; }), "by the place itself");
    barrier();
  });
}

// What somebody else has started, and registers.
TEST_P(threads_of_places, may_be_started_by_others) {
  run([] {
    const ptr<std::uint64_t> count = allocate<std::uint64_t>();
    *count.local() = 0;
    place_threads threads;
    std::deque<std::jthread> started;
    for (int t = 0; t < 3; ++t)
      started.emplace_back([&] {
        registered_thread self{threads};
        EXPECT_THROW(registered_thread{threads}, error) << "twice";
        threads.run([] { return place_count(); });
        atomic_fetch_add(count, std::uint64_t{1});
      });
    wait_until(count, 3);  // serves them
    started.clear();
    deallocate(count);
    barrier();
  });
}

std::string told_by(const std::function<void()>& act) {
  try {
    act();
  } catch (const error& refused) {
    return refused.code() == errc::no_runtime ? refused.what() : "another error";
  }
  return "nothing";
}

TEST_P(threads_of_places, are_refused_what_is_not_theirs) {
  run([] {
    const ptr<std::uint64_t> mine = allocate<std::uint64_t>();
    place_threads threads;
    const std::vector<std::function<void()>> refused{
        [] { (void)allocate<int>(); },
        [] { at(here(), [] {}); },
        [] { at(next_place(), [] { return 1; }); },
        [] { (void)async_at(next_place(), [] { return 1; }); },
        [] { async([] {}); },
        [] { finish([] {}); },
        [] { barrier(); },
        [] { (void)all_reduce(1, std::plus<>{}); },
        [] { progress(); },
        [&] { wait_until(mine, 7); },
        [] { promise<int>{}.get_future().get(); },
        [] { (void)memory_statistics(); },
    };
    threads.start([&] {
      for (std::size_t i = 0; i < refused.size(); ++i)
        EXPECT_NE(told_by(refused[i]).find("place_threads::run"), std::string::npos)
            << i << ": " << told_by(refused[i]);
      deallocate(mine);
    });
    threads.join();
    std::thread{[&] {
      for (std::size_t i = 0; i < refused.size(); ++i)
        EXPECT_NE(told_by(refused[i]).find("outside the life"), std::string::npos) << i;
      EXPECT_NE(told_by([&] { put(mine, std::uint64_t{1}); }).find("registered"), std::string::npos);
      EXPECT_NE(told_by([&] { threads.run([] {}); }).find("registered"), std::string::npos);
    }}.join();
    barrier();
  });
}

TEST(place_threads_alone, need_a_runtime) { EXPECT_THROW(place_threads{}, error); }

// A place is lost while a thread of another waits for it.
TEST_P(threads_of_places, hear_of_losses) {
  if (GetParam().places < 2) return;
  const launch_result result = test::launch_on(GetParam(), [] {
    if (here().index() == place_count() - 1) throw std::runtime_error{"on purpose"};
    place_threads threads;
    int heard = 0;
    threads.start([&] {
      try {
        for (;;) threads.run([] { at(place{place_count() - 1}, [] { return 1; }); });  // the first may be answered yet
      } catch (const place_lost_error&) {
        heard = 1;
      }
      threads.run([&] { heard += 10; });  // the place still serves
    });
    for (bool joined = false; !joined;) try {
        threads.join();
        joined = true;
      } catch (const place_lost_error&) {}
    EXPECT_EQ(heard, 11);
  });
  EXPECT_TRUE(result.first_lost);
  for (std::size_t i = 0; i + 1 < result.places.size(); ++i) EXPECT_EQ(result.places[i].exit_code, 0) << i;
}

template <class Operation>
bool is_refused(Operation operation) {
  try {
    operation();
  } catch (const error& e) {
    return e.code() == errc::no_runtime;
  }
  return false;
}

// --- serve_while -----------------------------------------------------------------------------------------------------

TEST_P(threads_of_places, compute_while_the_place_serves) {
  run(
      [] {
        thread_local int served = 0;  // of the place's own thread, where bodies run
        std::atomic<int> seen{0};
        const ptr<std::uint64_t> counts = broadcast(here().index() == 0 ? allocate<std::uint64_t>() : nullptr);
        if (here().index() == 0) *counts.local() = 0;
        const auto all = all_gather(reinterpret_cast<std::uintptr_t>(&seen));
        barrier();
        // Nobody gets on before each has been called by the one before, which computes as well.
        const future<int> called = async_at(
            next_place(),
            [](std::uintptr_t theirs) {
              reinterpret_cast<std::atomic<int>*>(theirs)->store(++served);
              return async([] { return here().index(); }).then([](std::uint32_t me) { return static_cast<int>(me); });
            },
            all[next_place().index()]);
        const std::thread::id own = std::this_thread::get_id();
        const int result = serve_while([&] {
          while (seen.load() == 0) std::this_thread::yield();
          atomic_fetch_add(counts, std::uint64_t{1});
          return std::this_thread::get_id() != own && place_count() == all.size() ? 7 : 0;
        });
        EXPECT_EQ(result, 7);
        EXPECT_EQ(served, 1);
        EXPECT_EQ(called.get(), static_cast<int>(next_place().index()));
        barrier();
        if (here().index() == 0) EXPECT_EQ(*counts.local(), place_count());
        served = 0;
        barrier();
      },
      {.progress = true});
}

TEST_P(threads_of_places, compute_by_the_same_rules_with_a_second_thread_and_without) {
  for (const bool progress : {false, true})
    run(
        [progress] {
          const ptr<int> word = allocate<int>();
          const std::thread::id own = std::this_thread::get_id();
          for (int i = 0; i < test::rounds(100); ++i) {
            // Assertions count on the place's own thread.
            const bool ok = serve_while([&] {
              put(word, i);
              return (std::this_thread::get_id() != own) == progress && get(word) == i &&
                     is_refused([] { at(here(), [] {}); }) && is_refused([] { (void)allocate<int>(); }) &&
                     is_refused([] { barrier(); }) && is_refused([] { serve_while([] {}); });
            });
            EXPECT_TRUE(ok);
            EXPECT_EQ(get(word), i);
            EXPECT_THROW(serve_while([] { throw std::out_of_range{"own"}; }), std::out_of_range);
          }
          // One that begins while the second thread is busy runs at once.
          std::atomic<bool> done{false};
          const future<> inner = async([&] { serve_while([&] { done = true; }); });
          serve_while([&] {
            while (progress && !done.load()) std::this_thread::yield();
          });
          inner.get();
          EXPECT_TRUE(done);
          deallocate(word);
          barrier();
        },
        {.progress = progress});
}

TEST(a_place_alone, computes_as_its_environment_says) {
  const std::thread::id own = std::this_thread::get_id();
  const auto has_second_thread = [own](const runtime_options& options) {
    const runtime rt{options};
    return serve_while([] { return std::this_thread::get_id(); }) != own;
  };
  EXPECT_FALSE(has_second_thread({}));
  EXPECT_TRUE(has_second_thread({.progress = true}));
  ::setenv("SITU_PROGRESS", "1", 1);
  EXPECT_TRUE(has_second_thread({}));
  ::setenv("SITU_PROGRESS", "0", 1);
  EXPECT_FALSE(has_second_thread({.progress = true}));
  ::setenv("SITU_PROGRESS", "yes", 1);
  EXPECT_THROW((void)has_second_thread({}), error);
  ::unsetenv("SITU_PROGRESS");
}

// What computes is not cut short by a loss, and the next wait tells it.
TEST(places_that_compute, come_to_their_end_when_another_is_lost) {
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result =
      launch(3,
             [] {
               barrier();
               if (here().index() == 1) throw std::runtime_error{"on purpose"};
               int steps = 0;
               serve_while([&] {
                 for (; steps < 20; ++steps) std::this_thread::sleep_for(std::chrono::milliseconds{5});
               });
               EXPECT_EQ(steps, 20);
               EXPECT_THROW(promise<>{}.get_future().wait(), place_lost_error);
               barrier(survivors());
             },
             {.mode = launch_mode::threads, .progress = true, .time_limit = std::chrono::seconds{60}});
  set_log_sink(before);
  test::expect_only_lost(result, 1);
}

INSTANTIATE_TEST_SUITE_P(layouts, threads_of_places, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

}  // namespace
}  // namespace situ
