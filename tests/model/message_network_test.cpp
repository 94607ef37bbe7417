// Compares GAScore's network with the worked examples of docs/design/message_units.md and with the tables of the paper,
// and tests its errors: packets that stand in a ring, full token buffers, calls that nobody counts.
#include <situ/base/error.h>
#include <situ/model/pams_board.h>
#include <situ/model/pams_program.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/message_units/message_network.h"
#include "model/message_units/scripted_element.h"
#include "support/build_paths.h"

namespace situ::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using outcome = message_network::outcome;

constexpr std::uint32_t start_time = 20'000;                // after all programs are loaded
constexpr std::array<unsigned, 3> at_distance = {1, 4, 8};  // of node 0

pams_program primed(pams_program program = {}) {
  program.timer_threshold(start_time).wait(pams_program::timer_is_over());
  return program;
}
pams_program counting(std::uint32_t handler, std::uint32_t messages = 1) {
  pams_program program;
  program.message_counter(0, handler, messages);
  return program;
}
const auto first_counter = [] { return pams_program::messages_are_there(0); };

std::int64_t after_start(pams_board& board, unsigned node) {
  return static_cast<std::int64_t>(board.arrival_time(node)) - start_time;
}

// --- the paper's tables

std::int64_t one_way(unsigned distance, std::uint32_t bytes) {
  pams_board board;
  const unsigned to = at_distance.at(distance);
  board.load(to, counting(5).halt().words());
  pams_program sender = primed();
  if (bytes == 0)
    sender.send(5, to);
  else
    sender.send_long(5, to, {.at = 0x100, .bytes = bytes, .from = 0});
  board.memory(0)[0] = 0xabc;
  board.load(0, sender.halt().words());
  board.run();
  EXPECT_EQ(board.memory(to)[0x40], bytes == 0 ? 0U : 0xabcU);
  return after_start(board, to);
}

std::int64_t both_ways(unsigned distance, std::uint32_t bytes) {
  pams_board board;
  const unsigned to = at_distance.at(distance);
  pams_program answers;
  answers.message_counter(0, 3, 1, pams_program::tokens::kept).wait(first_counter());
  if (bytes == 0)
    answers.reply(4);
  else
    answers.reply_long(4, {.at = 0x100, .bytes = bytes, .from = 0});
  board.load(to, answers.halt().words());
  board.load(0, primed(counting(4)).send(3, to).wait(first_counter()).halt().words());
  board.run();
  return after_start(board, 0);
}

TEST(message_network, takes_the_cycles_of_table_4) {
  for (unsigned distance = 0; distance < 3; ++distance) {
    EXPECT_EQ(one_way(distance, 0), 17 + 7 * distance);
    EXPECT_EQ(both_ways(distance, 0), 35 + 14 * distance);
  }
}

TEST(message_network, takes_the_cycles_of_table_5) {
  for (unsigned distance = 0; distance < 3; ++distance) {
    EXPECT_EQ(one_way(distance, 4), 29 + 7 * distance);
    EXPECT_EQ(both_ways(distance, 4), 47 + 14 * distance);
  }
}

TEST(message_network, takes_a_cycle_for_each_further_word) {
  for (const std::uint32_t bytes : {8U, 64U, 1024U, 4096U}) EXPECT_EQ(one_way(1, bytes), 36 + bytes / 4 - 1);
}

struct barrier_times {
  std::int64_t node_0;
  std::int64_t all;
  friend bool operator==(const barrier_times&, const barrier_times&) = default;
};
void PrintTo(const barrier_times& times, std::ostream* out) { *out << times.node_0 << ' ' << times.all; }

barrier_times run_barrier(pams_board& board) {
  board.run();
  std::int64_t all = 0;
  for (unsigned node = 0; node < 16; ++node) all = std::max(all, after_start(board, node));
  return {after_start(board, 0), all};
}

TEST(message_network, takes_the_cycles_of_table_6) {
  pams_board board;
  pams_program root = primed(counting(1, 15)).wait(first_counter());
  for (unsigned node = 1; node < 16; ++node) {
    root.send(2, node);
    board.load(node, primed(counting(2)).send(1, 0).wait(first_counter()).halt().words());
  }
  board.load(0, root.halt().words());
  EXPECT_EQ(run_barrier(board), (barrier_times{87, 196}));
}

TEST(message_network, takes_the_cycles_of_table_7) {
  pams_board board;
  pams_program root = primed(counting(1, 6)).wait(first_counter());
  for (const unsigned node : {1U, 2U, 3U, 4U, 8U, 12U}) root.send(2, node);
  board.load(0, root.halt().words());
  for (unsigned node = 1; node < 16; ++node) {
    const unsigned hub = node / 4 * 4;
    if (node != hub) {
      board.load(node, primed(counting(2)).send(1, hub).wait(first_counter()).halt().words());
      continue;
    }
    pams_program program = counting(1, 3);
    program.message_counter(1, 2, 1);
    program = primed(program).wait(first_counter()).send(1, 0).wait(pams_program::messages_are_there(1));
    for (unsigned other = 1; other < 4; ++other) program.send(2, hub + other);
    board.load(node, program.halt().words());
  }
  EXPECT_EQ(run_barrier(board), (barrier_times{62, 148}));
}

// --- the worked examples

class states_of final : public unit_observer {
 public:
  explicit states_of(std::vector<unsigned> nodes) : nodes_{std::move(nodes)} {}
  void acted(cycle now, unsigned node, std::string_view unit, std::string_view state, std::uint32_t /*word*/) override {
    if (now < start_time || std::find(nodes_.begin(), nodes_.end(), node) == nodes_.end()) return;
    seen_.push_back(std::to_string(now - start_time) + " " + std::string{unit} + " " + std::string{state});
  }
  [[nodiscard]] std::vector<std::string> of(std::string_view unit) const {
    std::vector<std::string> found;
    for (const std::string& each : seen_)
      if (each.find(" " + std::string{unit} + " ") != std::string::npos)
        found.push_back(each.substr(0, each.find(' ')) + each.substr(each.rfind(' ')));
    return found;
  }

 private:
  std::vector<unsigned> nodes_;
  std::vector<std::string> seen_;
};

TEST(message_network, passes_a_short_message_through_the_states_of_its_page) {
  pams_board board;
  board.load(1, counting(5).halt().words());
  board.load(0, primed().send(5, 1).halt().words());
  states_of sender{{0}}, receiver{{1}};
  board.network().ports(0).observer = &sender;
  board.network().ports(1).observer = &receiver;
  board.run();
  EXPECT_THAT(sender.of("PAMS"), ElementsAre("0 WAIT", "1 FETCH", "2 EXECUTE", "3 WORDS", "4 WORDS", "5 WORDS",
                                             "6 WORDS", "7 FETCH", "8 EXECUTE"));
  EXPECT_THAT(sender.of("transmit"), ElementsAre("4 KIND", "5 NODE", "6 AT", "7 BYTES", "8 TAIL"));
  EXPECT_THAT(receiver.of("receive"), ElementsAre("10 HEAD", "11 KIND", "12 AT", "13 BYTES", "14 TAIL"));
  EXPECT_THAT(receiver.of("PAMS"), ElementsAre("17 COUNT"));
}

TEST(message_network, passes_a_long_message_through_the_states_of_its_page) {
  pams_board board;
  board.load(1, counting(5).halt().words());
  board.load(0, primed().send_long(5, 1, {.at = 8, .bytes = 4, .from = 4}).halt().words());
  states_of sender{{0}}, receiver{{1}};
  board.network().ports(0).observer = &sender;
  board.network().ports(1).observer = &receiver;
  board.run();
  EXPECT_THAT(sender.of("transmit"), ElementsAre("4 KIND", "5 NODE", "6 AT", "7 BYTES", "8 FROM", "13 SEND"));
  EXPECT_THAT(sender.of("memory bus"), ElementsAre("9 ASK", "11 READ"));
  EXPECT_THAT(receiver.of("receive"), ElementsAre("10 HEAD", "11 KIND", "12 AT", "13 BYTES", "18 FILL", "22 WRITTEN",
                                                  "23 CALL", "24 CALL", "25 CALL", "26 CALL"));
  EXPECT_THAT(receiver.of("memory bus"), ElementsAre("19 ASK", "21 WRITE"));
  EXPECT_THAT(receiver.of("PAMS"), ElementsAre("29 COUNT"));
}

TEST(message_network, writes_only_the_bytes_of_a_message_that_fills_no_word) {
  pams_board board;
  board.load(1, counting(5).halt().words());
  board.load(0, primed().send_long(5, 1, {.at = 8, .bytes = 6, .from = 4}).halt().words());
  board.memory(0)[1] = 0x11223344;
  board.memory(0)[2] = 0x55667788;
  board.memory(1)[3] = 0xaabbccdd;
  board.run();
  EXPECT_EQ(board.memory(1)[2], 0x11223344U);
  EXPECT_EQ(board.memory(1)[3], 0xaabb7788U);
}

TEST(message_network, reads_and_writes_have_the_bus_in_turns) {
  // Two nodes write 1 KiB to each other at once: each bus carries 256 reads and 256 writes.
  pams_board board;
  for (unsigned node = 0; node < 2; ++node)
    board.load(node,
               primed(counting(5)).send_long(5, 1 - node, {.at = 0x1000, .bytes = 1024, .from = 0}).halt().words());
  board.run();
  for (unsigned node = 0; node < 2; ++node) {
    EXPECT_GE(after_start(board, node), 17 + 2 * 256);
    EXPECT_LE(after_start(board, node), 29 + 2 * 256 + 16);
  }
}

// --- errors

TEST(message_network, tells_who_waits_if_the_program_of_figure_6_runs_twice) {
  pams_board board;
  pams_program root = primed();
  for (int round = 0; round < 2; ++round) {
    root.message_counter(0, 1, 15).wait(first_counter());
    for (unsigned node = 1; node < 16; ++node) root.send(2, node);
  }
  board.load(0, root.halt().words());
  for (unsigned node = 1; node < 16; ++node) {
    pams_program program = primed();
    for (int round = 0; round < 2; ++round) program.send(1, 0).message_counter(0, 2, 1).wait(first_counter());
    board.load(node, program.halt().words());
  }
  EXPECT_EQ(board.try_run(), pams_board::outcome::stands);
  const std::string report = board.report();
  EXPECT_THAT(report, HasSubstr("node 0: pc 23, waits for m0: 8 of 15 messages for handler 1"));
  EXPECT_THAT(report, HasSubstr("node 15: pc "));
  EXPECT_LT(board.now(), start_time + 1000) << "a standstill is told at once";
}

TEST(message_network, counts_on_if_thresholds_are_raised) {
  constexpr int rounds = 4;
  pams_board board;
  pams_program root = primed(counting(1, 15));
  for (int round = 0; round < rounds; ++round) {
    root.wait(first_counter()).expect_messages(0, 15);
    for (unsigned node = 1; node < 16; ++node) root.send(2, node);
  }
  board.load(0, root.halt().words());
  for (unsigned node = 1; node < 16; ++node) {
    pams_program program = primed(counting(2));
    for (int round = 0; round < rounds; ++round) program.send(1, 0).wait(first_counter()).expect_messages(0, 1);
    board.load(node, program.halt().words());
  }
  board.run();
}

std::string fault_of(const pams_program& program, unsigned node = 3) {
  pams_board board;
  board.load(node, program.words());
  EXPECT_EQ(board.try_run(), pams_board::outcome::fault);
  return board.report();
}

TEST(message_network, names_node_and_cause_of_a_fault) {
  EXPECT_THAT(fault_of(pams_program{}.send_long(5, 1, {.at = 0, .bytes = 8, .from = 0xfffc})),
              AllOf(HasSubstr("node 3, cycle "), HasSubstr("past the end of the node's memory"), HasSubstr("0x10000")));
  EXPECT_THAT(fault_of(pams_program{}.send_long(5, 1, {.at = 0xfffc, .bytes = 8, .from = 0}).halt()),
              AllOf(HasSubstr("node 1, cycle "), HasSubstr("past the end of the node's memory")));
  EXPECT_THAT(fault_of(pams_program{}.send(5, 1).halt()),
              AllOf(HasSubstr("node 1"), HasSubstr("no counter counts"), HasSubstr("0x5")));
  EXPECT_THAT(fault_of(pams_program{}.send(5, 900).halt()),
              AllOf(HasSubstr("node 3"), HasSubstr("does not have: 0x384")));
  EXPECT_THAT(fault_of(pams_program{}.reply(5)), AllOf(HasSubstr("node 3"), HasSubstr("keeps no token")));
  EXPECT_THAT(fault_of(pams_program{}.word(0xf0000000)), AllOf(HasSubstr("node 3"), HasSubstr("0xf0000000")));
  // A send whose second argument is of a kind that there is not.
  EXPECT_THAT(fault_of(pams_program{}.word(0x90043001)), AllOf(HasSubstr("node 3"), HasSubstr("0x90043001")));
  pams_program whole;
  whole.jump(511);
  while (whole.size() < 511) whole.halt();
  EXPECT_THAT(fault_of(whole.word(0x10000000)), AllOf(HasSubstr("node 3"), HasSubstr("from 0 to 511")));
}

TEST(message_network, refuses_programs_that_are_too_long) {
  pams_board board;
  board.load(2, std::vector<std::uint32_t>(513, 0));
  EXPECT_EQ(board.try_run(), pams_board::outcome::fault);
  EXPECT_THAT(board.report(), AllOf(HasSubstr("node 2"), HasSubstr("512 words"), HasSubstr("0x200")));
}

TEST(message_network, has_the_shape_of_its_machine_file) {
  const network_shape read = network_shape::of(read_message_network(SITU_TEST_SOURCE_DIR "/../machines/bee3.toml"));
  const network_shape built = network_shape::bee3();
  EXPECT_EQ(read.chips, built.chips);
  EXPECT_EQ(read.nodes_of_chip, built.nodes_of_chip);
  EXPECT_EQ(read.fifo_words, built.fifo_words);
  EXPECT_EQ(read.link_cycles, built.link_cycles);
  ASSERT_EQ(read.nodes.size(), 20U);  // with the three MicroBlazes that the paper does not use
  for (unsigned node = 0; node < built.nodes.size(); ++node) {
    EXPECT_EQ(read.nodes[node].chip, built.nodes[node].chip) << node;
    EXPECT_EQ(read.nodes[node].local, built.nodes[node].local) << node;
    EXPECT_EQ(read.nodes[node].memory_bytes, built.nodes[node].memory_bytes) << node;
    EXPECT_EQ(read.nodes[node].tokens, built.nodes[node].tokens) << node;
    EXPECT_EQ(read.nodes[node].has_pams, built.nodes[node].has_pams) << node;
  }
}

TEST(message_network, tells_of_a_message_that_nothing_takes) {
  network_shape shape = network_shape::bee3();
  shape.nodes.push_back({.chip = 2, .local = 4, .has_pams = false});
  pams_board board{shape};
  board.load(3, pams_program{}.send(5, 17).halt().words());
  EXPECT_EQ(board.try_run(), pams_board::outcome::stands);
  EXPECT_THAT(board.report(), HasSubstr("node 17: messages have come, and nothing takes them"));
}

TEST(message_network, keeps_as_many_words_and_tokens_as_its_shape_says) {
  for (const unsigned words : {4U, 16U, 64U})
    for (const unsigned cycles : {3U, 7U}) {
      network_shape shape = network_shape::bee3();
      shape.fifo_words = words;
      shape.link_cycles = cycles;
      for (network_shape::node& each : shape.nodes) each.tokens = words / 2;
      pams_board board{shape};
      board.load(8, counting(5).halt().words());
      board.load(0, primed().send(5, 8).halt().words());
      board.run();
      EXPECT_EQ(after_start(board, 8), 17 + 2 * (cycles + 4)) << words << " words";
    }
}

// Nodes that are scripted: every one may hold its tokens.
struct scripted_network {
  message_network network;
  std::vector<scripted_element*> elements;

  explicit scripted_network(const std::function<scripted_element::handler(unsigned)>& handlers = {},
                            const network_shape& shape = network_shape::bee3())
      : network{shape} {
    for (unsigned node = 0; node < network.shape().nodes.size(); ++node) {
      auto made = std::make_unique<scripted_element>(handlers ? handlers(node) : scripted_element::handler{});
      elements.push_back(made.get());
      network.put_element(node, std::move(made));
    }
  }
};

TEST(message_network, lets_replies_pass_requests_that_stand_before_a_full_token_buffer) {
  scripted_network all;
  all.elements[0]->hold_tokens();
  for (unsigned i = 0; i < 40; ++i) all.elements[i % 2 == 0 ? 5 : 1]->send({.handler = 9, .to = 0, .arguments = {i}});
  EXPECT_EQ(all.network.run(10'000), outcome::stands);
  EXPECT_EQ(all.elements[0]->calls().size(), 16U);
  EXPECT_THAT(all.network.report(), HasSubstr("all 16 tokens"));
  // Node 0 asks node 2, whose answer arrives although requests stand on the same way.
  all.elements[0]->send({.handler = 7, .to = 2, .arguments = {}});
  all.network.wake(0);
  (void)all.network.run(20'000);
  ASSERT_EQ(all.elements[2]->calls().size(), 1U);
  all.elements[2]->hold_tokens();
  // The token that node 2 has just returned is not in use any more: ask again, and answer.
  all.elements[0]->send({.handler = 7, .to = 2, .arguments = {}});
  all.network.wake(0);
  (void)all.network.run(30'000);
  const std::uint32_t token = all.elements[2]->calls().back().token;
  all.elements[2]->send({.handler = 8, .to = token, .arguments = {123}, .is_reply = true});
  all.network.wake(2);
  (void)all.network.run(40'000);
  ASSERT_EQ(all.elements[0]->calls().size(), 17U);
  EXPECT_EQ(all.elements[0]->calls().back().arguments, std::vector<std::uint32_t>{123});
  all.elements[2]->return_tokens();
  all.elements[0]->return_tokens();
  all.network.wake(0);
  all.network.wake(2);
  EXPECT_EQ(all.network.run(50'000), outcome::finished);
  EXPECT_EQ(all.elements[0]->calls().size(), 41U);
}

TEST(message_network, passes_long_messages_to_the_opposite_chips) {
  for (const std::uint32_t bytes : {4U, 64U, 256U, 1024U, 16384U}) {
    scripted_network all;
    for (unsigned node = 0; node < 16; ++node)
      all.elements[node]->send({.handler = 5,
                                .to = (node + 8) % 16,
                                .arguments = {},
                                .is_long = true,
                                .at = 0x8000,
                                .bytes = bytes,
                                .from = 0});
    EXPECT_EQ(all.network.run(1'000'000), outcome::finished) << bytes << " bytes\n" << all.network.report();
    for (unsigned node = 0; node < 16; ++node) EXPECT_EQ(all.elements[node]->calls().size(), 1U);
  }
}

TEST(message_network, sends_no_packet_through_chip_0) {
  for (unsigned chips = 2; chips <= 6; ++chips) {
    network_shape shape{.chips = chips, .nodes_of_chip = 1, .nodes = {}};
    for (unsigned chip = 0; chip < chips; ++chip)
      shape.nodes.push_back({.chip = chip, .local = 0, .memory_bytes = 4096});
    for (unsigned from = 1; from < chips; ++from)
      for (unsigned to = 1; to < chips; ++to) {
        message_network network{shape};
        std::vector<scripted_element*> elements;
        for (unsigned node = 0; node < chips; ++node) {
          auto made = std::make_unique<scripted_element>();
          elements.push_back(made.get());
          network.put_element(node, std::move(made));
        }
        elements[from]->send({.handler = 1, .to = to, .arguments = {}});
        EXPECT_EQ(network.run(1000), outcome::finished);
        EXPECT_EQ(elements[to]->calls().size(), 1U);
        EXPECT_EQ(network.link_words(0, 0) + network.link_words(0, 1), 0U) << from << " to " << to;
        EXPECT_EQ(network.distance(from, to), from < to ? to - from : from - to);
      }
  }
}

// Random requests of all kinds, most of which are answered: all arrive, with their bytes, and nothing stands still.
struct random_traffic {
  static constexpr std::uint32_t slots = 8;  // of a sender, in each receiver's memory
  static constexpr std::uint32_t slot_bytes = 256;
  std::mt19937 random;
  scripted_network all;
  std::uint64_t wrong = 0;
  std::uint64_t expected = 0;

  explicit random_traffic(unsigned seed, const network_shape& shape = network_shape::bee3())
      : random{seed}, all{[this](unsigned node) { return handler_of(node); }, shape} {
    for (unsigned node = 0; node < shape.nodes.size(); ++node)
      for (std::uint32_t word = 0; word < 1024; ++word) all.network.ports(node).memory[word] = node << 16 | word;
  }
  scripted_element::handler handler_of(unsigned node) {
    return [this, node](const received_call& call) -> std::vector<request_message> {
      check(node, call);
      if ((call.kind & message_kind::is_reply) != 0 || message_kind::handler(call.kind) == 1) return {};
      ++expected;
      request_message reply = message(node, 0);
      reply.to = call.token;
      reply.is_reply = true;
      return {reply};
    };
  }
  request_message message(unsigned from, unsigned to) {
    request_message made{.handler = static_cast<std::uint8_t>(1 + random() % 3), .to = to, .arguments = {}};
    made.is_long = random() % 3 == 0;
    made.arguments = {from};
    if (made.is_long) {
      made.bytes = 1 + random() % slot_bytes;
      made.from = random() % 512 * 4;
      made.at = 0x4000 + (from * slots + random() % slots) * slot_bytes;
    }
    made.arguments.push_back(made.from);
    for (std::uint32_t more = random() % 14; more != 0; --more) made.arguments.push_back(more);
    return made;
  }
  void check(unsigned node, const received_call& call) {
    const std::uint32_t from = call.arguments.at(0);
    for (std::size_t i = 2; i < call.arguments.size(); ++i) wrong += call.arguments[i] != call.arguments.size() - i;
    for (std::uint32_t word = 0; word < call.bytes / 4; ++word)
      wrong += all.network.ports(node).memory[call.at / 4 + word] != (from << 16 | (call.arguments[1] / 4 + word));
  }
};

TEST(message_network, delivers_a_million_random_messages) {
  std::uint64_t delivered = 0;
  for (unsigned seed = 0; delivered < 1'000'000; ++seed) {
    random_traffic traffic{seed};
    const unsigned of_node = seed % 10 == 0 ? 4000 : 500;
    for (unsigned node = 0; node < 17; ++node)
      for (unsigned i = 0; i < of_node; ++i) {
        const unsigned to = seed % 3 == 0 ? (node + 8) % 17 : traffic.random() % 17;
        traffic.all.elements[node]->send(traffic.message(node, to), traffic.random() % (seed % 2 == 0 ? 1 : 30'000));
        ++traffic.expected;
      }
    ASSERT_EQ(traffic.all.network.run(10'000'000), outcome::finished) << "seed " << seed << "\n"
                                                                      << traffic.all.network.report();
    std::uint64_t calls = 0;
    for (const scripted_element* each : traffic.all.elements) calls += each->calls().size();
    ASSERT_EQ(calls, traffic.expected) << "seed " << seed;
    ASSERT_EQ(traffic.wrong, 0U) << "seed " << seed;
    delivered += calls;
  }
}

// Each node sends 60 messages; all arrive, with their bytes, and nothing stands still.
void expect_delivery(const network_shape& shape, unsigned seed) {
  random_traffic traffic{seed, shape};
  const auto nodes = static_cast<unsigned>(shape.nodes.size());
  for (unsigned node = 0; node < nodes; ++node)
    for (unsigned i = 0; i < 60; ++i) {
      traffic.all.elements[node]->send(traffic.message(node, traffic.random() % nodes));
      ++traffic.expected;
    }
  ASSERT_EQ(traffic.all.network.run(10'000'000), outcome::finished) << traffic.all.network.report();
  std::uint64_t calls = 0;
  for (const scripted_element* each : traffic.all.elements) calls += each->calls().size();
  EXPECT_EQ(calls, traffic.expected);
  EXPECT_EQ(traffic.wrong, 0U);
}

TEST(message_network, delivers_random_messages_whatever_its_depths_and_chips) {
  unsigned seed = 0;
  for (const unsigned chips : {1U, 2U, 3U, 5U, 8U})
    for (const unsigned nodes_of_chip : {1U, 2U})
      for (const unsigned words : {1U, 2U, 3U, 16U})
        for (const unsigned tokens : {1U, 3U})
          for (const unsigned cycles : {3U, 10U}) {
            network_shape shape{.chips = chips,
                                .nodes_of_chip = nodes_of_chip,
                                .fifo_words = words,
                                .link_cycles = cycles,
                                .nodes = {}};
            for (unsigned node = 0; node < chips * nodes_of_chip; ++node)
              shape.nodes.push_back({.chip = node / nodes_of_chip, .local = node % nodes_of_chip, .tokens = tokens});
            SCOPED_TRACE(std::to_string(chips) + " chips of " + std::to_string(nodes_of_chip) + ", FIFOs of " +
                         std::to_string(words) + ", tokens " + std::to_string(tokens));
            expect_delivery(shape, ++seed);
          }
}

TEST(message_network, a_request_that_waits_for_a_token_is_no_end) {
  scripted_network all;
  all.elements[0]->hold_tokens();
  for (unsigned i = 0; i < 17; ++i) all.elements[1]->send({.handler = 9, .to = 0, .arguments = {}});
  EXPECT_EQ(all.network.run(10'000), outcome::stands) << "16 tokens are in use, and the last request is in `in`";
  EXPECT_THAT(all.network.report(), HasSubstr("node 0: "));
  all.elements[0]->return_tokens();
  all.network.wake(0);
  EXPECT_EQ(all.network.run(20'000), outcome::finished);
  EXPECT_EQ(all.elements[0]->calls().size(), 17U);
}

TEST(message_network, a_message_of_four_gibibytes_is_a_fault) {
  for (const std::uint32_t bytes : {0xffff'ffffU, 0xffff'fffdU, 0x8000'0000U}) {
    scripted_network all;
    all.elements[0]->send({.handler = 9, .to = 1, .arguments = {}, .is_long = true, .at = 0, .bytes = bytes});
    EXPECT_EQ(all.network.run(100'000), outcome::fault) << bytes;
    EXPECT_THAT(all.network.report(), HasSubstr("past the end of the node's memory"));
  }
}

}  // namespace
}  // namespace situ::model
