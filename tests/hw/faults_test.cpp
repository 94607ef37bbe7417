// Faults, from which a node cannot go on: `fault` has the number in the cycle after that of the fault.
#include <gtest/gtest.h>

#include "hw/loaded_node.h"

namespace situ::hw {
namespace {

using model::on_message_0;
using model::on_timer;
using model::unit_fault;

// Runs on until there is a fault, and says in which cycle it was met.
cycle fault_met(loaded_node& node, unit_fault expected) {
  while (node.now() < 3000 && node.state.fault == 0) node.step();
  EXPECT_EQ(node.state.fault, static_cast<unsigned>(expected));
  return node.now() - 2;
}

code& at_900(code& program) { return program.timer_threshold(900).wait(on_timer); }

TEST(hw_faults, long_message_from_outside_the_memory) {
  for (const std::uint32_t from : {0xffffU, 0x10000U, 0x80000000U, 2U}) {
    code program;
    loaded_node node(at_900(program).send_long(7, 5, 0, 4, from).halt());
    EXPECT_EQ(fault_met(node, unit_fault::outside_memory), 910U) << "GRANT; from " << from;
  }
  code program;
  loaded_node node(at_900(program).send_long(7, 5, 0, 9, 0xfff8).halt());
  EXPECT_EQ(fault_met(node, unit_fault::outside_memory), 912U) << "the third word's GRANT";
}

TEST(hw_faults, whole_memory_is_inside) {
  code program;
  loaded_node node(at_900(program).send_long(7, 5, 0, 0x10000, 0).halt());
  node.step_to(900 + 13 + 16384 + 10);
  EXPECT_EQ(node.state.fault, 0U);
  EXPECT_EQ(node.take_out(request_lane).size(), 4U + 16384U);
}

TEST(hw_faults, one_word_more_than_the_memory) {
  for (const std::uint32_t bytes : {0x10001U, 0x20000U, 0xfffffff0U}) {
    code program;
    loaded_node node(at_900(program).send_long(7, 5, 0, bytes, 0).halt());
    node.step_to(900 + 10 + 16384);
    EXPECT_EQ(node.state.fault, 0U);
    node.step_to(900 + 10 + 16384 + 2);
    EXPECT_EQ(node.state.fault, static_cast<unsigned>(unit_fault::outside_memory));
  }
}

TEST(hw_faults, long_message_to_outside_the_memory) {
  for (const std::uint32_t at : {0x10000U, 0x40000000U, 6U}) {
    loaded_node node(code().message_counter(0, 7, 1).halt());
    node.inject(request_lane, long_packet(own_node, 3, 7, at, 4, {1}), 910);
    EXPECT_EQ(fault_met(node, unit_fault::outside_memory), 916U) << "FILL in 14, GRANT in 16";
    node.step_to(node.now() + 20);
    EXPECT_EQ(node.memory[at / 4 % 0x4000], 0U);
  }
}

TEST(hw_faults, reply_with_nothing_to_answer) {
  code program;
  loaded_node node(at_900(program).reply(7).halt());
  EXPECT_EQ(fault_met(node, unit_fault::nothing_to_answer), 902U);
  EXPECT_TRUE(node.state.halted);
}

// PAMS knows only tokens that came with a call. A packet in the lane of replies that says it is a request has none.
TEST(hw_faults, unknown_token) {
  loaded_node returns(code().message_counter(0, 7, 1).halt());
  returns.inject(reply_lane, short_packet(own_node, 3, 7), 910);
  EXPECT_EQ(fault_met(returns, unit_fault::unknown_token), 918U) << "COUNT in 17, FSL 2";
  loaded_node replies(code().message_counter(0, 7, 1, true).wait(on_message_0).reply(8).halt());
  replies.inject(reply_lane, short_packet(own_node, 3, 7), 910);
  EXPECT_EQ(fault_met(replies, unit_fault::unknown_token), 923U) << "the wait ends in 18, NODE is in 23";
}

TEST(hw_faults, handler_that_no_counter_counts) {
  loaded_node node(code().message_counter(0, 7, 1).transfer_counter(3, 9, 1).halt());
  node.inject(request_lane, short_packet(own_node, 3, 9), 910);
  node.step_to(950);
  EXPECT_EQ(node.state.fault, 0U);
  node.inject(request_lane, short_packet(own_node, 3, 8), 1010);
  EXPECT_EQ(fault_met(node, unit_fault::handler_not_counted), 1017U);
}

TEST(hw_faults, load_past_the_end) {
  loaded_node node(code().halt());
  node.inject(request_lane, short_packet(own_node, 3, model::handler_load, {511, 0, 0}), 910);
  // ARGUMENTS in 15 to 17, PAMS takes the word for 512 in 19, and would write it in 20.
  EXPECT_EQ(fault_met(node, unit_fault::outside_program), 920U);
}

TEST(hw_faults, load_past_the_end_changes_no_other_word) {
  loaded_node node(code().control(0, 1).halt());
  node.step_to(900);
  node.inject(request_lane, short_packet(own_node, 3, model::handler_load, {511, 0, 0}), 910);
  node.step_to(950);
  EXPECT_EQ(node.state.control_out, 1U);
  node.inject(request_lane, short_packet(own_node, 3, model::handler_start, {0}), 960);
  // COUNT in 968, FETCH and EXECUTE of control, FETCH and EXECUTE of halt in 972.
  node.step_to(973);
  EXPECT_FALSE(node.state.halted);
  node.step();
  EXPECT_TRUE(node.state.halted);
}

TEST(hw_faults, start_past_the_end) {
  for (const std::uint32_t address : {512U, 0x10000U}) {
    loaded_node node(code().halt());
    node.inject(request_lane, short_packet(own_node, 3, model::handler_start, {address}), 910);
    EXPECT_EQ(fault_met(node, unit_fault::outside_program), 918U) << "COUNT";
  }
}

TEST(hw_faults, program_that_runs_past_the_end) {
  code program;
  loaded_node node(program.control(0, 1).control(0, 3), 510);
  node.inject(request_lane, short_packet(own_node, 3, model::handler_start, {510}), 910);
  // COUNT in 18, FETCH and EXECUTE of 510 in 19 and 20, of 511 in 21 and 22.
  EXPECT_EQ(fault_met(node, unit_fault::outside_program), 923U);
  EXPECT_EQ(node.state.control_out, 3U);
}

TEST(hw_faults, operand_past_the_end) {
  loaded_node node(code().raw(static_cast<std::uint32_t>(pams_operation::timer_offset) << 28), 511);
  node.inject(request_lane, short_packet(own_node, 3, model::handler_start, {511}), 910);
  EXPECT_EQ(fault_met(node, unit_fault::outside_program), 921U) << "OPERAND";
}

TEST(hw_faults, unknown_instructions) {
  for (const std::uint32_t instruction : {14U << 28, 15U << 28, 9U << 28 | 3U << 10}) {
    code program;
    loaded_node node(at_900(program).raw(instruction).halt());
    EXPECT_EQ(fault_met(node, unit_fault::unknown_instruction), 902U) << std::hex << instruction;
  }
}

TEST(hw_faults, first_one_stays) {
  code program;
  loaded_node node(at_900(program).raw(15U << 28).halt());
  node.inject(request_lane, short_packet(own_node, 3, 8), 1010);
  EXPECT_EQ(fault_met(node, unit_fault::unknown_instruction), 902U);
  node.step_to(1100);
  EXPECT_EQ(node.state.fault, static_cast<unsigned>(unit_fault::unknown_instruction));
}

}  // namespace
}  // namespace situ::hw
