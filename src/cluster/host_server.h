// A host's server: performs the operations that places of other hosts ask for on this host's memory, brings their
// messages to this host's places, watches these places, and reports their states to the servers of other hosts.
//
//   other hosts' places --- operations, messages ---> | its wire | --- answers, credits --->
//   places here <-- messages, in the server's channels of their slices
//   other hosts' servers <-- votes, states, byes -->    | mirrors in the control block, wake-ups of places here
//   places here: their processes' ends (pidfds), their states in their slots
//
// Invariants
//   1. The server waits for nothing but its descriptors; no received bytes end it.
//   2. It reads the slots of places here, and writes the end of a place whose process is gone. It writes the slots of
//      places elsewhere (the mirrors); only an agent whose launcher reports a place lost writes them besides.
//   3. votes[r] is given for the places of another host once its server has sent their votes; rejections come first.
//   4. Its own slot is joined once places elsewhere have voted: they wait for the places here.
//   5. It ends once all places here have ended and the other servers have been told, and have said bye or are gone,
//      or a second has passed.
//   6. A host that a verdict excludes (hosts_alive.h) is lost for the places here, in one step, and nothing of it is
//      taken in afterwards. While the others may have given up this host, operations that they ask for wait.
//   7. It writes the fates of a round of survivors() (survivors_words.h) once the hosts have agreed on its team, and the
//      end of each place that is no member is known here: so the places here are told of as many ends as elsewhere.
// A process of its own, with one thread.
#pragma once

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/delivery.h"
#include "cluster/hosts_alive.h"
#include "cluster/operations.h"
#include "cluster/protocol.h"
#include "cluster/survivors_agreement.h"
#include "cluster/wire.h"
#include "memory/bell.h"
#include "memory/job.h"
#include "os/descriptor.h"

namespace situ::detail::cluster {

class host_server final : private wire_receiver, private barrier_listener {
 public:
  // Serves that job, whose addresses must be written. Both outlive this. starter: when its other end is closed, this
  // host's places have ended; it may be empty. Throws bad_launch if a host cannot be reached.
  host_server(const job& shared, network_wire& wire, os::descriptor starter = {});
  host_server(const host_server&) = delete;
  host_server& operator=(const host_server&) = delete;

  // Serves until the job has ended for this host.
  void run();

 private:
  using clock = std::chrono::steady_clock;
  struct own_place {
    std::uint32_t place;
    os::descriptor process;  // a pidfd; empty if the process has ended, or if there is none
    place_state told = place_state::absent;
  };
  struct other_host {
    wire_peer server = 0;
    std::array<std::int8_t, job_control::address_rounds> votes{};  // 1 for, -1 against, 0: not said
    bool link_ended = false;
    bool has_ended = false;  // said bye, or is gone
    bool is_gone = false;
  };
  struct waiting_operation {
    wire_peer from;
    std::vector<std::byte> head;
    std::vector<std::byte> data;
    bool is_whole;  // false: its data is still coming
  };

  bool work();
  [[nodiscard]] bool may_sleep() noexcept;
  void sleep();
  [[nodiscard]] int sleep_ms() const noexcept;
  void look_at_places();
  void look_at_process(own_place& of);
  void look_at_starter();
  void tell_state(const own_place& of, place_state state);
  void tell_others(std::span<const std::byte> news);
  void vote();
  void close_round(bool is_accepted);
  void serve_from(address_space space);
  [[nodiscard]] bool is_over();
  [[nodiscard]] static hosts_alive::time now() noexcept;
  [[nodiscard]] bool is_leaving();
  void follow_verdicts();
  [[nodiscard]] std::string reason_for(std::uint16_t host) const;
  void end_here() noexcept;
  // The most operations that places elsewhere can have outstanding: a dropped one would never be answered.
  [[nodiscard]] std::size_t most_waiting() const noexcept {
    return std::size_t{most_outstanding} * (control_.place_count - own_.size());
  }
  // Returns false while the others may have given up this host. Once all hosts have come to the end of the job no verdict
  // follows, and no host reports that there was none.
  [[nodiscard]] bool is_certain() { return is_leaving() ? !alive_.has_ended() : alive_.may_answer(now()); }
  [[nodiscard]] bool may_answer() { return operations_ && is_certain(); }
  void do_waiting();
  void mark_elsewhere(std::uint32_t place, place_state state, std::string_view reason) noexcept;
  void lose_host(std::uint16_t host, std::string_view reason) noexcept;
  void look_at_survivors();
  void show_survivors();
  [[nodiscard]] std::uint64_t round_of_places_here() noexcept;

  std::byte* room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                      std::uint64_t bytes) noexcept override;
  void received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                std::span<const std::byte> data) noexcept override;
  void ended(wire_peer from) noexcept override;
  void arrived(std::uint16_t host, host_barrier which, std::uint64_t round) noexcept override;
  void hear(std::span<const std::byte> head, std::span<const std::byte> data);

  const job& shared_;
  job_control& control_;
  network_wire& wire_;
  std::vector<own_place> own_;
  os::descriptor starter_;
  bell bell_;                   // places here ring it when there is room in their channels
  std::vector<pollfd> looked_;  // descriptors that sleep() awaits: wire, bell, the processes of own_, starter_
  std::vector<other_host> hosts_;
  // The vote on the base address.
  std::uint32_t round_ = 0;
  bool has_tried_ = false;  // in this round
  bool has_told_ = false;   // this host's vote has been sent
  std::optional<address_space> space_;
  std::vector<std::uint64_t> limits_;
  place_context context_;
  std::optional<operations> operations_;  // once there is a base
  std::optional<delivery> messages_;      // as operations_
  // Operations that came before there was a base, or while this host was not certain whether it had been given up.
  std::vector<waiting_operation> waiting_;
  hosts_alive::limits limits_of_silence_;
  hosts_alive alive_;
  std::uint32_t followed_verdicts_ = 0;
  bool is_cut_off_ = false;
  // survivors()
  survivors_agreement rest_;
  std::uint64_t round_here_ = 0;     // the last that all live places here have come to
  std::uint64_t shown_round_ = 0;    // the last whose fates the places here can read
  bool has_heard_of_round_ = false;  // from another host
  clock::time_point next_look_{};
  std::optional<clock::time_point> said_bye_;
  std::uint64_t dropped_ = 0;
};

}  // namespace situ::detail::cluster
