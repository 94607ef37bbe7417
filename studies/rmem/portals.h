// Remote memory on a modelled machine of clusters: peers that move blocks between their cluster's memory and that of a
// server, by RMem's two steps or by the single step of the libraries below it.
//
// A process of the machine is a coroutine; messages, permissions and data take the modelled networks and memories, what
// the system's libraries take of who calls them is a given time. So each call here is one way through the protocol:
//
//   write, two steps   peer: send_mail -> server: take_mail, open, prepare, permit -> peer: write, data
//   write, one step    server: prepare, permit -> peer: write, data
//   read, two steps    peer: send_mail, then open, prepare, permit; server meanwhile: take_mail, open, open -> write,
//   data read, one step     peer: send_mail -> server: take_mail, open, open, permit -> peer: open, prepare, permit
//                      -> server: write, data
//
// The names of the prototype (https://github.com/nanvix/multikernel, August 2018): a mailbox for headers, a portal for
// data, a sync by which a reader permits its writer. There each peer has a server process of its own.
#pragma once

#include <cstdint>

#include "model/parts/machine_spec.h"

namespace situ::studies::rmem {

// What calls of the system's libraries take of who calls them, in microseconds.
struct library_times {
  double send_mail = 0;
  double take_mail = 0;  // and check the header
  double open = 0;       // a connector
  double prepare = 0;    // a read
  double permit = 0;     // its writer
  double write = 0;      // of a portal, beside the data's way
};

enum class protocol : std::uint8_t { two_steps, one_step };

struct block_moves {
  protocol by = protocol::two_steps;
  bool is_write = false;
  std::uint64_t bytes = 0;  // of a block; those of a cluster's memory at most
  std::uint32_t peers = 1;  // each in a cluster of its own
  std::uint32_t blocks = 8;
};

// Mean MB/s of a peer. Throws bad_argument where the machine has no such clusters: with a memory of their own, for the
// peers; with cores and none, beside another memory, for the server. cost: some 100 ns of the host for each 256 bytes.
[[nodiscard]] double megabytes_per_second(const model::machine_spec& machine, const library_times& takes,
                                          const block_moves& of);

}  // namespace situ::studies::rmem
