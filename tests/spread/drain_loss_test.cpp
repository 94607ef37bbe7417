// A drain while a place is lost. If the place is no member, all members come through the drain, whoever has been told
// of the loss before, and every item is handled; each task is told afterwards. If it is a member, all others are told.
#include <situ/spread/conveyor.h>
#include <situ/spread/distributed_map.h>

#include "support/places.h"

#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <stdexcept>
#include <thread>

namespace situ {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t victim = 1;

bool is_victim_lost() { return detail::is_lost(*detail::current->job, victim); }

// Without a wait that could tell of the loss; long enough that others who wait have been told of it.
void sleep_until_victim_is_lost() {
  while (!is_victim_lost()) std::this_thread::sleep_for(100us);
  std::this_thread::sleep_for(10ms);
}

class drain_beside_a_loss : public test::on_places {
 protected:
  [[noreturn]] static void die() {
    if (GetParam().mode == launch_mode::processes) ::kill(::getpid(), SIGKILL);
    throw std::runtime_error{"died as it should"};
  }

  // Runs the body at all places but the victim, with the team of these places and a function that lets the victim die.
  void lose_a_stranger(const std::function<void(const team& rest, const std::function<void()>& end_victim)>& body) {
    lose([body] {
      const team rest = world().split(here().index() == victim);
      const ptr<signal> order = broadcast(here().index() == victim ? allocate_signals() : ptr<signal>{}, victim);
      if (here().index() == victim) {
        wait_until(order, 1);
        die();
      }
      body(rest, [order] { send_signal(order, 1); });
    });
  }

  void lose(const std::function<void()>& body) {
    const log_sink before = set_log_sink([](log_level, std::string_view) {});
    const launch_result result = test::launch_on(GetParam(), body);
    set_log_sink(before);
    test::expect_only_lost(result, victim);
  }

  // The task has not been told yet, though the victim is lost: its next wait tells it.
  static void expect_told_next() {
    const promise<> never;
    EXPECT_THROW(never.get_future().wait(), place_lost_error);
  }
  static void expect_all_go_on(const team& rest) {
    EXPECT_EQ(all_reduce(1U, std::plus<>{}, rest), rest.size());
    barrier(rest);
  }
};

// Those that were told wait in the drain for those that were not.
TEST_P(drain_beside_a_loss, comes_to_its_end_where_some_have_been_told) {
  lose_a_stranger([](const team& rest, const std::function<void()>& end_victim) {
    int handled = 0;
    conveyor<int> items{[&](int n) { handled += n; }, {}, rest};
    distributed_map<std::uint32_t, int> map{{}, rest};
    barrier(rest);
    if (rest.index() == 0) end_victim();
    const bool is_told = rest.index() % 2 == 1;
    if (is_told)
      expect_told_next();
    else
      sleep_until_victim_is_lost();
    for (std::uint32_t i = 0; i < rest.size(); ++i) items.push(rest.member(i), 1);
    items.drain();
    EXPECT_EQ(handled, static_cast<int>(rest.size()));
    for (std::uint32_t key = 0; key < 20; ++key) map.update(key, [](int& n) { ++n; });
    map.drain();
    for (std::uint32_t key = 0; key < 20; ++key) EXPECT_EQ(map.find(key), static_cast<int>(rest.size()));
    if (!is_told) expect_told_next();
    expect_all_go_on(rest);
  });
}

// The last item of a chain of handlers, each of which pushes the next, lets the place die: so the loss falls into a
// later wave.
TEST_P(drain_beside_a_loss, comes_to_its_end_where_items_are_under_way) {
  for (const int pushed_on : {0, 1, 3}) {
    lose_a_stranger([pushed_on](const team& rest, const std::function<void()>& end_victim) {
      int handled = 0;
      conveyor<int> items{[&](int left) {
                            ++handled;
                            if (left != 0) return items.push(rest.member((rest.index() + 1) % rest.size()), left - 1);
                            end_victim();
                            sleep_until_victim_is_lost();
                          },
                          {},
                          rest};
      barrier(rest);
      if (rest.index() == 0) items.push(rest.member(1), pushed_on);
      items.drain();
      EXPECT_TRUE(is_victim_lost());
      expect_told_next();
      EXPECT_EQ(all_reduce(handled, std::plus<>{}, rest), pushed_on + 1);
      expect_all_go_on(rest);
    });
  }
}

TEST_P(drain_beside_a_loss, of_a_map_comes_to_its_end_where_operations_are_under_way) {
  lose_a_stranger([](const team& rest, const std::function<void()>& end_victim) {
    distributed_map<std::uint32_t, int> map{{}, rest};
    std::uint32_t far = 0;
    while (map.owner(far) != rest.member(1)) ++far;
    barrier(rest);
    if (rest.index() == 0) {
      map.update(far, [](int& n) {
        sleep_until_victim_is_lost();
        ++n;
      });
      end_victim();
    }
    map.drain();
    EXPECT_TRUE(is_victim_lost());
    EXPECT_EQ(map.find(far), 1);
    expect_told_next();
    expect_all_go_on(rest);
  });
}

// The others wait in the drain's barrier.
TEST_P(drain_beside_a_loss, comes_to_its_end_where_one_comes_late) {
  lose_a_stranger([](const team& rest, const std::function<void()>& end_victim) {
    int handled = 0;
    conveyor<int> items{[&](int n) { handled += n; }, {}, rest};
    barrier(rest);
    items.push(rest.member(0), 1);
    if (rest.index() == 0) {
      std::this_thread::sleep_for(5ms);
      end_victim();
      sleep_until_victim_is_lost();
    }
    items.drain();
    EXPECT_EQ(handled, rest.index() == 0 ? static_cast<int>(rest.size()) : 0);
    expect_told_next();
    expect_all_go_on(rest);
  });
}

// The loss ends a wait of a handler, as its error, which is thrown at the member that has pushed the item.
TEST_P(drain_beside_a_loss, throws_what_a_handler_was_told) {
  for (const std::uint32_t target : {0U, 1U}) {  // the pushing member itself handles items for itself
    lose_a_stranger([target](const team& rest, const std::function<void()>& end_victim) {
      conveyor<int> items{[&](int) {
                            end_victim();
                            const promise<> never;
                            never.get_future().wait();
                          },
                          {},
                          rest};
      barrier(rest);
      if (rest.index() == 0) items.push(rest.member(target), 1);
      bool is_told = false;
      try {
        items.drain();
      } catch (const place_lost_error& lost) {
        is_told = lost.place_index() == victim;
      }
      EXPECT_EQ(is_told, rest.index() == 0);
      if (!is_told) expect_told_next();
      expect_all_go_on(rest);
    });
  }
}

struct item {
  std::uint32_t round;
  std::uint32_t last_round;  // 0: that is not known yet
  std::uint32_t left;        // items that its handler pushes on
};

// Drains until some rounds after the victim's end. (An item of a member that is a round ahead may come early.)
void drain_until_after_the_loss(const team& rest) {
  std::map<std::uint32_t, std::uint32_t> handled;
  std::uint32_t last_round = 0;
  conveyor<item> items{[&](const item& each) {
                         ++handled[each.round];
                         last_round = std::max(last_round, each.last_round);
                         if (each.left != 0) items.push(here(), {each.round, each.last_round, each.left - 1});
                       },
                       {},
                       rest};
  distributed_map<std::uint32_t, std::uint32_t> map{{}, rest};
  barrier();
  std::uint32_t round = 0;
  std::uint32_t last_of_all = 0;  // as this member tells the others
  while (last_round == 0 || round < last_round) {
    ++round;
    if (rest.index() == 0 && last_of_all == 0 && is_victim_lost()) last_of_all = round + 3;
    for (std::uint32_t i = 0; i < rest.size(); ++i) items.push(rest.member(i), {round, last_of_all, 1});
    items.drain();
    EXPECT_EQ(handled[round], 2 * rest.size());
    for (std::uint32_t key = 0; key < 5; ++key) map.update(key, [](std::uint32_t& n) { ++n; });
    map.drain();
  }
  const promise<> never;
  EXPECT_THROW(never.get_future().wait(), place_lost_error);
  for (std::uint32_t key = 0; key < 5; ++key) EXPECT_EQ(map.find(key), round * rest.size());
}

TEST_P(drain_beside_a_loss, comes_to_its_end_whenever_a_stranger_dies) {
  const std::uint64_t seed = test::test_seed();
  for (int round = 0; round < test::rounds(20); ++round) {
    lose([seed, round] {
      const team rest = world().split(here().index() == victim);
      if (here().index() != victim) {
        drain_until_after_the_loss(rest);
        return expect_all_go_on(rest);
      }
      barrier();
      std::this_thread::sleep_for(std::chrono::microseconds{test::mixed(seed, round) % 3000});
      die();
    });
  }
}

// Whoever waits for the lost member in the barrier or the sum is told.
TEST_P(drain_beside_a_loss, tells_all_others_if_a_member_dies) {
  const std::uint64_t seed = test::test_seed();
  for (int round = 0; round < test::rounds(20); ++round) {
    lose([seed, round] {
      const std::uint64_t chance = test::mixed(seed, round);
      const bool by_signal = GetParam().mode == launch_mode::processes && chance % 2 == 0;
      std::thread killer;
      const auto drain_for_ever = [&] {
        conveyor<int> items{[](int) {}};
        if (here().index() == victim && by_signal)
          killer = std::thread{[chance] {
            std::this_thread::sleep_for(std::chrono::microseconds{chance % 3000});
            ::kill(::getpid(), SIGKILL);
          }};
        for (std::uint64_t drains = 0;; ++drains) {
          if (here().index() == victim && !by_signal && drains == chance % 5) die();
          for (const place p : places()) items.push(p, 1);
          items.drain();
        }
      };
      if (here().index() == victim) drain_for_ever();
      EXPECT_THROW(drain_for_ever(), place_lost_error);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(layouts, drain_beside_a_loss, testing::ValuesIn(test::layouts({3, 4, 7})), test::layout_name);

}  // namespace
}  // namespace situ
