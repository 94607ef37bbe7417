// survivors(): the live places agree on the set of them, in words that each has in the control block.
//
//   place p comes:   round(p) = n                       (and then waits until all that live have come)
//   anybody:         for each q:  fate(q) = n, lives?   by compare-and-swap: the first decides
//   everybody:       reads all fates of round n: the same
//
// Over several hosts each host has such words. Its server reads the rounds of the places there, agrees with the other
// servers on the fates (cluster/survivors_agreement.h) and writes them; places only come, wait for that, and read.
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

#include "cluster/survivors_words.h"
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

// Over hosts: waits until this host's server has written the fates of the round, or this place itself has ended (its
// host is cut off from the others), and returns the members.
std::vector<std::uint32_t> await_fates(std::uint64_t round, const std::source_location& where) {
  job_control& control = *current->job;
  const auto is_decided = [&control, round, next = std::uint32_t{0}]() mutable {
    if (!lives(control.slot(current->place))) return true;
    for (; next < control.place_count; ++next)
      if (control.slot(next).survivors.words().fate.load() >> 1 < round) return false;
    return true;
  };
  current->scheduler->wait_until(is_decided, {.outlives_losses = true,
                                              .deadline_ns = waits_for::ended_by_server,
                                              .note = {.kind = wait_kind::survivors, .number = round, .where = where}});
  std::vector<std::uint32_t> members;
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    const std::uint64_t fate = control.slot(place).survivors.words().fate.load();
    if (fate >> 1 != round) return {};
    if ((fate & 1) != 0) members.push_back(place);
  }
  return members;
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

std::vector<std::uint32_t> agree(std::uint64_t round, const std::source_location& where) {
  if (current->job->host_count > 1) return await_fates(round, where);
  await_all(round, where);
  return decide(round);
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
void await_members(const team& members, std::uint32_t ends) {
  try {
    cross_barrier(members, wait_kind::survivors, {});
  } catch (const place_lost_error&) {
    current->told_of = ends;
  }
}

// The ids of the team and of its end. A host that is lost may have been given a team of the round that the others have
// not, which had more members: so parts that its places had sent are not taken for those of this team.
std::uint64_t team_id_of(std::uint64_t round, std::uint32_t members) noexcept {
  return first_team_id + 2 * (round << 16 | members);
}
static_assert(job::max_places < 1 << 16);

// A team over several hosts has no memory that all members reach: its barriers are messages.
team make_rest(std::uint64_t round, const std::vector<std::uint32_t>& members, std::uint32_t index) {
  runtime_state& state = *current->runtime;
  const auto blocks_of = [round](std::uint32_t place) {
    return reinterpret_cast<std::byte*>(current->job->slot(place).survivors.words().blocks[round % 2].load());
  };
  const bool has_block = !spans_hosts(members);
  const auto size = static_cast<std::uint32_t>(members.size());
  std::byte* const blocks = blocks_of(has_block ? members[0] : current->place);
  barrier_block& none = state.world->state().barrier.block();
  barrier_block& block = has_block ? *reinterpret_cast<barrier_block*>(blocks) : none;
  barrier_block& at_the_end =
      has_block ? *reinterpret_cast<barrier_block*>(blocks + barrier_block::bytes(current->place_count)) : none;
  if (has_block && index == 0)
    block.holders.add(std::uint64_t{size} - current->place_count);
  else
    deallocate(ptr<std::byte>{blocks_of(current->place)});
  const std::uint64_t id = team_id_of(round, size);
  team rest{std::make_shared<team_state>(id, members, index, block, has_block)};
  state.leaving = std::make_unique<team>(std::make_shared<team_state>(id + 1, members, index, at_the_end, false));
  state.rest = std::make_unique<team>(rest);  // after `leaving`, whose barrier is in the same block
  return rest;
}

}  // namespace
}  // namespace detail

team survivors(std::source_location where) {
  using namespace detail;
  if (current->runtime == nullptr) throw_no_runtime("survivors()");
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
  const std::vector<std::uint32_t> members = agree(round, where);
  SITU_POINT(survivors_agreed);
  wake_all();
  std::uint32_t index = 0;
  while (index < members.size() && members[index] != current->place) ++index;
  if (index == members.size()) throw_loss_of(*current->job, current->place);
  const std::uint32_t ends = current->place_count - static_cast<std::uint32_t>(members.size());
  note_survived(ends);
  team rest = make_rest(round, members, index);
  await_members(rest, current->told_of);
  return rest;
}

}  // namespace situ
