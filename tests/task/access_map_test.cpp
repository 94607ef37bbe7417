// access_map against a model that knows each byte by itself.
#include "task/access_map.h"

#include "support/places.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace situ::detail {
namespace {

struct byte_state {
  std::uint32_t writer = unit_name::none;
  std::set<std::uint32_t> readers;
  bool operator==(const byte_state&) const = default;
};

class access_map_model : public testing::Test {
 protected:
  static constexpr std::uint64_t bytes = 3000;

  void read(std::uint64_t begin, std::uint64_t end, std::uint32_t unit) {
    map_.visit(begin, end, [&](interval& it) {
      check(it, begin, end);
      access_map::add_reader(it, {unit, 0}, [this](unit_name name) { return ended_.contains(name.record); });
    });
    EXPECT_EQ(visited_, end - begin);
    visited_ = 0;
    for (std::uint64_t b = begin; b < end; ++b) model_[b].readers.insert(unit);
  }
  void write(std::uint64_t begin, std::uint64_t end, std::uint32_t unit) {
    map_.visit(begin, end, [&](interval& it) {
      check(it, begin, end);
      it.readers = 0;
      it.writer = {unit, 0};
    });
    EXPECT_EQ(visited_, end - begin);
    visited_ = 0;
    for (std::uint64_t b = begin; b < end; ++b) model_[b] = {unit, {}};
  }
  void end(std::uint32_t unit) { ended_.insert(unit); }
  void sweep() {
    map_.sweep([this](unit_name name) { return ended_.contains(name.record); });
  }

  // Every byte of the interval has the interval's state, but for units that have ended: those may be forgotten.
  void check(interval& it, std::uint64_t begin, std::uint64_t end) {
    ASSERT_LE(begin, it.begin);
    ASSERT_LT(it.begin, it.end);
    ASSERT_LE(it.end, end);
    std::set<std::uint32_t> readers;
    for (std::uint32_t r = 0; r < it.readers; ++r) readers.insert(access_map::reader_of(it, r).record);
    for (std::uint64_t b = it.begin; b < it.end; ++b) {
      const byte_state& is = model_[b];
      if (it.writer.record != is.writer) {
        ASSERT_TRUE(is.writer == unit_name::none || ended_.contains(is.writer)) << "byte " << b;
      }
      for (const std::uint32_t reader : is.readers)
        if (!ended_.contains(reader)) {
          ASSERT_TRUE(readers.contains(reader)) << "byte " << b;
        }
      for (const std::uint32_t reader : readers)
        if (!ended_.contains(reader)) {
          ASSERT_TRUE(is.readers.contains(reader)) << "byte " << b;
        }
    }
    visited_ += it.end - it.begin;
  }

  access_map map_;
  std::map<std::uint64_t, byte_state> model_;
  std::set<std::uint32_t> ended_;
  std::uint64_t visited_ = 0;
};

TEST_F(access_map_model, says_of_each_byte_what_a_model_says) {
  std::mt19937_64 random{test::test_seed()};
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<std::uint32_t> under_way;
  for (std::uint32_t unit = 0; unit < 20'000 && !HasFatalFailure(); ++unit) {
    // Long and short, at grid points (repeated ones) and anywhere.
    const std::uint64_t grid = below(2) == 0 ? 1 : 50;
    const std::uint64_t begin = below(bytes / grid) * grid;
    const std::uint64_t end = std::min(bytes, begin + (1 + below(below(4) == 0 ? 20 : 2)) * grid);
    if (below(2) == 0)
      read(begin, end, unit);
    else
      write(begin, end, unit);
    under_way.push_back(unit);
    while (under_way.size() > 30) {
      const std::size_t which = below(under_way.size());
      this->end(under_way[which]);
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (below(300) == 0) sweep();
  }
  for (const std::uint32_t unit : under_way) end(unit);
  sweep();
  EXPECT_EQ(map_.size(), 0);
}

TEST_F(access_map_model, holds_little_where_units_end) {
  for (std::uint32_t unit = 0; unit < 100'000; ++unit) {
    map_.visit(unit * 64ULL, unit * 64ULL + 64, [&](interval& it) { it.writer = {unit, 0}; });
    if (unit >= 100) end(unit - 100);
    if (map_.wants_sweep()) sweep();
    ASSERT_LE(map_.size(), 1025);
  }
}

TEST_F(access_map_model, a_reader_more_forgets_those_that_have_ended) {
  interval* only = nullptr;
  for (std::uint32_t unit = 0; unit < 100'000; ++unit) {
    map_.visit(0, 8, [&](interval& it) {
      access_map::add_reader(it, {unit, 0}, [&](unit_name name) { return name.record + 100 < unit; });
      only = &it;
    });
    ASSERT_LE(only->readers, 400);
  }
}

}  // namespace
}  // namespace situ::detail
