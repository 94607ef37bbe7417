// A place dies while the others wait, each time in another kind of wait: they get place_lost_error within a second,
// with the place's number, and the survivors can go on among themselves. As a process it is killed with SIGKILL, as a
// thread it throws out of its body.
#include "support/places.h"

#include <situ/base/log.h>

#include <unistd.h>
#include <csignal>
#include <functional>
#include <stdexcept>

#include "runtime/runtime_state.h"
#include "support/stalls.h"

namespace situ {
namespace {

constexpr std::uint32_t victim = 1;

std::int64_t now_ns() { return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count(); }

struct died : std::runtime_error {
  died() : std::runtime_error{"died as it should"} {}
};

void sleep_ms(int ms) {
  const timespec span{ms / 1000, ms % 1000 * 1000000L};
  ::nanosleep(&span, nullptr);
}

class loss : public test::on_places {
 protected:
  // Every place but the victim waits in `wait`, which must not end otherwise than by the loss. The victim first runs
  // `before_death`.
  void lose(const std::function<void()>& wait, const std::function<void()>& before_death = [] { sleep_ms(50); }) {
    const test::stall_meter stalls;
    const log_sink before = set_log_sink([](log_level, std::string_view) {});
    const bool processes = GetParam().mode == launch_mode::processes;
    const launch_result result = test::launch_on(GetParam(), [&] {
      const ptr<std::int64_t> died_at = broadcast(here().index() == 0 ? allocate<std::int64_t>() : nullptr, 0);
      barrier();
      if (here().index() == victim) {
        before_death();
        put(died_at, now_ns());
        if (processes) ::kill(::getpid(), SIGKILL);
        throw died{};
      }
      try {
        wait();
        ADD_FAILURE() << "the wait ended as if nobody had died";
      } catch (const place_lost_error& e) {
        EXPECT_EQ(e.place_index(), victim);
        EXPECT_EQ(e.code(), errc::place_lost);
        EXPECT_NE(std::string{e.what()}.find(processes ? "SIGKILL" : "died as it should"), std::string::npos)
            << e.what();
        EXPECT_TRUE(stalls.allow(std::chrono::nanoseconds{now_ns() - get(died_at)}, test::told_within));
      }
      go_on_without_it();
    });
    set_log_sink(before);
    test::expect_only_lost(result, victim);
  }

 private:
  static void go_on_without_it() {
    const std::vector<std::uint32_t> others = test::places_but(victim);
    const team survivors = world().subset(others);
    barrier(survivors);
    EXPECT_EQ(all_reduce(1U, std::plus<>{}, survivors), others.size());
    EXPECT_EQ(all_gather(here().index(), survivors), others);
    for (const std::uint32_t p : others) EXPECT_EQ(at(place{p}, [](int n) { return n + 1; }, 1), 2);
    std::uint32_t ran = 0;
    finish([&] {
      for (const std::uint32_t p : others)
        async_at(place{p}, [] { return 1U; }).then([&ran](std::uint32_t n) { ran += n; });
    });
    EXPECT_EQ(ran, others.size());
    const ptr<int> mine = allocate<int>();
    put(mine, 5);
    deallocate(mine);
    // What needs the lost place says so at once.
    EXPECT_THROW(at(place{victim}, [] {}), place_lost_error);
    EXPECT_THROW(async_at(place{victim}, [] {}).get(), place_lost_error);
    EXPECT_THROW(barrier(), place_lost_error);
    EXPECT_THROW((void)all_reduce(1, std::plus<>{}), place_lost_error);
    barrier(survivors);
  }
};

// What the victim may have taken in while it was still in the barrier; it never ends there.
int answer_unless_victim() {
  const promise<int> never;
  return here().index() == victim ? never.get_future().get() : 1;
}

void take(am::token&) {}
void take_payload(am::token&, std::span<std::byte>) {}

TEST_P(loss, in_a_barrier) {
  lose([] { barrier(); });
}
TEST_P(loss, in_a_split_barrier) {
  lose([] { barrier_async().get(); });
}
TEST_P(loss, in_a_call_that_it_was_running) {
  lose([] { (void)at(place{victim}, &answer_unless_victim); },
       [] {
         for (int i = 0; i < 50; ++i) {
           progress();
           sleep_ms(1);
         }
       });
}
TEST_P(loss, in_a_call_that_it_had_not_seen) {
  lose([] { (void)at(place{victim}, &answer_unless_victim); });
}
TEST_P(loss, in_a_future) {
  lose([] {
    const future<int> answer = async_at(place{victim}, &answer_unless_victim);
    EXPECT_FALSE(answer.is_ready());
    (void)answer.get();
  });
}
TEST_P(loss, in_a_continuation_and_when_all) {
  lose([] {
    const future<int> near = async([] { return 1; });
    const future<int> far = async_at(place{victim}, &answer_unless_victim).then([](int n) { return n; });
    (void)when_all(near, far).get();
  });
}
TEST_P(loss, in_a_promise_that_has_nothing_to_do_with_it) {
  lose([] {
    const promise<int> never;
    (void)never.get_future().get();
  });
}
TEST_P(loss, in_finish) {
  lose([] {
    finish([] {
      for (const place p : places()) async_at(p, &answer_unless_victim);
    });
  });
}
TEST_P(loss, in_finish_around_tasks_of_tasks) {
  lose([] {
    finish([] {
      for (const place p : places())
        if (p.index() != victim) async_at(p, [] { async_at(place{victim}, &answer_unless_victim); });
    });
  });
}
TEST_P(loss, in_a_collective) {
  lose([] { (void)all_reduce(1, std::plus<>{}); });
}
TEST_P(loss, in_an_exchange) {
  lose([] { (void)all_to_all(std::vector<std::string>(place_count(), "x")); });
}
TEST_P(loss, in_a_split) {
  lose([] { (void)world().split(0); });
}
TEST_P(loss, in_front_of_its_full_channel) {
  lose([] {
    for (;;) am::request_short<take>(place{victim});
  });
}
TEST_P(loss, in_front_of_its_full_data_ring) {
  lose([] {
    const std::vector<std::byte> payload(am::max_medium_bytes());
    for (;;) am::request_medium<take_payload>(place{victim}, payload);
  });
}
TEST_P(loss, in_a_loop_of_progress) {
  lose([] {
    while (!detail::current->endpoint->is_lost(victim)) progress();
    barrier();
  });
}
TEST_P(loss, in_a_nested_call_through_a_survivor) {
  lose([] {
    // The error travels back through the place in between: as its own, since it waits too.
    const place between{here().index() == 0 ? place_count() - 1 : 0};
    at(between, [] { (void)at(place{victim}, &answer_unless_victim); });
  });
}
TEST_P(loss, while_it_floods_the_others) {
  lose([] { barrier(); },
       [] {
         for (int i = 0; i < 3000; ++i)
           for (const place p : places()) am::request_short<take>(p);
       });
}

INSTANTIATE_TEST_SUITE_P(layouts, loss, testing::ValuesIn(test::layouts({2, 4, 7})), test::layout_name);

// Tasks of a body that must not go on for ever: many fibers wait when the place is lost; each is told, none is
// forgotten.
TEST(loss_of_one, ends_the_waits_of_all_tasks) {
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  for (const launch_mode mode : {launch_mode::processes, launch_mode::threads}) {
    if (mode == launch_mode::processes && !test::can_fork()) continue;
    const launch_result result = test::launch_on({mode, 3}, [mode] {
      barrier();
      if (here().index() == victim) {
        sleep_ms(20);
        if (mode == launch_mode::processes) ::kill(::getpid(), SIGKILL);
        throw died{};
      }
      int told = 0;
      std::vector<future<>> tasks;
      for (int i = 0; i < 200; ++i)
        tasks.push_back(async([&told] {
          try {
            (void)at(place{victim}, &answer_unless_victim);
          } catch (const place_lost_error&) {
            ++told;
          }
        }));
      for (const future<>& each : tasks) {
        try {
          each.get();
        } catch (const place_lost_error&) {
          each.get();  // the first wait was ended by the loss as well
        }
      }
      EXPECT_EQ(told, 200);
    });
    EXPECT_TRUE(result.first_lost);
    EXPECT_EQ(result.places[0].exit_code, 0);
    EXPECT_EQ(result.places[2].exit_code, 0);
  }
  set_log_sink(before);
}

// This place's record of a finish scope of another place; null if it has none.
const detail::finish_node* node_of_another_place() {
  for (const auto& [key, node] : detail::current->runtime->nodes)
    if (!node->is_home) return node;
  return nullptr;
}

template <class Condition>
void progress_until(Condition is_so) {
  while (!is_so()) try {
      progress();
    } catch (const place_lost_error&) {}
}

thread_local bool may_end = false;
thread_local bool has_left = false;
thread_local bool has_answered = false;
thread_local bool is_acknowledged = false;

// A loss ends the wait for a call whose work goes on. Until that work is acknowledged, the scope counts the call, and
// the acknowledgement is not taken for that of another call.
TEST(loss_of_one, leaves_a_call_counted_whose_caller_has_left) {
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  for (const launch_mode mode : {launch_mode::processes, launch_mode::threads}) {
    if (mode == launch_mode::processes && !test::can_fork()) continue;
    const launch_result result = test::launch_on({mode, 4}, [mode] {
      const std::uint32_t me = here().index();
      may_end = has_left = has_answered = is_acknowledged = false;
      const ptr<signal> order = broadcast(me == victim ? allocate_signals() : ptr<signal>{}, victim);
      if (me == victim) {
        wait_until(order, 1);
        if (mode == launch_mode::processes) ::kill(::getpid(), SIGKILL);
        throw died{};
      }
      const auto end = [] { progress_until([] { return may_end; }); };
      if (me == 0)
        async_at(place{2}, [end, order] {
          async_at(place{0}, end);
          EXPECT_THROW(at(place{3},
                          [end, order] {
                            async([] { progress_until([] { return has_answered; }); });
                            send_signal(order, 1);
                            end();
                            has_answered = true;  // with the return: no other task runs before
                          }),
                       place_lost_error);
          has_left = true;
        });
      progress_until([] { return detail::current->endpoint->is_lost(victim); });
      if (me == 3) {
        end();
        progress_until([] { return node_of_another_place() == nullptr; });  // it has been acknowledged
        const future<> told = async_at(place{2}, [] { is_acknowledged = true; });
        progress_until([&] { return told.is_ready(); });  // a call of a place that has left may not be run
      }
      if (me == 2) {
        progress_until([] { return has_left; });
        async_at(place{3}, [] { may_end = true; });
        progress_until([] { return is_acknowledged; });
        progress_until([turns = 0]() mutable { return ++turns == 20; });  // the acknowledgement has come
        const detail::finish_node* const node = node_of_another_place();
        EXPECT_TRUE(node != nullptr && node->outstanding == 1) << "the call to place 0 is under way";
        async_at(place{0}, [] { may_end = true; });
        progress_until([] { return node_of_another_place() == nullptr; });
      }
      if (me == 0) end();
    });
    test::expect_only_lost(result, victim);
  }
  set_log_sink(before);
}

}  // namespace
}  // namespace situ
