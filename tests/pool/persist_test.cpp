// Graphs of ordinary memory that are copied into a pool.
#include "pools.h"

#include <situ/graph/clone.h>
#include <situ/memory/ptr.h>
#include <situ/pool/pool_map.h>
#include <situ/pool/pool_vector.h>

#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <variant>

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::transaction;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct web {
  std::uint64_t number;
  web* left;
  web* right;
};
struct shape_of_all {
  situ::string name;
  situ::vector<web*> webs;
  situ::array<double> numbers;
  situ::vector<situ::string> words;
  std::variant<long, web*> either;
  std::optional<web*> maybe;
  situ::transient<long> cache;
  shape_of_all* self;
};

// Each reaches others, itself among them.
std::vector<std::unique_ptr<web>> make_webs(std::size_t count, std::uint32_t seed) {
  std::mt19937 random{seed};
  std::vector<std::unique_ptr<web>> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(std::make_unique<web>(web{i, nullptr, nullptr}));
  for (std::size_t i = 0; i < count; ++i) {
    all[i]->left = all[(i + 1) % count].get();
    all[i]->right = random() % 4 == 0 ? nullptr : all[random() % count].get();
  }
  return all;
}
void expect_same_shape(const web* found, const web* wanted, std::size_t count) {
  std::map<const web*, const web*> met;
  std::vector<std::pair<const web*, const web*>> to_see{{found, wanted}};
  while (!to_see.empty()) {
    const auto [a, b] = to_see.back();
    to_see.pop_back();
    ASSERT_EQ(a == nullptr, b == nullptr);
    if (a == nullptr) continue;
    const auto [at, is_new] = met.emplace(a, b);
    ASSERT_EQ(at->second, b);
    if (!is_new) continue;
    ASSERT_NE(a, b);
    ASSERT_EQ(a->number, b->number);
    to_see.emplace_back(a->left, b->left);
    to_see.emplace_back(a->right, b->right);
  }
  EXPECT_EQ(met.size(), count);
}

TEST(pool_persist, keeps_the_shape_of_a_graph) {
  const folder in;
  const auto webs = make_webs(5000, 3);
  {
    pool made = pool::create(in.file(), {.most_bytes = 1 << 26});
    web* const copy = made.persist("webs", *webs[0]);
    expect_same_shape(copy, webs[0].get(), webs.size());
    EXPECT_EQ(made.check().blocks, webs.size());
    made.transact([&](transaction& t) {  // they are the pool's, each by itself
      web* const gone = copy->left;
      t.set(copy->left, nullptr);
      t.destroy(gone);
    });
    EXPECT_EQ(made.check().blocks, webs.size() - 1);
    (void)made.persist("webs", *webs[0]);
  }
  const pool made = pool::open(in.file());
  expect_same_shape(made.root<web>("webs"), webs[0].get(), webs.size());
}

TEST(pool_persist, keeps_containers_choices_and_large_data) {
  const folder in;
  auto webs = make_webs(10, 5);
  shape_of_all all{.name = "a name of some length",
                   .webs = {webs[0].get(), webs[3].get(), nullptr, webs[0].get()},
                   .numbers = situ::array<double>(5000),
                   .words = {"one", "", "three"},
                   .either = webs[7].get(),
                   .maybe = webs[0].get(),
                   .cache = 5L,
                   .self = nullptr};
  all.self = &all;
  std::iota(all.numbers.begin(), all.numbers.end(), 1.0);
  const auto expect_whole = [&](const shape_of_all& found) {
    EXPECT_EQ(found.name, "a name of some length");
    ASSERT_EQ(found.webs.size(), 4);
    expect_same_shape(found.webs[0], webs[0].get(), 10);
    EXPECT_EQ(found.webs[3], found.webs[0]);
    EXPECT_EQ(found.webs[1]->number, 3);
    EXPECT_EQ(found.webs[2], nullptr);
    EXPECT_EQ(std::accumulate(found.numbers.begin(), found.numbers.end(), 0.0), 5000.0 * 5001 / 2);
    EXPECT_THAT(found.words, ElementsAre("one", "", "three"));
    EXPECT_EQ(std::get<web*>(found.either)->number, 7);
    EXPECT_EQ(*found.maybe, found.webs[0]);
    EXPECT_EQ(found.cache, 0);
    EXPECT_EQ(found.self, &found);
  };
  {
    pool made = pool::create(in.file(), small);
    expect_whole(*made.persist("all", all));
    EXPECT_THAT(made.check().damage, testing::IsEmpty());
  }
  {
    const pool first = pool::open(in.file(), pool_access::read);
    expect_whole(*first.root<const shape_of_all>("all"));
    const pool moved = pool::open(in.file(), pool_access::read);
    ASSERT_TRUE(moved.info().is_moved);
    expect_whole(*moved.root<const shape_of_all>("all"));
    const auto copy = situ::clone(moved.root<const shape_of_all>("all"));
    expect_whole(*copy);
  }
}

TEST(pool_persist, is_done_at_all_or_not) {
  const folder in;
  const auto webs = make_webs(4000, 3);
  const auto few = make_webs(10, 3);
  pool made = pool::create(in.file(), {.most_bytes = 1 << 20});
  (void)made.persist("webs", *few[0]);
  EXPECT_THAT(error_of(errc::out_of_memory,
                       [&] {
                         const auto many = make_webs(60000, 3);
                         (void)made.persist("webs", *many[0]);
                       }),
              HasSubstr("at most"));
  expect_same_shape(made.root<web>("webs"), few[0].get(), few.size());
  EXPECT_EQ(made.check().blocks, few.size());
  made.transact([&](transaction& t) {  // within one that goes on
    const auto many = make_webs(60000, 3);
    EXPECT_THROW((void)t.persist(*many[0]), situ::error);
  });
  EXPECT_EQ(made.check().blocks, few.size());
  try {
    made.transact([&](transaction& t) {
      t.set_root("webs", t.persist(*webs[0]));
      throw 1;
    });
  } catch (int) {}
  expect_same_shape(made.root<web>("webs"), few[0].get(), few.size());
  EXPECT_EQ(made.check().blocks, few.size());
}

struct with_text {
  int number;
  std::string text;
};
struct leads_to_text {
  with_text* to;
};
struct with_reference {
  situ::ptr<long> elsewhere;
};

TEST(pool_persist, refuses_what_would_not_be_the_pools) {
  const folder in;
  pool made = pool::create(in.file(), small);
  with_text text{1, "not here"};
  const leads_to_text root{&text};
  EXPECT_THAT(error_of(errc::not_supported, [&] { (void)made.persist("x", root); }),
              testing::AllOf(HasSubstr("with_text"), HasSubstr("string"), HasSubstr("use situ::string")));
  EXPECT_THAT(error_of(errc::not_supported, [&] { (void)made.persist("x", with_reference{}); }),
              testing::AllOf(HasSubstr("with_reference"), HasSubstr("elsewhere")));
  EXPECT_EQ(made.root<leads_to_text>("x"), nullptr);
  EXPECT_EQ(made.check().blocks, 0);
}

struct tallies {
  situ::pool_map<std::uint64_t, std::uint64_t> map;
  situ::pool_vector<item*> items;
};

TEST(pool_persist, copies_from_pool_to_pool) {
  const folder in;
  pool from = pool::create(in.file("from.pool"), small);
  pool to = pool::create(in.file("to.pool"), small);
  from.transact([](transaction& t) {
    auto* const made = t.make<tallies>();
    t.set_root("tallies", made);
    for (std::uint64_t i = 0; i < 2000; ++i) made->map.set(t, i, i * i);
    for (std::uint64_t i = 0; i < 5; ++i) made->items.push_back(t, t.make<item>(i, nullptr));
  });
  tallies& copy = *to.persist("tallies", *from.root<tallies>("tallies"));
  EXPECT_EQ(to.check().blocks, from.check().blocks);
  to.transact([&](transaction& t) {  // and goes on there
    for (std::uint64_t i = 2000; i < 4000; ++i) copy.map.set(t, i, i * i);
    copy.items.push_back(t, copy.items[4]);
    copy.items.push_back(t, copy.items[0]);
    copy.items.push_back(t, copy.items[0]);
    copy.items.push_back(t, copy.items[0]);
  });
  for (std::uint64_t i = 0; i < 4000; ++i) ASSERT_EQ(*copy.map.find(i), i * i);
  EXPECT_EQ(from.root<tallies>("tallies")->map.size(), 2000);
  to.transact([&](transaction& t) { situ::detail::release_parts(t, copy); });
  EXPECT_EQ(to.check().blocks, 1 + 5);
}

}  // namespace
