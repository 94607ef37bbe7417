#include <situ/runtime/future.h>

#include <situ/base/error.h>
#include <situ/memory/detail/losses.h>

#include <deque>

namespace situ::detail {

namespace {

[[nodiscard]] scheduler& scheduler_to_wait() {
  if (current->scheduler == nullptr) throw_no_runtime("a future is waited for");
  return *current->scheduler;
}

// Ends the wait of `who`. It watches until it is destroyed, however the wait ends: the wait may also fail for lack of a
// stack.
struct wake_up : watcher {
  future_state_base& state;
  waiter& who;
  wake_up(future_state_base& s, waiter& w) noexcept : state{s}, who{w} {
    notify = [](watcher* each) noexcept { current->scheduler->make_resumable(static_cast<wake_up*>(each)->who); };
    state.watch(*this);
  }
  ~wake_up() { state.unwatch(*this); }
  wake_up(const wake_up&) = delete;
  wake_up& operator=(const wake_up&) = delete;
};

}  // namespace

void* future_state_base::operator new(std::size_t bytes) {
  if (bytes > state_blocks::block_bytes) return ::operator new(bytes);
  if (scheduler* const here = current->scheduler; here != nullptr) [[likely]]
    if (void* const block = here->blocks().take(); block != nullptr) [[likely]]
      return block;
  return ::operator new(state_blocks::block_bytes);
}

void future_state_base::operator delete(void* state, std::size_t bytes) noexcept {
  const bool is_block = bytes <= state_blocks::block_bytes;
  if (scheduler* const here = current->scheduler; is_block && here != nullptr) [[likely]]
    if (here->blocks().keep(state)) [[likely]]
      return;
  ::operator delete(state);
}

bool future_state_base::wait(const std::source_location& where, wait_kind kind, std::int64_t deadline_ns) {
  if (ready) return true;
  scheduler& here = scheduler_to_wait();
  const auto done = [this] { return ready; };
  if (here.spin_until_done(done)) return true;
  waiter self;
  self.whom.deadline_ns = deadline_ns;
  self.whom.note.kind = kind;
  self.whom.note.where = where;
  if (answered_by != no_place) self.whom.note.peer = answered_by;
  const wake_up watching{*this, self};
  if (!here.wait_unless_lost(self) && !ready) throw_place_lost(*current->job, current->place);
  return ready;
}

std::size_t wait_for_any(std::span<future_state_base* const> states, deadline until) {
  std::size_t first = 0;
  const auto done = [&] {
    for (first = 0; first < states.size(); ++first)
      if (states[first]->ready) return true;
    return false;
  };
  for (const future_state_base* each : states)
    SITU_ASSERT(1, each != nullptr, "wait_any waits for futures that an operation or a promise has made");
  SITU_ASSERT(1, !states.empty(), "wait_any of no futures would wait for ever");
  if (done()) return first;
  scheduler& here = scheduler_to_wait();
  if (here.spin_until_done(done)) return first;
  waiter self{.whom = {.deadline_ns = until.nanoseconds()}};
  std::deque<wake_up> watching;
  for (future_state_base* const each : states) watching.emplace_back(*each, self);
  const bool is_lost = !here.wait_unless_lost(self);
  if (!done() && is_lost) throw_place_lost(*current->job, current->place);
  return first;
}

std::optional<std::size_t> wait_for_any(std::size_t count, const void* futures,
                                        future_state_base* (*state_at)(const void* futures, std::size_t index),
                                        deadline until) {
  std::vector<future_state_base*> states;
  states.reserve(count);
  for (std::size_t index = 0; index < count; ++index) states.push_back(state_at(futures, index));
  const std::size_t found = wait_for_any(states, until);
  return found == count ? std::nullopt : std::optional{found};
}

// Wakes the watchers in the order in which they began to watch. pre: there are some.
void future_state_base::wake_all() noexcept {
  if (current->scheduler == nullptr) return;  // in a forked child: the waiters are its parent's
  if (watchers->next_watcher == nullptr) [[likely]] {
    watcher* const only = std::exchange(watchers, nullptr);
    return only->notify(only);
  }
  watcher* in_order = nullptr;
  for (watcher* w = std::exchange(watchers, nullptr); w != nullptr;) {
    watcher* const next = std::exchange(w->next_watcher, in_order);
    in_order = w;
    w = next;
  }
  while (in_order != nullptr) {
    watcher* const next = std::exchange(in_order->next_watcher, nullptr);
    in_order->notify(in_order);
    in_order = next;
  }
}

void future_state_base::watch(watcher& w) noexcept {
  if (ready) return w.notify(&w);
  w.next_watcher = std::exchange(watchers, &w);
}

void future_state_base::unwatch(watcher& w) noexcept {
  for (watcher** link = &watchers; *link != nullptr; link = &(*link)->next_watcher) {
    if (*link != &w) continue;
    *link = std::exchange(w.next_watcher, nullptr);
    return;
  }
}

continuation::continuation() noexcept {
  notify = [](watcher* w) noexcept { current->scheduler->spawn(static_cast<continuation*>(w)); };
}

void future_state_base::dispose() noexcept { delete this; }

std::exception_ptr broken_promise() {
  return std::make_exception_ptr(
      error{errc::bad_argument,
            "the promise of this future was destroyed without a value: set a value or an exception on every path"});
}

}  // namespace situ::detail
