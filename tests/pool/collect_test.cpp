// What no root reaches is found, and given back.
#include "pools.h"

#include <situ/graph/object.h>
#include <situ/pool/pool_map.h>
#include <situ/pool/pool_ordered_map.h>
#include <situ/pool/pool_vector.h>

#include <optional>
#include <random>

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::transaction;
using testing::HasSubstr;

namespace {

struct shelf {
  situ::pool_map<situ::pool_string, item*> by_name;
  situ::pool_ordered_map<std::uint64_t, situ::pool_string> texts;
  situ::pool_vector<item*> items;
  std::optional<item*> maybe;
  item* some;  // of an array
};

void fill(pool& in, int count) {
  in.transact([&](transaction& t) {
    auto* const made = t.make<shelf>();
    t.set_root("shelf", made);
    for (int i = 0; i < count; ++i) {
      const std::string name = "shelf item " + std::to_string(i);
      item* const one = t.make<item>(static_cast<std::uint64_t>(i), nullptr);
      *made->by_name.emplace(t, name).first = one;
      made->texts.emplace(t, static_cast<std::uint64_t>(i)).first->assign(t, name);
      if (i % 3 == 0) made->items.push_back(t, t.make<item>(7u, one));
    }
    made->some = t.make_array<item>(10) + 4;
    made->maybe = t.make<item>(8u, t.make<item>(9u, nullptr));
  });
}

TEST(pool_collect, frees_what_no_root_reaches) {
  const folder in;
  pool made = pool::create(in.file(), {.most_bytes = 1 << 26});
  for (std::uint64_t i = 0; i < 50; ++i) push(made, i);
  const std::uint64_t before = made.check().blocks;
  fill(made, 1000);
  const std::uint64_t all = made.check().blocks;
  situ::pool_findings found = made.check<item, shelf>();
  EXPECT_EQ(found.unreached_blocks, 0);
  EXPECT_EQ(found.stray_pointers, 0);
  auto told = made.collect<item, shelf>();
  EXPECT_EQ(told.freed_blocks, 0);
  EXPECT_EQ(told.kept_blocks, all);
  made.transact([](transaction& t) {
    EXPECT_TRUE(t.unlink("shelf"));
    EXPECT_FALSE(t.unlink("nothing"));
  });
  EXPECT_EQ(made.root<shelf>("shelf"), nullptr);
  EXPECT_EQ(made.check<item>().unreached_blocks, all - before);
  told = made.collect<item>(500);
  EXPECT_EQ(told.freed_blocks, 500);
  EXPECT_EQ(told.left_blocks, all - before - 500);
  told = made.collect<item>();
  EXPECT_EQ(told.freed_blocks, all - before - 500);
  EXPECT_EQ(told.kept_blocks, before);
  EXPECT_EQ(made.check().blocks, before);
  EXPECT_EQ(values_of(made.root<item>("head")).size(), 50);
  fill(made, 1000);
  EXPECT_EQ(made.check().blocks, all);
}

TEST(pool_collect, keeps_what_is_reached_in_any_way) {
  const folder in;
  pool made = pool::create(in.file(), {.most_bytes = 1 << 26});
  fill(made, 300);
  const auto unreach = [&](auto change) {
    made.transact([&](transaction& t) { change(t, t.change(made.root<shelf>("shelf"))); });
    return made.collect<shelf>().freed_blocks;
  };
  EXPECT_EQ(unreach([](transaction& t, shelf& s) { s.by_name.erase(t, "shelf item 4"); }), 1);  // item 4 itself
  EXPECT_EQ(unreach([](transaction& t, shelf& s) { s.by_name.erase(t, "shelf item 3"); }), 0);  // of the list, too
  EXPECT_EQ(unreach([](transaction& t, shelf& s) { s.items.erase(t, 1); }), 2);
  EXPECT_EQ(unreach([](transaction&, shelf& s) { s.maybe = s.by_name.begin()->value; }), 2);
  EXPECT_EQ(unreach([](transaction&, shelf& s) { s.some = s.some - 4; }), 0);
  EXPECT_EQ(unreach([](transaction&, shelf& s) { s.some = nullptr; }), 1);
  EXPECT_EQ(unreach([](transaction& t, shelf& s) { s.items.clear(t); }), 99);
  EXPECT_EQ(made.check<shelf>().stray_pointers, 0);
}

TEST(pool_collect, needs_the_types_of_all_roots) {
  const folder in;
  pool made = pool::create(in.file(), small);
  fill(made, 10);
  push(made, 1);
  const std::uint64_t before = made.check().blocks;
  EXPECT_THAT(error_of(errc::bad_argument, [&] { made.collect<item>(); }),
              testing::AllOf(HasSubstr("'shelf'"), HasSubstr("give the types of all roots")));
  EXPECT_THAT(error_of(errc::bad_argument, [&] { (void)made.check<shelf>(); }), HasSubstr("'head'"));
  made.transact([&](transaction&) {
    EXPECT_THAT(error_of(errc::bad_argument, [&] { made.collect<item, shelf>(); }), HasSubstr("collect after it"));
  });
  EXPECT_EQ(made.check().blocks, before);
  push(made, 2);
}

TEST(pool_collect, tells_of_pointers_that_lead_to_no_object) {
  const folder in;
  pool made = pool::create(in.file(), small);
  push(made, 1);
  push(made, 2);
  item local{};
  made.transact([&](transaction& t) {
    item* const head = made.root<item>("head");
    t.destroy(head->next);
  });
  situ::pool_findings found = made.check<item>();
  EXPECT_EQ(found.stray_pointers, 1);
  ASSERT_EQ(found.notes.size(), 1);
  EXPECT_THAT(found.notes[0], HasSubstr("where no object of the pool is"));
  made.transact([&](transaction& t) { t.set(made.root<item>("head")->next, &local); });
  EXPECT_EQ(made.check<item>().stray_pointers, 1);
  EXPECT_EQ(made.collect<item>().kept_blocks, 1);
}

struct animal : situ::object {
  long legs = 4;
  SITU_DESCRIBE_DERIVED(animal, (situ::object), legs)
};
struct bird : situ::derived<bird, animal> {
  item* egg = nullptr;
  SITU_DESCRIBE_DERIVED(bird, (animal), egg)
};
struct zoo {
  animal* one;
};

TEST(pool_collect, knows_objects_by_their_headers) {
  const folder in;
  pool made = pool::create(in.file(), small);
  made.transact([](transaction& t) {
    bird* const duck = t.make<bird>();
    duck->egg = t.make<item>(1u, nullptr);
    t.set_root("zoo", t.make<zoo>(duck));
  });
  EXPECT_EQ(made.collect<zoo>().kept_blocks, 3);
}

// Of a random graph, with random roots, against a walk of pointers.
TEST(pool_collect, frees_just_what_a_walk_does_not_meet) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random{seed};
  struct two_ways {
    two_ways* a;
    two_ways* b;
  };
  const folder in;
  pool made = pool::create(in.file(), small);
  std::vector<two_ways*> all;
  for (int round = 0; round < 30; ++round) {
    made.transact([&](transaction& t) {
      while (all.size() < 400) all.push_back(t.make<two_ways>());
      for (two_ways* each : all) {
        t.change(each);
        each->a = random() % 3 == 0 ? nullptr : all[random() % all.size()];
        each->b = random() % 3 == 0 ? nullptr : all[random() % all.size()];
      }
      t.set_root("one", all[random() % all.size()]);
      t.set_root("two", random() % 2 == 0 ? nullptr : all[random() % all.size()]);
    });
    std::set<two_ways*> met;
    std::vector<two_ways*> to_see{made.root<two_ways>("one"), made.root<two_ways>("two")};
    while (!to_see.empty()) {
      two_ways* const next = to_see.back();
      to_see.pop_back();
      if (next == nullptr || !met.insert(next).second) continue;
      to_see.insert(to_see.end(), {next->a, next->b});
    }
    ASSERT_EQ(made.collect<two_ways>().freed_blocks, all.size() - met.size());
    std::set<void*> left;
    made.for_each_block([&](void* block, std::size_t) { left.insert(block); });
    ASSERT_TRUE(std::equal(left.begin(), left.end(), met.begin(), met.end()));
    all.assign(met.begin(), met.end());
  }
}

}  // namespace
