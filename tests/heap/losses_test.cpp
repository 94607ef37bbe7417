// A place of an object heap is lost: the others find each object at its old home or its new one, whole, and nobody waits
// for the lost place.
#include <situ/base/log.h>
#include <situ/heap/object_heap.h>
#include <situ/memory/detail/losses.h>
#include <situ/memory/detail/place_context.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "support/places.h"

namespace {

using situ::ref;

constexpr std::uint32_t victim = 1;
bool is_victim_lost() { return situ::detail::has_ended(*situ::detail::current->job, victim); }

constexpr std::uint32_t numbers = 200;
struct block {
  std::array<std::uint64_t, numbers> of;  // all the same
  ref<block> next;
};

class lost_heap_place : public testing::Test {
 protected:
  // Each place makes objects; then the victim runs `until_killed` for a while and is killed, and each other place runs
  // `survive`, which returns when it has met the loss.
  template <class Die, class Survive>
  void lose(std::uint32_t places, const Die& until_killed, const Survive& survive) {
    if (!situ::test::can_fork()) GTEST_SKIP() << situ::test::why_no_fork();
    const situ::log_sink before = situ::set_log_sink([](situ::log_level, std::string_view) {});
    const situ::launch_result result = situ::test::launch_on({situ::launch_mode::processes, places}, [&] {
      situ::object_heap heap{{.entries = 1 << 16, .collect_after = 0}};
      situ::heap_thread mine{heap};
      std::vector<situ::rooted<block>*> roots;
      std::vector<std::uint32_t> made;
      for (int i = 0; i < 20; ++i) {
        const ref<block> each = mine.make<block>();
        made.push_back(each.raw());
        roots.push_back(new situ::rooted<block>{mine, each});
        mine.move(each, situ::here());
      }
      std::vector<ref<>> all;
      for (const std::vector<std::uint32_t>& each : situ::all_gather(made))
        for (const std::uint32_t raw : each) all.push_back(ref<>{raw});
      const std::size_t visited = mine.add_roots([&](const auto& visit) {
        for (ref<>& each : all) {
          std::uint32_t word = each.raw();
          visit(word);
          each = ref<>{word};
        }
      });
      situ::barrier();
      if (situ::here().index() == victim) {
        std::thread{[] {
          std::this_thread::sleep_for(std::chrono::milliseconds{100});
          ::kill(::getpid(), SIGKILL);
        }}.detach();
        until_killed(heap, mine, all);
      } else {
        survive(heap, mine, all);
        check_whole(mine, all);
      }
      mine.remove_roots(visited);
      for (const situ::rooted<block>* each : roots) delete each;
    });
    situ::set_log_sink(before);
    situ::test::expect_only_lost(result, victim);
  }

  // Objects are whole wherever they lie, and the heap goes on among the survivors.
  static void check_whole(situ::heap_thread& mine, const std::vector<ref<>>& all) {
    for (const ref<> each : all) {
      const auto found = mine.load(situ::ref_cast<block>(each), &block::of);
      EXPECT_EQ(std::ranges::count(found, found[0]), numbers);
      EXPECT_LT(mine.home(each).index(), situ::place_count());
      mine.store(situ::ref_cast<block>(each), &block::next, mine.make<block>());  // waits for no mark of the lost place
    }
    mine.collect_own();
    mine.safe_point();
    EXPECT_THROW(mine.collect(), situ::place_lost_error);
    EXPECT_THROW(mine.collect(), situ::place_lost_error);
    const std::uint32_t home = situ::here().index();
    mine.move(all, situ::place{home});
    for (const ref<> each : all) {
      const auto found = mine.load(situ::ref_cast<block>(each), &block::of);
      EXPECT_EQ(std::ranges::count(found, found[0]), numbers);
    }
    mine.collect_own();
  }
};

// Fills an object with one number: another thread that stores at the same time may come between.
void fill(situ::heap_thread& mine, ref<> of, std::uint64_t value) {
  situ::heap_section section{mine};
  auto& its = reinterpret_cast<block*>(section.object_to_change(of.raw())->bytes())->of;
  for (std::uint64_t& each : its) situ::detail::racing_store(each, value);
}

[[noreturn]] void move_for_ever(situ::object_heap&, situ::heap_thread& mine, const std::vector<ref<>>& all) {
  std::mt19937 random{3};
  while (true) mine.move(all, situ::place{static_cast<std::uint32_t>(random() % situ::place_count())});
}
[[noreturn]] void exchange_for_ever(situ::object_heap&, situ::heap_thread& mine, const std::vector<ref<>>& all) {
  std::mt19937 random{3};
  while (true) mine.exchange(all[random() % all.size()], all[random() % all.size()]);
}

// One survivor moves objects to the victim until it hears of the loss; another stores into its own.
void move_to_victim(situ::object_heap&, situ::heap_thread& mine, const std::vector<ref<>>& all) {
  const std::size_t first = situ::here().index() * std::size_t{20};
  if (situ::here().index() == 0) {
    std::uint64_t moves = 0;
    try {
      while (true) {
        const ref<> each = all[moves++ % all.size()];
        mine.move(each, situ::place{victim});
        mine.move(each, situ::here());
      }
    } catch (const situ::place_lost_error& lost) {
      EXPECT_EQ(lost.place_index(), victim);
      EXPECT_GT(moves, 1U);
    }
    return;
  }
  for (std::uint64_t value = 1; !is_victim_lost(); ++value) {
    for (std::size_t i = first; i < first + 20; ++i) fill(mine, all[i], value);
    try {
      situ::progress();
    } catch (const situ::place_lost_error&) {}
  }
}

TEST_F(lost_heap_place, in_the_middle_of_moves) { lose(3, move_for_ever, move_to_victim); }
TEST_F(lost_heap_place, in_the_middle_of_exchanges) { lose(3, exchange_for_ever, move_to_victim); }

// The victim dies while all places collect again and again; each survivor hears of it, and none waits.
TEST_F(lost_heap_place, in_the_middle_of_collections) {
  const auto collect_for_ever = [](situ::object_heap&, situ::heap_thread& mine, const std::vector<ref<>>&) {
    while (true) {
      (void)mine.make<block>();
      mine.collect();
    }
  };
  lose(3, collect_for_ever, [](situ::object_heap&, situ::heap_thread& mine, const std::vector<ref<>>&) {
    try {
      while (true) {
        (void)mine.make<block>();
        if (situ::here().index() == 0) {
          mine.collect();
        } else {
          mine.safe_point();
          situ::progress();
        }
      }
    } catch (const situ::place_lost_error& lost) {
      EXPECT_EQ(lost.place_index(), victim);
    }
  });
}

// The victim dies while all places give their objects new numbers, at another moment each time: the survivors find all
// objects with their old numbers, or all with new ones, in roots and fields alike.
class lost_renumbering_place : public lost_heap_place, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(moments, lost_renumbering_place, testing::Range(0, 12));

TEST_P(lost_renumbering_place, leaves_the_old_numbers_or_the_new_ones) {
  if (!situ::test::can_fork()) GTEST_SKIP() << situ::test::why_no_fork();
  const situ::log_sink before = situ::set_log_sink([](situ::log_level, std::string_view) {});
  constexpr std::uint32_t places = 3, each_place = 3000;
  const situ::launch_result result = situ::test::launch_on({situ::launch_mode::processes, places}, [&] {
    situ::object_heap heap{{.entries = 1 << 16, .collect_after = 0}};
    situ::heap_thread mine{heap};
    const std::uint32_t here = situ::here().index();
    std::vector<std::uint32_t> made;
    for (std::uint32_t i = 0; i < each_place; ++i) {
      made.push_back(mine.make<block>().raw());
      fill(mine, ref<>{made.back()}, here * each_place + i);
    }
    // A ring through the objects of all places in turn; each place keeps each of its objects, and moves some.
    const std::vector<std::vector<std::uint32_t>> all = situ::all_gather(made);
    const auto number_of = [&](std::uint64_t at) { return at % places * each_place + at / places; };
    const std::size_t visited = mine.add_roots([&](const auto& visit) {
      for (std::uint32_t& each : made) visit(each);
    });
    std::vector<ref<>> moved;
    for (std::uint32_t i = 0; i < each_place; i += 3) moved.emplace_back(made[i]);
    mine.move(moved, situ::place{(here + 1) % places});
    for (std::uint64_t at = here; at < places * each_place; at += places) {
      const std::uint64_t after = (at + 1) % (places * each_place);
      mine.store(ref<block>{made[at / places]}, &block::next, ref<block>{all[after % places][after / places]});
    }
    situ::barrier();
    if (here == 0) mine.collect({.renumbers = true});  // however slow this machine is, one is whole
    situ::barrier();
    if (here == victim) {
      const int moment = GetParam();
      std::thread{[moment] {
        std::this_thread::sleep_for(std::chrono::microseconds{60'000 + 3'700 * moment});
        ::kill(::getpid(), SIGKILL);
      }}.detach();
    }
    std::uint64_t collections = 0;
    try {
      for (;; ++collections) {
        if (here == 0)
          mine.collect({.sorts = collections % 2 == 0, .renumbers = true});
        else
          situ::progress();
        mine.safe_point();
      }
    } catch (const situ::place_lost_error& lost) {
      EXPECT_EQ(lost.place_index(), victim);
    }
    EXPECT_GT(heap.counts().objects_renumbered, 0U);
    const auto check_ring = [&] {
      for (std::uint32_t i = 0; i < each_place; i += 500) {
        std::uint64_t at = std::uint64_t{i} * places + here;
        ref<block> each{made[i]};
        for (std::uint32_t step = 0; step < places * each_place; ++step) {
          const auto found = mine.load(each, &block::of);
          ASSERT_EQ(found[0], number_of(at));
          ASSERT_EQ(std::ranges::count(found, found[0]), numbers);
          each = mine.load(each, &block::next);
          at = (at + 1) % (places * each_place);
        }
        ASSERT_EQ(each.raw(), made[i]);
      }
    };
    check_ring();
    EXPECT_THROW(mine.collect({.renumbers = true}), situ::place_lost_error);
    for (int i = 0; i < 2000; ++i) (void)mine.make<block>();
    mine.collect_own();
    std::vector<ref<>> own;
    for (const std::uint32_t each : made) own.emplace_back(each);
    mine.move(own, situ::here());
    check_ring();
    mine.remove_roots(visited);
  });
  situ::set_log_sink(before);
  situ::test::expect_only_lost(result, victim);
}

// The victim is killed within a section, and holds up no move.
TEST_F(lost_heap_place, within_a_section) {
  const auto stay = [](situ::object_heap&, situ::heap_thread& mine, const std::vector<ref<>>&) {
    situ::heap_section section{mine};
    while (true) std::this_thread::yield();
  };
  lose(3, stay, [](situ::object_heap&, situ::heap_thread& mine, const std::vector<ref<>>& all) {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    mine.move(all, situ::here());
    for (bool is_told = false; !is_told;) try {
        situ::progress();
        is_told = is_victim_lost();
      } catch (const situ::place_lost_error&) {
        is_told = true;
      }
  });
}

}  // namespace
