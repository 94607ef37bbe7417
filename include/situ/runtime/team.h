// Teams: ordered groups of places that synchronise and communicate together. world() is all of them; survivors() those
// that are left after a loss.
//
// A member is named by its index in the team, 0 .. size()-1. Splits and collectives are collective over the team: every
// member calls the same ones in the same order. A team belongs to its place and is not sent. Errors: place_lost_error
// where a member is lost; bad_argument where another member calls something else. cost: of what is not collective,
// loads.
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

// An ordered group of places, this one among them. A handle: copies are the same team.
class team {
 public:
  explicit team(std::shared_ptr<detail::team_state> state) noexcept : state_{std::move(state)} {}  // for Situ itself

  // How many members there are.
  [[nodiscard]] std::uint32_t size() const noexcept;
  // The calling place's index in the team.
  [[nodiscard]] std::uint32_t index() const noexcept;
  // The place of a member. pre: i < size().
  [[nodiscard]] place member(std::uint32_t i) const;
  // A place's index in the team; nothing where it is no member. cost: linear in the members.
  [[nodiscard]] std::optional<std::uint32_t> index_of(place p) const noexcept;

  // Members of equal colour form a team, ordered by key, then by their index here. Collective. cost: an all_gather
  // and a broadcast.
  [[nodiscard]] team split(std::uint32_t colour, std::uint32_t key = 0,
                           std::source_location where = std::source_location::current()) const;
  // The team of these members of this one, in this order. Collective over those members only, each of which names the
  // same. pre: this place is among them. cost: a broadcast.
  [[nodiscard]] team subset(std::span<const std::uint32_t> members,
                            std::source_location where = std::source_location::current()) const;

  // For Situ itself: what the handles share.
  [[nodiscard]] detail::team_state& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<detail::team_state> state_;
};

// All places of the job. Throws no_runtime outside a runtime.
[[nodiscard]] const team& world();

// The places that live, in order, as a team on which calls, collectives, split and barriers go on after a loss.
// Collective over all places that live: it waits until each has called it, as often, or has ended; and all get the same
// team. It tells of the ends of those that are no members, so that later waits do not. What was under way is as
// docs/design/runtime.md says ("Going on after a loss"). Losses do not end it: one that comes after the agreement is
// told by what the team is used for, and then survivors() may be called again. Having called it, the job goes on
// without those places: its launcher ends nobody, and ~runtime waits for the members. Errors: out_of_memory;
// place_lost_error where the others have taken this place for lost; no_runtime. cost: an allocation, a wait as of a
// barrier, and some words of each place.
[[nodiscard]] team survivors(std::source_location where = std::source_location::current());

// Waits until every member has come to the barrier; what they wrote before it is seen after it. The place goes on with
// messages and tasks meanwhile. cost: one cache line crossing for few places with a processor each; else a tree
// (docs/design/runtime.md).
void barrier(const team& members, std::source_location where = std::source_location::current());
void barrier(std::source_location where = std::source_location::current());

// In two phases: announces this member and returns a future that is ready once all have. One at a time in a team.
// cost: as barrier, and a task.
[[nodiscard]] future<> barrier_async(const team& members, std::source_location where = std::source_location::current());
[[nodiscard]] future<> barrier_async(std::source_location where = std::source_location::current());

}  // namespace situ
