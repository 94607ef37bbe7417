// The membership of a job's hosts, as one host sees it, and the agreement on it: heartbeats, suspicions, verdicts.
//
// A state machine without clock, network or process: its owner passes it times and messages; it returns the messages
// to send and the hosts that are lost. Each host has one. Verdict number n is one decision of Paxos (Lamport, "Paxos
// made simple", 2001) among the hosts that verdict n - 1 left, for the first verdict among all of them; its value is
// the set of hosts that go on.
//
//   no beat for a while --> suspected, as each beat says --> a host proposes the survivors --> a quorum agrees: verdict
//
// Invariants
//   1. A quorum of the hosts that the last verdict left decides a verdict: more than half of them, or half with the
//      first of them. Any two quorums have a host in common, so verdict n is the same for every host that learns it.
//   2. Verdicts are learnt in order, and each leaves fewer hosts: a lost host stays lost.
//   3. A host stops if it hears no quorum, if a verdict excludes it, or if it has suspicions that no verdict decides.
//      So at most one side of a network partition goes on.
//   4. A host whose turns had a gap in which the others may have given it up (it was frozen) is uncertain, and does not
//      answer, until a quorum has told it, by answers to beats that it sent after the gap, that there was no verdict.
// A host ends by stopping, and does not come back, so its promises need not be persistent.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/host_set.h"
#include "cluster/protocol.h"

namespace situ::detail::cluster {

class hosts_alive {
 public:
  using time = std::chrono::nanoseconds;  // since any fixed moment; it never goes back

  struct limits {
    time beat;         // between beats
    time silence;      // without any message from a host, until the host is suspected
    time unanswered;   // since the last answered beat was sent, until suspected: a link may carry one way only
    time late_turn;    // between turns of this host: a longer gap says nothing about the others
    time frozen_turn;  // between turns of this host: after a longer gap this host is uncertain
    time patience;     // for each host that is to propose before this one
    time giving_up;    // with suspicions that no verdict decides, until this host stops
    time first_word;   // for the first message of each host, since the beginning
    static constexpr limits of(time beat) noexcept {
      return {.beat = beat,
              .silence = 5 * beat,
              .unanswered = 6 * beat,
              .late_turn = 5 * beat / 2,
              .frozen_turn = 4 * beat,
              .patience = beat,
              .giving_up = 4 * beat,
              .first_word = 50 * beat};
    }
  };

  struct letter {
    std::uint16_t to;
    alive_news what;
  };

  hosts_alive(std::uint16_t hosts, std::uint16_t self, const limits& how, time now);

  // The inputs. The owner calls turn() at least every fifth of a beat.
  void turn(time now);
  void hear(std::uint16_t from, const alive_news& what, time now);
  // The link to that host has ended in both directions.
  void link_ended(std::uint16_t host, time now);
  // The host has said that it leaves; the others need not find that out.
  void has_left(std::uint16_t host, time now);

  // Returns the messages to send since the last call.
  [[nodiscard]] std::vector<letter> take_letters() noexcept { return std::exchange(letters_, {}); }
  // The hosts that go on, by the last verdict.
  [[nodiscard]] const host_set& living() const noexcept { return living_; }
  [[nodiscard]] std::uint32_t verdicts() const noexcept { return static_cast<std::uint32_t>(decided_.size()); }
  // The hosts that went on after each verdict.
  [[nodiscard]] const std::vector<host_set>& decided() const noexcept { return decided_; }
  // Returns true once this host is no part of the job any more. It sends nothing from then on.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  // Returns true if this host may perform operations that others ask for; false also once it has ended.
  [[nodiscard]] bool may_answer(time now) {
    if (now - last_turn_ > how_.late_turn) turn(now);
    return is_certain_ && !has_ended_;
  }
  // Returns true if any message of that host has come so far.
  [[nodiscard]] bool was_heard(std::uint16_t host) const noexcept { return others_[host].was_heard; }

 private:
  struct other {
    bool was_heard = false;
    bool link_ended = false;
    bool has_left = false;
    time heard_at{};                // when its last message came
    time answered_at{};             // when the last beat that it has answered was sent
    std::uint64_t last_number = 0;  // of its beats
    host_set doubted;               // hosts that it suspects, under the last verdict
  };
  struct proposal {
    std::uint64_t ballot = 0;  // 0: there is none
    bool is_asking_to_accept = false;
    host_set agreed{};  // hosts that agreed to the ballot, then to the value
    std::uint64_t best = 0;
    host_set value{};
  };

  void pass(time now);
  void judge(time now);
  [[nodiscard]] host_set find_silent(time now) const noexcept;
  [[nodiscard]] host_set without_broken_links() const;
  [[nodiscard]] bool is_broken(std::uint16_t a, std::uint16_t b) const noexcept;
  [[nodiscard]] bool is_quorum(host_set of) const noexcept;
  void beat_to(const host_set& whom, bool asks, time now);
  void beat_to(std::uint16_t host, bool asks, time now);
  void take_beat(std::uint16_t from, const alive_news& beat, time now);
  void look_for_certainty() noexcept;
  void send_lacking_verdicts(std::uint16_t to, std::uint32_t known);
  void propose(time now);
  void send_ballot(host_news what, std::uint64_t number, const host_set& value);
  void take_ballot(std::uint16_t from, const alive_news& what);
  void vote(std::uint16_t proposer, const alive_news& asked);
  void take_vote(std::uint16_t from, const alive_news& vote);
  void learn(const host_set& value);
  void end() noexcept;

  const std::uint16_t hosts_;
  const std::uint16_t self_;
  const limits how_;
  const time begun_;
  std::vector<other> others_;
  host_set living_;
  std::vector<host_set> decided_;  // hosts that go on after verdict 1, 2, ...
  std::vector<letter> letters_;
  bool has_ended_ = false;

  // Beats.
  time last_turn_;
  time next_beat_;
  std::uint64_t number_ = 0;        // of the last one
  std::array<time, 64> sent_at_{};  // by number % 64
  host_set silent_;                 // hosts that this host does not hear
  // After a gap: the first number whose answers count, and the hosts that have answered.
  bool is_certain_ = true;
  std::uint64_t asked_from_ = 0;
  host_set certain_of_;

  // The next verdict.
  std::optional<time> doubts_since_;
  time next_proposal_{};
  host_set wanted_;
  proposal mine_;
  std::uint64_t highest_seen_ = 0;  // of ballots
  std::uint64_t promised_ = 0;      // this host takes part in no lower ballot
  std::uint64_t accepted_ = 0;      // ballot under which `accepted_value_` was accepted; 0: none
  host_set accepted_value_;
};

}  // namespace situ::detail::cluster
