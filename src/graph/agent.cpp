#include "graph/agent.h"

#include <situ/base/detail/coherence.h>
#include <situ/base/detail/test_points.h>
#include <situ/base/error.h>
#include <situ/fabric/rma.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/detail/scheduler.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "base/host.h"
#include "graph/graph_state.h"
#include "memory/liveness.h"

namespace situ::detail {
namespace {

constexpr std::uint32_t looks_before_sleep = idle_looks(200);

[[nodiscard]] offload_queue& queue_of(offload_entry& entry) noexcept {
  return *reinterpret_cast<offload_queue*>(reinterpret_cast<std::byte*>(&entry - entry.index) -
                                           offsetof(offload_queue, entries));
}

[[nodiscard]] bool is_agents(offload_step step) noexcept {
  return step == offload_step::measure || step == offload_step::copy || step == offload_step::abandoned;
}

// What comes of a request that cannot be met. They differ since the entry is somebody else's then.
[[nodiscard]] constexpr offload_step failure_of(offload_step asked) noexcept {
  return asked == offload_step::measure ? offload_step::unmeasured : offload_step::failed;
}

bool advance(offload_entry& entry, offload_state from, offload_step to) noexcept {
  return entry.state.exchange_if(from, state_of(use_of(from), to));
}
bool free_entry(offload_entry& entry, offload_state from) noexcept {
  return entry.state.exchange_if(from, state_of(use_of(from) + 1, offload_step::free));
}

// What is left of an entry whose receiver will not take the next step. For its owner. False while that is the agent's.
bool reclaim(offload_entry& entry, offload_state seen) noexcept {
  switch (step_of(seen)) {
    case offload_step::measured:
    case offload_step::unmeasured:
    case offload_step::claimed:
    case offload_step::done:
    case offload_step::failed: return free_entry(entry, seen);
    case offload_step::copy:
      // who asked for the copy may have died before it rang
      if (advance(entry, seen, offload_step::abandoned)) queue_of(entry).ring();
      return false;
    default: return false;
  }
}

// To the place whose queue has it: who lent this graph may wait, and others for an entry.
void tell_of_free_entry(job_control& control, std::uint32_t place, const offload_entry& freed) noexcept {
  wake_after_change(control.slot(place), &freed);
}

}  // namespace

bool offload_queue::request(offload_entry& entry, offload_state from, offload_step step) noexcept {
  write_back(entry.fields(), offload_entry::field_bytes());
  if (!advance(entry, from, step)) return false;
  SITU_POINT(step_requested);
  ring();
  return true;
}

void offload_queue::ring() noexcept {
  if ((bell.add(2) & asleep) != 0) wake_on_word(bell.word(), 1);
}

offload_agent::offload_agent(place_context& context) : control_{*context.job}, place_{context.place} {
  const char* const staged = std::getenv("SITU_OFFLOAD_STAGED");
  staged_ = staged != nullptr && std::string_view{staged} == "1";
  const ptr<std::byte> room = situ::allocate_bytes(sizeof(offload_queue), {.alignment = alignof(offload_queue)});
  queue_ = ptr<offload_queue>{new (room.local()) offload_queue};
  for (std::uint32_t i = 0; i < offload_queue::entry_count; ++i) queue_.local()->entries[i].index = i;
  write_back(room.local(), sizeof(offload_queue));
  units_ = make_graph_units(staged_);
  worker_ = worker{[this] { run(); }};
}

offload_agent::~offload_agent() {
  stopping_.store(true);
  queue_.local()->ring();
  worker_.join();
  for (const std::atomic<offload_state>& each : begun_)
    while (each.load() != 0) give_way();
  // After a loss others may still take up calls that name its entries: it stays, as all memory of a place that is gone.
  if (control_.failure_epoch.load(std::memory_order_acquire) != 0) return;
  try {
    deallocate(queue_);
  } catch (const error&) {  // only where the heap is damaged; the segment goes in a moment
  }
}

void offload_agent::run() {
  if (units_.devices) units_.devices->enter_agent();
  offload_queue& queue = *queue_.local();
  std::uint32_t looks = 0;
  while (true) {
    const std::uint32_t seen = queue.bell.look();
    if (stopping_.load()) return;
    if (serve_next()) {
      looks = 0;
      continue;
    }
    if (++looks < looks_before_sleep && !control_.oversubscribed) continue;
    if (!queue.bell.exchange_if(seen, seen | offload_queue::asleep)) continue;
    wait_on_word(queue.bell.word(), seen | offload_queue::asleep, -1);
    queue.bell.add(-offload_queue::asleep);
  }
}

// Invariant 3. Who made a request has handed its fields over with its step.
bool offload_agent::serve_next() {
  offload_queue& queue = *queue_.local();
  for (std::uint32_t looked_at = 0; looked_at < offload_queue::entry_count; ++looked_at) {
    const std::uint32_t i = (next_served_ + looked_at) % offload_queue::entry_count;
    // Before the look: a device's operation ends by its step first, and is begun no more after that.
    const offload_state begun = units_.devices ? begun_[i].load() : 0;
    const offload_state found = queue.entries[i].state.look();
    if (!is_agents(step_of(found))) continue;
    // under way; what is abandoned of that, whoever ends it frees
    if (begun == found || (begun != 0 && step_of(found) == offload_step::abandoned)) continue;
    invalidate(queue.entries[i].fields(), offload_entry::field_bytes());
    next_served_ = i + 1;
    serve(i, found);
    return true;
  }
  return false;
}

void offload_agent::serve(std::size_t i, offload_state state) {
  offload_entry& entry = queue_.local()->entries[i];
  offload_step outcome = failure_of(step_of(state));
  try {
    if (units_.devices && begin_on_device(i, state)) return;
    outcome = perform(i, step_of(state));
  } catch (const std::exception& failure) {
    fail(entry, failure);
  }
  conclude(i, state, outcome);
}

// False where the agent does it itself. The look at failures is before it: places of a machine that has such devices
// are lost together.
bool offload_agent::begin_on_device(std::size_t i, offload_state state) {
  offload_entry& entry = queue_.local()->entries[i];
  const offload_step asked = step_of(state);
  if (asked == offload_step::abandoned || (asked == offload_step::measure && !units_.devices->measures())) return false;
  { const reading_guard guard{control_, place_, &place_slot::read_by_agent, place_, entry.failure_epoch}; }
  const std::span<const graph_root> roots{roots_[i].data(), entry.root_count};
  const offload_step next = asked == offload_step::measure ? offload_step::measured : offload_step::done;
  auto over = [this, i, state, next](const std::exception* failure) {
    if (failure != nullptr) fail(queue_.local()->entries[i], *failure);
    conclude(i, state, failure != nullptr ? failure_of(step_of(state)) : next);
  };
  begun_[i].store(state);
  if (asked == offload_step::copy) {
    units_.devices->begin_copy(i, roots, place_, entry.reader, entry.graph,
                               {.bytes = reinterpret_cast<std::byte*>(entry.destination),
                                .finalizers = reinterpret_cast<std::uint64_t*>(entry.finalizers)},
                               std::move(over));
    return true;
  }
  units_.devices->begin_measure(i, roots, place_, entry.graph, std::move(over));
  return true;
}

// The next step, unless the entry was given up.
void offload_agent::conclude(std::size_t i, offload_state state, offload_step outcome) {
  offload_entry& entry = queue_.local()->entries[i];
  const std::uint32_t waiting = entry.waiting_place;
  if (outcome != offload_step::measured) units_.measurer->forget(i);
  write_back(entry.fields(), offload_entry::field_bytes());
  if (step_of(state) != offload_step::abandoned && advance(entry, state, outcome)) {
    SITU_POINT(step_served);
    wake_after_change(control_.slot(waiting), &entry);
  } else if (free_entry(entry, state_of(use_of(state), offload_step::abandoned))) {
    tell_of_free_entry(control_, place_, entry);
  }
  // The next request of the entry may be under way already, or may have been given up and been passed over.
  if (offload_state mine = state; units_.devices && begun_[i].compare_exchange_strong(mine, 0) &&
                                  step_of(entry.state.look()) == offload_step::abandoned)
    queue_.local()->ring();
}

// What comes of it; failed where it was given up.
offload_step offload_agent::perform(std::size_t i, offload_step asked) {
  offload_entry& entry = queue_.local()->entries[i];
  const reading_guard guard{control_, place_, &place_slot::read_by_agent, place_, entry.failure_epoch};
  const std::span<const graph_root> roots{roots_[i].data(), entry.root_count};
  if (asked == offload_step::measure) {
    // By way of a local object: what a call returns straight into memory, a modelled machine does not see
    // (docs/design/model_execution.md).
    const measured_graph found = units_.measurer->measure(i, roots, entry.map);
    entry.graph = found;
    return offload_step::measured;
  }
  if (asked != offload_step::copy) return offload_step::failed;
  units_.copier->copy(i, roots, entry.graph,
                      {.bytes = reinterpret_cast<std::byte*>(entry.destination),
                       .finalizers = reinterpret_cast<std::uint64_t*>(entry.finalizers)});
  return offload_step::done;
}

namespace {
[[noreturn]] void throw_failure(const offload_entry& entry) {
  invalidate(entry.error_text, sizeof entry.error_text);
  const auto code = static_cast<errc>(entry.error_code);
  if (code == errc::place_lost) throw_place_lost(*current->job, current->place);
  throw_error(code, std::string{entry.error_text, ::strnlen(entry.error_text, sizeof entry.error_text)});
}
}  // namespace

void offload_agent::fail(offload_entry& entry, const std::exception& failure) noexcept {
  const auto* const known = dynamic_cast<const error*>(&failure);
  entry.error_code = static_cast<std::uint32_t>(known != nullptr ? known->code() : errc::out_of_memory);
  const std::string_view text =
      known != nullptr ? std::string_view{known->message()} : std::string_view{failure.what()};
  const std::size_t length = std::min(text.size(), sizeof entry.error_text - 1);
  std::memcpy(entry.error_text, text.data(), length);
  entry.error_text[length] = '\0';
  write_back(entry.error_text, sizeof entry.error_text);
}

// Which entries may have become free since they were looked at.
void offload_agent::note_changes() noexcept {
  const place_slot& mine = control_.slot(place_);
  const std::uint32_t ends = control_.failure_epoch.load(std::memory_order_acquire);
  const bool all = std::exchange(seen_ends_, ends) != ends;  // what a lost place left behind is taken up here
  std::array<bool, place_slot::change_buckets> changed{};
  for (std::size_t bucket = 0; bucket < changed.size(); ++bucket) {
    const std::uint32_t now = mine.changes[bucket].load(std::memory_order_acquire);
    changed[bucket] = std::exchange(seen_changes_[bucket], now) != now || all;
  }
  for (std::uint32_t i = 0; i < offload_queue::entry_count; ++i)
    if (changed[change_bucket(&queue_.local()->entries[i])]) may_be_free_ |= 1U << i;
}

// Only this place's thread takes entries.
bool offload_agent::reserve_entry(offload_lease& made) noexcept {
  if (may_be_free_ == 0) note_changes();
  while (may_be_free_ != 0) {
    const int index = std::countr_zero(may_be_free_);
    may_be_free_ &= may_be_free_ - 1;
    offload_entry& each = queue_.local()->entries[index];
    offload_state seen = each.state.look();
    if (step_of(seen) != offload_step::free && step_of(seen) > offload_step::measure &&
        has_ended(control_.slot(each.reader).state.load(std::memory_order_acquire))) {
      reclaim(each, seen);
      seen = each.state.look();
    }
    if (step_of(seen) == offload_step::free && advance(each, seen, offload_step::reserved)) {
      made = {each, use_of(seen)};
      return true;
    }
  }
  return false;
}

// Tasks that wait for an entry stand in line, and only the first is asked in each turn whether there is one.
class offload_agent::line_place : public waiter {
 public:
  line_place(offload_agent& agent, const waits_for& whom) : agent_{agent} {
    this->whom = whom;
    (agent.line_last_ != nullptr ? agent.line_last_->behind_ : agent.line_first_) = this;
    before_ = std::exchange(agent.line_last_, this);
    try {
      if (before_ != nullptr) current->scheduler->wait(*this);
    } catch (...) {
      leave();
      throw;
    }
  }
  ~line_place() { leave(); }
  line_place(const line_place&) = delete;
  line_place& operator=(const line_place&) = delete;

 private:
  void leave() noexcept {
    (behind_ != nullptr ? behind_->before_ : agent_.line_last_) = before_;
    if (before_ != nullptr) {
      before_->behind_ = behind_;
      return;
    }
    agent_.line_first_ = behind_;
    if (behind_ != nullptr && !behind_->resumable) current->scheduler->make_resumable(*behind_);
  }

  offload_agent& agent_;
  line_place* before_ = nullptr;
  line_place* behind_ = nullptr;
};

offload_lease offload_agent::begin(std::span<const graph_root> roots, std::uint32_t reader) {
  offload_lease made;
  const waits_for whom{.note = {.kind = wait_kind::graph, .peer = reader}};
  {
    const line_place first_in_line{*this, whom};
    current->scheduler->wait_until([&] { return reserve_entry(made); },
                                   whom);  // back-pressure is this wait
  }
  SITU_POINT(entry_reserved);
  offload_entry* const entry = made.entry();
  invalidate(entry->fields(), offload_entry::field_bytes());  // its last receiver has written there
  std::copy(roots.begin(), roots.end(), roots_[entry->index].begin());
  entry->root_count = static_cast<std::uint32_t>(roots.size());
  entry->map = graph_state_here().map;
  entry->waiting_place = measures_by_itself() ? reader : place_;
  entry->reader = reader;
  entry->failure_epoch = current->told_of;
  (void)queue_.local()->request(*entry, state_of(made.use(), offload_step::reserved), offload_step::measure);
  return made;
}

offload_lease offload_agent::measure(std::span<const graph_root> roots, std::uint32_t reader) {
  offload_lease made = begin(roots, reader);
  if (!measures_by_itself()) wait_until_measured(made);
  return made;
}

void offload_agent::wait_until_measured(offload_lease& made) {
  offload_entry* const entry = made.entry();
  const std::uint64_t use = made.use();
  const auto state = [entry] { return entry->state.look(); };
  change_gate gate{control_, place_, entry};
  try {
    current->scheduler->wait_until([&] { return gate.is_open() && state() != state_of(use, offload_step::measure); },
                                   {.note = {.kind = wait_kind::graph, .peer = entry->reader}});
    invalidate(entry->fields(), offload_entry::field_bytes());
    if (state() == state_of(use, offload_step::unmeasured)) throw_failure(*entry);
    // `reader` is: another task has taken it up
    if (state() != state_of(use, offload_step::measured)) throw_place_lost(*current->job, current->place);
  } catch (...) {
    // The caller may give the graph up now: not while the agent reads it. It is at work in this process, so this ends
    // soon.
    while (state() == state_of(use, offload_step::measure)) give_way();
    if (free_entry(*entry, state_of(use, offload_step::measured)) ||
        free_entry(*entry, state_of(use, offload_step::unmeasured)))
      tell_of_free_entry(control_, place_, *entry);
    throw;
  }
}

// --- the caller's end ---

offload_lease::~offload_lease() {
  if (entry_ == nullptr) return;
  while (true) {
    const offload_state seen = entry_->state.look();
    if (use_of(seen) != use_) return;
    const offload_step step = step_of(seen);
    if (step == offload_step::measure) {  // by a device: the graph is read
      give_way();
      continue;
    }
    const bool is_left_behind = step == offload_step::measured || step == offload_step::unmeasured ||
                                has_ended(current->job->slot(entry_->reader).state.load(std::memory_order_acquire));
    if (is_left_behind && reclaim(*entry_, seen)) {
      tell_of_free_entry(*current->job, current->place, *entry_);
      return;
    }
    // The receiver gives back what it has itself; what it asks for after a loss, the agent refuses
    // (reading_guard).
    if (!is_left_behind && step != offload_step::copy && step != offload_step::abandoned) return;
    give_way();  // invariant 5. The agent is at work in this process, so this ends soon
  }
}

// --- the receiver's end ---

offload_claim::offload_claim(std::uint64_t address, std::uint64_t use, std::uint32_t source)
    : use_{use}, source_{source} {
  check_access(access::get, address, sizeof(offload_entry));
  auto* const entry = reinterpret_cast<offload_entry*>(address);
  if (address % alignof(offload_entry) != 0 || ptr<offload_entry>{entry}.place().index() != queue_place(source) ||
      entry->index >= offload_queue::entry_count)
    throw_error(errc::bad_message,
                fmt::format("a call from place {} names a request of its offload agent at {:#x}, where there is none",
                            source, address));
  if (!claim(*entry)) {
    if (current->job->failure_epoch.load(std::memory_order_acquire) != 0)
      throw_place_lost(*current->job, current->place);
    throw_error(errc::bad_message,
                fmt::format("a call from place {} names request {} of its offload agent at {:#x}, which is over",
                            source, use, address));
  }
  entry_ = entry;
  invalidate(entry->fields(), offload_entry::field_bytes());
  SITU_POINT(entry_claimed);
}

// Where a device measures, the call may be here before its graph's size is.
bool offload_claim::claim(offload_entry& entry) {
  const offload_state under_way = state_of(use_, offload_step::measure);
  const offload_state measured = state_of(use_, offload_step::measured);
  change_gate gate{*current->job, current->place, &entry};
  gate.close();
  offload_state found = measured;
  if (entry.state.try_exchange(found, state_of(use_, offload_step::claimed))) return true;
  if (found != under_way) return false;
  current->scheduler->wait_until([&] { return gate.is_open() && (found = entry.state.look()) != under_way; },
                                 {.place = source_, .note = {.kind = wait_kind::graph, .peer = source_}});
  if (found == measured) return advance(entry, measured, offload_step::claimed);
  if (found != state_of(use_, offload_step::unmeasured)) return false;
  invalidate(entry.fields(), offload_entry::field_bytes());
  try {
    throw_failure(entry);
  } catch (...) {
    if (free_entry(entry, state_of(use_, offload_step::unmeasured))) tell_of_free_entry(*current->job, source_, entry);
    throw;
  }
}

offload_claim::~offload_claim() {
  while (!free_entry(*entry_, state_of(use_, step_))) {
    const offload_state seen = entry_->state.look();
    if (use_of(seen) != use_ || step_of(seen) == offload_step::abandoned) return;
    if (reclaim(*entry_, seen)) break;
  }
  SITU_POINT(entry_freed);
  tell_of_free_entry(*current->job, source_, *entry_);
}

void offload_claim::copy_to(arena& destination) {
  entry_->destination = reinterpret_cast<std::uintptr_t>(&destination);
  entry_->finalizers = reinterpret_cast<std::uintptr_t>(destination.finalizers);
  entry_->waiting_place = current->place;
  change_gate gate{*current->job, current->place, entry_};
  gate.close();
  if (!queue_of(*entry_).request(*entry_, state_of(use_, offload_step::claimed), offload_step::copy))
    throw_place_lost(*current->job, current->place);
  const offload_state under_way = state_of(use_, offload_step::copy);
  offload_state found = under_way;
  current->scheduler->wait_until([&] { return gate.is_open() && (found = entry_->state.look()) != under_way; },
                                 {.place = source_, .note = {.kind = wait_kind::graph, .peer = source_}});
  // given up by its owner, which believes this place to be lost
  if (use_of(found) != use_ || step_of(found) == offload_step::abandoned)
    throw_place_lost(*current->job, current->place);
  step_ = step_of(found);
  invalidate(entry_->fields(), offload_entry::field_bytes());
  if (step_ == offload_step::failed) throw_failure(*entry_);
}

}  // namespace situ::detail
