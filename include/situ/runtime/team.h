// Teams: ordered groups of places that synchronise and communicate together. world() is the team of all places;
// survivors() makes the team of the places that are left after a loss.
//
// A member is named by its index in the team, 0 .. size()-1. Splits and collectives are collective over the team:
// every member calls the same ones in the same order. A team belongs to its place and is not sent. Errors:
// place_lost_error if a member is lost; bad_argument if another member makes a different collective call. cost: the
// calls that are not collective are loads.
#pragma once

#include <situ/memory/place.h>
#include <situ/runtime/future.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>

namespace situ {

namespace detail {
struct team_state;
}

// An ordered group of places that contains the calling place. A handle: copies are the same team.
class team {
 public:
  explicit team(std::shared_ptr<detail::team_state> state) noexcept : state_{std::move(state)} {}  // for Situ itself

  // The number of members.
  [[nodiscard]] std::uint32_t size() const noexcept;
  // The calling place's index in the team.
  [[nodiscard]] std::uint32_t index() const noexcept;
  // The place of a member. pre: i < size().
  [[nodiscard]] place member(std::uint32_t i) const;
  // Returns a place's index in the team, or nullopt if the place is not a member. cost: linear in the members.
  [[nodiscard]] std::optional<std::uint32_t> index_of(place p) const noexcept;

  // Makes teams of the members of equal colour, ordered by key, then by their index in this team; returns the
  // caller's. Collective. cost: an all_gather and a broadcast.
  [[nodiscard]] team split(std::uint32_t colour, std::uint32_t key = 0,
                           std::source_location where = std::source_location::current()) const;
  // Makes a team of the given members of this team, in the given order. Collective over those members only; each of
  // them gives the same list. pre: this place is among them. cost: a broadcast.
  [[nodiscard]] team subset(std::span<const std::uint32_t> members,
                            std::source_location where = std::source_location::current()) const;

  // For Situ itself: the state that the handles share.
  [[nodiscard]] detail::team_state& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<detail::team_state> state_;
};

// Returns the team of all places of the job. Throws no_runtime outside a runtime.
[[nodiscard]] const team& world();

// Returns the team of the places that live, in order. Calls, collectives, split and barriers go on with it after a
// loss. Collective over all places that live: the call waits until each of them has called survivors() equally often
// or has ended, and all of them get the same team. The ends of the other places count as reported, so later waits do
// not report them again. docs/design/runtime.md ("Going on after a loss") says what becomes of operations under way. A
// place lost during the call does not make it fail. A place lost after the agreement is reported by the next operation
// on the team; call survivors() again then. After the call the job goes on without the ended places: its launcher does
// not end the others, and ~runtime waits for the members. Errors: out_of_memory; place_lost_error if the others have
// taken this place for lost; no_runtime. cost: an allocation, a wait as of a barrier, and some words of each place.
[[nodiscard]] team survivors(std::source_location where = std::source_location::current());

// Waits until every member has reached the barrier; writes before the barrier are visible after it. The place goes on
// with messages and tasks while it waits. cost: one cache line transfer for few places with a processor each;
// otherwise a tree (docs/design/runtime.md).
void barrier(const team& members, std::source_location where = std::source_location::current());
void barrier(std::source_location where = std::source_location::current());

// Announces this member and returns a future that becomes ready once all members have arrived. A team has at most one
// split-phase barrier under way. cost: as barrier, and a task.
[[nodiscard]] future<> barrier_async(const team& members, std::source_location where = std::source_location::current());
[[nodiscard]] future<> barrier_async(std::source_location where = std::source_location::current());

}  // namespace situ
