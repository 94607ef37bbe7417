// The state of a place for one of its teams.
#pragma once

#include <situ/memory/detail/collective_call.h>
#include <situ/runtime/detail/collective.h>
#include <situ/runtime/team.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/barrier.h"

namespace situ::detail {

// A barrier by messages. The members of a run notify its first member. In round r, that member notifies the first
// member of the run 2^r runs further on, and hears from the one as far before; after ceil(log2(runs)) rounds each has
// heard of all (dissemination barrier; Hensgen, Finkel and Manber, 1988) and notifies its run.
class message_barrier {
 public:
  message_barrier(const team& members, const std::source_location& where);
  // Sends the messages that this member can send before it has heard of others; finish() sends the rest.
  void announce();
  void become_task() noexcept { group_.become_task(); }
  // Waits until all members have arrived. Throws place_lost_error; the next call continues.
  void finish();

 private:
  static constexpr std::uint32_t arrival_step = 64;
  static constexpr std::uint32_t release_step = 65;
  [[nodiscard]] bool leads() const noexcept { return group_.index() == group_.own_run().first; }
  void tell_next_run();

  collective group_;
  std::uint32_t arrived_ = 1;  // members of the run, including this one
  std::uint32_t round_ = 0;
  bool has_told_ = false;       // in this round
  std::uint32_t released_ = 1;  // members of the run, including this one
};

struct team_state {
  std::uint64_t id;
  std::vector<std::uint32_t> members;  // place indices
  std::uint32_t index;
  member_runs runs;
  team_barrier barrier;
  bool is_by_messages;  // whether its barriers use messages: no memory is reached by all members
  std::optional<message_barrier> interrupted{};  // by a loss; the next call continues it
  bool owns_block;                // false for the world, whose block is part of the segment's private area
  std::uint64_t collectives = 0;  // begun so far, including barriers; numbers the messages of each
  // The calls of the last collectives, and the first call that another member's message named for each collective that
  // this place has not begun.
  static constexpr std::size_t remembered = 16;
  struct foreign_call {
    std::uint64_t number;
    std::uint64_t call;
    std::uint32_t place;
  };
  std::array<std::uint64_t, remembered> recent{};
  std::vector<foreign_call> early;
  std::string mismatch;                  // if members' calls differ: the message that says how
  team_record* shown = nullptr;          // the record for the other places; null if there are more teams than records
  std::vector<std::uint64_t> abandoned;  // numbers of collectives that an error has ended
  std::map<std::uint64_t, std::uint64_t> subsets;  // how often each subset was made, by hash of its members

  team_state(std::uint64_t team_id, std::vector<std::uint32_t> places, std::uint32_t own_index, barrier_block& block,
             bool owns);
  ~team_state();
  team_state(const team_state&) = delete;
  team_state& operator=(const team_state&) = delete;
};

inline constexpr std::uint64_t world_team_id = 1;
inline constexpr std::uint64_t leaving_team_id = 2;

// Returns a member that has ended, by its place; nullopt if none has. cost: two loads if no place has ended.
[[nodiscard]] std::optional<std::uint32_t> ended_member(const team_state& team) noexcept;
// Throws place_lost_error if a member has ended.
void check_members(const team_state& team);
// Returns the number of a new collective, and shows the call to the other places.
std::uint64_t number_collective(team_state& team, const collective_call& call);
// Throw bad_argument if members' calls were found to differ: in this team, or in any.
void throw_if_mismatched(const team_state& team);
void throw_if_any_mismatched();
// Crosses a barrier, which reports show as a wait of `kind`, or of a collective if it is by messages.
void cross_barrier(const team& members, wait_kind kind, const std::source_location& where);
// Returns whether some of these places are on another host.
[[nodiscard]] bool spans_hosts(const std::vector<std::uint32_t>& members);

}  // namespace situ::detail
