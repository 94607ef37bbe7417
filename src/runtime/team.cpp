#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/at.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/task.h>
#include <situ/runtime/team.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "fabric/observe.h"
#include "memory/liveness.h"
#include "runtime/runtime_state.h"
#include "runtime/team_state.h"

namespace situ {
namespace detail {
namespace {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);  // as boost::hash_combine
  hash *= 0xff51afd7ed558ccd;
  return hash ^ hash >> 33;
}

void check_members(const team_state& team) {
  if (current->endpoint == nullptr) throw_no_runtime("a collective");
  if (current->endpoint->failure_epoch() == 0 && current->job->failure_epoch.load(std::memory_order_relaxed) == 0)
    return;
  for (const std::uint32_t member : team.members)
    if (SITU_LOSS_CHECK(members) && has_ended(current->job->slot(member).state.load(std::memory_order_acquire)))
      throw_loss_of(*current->job, member);
}

void await_barrier(team_state& team) {
  try {
    current->scheduler->wait_until([&] { return team.barrier.is_complete(); });
  } catch (const place_lost_error&) {
    team.barrier.interrupt();
    throw;
  }
}

// A part of a collective arrives: hands it to its receiver, or keeps it.
void run_part(message& m) {
  runtime_state& state = *current->runtime;
  const endpoint::handler_scope scope{m.self};
  const parcel received{m, 3};
  SITU_POINT(part_arrived);
  part& arrived =
      state.parts[{.team = m.argument(0), .tag = m.argument(1), .source = static_cast<std::uint32_t>(m.argument(2))}];
  arrived.bytes.assign(received.data(), received.data() + received.size());
  arrived.arrived = true;
  if (arrived.receiver != nullptr) current->scheduler->make_resumable(*arrived.receiver);
}
const function_id part_id = name_function(reinterpret_cast<const void*>(&run_part));

// The team's first member makes the barrier's block and tells the others, by `group`, which consists of exactly the
// members.
team make_team(std::uint64_t id, std::vector<std::uint32_t> members, std::uint32_t index) {
  // Before there is a block there is no barrier, but messages need none: a state with the world's will do for the
  // broadcast.
  barrier_block& none = current->runtime->world->state().barrier.block();
  auto bare = std::make_shared<team_state>(mix(id, 1), members, index, none, false);
  ptr<std::byte> block;
  if (index == 0) {
    const std::size_t bytes = barrier_block::bytes(static_cast<std::uint32_t>(members.size()));
    block = situ::allocate_bytes(bytes, {.alignment = 64});
    std::memset(block.local(), 0, bytes);
    reinterpret_cast<barrier_block*>(block.local())->holders.value.store(members.size(), std::memory_order_relaxed);
    SITU_POINT(block_made);
  }
  const auto address = broadcast(block.address(), 0, team{bare});
  return team{
      std::make_shared<team_state>(id, std::move(members), index, *reinterpret_cast<barrier_block*>(address), true)};
}

}  // namespace

team_state::team_state(std::uint64_t team_id, std::vector<std::uint32_t> places, std::uint32_t own_index,
                       barrier_block& block, bool owns)
    : id{team_id},
      members{std::move(places)},
      index{own_index},
      barrier{block, members, own_index, *current->job},
      owns_block{owns} {}

team_state::~team_state() {
  if (!owns_block || current->runtime == nullptr || !barrier.let_go()) return;
  SITU_POINT(block_let_go);
  try {
    deallocate(ptr<std::byte>{reinterpret_cast<std::byte*>(&barrier.block())});
  } catch (const error& e) {
    log(log_level::error, fmt::format("place {}: a team's barrier cannot be given back: {}", current->place, e.what()));
  }
}

collective::collective(const team& members)
    : team_{members.state()}, tag_{members.state().collectives++ << 8}, size_{members.size()}, index_{members.index()} {
  check_members(team_);
}

outgoing& collective::channel_to(std::uint32_t to) const { return call_channel(place{team_.members[to]}); }

function_id collective::part_handler() noexcept { return part_id; }

std::array<std::uint64_t, 3> collective::words(std::uint32_t step) const noexcept {
  return {team_.id, tag_ + step, index_};
}

std::vector<std::byte> collective::receive_bytes(std::uint32_t from, std::uint32_t step) {
  auto& parts = current->runtime->parts;
  const part_key key{.team = team_.id, .tag = tag_ + step, .source = from};
  scheduler& here = *current->scheduler;
  const auto has_arrived = [&] {
    const auto found = parts.find(key);
    return found != parts.end() && found->second.arrived;
  };
  if (!has_arrived()) {
    const observed_span waiting{event_kind::wait, team_.members[from]};
    waiter self;
    parts[key].receiver = &self;
    try {
      here.wait(self);  // ended by run_part
    } catch (...) {
      parts.erase(key);
      throw;
    }
  }
  const auto found = parts.find(key);
  std::vector<std::byte> bytes = std::move(found->second.bytes);
  parts.erase(found);
  return bytes;
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

team team::split(std::uint32_t colour, std::uint32_t key) const {
  struct choice {
    std::uint32_t colour, key, index;
  };
  const std::uint64_t number = state_->collectives;
  std::vector<choice> choices = all_gather(choice{colour, key, index()}, *this);
  std::erase_if(choices, [colour](const choice& c) { return c.colour != colour; });
  std::stable_sort(choices.begin(), choices.end(), [](const choice& a, const choice& b) { return a.key < b.key; });
  std::vector<std::uint32_t> members;
  std::uint32_t own = 0;
  for (const choice& c : choices) {
    if (c.index == index()) own = static_cast<std::uint32_t>(members.size());
    members.push_back(state_->members[c.index]);
  }
  return detail::make_team(detail::mix(detail::mix(state_->id, number), colour), std::move(members), own);
}

team team::subset(std::span<const std::uint32_t> indices) const {
  std::uint64_t hash = detail::mix(state_->id, indices.size());
  std::vector<std::uint32_t> members;
  std::optional<std::uint32_t> own;
  for (const std::uint32_t i : indices) {
    if (i == index()) own = static_cast<std::uint32_t>(members.size());
    members.push_back(member(i).index());
    hash = detail::mix(hash, i);
  }
  SITU_ASSERT(1, own.has_value(), "subset is called by its members only: leave the call out elsewhere");
  return detail::make_team(detail::mix(hash, ++state_->subsets[hash]), std::move(members), *own);
}

const team& world() {
  if (detail::current->runtime == nullptr) detail::throw_no_runtime("a team");
  return *detail::current->runtime->world;
}

void barrier(const team& members) {
  detail::team_state& team = members.state();
  detail::check_members(team);
  const detail::observed_span span{detail::event_kind::barrier, detail::current->place};
  team.barrier.arrive();
  detail::await_barrier(team);
}

future<> barrier_async(const team& members) {
  detail::check_members(members.state());
  members.state().barrier.arrive();
  return async([members] { detail::await_barrier(members.state()); });
}

void barrier() { barrier(world()); }
future<> barrier_async() { return barrier_async(world()); }

}  // namespace situ
