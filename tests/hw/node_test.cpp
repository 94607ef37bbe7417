// The worked examples of docs/design/message_units.md, to the cycle. In the tests of sending, the page's cycle 0, in which
// a wait ends, is cycle 900; in those of receiving, its cycle 10 is cycle 1010 or 910.
#include <gtest/gtest.h>

#include "hw/loaded_node.h"

namespace situ::hw {
namespace {

using model::on_control_0;
using model::on_message_0;
using model::on_sent;
using model::on_timer;
using model::on_transfer_0;

TEST(hw_node, short_message_sent) {
  loaded_node node(code().timer_threshold(900).wait(on_timer).send(7, 5).halt());
  node.step_to(1000);
  const std::vector<out_word> out = node.take_out(request_lane);
  ASSERT_EQ(out.size(), 4U);
  const words expected{model::packet_head(5, own_node), model::message_kind::word(7, 0, false, false), 0, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(out[i].data, expected[i]) << i;
    EXPECT_EQ(out[i].at, 900 + 5 + i) << i;
    EXPECT_EQ(out[i].is_last, i == 3) << i;
  }
  EXPECT_TRUE(node.state.halted);
}

TEST(hw_node, short_message_received) {
  loaded_node node(code().message_counter(0, 7, 1).wait(on_message_0).control(0, 1).halt());
  node.inject(request_lane, short_packet(own_node, 3, 7), 1010);
  node.step_to(1010);
  node.step();
  EXPECT_TRUE(node.state.in_read[request_lane]) << "HEAD, in cycle 10";
  node.step_to(1018);
  EXPECT_NE(node.state.arrival_time, 1017U);
  node.step();
  EXPECT_EQ(node.state.arrival_time, 1017U) << "COUNT, in cycle 17, is seen in cycle 18";
  // WAIT in 18, FETCH, EXECUTE in 20.
  EXPECT_EQ(node.first_control(), 1021U);
  EXPECT_EQ(node.state.fault, 0U);
}

TEST(hw_node, turns_around_in_one_cycle) {
  loaded_node node(code().message_counter(0, 7, 1).wait(on_message_0).send(7, 3).halt());
  node.inject(request_lane, short_packet(own_node, 3, 7), 1010);
  node.step_to(1100);
  const std::vector<out_word> out = node.take_out(request_lane);
  ASSERT_EQ(out.size(), 4U);
  EXPECT_EQ(out[0].at, 1018U + 5U);
  EXPECT_EQ(out[3].at, 1018U + 8U);
}

TEST(hw_node, long_message_of_one_word_sent) {
  loaded_node node(code().timer_threshold(900).wait(on_timer).send_long(7, 5, 0x40, 4, 0x80).halt());
  node.memory[0x20] = 0x12345678;
  node.step_to(1000);
  const std::vector<out_word> out = node.take_out(request_lane);
  ASSERT_EQ(out.size(), 5U);
  const words expected{model::packet_head(5, own_node), model::message_kind::word(7, 0, true, false), 0x40, 4,
                       0x12345678};
  const cycle cycles[]{905, 906, 907, 908, 913};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(out[i].data, expected[i]) << i;
    EXPECT_EQ(out[i].at, cycles[i]) << i;
    EXPECT_EQ(out[i].is_last, i == 4) << i;
  }
}

TEST(hw_node, long_message_of_one_word_received) {
  loaded_node node(code().transfer_counter(2, 7, 4).wait(on_transfer_0 << 2).control(0, 1).halt());
  const words packet = long_packet(own_node, 3, 7, 0x40, 4, {0xabcdef01});
  node.inject(request_lane, {packet.begin(), packet.end() - 1}, 1010, false);
  node.inject(request_lane, {packet.back()}, 1018);
  node.step_to(1021);
  EXPECT_EQ(node.memory[0x10], 0U);
  node.step();
  EXPECT_EQ(node.memory[0x10], 0xabcdef01U) << "WRITE, in cycle 21";
  EXPECT_EQ(node.first_control(), 1029U + 4U);
  EXPECT_EQ(node.state.arrival_time, 1029U) << "COUNT, in cycle 29";
}

TEST(hw_node, each_further_word_takes_a_cycle) {
  for (const std::uint32_t count : {1U, 2U, 3U, 20U, 300U}) {
    loaded_node node(code().timer_threshold(900).wait(on_timer).send_long(7, 5, 0, 4 * count, 0x80).halt());
    for (std::uint32_t i = 0; i < count; ++i) node.memory[0x20 + i] = 1000 * i;
    node.step_to(1500);
    const std::vector<out_word> out = node.take_out(request_lane);
    ASSERT_EQ(out.size(), 4 + count);
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(out[4 + i].data, 1000 * i);
      EXPECT_EQ(out[4 + i].at, 913 + i);
      EXPECT_EQ(out[4 + i].is_last, i + 1 == count);
    }
  }
}

TEST(hw_node, each_further_word_is_written_in_a_cycle) {
  for (const std::uint32_t count : {2U, 3U, 20U, 300U}) {
    loaded_node node(code().transfer_counter(0, 7, 4 * count).wait(on_transfer_0).control(0, 1).halt());
    words payload;
    for (std::uint32_t i = 0; i < count; ++i) payload.push_back(77 * i);
    node.inject(request_lane, long_packet(own_node, 3, 7, 0x40, 4 * count, payload), 1010);
    node.step_to(1500);
    for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(node.memory[0x10 + i], 77 * i) << i;
    // Without a pause before the payload, the first word is taken in cycle 14 instead of 18.
    EXPECT_EQ(node.state.arrival_time, 1025U + count - 1);
  }
}

TEST(hw_node, last_word_writes_only_its_bytes) {
  const std::uint32_t expected[]{0, 0xffffff11, 0xffff2211, 0xff332211};
  for (const std::uint32_t bytes : {1U, 2U, 3U}) {
    loaded_node node(code().transfer_counter(0, 7, 4 + bytes).wait(on_transfer_0).control(0, 1).halt());
    node.memory[0x10] = node.memory[0x11] = node.memory[0x12] = 0xffffffff;
    node.inject(request_lane, long_packet(own_node, 3, 7, 0x40, 4 + bytes, {5, 0x44332211}), 1010);
    node.step_to(1100);
    EXPECT_EQ(node.memory[0x10], 5U);
    EXPECT_EQ(node.memory[0x11], expected[bytes]);
    EXPECT_EQ(node.memory[0x12], 0xffffffffU);
    EXPECT_EQ(node.state.control_out, 1U) << "the counter has all bytes";
  }
}

TEST(hw_node, long_message_without_bytes) {
  loaded_node node(code().message_counter(0, 7, 1).wait(on_message_0).send_long(9, 5, 0x40, 0, 0x80).halt());
  node.inject(request_lane, long_packet(own_node, 3, 7, 0x40, 0, {}), 1010);
  node.step_to(1100);
  // HEAD in 10, BYTES in 13, CALL in 14 to 17, PAMS takes the last word in 19.
  EXPECT_EQ(node.state.arrival_time, 1020U);
  const std::vector<out_word> out = node.take_out(request_lane);
  ASSERT_EQ(out.size(), 4U);
  EXPECT_EQ(out[3].at, 1021U + 8U);
  EXPECT_TRUE(out[3].is_last);
}

TEST(hw_node, sends_every_six_cycles) {
  loaded_node node(code().timer_threshold(900).wait(on_timer).send(1, 2).send(2, 2).send(3, 2).send(4, 2).halt());
  node.step_to(1000);
  const std::vector<out_word> out = node.take_out(request_lane);
  ASSERT_EQ(out.size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(out[i].at, 905 + i / 4 * 6 + i % 4) << i;
}

TEST(hw_node, takes_a_call_every_five_cycles) {
  loaded_node node(code().message_counter(0, 7, 10).wait(on_message_0).control(0, 1).halt());
  for (unsigned i = 0; i < 10; ++i) node.inject(request_lane, short_packet(own_node, 3, 7), 1010 + 4 * i);
  EXPECT_EQ(node.first_control(), 1017U + 9 * 5 + 4);
}

TEST(hw_node, arguments_from_code_timer_and_arrival) {
  loaded_node node(code()
                       .message_counter(0, 7, 1)
                       .wait(on_message_0)
                       .send(9, 2, {timer, {pams_argument::code, 77}, arrival_time})
                       .send(9, 2, {{pams_argument::code, 78}})
                       .halt());
  node.inject(request_lane, short_packet(own_node, 3, 7, {1, 2, 3}), 1010);
  node.step_to(1100);
  const std::vector<out_word> out = node.take_out(request_lane);
  ASSERT_EQ(out.size(), 12U);
  EXPECT_EQ(out[1].data, model::message_kind::word(9, 3, false, false));
  EXPECT_FALSE(out[3].is_last);
  // HEAD in 10, TAIL in 14, ARGUMENTS in 15 to 17, PAMS takes the last one in 19, COUNT in 20, the wait ends in 21; the
  // first argument is PAMS's word of cycle 7.
  EXPECT_EQ(out[4].data, 1021U + 7U);
  EXPECT_EQ(out[5].data, 77U);
  EXPECT_EQ(out[6].data, 1020U);
  EXPECT_TRUE(out[6].is_last);
  EXPECT_EQ(out[11].data, 78U);
}

TEST(hw_node, start_begins_after_count) {
  loaded_node node(code().control(0, 1).halt(), 300);
  node.inject(request_lane, short_packet(own_node, 3, model::handler_start, {300}), 1010);
  // HEAD in 10, ARGUMENTS in 15, PAMS takes the word in 17, COUNT in 18, FETCH, EXECUTE in 20.
  EXPECT_EQ(node.first_control(), 1021U);
  EXPECT_EQ(node.state.arrival_time, 1018U);
}

TEST(hw_node, program_fills_all_words) {
  code program;
  while (program.words.size() < model::pams_words - 2) program.control(0xf, program.words.size() & 0xf);
  program.control(0xf, 5).halt();
  loaded_node node(program);
  node.step_to(4000);
  EXPECT_EQ(node.state.control_out, 5U);
  EXPECT_TRUE(node.state.halted);
  EXPECT_EQ(node.state.fault, 0U);
}

TEST(hw_node, poll_counts_and_leaves_arrival_time) {
  loaded_node node(code().message_counter(0, model::handler_poll, 1).wait(on_message_0).control(0, 1).halt());
  node.inject(request_lane, short_packet(own_node, 3, model::handler_poll), 1010);
  node.step_to(1010);
  const std::uint32_t before = node.state.arrival_time;
  EXPECT_EQ(node.first_control(), 1021U);
  EXPECT_EQ(node.state.arrival_time, before);
}

TEST(hw_node, timer_offset_adds) {
  // FETCH is in 1, OPERAND in 3: in cycle 904 the timer is 904 + 5000. The argument is written seven cycles after
  // OPERAND.
  loaded_node node(
      code().timer_threshold(900).wait(on_timer).timer_offset(5000).send(9, 2, {timer}).timer_offset(-5000U).halt());
  node.step_to(1000);
  const std::vector<out_word> out = node.take_out(request_lane);
  ASSERT_EQ(out.size(), 5U);
  EXPECT_EQ(out[0].at, 903U + 5U);
  EXPECT_EQ(out[4].data, 903U + 7U + 5000U);
  node.inject(request_lane, short_packet(own_node, 3, model::handler_start, {0}), 1010);
  node.step_to(1050);
  EXPECT_EQ(node.state.arrival_time, 1018U) << "the second offset took the first one back";
}

TEST(hw_node, arrival_time_has_an_offset_of_the_cycle_before) {
  // COUNT is in 917. The wait ends three cycles before OPERAND.
  for (const unsigned operand : {915U, 916U, 917U, 918U}) {
    loaded_node node(
        code().message_counter(0, 7, 9).timer_threshold(operand - 3).wait(on_timer).timer_offset(5000).halt());
    node.inject(request_lane, short_packet(own_node, 3, 7), 910);
    node.step_to(1000);
    EXPECT_EQ(node.state.arrival_time, operand < 917 ? 5917U : 917U) << operand;
  }
}

TEST(hw_node, waits_for_control_inputs_and_several_conditions) {
  loaded_node node(
      code().message_counter(3, 7, 2).wait(on_control_0 << 2 | on_message_0 << 3 | on_sent).control(0, 1).halt());
  node.inject(request_lane, short_packet(own_node, 3, 7), 910);
  node.inject(request_lane, short_packet(own_node, 3, 7), 920);
  node.step_to(1000);
  EXPECT_EQ(node.state.control_out, 0U);
  node.control_in = 0xb;
  node.step_to(1020);
  EXPECT_EQ(node.state.control_out, 0U);
  node.control_in = 4;
  EXPECT_EQ(node.first_control(), 1020U + 3U);
}

TEST(hw_node, sent_holds_after_the_last_word) {
  loaded_node node(code().timer_threshold(900).wait(on_timer).send(7, 5).wait(on_sent).control(0, 1).halt());
  // TAIL in 8 writes FSL 4, PAMS takes the word in 9, the wait ends in 10.
  EXPECT_EQ(node.first_control(), 910U + 3U);
}

TEST(hw_node, expected_messages_and_bytes_add) {
  loaded_node node(code()
                       .message_counter(0, 7, 1)
                       .transfer_counter(0, 8, 4)
                       .expect_messages(0, 1)
                       .expect_bytes(0, 4)
                       .wait(on_message_0 | on_transfer_0)
                       .control(0, 1)
                       .halt());
  for (const cycle at : {1000, 1010}) node.inject(request_lane, short_packet(own_node, 3, 7), at);
  node.inject(request_lane, long_packet(own_node, 3, 8, 0, 4, {1}), 1020);
  node.step_to(1100);
  EXPECT_EQ(node.state.control_out, 0U);
  node.inject(request_lane, long_packet(own_node, 3, 8, 0, 4, {1}), 1110);
  EXPECT_EQ(node.first_control(), 1125U + 4U);
}

TEST(hw_node, counter_that_is_set_loses_the_call) {
  for (const unsigned earlier : {0U, 1U}) {
    // The wait ends three cycles before OPERAND, which is in the call's COUNT, cycle 917, or one before it.
    loaded_node node(code()
                         .message_counter(0, 7, 5)
                         .timer_threshold(914 - earlier)
                         .wait(on_timer)
                         .message_counter(0, 7, 1)
                         .wait(on_message_0)
                         .control(0, 1)
                         .halt());
    node.inject(request_lane, short_packet(own_node, 3, 7), 910);
    node.step_to(1000);
    EXPECT_EQ(node.state.control_out, earlier);
    EXPECT_EQ(node.state.fault, 0U);
  }
}

TEST(hw_node, jump_goes_on_elsewhere) {
  loaded_node node(code().jump(2).halt().control(0, 2).jump(1));
  node.step_to(1000);
  EXPECT_EQ(node.state.control_out, 2U);
  EXPECT_TRUE(node.state.halted);
}

}  // namespace
}  // namespace situ::hw
