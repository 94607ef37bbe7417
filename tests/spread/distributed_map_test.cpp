// distributed_map against std::unordered_map: random operations by all places on keys of their own and, in turns, on
// shared ones; growth while others read; batches; iteration; errors and losses.
#include <situ/spread/distributed_map.h>

#include "support/places.h"

#include <situ/base/log.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <unordered_map>

namespace situ {
namespace {

class distributed_map_on : public test::on_places {};

std::string key_of(std::uint64_t n) {
  // Long ones among them, which do not fit a buffer of the stack.
  return std::string(n % 17 == 0 ? 300 : n % 23, 'k') + std::to_string(n);
}
struct point {
  int x = 0;
  int y = 0;
  friend bool operator==(const point&, const point&) = default;
};

// Random operations of each place on keys that no other touches: what it finds is what its model has.
template <class K, class V, class MakeKey, class MakeValue, class Change>
void compare_with_model(std::uint64_t seed, MakeKey make_key, MakeValue make_value, Change change) {
  distributed_map<K, V> map{{.buffer_bytes = 2048, .buffers = 3}};
  std::unordered_map<K, V> model;
  std::mt19937_64 random{test::mixed(seed, here().index())};
  const auto random_key = [&] { return make_key(random() % 400 * place_count() + here().index()); };
  for (int step = 0; step < test::rounds(2500); ++step) {
    const K key = random_key();
    switch (random() % 8) {
      case 0:
      case 1: {
        const V value = make_value(random());
        map.insert(key, value);
        model.insert({key, value});
        break;
      }
      case 2: {
        const V value = make_value(random());
        map.assign(key, value);
        model[key] = value;
        break;
      }
      case 3:
        map.erase(key);
        model.erase(key);
        break;
      case 4: {
        const auto by = static_cast<int>(random() % 100);
        map.update(key, change, by);
        change(model[key], by);
        break;
      }
      case 5: {
        const bool had = map.visit(key, [](std::optional<V>& v) { return std::exchange(v, std::nullopt).has_value(); });
        EXPECT_EQ(had, model.erase(key) == 1);
        break;
      }
      default: {
        const auto found = map.find(key);
        const auto expected = model.find(key);
        ASSERT_EQ(found.has_value(), expected != model.end()) << "step " << step;
        if (found) {
          ASSERT_EQ(*found, expected->second) << "step " << step;
        }
      }
    }
  }
  map.flush();
  barrier();
  EXPECT_EQ(map.size(), all_reduce(model.size(), std::plus<>{}));
  // Everybody's entries lie with their owners, each once.
  std::vector<K> keys;
  map.for_each_local([&](const K& key, const V& value) {
    EXPECT_EQ(map.owner(key), here());
    EXPECT_EQ(map.find(key), value);
    keys.push_back(key);
  });
  EXPECT_EQ(keys.size(), map.local_size());
  for (const auto& [key, value] : model) EXPECT_EQ(map.find(key), value);
  barrier();
}

TEST_P(distributed_map_on, strings_to_numbers_as_the_model) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    compare_with_model<std::string, long>(
        seed, key_of, [](std::uint64_t n) { return static_cast<long>(n); }, [](long& v, int by) { v = v / 2 + by; });
  });
}

TEST_P(distributed_map_on, numbers_to_strings_as_the_model) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    compare_with_model<std::uint64_t, std::string>(
        seed, [](std::uint64_t n) { return n; }, [](std::uint64_t n) { return std::string(n % 90, 'v'); },
        [](std::string& v, int by) { v = v.size() > 200 ? "" : v + std::string(static_cast<std::size_t>(by), '+'); });
  });
}

TEST_P(distributed_map_on, aggregates_to_vectors_as_the_model) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    distributed_map<point, std::vector<int>> map;
    std::mt19937_64 random{test::mixed(seed, here().index())};
    const int row = static_cast<int>(here().index());
    std::vector<std::vector<int>> model(50);
    for (int i = 0; i < test::rounds(2000); ++i) {
      const auto column = static_cast<std::size_t>(random() % model.size());
      const point key{row, static_cast<int>(column)};
      map.update(key, [](std::vector<int>& v, int n) { v.push_back(n); }, i);
      model[column].push_back(i);
      if (i % 7 == 0) {
        EXPECT_EQ(map.find(key), model[column]);
      }
    }
    for (std::size_t c = 0; c < model.size(); ++c) {
      const auto found = map.find(point{row, static_cast<int>(c)});
      EXPECT_EQ(found.value_or(std::vector<int>{}), model[c]);
    }
    barrier();
  });
}

TEST_P(distributed_map_on, updates_of_all_places_on_the_same_keys_all_count) {
  run([] {
    distributed_map<std::string, std::uint64_t> map;
    const int rounds = test::rounds(5000);
    for (int i = 0; i < rounds; ++i)
      map.update(
          "key " + std::to_string(i % 10), [](std::uint64_t& n, std::uint64_t by) { n += by; },
          std::uint64_t{1} + here().index());
    map.flush();
    barrier();
    std::uint64_t sum = 0;
    for (int i = 0; i < 10; ++i) sum += map.find("key " + std::to_string(i)).value_or(0);
    EXPECT_EQ(sum, static_cast<std::uint64_t>(rounds) * place_count() * (place_count() + 1) / 2);
    barrier();
  });
}

// What is inserted stays to be found, with its whole value, while the tables grow from nothing.
TEST_P(distributed_map_on, others_read_while_it_grows) {
  run([] {
    struct value {
      std::uint64_t a, b, c, d, e;
    };
    distributed_map<std::uint64_t, value> map{{.buffer_bytes = 512, .buffers = 3}};
    const auto value_of = [](std::uint64_t key) { return value{key, key + 1, key + 2, key + 3, ~key}; };
    const auto count = static_cast<std::uint64_t>(test::rounds(6000));
    std::mt19937_64 random{here().index()};
    const ptr<std::uint64_t> inserted = allocate<std::uint64_t>();
    atomic_store(inserted, 0);
    const std::vector<ptr<std::uint64_t>> all = all_gather(inserted);
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      map.insert(i * place_count() + here().index(), value_of(i * place_count() + here().index()));
      if (i % 64 == 63) {
        map.flush();
        atomic_store(inserted, i + 1);
      }
      const auto other = static_cast<std::uint32_t>(random() % place_count());
      const std::uint64_t known = atomic_load(all[other]);
      if (known == 0) continue;
      const std::uint64_t key = random() % known * place_count() + other;
      const auto got = map.find(key);
      ASSERT_TRUE(got) << key << " of " << known;
      ASSERT_TRUE(got->a == key && got->b == key + 1 && got->c == key + 2 && got->d == key + 3 && got->e == ~key);
      ++found;
    }
    EXPECT_GT(found, 0U);
    map.flush();
    barrier();
    EXPECT_EQ(map.size(), count * place_count());
    barrier();
    deallocate(inserted);
  });
}

// A value whose words always agree is never read half old and half new.
TEST_P(distributed_map_on, a_value_is_read_as_a_whole) {
  run([] {
    distributed_map<int, std::vector<std::uint64_t>> map;
    constexpr int keys = 3;
    std::mt19937_64 random{here().index()};
    for (int i = 0; i < test::rounds(3000); ++i) {
      const int key = static_cast<int>(random() % keys);
      if (random() % 2 == 0) {
        map.assign(key, std::vector<std::uint64_t>(random() % 40, random()));
      } else if (random() % 8 == 0) {
        map.erase(key);
      } else if (const auto found = map.find(key)) {
        for (const std::uint64_t each : *found) ASSERT_EQ(each, found->front());
      }
    }
    map.flush();
    barrier();
  });
}

TEST_P(distributed_map_on, batches_are_as_single_operations) {
  run([] {
    distributed_map<std::uint32_t, std::uint32_t> map;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> entries;
    for (std::uint32_t i = 0; i < 1000; ++i) entries.emplace_back(i * place_count() + here().index(), i);
    map.insert(entries);
    map.flush();
    barrier();
    std::vector<std::uint32_t> keys(1000 * place_count() + 50);
    std::iota(keys.begin(), keys.end(), 0);
    const auto found = map.find(std::span<const std::uint32_t>{keys});
    ASSERT_EQ(found.size(), keys.size());
    for (std::uint32_t k = 0; k < keys.size(); ++k)
      EXPECT_EQ(found[k], k < 1000 * place_count() ? std::optional{k / place_count()} : std::nullopt);
    EXPECT_TRUE(map.contains(0));
    EXPECT_FALSE(map.contains(1000 * place_count()));
    barrier();
  });
}

TEST_P(distributed_map_on, finish_waits_for_what_is_asked_for_within) {
  run([] {
    distributed_map<int, int> map;
    finish([&] {
      for (int i = 0; i < 500; ++i) map.insert(static_cast<int>(here().index()) * 1000 + i, i);
      async([&] { map.insert(-1, 5); });
    });
    barrier();
    EXPECT_EQ(map.size(), 500 * place_count() + 1);
    barrier();
  });
}

TEST_P(distributed_map_on, after_a_drain_everybody_sees_what_anybody_has_asked_for) {
  run([] {
    distributed_map<std::uint32_t, std::uint32_t> map;
    for (std::uint32_t round = 1; round <= 20; ++round) {
      for (std::uint32_t key = 0; key < 50; ++key) map.update(key, [](std::uint32_t& n) { ++n; });
      map.drain();
      for (std::uint32_t key = 0; key < 50; ++key) EXPECT_EQ(map.find(key), round * place_count());
      barrier();
    }
  });
}

TEST_P(distributed_map_on, a_drain_that_throws_leaves_nobody_waiting) {
  if (GetParam().places == 1) return;
  run([] {
    distributed_map<int, int> map;
    int far = 0;
    while (map.owner(far) != place{place_count() - 1}) ++far;
    if (here().index() == 0) map.update(far, [](int&) { throw std::runtime_error{"will not"}; });
    bool has_thrown = false;
    try {
      map.drain();
    } catch (const std::exception& e) {
      has_thrown = true;
      EXPECT_NE(std::string_view{e.what()}.find("will not"), std::string_view::npos) << e.what();
    }
    EXPECT_EQ(has_thrown, here().index() == 0);
    map.assign(far, 7);
    map.drain();
    EXPECT_EQ(map.find(far), 7);
    barrier();
  });
}

TEST_P(distributed_map_on, all_memory_is_given_back) {
  run([] {
    const std::uint64_t before = test::settled_memory().live_blocks;
    {
      distributed_map<std::string, std::string> map;
      for (std::uint64_t i = 0; i < 3000; ++i) map.assign(key_of(i), key_of(i + here().index()));
      for (std::uint64_t i = 0; i < 3000; i += 3) map.erase(key_of(i));
      map.flush();
    }
    EXPECT_EQ(test::settled_memory().live_blocks, before);
  });
}

TEST_P(distributed_map_on, what_a_function_throws_comes_out_and_the_map_goes_on) {
  if (GetParam().places == 1) return;
  run([] {
    distributed_map<int, int> map;
    int far = 0;
    while (map.owner(far) == here()) ++far;
    map.update(far, [](int&) { throw std::runtime_error{"will not"}; });
    EXPECT_TRUE(test::error_of([&] { map.flush(); }).says("will not"));
    EXPECT_TRUE(test::error_of([&] {
                  map.visit(far, [](std::optional<int>&) { throw std::runtime_error{"nor will I"}; });
                }).says("nor will I"));
    barrier();
    map.update(far, [](int& n) { ++n; });
    map.flush();
    barrier();
    EXPECT_GE(map.find(far).value_or(0), 1);
    barrier();
  });
}

// The others wait in the drain for whoever has asked for what failed.
TEST_P(distributed_map_on, a_function_may_fail_by_the_loss_of_a_place_that_is_no_member) {
  if (GetParam().places < 3) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    const team rest = world().split(here().index() == 1);
    distributed_map<int, int> map{{}, rest};
    try {
      barrier();  // all have come so far
    } catch (const place_lost_error&) {}
    if (here().index() == 1) throw std::runtime_error{"died as it should"};
    (void)survivors();  // who are told now, and by no wait later
    for (int key = 0; key < 20; ++key) map.update(100 + key, [](int& n) { ++n; });
    map.flush();
    for (int key = 0; key < 20; ++key)
      if (rest.index() == 0 && map.owner(key) != here())
        map.update(key, [](int&) { throw place_lost_error{1, "what the function needed"}; });
    bool is_told = false;
    try {
      map.drain();
    } catch (const place_lost_error& lost) {
      is_told = lost.place_index() == 1;
    }
    EXPECT_EQ(is_told, rest.index() == 0);
    for (int key = 0; key < 20; ++key) EXPECT_EQ(map.find(100 + key), static_cast<int>(rest.size()));
    barrier(rest);
  });
  set_log_sink(before);
  test::expect_only_lost(result, 1);
}

TEST_P(distributed_map_on, a_lost_owner_is_told_to_who_touches_it) {
  if (GetParam().places == 1) return;
  const log_sink before = set_log_sink([](log_level, std::string_view) {});
  const launch_result result = test::launch_on(GetParam(), [] {
    distributed_map<int, int> map;
    int theirs = 0;
    while (map.owner(theirs) != place{1}) ++theirs;
    if (here().index() == 0) map.assign(theirs, 7);
    map.flush();
    barrier();
    if (here().index() == 1) throw std::runtime_error{"died as it should"};
    EXPECT_THROW(
        while (true) {
          EXPECT_EQ(map.find(theirs), 7);  // until then it is there
          progress();
        },
        place_lost_error);
    EXPECT_THROW((void)map.find(theirs), place_lost_error);
    EXPECT_THROW(map.visit(theirs, [](std::optional<int>&) {}), place_lost_error);
    EXPECT_THROW(
        {
          map.assign(theirs, 8);
          map.flush();
        },
        place_lost_error);
    if (here().index() == 0) {
      int own = 0;
      while (map.owner(own) != here()) ++own;
      map.assign(own, 5);
      EXPECT_EQ(map.find(own), 5);
    }
  });
  set_log_sink(before);
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), 1U);
  for (std::uint32_t p = 0; p < GetParam().places; ++p)
    EXPECT_TRUE(p == 1 || result.places[p].exit_code == 0) << "place " << p << ": " << result.places[p].reason;
}

INSTANTIATE_TEST_SUITE_P(layouts, distributed_map_on, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
