// What a place knows of one of its teams.
#pragma once

#include <situ/runtime/detail/collective.h>
#include <situ/runtime/detail/collective_call.h>
#include <situ/runtime/team.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/barrier.h"

namespace situ::detail {

// A barrier by messages. The members of a run tell its first; in round r each of these tells that of the run 2^r runs
// on, and hears of the one as far before it, and after ceil(log2(runs)) rounds each has heard of all (dissemination
// barrier; Hensgen, Finkel and Manber, 1988); it tells its run.
class message_barrier {
 public:
  message_barrier(const team& members, const std::source_location& where);
  // Tells whom this member can tell before it has heard of others; the next ones are told in finish().
  void announce();
  void become_task() noexcept { group_.become_task(); }
  // Throws place_lost_error; called again, it goes on.
  void finish();

 private:
  static constexpr std::uint32_t arrival_step = 64;
  static constexpr std::uint32_t release_step = 65;
  [[nodiscard]] bool leads() const noexcept { return group_.index() == group_.own_run().first; }
  void tell_next_run();

  collective group_;
  std::uint32_t arrived_ = 1;  // of the run, this member among them
  std::uint32_t round_ = 0;
  bool has_told_ = false;       // in this round
  std::uint32_t released_ = 1;  // of the run
};

struct team_state {
  std::uint64_t id;
  std::vector<std::uint32_t> members;  // place indices
  std::uint32_t index;
  member_runs runs;
  team_barrier barrier;
  bool is_by_messages;                           // its barriers: there is no memory that all members reach
  std::optional<message_barrier> interrupted{};  // by a loss; the next call goes on with it
  bool owns_block;                // false for the world, whose block is part of the segment's private area
  std::uint64_t collectives = 0;  // begun so far, barriers among them; numbers the messages of each
  // What the last of them were, and the first that others' messages told before this place came to it.
  static constexpr std::size_t remembered = 16;
  struct foreign_call {
    std::uint64_t number;
    std::uint64_t call;
    std::uint32_t place;
  };
  std::array<std::uint64_t, remembered> recent{};
  std::vector<foreign_call> early;
  std::string mismatch;                  // members' calls differ: what, in words
  team_record* shown = nullptr;          // the same for the others; null where there are more teams than records
  std::vector<std::uint64_t> abandoned;  // numbers of collectives that an error has ended
  std::map<std::uint64_t, std::uint64_t> subsets;  // by hash of their members: how often made

  team_state(std::uint64_t team_id, std::vector<std::uint32_t> places, std::uint32_t own_index, barrier_block& block,
             bool owns);
  ~team_state();
  team_state(const team_state&) = delete;
  team_state& operator=(const team_state&) = delete;
};

inline constexpr std::uint64_t world_team_id = 1;
inline constexpr std::uint64_t leaving_team_id = 2;

// What differs between members' calls, in words: "broadcast from index 1 (8 bytes)".
[[nodiscard]] std::string describe(const collective_call& call);
// Throws place_lost_error where a member is lost.
void check_members(const team_state& team);
// Numbers a collective, and shows it to the others.
std::uint64_t number_collective(team_state& team, const collective_call& call);
// bad_argument where members' calls were found to differ; of any team.
void throw_if_mismatched(const team_state& team);
void throw_if_any_mismatched();
// barrier(), with what reports call the wait.
void cross_barrier(team_state& team, wait_kind kind, const std::source_location& where);

}  // namespace situ::detail
