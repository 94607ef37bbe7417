// Random programs of units whose regions overlap in any way: the bits of one unit after the other, failures included.
#include <situ/task/task_graph.h>

#include "support/places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace situ {
namespace {

constexpr std::size_t elements = 64;
struct alignas(elements * 8) values : std::array<std::uint64_t, elements> {};

struct planned_access {
  std::size_t first, columns, rows, pitch;
  access_mode mode;

  template <class Visit>
  void visit(Visit each) const {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c) each(first + r * pitch + c);
  }
  [[nodiscard]] declared_access on(values& data) const { return {tile(&data[first], rows, columns, pitch), mode}; }
};

struct planned_unit {
  std::vector<planned_access> accesses;
  std::uint64_t salt;
  bool throws;
};

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e37'79b9'7f4a'7c15U;
  return x ^ (x >> 29);
}

// All that it may read goes into all that it writes.
void compute(const planned_unit& unit, values& data) {
  std::uint64_t sum = unit.salt;
  for (const planned_access& each : unit.accesses)
    if (each.mode != access_mode::write) each.visit([&](std::size_t i) { sum = mixed(sum + data[i]); });
  for (const planned_access& each : unit.accesses)
    if (each.mode != access_mode::read) each.visit([&](std::size_t i) { data[i] = sum = mixed(sum + i); });
}

// grain: elements that are one location.
bool conflict(const planned_unit& a, const planned_unit& b, std::size_t grain) {
  std::vector<int> of_a(elements);  // 1: read, 2: written
  for (const planned_access& each : a.accesses)
    each.visit([&](std::size_t i) { of_a[i / grain] |= each.mode == access_mode::read ? 1 : 2; });
  bool found = false;
  for (const planned_access& each : b.accesses)
    each.visit([&](std::size_t i) {
      found |= each.mode == access_mode::read ? (of_a[i / grain] & 2) != 0 : of_a[i / grain] != 0;
    });
  return found;
}

std::vector<planned_unit> random_program(std::mt19937_64& random, bool with_failures) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<planned_unit> program(1 + below(60));
  for (planned_unit& unit : program) {
    unit.salt = random();
    unit.throws = with_failures && below(20) == 0;
    unit.accesses.resize(below(4));
    for (planned_access& each : unit.accesses) {
      each.mode = static_cast<access_mode>(below(3));
      each.rows = below(4) == 0 ? 1 + below(4) : 1;
      each.columns = below(6);
      each.pitch = each.columns + below(8);
      const std::size_t extent = (each.rows - 1) * each.pitch + each.columns;
      each.first = below(elements - std::min(elements - 1, extent));
    }
  }
  return program;
}

void check(const std::vector<planned_unit>& program, task_graph& graph, std::size_t grain, std::mt19937_64& random) {
  values expected, data;
  for (std::size_t i = 0; i < elements; ++i) expected[i] = data[i] = i;
  std::vector<bool> failed(program.size());
  std::size_t first_failure = program.size();
  for (std::size_t i = 0; i < program.size(); ++i) {
    bool runs = true;
    for (std::size_t before = 0; before < i && runs; ++before)
      runs = !failed[before] || !conflict(program[before], program[i], grain);
    failed[i] = !runs || program[i].throws;
    if (!failed[i]) compute(program[i], expected);
    if (runs && program[i].throws) first_failure = std::min(first_failure, i);
  }
  for (std::size_t i = 0; i < program.size(); ++i) {
    std::vector<declared_access> accesses;
    for (const planned_access& each : program[i].accesses) accesses.push_back(each.on(data));
    graph.add(accesses, [&program, &data, i] {
      if (program[i].throws) throw i;
      compute(program[i], data);
    });
    if (random() % 50 == 0) {
      try {
        graph.wait_for({reads(data)});
        for (std::size_t b = 0; b <= i; ++b)
          if (std::any_of(program[b].accesses.begin(), program[b].accesses.end(),
                          [](const auto& each) { return each.mode != access_mode::read && each.columns != 0; })) {
            EXPECT_FALSE(failed[b]);
          }
      } catch (std::size_t of) {
        EXPECT_TRUE(failed[of]);
        EXPECT_LE(of, i);
      }
    }
  }
  std::size_t thrown = program.size();
  try {
    graph.wait();
  } catch (std::size_t i) {
    thrown = i;
  }
  EXPECT_EQ(thrown, first_failure);
  EXPECT_EQ(data, expected);
}

void check_programs(bool with_failures) {
  const std::uint64_t seed = test::test_seed();
  const char* const given = std::getenv("SITU_TASK_PROGRAMS");
  const int programs = given == nullptr ? 10'000 : std::atoi(given);
  std::mt19937_64 random{seed};
  const std::uint32_t windows[] = {1, 4, 16, 2048};
  for (int p = 0; p < programs && !testing::Test::HasFailure();) {
    const std::size_t grain = random() % 2 == 0 ? 1 : std::size_t{1} << random() % 7;
    task_graph graph{{.threads = static_cast<std::uint32_t>(1 + random() % 4),
                      .window = windows[random() % 4],
                      .granularity_bytes = grain == 1 && random() % 2 == 0 ? 1 : 8 * grain}};
    for (int i = 0; i < 50; ++i, ++p) {
      SCOPED_TRACE(p);
      check(random_program(random, with_failures), graph, grain, random);
    }
  }
}

TEST(random_programs, have_the_bits_of_one_unit_after_the_other) { check_programs(false); }
TEST(random_programs, that_fail_run_what_does_not_come_after_a_failure) { check_programs(true); }

}  // namespace
}  // namespace situ
