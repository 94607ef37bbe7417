#include "memory/liveness.h"

#include <situ/base/detail/test_points.h>
#include <situ/base/error.h>

#include "memory/bell.h"
#include "os/host.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace situ::detail {
namespace {

// Waits for readers of this place's objects. A read never waits, so this ends soon; a reader that was killed during a
// read ends it by its state.
void await_readers(job_control& control, std::uint32_t self) noexcept {
  // orders the read of the new epoch before those of the marks, see reading_guard
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::uint32_t i = 0; i < control.place_count; ++i) {
    const place_slot& slot = control.slot(i);
    while (slot.read_by_place.load(std::memory_order_acquire) == self + 1 &&
           !(SITU_LOSS_CHECK(readers_end) && has_ended(slot.state.load(std::memory_order_acquire))))
      give_way();
  }
  while (control.slot(self).read_by_agent.load(std::memory_order_acquire) != 0) give_way();
}

// Raises failure_epoch to the number of places that have ended, and returns that number.
std::uint32_t raise_failure_epoch(job_control& control) noexcept {
  std::uint32_t ended = 0;
  for (std::uint32_t i = 0; i < control.place_count; ++i) {
    const place_state state = control.slot(i).state.load();
    ended += has_ended(state);
    std::uint32_t nobody = job_control::no_place;
    // before the epoch, as mark_lost does
    if (state == place_state::lost) control.first_lost.compare_exchange_strong(nobody, i);
  }
  std::uint32_t epoch = control.failure_epoch.load();
  while (epoch < ended && !control.failure_epoch.compare_exchange_weak(epoch, ended)) {}
  return ended;
}

// Raises failure_epoch and wakes all places. Every caller of mark_lost does so, also one that finds the place marked
// already: the process that marked it may have been killed before this point.
void publish_ends(job_control& control) noexcept {
  raise_failure_epoch(control);
  SITU_POINT(epoch_raised);
  // The exchange orders this against a sleeper that looks at failure_epoch before it sleeps. The wake-up does not
  // depend on it: a waker may have been killed after it cleared `sleeping` and before it woke the place.
  for (std::uint32_t i = 0; i < control.place_count; ++i) {
    const bool is_marked = control.slot(i).sleeping.exchange(0) != 0;
    if (is_marked || SITU_LOSS_CHECK(sleepers_of_dead_wakers)) wake_on_word(control.slot(i).sleeping, INT_MAX);
    if (const std::uint64_t key = control.slot(i).bell.load(); key != 0) ring_bell(key);
  }
}

bool is_lost_soon(place_slot& slot) noexcept {
  constexpr int attempts = 100;
  for (int i = 0; i < attempts; ++i) {
    if (slot.state.load() == place_state::lost) return true;
    rest(1'000'000);
  }
  return false;
}

void write_reason(place_slot& slot, std::string_view reason) noexcept {
  const std::size_t length = std::min(reason.size(), sizeof slot.reason - 1);
  std::memcpy(slot.reason, reason.data(), length);
  slot.reason[length] = '\0';
}

}  // namespace

void mark_lost(job_control& control, std::uint32_t place, std::string_view reason) noexcept {
  place_slot& slot = control.slot(place);
  const place_state now = slot.state.load();
  if (now == place_state::left) return;
  if (now == place_state::gone) return publish_ends(control);  // the place may have died before it published its end
  // A caller that loses the claim waits for the winner's mark. If no mark appears, the winner was killed in between,
  // and this reason stands.
  if (slot.reason_claimed.exchange(1) == 0 || (SITU_LOSS_CHECK(half_marked) && !is_lost_soon(slot))) {
    SITU_POINT(reason_claimed);
    write_reason(slot, reason);
    place_state before = slot.state.load();
    while (before < place_state::left && !slot.state.compare_exchange_weak(before, place_state::lost)) {}
    if (before == place_state::left || before == place_state::gone) return;
  }
  SITU_POINT(loss_marked);
  std::uint32_t nobody = job_control::no_place;
  control.first_lost.compare_exchange_strong(nobody, place);
  publish_ends(control);
}

void leave_broken_job(job_control& control, std::uint32_t place) noexcept {
  place_state joined = place_state::joined;
  if (SITU_LOSS_CHECK(gone)) control.slot(place).state.compare_exchange_strong(joined, place_state::gone);
  SITU_POINT(place_gone);
  publish_ends(control);
}

std::string_view lost_reason(job_control& control, std::uint32_t place) noexcept {
  place_slot& slot = control.slot(place);
  switch (slot.state.load(std::memory_order_acquire)) {
    case place_state::lost: return slot.reason;
    case place_state::gone: return "has left the job, after another place was lost";
    default: return {};
  }
}

bool is_lost(job_control& control, std::uint32_t place) noexcept {
  return control.slot(place).state.load(std::memory_order_acquire) == place_state::lost;
}

bool has_ended(job_control& control, std::uint32_t place) noexcept {
  return has_ended(control.slot(place).state.load(std::memory_order_acquire));
}

const std::atomic<std::uint32_t>& ended_places(job_control& control) noexcept { return control.failure_epoch; }

reading_guard::reading_guard(job_control& control, std::uint32_t self, std::atomic<std::uint32_t> place_slot::* mark,
                             std::uint32_t source, std::uint32_t epoch)
    : mark_{control.slot(self).*mark, source} {
  SITU_POINT(reading_marked);
  if (!SITU_LOSS_CHECK(readers_mark) || control.failure_epoch.load(std::memory_order_seq_cst) == epoch) return;
  mark_.take_back();  // two places that are told at the same time would wait for each other
  throw_place_lost(control, self);
}

place_lost_error loss_error(job_control& control, std::uint32_t place) {
  const std::uint32_t first = control.first_lost.load();
  const bool has_gone = control.slot(place).state.load(std::memory_order_acquire) == place_state::gone;
  const std::uint32_t cause = has_gone && first != job_control::no_place ? first : place;
  return place_lost_error{cause, lost_reason(control, cause)};
}

void note_told() noexcept {
  job_control* const control = current->job;
  if (control == nullptr) return;
  current->told_of = std::max(current->told_of, raise_failure_epoch(*control));
  await_readers(*control, current->place);
}

void note_told_of(std::uint32_t ends) noexcept {
  raise_failure_epoch(*current->job);
  current->told_of = std::max(current->told_of, ends);
  await_readers(*current->job, current->place);
}

void throw_loss_of(job_control& control, std::uint32_t place) {
  note_told();
  throw loss_error(control, place);
}

void throw_place_lost(job_control& control, std::uint32_t self) {
  if (self != job_control::no_place) note_told();
  std::uint32_t place = control.first_lost.load();
  if (place == job_control::no_place) place = 0;  // only if the precondition does not hold
  throw place_lost_error{place, lost_reason(control, place)};
}

void wake_slow(place_slot& slot) noexcept {
  const std::uint32_t was = slot.sleeping.exchange(0);
  if (was == 0) return;
  SITU_POINT(sleeper_claimed);
  slot.woken_from.store(running_processor(), std::memory_order_relaxed);
  if (was == asleep_by_bell) [[unlikely]]
    return ring_bell(slot.bell.load(std::memory_order_relaxed));
  wake_on_word(slot.sleeping, 1);
}

}  // namespace situ::detail
