// Collectives from the view of their team: numbering, comparison between members, and the parts in transit.
#include <situ/runtime/detail/collective.h>

#include <situ/base/error_code.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/at.h>
#include <situ/runtime/detail/collective_values.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runtime/runtime_state.h"
#include "runtime/status_writer.h"
#include "runtime/team_state.h"

namespace situ::detail {
namespace {

constexpr unsigned collective_bit_count = 48;
constexpr std::uint64_t collective_bits = (std::uint64_t{1} << collective_bit_count) - 1;
constexpr unsigned step_bit_count = 8;

std::string text_of(const team_state& team) {
  return team.id == world_team_id ? std::string{"all places"} : fmt::format("a team of {} places", team.members.size());
}

// Records that members' calls differ; otherwise they would wait for each other, or misread each other's data. Members
// that wait in a collective of the team get the error, and so does a member that begins the next.
void note_mismatch(team_state& team, std::uint64_t number, std::uint64_t own, std::uint64_t foreign,
                   std::uint32_t place) {
  // After a loss, members may be at different collectives without an error of the program.
  if (!team.mismatch.empty() || current->endpoint->failure_epoch() != 0) return;
  team.mismatch = fmt::format(
      "the members of a team call different collectives: as number {} of {}, place {} calls {}, and place {} {}; every "
      "member calls the same ones, in the same order, with the same root and as many elements",
      number, text_of(team), current->place, describe(collective_call::unpacked(own)), place,
      describe(collective_call::unpacked(foreign)));
  for (const auto& [key, receiver] : current->runtime->receivers)
    if (key.team == team.id) current->scheduler->make_resumable(*receiver);
}

// Compares the call that a member's message names with this place's own.
void check_call(team_state& team, std::uint64_t number, std::uint64_t call, std::uint32_t place) {
  if (number >= team.collectives) {
    const auto has_number = [number](const team_state::foreign_call& each) { return each.number == number; };
    if (std::none_of(team.early.begin(), team.early.end(), has_number))
      team.early.push_back({.number = number, .call = call, .place = place});
  } else if (number + team_state::remembered >= team.collectives) {
    const std::uint64_t own = team.recent[number % team_state::remembered];
    if (own != call) note_mismatch(team, number, own, call, place);
  }
}

// Hands a part to the task that waits for it, if there is one.
void tell_receiver(runtime_state& state, part_key key) {
  for (const std::uint32_t source : {key.source, collective::any_member}) {
    key.source = source;
    const auto found = state.receivers.find(key);
    if (found != state.receivers.end() && found->second->missing != 0 && --found->second->missing == 0)
      current->scheduler->make_resumable(*found->second);
  }
}

// Handles a part of a collective that arrives.
void run_part(message& m) {
  runtime_state& state = *current->runtime;
  const endpoint::handler_scope scope{m.self};
  const parcel received{m, 3};
  SITU_POINT(part_arrived);
  const std::uint64_t sent_by = m.argument(2);
  const part_key key{.team = m.argument(0),
                     .tag = m.argument(1),
                     .source = static_cast<std::uint32_t>(sent_by >> collective_bit_count)};
  const auto team = state.teams.find(key.team);
  if (team != state.teams.end()) {  // else this place has yet to make the team
    const std::uint64_t number = key.tag >> step_bit_count;
    check_call(*team->second, number, sent_by & collective_bits, m.source);
    const std::vector<std::uint64_t>& abandoned = team->second->abandoned;
    if (std::find(abandoned.begin(), abandoned.end(), number) != abandoned.end()) return;
  }
  state.parts.emplace(key, std::vector<std::byte>(received.data(), received.data() + received.size()));
  tell_receiver(state, key);
}
const function_id part_id = name_function(reinterpret_cast<const void*>(&run_part));

// Returns how many of `wanted` parts have not arrived yet.
std::size_t missing_parts(const runtime_state& state, const part_key& key, std::size_t wanted) {
  const bool from_any = key.source == collective::any_member;
  auto at = from_any ? state.parts.lower_bound({key.team, key.tag, 0}) : state.parts.lower_bound(key);
  for (; wanted != 0 && at != state.parts.end() && at->first <= key; ++at) --wanted;
  return wanted;
}

}  // namespace

std::optional<std::uint32_t> ended_member(const team_state& team) noexcept {
  if (current->endpoint->failure_epoch() == 0 && current->job->failure_epoch.load(std::memory_order_relaxed) == 0)
    return std::nullopt;
  for (const std::uint32_t member : team.members)
    if (SITU_LOSS_CHECK(members) && has_ended(*current->job, member)) return member;
  return std::nullopt;
}

void check_members(const team_state& team) {
  if (current->endpoint == nullptr) throw_no_runtime("a collective");
  if (const auto ended = ended_member(team)) [[unlikely]]
    throw_loss_of(*current->job, *ended);
}

void throw_if_mismatched(const team_state& team) {
  if (!team.mismatch.empty()) [[unlikely]]
    throw_error(errc::bad_argument, team.mismatch);
}

void throw_if_any_mismatched() {
  for (const auto& [id, team] : current->runtime->teams) throw_if_mismatched(*team);
}

std::uint64_t number_collective(team_state& team, const collective_call& call) {
  const std::uint64_t number = team.collectives++;
  const std::uint64_t packed = call.packed();
  team.recent[number % team_state::remembered] = packed;
  if (team.shown != nullptr) {
    team.shown->last.store(packed, std::memory_order_relaxed);
    team.shown->begun.store(number + 1, std::memory_order_relaxed);
  }
  if (!team.early.empty()) [[unlikely]] {
    for (const team_state::foreign_call& each : team.early)
      if (each.number == number && each.call != packed) note_mismatch(team, number, packed, each.call, each.place);
    std::erase_if(team.early, [number](const team_state::foreign_call& each) { return each.number <= number; });
  }
  throw_if_mismatched(team);
  return number;
}

collective::collective(const team& members, const collective_call& call, const std::source_location& where)
    : team_{&members.state()},
      runs_{&team_->runs},
      call_{call},
      where_{where},
      tag_{0},
      size_{members.size()},
      index_{members.index()} {
  check_members(*team_);
  tag_ = number_collective(*team_, call) << step_bit_count;
}

outgoing& collective::channel_to(std::uint32_t to) const { return call_channel(place{team_->members[to]}); }

function_id collective::part_handler() noexcept { return part_id; }

std::array<std::uint64_t, 3> collective::words(std::uint32_t step) const noexcept {
  return {team_->id, tag_ + step, std::uint64_t{index_} << collective_bit_count | call_.packed()};
}

// Waits for `count` parts. Throws if a part of another member, even an awaited one, has shown that its call differs.
void collective::await_parts(std::uint32_t from, std::uint32_t step, std::size_t count) {
  runtime_state& state = *current->runtime;
  scheduler& here = *current->scheduler;
  const part_key key{.team = team_->id, .tag = tag_ + step, .source = from};
  std::size_t missing = missing_parts(state, key, count);
  auto have_come = [&, seen = state.parts.size()]() mutable {
    if (state.parts.size() == seen) return false;
    seen = state.parts.size();
    missing = missing_parts(state, key, count);
    return missing == 0;
  };
  const bool is_to_wait = missing != 0 && !here.spin_until_done(have_come);
  throw_if_mismatched(*team_);
  if (!is_to_wait) return;
  part_receiver self;
  self.missing = missing;
  if (current->told_of == told_of_all_ends) [[unlikely]] {  // no loss ends the wait by itself
    self.members = team_;
    self.is_done = [](waiter* each) { return ended_member(*static_cast<part_receiver*>(each)->members).has_value(); };
  }
  self.whom.note = {.kind = wait_kind::collective,
                    .peer = from == any_member ? wait_note::nobody : team_->members[from],
                    .subject = team_->id,
                    .number = tag_ >> step_bit_count,
                    .where = where_};
  state.receivers.emplace(key, &self);
  try {
    here.wait(self);  // ended by run_part
  } catch (...) {
    state.receivers.erase(key);
    throw;
  }
  state.receivers.erase(key);
  throw_if_mismatched(*team_);
  if (self.missing != 0) [[unlikely]]
    throw_loss_of(*current->job, *ended_member(*team_));
}

arrived_part collective::take_part(std::uint32_t from, std::uint32_t step) {
  await_parts(from, step, 1);
  auto& parts = current->runtime->parts;
  const auto found =
      parts.lower_bound({.team = team_->id, .tag = tag_ + step, .source = from == any_member ? 0 : from});
  check_told();
  arrived_part taken{.source = found->first.source, .bytes = std::move(found->second)};
  parts.erase(found);
  return taken;
}

void add_up_counts(collective& group, std::vector<std::uint64_t>& counts) {
  element_values<std::uint64_t> total{counts};
  std::plus<> sum;
  all_reduce_in(group, total, sum, 1);
}

void collective::abandon() {
  auto& parts = current->runtime->parts;
  constexpr std::uint64_t steps = std::uint64_t{1} << step_bit_count;
  parts.erase(parts.lower_bound({.team = team_->id, .tag = tag_, .source = 0}),
              parts.lower_bound({.team = team_->id, .tag = tag_ + steps, .source = 0}));
  team_->abandoned.push_back(tag_ >> step_bit_count);
}

void collective::throw_if_untold() {
  if (current->told_of < current->job->failure_epoch.load(std::memory_order_relaxed)) [[unlikely]]
    throw_place_lost(*current->job, current->place);
}

void collective::throw_other_count(std::uint32_t member) const {
  throw_error(
      errc::bad_argument,
      fmt::format("place {} calls collective {} of {} with another number of elements than place {}: every member "
                  "gives as many",
                  team_->members[member], tag_ >> step_bit_count, text_of(*team_), current->place));
}

}  // namespace situ::detail
