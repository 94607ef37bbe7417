// What the servers of three hosts do where one of them is not heard any more: on the tests' network, in one process.
#include "cluster/host_server.h"
#include "cluster/host_words.h"

#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cluster/host_loss.h"
#include "cluster/numbered_wire.h"
#include "cluster/survivors_words.h"
#include "cluster/test_network.h"
#include "memory/liveness.h"

#include "support/places.h"
#include "support/stalls.h"

namespace situ {
namespace {

using namespace detail::cluster;
using detail::host_barrier;
using detail::job;
using detail::job_control;
using detail::place_home;
using detail::place_state;
using namespace std::chrono_literals;
using test::test_network;

constexpr std::uint16_t hosts = 3;
// Between beats: a machine that runs other tests beside this one gives a thread its turn within that.
constexpr auto beat = test::with_sanitizer ? 400ms : 100ms;
constexpr auto within = 10 * beat;

job job_at(std::uint16_t host) {
  const std::vector<place_home> homes{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}};
  job made = job::create({.place_count = 6, .homes = homes, .host = host});
  for (std::uint16_t h = 0; h < hosts; ++h) {
    address_of(made.control(), h).bytes = 1;
    address_of(made.control(), h).text[0] = static_cast<std::byte>(h);
  }
  for (std::uint32_t place = 2U * host; place < 2U * host + 2; ++place)
    made.control().slot(place).state.store(place_state::joined);
  return made;
}

// A host's server, and its memory. Its places are there by name only.
class one_host {
 public:
  one_host(std::uint16_t number, test_network& network) : shared_{job_at(number)}, wire_{network.end_of(number)} {
    thread_ = std::thread{[this] {
      host_server server{shared_, wire_};
      server.run();
    }};
  }
  ~one_host() {
    for (std::uint32_t place = 0; place < 6; ++place) {
      place_state joined = place_state::joined;
      if (control().is_here(place)) control().slot(place).state.compare_exchange_strong(joined, place_state::left);
    }
    thread_.join();
  }
  one_host(const one_host&) = delete;
  one_host& operator=(const one_host&) = delete;
  [[nodiscard]] job_control& control() { return shared_.control(); }
  [[nodiscard]] test::numbered_wire& wire() { return wire_; }
  // Stops its server in the middle of whatever it does.
  void freeze() { ::pthread_kill(thread_.native_handle(), SIGUSR1); }

 private:
  job shared_;
  test::numbered_wire wire_;
  std::thread thread_;
};

std::atomic<bool> is_frozen{false};

class losses : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("SITU_BEAT", std::to_string(beat.count()).c_str(), 1);
    struct sigaction stop{};
    stop.sa_handler = [](int) {
      while (is_frozen) std::this_thread::sleep_for(1ms);
    };
    ::sigaction(SIGUSR1, &stop, nullptr);
    for (std::uint16_t h = 0; h < hosts; ++h) all[h].emplace(h, network);
    ASSERT_TRUE(soon([&] {
      return each_sees([](job_control& control, std::uint32_t place) {
        return control.slot(place).state.load() == place_state::joined;
      });
    }));
    std::this_thread::sleep_for(2 * beat);
  }
  void TearDown() override {
    is_frozen = false;
    for (auto& each : all) each.reset();
    ::signal(SIGUSR1, SIG_DFL);
    ::unsetenv("SITU_BEAT");
  }
  template <class Holds>
  static bool soon(Holds holds) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    return holds();
  }
  // Whether it comes within the time that is promised.
  template <class Holds>
  bool in_time(Holds holds, std::chrono::milliseconds promised) {
    stalls.begin();
    const auto begin = std::chrono::steady_clock::now();
    while (!holds() && stalls.allow(std::chrono::steady_clock::now() - begin, promised))
      std::this_thread::sleep_for(1ms);
    return holds();
  }
  template <class Holds>
  bool each_sees(Holds holds) {
    for (auto& each : all)
      for (std::uint32_t place = 0; place < 6; ++place)
        if (!holds(each->control(), place)) return false;
    return true;
  }
  // Host `at` has lost both places of `host`, in one step, and no others.
  bool has_lost(std::uint16_t at, std::uint16_t host) {
    job_control& control = all[at]->control();
    if (control.failure_epoch.load() == 0) return false;
    EXPECT_EQ(control.failure_epoch.load(), 2U);
    for (std::uint32_t place = 0; place < 6; ++place)
      EXPECT_EQ(control.slot(place).state.load() == place_state::lost, control.homes()[place].host == host);
    EXPECT_FALSE(detail::has_server(control, host));
    return !HasFailure();
  }
  bool is_alone(std::uint16_t at) {
    job_control& control = all[at]->control();
    return in_time([&] { return control.failure_epoch.load() == 6; }, within);
  }
  // A place comes to a round of survivors().
  void come(std::uint32_t place, std::uint64_t round) {
    for (auto& each : all)
      if (each->control().is_here(place)) each->control().slot(place).survivors.words().round.store(round);
  }
  // The fates of the places that a host has, as far as they are of that round: "++-+..".
  std::string fates_at(std::uint16_t at, std::uint64_t round) {
    std::string found;
    for (std::uint32_t place = 0; place < 6; ++place) {
      const std::uint64_t fate = all[at]->control().slot(place).survivors.words().fate.load();
      found += fate >> 1 != round ? '.' : (fate & 1) != 0 ? '+' : '-';
    }
    return found;
  }
  std::string reason_at(std::uint16_t at, std::uint32_t place) {
    return std::string{detail::lost_reason(all[at]->control(), place)};
  }

  test::stall_meter stalls;  // before the threads of the hosts
  test_network network{hosts, {}};
  std::array<std::optional<one_host>, hosts> all;
};

TEST_F(losses, a_host_that_is_cut_off_is_lost_for_the_others_which_are_lost_for_it) {
  network.cut(2);
  EXPECT_TRUE(in_time([&] { return has_lost(0, 2) && has_lost(1, 2); }, within));
  EXPECT_TRUE(is_alone(2));
  EXPECT_EQ(reason_at(2, 4), "host 2 is cut off from the others");
  EXPECT_TRUE(reason_at(0, 4).starts_with("nothing has come of its host, number 2, for ")) << reason_at(0, 4);
  network.mend(2);
  std::this_thread::sleep_for(3 * beat);
  EXPECT_TRUE(has_lost(0, 2) && has_lost(1, 2));
}

TEST_F(losses, a_frozen_server_hears_that_it_was_given_up) {
  is_frozen = true;
  all[0]->freeze();
  EXPECT_TRUE(in_time([&] { return has_lost(1, 0) && has_lost(2, 0); }, within));
  EXPECT_EQ(all[0]->control().failure_epoch.load(), 0U);
  is_frozen = false;
  EXPECT_TRUE(is_alone(0));
}

TEST_F(losses, a_link_that_ends_is_told_at_once) {
  all[0]->wire().lose(1);
  all[2]->wire().lose(1);
  EXPECT_TRUE(in_time([&] { return has_lost(0, 1) && has_lost(2, 1); }, 2 * beat));
  EXPECT_EQ(reason_at(2, 3), "the link to its host, number 1, has ended");
  EXPECT_TRUE(is_alone(1));
}

TEST_F(losses, who_has_come_to_the_end_is_not_missed) {
  for (auto& each : all)
    for (std::uint16_t h = 0; h < hosts; ++h)
      round_of(each->control(), host_barrier::leaving, h).set(1, std::memory_order_seq_cst);
  network.cut(1);
  std::this_thread::sleep_for(within);
  for (auto& each : all) EXPECT_EQ(each->control().failure_epoch.load(), 0U);
}

TEST_F(losses, the_servers_agree_on_survivors) {
  for (const std::uint32_t place : {0U, 1U, 2U, 3U, 4U}) come(place, 1);
  std::this_thread::sleep_for(2 * beat);
  for (std::uint16_t h = 0; h < hosts; ++h) EXPECT_EQ(fates_at(h, 1), "......");
  detail::mark_lost(all[2]->control(), 5, "killed");
  for (std::uint16_t h = 0; h < hosts; ++h)
    EXPECT_TRUE(in_time([&] { return fates_at(h, 1) == "+++++-"; }, within)) << fates_at(h, 1);
  for (const std::uint32_t place : {0U, 1U, 2U, 3U, 4U}) come(place, 2);
  for (std::uint16_t h = 0; h < hosts; ++h)
    EXPECT_TRUE(in_time([&] { return fates_at(h, 2) == "+++++-"; }, within)) << fates_at(h, 2);
}

// The first host decides, until it is lost.
TEST_F(losses, survivors_go_on_without_the_host_that_decides) {
  for (const std::uint32_t place : {2U, 3U, 4U, 5U}) come(place, 1);
  network.cut(0);
  for (const std::uint16_t h : {std::uint16_t{1}, std::uint16_t{2}})
    EXPECT_TRUE(in_time([&] { return fates_at(h, 1) == "--++++"; }, within)) << fates_at(h, 1);
  EXPECT_TRUE(is_alone(0));
  EXPECT_EQ(fates_at(0, 1), "......");
}

TEST(server_beat, is_a_number_of_milliseconds) {
  const job shared = job_at(0);
  test_network network{hosts, {}};
  test::numbered_wire wire{network.end_of(0)};
  for (const char* const text : {"soon", "0", "100ms", "-1"}) {
    ::setenv("SITU_BEAT", text, 1);
    EXPECT_THROW((host_server{shared, wire}), error) << text;
  }
  ::unsetenv("SITU_BEAT");
}

}  // namespace
}  // namespace situ
