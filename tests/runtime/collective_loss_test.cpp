// A place dies while collectives are under way: asynchronous ones, several at once, large ones in the middle of their
// fragments. Who waits is told; whatever is under way ends; nothing of it is kept; survivors go on.
#include "support/places.h"

#include <situ/base/log.h>

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <stdexcept>

#include "runtime/runtime_state.h"
#include "runtime/team_state.h"
#include "support/stalls.h"

namespace situ {
namespace {

constexpr std::uint32_t victim = 1;

struct died : std::runtime_error {
  died() : std::runtime_error{"died as it should"} {}
};

class collective_loss : public test::on_places {
 protected:
  // Every place runs `part`, the victim until it calls die(); the others must be told of its end.
  static void die() {
    if (here().index() != victim) return;
    put(died_at, now_ns());
    if (is_process) ::kill(::getpid(), SIGKILL);
    throw died{};
  }
  void lose(const std::function<void()>& part) {
    const test::stall_meter stalls;
    const log_sink before = set_log_sink([](log_level, std::string_view) {});
    is_process = GetParam().mode == launch_mode::processes;
    const launch_result result = test::launch_on(GetParam(), [&] {
      died_at = broadcast(here().index() == 0 ? allocate<std::int64_t>() : nullptr, 0);
      barrier();
      try {
        part();
        ADD_FAILURE() << "it ended as if nobody had died";
      } catch (const place_lost_error& e) {
        EXPECT_EQ(e.place_index(), victim);
        EXPECT_TRUE(stalls.allow(std::chrono::nanoseconds{now_ns() - get(died_at)}, test::told_within));
      }
      if (here().index() != victim) go_on_without_it();
    });
    set_log_sink(before);
    test::expect_only_lost(result, victim);
  }

 private:
  static void go_on_without_it() {
    const std::vector<std::uint32_t> others = test::places_but(victim);
    const team survivors = world().subset(others);
    std::vector<double> values(30'000, 1.0);
    const future<> summed = all_reduce_async(std::span{values}, std::plus<>{}, survivors);
    EXPECT_EQ(all_gather(here().index(), survivors), others);
    summed.get();
    EXPECT_EQ(values, std::vector<double>(30'000, static_cast<double>(others.size())));
    EXPECT_THROW((void)all_reduce_async(1, std::plus<>{}).get(), place_lost_error);
    EXPECT_THROW(broadcast(std::span{values}), place_lost_error);
    barrier(survivors);  // all that was sent before has arrived
    EXPECT_EQ(kept_parts(), 0) << "of what was under way";
    EXPECT_TRUE(detail::current->runtime->receivers.empty());
  }

  // Of collectives that have begun here. (What a faster member has sent for later ones may lie there.)
  static long kept_parts() {
    const detail::runtime_state& state = *detail::current->runtime;
    return std::count_if(state.parts.begin(), state.parts.end(), [&](const auto& part) {
      const auto team = state.teams.find(part.first.team);
      return team != state.teams.end() && part.first.tag >> 8 < team->second->collectives;
    });
  }

  static std::int64_t now_ns() {
    return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
  }

  static inline bool is_process = false;
  static inline thread_local ptr<std::int64_t> died_at;  // at place 0: the time of the victim's end
};

// Until all are ready: a wait that the loss has ended says nothing of its future.
template <class Future>
void end_of(const std::vector<Future>& all) {
  std::exception_ptr lost;
  for (const Future& each : all) {
    while (!each.is_ready()) {
      try {
        each.wait();
      } catch (const place_lost_error&) {
        lost = std::current_exception();
      }
    }
    try {
      each.get();
    } catch (const place_lost_error&) {
      lost = std::current_exception();
    }
  }
  if (lost) std::rethrow_exception(lost);
}

TEST_P(collective_loss, of_one_asynchronous) {
  lose([] {
    die();
    end_of(std::vector{all_reduce_async(1, std::plus<>{})});
  });
}

TEST_P(collective_loss, of_a_member_that_has_begun_it) {
  lose([] {
    const std::vector all{all_reduce_async(1, std::plus<>{}), all_reduce_async(2, std::plus<>{})};
    if (here().index() == victim) {
      progress();
      die();
    }
    end_of(all);
    barrier();  // its parts may all have gone out
  });
}

TEST_P(collective_loss, of_many_of_all_kinds) {
  lose([] {
    std::vector<future<>> all;
    std::vector<std::vector<double>> values(20, std::vector<double>(20'000, 1.0));
    const auto keep = [&](const auto& each) { all.push_back(each.then([](const auto&...) {})); };
    for (std::size_t i = 0; i < values.size(); i += 4) {
      all.push_back(all_reduce_async(std::span{values[i]}, std::plus<>{}));
      all.push_back(broadcast_async(std::span{values[i + 1]}, static_cast<std::uint32_t>(i) % place_count()));
      all.push_back(inclusive_scan_async(std::span{values[i + 2]}, std::plus<>{}));
      all.push_back(reduce_async(std::span{values[i + 3]}, std::plus<>{}, 0));
      keep(sparse_exchange_async(std::map<std::uint32_t, std::string>{{0, "x"}, {victim, "y"}}));
      keep(neighbour_exchange_async(std::array{(here().index() + 1) % place_count()}, std::vector<int>{1},
                                    std::array{(here().index() + place_count() - 1) % place_count()}));
    }
    for (int i = 0; i < 3; ++i) progress();  // may throw: then what is under way must not touch the values any more
    die();
    end_of(all);
    barrier();  // its parts may all have gone out
  });
}

// In the middle of its fragments, after some rounds that come to their end.
TEST_P(collective_loss, in_the_middle_of_a_pipeline) {
  lose([] {
    std::vector<double> values(1'000'000, 1.0);
    int rounds = 0;
    std::size_t combined = 0;
    const auto add = [&](double a, double b) {
      if (rounds == 1 && ++combined == 300'000 / place_count()) die();
      return a + b;
    };
    for (;; ++rounds) all_reduce(std::span{values}, add);
  });
}

TEST_P(collective_loss, in_the_middle_of_a_chain) {
  lose([] {
    std::vector<double> values(1'000'000, 1.0);
    std::size_t combined = 0;
    const auto add = [&](double a, double b) {
      if (++combined == 300'000) die();
      return a + b;
    };
    for (;;) {
      end_of(std::vector{inclusive_scan_async(std::span{values}, add)});
      barrier();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, collective_loss, testing::ValuesIn(test::layouts({2, 3, 7})), test::layout_name);

}  // namespace
}  // namespace situ
