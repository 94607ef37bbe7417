// The units beside a tile's cache, on a cache that is a list of modified lines: 20 cycles an access, 90 a line that is
// written back, 1 a command that finds nothing to do. The tile's local memory takes 20 cycles.
#include <situ/base/error.h>
#include <situ/graph/clone.h>

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "model/graph_units/direct_memory.h"
#include "model/graph_units/graph_writeback_unit.h"
#include "model/graph_units/range_operations_unit.h"
#include "model/unit_graph.h"
#include "support/places.h"

namespace situ::model {
namespace {

constexpr time_ps cycle = 20'000;

class listed_cache final : public cache_port {
 public:
  std::set<std::uintptr_t> modified;
  std::vector<std::uintptr_t> written;
  std::vector<std::uintptr_t> invalidated;
  std::uint64_t accesses = 0;

  [[nodiscard]] std::uint32_t line_bytes() const noexcept override { return 32; }
  time_ps read(std::uintptr_t, std::uint32_t, time_ps now) override {
    ++accesses;
    return now + 20 * cycle;
  }
  time_ps write(std::uintptr_t address, std::uint32_t, time_ps now) override {
    ++accesses;
    modified.insert(address / 32);
    return now + 20 * cycle;
  }
  written_line write_back(std::uintptr_t address, time_ps now) override {
    if (modified.erase(address / 32) == 0) return {now + cycle, false};
    written.push_back(address / 32);
    return {now + 90 * cycle, true};
  }
  time_ps invalidate(std::uintptr_t address, time_ps now) override {
    modified.erase(address / 32);
    invalidated.push_back(address / 32);
    return now + cycle;
  }
};

class recorded_network final : public network_port {
 public:
  std::vector<std::pair<std::uint32_t, std::uint64_t>> sent;
  time_ps spawn_with_data(std::uint32_t tile, std::uint64_t bytes, time_ps now) override {
    sent.emplace_back(tile, bytes);
    return now + 300 * cycle;
  }
};

direct_memory local_memory_of_a_tile() {
  return direct_memory{{.period = cycle, .read_cycles = 20, .write_cycles = 20}};
}

struct alignas(32) two_lines {
  two_lines* next = nullptr;
  std::array<std::uint32_t, 12> values{};
};

template <class T>
writeback_result write_back(graph_writeback_unit& unit, const T* root, time_ps now = 0) {
  const detail::graph_root graph = detail::root_of(root);
  return unit.write_back(graph.object, *graph.type, now);
}

// Push 20, pop 20. The mark read and written, vptr, class, size, mask: 6 * 20. Two lines: 1 each for the command, 90
// for the marked one, 1 for the other. Seven words of 8 bytes and the padding's: 8. The pointer's read, 20.
TEST(graph_writeback_unit, an_object_of_two_lines) {
  listed_cache cache;
  direct_memory local = local_memory_of_a_tile();
  graph_writeback_unit unit{cache, local};
  const two_lines object;
  const writeback_result result = write_back(unit, &object, 5 * cycle);
  EXPECT_EQ(result.begin, 5 * cycle);
  EXPECT_EQ((result.end - result.begin) / cycle, 40U + 120 + 2 + 90 + 1 + 8 + 20);
  EXPECT_EQ(result.objects, 1U);
  EXPECT_EQ(result.bytes, 64U);
  EXPECT_EQ(result.lines, 2U);
  EXPECT_EQ(result.modified_lines, 1U);
  EXPECT_EQ(cache.written, std::vector<std::uintptr_t>{reinterpret_cast<std::uintptr_t>(&object) / 32});
}

// Met again by its own pointer: push 20, pop 20, the mark 20; nothing is written back twice.
TEST(graph_writeback_unit, marks_end_cycles) {
  listed_cache cache;
  direct_memory local = local_memory_of_a_tile();
  graph_writeback_unit unit{cache, local};
  two_lines object;
  object.next = &object;
  const writeback_result result = write_back(unit, &object);
  EXPECT_EQ(result.end / cycle, 281U + 60);
  EXPECT_EQ(result.objects, 1U);
  EXPECT_EQ(result.lines, 2U);
  // each walk has marks of its own
  EXPECT_EQ(write_back(unit, &object, result.end).objects, 1U);
}

// All lines of all objects and arrays, as if a program had written them. Returns how many these are, counting a line
// once for each object or array that has bytes in it.
std::uint64_t mark_modified(const test::canonical_graph& graph, listed_cache& cache) {
  std::uint64_t lines = 0;
  for (const auto& [address, bytes] : graph.ranges())
    for (std::uintptr_t line = address / 32; line * 32 < address + bytes; ++line, ++lines) cache.modified.insert(line);
  return lines;
}

TEST(graph_writeback_unit, writes_back_every_line_of_every_object_once) {
  const std::uint64_t seed = test::test_seed();
  for (std::uint64_t round = 0; round < 300; ++round) {
    test::unit_graph_maker maker{test::mixed(seed, round)};
    const test::unit_node* const root = maker.make(1 + test::mixed(seed + 1, round) % 60);
    const test::canonical_graph canonical{root};
    listed_cache cache;
    const std::uint64_t lines = mark_modified(canonical, cache);
    const std::set<std::uintptr_t> all = cache.modified;
    direct_memory local = local_memory_of_a_tile();
    graph_writeback_unit unit{cache, local};
    const writeback_result result = write_back(unit, root);
    const graph_size measured = measure(root);
    ASSERT_EQ(result.lines, lines);
    ASSERT_EQ(std::set<std::uintptr_t>(cache.written.begin(), cache.written.end()), all);
    ASSERT_TRUE(cache.modified.empty());
    ASSERT_EQ(result.objects, canonical.objects());
    ASSERT_EQ(result.objects + result.arrays, measured.objects);
    ASSERT_LE(result.bytes, measured.bytes);  // which counts the gaps that alignment leaves
    ASSERT_GE(result.room_bytes, result.bytes);
    ASSERT_EQ(result.modified_lines, cache.written.size());
  }
}

TEST(graph_writeback_unit, says_when_its_stack_is_full) {
  listed_cache cache;
  direct_memory local = local_memory_of_a_tile();
  graph_writeback_unit unit{cache, local, {.entries = 1}};
  test::unit_node other;
  test::unit_node root;
  root.next = {&other, &other, nullptr};
  try {
    (void)write_back(unit, &root);
    FAIL() << "two objects are outstanding";
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), errc::out_of_memory);
    EXPECT_NE(failure.message().find("more than 1 outstanding objects"), std::string_view::npos);
  }
}

// Two words into M, 20 + 1; then the adapter's time.
TEST(graph_writeback_unit, dispatches_a_task_with_its_metadata) {
  listed_cache cache;
  direct_memory local = local_memory_of_a_tile();
  graph_writeback_unit unit{cache, local};
  recorded_network network;
  EXPECT_EQ(unit.dispatch(network, 3, 100 * cycle), (100 + 21 + 300) * cycle);
  EXPECT_EQ(network.sent, (std::vector<std::pair<std::uint32_t, std::uint64_t>>{{3, 64}}));
}

// Bytes 40 to 130 lie in lines 1 to 4. A command each, 1; line 2 is modified.
TEST(range_operations_unit, a_command_for_each_line) {
  listed_cache cache;
  cache.modified = {2, 7};
  range_operations_unit unit{cache, cycle};
  EXPECT_EQ(unit.run(range_operation::write_back, 40, 130, 10 * cycle), (10 + 4 + 90 + 3) * cycle);
  EXPECT_EQ(cache.written, std::vector<std::uintptr_t>{2});
  EXPECT_TRUE(cache.invalidated.empty());
  EXPECT_EQ(unit.run(range_operation::invalidate, 0, 64, 0), (107 + 2 + 2) * cycle);  // after what is under way
  EXPECT_EQ(cache.invalidated, (std::vector<std::uintptr_t>{0, 1}));
  EXPECT_EQ(unit.run(range_operation::flush, 224, 225, 200 * cycle), (200 + 1 + 90 + 1) * cycle);
  EXPECT_EQ(cache.written, (std::vector<std::uintptr_t>{2, 7}));
  EXPECT_EQ(unit.counted().lines, 7U);
  EXPECT_EQ(unit.counted().modified_lines, 2U);
  EXPECT_EQ(unit.run(range_operation::flush, 64, 64, 900 * cycle), 900 * cycle);  // no bytes
}

TEST(range_operations_unit, triggers_when_the_range_is_done) {
  listed_cache cache;
  range_operations_unit unit{cache, cycle};
  time_ps triggered = 0;
  EXPECT_EQ(unit.run_and_trigger(range_operation::invalidate, 0, 96, 0, [&](time_ps at) { triggered = at; }),
            6 * cycle);
  EXPECT_EQ(triggered, 6 * cycle);
}

}  // namespace
}  // namespace situ::model
