// Pools at other addresses that are so large that a thread makes their pages, a reader's own and those of who moves a
// pool.
#include "fuzz/pool_image.h"
#include "pools.h"

#include <situ/base/log.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <random>
#include <string>

using namespace situ_pool_test;
using situ::pool;
using situ::pool_access;
using situ::test::taken_address;

namespace {

constexpr std::uint64_t item_count = 400'000;   // 6 MiB
constexpr std::uint64_t array_count = 200'000;  // one block of 3 MiB
constexpr std::uint64_t right_sum = item_count * (item_count - 1) / 2;

void fill_large(pool& made, bool in_order) {
  made.transact([&](situ::transaction& t) {
    std::vector<item*> all(item_count);
    for (item*& each : all) each = t.make<item>();
    item* const array = t.make_array<item>(array_count);
    for (std::uint64_t i = 0; i < array_count; ++i) array[i] = {i, all[i]};
    if (!in_order) std::shuffle(all.begin(), all.end(), std::mt19937_64{3});
    item* head = nullptr;
    for (std::uint64_t i = 0; i < item_count; ++i) {
      *all[i] = {i, head};
      head = all[i];
    }
    t.set_root("head", head);
    t.set_root("array", array);
  });
}

std::uint64_t sum_of_list(const pool& of) {
  std::uint64_t sum = 0;
  for (const item* each = of.root<item>("head"); each != nullptr; each = each->next) sum += each->value;
  return sum;
}
bool array_is_right(const pool& of) {
  const item* const array = of.root<item>("array");
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < array_count; ++i) {
    if (array[i].value != i) return false;
    sum += array[i].next->value;
  }
  return sum != 0;
}

// Bytes at these addresses that are this process's own.
std::uint64_t own_bytes(std::uintptr_t begin, std::uintptr_t end) {
  std::ifstream maps{"/proc/self/smaps"};
  std::uint64_t bytes = 0;
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long from = 0, to = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2) is_there = from < end && to > begin;
    if (is_there && std::sscanf(line.c_str(), "Anonymous: %llu kB", &kib) == 1) bytes += kib * 1024;
  }
  return bytes;
}

class pool_large_move : public testing::TestWithParam<bool> {};

TEST_P(pool_large_move, reads_and_moves_all_of_it) {
  const situ::log_sink before = situ::set_log_sink([](situ::log_level, std::string_view) {});
  const folder in;
  std::uintptr_t base = 0;
  {
    pool made = pool::create(in.file(), {.most_bytes = std::uint64_t{64} << 20});
    fill_large(made, GetParam());
    base = made.info().base;
  }
  {
    const taken_address taken{base};
    {
      const pool read = pool::open(in.file(), pool_access::read);
      ASSERT_TRUE(read.info().is_moved);
      EXPECT_EQ(sum_of_list(read), right_sum);
      EXPECT_TRUE(array_is_right(read));
      const std::uintptr_t at = read.info().base;
      EXPECT_GE(own_bytes(at, at + (std::uint64_t{12} << 20)), std::uint64_t{4} << 20);
      EXPECT_THAT(read.check<item>().damage, testing::IsEmpty());
    }
    const pool moved = pool::open(in.file(), {.types = situ::pool_types<item>()});
    EXPECT_NE(moved.info().base, base);
    EXPECT_EQ(sum_of_list(moved), right_sum);
  }
  const pool again = pool::open(in.file());
  EXPECT_NE(again.info().base, base);
  EXPECT_EQ(sum_of_list(again), right_sum);
  EXPECT_TRUE(array_is_right(again));
  EXPECT_EQ(again.check<item>().stray_pointers, 0);
  situ::set_log_sink(before);
}
INSTANTIATE_TEST_SUITE_P(orders, pool_large_move, testing::Bool(),
                         [](const auto& info) { return info.param ? "in_order" : "shuffled"; });

}  // namespace
