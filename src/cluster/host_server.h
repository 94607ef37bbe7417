// A host's server: does what places of other hosts ask of this host's memory, brings their messages to this host's
// places, watches those, and tells the servers of other hosts how they are.
//
//   other hosts' places --- operations, messages ---> | its wire | --- answers, credits --->
//   places here <-- messages, in the server's channels of their slices
//   other hosts' servers <-- votes, states, byes -->    | mirrors in the control block, wake-ups of places here
//   places here: their processes' ends (pidfds), their states in their slots
//
// Invariants
//   1. It waits for nothing but its descriptors; whatever comes in does not end it.
//   2. Of places here it reads slots, and writes the end of one whose process is gone; of places elsewhere it writes
//      the slots (the mirrors), and nobody else does.
//   3. votes[r] is given for the places of a host elsewhere once its server has said theirs; rejections come first.
//   4. It ends once all places here have ended and the others have been told, and have said bye or are gone, or a
//      second has passed.
// A process of its own, with one thread.
#pragma once

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/delivery.h"
#include "cluster/operations.h"
#include "cluster/protocol.h"
#include "cluster/wire.h"
#include "memory/bell.h"
#include "memory/job.h"

namespace situ::detail::cluster {

class host_server final : private wire_receiver, private barrier_listener {
 public:
  // Of that job, whose addresses are written. Both outlive this. Throws bad_launch where there is no way to a host.
  host_server(const job& shared, network_wire& wire);
  ~host_server() override;
  host_server(const host_server&) = delete;
  host_server& operator=(const host_server&) = delete;

  // Until the job has ended for this host.
  void run();

 private:
  using clock = std::chrono::steady_clock;
  struct own_place {
    std::uint32_t place;
    int process;  // a pidfd; -1: it has ended, or there is none
    place_state told = place_state::absent;
  };
  struct other_host {
    wire_peer server = 0;
    std::array<std::int8_t, job_control::address_rounds> votes{};  // 1 for, -1 against, 0: not said
    bool is_heard = false;
    bool has_ended = false;  // said bye, or is gone
    bool is_gone = false;
  };
  struct early_operation {
    wire_peer from;
    std::vector<std::byte> head;
    std::vector<std::byte> data;
  };

  bool work();
  [[nodiscard]] bool may_sleep() noexcept;
  void sleep();
  [[nodiscard]] int sleep_ms() const noexcept;
  void look_at_places();
  void look_at_process(own_place& of);
  void tell_state(const own_place& of, place_state state);
  void tell_others(std::span<const std::byte> news);
  void vote();
  void close_round(bool is_accepted);
  void serve_from(address_space space);
  [[nodiscard]] bool is_over();
  void look_for_silent();
  void mark_elsewhere(std::uint32_t place, place_state state, std::string_view reason) noexcept;
  void lose_host(std::uint16_t host, std::string_view reason) noexcept;

  std::byte* room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                      std::uint64_t bytes) noexcept override;
  void received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                std::span<const std::byte> data) noexcept override;
  void ended(wire_peer from) noexcept override;
  void arrived(std::uint16_t host, host_barrier which, std::uint64_t round) noexcept override;
  void hear(std::span<const std::byte> head, std::uint64_t data_bytes);

  static constexpr std::size_t most_early = 4096;
  const job& shared_;
  job_control& control_;
  network_wire& wire_;
  std::vector<own_place> own_;
  bell bell_;                   // by which places here tell that there is room in their channels
  std::vector<pollfd> looked_;  // what sleep() awaits: the wire, the bell, and the processes of own_
  std::vector<other_host> hosts_;
  // The vote on the base address.
  std::uint32_t round_ = 0;
  bool has_tried_ = false;  // in this round
  bool has_told_ = false;   // how this host has voted
  std::optional<address_space> space_;
  std::vector<std::uint64_t> limits_;
  place_context context_;
  std::optional<operations> operations_;  // once there is a base
  std::optional<delivery> messages_;      // as soon
  std::vector<early_operation> early_;    // until then
  const clock::time_point begun_ = clock::now();
  clock::time_point next_look_{};
  std::optional<clock::time_point> said_bye_;
  std::uint64_t dropped_ = 0;
};

}  // namespace situ::detail::cluster
