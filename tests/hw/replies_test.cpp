// Replies and tokens, lanes that stand, and the memory bus that all share.
#include <gtest/gtest.h>

#include <random>

#include "hw/loaded_node.h"

namespace situ::hw {
namespace {

using model::on_message_0;
using model::on_timer;
using model::on_transfer_0;

TEST(hw_node, reply_goes_to_the_source_of_the_token) {
  loaded_node node(code().message_counter(0, 7, 1, true).wait(on_message_0).reply(8, {timer}).halt());
  node.inject(request_lane, short_packet(own_node, 3, 7), 1010);
  node.step_to(1100);
  EXPECT_TRUE(node.take_out(request_lane).empty());
  const std::vector<out_word> out = node.take_out(reply_lane);
  ASSERT_EQ(out.size(), 5U);
  const words expected{model::packet_head(3, own_node), model::message_kind::word(8, 1, false, true), 0, 0, 1018 + 7};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(out[i].data, expected[i]) << i;
  EXPECT_EQ(out[0].at, 1018U + 5U);
  EXPECT_EQ(node.state.fault, 0U);
}

TEST(hw_node, remote_read) {
  loaded_node node(code().message_counter(0, 7, 1, true).wait(on_message_0).reply_long(8, 0x100, 8, 0x40).halt());
  node.memory[0x10] = 111;
  node.memory[0x11] = 222;
  node.inject(request_lane, short_packet(own_node, 9, 7), 1010);
  node.step_to(1100);
  const std::vector<out_word> out = node.take_out(reply_lane);
  ASSERT_EQ(out.size(), 6U);
  EXPECT_EQ(packets(out)[0],
            (words{model::packet_head(9, own_node), model::message_kind::word(8, 0, true, true), 0x100, 8, 111, 222}));
  EXPECT_EQ(out[4].at, 1018U + 13U);
}

TEST(hw_node, oldest_kept_token_is_answered_first) {
  loaded_node node(code()
                       .message_counter(0, 7, 3, true)
                       .wait(on_message_0)
                       .reply(8)
                       .reply(8)
                       .reply(8)
                       .message_counter(0, 7, 1, true)
                       .wait(on_message_0)
                       .reply(8)
                       .halt());
  for (const model::node_number source : {21, 22, 23})
    node.inject(request_lane, short_packet(own_node, source, 7), 910);
  node.inject(request_lane, short_packet(own_node, 24, 7), 1010);
  node.step_to(1100);
  const std::vector<words> replies = packets(node.take_out(reply_lane));
  ASSERT_EQ(replies.size(), 4U);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(model::destination(replies[i][0]), 21 + i);
  EXPECT_EQ(node.state.fault, 0U);
}

TEST(hw_node, tokens_return_without_a_reply) {
  loaded_node node(code().message_counter(0, 7, 100).wait(on_message_0).control(0, 1).halt());
  for (unsigned i = 0; i < 100; ++i) node.inject(request_lane, short_packet(own_node, 3, 7), 910);
  node.step_to(1600);
  EXPECT_EQ(node.state.control_out, 1U);
}

TEST(hw_node, requests_stand_without_a_token_and_replies_pass) {
  loaded_node node(code()
                       .message_counter(0, 7, 17, true)
                       .message_counter(1, 9, 1)
                       .wait(on_message_0 << 1)
                       .control(0, 1)
                       .reply(8)
                       .wait(on_message_0)
                       .control(0, 2)
                       .halt());
  for (unsigned i = 0; i < 17; ++i) node.inject(request_lane, short_packet(own_node, 3, 7), 910);
  node.step_to(1200);
  EXPECT_FALSE(node.all_taken(request_lane));
  EXPECT_EQ(node.state.control_out, 0U);
  node.inject(reply_lane, short_packet(own_node, 3, 9, {}, true), 1210);
  EXPECT_EQ(node.first_control(), 1221U);
  // The wait ended in 18. FETCH and EXECUTE of control are in 19 and 20, of the reply in 21 and 22; its NODE is in 25.
  // Its token is free in 26, and the head is taken; the request's COUNT is in 33.
  while (node.now() < 1226) {
    node.step();
    EXPECT_FALSE(node.state.in_read[request_lane]);
  }
  node.step();
  EXPECT_TRUE(node.state.in_read[request_lane]);
  node.step_to(1234);
  EXPECT_EQ(node.state.arrival_time, 1217U);
  node.step();
  EXPECT_EQ(node.state.arrival_time, 1233U);
  node.step_to(1300);
  EXPECT_EQ(node.state.control_out, 3U);
}

TEST(hw_node, reply_takes_the_lane_first) {
  loaded_node node(code().message_counter(0, 7, 9).wait(on_message_0).halt());
  node.inject(request_lane, short_packet(own_node, 3, 7), 910);
  node.inject(reply_lane, short_packet(own_node, 3, 7, {}, true), 910);
  node.step_to(911);
  EXPECT_TRUE(node.state.in_read[reply_lane]);
  EXPECT_FALSE(node.state.in_read[request_lane]);
  while (node.now() < 915) {
    node.step();
    EXPECT_FALSE(node.state.in_read[request_lane]);
  }
  node.step();
  EXPECT_TRUE(node.state.in_read[request_lane]) << "HEAD, five cycles later";
}

TEST(hw_node, full_out_holds_words_back) {
  loaded_node node(code().timer_threshold(900).wait(on_timer).send_long(7, 5, 0, 400, 0x80).send(8, 5, {timer}).halt());
  for (std::uint32_t i = 0; i < 100; ++i) node.memory[0x20 + i] = 3 * i;
  node.drains[request_lane] = false;
  node.step_to(1000);
  EXPECT_EQ(node.most_out[request_lane], 16U);
  while (node.now() < 1400) {
    node.drains[request_lane] = node.now() % 3 == 0;
    node.step();
  }
  EXPECT_EQ(node.most_out[request_lane], 16U);
  const std::vector<words> sent = packets(node.take_out(request_lane));
  ASSERT_EQ(sent.size(), 2U);
  ASSERT_EQ(sent[0].size(), 104U);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(sent[0][4 + i], 3 * i);
  EXPECT_EQ(sent[1][1], model::message_kind::word(8, 1, false, false));
}

// A node sends a long request and a long reply, and receives a long message, all at once.
TEST(hw_node, memory_bus_gives_turns) {
  loaded_node node(code()
                       .message_counter(0, 7, 1, true)
                       .wait(on_message_0)
                       .send_long(1, 5, 0, 4 * 60, 0x1000)
                       .reply_long(2, 0, 4 * 60, 0x2000)
                       .halt());
  words payload;
  for (std::uint32_t i = 0; i < 60; ++i) {
    node.memory[0x400 + i] = 1000 + i;
    node.memory[0x800 + i] = 2000 + i;
    payload.push_back(3000 + i);
  }
  node.inject(request_lane, short_packet(own_node, 3, 7), 910);
  node.inject(reply_lane, long_packet(own_node, 3, model::handler_start, 0x3000, 4 * 60, payload, true), 928, false);
  unsigned accesses = 0, writes = 0;
  for (; node.now() < 1010; node.step()) {
    if (node.now() >= 945) writes += node.state.memory_enable != 0 ? 1 : 0;
    if (node.now() >= 945) ++accesses;
  }
  EXPECT_NEAR(writes, accesses / 2, 2) << "a write in each second cycle";
  node.step_to(1300);
  for (std::uint32_t i = 0; i < 60; ++i) EXPECT_EQ(node.memory[0xc00 + i], 3000 + i);
  const words request = packets(node.take_out(request_lane)).at(0), reply = packets(node.take_out(reply_lane)).at(0);
  ASSERT_EQ(request.size(), 64U);
  ASSERT_EQ(reply.size(), 64U);
  for (std::uint32_t i = 0; i < 60; ++i) {
    EXPECT_EQ(request[4 + i], 1000 + i);
    EXPECT_EQ(reply[4 + i], 2000 + i);
  }
}

// Messages of all kinds in both lanes, with pauses before their words and behind `out`: all arrive whole.
TEST(hw_node, random_traffic_arrives_whole) {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    code program;
    program.message_counter(0, 7, 0, true).transfer_counter(1, 8, 0);
    // Each request is answered by a reply of 12 words, and followed by a long request of 9.
    const std::uint32_t loop = static_cast<std::uint32_t>(program.words.size());
    program.expect_messages(0, 1).wait(on_message_0).reply_long(9, 0x40, 45, 0x1000).send_long(9, 5, 4, 33, 0x1004);
    program.jump(loop);
    loaded_node node(program);
    for (std::uint32_t i = 0; i < 16; ++i) node.memory[0x400 + i] = 500 + i;
    cycle at = 900;
    std::vector<words> payloads;
    for (unsigned i = 0; i < 40; ++i) {
      at += random() % 20;
      node.inject(request_lane, short_packet(own_node, static_cast<model::node_number>(100 + i), 7), at);
      words payload(1 + random() % 12);
      for (std::uint32_t& word : payload) word = static_cast<std::uint32_t>(random());
      node.inject(reply_lane, long_packet(own_node, 3, 8, 0x4000 + 64 * i, 4 * payload.size(), payload, true), at);
      payloads.push_back(payload);
    }
    while (node.now() < 8000) {
      for (bool& drains : node.drains) drains = random() % 3 != 0;
      node.step();
    }
    EXPECT_EQ(node.state.fault, 0U);
    for (unsigned i = 0; i < 40; ++i)
      for (std::size_t j = 0; j < payloads[i].size(); ++j) EXPECT_EQ(node.memory[0x1000 + 16 * i + j], payloads[i][j]);
    const std::vector<words> replies = packets(node.take_out(reply_lane)),
                             requests = packets(node.take_out(request_lane));
    ASSERT_EQ(replies.size(), 40U);
    ASSERT_EQ(requests.size(), 40U);
    for (unsigned i = 0; i < 40; ++i) {
      EXPECT_EQ(model::destination(replies[i][0]), 100 + i);
      ASSERT_EQ(replies[i].size(), 4U + 12U);
      ASSERT_EQ(requests[i].size(), 4U + 9U);
      for (std::uint32_t j = 0; j < 12; ++j) EXPECT_EQ(replies[i][4 + j], 500 + j);
      for (std::uint32_t j = 0; j < 9; ++j) EXPECT_EQ(requests[i][4 + j], 501 + j);
    }
  }
}

}  // namespace
}  // namespace situ::hw
