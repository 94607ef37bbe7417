// A host's server alone: the other host is what this test says in its name.
#include "cluster/host_server.h"
#include "cluster/host_words.h"

#include <gtest/gtest.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cluster/numbered_wire.h"
#include "cluster/test_network.h"
#include "memory/liveness.h"
#include "os/bytes.h"
#include "support/forked.h"

namespace situ {
namespace {

using namespace detail::cluster;
using detail::host_barrier;
using detail::job;
using detail::job_control;
using detail::place_state;
using namespace std::chrono_literals;

// Places 0 and 1 are of host 0, whose server runs; 2 and 3 of host 1, in whose name the test speaks.
class a_server : public testing::Test, private wire_receiver {
 protected:
  static constexpr wire_peer server_end = 0, other_server = 1, other_place = 2;

  void SetUp() override {
    address_of(control, 1).bytes = 1;
    address_of(control, 1).text[0] = static_cast<std::byte>(other_server);
    for (const std::uint32_t place : {0U, 1U}) {
      processes[place] = test::fork_child([] { ::pause(); });
      control.slot(place).pid.store(processes[place].id());
    }
    thread = std::thread{[this] {
      host_server server{shared, wire};
      server.run();
      has_ended = true;
    }};
  }
  void TearDown() override {
    for (const std::uint32_t place : {0U, 1U}) control.slot(place).state.store(place_state::left);
    say(host_news::bye, 0);
    thread.join();
    for (os::child& each : processes) each = {};
  }

  template <class Holds>
  static bool soon(Holds holds) {
    for (int i = 0; i < 5000 && !holds(); ++i) std::this_thread::sleep_for(1ms);
    return holds();
  }
  void say(host_news what, std::uint64_t number) {
    host_head head{.what = static_cast<std::uint8_t>(what), .host = 1};
    head.number = number;
    network.send_as(other_server, server_end, wire_message::host, os::bytes_of(head), {});
  }
  void say_state(std::uint32_t place, place_state state, std::string_view text) {
    host_head head{.what = static_cast<std::uint8_t>(host_news::state), .host = 1};
    head.number = place;
    const state_head said{static_cast<std::uint32_t>(state), static_cast<std::uint32_t>(text.size())};
    std::vector<std::byte> whole(sizeof head + sizeof said + text.size());
    std::memcpy(whole.data(), &head, sizeof head);
    std::memcpy(whole.data() + sizeof head, &said, sizeof said);
    std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), whole.data() + sizeof head + sizeof said);
    network.send_as(other_server, server_end, wire_message::host, whole, {});
  }
  // What the server has told the other one.
  bool has_said(host_news what, std::uint64_t number) {
    return soon([&] {
      network.end_of(other_server).progress(*this);
      return std::any_of(heard.begin(), heard.end(), [&](const host_head& each) {
        return each.what == static_cast<std::uint8_t>(what) && each.number == number && each.host == 0;
      });
    });
  }
  void agree() {
    control.heap_offset.store(std::uint64_t{32} << 20);
    control.votes[0].fetch_add(2);
    say(host_news::votes, 1);
    ASSERT_TRUE(soon([&] { return control.votes[0].load() == 4; }));
  }
  void arrive(std::uint64_t round, host_barrier which = host_barrier::world) {
    operation_head head{.what = static_cast<std::uint8_t>(far_operation::barrier), .source = 2};
    head.address = control.candidates[0];
    head.second = static_cast<std::uint64_t>(which);
    head.third = round;
    network.send_as(other_place, server_end, wire_message::operation, os::bytes_of(head), {});
  }

  job shared = job::create({.place_count = 4, .homes = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}});
  job_control& control = shared.control();
  test::test_network network{3, {}};
  test::numbered_wire wire{network.end_of(server_end)};
  std::array<os::child, 2> processes;
  std::thread thread;
  std::atomic<bool> has_ended{false};
  std::vector<host_head> heard;
  std::vector<credit_head> credits;

  // Of place 2, to place 0, without arguments.
  void send_message(std::uint32_t number) {
    const message_head head{.target = 0,
                            .source = 2,
                            .sequence = number,
                            .kind = static_cast<std::uint8_t>(detail::message_kind::short_message)};
    network.send_as(other_place, server_end, wire_message::message, os::bytes_of(head), {});
  }
  // Whether place 2 is told that so many have gone into the channel.
  [[nodiscard]] bool has_told(std::uint64_t cells) {
    return soon([&] {
      network.end_of(other_place).progress(*this);
      return !credits.empty() && credits.back().cells == cells;
    });
  }
  // Where the server writes them.
  [[nodiscard]] detail::channel& requests_to_first() const {
    return reinterpret_cast<detail::channel_pair*>(control.candidates[0])[control.place_count].request;
  }
  // Whether its cell holds that message; not if it comes later.
  [[nodiscard]] bool has_come(std::uint64_t number) const {
    const detail::cell& c = requests_to_first().cells[(number - 1) % detail::channel::cell_count];
    return c.header.load() == detail::cell_header(number, detail::message_kind::short_message, 0, false, 2);
  }

 private:
  std::byte* room_for(wire_peer, wire_message, std::span<const std::byte>, std::uint64_t) noexcept override {
    return nullptr;
  }
  void received(wire_peer, wire_message kind, std::span<const std::byte> head,
                std::span<const std::byte>) noexcept override {
    parsed_news news;
    if (kind == wire_message::host && parse_news(head, 0, news) == nullptr) heard.push_back(news.head);
    credit_head credit;
    if (kind == wire_message::credit && parse_credit(head, 0, credit) == nullptr) credits.push_back(credit);
  }
};

TEST_F(a_server, gives_the_votes_of_a_host_once_it_has_said_them) {
  control.votes[0].fetch_add(2);
  EXPECT_TRUE(has_said(host_news::votes, 1));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(control.votes[0].load(), 2U);
  say(host_news::votes, 1);
  EXPECT_TRUE(soon([&] { return control.votes[0].load() == 4; }));
  EXPECT_EQ(control.rejections[0].load(), 0U);
}

TEST_F(a_server, takes_the_rejection_of_another_host_and_tells_its_own) {
  say(host_news::votes, 0);
  control.votes[0].fetch_add(2);
  EXPECT_TRUE(soon([&] { return control.votes[0].load() == 4; }));
  EXPECT_NE(control.rejections[0].load(), 0U);
  control.rejections[1].fetch_add(1);
  control.votes[1].fetch_add(2);
  EXPECT_TRUE(has_said(host_news::votes, std::uint64_t{1} << 32));
  say(host_news::votes, std::uint64_t{1} << 32 | 1);
  EXPECT_TRUE(soon([&] { return control.votes[1].load() == 4; }));
}

TEST_F(a_server, tells_of_its_places_and_mirrors_the_others) {
  agree();
  control.slot(0).state.store(place_state::joined);
  EXPECT_TRUE(has_said(host_news::state, 0));
  say_state(2, place_state::joined, {});
  EXPECT_TRUE(soon([&] { return control.slot(2).state.load() == place_state::joined; }));
  EXPECT_EQ(control.failure_epoch.load(), 0U);
  say_state(3, place_state::lost, "it has had enough");
  EXPECT_TRUE(soon([&] { return control.failure_epoch.load() == 1; }));
  EXPECT_EQ(control.slot(3).state.load(), place_state::lost);
  EXPECT_EQ(detail::lost_reason(control, 3), "it has had enough");
  say_state(3, place_state::joined, {});  // who is lost stays lost
  say_state(2, place_state::left, {});
  EXPECT_TRUE(soon([&] { return control.slot(2).state.load() == place_state::left; }));
  EXPECT_EQ(control.slot(3).state.load(), place_state::lost);
}

TEST_F(a_server, marks_a_place_whose_process_ends) {
  agree();
  control.slot(1).state.store(place_state::joined);
  EXPECT_TRUE(has_said(host_news::state, 1));
  heard.clear();
  processes[1].send(SIGKILL);
  EXPECT_TRUE(soon([&] { return control.slot(1).state.load() == place_state::lost; }));
  EXPECT_EQ(detail::lost_reason(control, 1), "its process ended without leaving the job");
  EXPECT_TRUE(has_said(host_news::state, 1));
}

TEST_F(a_server, wakes_its_places_once_all_hosts_have_come) {
  agree();
  arrive(1);
  EXPECT_TRUE(soon([&] { return round_of(control, host_barrier::world, 1).look() == 1; }));
  EXPECT_EQ(round_of(control, host_barrier::leaving, 1).look(), 0U);
  control.slot(0).sleeping.store(1);
  round_of(control, host_barrier::world, 0).set(1);
  arrive(1);  // again: nothing is counted twice
  EXPECT_TRUE(soon([&] { return control.slot(0).sleeping.load() == 0; }));
  control.slot(0).sleeping.store(1);
  arrive(2);
  EXPECT_TRUE(soon([&] { return round_of(control, host_barrier::world, 1).look() == 2; }));
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(control.slot(0).sleeping.load(), 1U);  // this host has not come to it
  control.slot(0).sleeping.store(0);
}

TEST_F(a_server, takes_a_barrier_that_comes_before_the_last_vote) {
  arrive(1);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(round_of(control, host_barrier::world, 1).look(), 0U);
  agree();
  EXPECT_TRUE(soon([&] { return round_of(control, host_barrier::world, 1).look() == 1; }));
}

// As many as two places can have under way.
TEST_F(a_server, answers_all_that_comes_before_the_last_vote) {
  for (std::uint64_t round = 1; round <= 2 * most_outstanding; ++round) arrive(round);
  std::this_thread::sleep_for(20ms);
  agree();
  EXPECT_TRUE(soon([&] { return round_of(control, host_barrier::world, 1).look() == 2 * most_outstanding; }));
}

TEST_F(a_server, brings_messages_and_sleeps_until_there_is_room) {
  agree();
  constexpr std::uint32_t window = detail::channel::cell_count;
  control.slot(0).sleeping.store(detail::asleep_on_word);
  send_message(1);
  EXPECT_TRUE(soon([&] { return has_come(1) && control.slot(0).sleeping.load() == 0; }));
  for (std::uint32_t n = 2; n <= window + 1; ++n) send_message(n);  // a window is told of each quarter
  EXPECT_TRUE(soon([&] { return has_come(window); }));
  detail::place_slot& server = control.slot(control.place_count);
  EXPECT_TRUE(soon([&] { return server.sleeping.load() == detail::asleep_by_bell; }));
  EXPECT_FALSE(has_come(window + 1));
  // As a place does that takes all of them in.
  requests_to_first().consumed.cells.store(window);
  EXPECT_EQ(requests_to_first().producer_waits.look(), 1U);
  detail::wake_after_change(server);
  EXPECT_TRUE(soon([&] { return has_come(window + 1); }));
  EXPECT_TRUE(has_told(window));
}

TEST_F(a_server, keeps_no_message_that_comes_before_all_have_met) {
  send_message(1);
  std::this_thread::sleep_for(20ms);
  agree();
  send_message(1);
  EXPECT_TRUE(soon([&] { return has_come(1); }));
}

TEST_F(a_server, marks_all_places_of_a_host_that_it_cannot_reach_any_more) {
  agree();
  say_state(2, place_state::joined, {});
  wire.lose(other_place);  // a place has ended: nothing follows
  wire.lose(other_server);
  EXPECT_TRUE(soon([&] { return control.failure_epoch.load() == 2; }));
  EXPECT_EQ(control.slot(2).state.load(), place_state::lost);
  EXPECT_EQ(control.slot(3).state.load(), place_state::lost);
}

TEST_F(a_server, takes_a_host_for_left_that_had_come_to_the_end) {
  agree();
  say_state(2, place_state::joined, {});
  say_state(3, place_state::joined, {});
  arrive(1, host_barrier::leaving);
  EXPECT_TRUE(soon([&] { return round_of(control, host_barrier::leaving, 1).look() == 1; }));
  EXPECT_TRUE(soon([&] { return control.slot(3).state.load() == place_state::joined; }));
  wire.lose(other_server);
  EXPECT_TRUE(soon([&] { return control.slot(3).state.load() == place_state::left; }));
  EXPECT_EQ(control.failure_epoch.load(), 0U);
}

TEST_F(a_server, takes_no_news_that_are_none) {
  agree();
  say(static_cast<host_news>(2), 0);
  say(host_news::votes, std::uint64_t{99} << 32);
  say_state(0, place_state::lost, "of this host");
  say_state(99, place_state::lost, {});
  say_state(2, static_cast<place_state>(9), {});
  say_state(2, place_state::absent, {});
  host_head strange{.what = static_cast<std::uint8_t>(host_news::bye), .host = 7};
  network.send_as(other_server, server_end, wire_message::host, os::bytes_of(strange), {});
  strange.host = 0;
  network.send_as(other_server, server_end, wire_message::host, os::bytes_of(strange), {});
  network.send_as(other_server, server_end, wire_message::host, os::bytes_of(strange).first(9), {});
  say_state(2, place_state::left, {});  // taken, after all of them
  EXPECT_TRUE(soon([&] { return control.slot(2).state.load() == place_state::left; }));
  EXPECT_EQ(control.failure_epoch.load(), 0U);
  EXPECT_EQ(control.slot(0).state.load(), place_state::absent);
}

TEST_F(a_server, ends_when_all_have_left) {
  agree();
  control.slot(0).state.store(place_state::left);
  control.slot(1).state.store(place_state::left);
  EXPECT_TRUE(has_said(host_news::bye, 0));
  EXPECT_FALSE(has_ended);
  say(host_news::bye, 0);
  EXPECT_TRUE(soon([&] { return has_ended.load(); }));
}

// A server that is not sure whether it was given up asks the others, of whom two are needed here; of a job that is over
// nobody answers that.
TEST(a_server_of_three, answers_at_the_end_however_long_it_takes) {
  constexpr wire_peer place_of_first = 3;
  job shared = job::create({.place_count = 3, .homes = {{0, 0}, {1, 0}, {2, 0}}, .host = 1});
  job_control& control = shared.control();
  test::test_network network{4, {}};
  test::numbered_wire wire{network.end_of(1)};
  for (const std::uint16_t host : {0, 2}) {
    address_of(control, host).bytes = 1;
    address_of(control, host).text[0] = static_cast<std::byte>(host);
  }
  std::thread thread{[&] {
    host_server server{shared, wire};
    server.run();
  }};
  const auto say = [&](std::uint16_t host, host_news what, std::uint64_t number) {
    host_head head{.what = static_cast<std::uint8_t>(what), .host = host};
    head.number = number;
    network.send_as(host, 1, wire_message::host, os::bytes_of(head), {});
  };
  const auto soon = [](auto holds) {
    for (int i = 0; i < 5000 && !holds(); ++i) std::this_thread::sleep_for(1ms);
    return holds();
  };
  control.heap_offset.store(std::uint64_t{32} << 20);
  control.votes[0].fetch_add(1);
  for (const std::uint16_t host : {0, 2}) say(host, host_news::votes, 1);
  EXPECT_TRUE(soon([&] { return control.votes[0].load() == 3; }));
  for (const std::uint16_t host : {0, 1, 2})
    round_of(control, host_barrier::leaving, host).set(1, std::memory_order_seq_cst);
  std::this_thread::sleep_for(800ms);  // more than four beats
  operation_head head{.what = static_cast<std::uint8_t>(far_operation::barrier), .source = 0};
  head.address = control.candidates[0];
  head.second = static_cast<std::uint64_t>(host_barrier::world);
  head.third = 1;
  network.send_as(place_of_first, 1, wire_message::operation, os::bytes_of(head), {});
  EXPECT_TRUE(soon([&] { return round_of(control, host_barrier::world, 0).look() == 1; }));
  control.slot(1).state.store(place_state::left);
  for (const std::uint16_t host : {0, 2}) say(host, host_news::bye, 0);
  thread.join();
}

}  // namespace
}  // namespace situ
