// Two nodes whose words take as long from one to the other as over two NetIfs of a chip: tables 4 and 5 of the paper.
#include <gtest/gtest.h>

#include <array>

#include "hw/loaded_node.h"

namespace situ::hw {
namespace {

using model::on_message_0;
using model::on_timer;
using model::on_transfer_0;

// ROUTE, PASS, MUX, DELIVER: a word written in cycle 5 is in the other node's `in` in cycle 10.
constexpr cycle way = 5;

void run_pair(std::array<loaded_node*, 2> nodes, cycle end) {
  for (loaded_node* node : nodes) node->step_to(880);
  while (nodes[0]->now() < end) {
    for (loaded_node* node : nodes) node->step();
    for (unsigned i = 0; i < 2; ++i)
      for (unsigned lane = 0; lane < 2; ++lane)
        for (const out_word& word : nodes[i]->take_out(lane))
          nodes[1 - i]->inject(lane, {word.data}, word.at + way, word.is_last);
  }
}

TEST(hw_pair, short_message_there_and_back) {
  loaded_node first(
      code().message_counter(0, 7, 1).timer_threshold(900).wait(on_timer).send(7, 5).wait(on_message_0).halt());
  loaded_node second(code().message_counter(0, 7, 1).wait(on_message_0).send(7, 5).halt());
  run_pair({&first, &second}, 1000);
  EXPECT_EQ(second.state.arrival_time, 900U + 17U);
  EXPECT_EQ(first.state.arrival_time, 900U + 35U);
  EXPECT_TRUE(first.state.halted);
}

TEST(hw_pair, remote_write) {
  loaded_node first(code().timer_threshold(900).wait(on_timer).send_long(7, 5, 0x80, 4, 0x40).halt());
  loaded_node second(code().transfer_counter(0, 7, 4).wait(on_transfer_0).halt());
  first.memory[0x10] = 4711;
  run_pair({&first, &second}, 1000);
  EXPECT_EQ(second.state.arrival_time, 900U + 29U);
  EXPECT_EQ(second.memory[0x20], 4711U);
}

TEST(hw_pair, remote_read) {
  loaded_node first(
      code().transfer_counter(0, 8, 4).timer_threshold(900).wait(on_timer).send(7, 5).wait(on_transfer_0).halt());
  loaded_node second(code().message_counter(0, 7, 1, true).wait(on_message_0).reply_long(8, 0x80, 4, 0x40).halt());
  second.memory[0x10] = 4711;
  run_pair({&first, &second}, 1000);
  EXPECT_EQ(first.state.arrival_time, 900U + 47U);
  EXPECT_EQ(first.memory[0x20], 4711U);
  EXPECT_TRUE(first.state.halted);
}

}  // namespace
}  // namespace situ::hw
