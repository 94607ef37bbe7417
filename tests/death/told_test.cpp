// How a wait learns of a loss (docs/design/runtime.md), where the loss falls between two waits, or beside calls that
// take long: each task is told once, at once, whatever stands in the channels.
#include "death/watched_death.h"

#include <situ/base/error.h>
#include <situ/graph.h>
#include <situ/situ.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <vector>

namespace {

using namespace situ::test;
using situ::place;

constexpr std::uint32_t victim = 2;

void compute_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {}
}

// Dies once the others have had time to begin what they wait for.
int die_soon(const watched_death& seen) {
  std::this_thread::sleep_for(200ms);
  seen.note_death();
  ::kill(::getpid(), SIGKILL);
  return 0;
}

enum : int { heard = 0, not_told = 10, told_late = 11, told_twice = 12, wrong_result = 13 };

// Runs `wait`, which the loss must end in time.
template <class Wait>
int hear(const watched_death& seen, Wait wait) {
  try {
    wait();
    return not_told;
  } catch (const situ::place_lost_error&) {
    return seen.is_told_in_time() ? heard : told_late;
  }
}

void expect_heard(const situ::launch_result& result, std::initializer_list<std::uint32_t> survivors = {0, 1}) {
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), victim) << result.message();
  for (const std::uint32_t each : survivors) {
    EXPECT_EQ(result.places[each].exit_code, heard) << "place " << each << ": " << result.places[each].reason;
    EXPECT_EQ(result.places[each].signal, 0) << "place " << each << " had to be stopped by the launcher";
  }
}

const situ::launch_options limits{.grace = 8s, .time_limit = 20s};

// The first part of a gather arrives in the turn in which the place sees the loss: the wait for the second part begins
// after it.
TEST(a_task_is_told_of_a_loss, between_two_waits_of_a_collective) {
  const watched_death seen;
  const auto body = [&] {
    situ::barrier();
    const std::uint32_t me = situ::here().index();
    if (me == victim) return die_soon(seen);
    situ::future<> busy;
    if (me == 0) busy = situ::async([] { compute_for(600ms); });
    if (me == 1) std::this_thread::sleep_for(100ms);
    const int outcome = hear(seen, [] { (void)situ::gather(1, 0); });
    if (me == 0) return outcome;
    std::this_thread::sleep_for(2s);  // does not leave: that would end the wait, too
    return +heard;
  };
  expect_heard(situ::launch(3, body, limits));
}

// Calls that take long, or wait, stand in the channels in front of a wait that is to end.
TEST(a_task_is_told_of_a_loss, before_calls_begin_that_arrived_earlier) {
  const watched_death seen;
  const auto body = [&] {
    situ::barrier();
    const std::uint32_t me = situ::here().index();
    if (me == victim) return die_soon(seen);
    std::vector<situ::future<>> calls;
    if (me == 1)
      for (int i = 0; i < 2; ++i)
        calls.push_back(situ::async_at(place{0}, [] {
          const auto end = std::chrono::steady_clock::now() + 2s;
          while (std::chrono::steady_clock::now() < end) try {
              situ::progress();
            } catch (const situ::place_lost_error&) {}
        }));
    situ::future<> busy;
    if (me == 0) busy = situ::async([] { compute_for(600ms); });
    const int outcome = hear(seen, [] { situ::barrier(); });
    if (me == 1) std::this_thread::sleep_for(2s);
    return outcome;
  };
  expect_heard(situ::launch(3, body, limits));
}

struct node {
  long value;
  node* next;
};

// Graphs that the lost place offered by its agent can never be fetched; their calls stand in the channel.
TEST(a_task_is_told_of_a_loss, before_it_asks_the_lost_place_for_graphs) {
  const watched_death seen;
  const auto body = [&] {
    situ::barrier();
    const std::uint32_t me = situ::here().index();
    if (me == victim) {
      node* const one = new (situ::allocate_bytes(sizeof(node)).local()) node{5, nullptr};
      std::vector<situ::future<long>> calls;
      for (int i = 0; i < 4; ++i)
        calls.push_back(
            situ::async_at(situ::via(place{0}, situ::transfer::offload), [](node* n) { return n->value; }, one));
      const auto end = std::chrono::steady_clock::now() + 200ms;
      while (std::chrono::steady_clock::now() < end) situ::progress();
      seen.note_death();
      ::kill(::getpid(), SIGKILL);
    }
    situ::future<> busy;
    if (me == 0) busy = situ::async([] { compute_for(600ms); });
    return hear(seen, [] { situ::barrier(); });
  };
  expect_heard(situ::launch(3, body, limits));
}

// A wait that begins after the place has seen the loss, in a task that has not been told; then never again.
TEST(a_task_is_told_of_a_loss, once) {
  const watched_death seen;
  const auto body = [&] {
    situ::barrier();
    if (situ::here().index() == victim) return die_soon(seen);
    situ::promise<> never;
    int told = 0;
    situ::async([] {
      try {
        while (!situ::detail::current->endpoint->is_lost(victim)) situ::progress();  // told here, or by the loop's end
      } catch (const situ::place_lost_error&) {}
    });
    const situ::future<> later = situ::async([] { compute_for(700ms); });  // sees nothing while it computes
    try {
      later.wait();  // ends by its task, which begins before the loss and ends after it
    } catch (const situ::place_lost_error&) {
      ++told;
    }
    const situ::future<> nobody = never.get_future();
    if (told == 0) try {
        nobody.wait();
      } catch (const situ::place_lost_error&) {
        ++told;
      }
    if (told != 1) return +not_told;
    if (!seen.is_told_in_time()) return +told_late;
    // Told: now everything works among the survivors.
    const std::uint32_t others[] = {0, 1};
    const situ::team rest = situ::world().subset(others);
    try {
      for (int i = 0; i < 100; ++i) {
        situ::barrier(rest);
        if (situ::all_reduce(1, std::plus<>{}, rest) != 2) return +wrong_result;
        if (situ::at(
                place{1 - situ::here().index()}, [](int x) { return situ::async([x] { return x + 1; }).get(); }, i) !=
            i + 1)
          return +wrong_result;
      }
      situ::barrier(rest);
    } catch (const situ::place_lost_error&) {
      return +told_twice;
    }
    return +heard;
  };
  expect_heard(situ::launch(3, body, limits));
}

// Exceptions that carry a loss tell it, too: what failed is not told a second time.
TEST(a_task_is_told_of_a_loss, by_the_future_of_a_call_that_failed_of_it) {
  const watched_death seen;
  const auto body = [&] {
    situ::barrier();
    if (situ::here().index() == victim) return die_soon(seen);
    const situ::future<> call = situ::async_at(place{victim}, [] { situ::promise<>{}.get_future().get(); });
    situ::async([&] {  // keeps the place busy while it notices
      while (!call.is_ready()) try {
          situ::progress();
        } catch (const situ::place_lost_error&) {}
    });
    situ::async([] { compute_for(400ms); });
    std::this_thread::sleep_for(400ms);
    try {
      call.get();
      return +not_told;
    } catch (const situ::place_lost_error&) {
      if (!seen.is_told_in_time()) return +told_late;
    }
    try {
      situ::async([] { compute_for(5ms); }).get();
    } catch (const situ::place_lost_error&) {
      return +told_twice;
    }
    return +heard;
  };
  expect_heard(situ::launch(3, body, limits));
}

// A barrier of places that all live, ended by the loss of another: the next one of the team goes on with it.
TEST(a_barrier_that_a_loss_interrupts, can_be_entered_again) {
  for (const situ::launch_mode mode : {situ::launch_mode::processes, situ::launch_mode::threads}) {
    const watched_death seen;
    const auto body = [&, mode] {
      const std::uint32_t others[] = {0, 1};
      const std::uint32_t me = situ::here().index();
      const situ::team rest = me == victim ? situ::world() : situ::world().subset(others);
      situ::barrier();
      if (me == victim) {
        std::this_thread::sleep_for(200ms);
        seen.note_death();
        if (mode == situ::launch_mode::threads) throw std::runtime_error{"on purpose"};
        ::kill(::getpid(), SIGKILL);
      }
      if (me == 1) {  // comes to the barrier after the loss
        try {
          situ::promise<>{}.get_future().wait();
        } catch (const situ::place_lost_error&) {}
        std::this_thread::sleep_for(200ms);
      } else if (hear(seen, [&] { situ::barrier(rest); }) != heard) {
        return +not_told;
      }
      for (int i = 0; i < 10; ++i) situ::barrier(rest);
      return situ::all_reduce(1, std::plus<>{}, rest) == 2 ? +heard : +wrong_result;
    };
    situ::launch_options options = limits;
    options.mode = mode;
    expect_heard(situ::launch(3, body, options));
  }
}

}  // namespace
