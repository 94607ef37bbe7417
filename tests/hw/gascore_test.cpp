// GAScore with a computing element that is slower than PAMS, or wrong.
#include <gtest/gtest.h>

#include "hw/code.h"
#include "hw/gascore_rtl.h"
#include "hw/surroundings.h"

namespace situ::hw {
namespace {

using model::message_kind;
using model::unit_fault;

constexpr model::node_number own_node = 12;

// GAScore with FSLs of 16 words.
class gascore_harness : public surroundings {
 public:
  void step() {
    gascore_inputs inputs;
    show(inputs);
    inputs.call_count = static_cast<unsigned>(calls.size());
    inputs.return_exists = !returns.empty();
    if (inputs.return_exists) inputs.return_data = returns.front();
    for (unsigned lane = 0; lane < 2; ++lane) {
      inputs.request_exists[lane] = !requests[lane].empty();
      if (inputs.request_exists[lane]) inputs.request_data[lane] = requests[lane].front();
    }
    inputs.sent_count = static_cast<unsigned>(sent.size());
    state = gascore_.cycle(inputs);
    if (state.call_write) calls.push_back(state.call_data);
    if (state.return_read) returns.pop_front();
    for (unsigned lane = 0; lane < 2; ++lane)
      if (state.request_read[lane]) requests[lane].pop_front();
    if (state.sent[request_lane] || state.sent[reply_lane]) sent.push_back(state.sent);
    EXPECT_LE(calls.size(), fifo_places);
    EXPECT_LE(sent.size(), fifo_places);
    change(state);
  }
  void step_to(cycle end) {
    while (now() < end) step();
  }
  void request(unsigned lane, const words& request) {
    requests[lane].insert(requests[lane].end(), request.begin(), request.end());
  }

  std::deque<std::uint32_t> calls;
  std::deque<std::uint8_t> returns;
  std::array<std::deque<std::uint32_t>, 2> requests;  // FSL 3, and the words that the element has not written yet
  std::deque<std::array<bool, 2>> sent;
  gascore_outputs state;

 private:
  gascore_rtl gascore_{own_node};
};

TEST(hw_gascore, calls_wait_for_room_and_keep_their_order) {
  gascore_harness unit;
  words expected;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const auto handler = static_cast<std::uint8_t>(i);
    const words payload(i % 4, 1000 + i);
    const bool is_long = i % 3 == 1;
    unit.inject(reply_lane,
                is_long ? long_packet(own_node, 3, handler, 64 * i, 4 * payload.size(), payload, true)
                        : short_packet(own_node, 3, handler, payload, true),
                10);
    const auto arguments = static_cast<unsigned>(is_long ? 0 : payload.size());
    expected.insert(expected.end(), {message_kind::word(handler, arguments, is_long, true), 0, is_long ? 64 * i : 0,
                                     is_long ? static_cast<std::uint32_t>(4 * payload.size()) : 0});
    if (!is_long) expected.insert(expected.end(), payload.begin(), payload.end());
  }
  unit.step_to(100);
  EXPECT_EQ(unit.calls.size(), 16U) << "full, and nothing is lost";
  words taken;
  for (; unit.now() < 2000; unit.step()) {
    if (unit.now() % 5 != 0 || unit.calls.empty()) continue;
    taken.push_back(unit.calls.front());
    unit.calls.pop_front();
  }
  EXPECT_EQ(taken, expected);
  EXPECT_EQ(unit.state.fault, 0U);
}

TEST(hw_gascore, no_packet_begins_without_room_for_its_end) {
  gascore_harness unit;
  for (std::uint32_t i = 0; i < 20; ++i) unit.request(request_lane, {message_kind::word(7, 0, false, false), 5, 0, 0});
  unit.step_to(500);
  EXPECT_EQ(unit.sent.size(), 14U);
  EXPECT_EQ(packets(unit.take_out(request_lane)).size(), 14U);
  unit.sent.clear();
  unit.step_to(1000);
  EXPECT_EQ(unit.sent.size(), 6U);
  EXPECT_EQ(packets(unit.take_out(request_lane)).size(), 6U);
}

TEST(hw_gascore, one_word_tells_of_both_lanes) {
  gascore_harness unit;
  unit.inject(request_lane, short_packet(own_node, 3, 7), 5);
  unit.step_to(50);
  unit.request(request_lane, {message_kind::word(7, 1, false, false), 5, 0, 0, 11});
  unit.request(reply_lane, {message_kind::word(8, 1, false, true), model::token_word::is_done, 0, 0, 22});
  unit.step_to(100);
  ASSERT_EQ(unit.sent.size(), 1U);
  EXPECT_EQ(unit.sent.front(), (std::array{true, true}));
  EXPECT_EQ(packets(unit.take_out(request_lane)).at(0).back(), 11U);
  EXPECT_EQ(packets(unit.take_out(reply_lane)).at(0).front(), model::packet_head(3, own_node));
}

// A transmit and receive ask for the memory's port for the first time in the same cycle, 15.
TEST(hw_gascore, transmit_and_receive_take_turns) {
  gascore_harness unit;
  unit.inject(reply_lane, long_packet(own_node, 3, 7, 0x40, 16, {1, 2, 3, 4}, true), 10);
  unit.step_to(10);
  unit.request(request_lane, {message_kind::word(7, 0, true, false), 5, 0x80, 16, 0xc0});
  unit.step_to(18);
  EXPECT_EQ(unit.state.memory_address, 0x30U) << "READ of the transmit, in cycle 17";
  EXPECT_EQ(unit.state.memory_enable, 0U);
  for (const unsigned enable : {0xf, 0, 0xf, 0, 0xf, 0, 0xf, 0}) {
    unit.step();
    EXPECT_EQ(unit.state.memory_enable, enable) << "cycle " << unit.now() - 1;
  }
  const std::vector<out_word> out = unit.take_out(request_lane);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(out.at(4 + i).at, 19 + 2 * i);
}

TEST(hw_gascore, lowest_free_token_is_taken) {
  gascore_harness unit;
  const auto token_of_next_call = [&unit] {
    unit.inject(request_lane, short_packet(own_node, 3, 7), unit.now());
    unit.step_to(unit.now() + 20);
    const std::uint32_t token = unit.calls.at(1);
    unit.calls.clear();
    return token;
  };
  for (std::uint32_t i = 0; i < 15; ++i) EXPECT_EQ(token_of_next_call(), i);
  unit.returns = {9, 4, 14};
  unit.step();
  EXPECT_TRUE(unit.state.return_read);
  unit.step_to(unit.now() + 5);
  for (const std::uint32_t token : {4U, 9U, 14U, 15U}) EXPECT_EQ(token_of_next_call(), token);
  EXPECT_EQ(unit.state.fault, 0U);
}

TEST(hw_gascore, reply_without_is_done_keeps_the_token) {
  gascore_harness unit;
  unit.inject(request_lane, short_packet(own_node, 3, 7), 5);
  unit.step_to(50);
  for (const std::uint32_t word : {0U, 0U, model::token_word::is_done})
    unit.request(reply_lane, {message_kind::word(8, 0, false, true), word, 0, 0});
  unit.step_to(100);
  EXPECT_EQ(unit.state.fault, 0U);
  EXPECT_EQ(packets(unit.take_out(reply_lane)).size(), 3U);
  unit.request(reply_lane, {message_kind::word(8, 0, false, true), 0, 0, 0});
  unit.step_to(103);
  EXPECT_EQ(unit.state.fault, static_cast<unsigned>(unit_fault::unknown_token)) << "NODE was in cycle 101";
}

TEST(hw_gascore, unknown_tokens_are_faults) {
  for (const std::uint8_t token : {0, 1, 15, 16, 255}) {
    gascore_harness unit;
    unit.step_to(10);
    unit.returns = {token};
    unit.step();
    EXPECT_EQ(unit.state.fault, 0U);
    unit.step();
    EXPECT_EQ(unit.state.fault, static_cast<unsigned>(unit_fault::unknown_token)) << int{token};
  }
}

}  // namespace
}  // namespace situ::hw
