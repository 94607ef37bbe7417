// The interface to a network: messages with a head and data, from one end to others that it knows by number.
//
// Each process that communicates with other hosts has one wire: a place, a host server. Only its thread uses it.
// Messages between two ends arrive once or, after one of the ends has ended, not at all; in any order.
#pragma once

#include "cluster/protocol.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ::detail::cluster {

// The number of another end, which identifies it as sender and as receiver.
using wire_peer = std::uint32_t;

// Takes in messages. The functions do not throw, whatever the bytes are.
class wire_receiver {
 public:
  virtual ~wire_receiver() = default;
  // Returns the destination of data that is not is_copied() and may follow its head; the wire calls received() once
  // the data is there, with other messages before that or not. Null refuses the data: the receiver has told the
  // waiting place, and received() is not called.
  virtual std::byte* room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                              std::uint64_t bytes) noexcept = 0;
  // Takes in a whole message. `head` and `data` belong to the wire, and are invalid afterwards, unless the data is
  // where room_for() said.
  virtual void received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                        std::span<const std::byte> data) noexcept = 0;
  // Nothing comes from that end any more, and messages to it are dropped: the end is gone, or the way to it.
  virtual void ended(wire_peer) noexcept {}
};

class host_wire {
 public:
  virtual ~host_wire() = default;
  // Sends a message. The head is copied, and data that is_copied(). Other data must stay valid until the other end has
  // answered, or must be memory of a slice; its contents may change. A message to an end that is gone is dropped: the
  // sender learns of the end's loss in another way.
  virtual void send(wire_peer to, wire_message kind, std::span<const std::byte> head,
                    std::span<const std::byte> data) noexcept = 0;
  // Treats that end as gone: nothing is sent to it or taken in from it any more, and its data that is on the way does
  // not arrive. Must not be called while progress() runs a receiver's received().
  virtual void give_up(wire_peer peer) noexcept = 0;
  // Takes in messages that have arrived; returns true if there were any.
  virtual bool progress(wire_receiver& receiver) = 0;

  // To sleep: call arm(), and if it returns true (nothing has come since the last progress()), wait until the
  // descriptor is readable. -1: there is no descriptor, and the waiting thread yields.
  [[nodiscard]] virtual bool arm() noexcept = 0;
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // Returns true if everything that was sent has left this end, or never will; otherwise progress() is needed to send
  // it.
  [[nodiscard]] virtual bool is_idle() const noexcept = 0;
};

// A wire whose ends are reached by addresses, which the caller exchanges in another way.
class network_wire : public host_wire {
 public:
  // Returns the bytes by which others connect: see connect().
  [[nodiscard]] virtual std::vector<std::byte> address() const = 0;
  // Connects to the end with that address. Throws bad_launch if it cannot be reached.
  virtual wire_peer connect(std::span<const std::byte> address) = 0;
};

}  // namespace situ::detail::cluster
