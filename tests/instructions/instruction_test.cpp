// The hot paths' instructions against the table of counts.txt. Everything happens at one place, which is its own peer:
// then no count depends on when another place answers.
#include <situ/graph.h>
#include <situ/situ.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "count_instructions.h"

namespace situ {
namespace {

using test::count_steps;

struct node {
  long value;
  node* next;
};

struct counted {
  const char* name;
  int operations;  // in a count
};
// In the order in which run_all() counts them. Few: a step costs up to 20 us.
constexpr counted operations[] = {
    {"put", 16},
    {"get", 16},
    {"message", 8},
    {"at", 8},
    {"at_payload", 8},
    {"clone_node", 300},
    {"allocate_pair", 16},
    {"intent_pair", 16},
    {"first_touch_pair", 16},
    {"intents_in_turns", 16},
};

// A block of 64 bytes, and back.
template <class Allocate>
void count_pairs(Allocate allocate) {
  for (int i = 0; i < 8; ++i) deallocate(allocate(i));  // what is made once
  int i = 0;
  count_steps(16, [&] {
    const ptr<std::byte> block = allocate(i++);
    asm volatile("" : : "r"(block.address()) : "memory");
    deallocate(block);
  });
}

int arrived = 0;
void on_message(am::token&, int value) { arrived += value; }

void run_all() {
  char name[] = "instruction_test";
  char* arguments[] = {name, nullptr};
  int count = 1;
  char** given = arguments;
  const runtime rt{count, given};
  const ptr<long> word = allocate<long>();
  *word.local() = 0;
  const place self = here();
  long sum = 0;

  count_steps(1, [] { asm volatile("" ::: "memory"); });  // what counting itself costs
  count_steps(16, [&] {
    put(word, sum);
    asm volatile("" ::: "memory");
  });
  count_steps(16, [&] {
    sum += get(word);
    asm volatile("" : "+r"(sum) : : "memory");
  });
  count_steps(8, [&] {
    am::request_short<on_message>(self, 1);
    progress();
  });
  count_steps(8, [&] { sum += async_at(self, [](long n) { return n + 1; }, sum).get(); });
  const long few[] = {1, 2, 3};
  count_steps(8,
              [&] { sum += async_at(self, [](payload<long> values) { return values.back(); }, payload{few}).get(); });

  std::vector<node> list(300);
  for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i].next = &list[i + 1];
  count_steps(1, [&] { sum += clone(&list[0])->value; });
  deallocate(word);

  count_pairs([](int) { return allocate<std::byte>(64); });
  count_pairs([](int) { return allocate<std::byte>(64, intent::normal); });
  count_pairs([](int) { return allocate<std::byte>(64, intent::normal, {.populate = false}); });
  count_pairs([](int i) { return allocate<std::byte>(64, i % 2 == 0 ? intent::normal : intent::capacity); });
}

// Name and count of each line that is no comment.
std::map<std::string, double> read_table() {
  std::map<std::string, double> table;
  std::ifstream file{SITU_INSTRUCTION_COUNTS};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    std::string name;
    double count = 0;
    if (line.starts_with("#") || !(words >> name >> count)) continue;
    table[name] = count;
  }
  return table;
}

constexpr const char* table_head =
    "# Instructions of one operation: Release build, gcc 12, x86-64; see instruction_test.cpp. A count may differ by 5 "
    "%\n"
    "# or 3 instructions. After a change that is meant: SITU_RENEW_COUNTS=1 build/release/bin/tests/instruction_test\n";

void write_table(const std::map<std::string, double>& found) {
  std::ofstream file{SITU_INSTRUCTION_COUNTS};
  file << table_head;
  for (const counted& each : operations) file << each.name << ' ' << found.at(each.name) << '\n';
}

// Of one operation, to a tenth.
std::map<std::string, double> per_operation(const std::vector<std::uint64_t>& counts) {
  std::map<std::string, double> found;
  for (std::size_t i = 0; i < std::size(operations); ++i) {
    const auto instructions = static_cast<double>(counts[i + 1]) - static_cast<double>(counts[0]);
    found[operations[i].name] = std::round(10 * instructions / operations[i].operations) / 10;
  }
  return found;
}

TEST(instructions, of_the_hot_paths) {
#if !defined(__GNUC__) || defined(__clang__) || __GNUC__ != 12
  GTEST_SKIP() << "the table holds what gcc 12 makes";
#endif
  std::string why;
  const std::vector<std::uint64_t> counts = test::counts_of(&run_all, why);
  if (why == "this process may not be traced") GTEST_SKIP() << why;
  ASSERT_EQ(counts.size(), std::size(operations) + 1) << why;
  const std::map<std::string, double> found = per_operation(counts);
  if (std::getenv("SITU_RENEW_COUNTS") != nullptr) return write_table(found);
  const std::map<std::string, double> table = read_table();
  ASSERT_EQ(table.size(), found.size()) << SITU_INSTRUCTION_COUNTS;
  for (const auto& [name, count] : found) {
    ASSERT_TRUE(table.contains(name)) << name << " is not in " << SITU_INSTRUCTION_COUNTS;
    const double held = table.at(name);
    EXPECT_LE(std::abs(count - held), std::max(3.0, 0.05 * held))
        << name << " takes " << count << " instructions, the table says " << held
        << ": if that is meant, renew it: SITU_RENEW_COUNTS=1 build/release/bin/tests/instruction_test";
  }
}

void add_up() {
  volatile int sum = 0;
  test::begin_steps();
  test::end_steps();
  test::begin_steps();
  for (int i = 0; i < 100; ++i) sum = sum + i;
  test::end_steps();
}
void fail() { ::_exit(3); }

TEST(instructions, are_counted_and_the_same_each_time) {
  std::string why;
  const std::vector<std::uint64_t> first = test::counts_of(&add_up, why);
  if (why == "this process may not be traced") GTEST_SKIP() << why;
  ASSERT_EQ(first.size(), 2U) << why;
  EXPECT_GE(first[1] - first[0], 300U) << "a load, an addition, a store";
  EXPECT_LE(first[1] - first[0], 1000U);
  EXPECT_EQ(test::counts_of(&add_up, why), first);
}

TEST(instructions, of_a_child_that_fails_are_none) {
  std::string why;
  EXPECT_TRUE(test::counts_of(&fail, why).empty());
  EXPECT_NE(why, "");
}

}  // namespace
}  // namespace situ
