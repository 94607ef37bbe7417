// survivors(): the live places agree on the set of them, in words that each has in the control block.
//
//   place p comes:   round(p) = n                       (and then waits until all that live have come)
//   anybody:         for each q:  fate(q) = n, lives?   by compare-and-swap: the first decides
//   everybody:       reads all fates of round n: the same
//
// Invariants
//   1. The n-th call at every place is round n. A place comes to round n + 1 only once it has read all fates of round
//      n, and fates of a round are decided only after every live place has come to it. So no fate is overwritten
//      before every place has read it, and fates only advance. Blocks alternate: their owner may come to the next
//      round before another place has read those of the last one.
//   2. The decision depends on no single place: each place that sees that all have come makes all of it, from any
//      point at which another has died.
//   3. A place that had ended when a live place came is no member: states are read after all have come, and do not go
//      back.
// The idea of an agreement that any participant may finish is that of MPI's ULFM (MPI_Comm_shrink, MPI_Comm_agree;
// Bland et al., 2013); words that all can write make it short.
#include <situ/base/detail/assert.h>
#include <situ/base/detail/coherence.h>
#include <situ/base/error.h>
#include <situ/memory/allocate.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/task.h>
#include <situ/runtime/team.h>

#include <cstring>
#include <utility>
#include <vector>

#include "launch/survivors_words.h"
#include "runtime/runtime_state.h"
#include "runtime/team_state.h"

namespace situ {
namespace detail {
namespace {

constexpr std::uint64_t first_team_id = std::uint64_t{1} << 32;  // other teams have hashes, which may be any number

[[nodiscard]] bool lives(const place_slot& slot) noexcept {
  return slot.state.load(std::memory_order_acquire) == place_state::joined;
}

// Makes the barriers of the team and of its end, one behind the other. Each place makes a pair, since the first member
// is not known yet; the others free theirs.
ptr<std::byte> make_blocks() {
  const std::size_t bytes = barrier_block::bytes(current->place_count);
  const ptr<std::byte> blocks = situ::allocate_bytes(2 * bytes, {.alignment = 64});
  std::memset(blocks.local(), 0, 2 * bytes);
  write_back(blocks.local(), 2 * bytes);
  reinterpret_cast<barrier_block*>(blocks.local())->holders.set(current->place_count, std::memory_order_seq_cst);
  return blocks;
}

void await_all(std::uint64_t round, const std::source_location& where) {
  job_control& control = *current->job;
  const auto all_have_come = [&control, round, next = std::uint32_t{0}]() mutable {
    for (; next < control.place_count; ++next) {
      const place_slot& slot = control.slot(next);
      if (lives(slot) && slot.survivors.words().round.load() < round) return false;
    }
    return true;
  };
  current->scheduler->wait_until(
      all_have_come,
      {.outlives_losses = true, .note = {.kind = wait_kind::survivors, .number = round, .where = where}});
}

// Decides the undecided fates of the round, and returns the members.
std::vector<std::uint32_t> decide(std::uint64_t round) {
  job_control& control = *current->job;
  std::vector<std::uint32_t> members;
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    place_slot& slot = control.slot(place);
    std::uint64_t fate = slot.survivors.words().fate.load();
    if (fate >> 1 < round) {
      const std::uint64_t mine = round << 1 | (lives(slot) ? 1 : 0);
      if (slot.survivors.words().fate.compare_exchange_strong(fate, mine)) fate = mine;
      SITU_POINT(fate_decided);
    }
    if (fate >> 1 != round) return {};  // the others have gone on: to them this place has ended
    if ((fate & 1) != 0) members.push_back(place);
  }
  return members;
}

void wake_all() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // endpoint.h: publish, then look at `sleeping`
  for (std::uint32_t place = 0; place < current->place_count; ++place) current->endpoint->wake(place);
}

// Notes that the job goes on, for the launcher and for later waits, which have heard of these ends.
void note_survived(std::uint32_t ends) {
  std::atomic<std::uint32_t>& survived = current->job->survived_ends;
  std::uint32_t before = survived.load();
  while (before < ends && !survived.compare_exchange_weak(before, ends)) {}
  note_told_of(ends);
  (void)current->endpoint->poll_replies();  // this place sees the ends, too: a scope that begins now begins after them
  if (current->runtime->root->failure_epoch != current->endpoint->failure_epoch()) open_main_scope(*current->runtime);
}

// Waits until all members have seen the ends: otherwise a call from here could meet a place that has not, and fail
// because of them. A place that dies during this wait is reported by the next operation on the team.
void await_members(team_state& team, std::uint32_t ends) {
  try {
    cross_barrier(team, wait_kind::survivors, {});
  } catch (const place_lost_error&) {
    current->told_of = ends;
  }
}

team make_rest(std::uint64_t round, const std::vector<std::uint32_t>& members, std::uint32_t index) {
  runtime_state& state = *current->runtime;
  place_slot& own = current->job->slot(current->place);
  auto* const blocks =
      reinterpret_cast<std::byte*>(current->job->slot(members[0]).survivors.words().blocks[round % 2].load());
  auto& block = *reinterpret_cast<barrier_block*>(blocks);
  const auto size = static_cast<std::uint32_t>(members.size());
  if (index == 0)
    block.holders.add(std::uint64_t{size} - current->place_count);
  else
    deallocate(ptr<std::byte>{reinterpret_cast<std::byte*>(own.survivors.words().blocks[round % 2].load())});
  const std::uint64_t id = first_team_id + 2 * round;
  auto& at_the_end = *reinterpret_cast<barrier_block*>(blocks + barrier_block::bytes(current->place_count));
  team rest{std::make_shared<team_state>(id, members, index, block, true)};
  state.leaving = std::make_unique<team>(std::make_shared<team_state>(id + 1, members, index, at_the_end, false));
  state.rest = std::make_unique<team>(rest);  // after `leaving`, whose barrier is in the same block
  return rest;
}

}  // namespace
}  // namespace detail

team survivors(std::source_location where) {
  using namespace detail;
  if (current->runtime == nullptr) throw_no_runtime("survivors()");
  if (current->job->host_count > 1)
    throw_error(errc::not_supported,
                "survivors() in a job over several hosts: each place reads what the others have in its host's memory");
  runtime_state& state = *current->runtime;
  SITU_ASSERT(1, !state.awaits_survivors,
              "survivors() is under way at this place: one task of a place calls it, and gives the others its team");
  state.awaits_survivors = true;
  struct end {
    runtime_state& state;
    ~end() { state.awaits_survivors = false; }
  } const at_end{state};
  const ptr<std::byte> blocks = make_blocks();
  place_slot& own = current->job->slot(current->place);
  const std::uint64_t round = ++state.survivors_round;
  own.survivors.words().blocks[round % 2].store(blocks.address());
  own.survivors.words().round.store(round);
  SITU_POINT(survivors_awaited);
  await_all(round, where);
  const std::vector<std::uint32_t> members = decide(round);
  SITU_POINT(survivors_agreed);
  wake_all();
  std::uint32_t index = 0;
  while (index < members.size() && members[index] != current->place) ++index;
  if (index == members.size()) throw_loss_of(*current->job, current->place);
  const std::uint32_t ends = current->place_count - static_cast<std::uint32_t>(members.size());
  note_survived(ends);
  team rest = make_rest(round, members, index);
  await_members(rest.state(), current->told_of);
  return rest;
}

}  // namespace situ
