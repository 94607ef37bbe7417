// Threads and places that use the same objects at once: exchanges beside stores, moves and own collections; types that
// several threads meet for the first time; counts that are read meanwhile.
#include <situ/heap/object_heap.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "heap/one_second.h"
#include "support/places.h"

namespace {

using situ::ref;

struct token {
  std::uint64_t number;
  std::uint64_t twice;  // of number
  ref<token> self;
};

class heap_together : public situ::test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, heap_together, testing::ValuesIn(situ::test::layouts({1, 2, 4})),
                         situ::test::layout_name);

// Some places exchange tokens, others move them, the rest collects its own objects, among which the tokens were made:
// at the end each token is there once.
TEST_P(heap_together, exchanges_go_with_moves_and_own_collections) {
  run([] {
    constexpr std::uint32_t each_place = 8;
    situ::object_heap heap{{.collect_after = 0, .replicas = situ::heap_replicas::always}};
    situ::heap_thread mine{heap};
    const std::uint32_t here = situ::here().index();
    std::mt19937_64 random{here};
    std::vector<std::unique_ptr<situ::rooted<token>>> roots;
    std::vector<std::uint32_t> made;
    situ::rooted<ref<token>[]> shared{mine, mine.make_array<ref<token>>(each_place)};
    mine.collect_own();
    for (std::uint32_t i = 0; i < each_place; ++i) {  // shared while young
      const std::uint64_t number = here * each_place + i;
      roots.push_back(std::make_unique<situ::rooted<token>>(mine, mine.make<token>(number, 2 * number)));
      mine.store(shared.get(), i, roots.back()->get());
      made.push_back(roots.back()->get().raw());
    }
    std::vector<ref<>> all;
    for (const auto& of_place : situ::all_gather(made))
      for (const std::uint32_t raw : of_place) all.push_back(ref<>{raw});
    situ::barrier();
    std::uint64_t torn = 0;
    const situ::test::one_second second;
    for (int i = 0; i < situ::test::rounds(2000) && second.is_left(); ++i) {
      const ref<> a = all[random() % all.size()], b = all[random() % all.size()];
      switch (random() % 5) {
        case 0: mine.exchange(a, b); break;
        case 1: mine.move(a, situ::place{static_cast<std::uint32_t>(random() % situ::place_count())}); break;
        case 2:
          for (int k = 0; k < 50; ++k) (void)mine.make<token>(~std::uint64_t{0}, std::uint64_t{0});
          mine.collect_own();
          break;
        case 3: (void)mine.make_read_mostly(a); break;
        case 4: {
          situ::heap_section section{mine};
          const auto* const found = reinterpret_cast<const token*>(section.object(a.raw())->bytes());
          for (int k = 0; k < 20; ++k)
            torn += found->twice == 2 * found->number && found->number < all.size() ? 0U : 1U;
          section.store(situ::ref_cast<token>(a), &token::self, situ::ref_cast<token>(b));
          break;
        }
      }
    }
    EXPECT_EQ(torn, 0U);
    situ::barrier();
    mine.collect();
    situ::barrier();
    std::vector<int> met(all.size());
    for (const ref<> each : all) ++met.at(mine.load(situ::ref_cast<token>(each), &token::number));
    for (std::size_t i = 0; i < met.size(); ++i) EXPECT_EQ(met[i], 1) << "token " << i;
    situ::barrier();
  });
}

// A reader stays in a section with the address of a young object that another one moves, and whose thread then collects
// and makes objects: what the reader sees does not change.
TEST_P(heap_together, readers_keep_what_they_read_until_their_section_ends) {
  if (situ::test::is_modelled) GTEST_SKIP() << "threads that spin";
  run([] {
    situ::object_heap heap{{.collect_after = 0}};
    situ::place_threads threads;
    std::atomic<std::uint32_t> made{0};
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> changed{0};
    threads.start([&] {  // makes a token, shares it, and collects
      situ::heap_thread own{heap, &threads};
      situ::rooted<ref<token>[]> shared{own, own.make_array<ref<token>>(1)};
      own.collect_own();
      const situ::test::one_second second;
      for (int i = 1; i < situ::test::rounds(400) && second.is_left(); ++i) {
        const ref<token> next = own.make<token>(std::uint64_t(i), 2 * std::uint64_t(i));
        own.store(shared.get(), 0, next);
        made = next.raw();
        std::this_thread::yield();
        own.collect_own();
        for (int k = 0; k < 20; ++k) (void)own.make<token>(1U, 1U);
      }
      is_over = true;
    });
    threads.start([&] {  // reads
      situ::heap_thread own{heap, &threads};
      while (!is_over) {
        situ::heap_section section{own};
        const std::uint32_t raw = made;
        if (raw == 0) continue;
        const auto* const found = reinterpret_cast<const token*>(section.object(raw)->bytes());
        for (int k = 0; k < 200; ++k) {
          if (situ::detail::racing_load(found->twice) != 2 * situ::detail::racing_load(found->number)) ++changed;
          if (k % 50 == 0) std::this_thread::yield();
        }
      }
    });
    threads.start([&] {  // moves
      situ::heap_thread own{heap, &threads};
      for (std::uint32_t i = 0; !is_over; ++i)
        if (const std::uint32_t raw = made; raw != 0) own.move(ref<>{raw}, situ::place{i % situ::place_count()});
    });
    threads.join();
    EXPECT_EQ(changed, 0U);
    situ::barrier();
  });
}

// An object of many words is copied for a while: whoever reads it meanwhile finds the old copy or the new one, whole.
TEST_P(heap_together, readers_find_whole_objects) {
  run([] {
    constexpr std::uint32_t words = situ::test::or_modelled<std::uint32_t>(20'000, 200);
    situ::object_heap heap{{.collect_after = 0, .replicas = situ::heap_replicas::always}};
    situ::heap_thread mine{heap};
    const ref<std::uint64_t[]> made = mine.make_array<std::uint64_t>(words);
    for (std::uint32_t i = 0; i < words; ++i) mine.store(made, i, ~std::uint64_t{0});
    situ::place_threads threads;
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> torn{0};
    mine.move(made, situ::here());
    threads.start([&] {
      situ::heap_thread own{heap, &threads};
      for (std::uint32_t at = 0; !is_over; at = (at + 7919) % words)
        if (own.load(made, at) != ~std::uint64_t{0}) ++torn;
    });
    threads.start([&] {
      situ::heap_thread own{heap, &threads};
      const situ::test::one_second second;
      for (int i = 0; i < situ::test::rounds(1000) && second.is_left(); ++i) {
        own.move(made, situ::place{static_cast<std::uint32_t>(i) % situ::place_count()});
        (void)own.make_read_mostly(made);
      }
      is_over = true;
    });
    threads.join();
    EXPECT_EQ(torn, 0U);
    situ::barrier();
  });
}

template <int N>
struct numbered {
  std::uint64_t value;
  ref<numbered<N>> next;
  std::array<std::uint32_t, N + 1> more;
};
template <int... N>
std::uint64_t make_each(situ::heap_thread& own, situ::rooted<ref<>[]>& kept, std::integer_sequence<int, N...>) {
  std::uint64_t wrong = 0;
  const auto one = [&]<int Which>(std::integral_constant<int, Which>) {
    using type = numbered<Which>;
    const ref<type> first = own.make<type>(std::uint64_t{Which});
    const ref<type> second = own.make<type>(std::uint64_t{Which + 1}, first);
    own.store(kept.get(), Which, second);
    own.collect_own();
    own.safe_point();
    if (own.load(second, &type::value) != Which + 1) ++wrong;
    if (own.load(own.load(second, &type::next), &type::value) != Which) ++wrong;
  };
  (one(std::integral_constant<int, N>{}), ...);
  return wrong;
}

TEST_P(heap_together, threads_meet_types_and_counts_are_read) {
  run([] {
    situ::object_heap heap{{.young_bytes = 512 << 10, .collect_after = 1 << 20}};
    situ::place_threads threads;
    std::atomic<int> running{3};
    std::atomic<std::uint64_t> wrong{0};
    for (int thread = 0; thread < 3; ++thread)
      threads.start([&] {
        {
          situ::heap_thread own{heap, &threads};
          situ::rooted<ref<>[]> kept{own, own.make_array<ref<>>(40)};
          own.collect_own();
          for (int i = 0; i < 3; ++i) wrong += make_each(own, kept, std::make_integer_sequence<int, 40>{});
          if (situ::here().index() == 0) own.collect();
        }
        --running;
      });
    threads.start([&] {
      std::uint64_t before = 0;
      while (running != 0) {
        const situ::heap_counts now = heap.counts();
        if (now.objects_made < before || now.bytes_made > (std::uint64_t{1} << 40)) ++wrong;
        before = now.objects_made;
        std::this_thread::yield();
      }
    });
    threads.join();
    EXPECT_EQ(wrong, 0U);
    situ::barrier();
  });
}

// Threads come and go while all places collect.
TEST_P(heap_together, threads_come_and_go_beside_collections) {
  run([] {
    situ::object_heap heap;
    situ::place_threads threads;
    std::atomic<int> running{2};
    for (int thread = 0; thread < 2; ++thread)
      threads.start([&] {
        const situ::test::one_second second;
        for (int i = 0; i < situ::test::rounds(200) && second.is_left(); ++i) {
          situ::heap_thread own{heap, &threads};
          situ::rooted<token> kept{own, own.make<token>(5U, 10U)};
          own.safe_point();
          if (i % 3 == 0) own.collect();
          EXPECT_EQ(own.load(kept.get(), &token::twice), 10U);
        }
        --running;
      });
    threads.join();
    situ::barrier();
  });
}

// Threads of all places give all objects new numbers while others make lists, and change them.
TEST_P(heap_together, threads_go_on_when_their_objects_get_new_numbers) {
  run([] {
    situ::object_heap heap{{.young_bytes = 256 << 10, .collect_after = 0}};
    situ::place_threads threads;
    std::atomic<std::uint64_t> wrong{0};
    for (std::uint32_t thread = 0; thread < 3; ++thread)
      threads.start([&, thread] {
        situ::heap_thread own{heap, &threads};
        situ::rooted<token> list{own}, taken{own};
        std::mt19937 random{thread};
        const situ::test::one_second second;
        for (std::uint64_t i = 1; i < std::uint64_t(situ::test::rounds(1000)) && second.is_left(); ++i) {
          own.safe_point();
          const ref<token> made = own.make<token>(i, 2 * i, list.get());
          list = made;
          if (i % 50 == 0) own.collect_own();
          if (random() % 300 == 0) own.collect({.sorts = random() % 2 == 0, .renumbers = true});
          own.safe_point();
          taken = list.get();
          for (std::uint64_t expected = i; expected != 0; --expected) {
            if (!taken.get() || own.load(taken.get(), &token::number) != expected) {
              ++wrong;
              break;
            }
            if (expected % 16 == 0) own.safe_point();
            taken = own.load(taken.get(), &token::self);
          }
          if (i % 200 == 0)
            own.move(list.get(), situ::place{static_cast<std::uint32_t>(random() % situ::place_count())});
        }
      });
    threads.join();
    EXPECT_EQ(wrong, 0U);
    situ::barrier();
  });
}

// Two threads, one of which remembers objects that others move; each own object that a remembered one refers to lives.
TEST_P(heap_together, remembered_objects_are_moved_and_exchanged) {
  run([] {
    situ::object_heap heap{{.collect_after = 0}};
    situ::place_threads threads;
    std::atomic<std::uint32_t> raw{0};
    std::atomic<bool> is_over{false};
    threads.start([&] {
      situ::heap_thread own{heap, &threads};
      situ::rooted<token> context{own, own.make<token>(1U, 2U)}, other{own, own.make<token>(3U, 6U)};
      own.collect_own();
      raw = context.get().raw();
      const situ::test::one_second second;
      for (int i = 0; i < situ::test::rounds(400) && second.is_left(); ++i) {
        own.remember(context.get());
        const ref<token> made = own.make<token>(std::uint64_t(i), 2 * std::uint64_t(i));
        {
          situ::heap_section section{own};  // a store without a barrier for references
          auto* const at = reinterpret_cast<token*>(section.object_to_change(context.get().raw())->bytes());
          situ::detail::racing_store(at->self, made);
        }
        if (i % 7 == 0) {
          own.exchange(context.get(), other.get());
          own.exchange(context.get(), other.get());
        }
        own.collect_own();
        for (int k = 0; k < 20; ++k) (void)own.make<token>(9U, 9U);
        const ref<token> found = own.load(context.get(), &token::self);
        EXPECT_EQ(found, made);
        EXPECT_EQ(own.load(found, &token::number), std::uint64_t(i));
        EXPECT_EQ(own.load(found, &token::twice), 2 * std::uint64_t(i));
        if (testing::Test::HasFailure()) break;
      }
      is_over = true;
    });
    threads.start([&] {
      situ::heap_thread own{heap, &threads};
      for (std::uint32_t i = 0; !is_over; ++i)
        if (raw != 0) own.move(ref<>{raw}, situ::place{i % situ::place_count()});
    });
    threads.join();
    situ::barrier();
  });
}

// What a thread's remembered objects refer to outlives the thread.
TEST_P(heap_together, what_remembered_objects_refer_to_outlives_the_thread) {
  run([] {
    situ::object_heap heap;
    situ::heap_thread mine{heap};
    situ::rooted<token> context{mine, mine.make<token>(1U, 2U)};
    mine.collect_own();
    situ::place_threads threads;
    threads.start([&] {
      situ::heap_thread own{heap, &threads};
      own.remember(context.get());
      const ref<token> made = own.make<token>(7U, 14U);
      situ::heap_section section{own};
      auto* const at = reinterpret_cast<token*>(section.object_to_change(context.get().raw())->bytes());
      situ::detail::racing_store(at->self, made);
    });
    threads.join();
    EXPECT_EQ(mine.load(mine.load(context.get(), &token::self), &token::twice), 14U);
    mine.remember(context.get());  // nobody else does any more
    const ref<token> mine_own = mine.make<token>(8U, 16U);
    {
      situ::heap_section section{mine};
      auto* const at = reinterpret_cast<token*>(section.object_to_change(context.get().raw())->bytes());
      situ::detail::racing_store(at->self, mine_own);
    }
    mine.collect_own();
    for (int k = 0; k < 200; ++k) (void)mine.make<token>(9U, 9U);
    EXPECT_EQ(mine.load(mine.load(context.get(), &token::self), &token::twice), 16U);
    situ::barrier();
    mine.collect();
    EXPECT_EQ(mine.load(mine.load(context.get(), &token::self), &token::twice), 16U);
    situ::barrier();
  });
}

TEST_P(heap_together, heaps_come_and_go_and_two_are_apart) {
  run([] {
    for (int i = 0; i < situ::test::rounds(50); ++i) {
      situ::object_heap one{{.entries = 4096}}, two{{.entries = 4096}};
      situ::heap_thread of_one{one}, of_two{two};
      situ::rooted<token> a{of_one, of_one.make<token>(1U, 2U)}, b{of_two, of_two.make<token>(3U, 6U)};
      of_one.move(a.get(), situ::place{situ::place_count() - 1});
      of_two.move(b.get(), situ::place{0});
      EXPECT_EQ(of_one.load(a.get(), &token::twice), 2U);
      EXPECT_EQ(of_two.load(b.get(), &token::twice), 6U);
    }
  });
}

TEST_P(heap_together, misuse_is_named) {
  run([] {
    situ::object_heap heap;
    for (int i = 0; i < 128; ++i) EXPECT_EQ(heap.add_layout({.name = "one of many"}), i);
    EXPECT_THROW((void)heap.add_layout({.name = "one too many"}), situ::error);
    std::vector<std::unique_ptr<situ::heap_thread>> all;
    for (int i = 0; i < 64; ++i) all.push_back(std::make_unique<situ::heap_thread>(heap));
    EXPECT_THROW(situ::heap_thread{heap}, situ::error);
    all.resize(1);
    situ::heap_thread& mine = *all[0];
    const ref<token> a = mine.make<token>(1U, 2U), b = mine.make<token>(3U, 6U);
    EXPECT_THROW((void)mine.allocate(0, ~0U, {}, 0), situ::error);
    EXPECT_THROW((void)mine.make_read_mostly(ref<>{}), situ::error);
    EXPECT_THROW(mine.exchange(a, ref<>{}), situ::error);
    EXPECT_THROW(mine.exchange(ref<>{7}, ref<>{7}), situ::error);
    situ::heap_section section{mine};
    EXPECT_THROW(mine.collect_own(), situ::error);
    EXPECT_THROW(mine.collect(), situ::error);
    EXPECT_THROW(mine.exchange(a, b), situ::error);
    EXPECT_THROW((void)mine.allocate_at(situ::here(), 0, 2, {}, 0), situ::error);
    EXPECT_THROW(mine.move(a, situ::here()), situ::error);
  });
}

}  // namespace
