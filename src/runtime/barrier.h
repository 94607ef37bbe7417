// Barriers in memory that the members share. Two algorithms, chosen alike by all members:
//
//   flags   few members, a processor each: a member announces itself in its own line and reads everybody's. One
//           crossing.
//   tree    many members, or shared processors: members count up a tree of counters (the last at each goes up; nobody
//           waits on the way), the last of all writes the release word and wakes the others. Each member need run only
//           once a barrier, so on shared processors a barrier costs no more context switches than it must.
//
//   block:  | holders | release | line 0 | line 1 | ... line n-1 |     one cache line each
//
// All places of a job over several hosts have a block at each host, and there a tree of the members of that host, whose
// last one writes the host's round in the control block (job_control::round_of) instead of `release`, and tells the
// other hosts. A member waits until all hosts' rounds are there. Whoever completes them wakes the members: the last
// member here, or the host's server.
//
// Invariants
//   1. Rounds are numbered from 1. A line holds the last round its member announced (flags), or arrivals so far (tree).
//   2. A member announces round r + 1 only after it has seen round r complete, so a tree counter never mixes rounds.
//   3. The block goes when the last member lets it go; whoever that is deallocates it.
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
  // over_hosts: it is that barrier of all places, in a job over several hosts, and `block` is this host's. Of other
  // teams all members are of this host.
  team_barrier(barrier_block& block, const std::vector<std::uint32_t>& members, std::uint32_t index,
               job_control& control, std::optional<host_barrier> over_hosts = {});

  // Announces this member to the next round; after interrupt(), to none: it is in one. pre: the last round is complete,
  // or interrupted.
  // True if it did announce it.
  bool arrive();
  // The wait for this round has been ended by a loss, maybe of a place that is no member. The next barrier of the team
  // goes on with it.
  void interrupt() noexcept { interrupted_ = true; }
  [[nodiscard]] bool is_complete() noexcept;
  // Whether this was the last holder of the block.
  [[nodiscard]] bool let_go() noexcept;
  [[nodiscard]] barrier_block& block() const noexcept { return block_; }

 private:
  struct counter {  // on this member's way up the tree
    std::uint32_t line;
    std::uint32_t arrivals;  // a round
  };
  void wake_others() const noexcept;
  void choose_way_up(std::uint32_t index, std::uint32_t count);

  barrier_block& block_;
  barrier_line* awaited_;  // lines that all come to the round: members', `release`, or hosts'
  std::uint32_t awaited_count_;
  barrier_line* announced_ = nullptr;  // in a tree: by its last
  std::optional<host_barrier> over_hosts_;
  std::vector<place_slot*> others_;  // to be woken
  std::vector<counter> way_up_;      // empty: flags
  std::uint64_t round_ = 0;
  std::uint32_t index_;
  bool fences_;
  bool interrupted_ = false;
  std::uint32_t complete_until_ = 0;  // awaited lines below are known to have come to this round
};

}  // namespace situ::detail
