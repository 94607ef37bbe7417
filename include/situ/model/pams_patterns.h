// Communication patterns as programs of PAMS: barriers, and exchanges of memory such as that of ghost elements. Each
// pattern adds its instructions to the programs of all nodes, which the caller may go on with.
//
//   std::vector<situ::model::pams_program> programs(16);
//   const auto barrier = situ::model::pams_barrier::per_chip(chips);      // chips[node]: where each node is
//   barrier.begin(programs);                                              // sets its counters
//   for (int step = 0; step < 4; ++step) barrier.append(programs);
//
// The programs raise the thresholds of their counters and never clear a count, so that a message that comes early is
// counted. begin() must be carried out at each node before any other node's append(); a common start time does that.
// cost: a few instructions of PAMS for each message; the time of a call is linear in these.
#pragma once

#include <situ/model/pams_program.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace situ::model {

// A barrier of all nodes: each calls its parent when it has come and all its children have called; from the root the
// word that all are there goes back. Node 0 is the root. Takes two handlers and two message counters of each node.
class pams_barrier {
 public:
  // The handlers and counters that it takes of each node.
  struct uses {
    std::uint32_t call = 1;  // handlers
    std::uint32_t done = 2;
    std::uint32_t calls_counter = 0;  // message counters
    std::uint32_t done_counter = 1;
  };
  // All nodes call node 0: the "simple" barrier of the paper's figure 6.
  [[nodiscard]] static pams_barrier simple(std::uint32_t nodes, const uses& used);
  [[nodiscard]] static pams_barrier simple(std::uint32_t nodes) { return simple(nodes, uses{}); }
  // The first node of each chip is a hub, which its neighbours call: the "staggered" barrier of the paper's table 7.
  [[nodiscard]] static pams_barrier per_chip(std::span<const std::uint32_t> chips, const uses& used);
  [[nodiscard]] static pams_barrier per_chip(std::span<const std::uint32_t> chips) { return per_chip(chips, uses{}); }
  // A tree of which each node has `children`. Throws bad_argument if that is 0.
  [[nodiscard]] static pams_barrier tree(std::uint32_t nodes, std::uint32_t children, const uses& used);
  [[nodiscard]] static pams_barrier tree(std::uint32_t nodes, std::uint32_t children) {
    return tree(nodes, children, uses{});
  }

  // Returns the parent of each node; that of node 0 is 0.
  [[nodiscard]] const std::vector<std::uint32_t>& parents() const noexcept { return parents_; }
  // Sets the counters. Throws bad_argument if there are not as many programs as nodes, as append().
  void begin(std::span<pams_program> programs) const;
  // Adds a barrier to each program.
  void append(std::span<pams_program> programs) const;

 private:
  pams_barrier(std::vector<std::uint32_t> parents, const uses& used);
  [[nodiscard]] std::vector<std::uint32_t> children(std::uint32_t node) const;
  void check(std::span<const pams_program> programs) const;

  std::vector<std::uint32_t> parents_;
  uses used_;
};

// Bytes that one node writes into another's memory. Addresses are multiples of 4.
struct pams_transfer {
  std::uint32_t from_node = 0;
  std::uint32_t to_node = 0;
  pams_program::transfer data;
};

// An exchange of memory between nodes, as often as the programs say. A node first tells those that write into its memory
// that they may (a ready message), waits until it may write itself, writes, and goes on when all bytes for it have come:
// a soft barrier, by a transfer counter. Takes two handlers, a message counter and a transfer counter of each node.
class pams_exchange {
 public:
  // The handlers and counters that it takes of each node.
  struct uses {
    std::uint32_t ready = 3;  // handlers
    std::uint32_t data = 4;
    std::uint32_t ready_counter = 2;  // a message counter
    std::uint32_t data_counter = 0;   // a transfer counter
    // If false, nodes send no ready messages: the program then ensures that a node has read its bytes before new ones come.
    bool asks = true;
  };
  // Throws bad_argument for a transfer whose nodes are not below `nodes`, or within one node.
  pams_exchange(std::uint32_t nodes, std::vector<pams_transfer> transfers, const uses& used);
  pams_exchange(std::uint32_t nodes, std::vector<pams_transfer> transfers)
      : pams_exchange{nodes, std::move(transfers), uses{}} {}

  // Sets the counters. Throws as append().
  void begin(std::span<pams_program> programs) const;
  // Adds an exchange to each program. Throws bad_argument as pams_barrier, and if a program gets too long.
  void append(std::span<pams_program> programs) const;

 private:
  [[nodiscard]] std::vector<std::uint32_t> peers(std::uint32_t node, bool that_write_to_it) const;
  void append(pams_program& program, std::uint32_t node) const;

  std::uint32_t nodes_;
  std::vector<pams_transfer> transfers_;
  uses used_;
};

}  // namespace situ::model
