// GAScore and PAMS as RTL and as parts in C++, in lock step on 16 nodes: the paper's barriers, exchanges, and random
// programs, most of which end in a standstill or a fault. compared_node throws in the first cycle that differs.
#include <situ/model/pams_board.h>
#include <situ/model/pams_patterns.h>
#include <situ/model/pams_program.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "hw/modelled_node.h"
#include "model/message_units/message_network.h"

namespace situ::hw {
namespace {

using model::network_shape;
using model::pams_board;
using model::pams_program;

constexpr std::uint32_t nodes = 16;

void start_at(std::vector<pams_program>& programs, std::uint32_t time) {
  for (pams_program& each : programs) each.timer_threshold(time).wait(pams_program::timer_is_over());
}

std::uint32_t barrier(const pams_board::maker& makes) {
  constexpr std::uint32_t start_time = 8000;
  std::vector<pams_program> programs(nodes);
  const auto simple = model::pams_barrier::simple(nodes);
  simple.begin(programs);
  start_at(programs, start_time);
  simple.append(programs);
  pams_board board{network_shape::bee3(), makes};
  for (std::uint32_t node = 0; node < nodes; ++node) board.load(node, programs[node].halt().words());
  EXPECT_EQ(board.try_run(start_time + 10'000), pams_board::outcome::finished) << board.report();
  std::uint32_t last = 0;
  for (std::uint32_t node = 0; node < nodes; ++node) last = std::max(last, board.arrival_time(node) - start_time);
  return last;
}

TEST(hw_lockstep, has_the_paper_s_barrier) {
  EXPECT_EQ(barrier(compared_nodes()), 196U);
  EXPECT_EQ(barrier(rtl_nodes()), 196U);
}

TEST(hw_lockstep, moves_the_bytes_of_an_exchange) {
  std::vector<model::pams_transfer> ring;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    ring.push_back({node, (node + 1) % nodes, {0x4000, 4 + node * 20, 0x100}});
    ring.push_back({node, (node + nodes - 1) % nodes, {0x8000, 7 + node, 0x200}});
  }
  const model::pams_exchange exchange{nodes, ring};
  for (const auto& makes : {compared_nodes(), rtl_nodes()}) {
    std::vector<pams_program> programs(nodes);
    exchange.begin(programs);
    start_at(programs, 8000);
    for (int step = 0; step < 3; ++step) exchange.append(programs);
    pams_board board{network_shape::bee3(), makes};
    std::mt19937 random{7};
    for (std::uint32_t node = 0; node < nodes; ++node) {
      board.load(node, programs[node].halt().words());
      for (std::uint32_t& word : board.memory(node).first(1024)) word = static_cast<std::uint32_t>(random());
    }
    ASSERT_EQ(board.try_run(100'000), pams_board::outcome::finished) << board.report();
    for (const auto& each : ring)
      for (std::uint32_t word = 0; word < each.data.bytes / 4; ++word)
        ASSERT_EQ(board.memory(each.to_node)[each.data.at / 4 + word],
                  board.memory(each.from_node)[each.data.from / 4 + word]);
  }
}

// A program of random instructions. Its counters count all handlers that any program sends to. Counter 0 keeps the tokens
// of handler 1, one of which answers each reply; few programs end in a fault.
class random_program {
 public:
  explicit random_program(std::mt19937& random) : random_{random} {}

  pams_program make() {
    program_.message_counter(0, 1, 1, pams_program::tokens::kept);
    for (std::uint32_t counter = 1; counter < 4; ++counter) program_.message_counter(counter, 1 + counter, below(4));
    if (below(2) == 0) program_.transfer_counter(below(4), 1 + below(4), below(64));
    program_.timer_threshold(6000 + below(100)).wait(pams_program::timer_is_over());
    for (std::uint32_t left = 5 + below(30); left != 0; --left) add();
    return below(20) == 0 ? program_.jump(0) : program_.halt();
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  pams_program::arguments values() {
    pams_program::arguments made;
    for (std::uint32_t left = below(4); left != 0; --left) {
      const std::uint32_t what = below(3);
      if (what == 0)
        made.emplace_back(below(1000));
      else
        made.emplace_back(what == 1 ? pams_program::own_value::timer : pams_program::own_value::arrival_time);
    }
    return made;
  }
  pams_program::transfer data() {
    pams_program::transfer made{below(0x1000) * 4, below(80), below(0x1000) * 4};
    if (below(2000) == 0) made.at = 0xfff0 + below(5) * 4;
    return made;
  }
  void answer() {
    if (below(500) != 0) program_.wait(pams_program::messages_are_there(0));
    if (below(3) == 0)
      program_.reply_long(2 + below(3), data(), values());
    else
      program_.reply(2 + below(3), values());
    program_.expect_messages(0, 1);
  }
  void add() {
    switch (below(16)) {
      case 0: program_.expect_messages(1 + below(3), below(3)); return;
      case 1: program_.expect_bytes(below(4), below(64)); return;
      case 2: program_.control({below(4)}); return;
      case 3: program_.control({}, {below(4)}); return;
      case 4: program_.timer_offset(static_cast<std::int32_t>(below(7)) - 3); return;
      case 5: program_.wait(pams_program::requests_are_sent()); return;
      case 6:
        if (below(4) == 0) program_.wait(pams_program::messages_are_there(below(4)));
        return;
      case 7:
        if (below(4) != 0) return;
        program_.wait(pams_program::bytes_are_there(below(4)) | pams_program::messages_are_there(1 + below(3)));
        return;
      case 8:
        if (below(500) == 0) program_.word(0x90000001 | below(64) << 10);  // kinds of arguments that there are not
        return answer();
      case 9: {
        const std::uint32_t counter = 1 + below(3);
        program_.message_counter(counter, 1 + counter, below(3));
        return;
      }
      case 10:
      case 11:
      case 12: program_.send_long(1 + below(4), below(nodes), data(), values()); return;
      default: program_.send(below(3000) == 0 ? 5 : 1 + below(4), below(nodes), values()); return;
    }
  }

  std::mt19937& random_;
  pams_program program_;
};

TEST(hw_lockstep, agrees_on_random_programs) {
  // 10,000 programs, 16 a run; SITU_HW_RUNS sets another number of runs.
  const char* const asked = std::getenv("SITU_HW_RUNS");
  const unsigned runs = asked == nullptr ? 625 : static_cast<unsigned>(std::atoi(asked));
  std::array<unsigned, 4> ends{};
  for (unsigned seed = 0; seed < runs; ++seed) {
    std::mt19937 random{seed};
    pams_board board{network_shape::bee3(), compared_nodes()};
    for (std::uint32_t node = 0; node < nodes; ++node) {
      for (std::uint32_t& word : board.memory(node)) word = static_cast<std::uint32_t>(random());
      board.load(node, random_program{random}.make().words());
    }
    ASSERT_NO_THROW(++ends[static_cast<unsigned>(board.try_run(12'000))]) << "seed " << seed;
  }
  for (unsigned outcome = 0; outcome < ends.size(); ++outcome)
    RecordProperty("outcome " + std::to_string(outcome), static_cast<int>(ends[outcome]));
  std::printf("finished %u, stand %u, faults %u, cut off %u\n", ends[0], ends[1], ends[2], ends[3]);
  EXPECT_GT(ends[2], 0U);
  EXPECT_GT(ends[0] + ends[1], runs / 2);
}

}  // namespace
}  // namespace situ::hw
