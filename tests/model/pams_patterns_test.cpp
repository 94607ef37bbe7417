// Barriers and exchanges as programs of PAMS: nobody leaves a barrier before all have come, and an exchange that is
// repeated moves the bytes of each step. The cycles of the paper's barriers are theirs.
#include <situ/base/error.h>
#include <situ/model/pams_board.h>
#include <situ/model/pams_patterns.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/message_units/message_network.h"

namespace situ::model {
namespace {

constexpr std::uint32_t start_time = 20'000;
constexpr std::uint32_t nodes = 16;

std::vector<std::uint32_t> chips() {
  std::vector<std::uint32_t> all;
  for (std::uint32_t node = 0; node < nodes; ++node) all.push_back(node / 4);
  return all;
}

void start_at(std::span<pams_program> programs, std::uint32_t time, std::uint32_t node_delay = 0) {
  for (std::uint32_t node = 0; node < programs.size(); ++node)
    programs[node].timer_threshold(time + node_delay * (node * 7 % 16)).wait(pams_program::timer_is_over());
}

void load_all(pams_board& board, std::span<pams_program> programs) {
  for (std::uint32_t node = 0; node < programs.size(); ++node) board.load(node, programs[node].halt().words());
}

struct times {
  std::int64_t node_0 = 0;
  std::int64_t all = 0;
};
times run(const pams_barrier& barrier, int rounds) {
  std::vector<pams_program> programs(nodes);
  barrier.begin(programs);
  start_at(programs, start_time);
  for (int round = 0; round < rounds; ++round) barrier.append(programs);
  pams_board board;
  load_all(board, programs);
  board.run();
  times found{static_cast<std::int64_t>(board.arrival_time(0)) - start_time, 0};
  for (unsigned node = 0; node < nodes; ++node)
    found.all = std::max(found.all, static_cast<std::int64_t>(board.arrival_time(node)) - start_time);
  return found;
}

TEST(pams_barrier, takes_the_paper_s_cycles) {
  const times simple = run(pams_barrier::simple(nodes), 1), per_chip = run(pams_barrier::per_chip(chips()), 1);
  EXPECT_EQ(simple.node_0, 87);
  EXPECT_EQ(simple.all, 196);
  EXPECT_EQ(per_chip.node_0, 62);
  EXPECT_EQ(per_chip.all, 148);
  EXPECT_LT(run(pams_barrier::tree(nodes, 4), 1).all, simple.all);
}

TEST(pams_barrier, has_a_tree_of_any_width) {
  EXPECT_EQ(pams_barrier::tree(7, 2).parents(), (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(pams_barrier::per_chip(std::vector<std::uint32_t>{3, 3, 1, 3, 1}).parents(),
            (std::vector<std::uint32_t>{0, 0, 0, 0, 2}));
  EXPECT_THROW((void)pams_barrier::tree(7, 0), error);
}

// Each node tells the loader before and after each barrier: all words of before come before any of after.
TEST(pams_barrier, holds_everybody_until_all_have_come) {
  for (const pams_barrier& barrier : {pams_barrier::simple(nodes), pams_barrier::per_chip(chips()),
                                      pams_barrier::tree(nodes, 2), pams_barrier::tree(nodes, 1)}) {
    std::vector<pams_program> programs(nodes);
    barrier.begin(programs);
    start_at(programs, start_time, 40);
    constexpr std::uint32_t rounds = 3;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (pams_program& each : programs) each.send(20, 16, {2 * round, pams_program::own_value::timer});
      barrier.append(programs);
      for (pams_program& each : programs) each.send(20, 16, {2 * round + 1, pams_program::own_value::timer});
    }
    pams_board board;
    load_all(board, programs);
    board.run();
    std::vector<std::uint32_t> first(2 * rounds, ~0U), last(2 * rounds, 0);
    for (const pams_board::call& each : board.calls()) {
      first.at(each.arguments.at(0)) = std::min(first.at(each.arguments[0]), each.arguments.at(1));
      last.at(each.arguments[0]) = std::max(last.at(each.arguments[0]), each.arguments[1]);
    }
    EXPECT_EQ(board.calls().size(), 2 * rounds * nodes);
    for (std::uint32_t round = 0; round < rounds; ++round) EXPECT_LT(last[2 * round], first[2 * round + 1]);
  }
}

TEST(pams_barrier, wants_a_program_for_each_node) {
  std::vector<pams_program> programs(3);
  EXPECT_THROW(pams_barrier::simple(4).begin(programs), error);
  EXPECT_THROW(pams_barrier::simple(4).append(programs), error);
}

// --- exchanges

std::vector<pams_transfer> random_transfers(std::mt19937& random) {
  std::vector<pams_transfer> all;
  for (std::uint32_t from = 0; from < nodes; ++from)
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto to = static_cast<std::uint32_t>((from + 1 + random() % (nodes - 1)) % nodes);
      const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
      all.push_back({from, to, {0x4000 + (from * 3 + i) * 256, 4 + below(63) * 4, below(1024) * 4}});
    }
  return all;
}

TEST(pams_exchange, moves_the_bytes_of_all_transfers) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random{seed};
    const std::vector<pams_transfer> transfers = random_transfers(random);
    const pams_exchange exchange{nodes, transfers};
    std::vector<pams_program> programs(nodes);
    exchange.begin(programs);
    start_at(programs, start_time, seed);
    for (int step = 0; step < 3; ++step) exchange.append(programs);
    pams_board board;
    for (unsigned node = 0; node < nodes; ++node)
      for (std::uint32_t& word : board.memory(node).first(2048)) word = random();
    load_all(board, programs);
    board.run();
    for (const pams_transfer& each : transfers)
      for (std::uint32_t word = 0; word < each.data.bytes / 4; ++word)
        ASSERT_EQ(board.memory(each.to_node)[each.data.at / 4 + word],
                  board.memory(each.from_node)[each.data.from / 4 + word]);
  }
}

// A core that computes between the steps, by PAMS's control signals: each step's bytes are read before the next ones
// come, whatever time a core takes.
TEST(pams_exchange, waits_for_whoever_reads_the_bytes_before) {
  std::vector<pams_transfer> ring;
  for (std::uint32_t node = 0; node < nodes; ++node) ring.push_back({node, (node + 1) % nodes, {0x100, 64, 0}});
  const pams_exchange exchange{nodes, ring};
  std::vector<pams_program> programs(nodes);
  exchange.begin(programs);
  start_at(programs, start_time);
  constexpr std::uint32_t steps = 4;
  for (std::uint32_t step = 0; step < steps; ++step) {
    exchange.append(programs);
    for (pams_program& each : programs) each.control({0}).wait(pams_program::input_is_set(0)).control({}, {0});
  }
  pams_board board;
  load_all(board, programs);
  std::vector<std::uint32_t> computed(nodes, 0);
  std::mt19937 random{1};
  for (std::uint32_t done = 0; done < steps * nodes;) {
    (void)board.network().run(board.now() + random() % 200 + 1);
    const unsigned node = random() % nodes;
    node_ports& ports = board.network().ports(node);
    if ((ports.control_out & 1) == 0) continue;
    for (std::uint32_t word = 0; word < 16; ++word) {
      ASSERT_EQ(ports.memory[0x40 + word], computed[node]) << "step " << computed[node] << " of node " << node;
      ++ports.memory[word];
    }
    ++computed[node];
    ++done;
    ports.control_in = 1;
    board.network().wake(node);
    (void)board.network().run(board.now() + 5);  // by then the program has seen it, and taken its output back
    ASSERT_EQ(ports.control_out & 1, 0);
    ports.control_in = 0;
  }
  EXPECT_EQ(board.try_run(), pams_board::outcome::finished) << board.report();
}

TEST(pams_exchange, refuses_nodes_that_are_not_there) {
  EXPECT_THROW((pams_exchange{4, {{0, 4, {0, 4, 0}}}}), error);
  EXPECT_THROW((pams_exchange{4, {{2, 2, {0, 4, 0}}}}), error);
}

}  // namespace
}  // namespace situ::model
