// Objects, fields, arrays, homes, read-mostly objects and exchanges, by one thread at a time.
#include <situ/heap/object_heap.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/places.h"

namespace {

using situ::ref;

constexpr std::uint64_t entries = situ::test::or_modelled<std::uint64_t>(1 << 22, 1 << 14);

struct person {
  int age;
  ref<person> mother;
  double height;
};

class object_heap : public situ::test::on_places {};
INSTANTIATE_TEST_SUITE_P(layouts, object_heap, testing::ValuesIn(situ::test::all_layouts()), situ::test::layout_name);

TEST_P(object_heap, keeps_fields) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    const ref<person> eve = mine.make<person>(70, ref<person>{}, 1.6);
    const ref<person> ann = mine.make<person>(40, eve, 1.75);
    EXPECT_EQ(mine.load(ann, &person::age), 40);
    EXPECT_EQ(mine.load(ann, &person::mother), eve);
    EXPECT_EQ(mine.load(ann, &person::height), 1.75);
    mine.store(ann, &person::age, 41);
    mine.store(eve, &person::mother, ann);
    EXPECT_EQ(mine.load(mine.load(eve, &person::mother), &person::age), 41);
    EXPECT_EQ(mine.home(ann), situ::here());
    EXPECT_FALSE(mine.is_read_mostly(ann));
    EXPECT_EQ(heap.counts().objects_made, 2U);
    situ::barrier();
  });
}

TEST_P(object_heap, has_arrays) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    const ref<std::uint8_t[]> bytes = mine.make_array<std::uint8_t>(5);
    const ref<ref<person>[]> people = mine.make_array<ref<person>>(3);
    for (std::uint32_t i = 0; i < 5; ++i) {
      EXPECT_EQ(mine.load(bytes, i), 0);
      mine.store(bytes, i, static_cast<std::uint8_t>(i + 200));
    }
    mine.store(people, 2, mine.make<person>(1, ref<person>{}, 0.5));
    situ::heap_section section{mine};
    EXPECT_EQ(section.size(bytes), 5U);
    EXPECT_EQ(section.size(people), 3U);
    EXPECT_EQ(section.load(bytes, 4), 204);
    EXPECT_FALSE(section.load(people, 0));
    EXPECT_EQ(section.load(section.load(people, 2), &person::age), 1);
    try {
      (void)section.load(bytes, 5);
      ADD_FAILURE() << "no error";
    } catch (const situ::error& refused) {
      EXPECT_EQ(refused.code(), situ::errc::bad_argument);
      EXPECT_NE(refused.message().find("no element 5 in an array of 5"), std::string_view::npos) << refused.message();
    }
  });
}

TEST_P(object_heap, has_objects_larger_than_a_chunk) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    situ::rooted<std::uint64_t[]> large{mine, mine.make_array<std::uint64_t>(100'000)};
    for (std::uint32_t i = 0; i < 100'000; i += 99) mine.store(large.get(), i, std::uint64_t{i} << 20);
    (void)mine.make_array<std::uint64_t>(200'000);  // dead at once
    mine.collect_own();
    for (std::uint32_t i = 0; i < 100'000; i += 99) EXPECT_EQ(mine.load(large.get(), i), std::uint64_t{i} << 20);
    EXPECT_EQ(heap.counts().entries_freed, 1U);
  });
}

// Each place makes objects; each reads, changes and moves those of the next one.
TEST_P(object_heap, has_homes) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    const std::uint32_t n = situ::place_count(), here = situ::here().index();
    const situ::place next{(here + 1) % n};
    situ::rooted<person> made{mine, mine.make<person>(static_cast<int>(here), ref<person>{}, 1.0)};
    mine.move(made.get(), situ::here());  // shared: others may have it
    const std::vector<std::uint32_t> all = situ::all_gather(made.get().raw());
    const ref<person> theirs{all[next.index()]};
    EXPECT_EQ(mine.home(theirs), next);
    EXPECT_EQ(mine.load(theirs, &person::age), static_cast<int>(next.index()));
    situ::barrier();
    mine.store(theirs, &person::age, 100 + static_cast<int>(here));
    mine.move(theirs, situ::here());
    EXPECT_EQ(mine.home(theirs), situ::here());
    situ::barrier();
    EXPECT_EQ(mine.load(made.get(), &person::age), 100 + static_cast<int>((here + n - 1) % n));
    EXPECT_EQ(mine.home(made.get()).index(), (here + n - 1) % n);
    situ::barrier();
  });
}

TEST_P(object_heap, makes_objects_elsewhere) {
  run([] {
    situ::object_heap heap{{.entries = entries}};
    const std::uint8_t pairs = heap.add_layout({.name = "pair", .references = situ::heap_layout::kind::all});
    situ::heap_thread mine{heap};
    const situ::place next{(situ::here().index() + 1) % situ::place_count()};
    const ref<> made = mine.allocate_at(next, pairs, 2, {}, 7, 15);
    EXPECT_EQ(mine.home(made), next);
    {
      situ::heap_section section{mine};
      EXPECT_EQ(section.object(made.raw())->tag, 7);
      EXPECT_EQ(section.object(made.raw())->body()[1], 15U);
    }
    EXPECT_THROW((void)mine.allocate_at(situ::place{situ::place_count()}, pairs, 2, {}, 0), situ::error);
    situ::barrier();
  });
}

TEST_P(object_heap, makes_objects_read_mostly_until_a_store) {
  run([] {
    situ::object_heap heap{{.entries = entries, .replicas = situ::heap_replicas::always}};
    situ::heap_thread mine{heap};
    situ::rooted<person> made{mine, mine.make<person>(7, ref<person>{}, 1.0)};
    EXPECT_EQ(mine.make_read_mostly(made.get()), 1U);
    EXPECT_EQ(mine.make_read_mostly(made.get()), 0U);
    EXPECT_TRUE(mine.is_read_mostly(made.get()));
    const std::vector<std::uint32_t> all = situ::all_gather(made.get().raw());
    const ref<person> theirs{all[(situ::here().index() + 1) % situ::place_count()]};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(mine.load(theirs, &person::age), 7);
    situ::barrier();
    mine.store(theirs, &person::age, 8);
    EXPECT_FALSE(mine.is_read_mostly(theirs));
    situ::barrier();
    EXPECT_EQ(mine.load(made.get(), &person::age), 8);
    EXPECT_EQ(mine.home(made.get()), situ::here());
    EXPECT_EQ(heap.counts().stores_to_read_mostly, 1U);
    EXPECT_EQ(mine.make_all_read_mostly(), 1U);
    EXPECT_TRUE(mine.is_read_mostly(made.get()));
    situ::barrier();
  });
}

TEST_P(object_heap, has_no_replicas_where_places_are_coherent) {
  if (situ::test::is_modelled) GTEST_SKIP() << "modelled machines may have places that are not coherent";
  run([] {
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    const ref<person> made = mine.make<person>(7, ref<person>{}, 1.0);
    EXPECT_EQ(mine.make_read_mostly(made), 0U);
    EXPECT_FALSE(mine.is_read_mostly(made));
    EXPECT_EQ(mine.make_all_read_mostly(), 0U);
  });
}

TEST_P(object_heap, exchanges_objects) {
  run([] {
    situ::object_heap heap{{.entries = entries, .replicas = situ::heap_replicas::always}};
    const std::uint8_t words = heap.add_layout({.name = "words", .references = situ::heap_layout::kind::all});
    situ::heap_thread mine{heap};
    const ref<> a = mine.allocate(words, 1, {}, 0x1234, 11), b = mine.allocate(words, 2, {}, 0x5678, 21);
    (void)mine.make_read_mostly(b);
    for (int round = 0; round < 2; ++round) {
      mine.exchange(a, b, 0xff00);
      situ::heap_section section{mine};
      const situ::detail::heap_object& of_a = *section.object(a.raw());
      const situ::detail::heap_object& of_b = *section.object(b.raw());
      EXPECT_EQ(of_a.words, round == 0 ? 2U : 1U);
      EXPECT_EQ(of_a.body()[0], round == 0 ? 21U : 11U);
      EXPECT_EQ(of_b.body()[0], round == 0 ? 11U : 21U);
      EXPECT_EQ(of_a.self, a.raw());
      EXPECT_EQ(of_b.self, b.raw());
      EXPECT_EQ(of_a.tag, round == 0 ? 0x1278 : 0x1234);
      EXPECT_EQ(mine.is_read_mostly(a), round == 0);
      EXPECT_EQ(mine.is_read_mostly(b), round == 1);
    }
    situ::barrier();
  });
}

TEST_P(object_heap, refuses_what_cannot_be) {
  run([] {
    EXPECT_THROW(situ::object_heap{{.entries = 10}}, situ::error);
    EXPECT_THROW(situ::object_heap{{.entries = std::uint64_t{1} << 40}}, situ::error);
    situ::object_heap heap{{.entries = entries}};
    situ::heap_thread mine{heap};
    EXPECT_THROW(mine.move(ref<>{}, situ::here()), situ::error);
    EXPECT_THROW(mine.move(ref<>{2'000'000}, situ::here()), situ::error);
    EXPECT_THROW((void)mine.home(ref<>{3}), situ::error);
    EXPECT_THROW((void)heap.add_layout({.name = "counted", .references = situ::heap_layout::kind::first}), situ::error);
    const ref<person> made = mine.make<person>(7, ref<person>{}, 1.0);
    EXPECT_THROW(mine.move(made, situ::place{1000}), situ::error);
    situ::heap_section section{mine};
    try {
      mine.move(made, situ::here());
      ADD_FAILURE() << "no error";
    } catch (const situ::error& refused) {
      EXPECT_NE(refused.message().find("within a section"), std::string_view::npos) << refused.message();
    }
  });
}

}  // namespace
