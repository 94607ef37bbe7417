// Containers in pools against those of the standard library: random changes, some aborted, some nested, reopened now
// and then, at their own addresses and at others; what they leave in the pool; copies of them.
#include "pools.h"

#include <situ/graph/clone.h>
#include <situ/pool/pool_map.h>
#include <situ/pool/pool_ordered_map.h>
#include <situ/pool/pool_string.h>
#include <situ/pool/pool_vector.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <unordered_map>

#include "support/sanitized.h"

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::pool_map;
using situ::pool_ordered_map;
using situ::pool_string;
using situ::pool_vector;
using situ::transaction;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct labelled {
  pool_string name;
  item* leads_to;
  long number;
};
struct all_kinds {
  pool_vector<long> numbers;
  pool_vector<item*> items;
  pool_vector<labelled> labels;
  pool_string text;
  pool_map<std::uint64_t, std::uint64_t> counts;
  pool_map<pool_string, labelled> by_name;
  pool_ordered_map<std::int64_t, std::uint64_t> days;
  pool_ordered_map<pool_string, pool_string> words;
};

class pool_containers : public testing::Test {
 protected:
  void make_pool(std::uint64_t most_bytes = std::uint64_t{1} << 26) {
    made_.emplace(pool::create(in_.file(), {.most_bytes = most_bytes}));
    made_->transact([](transaction& t) { t.set_root("all", t.make<all_kinds>()); });
  }
  void reopen(pool_access access = pool_access::write) {
    made_.reset();
    made_.emplace(pool::open(in_.file(), access));
  }
  pool& made() { return *made_; }
  all_kinds& all() { return *made_->root<all_kinds>("all"); }
  template <class Body>
  void change(Body body) {
    made_->transact([&](transaction& t) { body(t, all()); });
  }
  template <class Body>
  void change_in_vain(Body body) {
    try {
      made_->transact([&](transaction& t) {
        body(t, all());
        throw 1;
      });
    } catch (int) {}
  }
  std::uint64_t blocks() { return made_->check().blocks; }

  const folder in_;
  std::optional<pool> made_;
};

TEST_F(pool_containers, hold_what_they_are_given) {
  make_pool();
  change([](transaction& t, all_kinds& a) {
    a.numbers.assign(t, std::vector<long>{1, 2, 3});
    a.numbers.insert(t, 1, a.numbers[2]);
    a.numbers.set(t, 0, 4);
    a.numbers.change(t, 0) -= 3;
    a.text.assign(t, "memory");
    a.text.append(t, " that stays");
    labelled& one = a.labels.emplace_back(t);
    one.name.assign(t, "first");
    one.number = 7;
    a.counts.set(t, 5, 50);
    a.by_name.emplace(t, "x").first->number = 1;
    a.days.set(t, -3, 9);
    a.words.emplace(t, "key").first->assign(t, "value");
  });
  reopen();
  EXPECT_THAT(std::vector<long>(all().numbers.begin(), all().numbers.end()), ElementsAre(1, 3, 2, 3));
  EXPECT_EQ(all().text, "memory that stays");
  EXPECT_EQ(all().text.c_str(), std::string{"memory that stays"});
  EXPECT_EQ(all().labels.at(0).name, "first");
  EXPECT_EQ(*all().counts.find(5), 50);
  EXPECT_EQ(all().counts.find(6), nullptr);
  EXPECT_EQ(all().by_name.find("x")->number, 1);
  EXPECT_EQ(*all().days.find(-3), 9);
  EXPECT_EQ(*all().words.find("key"), "value");
  EXPECT_THAT(error_of(errc::bad_argument, [&] { (void)all().numbers.at(4); }), HasSubstr("4"));
}

TEST_F(pool_containers, give_back_what_they_have) {
  make_pool();
  const std::uint64_t before = blocks();
  change([](transaction& t, all_kinds& a) {
    for (int i = 0; i < 3000; ++i) {
      const std::string name = "a name that is " + std::to_string(i);
      a.labels.emplace_back(t).name.assign(t, name);
      a.by_name.emplace(t, name).first->name.assign(t, "of " + name);
      a.words.emplace(t, name).first->assign(t, name);
      a.counts.set(t, static_cast<std::uint64_t>(i), 1);
      a.days.set(t, i, 1);
      a.numbers.push_back(t, i);
    }
    a.text.assign(t, "some text that needs room");
  });
  EXPECT_GT(blocks(), before + 15000);
  change_in_vain([](transaction& t, all_kinds& a) {
    a.by_name.clear(t);
    a.words.clear(t);
    a.labels.clear(t);
  });
  EXPECT_EQ(all().by_name.find("a name that is 2999")->name, "of a name that is 2999");
  change([](transaction& t, all_kinds& a) {
    for (int i = 0; i < 3000; i += 2) {
      const std::string name = "a name that is " + std::to_string(i);
      EXPECT_TRUE(a.by_name.erase(t, name));
      EXPECT_TRUE(a.words.erase(t, name));
      EXPECT_FALSE(a.words.erase(t, name));
      a.labels.erase(t, a.labels.size() - 3);
    }
    a.labels.pop_back(t);
  });
  EXPECT_EQ(all().by_name.size(), 1500);
  EXPECT_EQ(all().words.size(), 1500);
  change([](transaction& t, all_kinds& a) { situ::detail::release_parts(t, a); });
  EXPECT_EQ(blocks(), before);
  EXPECT_THAT(made().check().damage, testing::IsEmpty());
}

TEST_F(pool_containers, may_assign_parts_of_themselves) {
  make_pool();
  change([](transaction& t, all_kinds& a) {
    a.text.assign(t, "abcdef");
    a.text.append(t, a.text.view());
    a.text.append(t, a.text.view());
  });
  EXPECT_EQ(all().text, "abcdefabcdefabcdefabcdef");
  change([](transaction& t, all_kinds& a) { a.text.assign(t, a.text.view().substr(4, 3)); });
  EXPECT_EQ(all().text, "efa");
  change([](transaction& t, all_kinds& a) {
    for (long i = 0; i < 8; ++i) a.numbers.push_back(t, i);
    for (int i = 0; i < 20; ++i) a.numbers.push_back(t, a.numbers.front() + a.numbers.back());
    a.numbers.assign(t, std::span<const long>{a.numbers}.subspan(3, 3));
  });
  EXPECT_THAT(std::vector<long>(all().numbers.begin(), all().numbers.end()), ElementsAre(3, 4, 5));
}

// --- random changes ---

struct models {
  std::vector<long> numbers;
  std::unordered_map<std::uint64_t, std::uint64_t> counts;
  std::map<std::string, std::pair<std::string, long>> by_name;
  std::map<std::int64_t, std::uint64_t> days;
  std::map<std::string, std::string> words;
};

class random_changes {
 public:
  random_changes(std::uint32_t seed, unsigned keys) : random_{seed}, keys_{keys} {}

  std::uint32_t number() { return static_cast<std::uint32_t>(random_()); }
  bool one_in(unsigned n) { return random_() % n == 0; }

  void change(transaction& t, all_kinds& a, models& m) {
    const std::uint64_t key = random_() % keys_, value = random_();
    const std::string name = std::string(random_() % 20, 'n') + std::to_string(key),
                      text = name.substr(name.size() / 2);
    const std::int64_t day = static_cast<std::int64_t>(key) - keys_ / 2;
    switch (random_() % 10) {
      case 0: return change_numbers(t, a, m, static_cast<long>(value));
      case 1: EXPECT_EQ(a.by_name.erase(t, name), m.by_name.erase(name) != 0); return;
      case 2: EXPECT_EQ(a.words.erase(t, name), m.words.erase(name) != 0); return;
      case 3: EXPECT_EQ(a.counts.erase(t, key), m.counts.erase(key) != 0); return;
      case 4: EXPECT_EQ(a.days.erase(t, day), m.days.erase(day) != 0); return;
      case 5:
      case 6: EXPECT_EQ(a.counts.set(t, key, value), m.counts.insert_or_assign(key, value).second); return;
      case 7: EXPECT_EQ(a.days.insert(t, day, value), m.days.emplace(day, value).second); return;
      case 8:
        a.words.emplace(t, name).first->assign(t, text);
        m.words[name] = text;
        return;
      default:
        labelled& in = *a.by_name.emplace(t, name).first;
        in.name.assign(t, text);
        t.set(in.number, static_cast<long>(value));
        m.by_name[name] = {text, static_cast<long>(value)};
    }
  }

 private:
  void change_numbers(transaction& t, all_kinds& a, models& m, long value) {
    const std::size_t at = m.numbers.empty() ? 0 : random_() % m.numbers.size();
    switch (random_() % 6) {
      case 0:
        a.numbers.insert(t, at, value);
        m.numbers.insert(m.numbers.begin() + static_cast<std::ptrdiff_t>(at), value);
        break;
      case 1:
        if (m.numbers.empty()) break;
        a.numbers.erase(t, at);
        m.numbers.erase(m.numbers.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2:
        a.numbers.resize(t, at);
        m.numbers.resize(at);
        break;
      case 3:
        a.numbers.resize(t, at + 40);
        m.numbers.resize(at + 40);
        break;
      default: a.numbers.push_back(t, value); m.numbers.push_back(value);
    }
  }

  std::mt19937 random_;
  unsigned keys_;
};

void expect_same(const all_kinds& a, const models& m, std::int64_t from) {
  ASSERT_EQ(std::vector<long>(a.numbers.begin(), a.numbers.end()), m.numbers);
  ASSERT_EQ(a.counts.size(), m.counts.size());
  std::unordered_map<std::uint64_t, std::uint64_t> counts;
  for (const auto& [key, value] : a.counts) counts.emplace(key, value);
  ASSERT_EQ(counts, m.counts);
  for (const auto& [key, value] : m.counts) ASSERT_EQ(*a.counts.find(key), value);
  std::map<std::string, std::pair<std::string, long>> by_name;
  for (const auto& [key, value] : a.by_name) by_name.emplace(key.view(), std::pair{value.name.view(), value.number});
  ASSERT_EQ(by_name, m.by_name);
  for (const auto& [key, value] : m.by_name) ASSERT_EQ(a.by_name.find(key)->name, value.first);
  ASSERT_EQ(a.days.size(), m.days.size());
  auto day = m.days.begin();
  for (const auto [key, value] : a.days) {
    ASSERT_EQ(key, day->first);
    ASSERT_EQ(value, day++->second);
  }
  auto day_from = m.days.lower_bound(from);
  for (auto at = a.days.lower_bound(from); at != a.days.end(); ++at) ASSERT_EQ(at.key(), day_from++->first);
  ASSERT_EQ(day_from, m.days.end());
  ASSERT_EQ(a.days.upper_bound(from) == a.days.end(), m.days.upper_bound(from) == m.days.end());
  auto word = m.words.begin();
  for (const auto [key, value] : a.words) {
    ASSERT_EQ(key, word->first);
    ASSERT_EQ(value, word++->second);
  }
  ASSERT_EQ(word, m.words.end());
}

class random_pool_containers : public pool_containers, public testing::WithParamInterface<unsigned> {};

TEST_P(random_pool_containers, hold_what_those_of_the_standard_library_do) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  random_changes changes{seed, GetParam()};
  make_pool();
  const std::uint64_t before = blocks();
  models m;
  for (int round = 0; round < (situ::test::with_sanitizer ? 300 : 1500); ++round) {
    models changed = m;
    const bool is_kept = !changes.one_in(4);
    const auto body = [&](transaction& t, all_kinds& a) {
      for (std::uint32_t i = changes.number() % 20; i-- > 0;) changes.change(t, a, changed);
      if (!changes.one_in(4)) return;
      const models within = changed;
      change_in_vain([&](transaction& inner, all_kinds& same) {
        for (int i = 0; i < 10; ++i) changes.change(inner, same, changed);
      });
      changed = within;
    };
    is_kept ? change(body) : change_in_vain(body);
    if (is_kept) m = changed;
    if (round % 100 == 0) reopen();
    if (round % 20 == 0) expect_same(all(), m, static_cast<std::int64_t>(changes.number() % GetParam()) - 20);
    if (HasFatalFailure()) return;
  }
  expect_same(all(), m, 0);
  const situ::pool_findings found = made().check<all_kinds>();
  EXPECT_THAT(found.damage, testing::IsEmpty());
  EXPECT_EQ(found.unreached_blocks, 0);
  EXPECT_EQ(found.stray_pointers, 0);
  change([](transaction& t, all_kinds& a) { situ::detail::release_parts(t, a); });
  EXPECT_EQ(blocks(), before);
}

INSTANTIATE_TEST_SUITE_P(keys, random_pool_containers, testing::Values(30U, 3000U));

TEST_F(pool_containers, grow_large) {
  make_pool();
  constexpr std::uint64_t keys = 60000;
  for (std::uint64_t begin = 0; begin < keys; begin += 1000)
    change([&](transaction& t, all_kinds& a) {
      for (std::uint64_t i = begin; i < begin + 1000; ++i) {
        ASSERT_TRUE(a.counts.insert(t, i * 7919, i));
        ASSERT_TRUE(a.days.insert(t, static_cast<std::int64_t>(i), i));
        ASSERT_TRUE(a.by_name.emplace(t, std::to_string(i)).second);
      }
    });
  reopen();
  for (std::uint64_t i = 0; i < keys; ++i) {
    ASSERT_EQ(*all().counts.find(i * 7919), i);
    ASSERT_EQ(*all().days.find(static_cast<std::int64_t>(i)), i);
    ASSERT_TRUE(all().by_name.contains(std::to_string(i)));
    ASSERT_FALSE(all().counts.contains(i * 7919 + 1));
  }
  change([&](transaction& t, all_kinds& a) {
    for (std::uint64_t i = 0; i < keys; ++i) ASSERT_TRUE(a.days.erase(t, static_cast<std::int64_t>(i * 37 % keys)));
  });
  EXPECT_EQ(all().days.begin(), all().days.end());
}

// --- maps whose keys hash alike ---

struct hash_alike {
  std::uint64_t operator()(std::uint64_t) const noexcept { return 1; }
};
struct alike {
  pool_map<std::uint64_t, std::uint64_t, hash_alike> map;
};

TEST_F(pool_containers, find_keys_that_hash_alike_until_a_segment_is_full) {
  make_pool();
  made().transact([](transaction& t) { t.set_root("alike", t.make<alike>()); });
  alike& a = *made().root<alike>("alike");
  std::uint64_t i = 0;
  EXPECT_THAT(error_of(errc::bad_argument,
                       [&] {
                         for (;; ++i) made().transact([&](transaction& t) { a.map.insert(t, i, i + 1); });
                       }),
              HasSubstr("hash alike"));
  EXPECT_EQ(i, 441);
  EXPECT_EQ(a.map.size(), i);
  for (std::uint64_t key = 0; key < i; ++key) ASSERT_EQ(*a.map.find(key), key + 1);
  made().transact([&](transaction& t) {
    for (std::uint64_t key = 0; key < i; ++key) ASSERT_TRUE(a.map.erase(t, key));
    a.map.release(t);
  });
}

// --- at other addresses, and out of the pool ---

TEST_F(pool_containers, are_read_at_other_addresses_and_copied_out) {
  make_pool();
  models m;
  random_changes changes{7, 2000};
  for (int i = 0; i < 300; ++i)
    change([&](transaction& t, all_kinds& a) {
      for (int k = 0; k < 20; ++k) changes.change(t, a, m);
      a.items.push_back(t, t.make<item>(static_cast<std::uint64_t>(i), a.items.empty() ? nullptr : a.items.back()));
      a.labels.emplace_back(t).leads_to = a.items.back();
    });
  const auto expect_whole = [&](const all_kinds& found) {
    expect_same(found, m, 0);
    ASSERT_EQ(values_of(found.items.back()).size(), 300);
    for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(found.labels[i].leads_to, found.items[i]);
  };
  {
    const auto copy = situ::clone(&all());
    expect_whole(*copy);
    EXPECT_GT(copy.size().objects, 300);
    EXPECT_THAT(
        error_of(errc::bad_address, [&] { change([&](transaction& t, all_kinds&) { copy->text.assign(t, "x"); }); }),
        HasSubstr("do not lie in it"));
    made_.reset();
    expect_whole(*copy);
  }
  const pool first = pool::open(in_.file(), pool_access::read);
  reopen(pool_access::read);
  ASSERT_TRUE(made().info().is_moved);
  expect_whole(all());
}

}  // namespace
