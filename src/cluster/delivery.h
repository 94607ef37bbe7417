// A host server's end of messages: receives the messages of places of other hosts, and writes them into the channels
// of the places of this host.
//
// Each place of this host has one channel pair of its server (endpoint::hear_server). A message for which there is no
// room waits in the queue of its pair of places; pairs that wait for one channel take turns, one message each. When
// messages go into the channel, the server tells the sender how many have gone (a credit): for one pair the server
// holds at most the sender's window (channel.h, invariant 3).
//
//   place p there --- message ---> pair (p, q, requests) ... turns ... channel of the server in q's slice ---> q
//   place p there <-- credit -----/
//
// Invariants
//   1. The messages of a pair go into the channel in the order of their sequence, each once; an early message waits.
//   2. At most channel::cell_count messages and channel::data_bytes of records of one pair wait. The server counts and
//      drops a message beyond that, a repeated message, and bytes that are no message.
//   3. A pair is in its channel's turns exactly while its next message waits.
// No received bytes end the server. Belongs to the server's thread.
#pragma once

#include <situ/fabric/detail/endpoint.h>
#include <situ/fabric/detail/far.h>
#include <situ/memory/detail/place_context.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "cluster/operations.h"
#include "cluster/protocol.h"
#include "cluster/wire.h"

namespace situ::detail::cluster {

class delivery final {
 public:
  // senders: knows the host of the place behind each peer. All arguments outlive this.
  delivery(job_control& control, std::span<const place_home> homes, std::uint16_t host, host_wire& out,
           operations& senders);
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;

  // From now on delivers messages to this place through `to`. pre: the place is on this host, and nothing else writes
  // to these channels.
  void add_place(std::uint32_t place, channel_pair& to);

  // As wire_receiver::received, for messages, and for the requests for credit that places send.
  void received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                std::span<const std::byte> data) noexcept;
  // Writes waiting messages to their channels, as far as there is room; returns true if it wrote any.
  bool deliver() noexcept;

  // Before the server sleeps while messages wait, it calls ask_for_wake(): the targets then wake it once there is
  // room. The server calls deliver() once more after that.
  [[nodiscard]] bool is_waiting() const noexcept { return waiting_ != 0; }
  void ask_for_wake() noexcept;

  struct counts {
    std::uint64_t delivered = 0;
    std::uint64_t credits = 0;
    std::uint64_t dropped = 0;
    std::uint64_t to_ended = 0;         // messages to places that have ended
    std::uint64_t most_held_bytes = 0;  // of records, for one pair; the highest so far
  };
  [[nodiscard]] const counts& count() const noexcept { return count_; }

 private:
  struct held_message {
    parsed_message is;  // its own `words` are not valid
    std::array<std::byte, sizeof(cell::words)> words;
    std::vector<std::byte> record;
  };
  struct sender {
    message_head of{};  // source, target and channel
    wire_peer peer = 0;
    std::uint64_t taken = 0;  // messages that have gone into the channel
    std::uint64_t data_taken = 0;
    std::uint64_t told = 0;
    std::uint64_t data_told = 0;
    std::map<std::uint64_t, held_message> waiting;  // by their numbers; the first is taken + 1, or came early
    std::uint64_t held_bytes = 0;
    bool asks = false;
    [[nodiscard]] bool has_next() const noexcept { return !waiting.empty() && waiting.begin()->first == taken + 1; }
  };
  struct channel_end {
    outgoing out;
    place_slot* slot = nullptr;
    std::deque<sender*> turns;
    bool has_ended = false;  // the channel's place has ended
  };
  struct target_ends {
    std::array<channel_end, 2> ends;  // requests, replies
  };

  [[nodiscard]] channel_end* end_of(std::uint32_t target, std::uint32_t channel) noexcept;
  [[nodiscard]] sender& sender_of(const message_head& head, wire_peer from);
  void take_message(wire_peer from, std::span<const std::byte> head, std::span<const std::byte> data);
  void hold(sender& from, channel_end& end, std::uint64_t number, const parsed_message& is,
            std::span<const std::byte> record);
  bool take_turns(channel_end& end);
  void write(sender& from, channel_end& end, const parsed_message& is, std::span<const std::byte> words,
             std::span<const std::byte> record) noexcept;
  void forget_waiting(channel_end& end);
  void answer(wire_peer from, std::span<const std::byte> head, std::uint64_t data_bytes);
  void tell(sender& to);
  void tell_if_due(sender& to);
  void drop(wire_peer from, std::string_view why) noexcept;
  void count_taken(std::uint32_t source, std::uint64_t messages) noexcept;

  job_control& control_;
  std::span<const place_home> homes_;
  std::uint16_t host_;
  host_wire& wire_;
  operations& senders_known_;
  std::vector<std::unique_ptr<target_ends>> targets_;  // by their index here
  std::unordered_map<std::uint64_t, sender> senders_;  // | source:31 | target:32 | channel:1 |
  std::uint64_t waiting_ = 0;                          // messages, of all senders
  counts count_;
};

}  // namespace situ::detail::cluster
