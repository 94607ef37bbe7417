// Which memory comes next, and who is charged for what.
#include "preload/spill.h"

#include "preload/policy.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace situ::preload;
constexpr std::uint64_t mib = std::uint64_t{1} << 20;

// Two budgets, of 8 and 16 MiB, and a node.
std::unique_ptr<control> three_memories() {
  auto all = std::make_unique<control>();
  all->memory_count = 3;
  all->memories[0].budget_bytes = 8 * mib;
  all->memories[1].budget_bytes = 16 * mib;
  for (std::uint32_t i = 0; i < 3; ++i) {
    all->memories[i].step = i;
    all->memories[i].fill = 1;
  }
  return all;
}
memory_use empty_node(std::uint32_t) { return {.total_bytes = 100 * mib, .used_bytes = 10 * mib}; }
std::uint64_t used(const control& all, int i) { return all.memories[i].used.load() / mib; }

TEST(preload_spill, memories_fill_in_order_to_the_byte) {
  const auto all = three_memories();
  process_row& row = *take_row(*all, 1);
  EXPECT_EQ(choose(*all, no_memory, 0, empty_node), 0u);
  EXPECT_EQ(charge(*all, row, 5 * mib, 0, 0, empty_node), 0u);
  EXPECT_EQ(charge(*all, row, 5 * mib, 0, 0, empty_node), 1u);
  EXPECT_EQ(used(*all, 0), 8u);
  EXPECT_EQ(used(*all, 1), 2u);
  EXPECT_EQ(charge(*all, row, 30 * mib, 1, 0, empty_node), 2u);
  EXPECT_EQ(used(*all, 1), 16u);
  EXPECT_EQ(used(*all, 2), 16u);
  note_peak(*all);
  give_back(*all, row, 20 * mib);
  EXPECT_EQ(used(*all, 2), 0u) << "the worst memory first";
  EXPECT_EQ(used(*all, 1), 12u);
  EXPECT_EQ(all->total.load(), 20 * mib);
  EXPECT_EQ(all->memories[2].at_peak.load(), 16 * mib);
  release(*all, row);
  EXPECT_EQ(all->total.load(), 0u);
  EXPECT_EQ(row.process.load(), 0);
}

TEST(preload_spill, the_kernels_policy_comes_before_all_memories_while_one_has_room) {
  const auto all = three_memories();
  all->memories[2].node = 7;
  EXPECT_EQ(policy_for(*all, 2, true).mode, static_cast<std::uint32_t>(MPOL_PREFERRED));
  EXPECT_EQ(policy_for(*all, 2, true).first_node(), 7u);
  all->kernel_policy = 17;
  EXPECT_EQ(policy_for(*all, 2, true), policy{.mode = 17}) << "without nodes";
  EXPECT_EQ(policy_for(*all, 2, false).mode, static_cast<std::uint32_t>(MPOL_PREFERRED));
  EXPECT_EQ(policy_for(*all, 2, false).first_node(), 7u);
}

TEST(preload_spill, a_threshold_and_what_a_node_keeps_for_itself) {
  const auto all = three_memories();
  memory_row& node = all->memories[2];
  node.fill = 0.9;
  EXPECT_EQ(room_of(node, {100 * mib, 10 * mib}), 80 * mib);
  EXPECT_EQ(room_of(node, {100 * mib, 95 * mib}), 0u);
  node.kept_bytes = 30 * mib;
  EXPECT_EQ(room_of(node, {100 * mib, 10 * mib}), 60 * mib);
  EXPECT_EQ(room_of(node, {}), ~std::uint64_t{0}) << "the kernel does not tell";
  all->memories[0].fill = 0.5;
  EXPECT_EQ(room_of(all->memories[0], {}), 4 * mib);
}

TEST(preload_spill, nobody_goes_back_for_a_few_pages) {
  auto all = std::make_unique<control>();
  all->memory_count = 2;
  all->memories[1].step = 1;
  std::uint64_t unused = 0;
  const auto use = [&](std::uint32_t i) { return memory_use{1024 * mib, i == 0 ? 1024 * mib - unused : 0}; };
  unused = 104 * mib;  // 1.6 MiB below the threshold of 90%
  EXPECT_EQ(choose(*all, no_memory, 0, use), 0u);
  EXPECT_EQ(choose(*all, 0, 0, use), 0u) << "it keeps its turn";
  EXPECT_EQ(choose(*all, 1, 0, use), 1u);
  unused = 120 * mib;
  EXPECT_EQ(choose(*all, 1, 0, use), 0u) << "16 MiB are worth it";
  EXPECT_EQ(choose(*all, 1, 1, use), 1u) << "it may not be used";
}

TEST(preload_spill, memories_of_a_step_take_turns_by_weight) {
  const auto all = three_memories();
  for (memory_row& each : all->memories) each.step = 0;
  all->memories[0].weight = 3;
  all->memories[0].budget_bytes = all->memories[1].budget_bytes = 100 * mib;
  process_row& row = *take_row(*all, 1);
  std::uint32_t to = no_memory;
  for (int i = 0; i < 50; ++i) {
    to = choose(*all, to, 4, empty_node);
    charge(*all, row, mib, to, 4, empty_node);
  }
  EXPECT_NEAR(static_cast<double>(used(*all, 0)), 37.5, 2);
  EXPECT_NEAR(static_cast<double>(used(*all, 1)), 12.5, 2);
}

TEST(preload_spill, past_all_memories_the_last_one_is_charged) {
  const auto all = three_memories();
  all->memory_count = 2;
  process_row& row = *take_row(*all, 1);
  charge(*all, row, 100 * mib, 0, 0, empty_node);
  EXPECT_EQ(used(*all, 0), 8u);
  EXPECT_EQ(used(*all, 1), 92u);
  EXPECT_EQ(choose(*all, 1, 0, empty_node), no_memory);
  EXPECT_EQ(last_of(*all, 0), 1u);
  EXPECT_EQ(last_of(*all, 2), 0u);
  EXPECT_EQ(last_of(*all, 3), no_memory);
}

TEST(preload_spill, a_process_that_becomes_another_program_begins_anew) {
  const auto all = three_memories();
  process_row* const row = take_row(*all, 7);
  charge(*all, *row, 5 * mib, 0, 0, empty_node);
  EXPECT_EQ(take_row(*all, 7), row);
  EXPECT_EQ(all->total.load(), 0u);
  for (std::uint32_t i = 1; i < most_processes; ++i)
    EXPECT_NE(take_row(*all, static_cast<std::int32_t>(100 + i)), nullptr);
  EXPECT_EQ(take_row(*all, 9999), nullptr);
  EXPECT_EQ(all->uncounted.load(), 1u);
}

TEST(preload_spill, a_row_is_given_back_for_its_own_process_alone) {
  const auto all = three_memories();
  process_row* const row = take_row(*all, 7);
  charge(*all, *row, 5 * mib, 0, 0, empty_node);
  release_of(*all, *row, 6);  // which had it before
  EXPECT_EQ(all->total.load(), 5 * mib);
  EXPECT_EQ(row->process.load(), 7);
  release_of(*all, *row, 7);
  EXPECT_EQ(all->total.load(), 0u);
  EXPECT_EQ(row->process.load(), 0);
}

// Many at a time never take more of a budget than it has, and in the end all of it is given back.
TEST(preload_spill, processes_that_race_share_a_budget) {
  const auto all = three_memories();
  std::atomic<std::uint64_t> most{0};
  std::vector<std::thread> threads;
  for (std::int32_t process = 1; process <= 4; ++process)
    threads.emplace_back([&, process] {
      process_row& row = *take_row(*all, process);
      for (int i = 0; i < 20000; ++i) {
        charge(*all, row, 4096 * static_cast<std::uint64_t>(1 + i % 700), 0, 0, empty_node);
        note_peak(*all);
        const std::uint64_t now = all->memories[0].used.load();
        for (std::uint64_t old = most.load(); now > old && !most.compare_exchange_weak(old, now);) {}
        give_back(*all, row, 4096 * static_cast<std::uint64_t>(1 + i % 700));
      }
      release(*all, row);
    });
  for (std::thread& each : threads) each.join();
  EXPECT_LE(most.load(), 8 * mib);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all->memories[i].used.load(), 0u);
  EXPECT_EQ(all->total.load(), 0u);
}

}  // namespace
