#include "graph/agent.h"

#include <situ/base/detail/coherence.h>
#include <situ/base/detail/test_points.h>
#include <situ/base/error.h>
#include <situ/fabric/detail/endpoint.h>
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

#include "graph/change_gate.h"
#include "graph/graph_state.h"
#include "os/host.h"

namespace situ::detail {
namespace {

constexpr std::uint32_t looks_before_sleep = idle_looks(200);

[[nodiscard]] offload_queue& queue_of(offload_entry& entry) noexcept {
  return *reinterpret_cast<offload_queue*>(reinterpret_cast<std::byte*>(&entry - entry.asked.index) -
                                           offsetof(offload_queue, entries));
}

[[nodiscard]] bool is_agents(offload_step step) noexcept {
  return step == offload_step::measure || step == offload_step::copy || step == offload_step::abandoned;
}

// Returns the step that ends a failed request. The two differ since a different participant owns the entry afterwards.
[[nodiscard]] constexpr offload_step failure_of(offload_step asked) noexcept {
  return asked == offload_step::measure ? offload_step::unmeasured : offload_step::failed;
}

bool advance(offload_entry& entry, offload_state from, offload_step to) noexcept {
  return entry.state.exchange_if(from, state_of(use_of(from), to));
}
bool free_entry(offload_entry& entry, offload_state from) noexcept {
  return entry.state.exchange_if(from, state_of(use_of(from) + 1, offload_step::free));
}

// Frees an entry whose receiver will not take the next step. Called by the entry's owner. Returns false while the agent
// owns the next step.
bool reclaim(offload_entry& entry, offload_state seen) noexcept {
  switch (step_of(seen)) {
    case offload_step::measured:
    case offload_step::unmeasured:
    case offload_step::claimed:
    case offload_step::done:
    case offload_step::failed: return free_entry(entry, seen);
    case offload_step::copy:
      // the receiver may have died after it asked for the copy and before it rang
      if (advance(entry, seen, offload_step::abandoned)) queue_of(entry).ring();
      return false;
    default: return false;
  }
}

// Tells the place whose queue has the entry that it is free: the caller that lent the graph may wait for that, and
// other tasks for an entry. Either the owner has asked to be woken before this sets the entry's bit, or it finds the
// bit set when it asks.
void tell_of_free_entry(job_control& control, std::uint32_t place, const offload_entry& freed) noexcept {
  place_slot& owner = control.slot(place);
  if ((owner.graph.words().freed_entries.fetch_or(std::uint32_t{1} << freed.asked.index) & offload_queue::is_awaited) !=
      0)
    wake_after_change(owner);
}

}  // namespace

bool offload_queue::request(offload_entry& entry, offload_state from, offload_step step) noexcept {
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
  for (std::uint32_t i = 0; i < offload_queue::entry_count; ++i) queue_.local()->entries[i].asked.index = i;
  uses_.fill(use_of(offload_entry{}.state.look()));
  control_.slot(place_).graph.words().freed_entries.store(0);  // bits of an earlier agent
  write_back(room.local(), sizeof(offload_queue));
  units_ = make_graph_units(staged_);
  worker_ = os::worker{[this] { run(); }};
}

offload_agent::~offload_agent() {
  stopping_.store(true);
  queue_.local()->ring();
  worker_.join();
  for (const std::atomic<offload_state>& each : begun_)
    while (each.load() != 0) give_way();
  // After a loss other places may still take up calls that name entries of this queue, so it is not freed. No memory of
  // a lost place is.
  if (control_.failure_epoch.load(std::memory_order_acquire) != 0) return;
  try {
    deallocate(queue_);
  } catch (const error&) {  // thrown only if the heap is damaged; the segment is about to be freed anyway
  }
}

void offload_agent::run() {
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

// Invariant 3. A request's fields were handed over with its step.
bool offload_agent::serve_next() {
  offload_queue& queue = *queue_.local();
  for (std::uint32_t looked_at = 0; looked_at < offload_queue::entry_count; ++looked_at) {
    const std::uint32_t i = (next_served_ + looked_at) % offload_queue::entry_count;
    // Read before the state: a device's operation sets the state before it clears this, and is not begun again after
    // that.
    const offload_state begun = units_.devices ? begun_[i].load() : 0;
    const offload_state found = queue.entries[i].state.look();
    if (!is_agents(step_of(found))) continue;
    // a device is at work on it; if it was abandoned, the end of the operation frees it
    if (begun == found || (begun != 0 && step_of(found) == offload_step::abandoned)) continue;
    invalidate(&queue.entries[i].room, sizeof queue.entries[i].room);  // the caller's part was written by this place
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

// Starts a copy on a device. Returns false if the agent must do the request itself. Failures are checked before: all
// places of a machine that has such devices are lost together.
bool offload_agent::begin_on_device(std::size_t i, offload_state state) {
  offload_entry& entry = queue_.local()->entries[i];
  const offload_step asked = step_of(state);
  if (asked != offload_step::copy) return false;
  { const reading_guard guard{control_, place_, &place_slot::read_by_agent, place_, entry.asked.failure_epoch}; }
  const std::span<const graph_root> roots{roots_[i].data(), entry.asked.root_count};
  begun_[i].store(state);
  units_.devices->begin_copy(i, roots, place_, entry.asked.reader, entry.found.graph,
                             {.bytes = reinterpret_cast<std::byte*>(entry.room.destination),
                              .finalizers = reinterpret_cast<std::uint64_t*>(entry.room.finalizers)},
                             [this, i, state](const std::exception* failure) {
                               if (failure != nullptr) fail(queue_.local()->entries[i], *failure);
                               conclude(i, state, failure != nullptr ? offload_step::failed : offload_step::done);
                             });
  return true;
}

// Takes the next step, or frees the entry if it was given up.
void offload_agent::conclude(std::size_t i, offload_state state, offload_step outcome) {
  offload_entry& entry = queue_.local()->entries[i];
  const std::uint32_t waiting = step_of(state) == offload_step::measure ? place_ : entry.asked.reader;
  if (outcome != offload_step::measured) units_.measurer->forget(i);
  write_back(&entry.found.graph, sizeof entry.found.graph);
  if (step_of(state) != offload_step::abandoned && advance(entry, state, outcome)) {
    SITU_POINT(step_served);
    wake_after_change(control_.slot(waiting), &entry);
  } else if (free_entry(entry, state_of(use_of(state), offload_step::abandoned))) {
    tell_of_free_entry(control_, place_, entry);
  }
  // The entry's next request may be under way already, or may have been given up and passed over by serve_next.
  if (offload_state mine = state; units_.devices && begun_[i].compare_exchange_strong(mine, 0) &&
                                  step_of(entry.state.look()) == offload_step::abandoned)
    queue_.local()->ring();
}

// Performs a request and returns the resulting step; `failed` if the entry was given up.
offload_step offload_agent::perform(std::size_t i, offload_step asked) {
  offload_entry& entry = queue_.local()->entries[i];
  const reading_guard guard{control_, place_, &place_slot::read_by_agent, place_, entry.asked.failure_epoch};
  const std::span<const graph_root> roots{roots_[i].data(), entry.asked.root_count};
  if (asked == offload_step::measure) {
    // In two steps, through a local object: a modelled machine does not see a call write its result directly into
    // memory (docs/design/model_execution.md).
    const measured_graph found = units_.measurer->measure(i, roots, entry.asked.map);
    entry.found.graph = found;
    return offload_step::measured;
  }
  if (asked != offload_step::copy) return offload_step::failed;
  units_.copier->copy(i, roots, entry.found.graph,
                      {.bytes = reinterpret_cast<std::byte*>(entry.room.destination),
                       .finalizers = reinterpret_cast<std::uint64_t*>(entry.room.finalizers)});
  return offload_step::done;
}

namespace {
[[noreturn]] void throw_failure(const offload_entry& entry) {
  const auto& [graph, error_code, error_text] = entry.found;
  invalidate(&error_code, sizeof error_code + sizeof error_text);
  const auto code = static_cast<errc>(error_code);
  if (code == errc::place_lost) throw_place_lost(*current->job, current->place);
  throw_error(code, std::string{error_text, ::strnlen(error_text, sizeof error_text)});
}
}  // namespace

void offload_agent::fail(offload_entry& entry, const std::exception& failure) noexcept {
  auto& [graph, error_code, error_text] = entry.found;
  const auto* const known = dynamic_cast<const error*>(&failure);
  error_code = static_cast<std::uint32_t>(known != nullptr ? known->code() : errc::out_of_memory);
  const std::string_view text =
      known != nullptr ? std::string_view{known->message()} : std::string_view{failure.what()};
  const std::size_t length = std::min(text.size(), sizeof error_text - 1);
  std::memcpy(error_text, text.data(), length);
  error_text[length] = '\0';
  write_back(&error_code, sizeof error_code + sizeof error_text);
}

// Takes up the entries that were freed. Invariant 6.
void offload_agent::take_up_freed() noexcept {
  constexpr std::uint32_t all = (1U << offload_queue::entry_count) - 1;
  const std::uint32_t ends = current->endpoint->failure_epoch();
  if (std::exchange(seen_ends_, ends) != ends) {
    for (std::uint32_t i = 0; i < offload_queue::entry_count; ++i) look_at(i);
    return;
  }
  std::atomic<std::uint32_t>& named = control_.slot(place_).graph.words().freed_entries;
  if ((named.load(std::memory_order_acquire) & all) == 0) return;
  for (std::uint32_t left = named.exchange(0) & all; left != 0; left &= left - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
    if (ends != 0) {
      look_at(i);
      continue;
    }
    ++uses_[i];
    free_ |= 1U << i;
  }
}

// After a loss: finds out whether an entry is free, and frees it if a lost place left it behind.
void offload_agent::look_at(std::uint32_t i) noexcept {
  offload_entry& each = queue_.local()->entries[i];
  offload_state seen = each.state.look();
  if (step_of(seen) > offload_step::measure &&
      has_ended(control_.slot(each.asked.reader).state.load(std::memory_order_acquire))) {
    reclaim(each, seen);
    seen = each.state.look();
  }
  if (step_of(seen) != offload_step::free) return;
  uses_[i] = use_of(seen);
  free_ |= 1U << i;
}

// Returns whether the entry's bit is set and not taken up yet, or the entry is in a later use.
bool offload_agent::is_given_back(const offload_entry& entry, std::uint64_t use) noexcept {
  if (current->endpoint->failure_epoch() != 0) return use_of(entry.state.look()) != use;
  const std::uint32_t i = entry.asked.index;
  return uses_[i] != use ||
         (control_.slot(place_).graph.words().freed_entries.load(std::memory_order_acquire) >> i & 1) != 0;
}

// Makes the next freeing of an entry wake this place.
void offload_agent::await_freed() noexcept {
  std::atomic<std::uint32_t>& named = control_.slot(place_).graph.words().freed_entries;
  if ((named.load(std::memory_order_relaxed) & offload_queue::is_awaited) == 0)
    named.fetch_or(offload_queue::is_awaited);
}

// Takes a free entry. Only this place's thread does.
bool offload_agent::reserve_entry(offload_lease& made) noexcept {
  if (free_ == 0) take_up_freed();
  if (free_ == 0) {
    await_freed();
    take_up_freed();
  }
  if (free_ == 0) return false;
  const auto i = static_cast<std::uint32_t>(std::countr_zero(free_));
  free_ &= free_ - 1;
  made = {*this, queue_.local()->entries[i], uses_[i]};
#if defined(__SANITIZE_THREAD__)
  // The agent's last step happens before the receiver's, which happens before the bit is set. If the receiver is
  // another process, ThreadSanitizer sees neither the receiver's step nor the bit; this look shows it the agent's step.
  (void)made.entry()->state.look();
#endif
  return true;
}

// A task's position in the queue for an entry. In each turn only the first task checks whether an entry is free.
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
  if (line_first_ != nullptr || !reserve_entry(made)) {
    const waits_for whom{.note = {.kind = wait_kind::graph, .peer = reader}};
    const line_place first_in_line{*this, whom};
    current->scheduler->wait_until([&] { return reserve_entry(made); },
                                   whom);  // this wait is the back-pressure
  }
  SITU_POINT(entry_reserved);
  offload_entry& entry = *made.entry();
  offload_entry::caller_part& asked = entry.asked;
  std::copy(roots.begin(), roots.end(), roots_[asked.index].begin());
  asked.reader = reader;
  asked.root_count = static_cast<std::uint32_t>(roots.size());
  asked.failure_epoch = current->told_of;
  asked.map = graph_state_here().map;
  write_back(&asked, sizeof asked);
  (void)queue_.local()->request(entry, state_of(made.use(), offload_step::free), offload_step::measure);
  return made;
}

offload_lease offload_agent::measure(std::span<const graph_root> roots, std::uint32_t reader) {
  offload_lease made = begin(roots, reader);
  wait_until_measured(made);
  return made;
}

void offload_agent::wait_until_measured(offload_lease& made) {
  offload_entry* const entry = made.entry();
  const std::uint64_t use = made.use();
  const auto state = [entry] { return entry->state.look(); };
  change_gate gate{control_, place_, entry};
  try {
    current->scheduler->wait_until([&] { return gate.is_open() && state() != state_of(use, offload_step::measure); },
                                   {.note = {.kind = wait_kind::graph, .peer = entry->asked.reader}});
    if (state() == state_of(use, offload_step::unmeasured)) throw_failure(*entry);
    // `reader` is lost: another task has noticed it
    if (state() != state_of(use, offload_step::measured)) throw_place_lost(*current->job, current->place);
  } catch (...) {
    // The caller may free the graph after this, but not while the agent reads it. The agent is at work in this process,
    // so this loop ends soon.
    while (state() == state_of(use, offload_step::measure)) give_way();
    if (free_entry(*entry, state_of(use, offload_step::measured)) ||
        free_entry(*entry, state_of(use, offload_step::unmeasured)))
      tell_of_free_entry(control_, place_, *entry);
    throw;
  }
}

// --- the caller's end ---

bool offload_lease::is_over() const noexcept {
  if (agent_->is_given_back(*entry_, use_)) return true;
  agent_->await_freed();
  return agent_->is_given_back(*entry_, use_);
}

offload_lease::~offload_lease() {
  if (entry_ == nullptr || agent_->is_given_back(*entry_, use_)) return;
  while (true) {
    const offload_state seen = entry_->state.look();
    if (use_of(seen) != use_) return;
    const offload_step step = step_of(seen);
    if (step == offload_step::free) {  // no request was made
      agent_->free_ |= 1U << entry_->asked.index;
      return;
    }
    const bool is_left_behind =
        step == offload_step::measured || step == offload_step::unmeasured ||
        has_ended(current->job->slot(entry_->asked.reader).state.load(std::memory_order_acquire));
    if (is_left_behind && reclaim(*entry_, seen)) {
      tell_of_free_entry(*current->job, current->place, *entry_);
      return;
    }
    // The receiver frees an entry that it holds. If it asks for a copy after a loss, the agent refuses (reading_guard).
    if (!is_left_behind && step != offload_step::copy && step != offload_step::abandoned) return;
    give_way();  // invariant 5; the agent is at work in this process, so this ends soon
  }
}

// --- the receiver's end ---

offload_claim::offload_claim(std::uint64_t address, std::uint64_t use, std::uint32_t source)
    : use_{use}, source_{source} {
  check_access(access::get, address, sizeof(offload_entry));
  auto* const entry = reinterpret_cast<offload_entry*>(address);
  if (address % alignof(offload_entry) != 0 || ptr<offload_entry>{entry}.place().index() != queue_place(source) ||
      entry->asked.index >= offload_queue::entry_count)
    throw_error(errc::bad_message,
                fmt::format("a call from place {} names a request of its offload agent at {:#x}, where there is none",
                            source, address));
  if (!advance(*entry, state_of(use_, offload_step::measured), offload_step::claimed)) {
    if (current->job->failure_epoch.load(std::memory_order_acquire) != 0)
      throw_place_lost(*current->job, current->place);
    throw_error(errc::bad_message,
                fmt::format("a call from place {} names request {} of its offload agent at {:#x}, which is over",
                            source, use, address));
  }
  entry_ = entry;
  invalidate(&entry->asked, sizeof entry->asked);
  invalidate(&entry->found.graph, sizeof entry->found.graph);
  SITU_POINT(entry_claimed);
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
  offload_entry::receiver_part& room = entry_->room;
  room = {.destination = reinterpret_cast<std::uintptr_t>(&destination),
          .finalizers = reinterpret_cast<std::uintptr_t>(destination.finalizers)};
  write_back(&room, sizeof room);
  change_gate gate{*current->job, current->place, entry_};
  gate.close();
  if (!queue_of(*entry_).request(*entry_, state_of(use_, offload_step::claimed), offload_step::copy))
    throw_place_lost(*current->job, current->place);
  const offload_state under_way = state_of(use_, offload_step::copy);
  offload_state found = under_way;
  current->scheduler->wait_until([&] { return gate.is_open() && (found = entry_->state.look()) != under_way; },
                                 {.place = source_, .note = {.kind = wait_kind::graph, .peer = source_}});
  // the owner gave the entry up, since it believes that this place is lost
  if (use_of(found) != use_ || step_of(found) == offload_step::abandoned)
    throw_place_lost(*current->job, current->place);
  step_ = step_of(found);
  invalidate(&entry_->found.graph.roots, sizeof entry_->found.graph.roots);  // the copy may have set them
  if (step_ == offload_step::failed) throw_failure(*entry_);
}

}  // namespace situ::detail
