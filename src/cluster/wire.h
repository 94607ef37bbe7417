// What is needed of a network: messages with a head and data, from one end to others that it knows by number.
//
// One for each process that speaks with other hosts: a place, a host server. Used by its thread alone. Messages between
// two ends arrive once or, after one of them has ended, not at all; in any order.
#pragma once

#include "cluster/protocol.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ::detail::cluster {

// The number of another end, by which what comes from it is known and what goes to it is sent.
using wire_peer = std::uint32_t;

// Who takes in what comes. Does not throw, whatever the bytes are.
class wire_receiver {
 public:
  virtual ~wire_receiver() = default;
  // Data that is not is_copied() may come after its head: returns where it goes; received() comes once it is there,
  // with other messages between them or not. Null: it is refused, who waits has been told, and received() does not
  // come.
  virtual std::byte* room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                              std::uint64_t bytes) noexcept = 0;
  // A whole message. head and data are the wire's, and gone afterwards, unless the data lies where room_for() said.
  virtual void received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                        std::span<const std::byte> data) noexcept = 0;
  // Nothing comes from there any more, and what is sent there is dropped: that end is gone, or the way to it.
  virtual void ended(wire_peer) noexcept {}
};

class host_wire {
 public:
  virtual ~host_wire() = default;
  // The head is copied, and data that is_copied(). Other data stays there until the other end has answered,
  // or is memory of a slice; it may change. A message to an end that is not there any more is dropped: its end is told
  // in another way.
  virtual void send(wire_peer to, wire_message kind, std::span<const std::byte> head,
                    std::span<const std::byte> data) noexcept = 0;
  // That end counts as gone: nothing is sent there or taken in from there any more, and its data that is under way does
  // not come. Not while progress() runs a receiver's received().
  virtual void give_up(wire_peer peer) noexcept = 0;
  // Takes in what has come; true if anything had.
  virtual bool progress(wire_receiver& receiver) = 0;

  // To sleep: arm(), and if that says that nothing has come since the last progress(), wait until the descriptor can be
  // read. -1: there is none, and who waits gives way.
  [[nodiscard]] virtual bool arm() noexcept = 0;
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // Whether all that was sent has gone from here, or never will; else progress() is needed for it to go.
  [[nodiscard]] virtual bool is_idle() const noexcept = 0;
};

// A wire whose ends are reached by addresses, which travel in another way.
class network_wire : public host_wire {
 public:
  // What others connect by: bytes for connect().
  [[nodiscard]] virtual std::vector<std::byte> address() const = 0;
  // Throws bad_launch where there is no way to that address.
  virtual wire_peer connect(std::span<const std::byte> address) = 0;
};

}  // namespace situ::detail::cluster
