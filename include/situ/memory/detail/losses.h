// How modules above report the end of a place, and learn of one. They name places by number; the words that places
// share (src/memory/job.h) are not needed.
//
// A thread that learns of a loss first marks the place, then raises the job's count of ends and wakes all places. A
// task is told of each end once (docs/design/runtime.md, "How a wait learns of a loss"). Any process of the job and its
// launcher may call these functions, unless a comment says otherwise. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string_view>

namespace situ {
class place_lost_error;
}

namespace situ::detail {

struct job_control;

// Marks a place as lost (the first reason stands) and wakes every place; does nothing to a place that has left in
// order. If the place is marked already, makes sure that the others are notified. Any process of the job and its
// launcher may call it. cost: a system call for each sleeping place.
void mark_lost(job_control& control, std::uint32_t place, std::string_view reason) noexcept;

// Throws place_lost_error for the first lost place, at place `self` (no_place: one that has not joined yet), once no
// place or agent reads objects of `self` any more (reading_guard): the code that catches the error may free objects
// that it had offered. The running task has then been told of every end so far (note_told). pre: failure_epoch > 0.
[[noreturn]] void throw_place_lost(job_control& control, std::uint32_t self);

// The number of ends that a task knows of (place_context::told_of) while it works together with a team and is not to
// leave it because of others: it counts as told of all ends, even of those to come. So only the end of a place that one
// of its waits needs ends this wait; a wait for a team ends if a member does.
inline constexpr std::uint32_t told_of_all_ends = std::numeric_limits<std::uint32_t>::max();

// Records that the running task is told, by an exception about to reach it, of every place that has ended so far: none
// of these ends interrupts its next wait (docs/design/runtime.md, "How a wait learns of a loss"). Raises the epoch to
// that number, and waits for readers of this place's objects that began under an earlier epoch. cost: a look at each
// place.
void note_told() noexcept;
// As note_told, for the first `ends` ends, which the task knows already (survivors()); it is still to be told of later
// ones.
void note_told_of(std::uint32_t ends) noexcept;

// Returns the error for a caller that needs a place that has ended: the place's own loss or, if the place has merely
// gone, the first loss, which is the cause.
[[nodiscard]] place_lost_error loss_error(job_control& control, std::uint32_t place);
// Throws that error; the running task has then been told.
[[noreturn]] void throw_loss_of(job_control& control, std::uint32_t place);

// Marks that a place leaves a job in which another place is lost, and wakes every place, so that none waits for it. A
// lost place stays lost.
void leave_broken_job(job_control& control, std::uint32_t place) noexcept;

// Returns the reason of a lost place, or that a place has gone; else an empty text.
[[nodiscard]] std::string_view lost_reason(job_control& control, std::uint32_t place) noexcept;
// Returns whether the place is lost. pre for this and the next: a place of the job.
[[nodiscard]] bool is_lost(job_control& control, std::uint32_t place) noexcept;
// Returns whether others must no longer wait for the place (place_state.h).
[[nodiscard]] bool has_ended(job_control& control, std::uint32_t place) noexcept;
// Returns the word with the number of places that have ended so far, which only grows.
[[nodiscard]] const std::atomic<std::uint32_t>& ended_places(job_control& control) noexcept;

}  // namespace situ::detail
