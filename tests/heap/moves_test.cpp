// Objects move while threads of this place and of others store into them: no store is lost.
#include <situ/base/log.h>
#include <situ/heap/object_heap.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "heap/one_second.h"
#include "support/places.h"

namespace {

using situ::ref;

constexpr std::uint64_t entries = situ::test::or_modelled<std::uint64_t>(1 << 20, 1 << 14);
constexpr std::uint32_t most_writers = 8;
struct counters {
  std::array<std::uint64_t, most_writers> of;  // each writer's own
};

class heap_moves : public situ::test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, heap_moves, testing::ValuesIn(situ::test::all_layouts()), situ::test::layout_name);

// Writes its own counters of all objects, at random, and checks that each is what it wrote last.
std::uint64_t write_counters(situ::heap_thread& mine, const std::vector<std::uint32_t>& objects, std::uint32_t writer,
                             int rounds, bool polls) {
  std::mt19937_64 random{writer};
  std::vector<std::uint64_t> last(objects.size());
  std::uint64_t lost = 0;
  const auto change = [&](situ::heap_section& section) {
    const std::size_t at = random() % objects.size();
    const std::uint64_t found =
        situ::detail::racing_load(reinterpret_cast<const counters*>(section.object(objects[at])->bytes())->of[writer]);
    if (found != last[at]) ++lost;
    situ::detail::racing_store(reinterpret_cast<counters*>(section.object_to_change(objects[at])->bytes())->of[writer],
                               ++last[at]);
  };
  for (int i = 0; i < rounds; ++i) {
    situ::heap_section section{mine};
    for (int k = 0; k < 16; ++k) {
      change(section);
      if (polls) section.poll();
    }
  }
  for (std::size_t at = 0; at < objects.size(); ++at) {
    situ::heap_section section{mine};
    if (reinterpret_cast<const counters*>(section.object(objects[at])->bytes())->of[writer] != last[at]) ++lost;
  }
  return lost;
}

TEST_P(heap_moves, lose_no_store_of_another_place) {
  run([] {
    situ::object_heap heap{{.entries = entries, .replicas = situ::heap_replicas::always}};
    situ::heap_thread mine{heap};
    const std::uint32_t here = situ::here().index();
    std::vector<ref<>> made;
    std::vector<std::uint32_t> raws(20);
    if (here == 0)
      for (std::uint32_t& each : raws) {
        made.push_back(mine.make<counters>());
        each = made.back().raw();
      }
    if (here == 0) mine.move(made, situ::here());
    raws = situ::broadcast(raws, 0);
    std::vector<ref<>> all;
    for (const std::uint32_t each : raws) all.push_back(ref<>{each});
    if (here % 2 == 1 || situ::place_count() == 1) {
      std::mt19937 random{here};
      const situ::test::one_second second;
      for (int i = 0; i < situ::test::rounds(300) && second.is_left(); ++i) {
        if (random() % 4 == 0)
          (void)mine.make_read_mostly(all);
        else
          mine.move(all, situ::place{static_cast<std::uint32_t>(random() % situ::place_count())});
      }
    } else {
      EXPECT_EQ(write_counters(mine, raws, here / 2 % most_writers, situ::test::rounds(5000), true), 0U);
    }
    situ::barrier();
  });
}

TEST_P(heap_moves, lose_no_store_of_threads) {
  run([] {
    situ::object_heap heap{{.entries = entries, .replicas = situ::heap_replicas::always}};
    situ::heap_thread mine{heap};
    std::vector<ref<>> all;
    std::vector<std::uint32_t> raws;
    for (int i = 0; i < 20; ++i) {
      all.push_back(mine.make<counters>());
      raws.push_back(all.back().raw());
    }
    mine.move(all, situ::here());
    std::atomic<int> writing{2}, moving{0};
    std::atomic<std::uint64_t> lost{0};
    situ::place_threads threads;
    for (std::uint32_t writer = 0; writer < 2; ++writer)
      threads.start([&, writer] {
        situ::heap_thread own{heap, &threads};
        while (moving == 0) std::this_thread::yield();
        lost += write_counters(own, raws, writer, situ::test::rounds(5000), writer == 0);
        --writing;
      });
    threads.start([&] {
      situ::heap_thread own{heap, &threads};
      for (std::uint32_t i = 0; writing != 0; ++i) {
        if (i % 3 == 0)
          (void)own.make_read_mostly(all);
        else
          own.move(all, situ::place{i % situ::place_count()});
        moving = 1;
      }
    });
    threads.join();
    EXPECT_EQ(lost, 0U);
    EXPECT_GT(heap.counts().objects_moved, 20U);
    situ::barrier();
  });
}

// Threads that make objects of their own and share them, while a collection of all places comes now and then.
TEST_P(heap_moves, of_threads_that_allocate_go_with_collections) {
  run([] {
    situ::object_heap heap{
        {.entries = entries, .young_bytes = situ::test::or_modelled(512U << 10, 256U << 10), .collect_after = 2 << 20}};
    situ::place_threads threads;
    for (std::uint32_t thread = 0; thread < 2; ++thread)
      threads.start([&] {
        situ::heap_thread own{heap, &threads};
        situ::rooted<counters> kept{own};
        for (int i = 0; i < (situ::test::is_modelled ? 6000 : situ::test::rounds(50'000)); ++i) {
          own.safe_point();
          const ref<counters> made = own.make<counters>();
          if (i % 10 == 0) kept = made;
          own.store(kept.get(), &counters::of, std::array<std::uint64_t, most_writers>{std::uint64_t(i)});
          EXPECT_EQ(own.load(kept.get(), &counters::of)[0], std::uint64_t(i));
        }
      });
    threads.join();
    EXPECT_GE(heap.counts().own_collections, 1U);
    situ::barrier();
  });
}

TEST_P(heap_moves, name_a_thread_that_stays_in_a_section) {
  if (situ::test::is_modelled) GTEST_SKIP() << "a core that spins lets others of its tile wait";
  run([] {
    situ::object_heap heap{{.entries = entries, .patience = std::chrono::milliseconds{20}}};
    situ::heap_thread mine{heap};
    const ref<counters> made = mine.make<counters>();
    static std::atomic<int> said;
    said = 0;
    const situ::log_sink before = situ::set_log_sink([](situ::log_level, std::string_view message) {
      if (message.find("in a section of an object heap") != std::string_view::npos) ++said;
    });
    situ::place_threads threads;
    std::atomic<bool> is_in{false};
    threads.start([&] {
      situ::heap_thread own{heap, &threads};
      situ::heap_section section{own};
      is_in = true;
      while (said == 0) std::this_thread::yield();
    });
    threads.start([&] {
      situ::heap_thread own{heap, &threads};
      while (!is_in) std::this_thread::yield();
      (void)own.make<counters>();
      own.move(made, situ::place{(situ::here().index() + 1) % situ::place_count()});
    });
    threads.join();
    EXPECT_GT(said, 0);
    situ::barrier();
    situ::set_log_sink(before);
  });
}

}  // namespace
