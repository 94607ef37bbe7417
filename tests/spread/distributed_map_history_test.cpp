// Random histories of operations on few keys are linearizable, key by key: for each key there is an order of all
// operations that keeps those apart in time in their order, and in which each gives what it gave (Wing and Gong, 1993).
// The checker is tried on histories that are not.
#include <situ/spread/distributed_map.h>

#include "support/places.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

namespace situ {
namespace {

constexpr std::uint64_t nothing = 0;

enum class kind : std::uint8_t { find, assign, exchange, erase, add };
// One operation on one key, between two moments.
struct operation {
  std::uint64_t begin, end;
  std::uint64_t argument;  // what was assigned or added
  std::uint64_t result;    // what was found, or there before; nothing where no value was
  std::uint32_t key;
  kind what;
};

std::uint64_t now() { return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

// What a value becomes; false where the operation's result contradicts it.
bool apply(const operation& o, std::uint64_t& value) {
  switch (o.what) {
    case kind::find: return o.result == value;
    case kind::assign: value = o.argument; return true;
    case kind::add: value += o.argument; return true;
    case kind::erase: value = nothing; return true;
    case kind::exchange: return std::exchange(value, o.argument) == o.result;
  }
  return false;
}

// Depth first over sets of operations that are done, each with a value only once.
class linearizer {
 public:
  explicit linearizer(std::vector<operation> history) : history_{std::move(history)} {}
  bool exists() { return go_on(0, nothing); }

 private:
  bool go_on(std::uint64_t done, std::uint64_t value) {
    if (done == (std::uint64_t{1} << history_.size()) - 1) return true;
    if (!seen_.insert({done, value}).second) return false;
    std::uint64_t first_end = ~std::uint64_t{0};
    for (std::size_t i = 0; i < history_.size(); ++i)
      if ((done >> i & 1) == 0) first_end = std::min(first_end, history_[i].end);
    for (std::size_t i = 0; i < history_.size(); ++i) {
      if ((done >> i & 1) != 0 || history_[i].begin > first_end) continue;
      std::uint64_t next = value;
      if (apply(history_[i], next) && go_on(done | std::uint64_t{1} << i, next)) return true;
    }
    return false;
  }

  std::vector<operation> history_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
};

TEST(linearizer, tells_histories_apart) {
  const auto o = [](std::uint64_t begin, std::uint64_t end, kind what, std::uint64_t argument, std::uint64_t result) {
    return operation{begin, end, argument, result, 0, what};
  };
  EXPECT_TRUE(linearizer({o(0, 9, kind::assign, 5, 0), o(1, 2, kind::find, 0, 0), o(3, 4, kind::find, 0, 5)}).exists());
  // Back to the old value, after the new one was seen.
  EXPECT_FALSE(
      linearizer({o(0, 9, kind::assign, 5, 0), o(1, 2, kind::find, 0, 5), o(3, 4, kind::find, 0, 0)}).exists());
  // Written, and not found afterwards.
  EXPECT_FALSE(linearizer({o(0, 1, kind::assign, 5, 0), o(2, 3, kind::find, 0, 0)}).exists());
  // Two that both were the first.
  EXPECT_FALSE(linearizer({o(0, 9, kind::exchange, 5, 0), o(0, 9, kind::exchange, 6, 0)}).exists());
  EXPECT_TRUE(linearizer({o(0, 9, kind::exchange, 5, 6), o(0, 9, kind::exchange, 6, 0)}).exists());
  // A lost update.
  EXPECT_FALSE(linearizer({o(0, 1, kind::add, 1, 0), o(0, 1, kind::add, 1, 0), o(2, 3, kind::find, 0, 1)}).exists());
}

class history : public test::on_places {};

// Each place does some operations on some keys; one-way ones end with the flush behind them.
std::vector<operation> some_operations(distributed_map<std::uint32_t, std::uint64_t>& map, std::uint32_t first_key,
                                       std::uint32_t keys, std::uint32_t count, std::mt19937_64& random) {
  std::vector<operation> mine;
  std::vector<std::size_t> open;
  const auto flush = [&] {
    map.flush();
    const std::uint64_t end = now();
    for (const std::size_t i : open) mine[i].end = end;
    open.clear();
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t unique = (std::uint64_t{here().index()} + 1) << 40 | std::uint64_t{i + 1} << 20;
    operation o{now(), 0, nothing, nothing, first_key + static_cast<std::uint32_t>(random() % keys), kind::find};
    switch (random() % 6) {
      case 0:
        o.what = kind::assign;
        o.argument = unique;
        map.assign(o.key, unique);
        open.push_back(mine.size());
        break;
      case 1:
        o.what = kind::erase;
        map.erase(o.key);
        open.push_back(mine.size());
        break;
      case 2:
        o.what = kind::add;
        o.argument = 1 + random() % 3;
        map.update(o.key, [](std::uint64_t& value, std::uint64_t by) { value += by; }, o.argument);
        open.push_back(mine.size());
        break;
      case 3:
        o.what = kind::exchange;
        o.argument = unique;
        o.result = map.visit(
            o.key,
            [](std::optional<std::uint64_t>& value, std::uint64_t next) {
              return std::exchange(value, next).value_or(nothing);
            },
            unique);
        o.end = now();
        break;
      default: o.result = map.find(o.key).value_or(nothing); o.end = now();
    }
    mine.push_back(o);
    if (random() % 4 == 0) flush();
  }
  flush();
  return mine;
}

TEST_P(history, of_each_key_is_linearizable) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    distributed_map<std::uint32_t, std::uint64_t> map{{.buffer_bytes = 128, .buffers = 2}};
    std::mt19937_64 random{test::mixed(seed, here().index())};
    constexpr std::uint32_t keys = 4;
    const std::uint32_t count = 48 / place_count() * keys / 3;  // some 16 operations a key
    for (int round = 0; round < test::rounds(60); ++round) {
      barrier();
      const auto all = gather(some_operations(map, static_cast<std::uint32_t>(round) * keys, keys, count, random));
      std::map<std::uint32_t, std::vector<operation>> by_key;
      for (const auto& each : all)
        for (const operation& o : each) by_key[o.key].push_back(o);
      for (const auto& [key, operations] : by_key)
        EXPECT_TRUE(operations.size() > 40 || linearizer(operations).exists())
            << "round " << round << ", key " << key << ", " << operations.size() << " operations";
    }
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, history, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

}  // namespace
}  // namespace situ
