#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/detail/observed.h>
#include <situ/memory/allocate.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/at.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/task.h>
#include <situ/runtime/team.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/runtime_state.h"
#include "runtime/status_writer.h"
#include "runtime/team_state.h"

namespace situ {
namespace detail {
namespace {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);  // as boost::hash_combine
  hash *= 0xff51afd7ed558ccd;
  return hash ^ hash >> 33;
}

// Waits in a task that no loss tells by itself: until the barrier is complete, or a member has ended.
void await_barrier_of_living(team_state& team, const wait_note& note) {
  std::optional<std::uint32_t> ended;
  const auto is_over = [&] {
    if (team.barrier.is_complete() || !team.mismatch.empty()) return true;
    ended = ended_member(team);
    return ended.has_value();
  };
  current->scheduler->wait_until(is_over, {.note = note});
  if (ended && !team.barrier.is_complete()) throw_loss_of(*current->job, *ended);  // it may have come before its end
}

void await_barrier(team_state& team, std::uint64_t number, wait_kind kind, const std::source_location& where) {
  const wait_note note{.kind = kind, .subject = team.id, .number = number, .where = where};
  try {
    if (current->told_of == told_of_all_ends) [[unlikely]]
      await_barrier_of_living(team, note);
    else
      current->scheduler->wait_until([&] { return team.barrier.is_complete() || !team.mismatch.empty(); },
                                     {.note = note});
  } catch (const place_lost_error&) {
    team.barrier.interrupt();
    throw;
  }
  throw_if_mismatched(team);
}

// Announces this member; returns the barrier's number among the team's collectives. A barrier that a loss has
// interrupted continues under its number.
std::uint64_t arrive_at_barrier(team_state& team) {
  check_members(team);
  return team.barrier.arrive() ? number_collective(team, {.kind = collective_kind::barrier}) : team.collectives - 1;
}

[[nodiscard]] member_runs runs_of(const std::vector<std::uint32_t>& members) {
  job_control& control = *current->job;
  std::vector<std::uint32_t> firsts{0};
  for (std::uint32_t i = 1; control.host_count > 1 && i < members.size(); ++i)
    if (control.homes()[members[i]].host != control.homes()[members[i - 1]].host) firsts.push_back(i);
  return {std::move(firsts), static_cast<std::uint32_t>(members.size())};
}

// Makes a team. Its first member makes the barrier's block and broadcasts the address in a team without a barrier.
team make_team(std::uint64_t id, std::vector<std::uint32_t> members, std::uint32_t index,
               const std::source_location& where) {
  // There is no barrier before there is a block, but messages need none: a state with the world's block is enough for
  // the broadcast.
  barrier_block& none = current->runtime->world->state().barrier.block();
  if (spans_hosts(members)) return team{std::make_shared<team_state>(id, std::move(members), index, none, false)};
  auto bare = std::make_shared<team_state>(mix(id, 1), members, index, none, false);
  ptr<std::byte> block;
  if (index == 0) {
    const std::size_t bytes = barrier_block::bytes(static_cast<std::uint32_t>(members.size()));
    block = situ::allocate_bytes(bytes, {.alignment = 64});
    std::memset(block.local(), 0, bytes);
    reinterpret_cast<barrier_block*>(block.local())->holders.set(members.size(), std::memory_order_relaxed);
    write_back(block.local(), bytes);
    SITU_POINT(block_made);
  }
  const auto address = broadcast(block.address(), 0, team{bare}, where);
  return team{
      std::make_shared<team_state>(id, std::move(members), index, *reinterpret_cast<barrier_block*>(address), true)};
}

[[nodiscard]] std::optional<host_barrier> barrier_over_hosts(std::uint64_t team_id) noexcept {
  if (current->job->host_count == 1) return {};
  if (team_id == world_team_id) return host_barrier::world;
  if (team_id == leaving_team_id) return host_barrier::leaving;
  return {};
}

}  // namespace

bool spans_hosts(const std::vector<std::uint32_t>& members) {
  job_control& control = *current->job;
  return std::any_of(members.begin(), members.end(), [&](std::uint32_t member) { return !control.is_here(member); });
}

message_barrier::message_barrier(const team& members, const std::source_location& where)
    : group_{members, {.kind = collective_kind::barrier}, where} {}

void message_barrier::tell_next_run() {
  const member_runs& runs = group_.runs();
  if (runs.count() > 1 && !std::exchange(has_told_, true))
    group_.send(runs.first_of((runs.of(group_.index()) + (1U << round_)) % runs.count()), round_, true);
}

void message_barrier::announce() {
  const member_run run = group_.own_run();
  if (!leads()) {
    if (!std::exchange(has_told_, true)) group_.send(run.first, arrival_step, true);
  } else if (run.size == 1) {
    tell_next_run();
  }
}

void message_barrier::finish() {
  announce();
  const member_run run = group_.own_run();
  if (!leads()) return (void)group_.take_part(run.first, release_step);
  for (; arrived_ < run.size; ++arrived_) (void)group_.take_part(run.first + arrived_, arrival_step);
  const member_runs& runs = group_.runs();
  const std::uint32_t own = runs.of(group_.index());
  for (; 1U << round_ < runs.count(); ++round_, has_told_ = false) {
    tell_next_run();
    const std::uint32_t before = (own + runs.count() - (1U << round_)) % runs.count();
    (void)group_.take_part(runs.first_of(before), round_);
  }
  for (; released_ < run.size; ++released_) group_.send(run.first + released_, release_step, true);
}

team_state::team_state(std::uint64_t team_id, std::vector<std::uint32_t> places, std::uint32_t own_index,
                       barrier_block& block, bool owns)
    : id{team_id},
      members{std::move(places)},
      index{own_index},
      runs{runs_of(members)},
      barrier{block, members, own_index, *current->job, barrier_over_hosts(team_id)},
      is_by_messages{!barrier_over_hosts(team_id) && spans_hosts(members)},
      owns_block{owns} {
  current->runtime->teams.insert_or_assign(id, this);
  shown = current->status->open_team(id, static_cast<std::uint32_t>(members.size()));
}

team_state::~team_state() {
  if (current->runtime == nullptr) return;  // the team outlives the runtime, or this is a forked child
  if (shown != nullptr) shown->id.store(0, std::memory_order_relaxed);
  current->runtime->teams.erase(id);
  if (!owns_block || !barrier.let_go()) return;
  SITU_POINT(block_let_go);
  try {
    deallocate(ptr<std::byte>{reinterpret_cast<std::byte*>(&barrier.block())});
  } catch (const error& e) {
    log(log_level::error, fmt::format("place {}: a team's barrier cannot be given back: {}", current->place, e.what()));
  }
}

}  // namespace detail

std::uint32_t team::size() const noexcept { return static_cast<std::uint32_t>(state_->members.size()); }
std::uint32_t team::index() const noexcept { return state_->index; }

place team::member(std::uint32_t i) const {
  SITU_ASSERT(1, i < size(), "a team's members have indices 0 .. size()-1");
  return place{state_->members[i]};
}

std::optional<std::uint32_t> team::index_of(place p) const noexcept {
  const auto found = std::find(state_->members.begin(), state_->members.end(), p.index());
  if (found == state_->members.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - state_->members.begin());
}

team team::split(std::uint32_t colour, std::uint32_t key, std::source_location where) const {
  struct choice {
    std::uint32_t colour, key, index;
  };
  const std::uint64_t number = state_->collectives;
  std::vector<choice> choices = all_gather(choice{colour, key, index()}, *this, where);
  std::erase_if(choices, [colour](const choice& c) { return c.colour != colour; });
  std::stable_sort(choices.begin(), choices.end(), [](const choice& a, const choice& b) { return a.key < b.key; });
  std::vector<std::uint32_t> members;
  std::uint32_t own = 0;
  for (const choice& c : choices) {
    if (c.index == index()) own = static_cast<std::uint32_t>(members.size());
    members.push_back(state_->members[c.index]);
  }
  return detail::make_team(detail::mix(detail::mix(state_->id, number), colour), std::move(members), own, where);
}

team team::subset(std::span<const std::uint32_t> indices, std::source_location where) const {
  std::uint64_t hash = detail::mix(state_->id, indices.size());
  std::vector<std::uint32_t> members;
  std::optional<std::uint32_t> own;
  for (const std::uint32_t i : indices) {
    if (i == index()) own = static_cast<std::uint32_t>(members.size());
    members.push_back(member(i).index());
    hash = detail::mix(hash, i);
  }
  SITU_ASSERT(1, own.has_value(), "subset is called by its members only: leave the call out elsewhere");
  return detail::make_team(detail::mix(hash, ++state_->subsets[hash]), std::move(members), *own, where);
}

const team& world() {
  if (detail::current->runtime == nullptr) detail::throw_no_runtime("a team");
  return *detail::current->runtime->world;
}

namespace detail {

namespace {

void cross_by_messages(const team& members, const std::source_location& where) {
  team_state& team = members.state();
  check_members(team);
  message_barrier open = team.interrupted ? *std::exchange(team.interrupted, {}) : message_barrier{members, where};
  const observed_span span{event_kind::barrier, current->place};
  try {
    open.finish();
  } catch (const place_lost_error&) {
    team.interrupted = open;
    throw;
  }
}

}  // namespace

void cross_barrier(const team& members, wait_kind kind, const std::source_location& where) {
  team_state& team = members.state();
  if (team.is_by_messages) return cross_by_messages(members, where);
  const std::uint64_t number = arrive_at_barrier(team);
  const observed_span span{event_kind::barrier, current->place};
  await_barrier(team, number, kind, where);
}

}  // namespace detail

void barrier(const team& members, std::source_location where) {
  detail::cross_barrier(members, detail::wait_kind::barrier, where);
}

future<> barrier_async(const team& members, std::source_location where) {
  if (members.state().is_by_messages) {
    detail::message_barrier begun{members, where};
    begun.announce();
    begun.become_task();
    return async([members, begun]() mutable { begun.finish(); });
  }
  const std::uint64_t number = detail::arrive_at_barrier(members.state());
  return async(
      [members, number, where] { detail::await_barrier(members.state(), number, detail::wait_kind::barrier, where); });
}

void barrier(std::source_location where) { barrier(world(), where); }
future<> barrier_async(std::source_location where) { return barrier_async(world(), where); }

}  // namespace situ
