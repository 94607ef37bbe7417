// Barriers in memory that the members share. There are two algorithms; all members choose the same one:
//
//   flags   few members, a processor each: a member announces itself in its own line and reads everybody's. One
//           crossing.
//   tree    many members, or shared processors: members count up a tree of counters (the last at each goes up; nobody
//           waits on the way), the last of all writes the release word and wakes the others. Each member need run only
//           once a barrier, so on shared processors a barrier costs no more context switches than it must.
//
//   block:  | holders | release | line 0 | line 1 | ... line n-1 |     one cache line each
//
// In a job over several hosts, the barrier of all places has a block at each host and a tree of the members at that
// host. The last member of the tree does not write `release`: it writes the host's round into the control block
// (cluster/host_words.h) and notifies the other hosts. A member waits until the rounds of all hosts are there. The last
// member at a host, or the host's server, whichever completes the rounds, wakes the members.
//
// Invariants
//   1. Rounds are numbered from 1. A line holds the last round its member announced (flags), or arrivals so far
//      (tree).
//   2. A member announces round r + 1 only after it has seen round r complete, so a tree counter never mixes rounds.
//   3. The last member that lets the block go deallocates it.
#pragma once

#include <situ/base/detail/signal_word.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/memory/ptr.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "memory/job.h"

namespace situ::detail {

using barrier_line = signal_word<std::uint64_t>;

struct barrier_block {
  barrier_line holders;
  barrier_line release;
  // barrier_line lines[members] follow

  [[nodiscard]] static std::size_t bytes(std::uint32_t members) noexcept {
    return sizeof(barrier_block) + members * sizeof(barrier_line);
  }
  [[nodiscard]] barrier_line& line(std::uint32_t i) noexcept { return reinterpret_cast<barrier_line*>(this + 1)[i]; }
};

class team_barrier {
 public:
  // over_hosts: set for a barrier of all places in a job over several hosts; `block` is then this host's. All members
  // of other teams must be at this host.
  team_barrier(barrier_block& block, const std::vector<std::uint32_t>& members, std::uint32_t index,
               job_control& control, std::optional<host_barrier> over_hosts = {});

  // Announces this member to the next round and returns true. After interrupt() it announces nothing and returns false,
  // because this member is already in the round. pre: the last round is complete, or interrupted.
  bool arrive();
  // Notes that a loss, perhaps of a place outside the team, has ended the wait for this round. The next barrier of the
  // team continues the round.
  void interrupt() noexcept { interrupted_ = true; }
  [[nodiscard]] bool is_complete() noexcept;
  // Drops this member's hold of the block. Returns whether it was the last.
  [[nodiscard]] bool let_go() noexcept;
  [[nodiscard]] barrier_block& block() const noexcept { return block_; }

 private:
  struct counter {  // on this member's way up the tree
    std::uint32_t line;
    std::uint32_t arrivals;  // in one round
  };
  void wake_others() const noexcept;
  void choose_way_up(std::uint32_t index, std::uint32_t count);

  barrier_block& block_;
  barrier_line* awaited_;  // lines that must all reach the round: members', `release`, or hosts'
  std::uint32_t awaited_count_;
  barrier_line* announced_ = nullptr;  // in a tree: the line that the last member to arrive sets
  std::optional<host_barrier> over_hosts_;
  std::vector<place_slot*> others_;  // the members to wake
  std::vector<counter> way_up_;      // empty: flags
  std::uint64_t round_ = 0;
  std::uint32_t index_;
  bool fences_;
  bool interrupted_ = false;
  std::uint32_t complete_until_ = 0;  // the awaited lines below this index have reached the round
};

}  // namespace situ::detail
