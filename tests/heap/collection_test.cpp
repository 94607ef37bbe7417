// Objects that collections keep, and those that they free.
#include <situ/heap/object_heap.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/places.h"

namespace {

using situ::ref;

constexpr std::uint64_t entries = situ::test::or_modelled<std::uint64_t>(1 << 22, 1 << 15);

struct cell {
  std::uint64_t value;
  ref<cell> next;
  ref<cell> other;
};

class heap_collection : public situ::test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, heap_collection, testing::ValuesIn(situ::test::all_layouts()),
                         situ::test::layout_name);

ref<cell> list_of(situ::heap_thread& mine, std::uint64_t n) {
  ref<cell> head;
  for (std::uint64_t i = n; i-- > 0;) head = mine.make<cell>(i, head, ref<cell>{});
  return head;
}
std::uint64_t sum_of(situ::heap_thread& mine, ref<cell> head) {
  situ::heap_section section{mine};
  std::uint64_t sum = 0;
  for (; head; head = section.load(head, &cell::next)) sum += section.load(head, &cell::value);
  return sum;
}

TEST_P(heap_collection, of_own_objects_keeps_what_roots_reach) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    situ::rooted<cell> kept{mine, list_of(mine, 100)};
    (void)list_of(mine, 1000);
    mine.collect_own();
    EXPECT_EQ(heap.counts().entries_freed, 1000U);
    EXPECT_EQ(heap.counts().objects_shared, 100U);
    EXPECT_EQ(sum_of(mine, kept.get()), 4950U);
    // The entries are used again.
    situ::rooted<cell> more{mine, list_of(mine, 1000)};
    mine.collect_own();
    EXPECT_EQ(sum_of(mine, kept.get()), 4950U);
    EXPECT_EQ(sum_of(mine, more.get()), 499'500U);
    EXPECT_EQ(heap.counts().entries_freed, 1000U);
  });
}

// A collection before the first object must not hand out the first run of entries a second time.
TEST_P(heap_collection, may_come_before_the_first_object) {
  run([] {
    situ::object_heap heap{{.collect_after = 0}};
    situ::heap_thread mine{heap};
    mine.collect();
    situ::barrier();
    situ::rooted<cell> kept{mine, list_of(mine, 500)};
    for (int i = 0; i < 3; ++i) {
      mine.collect();
      EXPECT_EQ(sum_of(mine, kept.get()), 124'750U);
    }
    situ::barrier();
  });
}

// A list whose objects were made in another order lies, after a collection that sorts, as it is linked.
TEST_P(heap_collection, sorts_objects_in_the_order_of_a_trace) {
  run([] {
    situ::object_heap heap{{.collect_after = 0}};
    situ::heap_thread mine{heap};
    constexpr std::uint64_t n = 1000;
    std::vector<ref<cell>> made;
    for (std::uint64_t i = 0; i < n; ++i) made.push_back(mine.make<cell>(i, ref<cell>{}, ref<cell>{}));
    const std::size_t roots = mine.add_roots([&](const auto& visit) {
      for (const ref<cell> each : made) {
        std::uint32_t word = each.raw();
        visit(word);
      }
    });
    mine.collect_own();  // they lie in the order in which they were made
    mine.remove_roots(roots);
    const auto at = [&](std::uint64_t i) { return made[i * 7 % n]; };  // a permutation: 7 and n have no common factor
    for (std::uint64_t i = 0; i + 1 < n; ++i) mine.store(at(i), &cell::next, at(i + 1));
    situ::rooted<cell> head{mine, at(0)};
    const auto lies_behind_its_neighbour = [&](std::uint64_t i) {
      situ::heap_section section{mine};
      return section.object(at(i + 1).raw()) ==
             static_cast<const void*>(section.object(at(i).raw())->bytes() + sizeof(cell));
    };
    mine.collect();
    situ::barrier();
    EXPECT_FALSE(lies_behind_its_neighbour(n / 2)) << "the collection before it does not sort";
    EXPECT_EQ(sum_of(mine, head.get()), n * (n - 1) / 2);
    situ::barrier();
    mine.collect({.sorts = true});
    std::uint64_t behind = 0;
    for (std::uint64_t i = 0; i + 1 < n; ++i) behind += lies_behind_its_neighbour(i) ? 1 : 0;
    EXPECT_EQ(behind, n - 1);
    EXPECT_EQ(sum_of(mine, head.get()), n * (n - 1) / 2);
    situ::barrier();
  });
}

// A list whose cells were made in another order, with every other cell of it dead: its references are consecutive
// numbers afterwards, and its cells lie as before, or, sorted, one behind the other.
TEST_P(heap_collection, renumbers_objects_in_the_order_of_a_trace) {
  run([] {
    for (const bool sorts : {false, true}) {
      situ::object_heap heap{{.entries = entries, .collect_after = 0}};
      situ::heap_thread mine{heap};
      constexpr std::uint64_t n = 1000;
      std::vector<ref<cell>> made;
      for (std::uint64_t i = 0; i < n; ++i) {
        made.push_back(mine.make<cell>(i, ref<cell>{}, ref<cell>{}));
        (void)mine.make<cell>(i, ref<cell>{}, ref<cell>{});
      }
      const std::size_t of_all = mine.add_roots([&](const auto& visit) {
        for (const ref<cell> each : made) {
          std::uint32_t word = each.raw();
          visit(word);
        }
      });
      mine.collect_own();  // they lie in the order in which they were made
      mine.remove_roots(of_all);
      const auto at = [&](std::uint64_t i) { return made[i * 7 % n]; };  // a permutation: 7 and n have no common factor
      for (std::uint64_t i = 0; i < n; ++i) {
        if (i + 1 < n) mine.store(at(i), &cell::next, at(i + 1));
        mine.store(at(i), &cell::other, at(i));
      }
      situ::rooted<cell> head{mine, at(0)};
      std::uint32_t word = at(0).raw();
      const std::size_t roots = mine.add_roots([&](const auto& visit) { visit(word); });
      situ::barrier();
      for (int round = 1; round <= 3; ++round) {
        if (situ::here().index() == 0) mine.collect({.sorts = sorts, .renumbers = true});
        situ::barrier();
        EXPECT_EQ(heap.counts().objects_renumbered, round * n);
        EXPECT_EQ(word, head.get().raw());
        EXPECT_EQ(word, 2 * (situ::here().index() * heap.options().entries + (situ::here().index() == 0 ? 1 : 0)));
        std::uint64_t met = 0, behind = 0;
        const void* after = nullptr;
        {
          situ::heap_section section{mine};
          for (ref<cell> each = head.get(); each; each = section.load(each, &cell::next), ++met) {
            ASSERT_EQ(each.raw(), word + 2 * met);
            ASSERT_EQ(section.load(each, &cell::other), each);
            ASSERT_EQ(section.load(each, &cell::value), met * 7 % n);
            const situ::detail::heap_object* const object = section.object(each.raw());
            ASSERT_EQ(object->self, each.raw());
            behind += object == after ? 1 : 0;
            after = object->bytes() + sizeof(cell);
          }
        }
        EXPECT_EQ(met, n);
        EXPECT_EQ(behind, sorts ? n - 1 : 0);
        situ::barrier();
      }
      // New objects take entries that are free, and old ones that die free theirs.
      {
        situ::rooted<cell> more{mine, list_of(mine, 3000)};
        mine.collect_own();
        EXPECT_EQ(sum_of(mine, head.get()), n * (n - 1) / 2);
        EXPECT_EQ(sum_of(mine, more.get()), 3000U * 2999 / 2);
      }
      mine.remove_roots(roots);
      head = ref<cell>{};
      situ::barrier();
      const std::uint64_t freed = heap.counts().entries_freed;
      situ::barrier();
      if (situ::here().index() == 0) mine.collect();
      situ::barrier();
      EXPECT_EQ(heap.counts().entries_freed - freed, n + 3000);
      situ::barrier();
    }
  });
}

// Objects whose home has changed, large ones among them, get numbers of their home's part of the table.
TEST_P(heap_collection, renumbers_objects_at_their_home) {
  run([] {
    situ::object_heap heap{{.entries = entries, .collect_after = 0}};
    situ::heap_thread mine{heap};
    const std::uint32_t n = situ::place_count(), here = situ::here().index();
    constexpr std::uint32_t words = situ::test::or_modelled<std::uint32_t>(100'000, 1'000);
    situ::rooted<cell> kept{mine, list_of(mine, 100)};
    situ::rooted<ref<cell>[]> large{mine, mine.make_array<ref<cell>>(words)};
    for (std::uint32_t i = 0; i < words; ++i) mine.store(large.get(), i, kept.get());
    mine.collect_own();
    std::vector<ref<>> all;
    for (ref<cell> each = kept.get(); each; each = mine.load(each, &cell::next)) all.push_back(each);
    mine.move(all, situ::place{(here + 1) % n});
    situ::barrier();
    for (const bool sorts : {true, false}) {
      if (here == n - 1) mine.collect({.sorts = sorts, .renumbers = true});
      situ::barrier();
      EXPECT_EQ(sum_of(mine, kept.get()), 4950U);
      for (ref<cell> each = kept.get(); each; each = mine.load(each, &cell::next)) {
        ASSERT_EQ(mine.home(each).index(), (here + 1) % n);
        ASSERT_EQ(each.raw() / 2 / heap.options().entries, (here + 1) % n);
      }
      EXPECT_EQ(mine.home(large.get()).index(), here);
      for (std::uint32_t i = 0; i < words; ++i) ASSERT_EQ(mine.load(large.get(), i), kept.get());
      situ::barrier();
    }
  });
}

// More objects at one home than its part of the table has entries: the rest gets numbers of other parts.
TEST_P(heap_collection, renumbers_more_objects_than_a_part_of_the_table_has) {
  run([] {
    situ::object_heap heap{{.entries = 1024, .collect_after = 0}};
    situ::heap_thread mine{heap};
    const std::uint32_t last = situ::place_count() - 1;
    situ::rooted<cell> kept{mine, list_of(mine, 800)};
    mine.collect_own();
    std::vector<ref<>> all;
    for (ref<cell> each = kept.get(); each; each = mine.load(each, &cell::next)) all.push_back(each);
    mine.move(all, situ::place{last});
    for (const bool sorts : {true, false}) {
      situ::barrier();
      if (situ::here().index() == 0) mine.collect({.sorts = sorts, .renumbers = true});
      situ::barrier();
      EXPECT_EQ(heap.counts().objects_renumbered,
                situ::here().index() == last ? (sorts ? 1 : 2) * 800U * (last + 1) : 0U);
      EXPECT_EQ(sum_of(mine, kept.get()), 800U * 799 / 2);
      for (ref<cell> each = kept.get(); each; each = mine.load(each, &cell::next)) {
        ASSERT_EQ(mine.home(each).index(), last);
        mine.store(each, &cell::other, each);
      }
    }
    kept = ref<cell>{};
    situ::barrier();
    if (situ::here().index() == 0) mine.collect();
    situ::barrier();
    kept = list_of(mine, 100);  // the entries can be used again
    mine.collect_own();
    EXPECT_EQ(sum_of(mine, kept.get()), 4950U);
    situ::barrier();
  });
}

TEST_P(heap_collection, of_own_objects_keeps_what_shared_objects_refer_to) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    situ::rooted<cell> old{mine, mine.make<cell>(1U, ref<cell>{}, ref<cell>{})};
    mine.collect_own();  // it is shared now
    mine.store(old.get(), &cell::next, list_of(mine, 10));
    EXPECT_EQ(heap.counts().objects_shared, 11U);
    mine.collect_own();
    EXPECT_EQ(sum_of(mine, old.get()), 46U);
    EXPECT_EQ(heap.counts().entries_freed, 0U);
  });
}

TEST_P(heap_collection, of_own_objects_keeps_what_remembered_objects_refer_to) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    situ::rooted<cell> old{mine, mine.make<cell>(1U, ref<cell>{}, ref<cell>{})};
    mine.collect_own();
    mine.remember(old.get());
    const ref<cell> young = list_of(mine, 10);
    {
      situ::heap_section section{mine};  // a store without a barrier
      const_cast<situ::detail::heap_object*>(section.object(old.get().raw()))->body()[2] = young.raw();
    }
    EXPECT_EQ(heap.counts().objects_shared, 1U);
    mine.collect_own();
    EXPECT_EQ(sum_of(mine, old.get()), 46U);
    EXPECT_EQ(heap.counts().objects_shared, 11U);
  });
}

TEST_P(heap_collection, visits_the_roots_of_functions) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    std::vector<std::uint32_t> words{list_of(mine, 5).raw(), 7, 0};
    const std::size_t number = mine.add_roots([&](const situ::heap_thread::root_visitor& visit) {
      for (std::uint32_t& each : words) visit(each);
    });
    mine.collect_own();
    EXPECT_EQ(sum_of(mine, ref<cell>{words[0]}), 10U);
    mine.collect();
    EXPECT_EQ(sum_of(mine, ref<cell>{words[0]}), 10U);
    mine.remove_roots(number);
    situ::barrier();
    if (situ::here().index() == 0) mine.collect();
    situ::barrier();
    EXPECT_EQ(heap.counts().entries_freed, 5U);
  });
}

// Lists from place to place: each place's root keeps what it reaches anywhere.
TEST_P(heap_collection, of_all_places_keeps_what_any_root_reaches) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    const std::uint32_t n = situ::place_count(), here = situ::here().index();
    situ::rooted<cell> kept{mine, list_of(mine, 100)};
    {
      situ::rooted<cell> dropped{mine, list_of(mine, 500)};
      mine.collect_own();  // both are shared
    }
    const std::vector<std::uint32_t> heads = situ::all_gather(kept.get().raw());
    situ::barrier();
    // Each place exchanges its root for a cell that refers to the next place's list: 99 of whose cells nobody else reaches.
    kept = mine.make<cell>(1000U, ref<cell>{heads[(here + 1) % n]}, ref<cell>{});
    situ::barrier();
    if (here == n - 1) mine.collect();
    situ::barrier();
    EXPECT_EQ(sum_of(mine, kept.get()), 5950U);
    EXPECT_EQ(heap.counts().collections, 1U);
    EXPECT_EQ(situ::all_reduce(heap.counts().entries_freed, std::plus<>{}), 500U * n);
    const std::uint64_t held = heap.bytes_held();
    for (int round = 0; round < 20; ++round) {
      situ::rooted<cell> dropped{mine, list_of(mine, 1000)};
      mine.collect_own();
    }
    mine.collect();
    EXPECT_LE(heap.bytes_held(), held + 4 * 256 * 1024);
    EXPECT_EQ(sum_of(mine, kept.get()), 5950U);
    situ::barrier();
  });
}

TEST_P(heap_collection, begins_by_itself_at_a_safe_point) {
  run([] {
    constexpr std::uint64_t objects = situ::test::or_modelled<std::uint64_t>(200'000, 16'000);
    situ::object_heap heap{{.entries = situ::test::or_modelled<std::uint64_t>(1 << 22, 1 << 16),
                            .young_bytes = situ::test::or_modelled(1U << 20, 512U << 10),
                            .collect_after = situ::test::or_modelled(1U << 20, 1U << 10)}};
    situ::heap_thread mine{heap};
    situ::rooted<cell> kept{mine};
    for (std::uint64_t i = 0; i < objects; ++i) {
      mine.safe_point();
      const ref<cell> made = mine.make<cell>(i, ref<cell>{}, ref<cell>{});
      if (i % 2 == 0) {  // a list of ten thousand at most
        if (i % (objects / 10) == 0) kept = ref<cell>{};
        mine.store(made, &cell::next, kept.get());
        kept = made;
      }
    }
    EXPECT_GE(heap.counts().own_collections, situ::test::or_modelled(5U, 1U));
    EXPECT_GE(heap.counts().collections, 1U);
    EXPECT_LT(heap.bytes_held(), 16U << 20);
    EXPECT_GT(heap.counts().longest_pause_ns, 0U);
    situ::barrier();
  });
}

// A thread that waits in Situ within a section runs its place's part of a collection there, which then is put off.
TEST_P(heap_collection, waits_for_the_end_of_a_section_in_which_a_place_waits) {
  run([] {
    situ::object_heap heap{{.entries = entries, .collect_after = 0}};
    situ::heap_thread mine{heap};
    situ::rooted<cell> kept{mine, list_of(mine, 100)};
    situ::barrier();
    if (situ::here().index() != 0) {
      const situ::heap_section section{mine};
      for (int i = 0; i < 100; ++i) situ::progress();
    } else {
      mine.collect();
    }
    situ::barrier();
    EXPECT_EQ(heap.counts().collections, 1U);
    EXPECT_EQ(sum_of(mine, kept.get()), 4950U);
    situ::barrier();
  });
}

TEST_P(heap_collection, of_all_places_frees_what_a_thread_of_shared_objects_makes) {
  run([] {
    situ::object_heap heap{{.entries = situ::test::or_modelled<std::uint64_t>(1 << 20, 1 << 14),
                            .collect_after = situ::test::or_modelled(1U << 20, 1U << 10)}};
    situ::heap_thread mine{heap, nullptr, situ::heap_objects::shared};
    situ::rooted<cell> kept{mine, list_of(mine, 1)};
    constexpr std::uint64_t steps = situ::test::or_modelled<std::uint64_t>(200'000, 12'000);
    for (std::uint64_t i = 0; i < steps; ++i) {
      const ref<cell> made = mine.make<cell>(i, ref<cell>{}, ref<cell>{});
      if (i % 1000 == 0) {
        mine.store(made, &cell::next, kept.get());
        kept = made;
      }
      mine.safe_point();
    }
    situ::barrier();
    mine.collect();
    EXPECT_LE(heap.counts().own_collections, heap.counts().collections);  // only as a part of these
    EXPECT_GE(heap.counts().collections, 2U);
    EXPECT_GT(heap.counts().entries_freed, steps / 2);
    std::uint64_t length = 0;
    for (ref<cell> each = kept.get(); each; each = mine.load(each, &cell::next)) ++length;
    EXPECT_EQ(length, steps / 1000 + 1);
    situ::barrier();
  });
}

TEST_P(heap_collection, makes_unchanged_objects_read_mostly) {
  run([] {
    situ::object_heap heap{{.entries = entries, .replicas = situ::heap_replicas::always, .read_mostly_after = 2}};
    situ::heap_thread mine{heap};
    situ::rooted<cell> kept{mine, list_of(mine, 10)};
    situ::barrier();
    for (int i = 0; i < 3; ++i) {
      if (situ::here().index() == 0) mine.collect();
      situ::barrier();
    }
    EXPECT_TRUE(mine.is_read_mostly(kept.get()));
    EXPECT_EQ(heap.counts().made_read_mostly, 10U);
    mine.store(kept.get(), &cell::value, 5U);
    EXPECT_FALSE(mine.is_read_mostly(kept.get()));
    EXPECT_EQ(sum_of(mine, kept.get()), 50U);
    situ::barrier();
  });
}

}  // namespace
