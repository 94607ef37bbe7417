// The parts of GAScore's network alone: NetIfs, a link of the ring, the token buffer, the turns of the memory bus.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/message_units/message_network.h"
#include "model/message_units/net_interface.h"
#include "model/message_units/ring_link.h"
#include "model/message_units/scripted_element.h"
#include "model/message_units/token_buffer.h"

namespace situ::model {
namespace {

using testing::ElementsAre;

using cycles = std::vector<cycle>;

// Four words from cycle `first` on, one a cycle.
void put_packet(word_fifo& to, cycle now, cycle first, node_number receiver) {
  if (now < first || now >= first + 4) return;
  to.put({now == first ? packet_head(receiver, 0) : 0, now == first + 3}, now);
}

// Three NetIfs of a chip, each with a node's FIFOs.
struct interfaces {
  std::vector<two_lanes> out{3, lanes_of(64)}, in{3, lanes_of(64)};
  std::vector<net_interface> all;
  interfaces() {
    for (unsigned own = 0; own < 3; ++own) all.emplace_back(own, 3, std::vector<std::uint8_t>{0, 1, 2}, 16);
    for (unsigned own = 0; own < 3; ++own) {
      all[own].connect(out[own], in[own]);
      all[own].connect(all.data());
    }
  }
  void step(cycle now) {
    for (net_interface& each : all) (void)each.step(now);
  }
};

TEST(message_network_parts, a_netif_spends_a_cycle_in_release_after_each_packet) {
  interfaces chip;
  cycles delivered;
  for (cycle now = 0; now < 20; ++now) {
    put_packet(chip.out[0][0], now, now < 4 ? 0 : 4, 1);
    chip.step(now);
    if (chip.in[1][0].was_put(now)) delivered.push_back(now);
  }
  EXPECT_THAT(delivered, ElementsAre(4, 5, 6, 7, 9, 10, 11, 12));
}

TEST(message_network_parts, a_netif_takes_packets_of_its_channels_in_turns) {
  interfaces chip;
  std::vector<unsigned> sources;
  for (cycle now = 0; now < 80; ++now) {
    for (const unsigned from : {0U, 2U})
      if (now < 32)
        chip.out[from][0].put({now % 4 == 0 ? packet_head(1, static_cast<node_number>(from)) : 0, now % 4 == 3}, now);
    chip.step(now);
    if (chip.in[1][0].was_put(now) && destination(chip.in[1][0].back().word) == 1)
      sources.push_back(source(chip.in[1][0].back().word));
  }
  EXPECT_THAT(sources, ElementsAre(0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2));
}

TEST(message_network_parts, a_netif_delivers_a_reply_before_a_request) {
  interfaces chip;
  cycles requests, replies;
  for (cycle now = 0; now < 20; ++now) {
    put_packet(chip.out[0][0], now, 0, 1);
    put_packet(chip.out[2][1], now, 0, 1);
    chip.step(now);
    if (chip.in[1][0].was_put(now)) requests.push_back(now);
    if (chip.in[1][1].was_put(now)) replies.push_back(now);
  }
  EXPECT_THAT(replies, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(requests, ElementsAre(8, 9, 10, 11));
}

TEST(message_network_parts, a_link_takes_replies_first_and_keeps_lanes) {
  two_lanes from = lanes_of(16), to = lanes_of(16);
  ring_link link{3};
  link.connect(from, to);
  cycles requests, replies;
  for (cycle now = 0; now < 20; ++now) {
    if (now < 3)
      for (word_fifo& each : from) each.put({}, now);
    (void)link.step(now);
    if (to[0].was_put(now)) requests.push_back(now);
    if (to[1].was_put(now)) replies.push_back(now);
  }
  EXPECT_THAT(replies, ElementsAre(3, 4, 5));
  EXPECT_THAT(requests, ElementsAre(6, 7, 8));
}

TEST(message_network_parts, a_credit_comes_back_three_cycles_after_a_word_was_taken) {
  two_lanes from = lanes_of(16), to = lanes_of(2);
  ring_link link{3};
  link.connect(from, to);
  cycles left;
  for (cycle now = 0; now < 40; ++now) {
    if (now < 4) from[0].put({}, now);
    (void)link.step(now);
    if (from[0].was_taken(now)) left.push_back(now);
    if (now == 20 || now == 25) (void)to[0].take(now);
  }
  EXPECT_THAT(left, ElementsAre(1, 2, 23, 28));
}

TEST(message_network_parts, a_token_is_free_in_the_cycle_after_it_was_returned) {
  token_buffer tokens{2};
  tokens.begin_cycle();
  EXPECT_EQ(tokens.keep(7), 0U);
  tokens.begin_cycle();
  EXPECT_TRUE(tokens.free(0));
  EXPECT_FALSE(tokens.free(0));
  EXPECT_EQ(tokens.keep(8), 1U) << "token 0 was in use at the cycle's start";
  tokens.begin_cycle();
  EXPECT_EQ(tokens.keep(9), 0U);
  tokens.begin_cycle();
  EXPECT_TRUE(tokens.free(1));
  EXPECT_FALSE(tokens.has_free());
  EXPECT_FALSE(tokens.free(2));
  EXPECT_EQ(tokens.source(0), std::optional<node_number>{9});
  tokens.begin_cycle();
  EXPECT_TRUE(tokens.has_free());
}

// The cycles in which a node's units asked for the memory bus, in order, and whether for a write.
class bus_asks final : public unit_observer {
 public:
  void acted(cycle now, unsigned /*node*/, std::string_view /*unit*/, std::string_view state,
             std::uint32_t word) override {
    if (state == "ASK") all.emplace_back(now, word == 1);
  }
  std::vector<std::pair<cycle, bool>> all;
};

// Nodes 0 to 2 of a chip, with elements that are scripted.
struct scripted_chip {
  message_network network{{.chips = 1, .nodes_of_chip = 3, .nodes = {{.local = 0}, {.local = 1}, {.local = 2}}}};
  std::vector<scripted_element*> elements;

  scripted_chip() {
    for (unsigned node = 0; node < 3; ++node) {
      auto made = std::make_unique<scripted_element>();
      elements.push_back(made.get());
      network.put_element(node, std::move(made));
    }
  }
};

request_message long_message(std::uint32_t to, std::uint32_t bytes) {
  return {.handler = 5, .to = to, .arguments = {}, .is_long = true, .at = 0x1000, .bytes = bytes};
}

TEST(message_network_parts, neither_reads_nor_writes_wait_for_the_other_s_end) {
  scripted_chip all;
  bus_asks asks;
  all.network.ports(0).observer = &asks;
  all.elements[0]->send(long_message(2, 1024));
  all.elements[1]->send(long_message(0, 1024));
  ASSERT_EQ(all.network.run(10'000), message_network::outcome::finished);
  ASSERT_EQ(asks.all.size(), 512U);
  const auto writes_of_half =
      std::count_if(asks.all.begin(), asks.all.begin() + 256, [](const auto& each) { return each.second; });
  EXPECT_GT(writes_of_half, 100);
  EXPECT_LT(writes_of_half, 156);
}

TEST(message_network_parts, the_first_access_of_the_bus_is_a_read_if_both_ask) {
  const auto asked = [](bool sends, bool receives, cycle delay) {
    scripted_chip all;
    bus_asks asks;
    all.network.ports(0).observer = &asks;
    if (sends) all.elements[0]->send(long_message(2, 4), delay);
    if (receives) all.elements[1]->send(long_message(0, 4));
    EXPECT_EQ(all.network.run(1000), message_network::outcome::finished);
    return asks.all;
  };
  const cycle write = asked(false, true, 0).at(0).first, read = asked(true, false, 0).at(0).first;
  ASSERT_LT(read, write);
  EXPECT_THAT(asked(true, true, write - read), ElementsAre(std::pair{write, false}, std::pair{write + 1, true}));
}

}  // namespace
}  // namespace situ::model
