// PAMS alone on a chip with two cores: where START begins, what counters count, tokens that are kept, the timer.
#include <situ/model/pams_program.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "model/message_units/message_network.h"
#include "model/message_units/pams_unit.h"
#include "model/message_units/scripted_element.h"

namespace situ::model {
namespace {

using testing::ElementsAre;

// Node 0 is the PAMS; 1 and 2 are scripted, and node 1 loads the program.
struct pams_and_cores {
  message_network network{{.chips = 1, .nodes_of_chip = 3, .nodes = {{.local = 0}, {.local = 1}, {.local = 2}}}};
  pams_unit* pams = nullptr;
  std::vector<scripted_element*> cores{nullptr};

  pams_and_cores() {
    auto made = std::make_unique<pams_unit>();
    pams = made.get();
    network.put_element(0, std::move(made));
    for (unsigned node = 1; node < 3; ++node) {
      auto core = std::make_unique<scripted_element>();
      cores.push_back(core.get());
      network.put_element(node, std::move(core));
    }
  }
  void load(const pams_program& program, std::uint32_t first = 0) {
    for (std::vector<std::uint32_t>& each : pams_program::load_messages(program.words(), first))
      cores[1]->send({.handler = handler_load, .to = 0, .arguments = std::move(each)});
  }
  void start(std::uint32_t at = 0) { cores[1]->send({.handler = handler_start, .to = 0, .arguments = {at}}); }
  void call(unsigned from, std::uint8_t handler, cycle when) {
    cores[from]->send({.handler = handler, .to = 0, .arguments = {}}, when);
  }
  void run() { ASSERT_EQ(network.run(100'000), message_network::outcome::finished) << network.report(); }
  // The first argument of each call that a core has got.
  [[nodiscard]] std::vector<std::uint32_t> got(unsigned core) const {
    std::vector<std::uint32_t> all;
    for (const received_call& each : cores[core]->calls()) all.push_back(each.arguments.at(0));
    return all;
  }
};

TEST(pams_unit, start_begins_at_its_address) {
  pams_and_cores all;
  all.load(pams_program{}.control({1}).halt());
  all.load(pams_program{}.control({2}).halt(), 100);
  all.start(100);
  all.run();
  EXPECT_EQ(all.network.ports(0).control_out, 1U << 2);
}

TEST(pams_unit, a_poll_counts_and_leaves_arrival_time) {
  pams_and_cores all;
  pams_program program;
  program.message_counter(0, handler_poll, 1).message_counter(1, 5, 1).wait(pams_program::messages_are_there(0));
  all.load(program.control({0}).halt());
  all.start();
  all.call(1, 5, 500);
  all.call(2, handler_poll, 800);
  all.run();
  EXPECT_EQ(all.network.ports(0).control_out, 1U);
  EXPECT_EQ(all.pams->messages(1).count, 1U);
  EXPECT_GE(all.pams->arrival_time(), 500U);
  EXPECT_LT(all.pams->arrival_time(), 600U);
}

TEST(pams_unit, answers_the_oldest_call_first) {
  pams_and_cores all;
  pams_program program;
  program.message_counter(0, 5, 3, pams_program::tokens::kept).wait(pams_program::messages_are_there(0));
  all.load(program.reply(6, {1}).reply(6, {2}).reply(6, {3}).halt());
  all.start();
  all.call(1, 5, 500);
  all.call(2, 5, 600);
  all.call(2, 5, 700);
  all.run();
  EXPECT_THAT(all.got(1), ElementsAre(1));
  EXPECT_THAT(all.got(2), ElementsAre(2, 3));
}

TEST(pams_unit, waits_until_its_requests_are_sent) {
  pams_and_cores all;
  pams_program program;
  program.send_long(5, 2, {.at = 0, .bytes = 1024, .from = 0}).send(7, 1, {pams_program::own_value::timer});
  program.wait(pams_program::requests_are_sent()).send(7, 1, {pams_program::own_value::timer});
  all.load(program.halt());
  all.start();
  all.run();
  const std::vector<std::uint32_t> times = all.got(1);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_GE(times[1] - times[0], 256U) << "a word of the long message takes a cycle";
}

TEST(pams_unit, an_offset_moves_the_timer) {
  for (const std::int32_t offset : {1000, -3}) {
    pams_and_cores all;
    pams_program program;
    program.send(7, 1, {pams_program::own_value::timer}).timer_offset(offset);
    all.load(program.send(7, 1, {pams_program::own_value::timer}).halt());
    all.start();
    all.run();
    const std::vector<std::uint32_t> times = all.got(1);
    ASSERT_EQ(times.size(), 2U);
    EXPECT_EQ(static_cast<std::int32_t>(times[1] - times[0]), 3 + 7 + offset);
  }
}

// The last cycles in which PAMS took an operand, and counted a call of handler 5.
class last_actions final : public unit_observer {
 public:
  void acted(cycle now, unsigned /*node*/, std::string_view /*unit*/, std::string_view state,
             std::uint32_t word) override {
    if (state == "OPERAND") operand = now;
    if (state == "COUNT" && message_kind::handler(word) == 5) count = now;
  }
  cycle operand = 0, count = 0;
};

TEST(pams_unit, a_counter_that_is_set_in_the_cycle_of_a_call_loses_it) {
  bool was_same = false;
  for (cycle when = 970; when < 1010; ++when) {
    pams_and_cores all;
    last_actions seen;
    all.network.ports(0).observer = &seen;
    pams_program program;
    program.message_counter(0, 5, 1).timer_threshold(1000).wait(pams_program::timer_is_over());
    all.load(program.message_counter(0, 5, 1).halt());
    all.start();
    all.call(2, 5, when);
    all.run();
    EXPECT_EQ(all.pams->messages(0).count, seen.count > seen.operand ? 1U : 0U) << "sent in cycle " << when;
    was_same = was_same || seen.count == seen.operand;
  }
  EXPECT_TRUE(was_same);
}

}  // namespace
}  // namespace situ::model
