// survivors(): the places that live agree on a team and go on with it, whoever dies, and whenever.
#include "support/places.h"

#include <situ/base/log.h>

#include <unistd.h>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <thread>

namespace situ {
namespace {

using namespace std::chrono_literals;

struct died : std::runtime_error {
  died() : std::runtime_error{"died as it should"} {}
};

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds{ms}); }

class survivors_of_a_loss : public test::on_places {
 protected:
  void SetUp() override {
    before_ = set_log_sink([](log_level, std::string_view) {});
  }
  void TearDown() override { set_log_sink(before_); }

  [[noreturn]] static void die() {
    if (GetParam().mode == launch_mode::processes) ::kill(::getpid(), SIGKILL);
    throw died{};
  }

  // Launches the body, in which these places die; all others must end well, and be told of no more than they wait for.
  void lose(const std::vector<std::uint32_t>& victims, const std::function<void()>& body) {
    const launch_result result = test::launch_on(GetParam(), body);
    for (std::uint32_t p = 0; p < GetParam().places; ++p) {
      if (std::find(victims.begin(), victims.end(), p) != victims.end()) continue;
      EXPECT_EQ(result.places[p].exit_code, 0) << "place " << p << ": " << result.places[p].reason;
      EXPECT_EQ(result.places[p].signal, 0) << "place " << p;
      EXPECT_EQ(result.places[p].reason, "") << "place " << p;
    }
  }

 private:
  log_sink before_;
};

// The same team for all, and everything works on it.
void use(const team& rest) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < rest.size(); ++i) members.push_back(rest.member(i).index());
  ASSERT_EQ(rest.member(rest.index()), here());
  barrier(rest);
  for (const std::vector<std::uint32_t>& others : all_gather(members, rest)) EXPECT_EQ(others, members);
  EXPECT_EQ(all_gather(here().index(), rest), members);
  EXPECT_EQ(all_reduce_async(1U, std::plus<>{}, rest).get(), rest.size());
  std::vector<double> many(20'000, 1.0);
  all_reduce(std::span{many}, std::plus<>{}, rest);
  EXPECT_EQ(many[19'999], rest.size());
  const team halves = rest.split(rest.index() % 2);
  EXPECT_EQ(all_reduce(1U, std::plus<>{}, halves), (rest.size() + 1 - rest.index() % 2) / 2);
  std::vector<std::uint32_t> all(rest.size());
  for (std::uint32_t i = 0; i < rest.size(); ++i) all[i] = rest.size() - 1 - i;
  barrier(rest.subset(all));
  std::uint32_t ran = 0;
  finish([&] {
    for (const std::uint32_t p : members) {
      EXPECT_EQ(at(place{p}, [](int n) { return async([n] { return n + 1; }).get(); }, 1), 2);
      async_at(place{p}, [] { finish([] { async([] {}); }); }).then([&ran] { ++ran; });
    }
  });
  EXPECT_EQ(ran, rest.size());
  barrier_async(rest).get();
}

TEST_P(survivors_of_a_loss, are_all_places_where_nobody_is_lost) {
  run([] {
    for (int i = 0; i < 3; ++i) {
      const team rest = survivors();
      EXPECT_EQ(rest.size(), place_count());
      EXPECT_EQ(rest.index(), here().index());
      use(rest);
      barrier();
    }
  });
}

TEST_P(survivors_of_a_loss, go_on_without_it_however_they_learned_of_it) {
  const std::uint32_t victim = GetParam().places / 2;
  if (GetParam().places == 1) return;
  lose({victim}, [victim] {
    const ptr<int> theirs = broadcast(here().index() == victim ? allocate<int>() : nullptr, victim);
    if (here().index() == victim) *theirs.local() = 5;
    barrier();
    if (here().index() == victim) {
      sleep_ms(30);
      die();
    }
    if (here().index() % 2 == 0) {
      EXPECT_THROW(barrier(), place_lost_error);
    } else {
      sleep_ms(100);  // learns it by survivors() alone
    }
    const team rest = survivors();
    EXPECT_EQ(rest.size(), place_count() - 1);
    EXPECT_FALSE(rest.index_of(place{victim}));
    for (int i = 0; i < 3; ++i) use(rest);
    EXPECT_EQ(get(theirs), 5);  // its memory is still there
    EXPECT_THROW(at(place{victim}, [] {}), place_lost_error);
    EXPECT_THROW(barrier(), place_lost_error);
    EXPECT_THROW((void)all_reduce(1, std::plus<>{}), place_lost_error);
    use(rest);
    use(survivors());
  });
}

// Each loss comes while the team of the last one works.
TEST_P(survivors_of_a_loss, go_on_after_one_loss_after_another) {
  std::vector<std::uint32_t> victims;
  for (std::uint32_t p = 1; p < GetParam().places; ++p) victims.push_back(p);
  lose(victims, [] {
    team rest = world();
    for (std::uint64_t steps = 0; rest.size() > 1;) try {
        const bool dies = here().index() == rest.size() - 1;
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{here().index() * 3};
        for (;; ++steps) {
          if (dies && std::chrono::steady_clock::now() > end) die();
          EXPECT_EQ(all_reduce(1U, std::plus<>{}, rest), rest.size());
          (void)at(rest.member((rest.index() + 1) % rest.size()), [] { return 1; });
        }
      } catch (const place_lost_error&) {
        rest = survivors();
      }
    EXPECT_EQ(here().index(), 0U);
    use(rest);
  });
}

// Dies after it has come, while others have not.
TEST_P(survivors_of_a_loss, agree_without_one_that_dies_meanwhile) {
  if (GetParam().places < 4) return;
  lose({1, 2}, [] {
    const std::uint32_t me = here().index();
    barrier();
    if (me == 1) die();
    if (me == 2) {
      const future<> comes = async([] { (void)survivors(); });
      try {
        (void)comes.wait_for(50ms);
      } catch (const place_lost_error&) {
        sleep_ms(20);
      }
      die();
    }
    if (me == 0) sleep_ms(300);
    const team rest = survivors();
    EXPECT_EQ(rest.size(), place_count() - 2);
    use(rest);
  });
}

// Many at once, at any moment of the agreement.
TEST_P(survivors_of_a_loss, agree_while_many_die) {
  if (GetParam().places < 4) return;
  std::vector<std::uint32_t> victims;
  for (std::uint32_t p = 1; p < GetParam().places; p += 2) victims.push_back(p);
  const std::uint64_t seed = test::test_seed();
  for (int round = 0; round < test::rounds(20); ++round)
    lose(victims, [seed, round] {
      const std::uint32_t me = here().index();
      barrier();
      std::thread killer;
      const bool by_signal = me % 2 == 1 && GetParam().mode == launch_mode::processes;
      const std::chrono::microseconds after{test::mixed(seed + me, round) % 2000};
      if (by_signal)
        killer = std::thread{[after] {
          std::this_thread::sleep_for(after);
          ::kill(::getpid(), SIGKILL);
        }};
      team rest = world();
      for (std::uint32_t calls = 0; rest.size() > (place_count() + 1) / 2;) {
        if (me % 2 == 1 && !by_signal && calls++ == me % 3) die();
        rest = survivors();
      }
      if (by_signal) sleep_ms(10'000);
      use(rest);
    });
}

// Who has nothing left to do waits in ~runtime for the other members, and serves them.
TEST_P(survivors_of_a_loss, leave_together) {
  if (GetParam().places < 4) return;
  lose({1}, [] {
    barrier();
    if (here().index() == 1) die();
    const team rest = survivors();
    if (rest.index() + 1 != rest.size()) return;
    sleep_ms(100);
    for (std::uint32_t i = 0; i < rest.size(); ++i) EXPECT_EQ(at(rest.member(i), [] { return 1; }), 1);
  });
}

// What is under way when the place dies: calls among the others and their tasks go on.
TEST_P(survivors_of_a_loss, have_the_answers_of_calls_among_them) {
  if (GetParam().places < 4) return;
  lose({1}, [] {
    barrier();
    const future<int> slow = async_at(place{3}, [] {
      const auto end = std::chrono::steady_clock::now() + 30ms;
      while (std::chrono::steady_clock::now() < end) {}
      return 7;
    });
    const future<int> never = async_at(place{1}, [] {
      promise<int> unkept;
      return unkept.get_future().get();
    });
    barrier();
    if (here().index() == 1) die();
    const team rest = survivors();
    EXPECT_EQ(slow.get(), 7);
    EXPECT_THROW((void)never.get(), place_lost_error);
    barrier(rest);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, survivors_of_a_loss, testing::ValuesIn(test::all_layouts()), test::layout_name);

TEST(survivors_of_a_launch, are_not_ended_after_the_grace) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  const auto body = [](bool agree) {
    return [agree] {
      barrier();
      if (here().index() == 1) ::kill(::getpid(), SIGKILL);
      if (agree) (void)survivors();
      sleep_ms(800);
      return 0;
    };
  };
  const launch_options options{.grace = 200ms, .time_limit = 20s};
  const launch_result agreed = launch(3, body(true), options);
  const launch_result ended = launch(3, body(false), options);
  for (const std::uint32_t p : {0, 2}) {
    EXPECT_EQ(agreed.places[p].exit_code, 0) << agreed.places[p].reason;
    EXPECT_EQ(agreed.places[p].signal, 0) << agreed.places[p].reason;
    EXPECT_EQ(ended.places[p].signal, SIGTERM);
  }
  EXPECT_EQ(agreed.message(), "place 1 is lost: killed by signal 9 (SIGKILL)");
}

// A survivor that waits for what never comes is found out, as before the loss.
TEST(survivors_of_a_launch, are_told_when_nobody_can_go_on) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = launch(3,
                                      [] {
                                        barrier();
                                        if (here().index() == 1) ::kill(::getpid(), SIGKILL);
                                        const team rest = survivors();
                                        if (rest.index() == 0) barrier(rest);  // the other does not
                                        return 0;
                                      },
                                      {.time_limit = 20s});
  set_log_sink(before);
  EXPECT_NE(result.places[0].reason.find("nobody can go on"), std::string::npos) << result.places[0].reason;
}

TEST(survivors_of_a_launch, name_who_has_not_come) {
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = launch(2,
                                      [] {
                                        if (here().index() == 0) (void)survivors();
                                      },
                                      {.mode = launch_mode::threads, .time_limit = 20s});
  set_log_sink(before);
  EXPECT_NE(result.message().find("in survivors(), for all places that live"), std::string::npos) << result.message();
  EXPECT_NE(result.message().find("place 1 has not come"), std::string::npos) << result.message();
}

}  // namespace
}  // namespace situ
