// A place dies while the others wait, in each of the ways there are to wait: every one of them learns it within a
// second.
#include "death/watched_death.h"

#include <situ/base/error.h>
#include <situ/graph.h>
#include <situ/situ.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace situ::test;
using situ::launch_mode;
using situ::place;

constexpr std::uint32_t place_total = 4;
constexpr std::uint32_t victim_index = 2;
constexpr place victim{victim_index};

enum class death { killed, exited, threw };

// --- ways to wait ----------------------------------------------------------------------------------------------------

void ignore_request(situ::am::token&, int) {}
void ignore_payload(situ::am::token&, std::span<std::byte>) {}

void flood_short() {
  for (int i = 0;; ++i) situ::am::request_short<&ignore_request>(victim, i);
}

void flood_medium() {
  const std::vector<std::byte> payload(situ::am::max_medium_bytes());
  for (;;) situ::am::request_medium<&ignore_payload>(victim, payload);
}

situ::future<int> await_in_coroutine() {
  const int value = co_await situ::async_at(victim, [] { return 1; });
  co_return value + 1;
}

// By way of another survivor, which waits too and so serves the call.
void wait_through_another() {
  const place other{(situ::here().index() + 1) % place_total == victim_index
                        ? (situ::here().index() + 2) % place_total
                        : (situ::here().index() + 1) % place_total};
  situ::at(other, [] { return situ::at(victim, [] { return 1; }); });
}

// Promises that are kept by nobody, but ended before their runtime.
thread_local std::deque<situ::promise<int>> never;
situ::future<int> never_kept() { return never.emplace_back().get_future(); }

void wait_for_words() {
  const situ::ptr<situ::signal> signals = situ::allocate_signals(2);
  const std::vector words{situ::word(signals), situ::word(signals + 1)};
  situ::wait_until_any(std::span<const situ::ptr<std::uint64_t>>{words}, 1);
}

struct way {
  const char* name;
  void (*wait)();
};

const way ways[] = {
    {"barrier", [] { situ::barrier(); }},
    {"split_barrier", [] { situ::barrier_async().get(); }},
    {"team_barrier", [] { situ::barrier(situ::world().split(0)); }},
    {"at", [] { situ::at(victim, [] { return 1; }); }},
    {"at_through_another", &wait_through_another},
    {"future", [] { situ::async_at(victim, [] { return 1; }).get(); }},
    {"continuation", [] { situ::async_at(victim, [] { return 1; }).then([](int n) { return 2 * n; }).get(); }},
    {"when_all", [] { situ::when_all(situ::async_at(victim, [] { return 1; }), situ::make_ready_future(2)).get(); }},
    {"coroutine", [] { await_in_coroutine().get(); }},
    {"promise_nobody_keeps",
     [] {
       situ::promise<int> never;
       never.get_future().get();
     }},
    {"future_with_a_deadline", [] { (void)never_kept().wait_for(1h); }},
    {"wait_any", [] { situ::wait_any(never_kept(), never_kept()); }},
    {"when_any", [] { situ::when_any(std::vector{never_kept(), never_kept()}).get(); }},
    {"wait_until", [] { situ::wait_until(situ::allocate_signals(), 1); }},
    {"wait_until_with_a_deadline", [] { (void)situ::wait_until(situ::allocate_signals(), 1, 1h); }},
    {"wait_until_any", &wait_for_words},
    {"wait_until_in_a_task", [] { situ::async([] { situ::wait_until(situ::allocate_signals(), 1); }).get(); }},
    {"finish", [] { situ::finish([] { situ::async_at(victim, [] {}); }); }},
    {"finish_with_own_task", [] { situ::finish([] { situ::async([] { situ::at(victim, [] {}); }); }); }},
    {"all_reduce", [] { (void)situ::all_reduce(1, std::plus<>{}); }},
    {"broadcast", [] { (void)situ::broadcast(1, victim_index); }},
    {"exchange", [] { (void)situ::exchange(std::vector<std::vector<int>>(place_total)); }},
    {"full_channel_of_short_messages", &flood_short},
    {"full_channel_of_medium_messages", &flood_medium},
};

void die(death how) {
  if (how == death::killed) ::kill(::getpid(), SIGKILL);
  if (how == death::exited) std::_Exit(3);
  throw std::runtime_error{"on purpose"};
}

const char* expected_reason(death how) {
  switch (how) {
    case death::killed: return "killed by signal 9 (SIGKILL)";
    case death::exited: return "exited early with code 3";
    case death::threw: return "its body threw std::runtime_error: on purpose";
  }
  return "";
}

// What a survivor returns.
enum : int { heard_in_time = 0, did_not_wait = 10, heard_late = 11, heard_of_another = 12 };

int hear(const watched_death& seen, void (*wait)()) {
  try {
    wait();
    return did_not_wait;
  } catch (const situ::place_lost_error& error) {
    if (error.place_index() != victim_index) return heard_of_another;
  } catch (const situ::remote_error& error) {  // the loss was met at another survivor
    if (error.type_name().find("place_lost_error") == std::string::npos) return heard_of_another;
  }
  return seen.is_told_in_time() ? heard_in_time : heard_late;
}
int survive(const watched_death& seen, void (*wait)()) {
  seen.arrive();
  const int heard = hear(seen, wait);
  never.clear();
  return heard;
}

class a_place_dies_while_others_wait : public testing::TestWithParam<std::tuple<way, death, launch_mode>> {};

TEST_P(a_place_dies_while_others_wait, and_they_hear_of_it) {
  const auto& [how_to_wait, how_to_die, mode] = GetParam();
  const watched_death seen;
  const auto wait = how_to_wait.wait;
  const auto body = [&] {
    if (situ::here() != victim) return survive(seen, wait);
    seen.await(place_total - 1);
    die(how_to_die);
    return 0;
  };
  const situ::launch_result result = situ::launch(place_total, body, {.mode = mode, .time_limit = 20s});
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), victim_index) << result.message();
  EXPECT_EQ(result.places[victim_index].reason, expected_reason(how_to_die));
  for (const std::uint32_t survivor : {0U, 1U, 3U})
    EXPECT_EQ(result.places[survivor].exit_code, heard_in_time)
        << "place " << survivor << ": " << result.places[survivor].reason;
}

std::string case_name(const testing::TestParamInfo<std::tuple<way, death, launch_mode>>& info) {
  const auto& [how_to_wait, how_to_die, mode] = info.param;
  const char* const death_name = how_to_die == death::killed   ? "killed"
                                 : how_to_die == death::exited ? "exited"
                                                               : "threw";
  return std::string{how_to_wait.name} + "_" + death_name + (mode == launch_mode::threads ? "_threads" : "_processes");
}

INSTANTIATE_TEST_SUITE_P(killed, a_place_dies_while_others_wait,
                         testing::Combine(testing::ValuesIn(ways), testing::Values(death::killed),
                                          testing::Values(launch_mode::processes)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(exited, a_place_dies_while_others_wait,
                         testing::Combine(testing::Values(ways[0], ways[3]), testing::Values(death::exited),
                                          testing::Values(launch_mode::processes)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(threw, a_place_dies_while_others_wait,
                         testing::Combine(testing::ValuesIn(ways), testing::Values(death::threw),
                                          testing::Values(launch_mode::processes, launch_mode::threads)),
                         case_name);

// --- in the middle of a graph ----------------------------------------------------------------------------------------

// Graphs large enough that the victim dies in the middle of one.
struct link {
  link* next;
  std::uint64_t value;
};
template <situ::transfer How>
void send_graphs() {
  constexpr std::size_t count = 20000;
  link* const links = situ::allocate<link>(count).local();
  for (std::size_t i = 0; i < count; ++i) links[i] = {i + 1 < count ? &links[i + 1] : nullptr, i};
  for (;;) (void)situ::at(situ::via(victim, How), [](link* first) { return first->next; }, links);
}

class a_place_dies_while_graphs_go_to_it_and_from_it : public testing::TestWithParam<std::tuple<int, launch_mode>> {};

TEST_P(a_place_dies_while_graphs_go_to_it_and_from_it, and_the_others_hear_of_it) {
  constexpr void (*senders[])() = {&send_graphs<situ::transfer::message>, &send_graphs<situ::transfer::pull>,
                                   &send_graphs<situ::transfer::offload>};
  const auto send = senders[std::get<0>(GetParam())];
  const launch_mode mode = std::get<1>(GetParam());
  const watched_death seen;
  const auto body = [&] {
    if (situ::here() != victim) return hear(seen, send);
    const auto end = std::chrono::steady_clock::now() + 100ms;
    while (std::chrono::steady_clock::now() < end) situ::progress();  // takes some in
    seen.await(0);
    die(mode == launch_mode::threads ? death::threw : death::killed);
    return 0;
  };
  const situ::launch_result result = situ::launch(place_total, body, {.mode = mode, .time_limit = 20s});
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), victim_index) << result.message();
  for (const std::uint32_t survivor : {0U, 1U, 3U})
    EXPECT_EQ(result.places[survivor].exit_code, heard_in_time)
        << "place " << survivor << ": " << result.places[survivor].reason;
}

INSTANTIATE_TEST_SUITE_P(graphs, a_place_dies_while_graphs_go_to_it_and_from_it,
                         testing::Combine(testing::Range(0, 3),
                                          testing::Values(launch_mode::processes, launch_mode::threads)));

// --- other moments ---------------------------------------------------------------------------------------------------

TEST(a_place_dies, in_the_middle_of_a_call_to_it) {
  const watched_death seen;
  const auto body = [&] {
    if (situ::here() == victim) situ::barrier();  // serves calls
    if (situ::here().index() != 0) return survive(seen, [] { situ::barrier(); });
    const auto call = [] { situ::at(victim, [] { ::kill(::getpid(), SIGKILL); }); };
    seen.await(0);
    return survive(seen, call);
  };
  const situ::launch_result result = situ::launch(3, body, {.time_limit = 20s});
  EXPECT_EQ(result.message(), "place 2 is lost: killed by signal 9 (SIGKILL)");
  EXPECT_EQ(result.places[0].exit_code, heard_in_time);
  EXPECT_EQ(result.places[1].exit_code, heard_in_time);
}

TEST(a_place_dies, while_the_others_leave) {
  const watched_death seen;
  const auto body = [&] {
    if (situ::here() != victim) return;
    std::this_thread::sleep_for(200ms);
    seen.note_death();
    ::kill(::getpid(), SIGKILL);
  };
  const situ::launch_result result = situ::launch(place_total, body, {.time_limit = 20s});
  EXPECT_TRUE(seen.is_told_in_time());  // all have ended by now
  EXPECT_EQ(result.message(), "place 2 is lost: killed by signal 9 (SIGKILL)");
  EXPECT_EQ(result.exit_code(), 128 + SIGKILL);
  for (const std::uint32_t survivor : {0U, 1U, 3U}) EXPECT_EQ(result.places[survivor].signal, 0);
}

TEST(a_place_dies, one_after_another) {
  const auto body = [] {
    const std::uint32_t mine = situ::here().index();
    if (mine == 0) return;
    if (mine == 1) std::_Exit(9);
    try {
      situ::barrier();
    } catch (const situ::place_lost_error&) {
      if (mine == 2) std::_Exit(9);
    }
    try {
      for (;;) situ::at(place{2}, [] { return 1; });  // lost already or soon
    } catch (const situ::place_lost_error&) {}
  };
  const situ::launch_result result = situ::launch(place_total, body, {.time_limit = 20s});
  EXPECT_EQ(result.places[1].reason, "exited early with code 9");
  EXPECT_EQ(result.places[2].reason, "exited early with code 9");
  EXPECT_EQ(result.places[3].reason, "");
}

// --- after a loss ----------------------------------------------------------------------------------------------------

// Runs `then` at each survivor once it has heard of the loss.
situ::launch_result after_a_loss(const std::function<int(situ::ptr<int>)>& then,
                                 launch_mode mode = launch_mode::processes) {
  const auto body = [&then, mode]() -> int {
    const situ::ptr<int> own = situ::allocate<int>(1);
    *own.local() = 100 + static_cast<int>(situ::here().index());
    const std::vector<situ::ptr<int>> all = situ::all_gather(own);
    situ::barrier();
    if (situ::here() == victim) {
      std::this_thread::sleep_for(50ms);
      die(mode == launch_mode::processes ? death::killed : death::threw);
    }
    try {
      situ::barrier();
    } catch (const situ::place_lost_error&) {}
    return then(all[victim_index]);
  };
  return situ::launch(place_total, body, {.mode = mode, .time_limit = 20s});
}

void expect_survivors_succeed(const situ::launch_result& result) {
  for (const std::uint32_t survivor : {0U, 1U, 3U}) {
    EXPECT_EQ(result.places[survivor].exit_code, 0) << "place " << survivor;
    EXPECT_EQ(result.places[survivor].reason, "") << "place " << survivor;
  }
}

template <class Operation>
int loses_the_victim(Operation operation) {
  try {
    operation();
  } catch (const situ::place_lost_error& error) {
    return error.place_index() == victim_index ? 0 : 1;
  }
  return 2;
}

TEST(after_a_loss, what_needs_the_lost_place_fails_at_once) {
  const auto then = [](situ::ptr<int>) {
    int failures = 0;
    failures = 10 * failures + loses_the_victim([] { situ::at(victim, [] { return 1; }); });
    failures = 10 * failures + loses_the_victim([] { situ::async_at(victim, [] {}).get(); });
    failures = 10 * failures + loses_the_victim([] { situ::am::request_short<&ignore_request>(victim, 1); });
    failures = 10 * failures + loses_the_victim([] { situ::barrier(); });
    failures = 10 * failures + loses_the_victim([] { (void)situ::all_reduce(1, std::plus<>{}); });
    return failures;
  };
  expect_survivors_succeed(after_a_loss(then));
}

// The job's memory outlives the place: what it wrote is there, and a write harms nobody.
TEST(after_a_loss, its_memory_can_be_read_and_written) {
  const auto then = [](situ::ptr<int> lost) {
    if (situ::get(lost) != 100 + static_cast<int>(victim_index)) return 1;
    situ::put(lost, 100 + static_cast<int>(victim_index));
    return 0;
  };
  expect_survivors_succeed(after_a_loss(then));
}

TEST(after_a_loss, the_survivors_can_go_on_without_it) {
  const auto then = [](situ::ptr<int>) {
    const std::uint32_t survivors[] = {0, 1, 3};
    const situ::team rest = situ::world().subset(survivors);
    situ::barrier(rest);
    const int sum = situ::all_reduce(static_cast<int>(situ::here().index()), std::plus<>{}, rest);
    const std::uint32_t next = survivors[(rest.index() + 1) % 3];
    const std::uint32_t answer = situ::at(place{next}, [] { return situ::here().index(); });
    situ::barrier(rest);
    return sum == 4 && answer == next ? 0 : 1;
  };
  for (const launch_mode mode : {launch_mode::processes, launch_mode::threads}) {
    const situ::launch_result result = after_a_loss(then, mode);
    expect_survivors_succeed(result);
    EXPECT_EQ(result.first_lost->index(), victim_index);
  }
}

// A survivor that has left its runtime answers no more; who calls it must not wait for ever.
TEST(after_a_loss, a_place_that_has_left_is_not_waited_for) {
  const stall_meter stalls;
  const auto then = [&stalls](situ::ptr<int>) {
    if (situ::here().index() != 0) return 0;
    while (control().slot(1).state.load() != situ::detail::place_state::gone) std::this_thread::sleep_for(1ms);
    const auto start = std::chrono::steady_clock::now();
    try {
      situ::at(place{1}, [] { return 1; });
    } catch (const situ::place_lost_error& error) {
      return stalls.allow(std::chrono::steady_clock::now() - start, told_within) ? 0 : 3;
    }
    return 2;
  };
  expect_survivors_succeed(after_a_loss(then));
}

}  // namespace
