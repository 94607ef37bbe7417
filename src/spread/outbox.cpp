#include <situ/spread/detail/outbox.h>

#include <situ/base/error.h>
#include <situ/fabric/detail/access.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/fabric/detail/far.h>
#include <situ/memory/allocate.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/at.h>
#include <situ/runtime/collective.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

namespace situ::detail {
namespace {

outbox& find_outbox(const object_id& id) { return *static_cast<outbox*>(find_object(id)); }

void handle_batch(const object_id& id, ptr<const std::byte> items, std::uint64_t bytes) {
  check_access(access::get, items.address(), bytes);
  find_outbox(id).handle(items.local(), bytes);
}

// Runs the body of an operation of a team, of which losses of other places end no wait: a member that left it for such
// a loss would leave those waiting that are not told in it. The task is told of them by its next wait.
template <class Body>
void outlast_others(Body body) {
  const std::uint32_t told_of = std::exchange(current->told_of, told_of_all_ends);
  try {
    body();
  } catch (const place_lost_error&) {
    current->told_of = told_of;
    note_told();
    throw;
  } catch (...) {
    current->told_of = told_of;
    throw;
  }
  current->told_of = told_of;
}

// Sends a batch, to be handled at the other place. A sender's batches are handled in order. If the receiver cannot read
// them in place, they are sent with their calls, because waiting for one batch's bytes would let the next batch
// overtake it.
future<> send_batch(place to, const object_id& id, ptr<const std::byte> items, std::uint64_t bytes) {
  if (is_far(*current, to.index()))
    return async_at(
        to,
        [](const object_id& of, const std::vector<std::byte>& copy) {
          find_outbox(of).handle(copy.data(), copy.size());
        },
        id, std::vector<std::byte>(items.local(), items.local() + bytes));
  return async_at(
      to, [](const object_id& of, ptr<const std::byte> at, std::uint64_t count) { handle_batch(of, at, count); }, id,
      items, bytes);
}

}  // namespace

// Sends the buffered items when the scheduler runs it, that is, when the code that pushes waits.
struct outbox::flusher final : continuation {
  outbox* self;
  bool paused = false;

  explicit flusher(outbox& of) : self{&of} { run = &flusher::flush; }
  void go_on() {
    if (std::exchange(paused, false)) current->scheduler->spawn(this);
  }

  static void flush(ready_task* task) {
    std::unique_ptr<flusher> mine{static_cast<flusher*>(task)};
    if (mine->self != nullptr && mine->self->waiting_ != 0) {  // the pushes that wait for a buffer go on first
      mine.release()->paused = true;
      return;
    }
    if (mine->self != nullptr) mine->self->flush_now(*mine, own_items::handled);
    leave_scope(mine->context);
  }
};

outbox::outbox(const object_id& id, batch_handler handler, void* self, std::size_t buffer_bytes, std::uint32_t buffers,
               const team& members)
    : lanes_(current->place_count),
      id_{id},
      handler_{handler},
      self_{self},
      buffer_bytes_{buffer_bytes},
      buffers_{buffers} {
  if (buffer_bytes < 64 || buffers < 2)
    throw_error(errc::bad_argument, "a conveyor has at least two buffers of 64 bytes for each place");
  for (std::uint32_t p = 0; p < lanes_.size(); ++p) lanes_[p].target = p;
  for (std::uint32_t i = 0; i < members.size(); ++i) lanes_[members.member(i).index()].is_member = true;
  register_object(id_, this);
}

outbox::~outbox() {
  if (current->runtime == nullptr) return;  // the segment is gone with the runtime, or is a parent's
  unregister_object(id_);
  if (flusher_ != nullptr) {
    flusher_->self = nullptr;
    flusher_->go_on();
  }
  for (lane& to : lanes_) {
    release(to.filling);
    for (buffer& b : to.free) release(b);
  }
}

void outbox::throw_no_target(place to) const {
  if (to.index() >= lanes_.size()) throw_no_such_place(to.index());
  throw_error(errc::bad_argument, fmt::format("place {} is not of the team that made this conveyor", to.index()));
}

bool outbox::is_handling() const noexcept {
  return std::find(handling_.begin(), handling_.end(), current->scheduler->task()) != handling_.end();
}

void outbox::make_room(lane& to, std::size_t bytes) {
  if (scope_ != running_scope()) enter_scope();
  if (bytes <= static_cast<std::size_t>(to.end - to.at)) return;
  send(to);
  // Other code may have pushed during the wait, and taken the buffer's room or buffered items of its own scope.
  while (true) {
    if (scope_ != running_scope()) enter_scope();
    if (bytes <= static_cast<std::size_t>(to.end - to.at)) return;
    get_buffer(to, bytes);
  }
}

// Sends the buffered items of another scope first, as that scope's. Sends them as calls, so that no handler runs in
// between and pushes.
void outbox::enter_scope() {
  while (flusher_ != nullptr) flush_now(*flusher_, own_items::called);
  auto made = std::make_unique<flusher>(*this);
  adopt_into_scope(made->context);
  scope_ = running_scope();
  flusher_ = made.release();
  current->scheduler->spawn(flusher_);
}

// Afterwards, the flusher is a task with nothing to do.
void outbox::flush_now(flusher& of, own_items how) {
  of.self = nullptr;
  flusher_ = nullptr;
  scope_ = no_scope_;
  scheduler& here = *current->scheduler;
  task_context* const before = here.task();
  here.set_task(&of.context);
  future_state<void> outcome;
  fulfil_with(outcome, [this, how] { send_all(how); });
  report_unheard(outcome, &of.context);
  here.set_task(before);
  of.go_on();
}

// Never waits for a buffer, only for room in the channel. Drops items that cannot be sent: their target is lost.
void outbox::send(lane& to, own_items how) {
  buffer items = std::exchange(to.filling, {});
  const auto bytes = static_cast<std::size_t>(std::exchange(to.at, nullptr) - items.at.local());
  to.end = nullptr;
  if (items.at == nullptr) return;
  if (bytes == 0) return retire(to, items);
  if (how == own_items::handled && to.target == current->place && !is_handling() &&
      (to.under_way.empty() || to.under_way.back().handled.is_ready()))
    return handle_own(to, items, bytes);
  try {
    to.under_way.push_back({items, send_batch(place{to.target}, id_, ptr<const std::byte>{items.at}, bytes)});
  } catch (...) {
    retire(to, items);
    throw;
  }
}

// Handles a batch at once, in the running task. It is kept as a batch, because other tasks may settle while a handler
// waits.
void outbox::handle_own(lane& here, buffer items, std::size_t bytes) {
  promise<> handled;
  here.under_way.push_back({items, handled.get_future()});
  try {
    handle(items.at.local(), bytes);
    handled.set_value();
  } catch (...) {
    handled.set_exception(std::current_exception());
  }
}

void outbox::send(std::uint32_t target) { send(lanes_[target]); }

template <class Step>
void outbox::outcome::keep(Step step) noexcept {
  try {
    step();
  } catch (...) {
    if (!first) first = std::current_exception();
  }
}

// Sends one lane after the other, even if some fail.
void outbox::send_lanes(own_items how, outcome& all) {
  for (lane& to : lanes_)
    if (to.filling.at != nullptr && to.at != to.filling.at.local()) all.keep([&] { send(to, how); });
}

void outbox::send_all(own_items how) {
  outcome all;
  send_lanes(how, all);
  if (all.first) std::rethrow_exception(all.first);
}

// Reclaims the buffers of handled batches. Throws the error of a batch.
void outbox::collect(lane& to) {
  while (!to.under_way.empty() && to.under_way.front().handled.is_ready()) {
    batch done = std::move(to.under_way.front());
    to.under_way.pop_front();
    retire(to, done.items);
    done.handled.get();
  }
}

void outbox::get_buffer(lane& to, std::size_t bytes) {
  collect(to);
  if (to.under_way.size() + 1 >= buffers_ && !is_handling()) {
    struct counted {
      outbox& self;
      explicit counted(outbox& of) : self{of} { ++self.waiting_; }
      ~counted() {
        if (--self.waiting_ == 0 && self.flusher_ != nullptr) self.flusher_->go_on();
      }
    } const waiting{*this};
    const future<> oldest = to.under_way.front().handled;
    oldest.wait();
    collect(to);
  }
  if (to.filling.at != nullptr) {  // pushed by other code during the wait
    if (bytes <= static_cast<std::size_t>(to.end - to.at)) return;
    send(to);
  }
  if (bytes <= buffer_bytes_ && !to.free.empty()) {
    to.filling = to.free.back();
    to.free.pop_back();
  } else {
    const std::size_t size = std::max(bytes, buffer_bytes_);
    to.filling = {situ::allocate_bytes(size, {.alignment = 64}), size};
    held_bytes_ += size;
  }
  to.at = to.filling.at.local();
  to.end = to.at + to.filling.bytes;
}

void outbox::retire(lane& to, buffer& b) noexcept {
  if (b.bytes == buffer_bytes_ && to.free.size() < buffers_) {
    to.free.push_back(std::exchange(b, {}));
  } else {
    release(b);
  }
}

void outbox::release(buffer& b) noexcept {
  if (b.at == nullptr) return;
  held_bytes_ -= b.bytes;
  deallocate(std::exchange(b, {}).at);
}

void outbox::settle(lane& to, outcome& all) {
  all.keep([&] { send(to); });
  while (!to.under_way.empty()) {
    const future<> oldest = to.under_way.front().handled;
    all.keep([&] { oldest.wait(); });
    if (!oldest.is_ready()) break;  // a loss has ended the wait
    all.keep([&] { collect(to); });
  }
}

void outbox::settle(std::uint32_t target) {
  outcome all;
  settle(lanes_[target], all);
  if (all.first) std::rethrow_exception(all.first);
}

outbox::outcome outbox::settle_lanes() {
  outcome all;
  send_lanes(own_items::handled, all);  // sends to all targets before it waits for one
  for (lane& to : lanes_) settle(to, all);
  return all;
}

void outbox::settle_all() {
  if (const outcome all = settle_lanes(); all.first) std::rethrow_exception(all.first);
}

void outbox::settle_together(const team& members, const std::source_location& where) {
  outlast_others([&] {
    const outcome all = settle_lanes();
    barrier(members, where);
    if (all.first) std::rethrow_exception(all.first);
  });
}

// Works in waves: items counted in one wave are handled in the next, before its barrier, so items that handlers have
// pushed by then are counted there. If two counts are equal, nothing was pushed between them, and all items pushed
// before are handled.
void outbox::drain(const team& members) {
  outlast_others([&] {
    std::exception_ptr failure;
    std::uint64_t before = 0;
    for (bool is_first = true;; is_first = false) {
      // This place must go on after an error, because the others wait for it. (If a member is lost, the barrier
      // throws.)
      if (const outcome settled = settle_lanes(); !failure) failure = settled.first;
      barrier(members);
      const std::uint64_t all = all_reduce(pushed_, std::plus<>{}, members);
      if (!is_first && all == before) break;
      before = all;
    }
    if (failure) std::rethrow_exception(failure);
  });
}

bool outbox::is_pending(std::uint32_t target) noexcept {
  lane& to = lanes_[target];
  return !to.under_way.empty() || to.at != to.filling.at.local();
}

void outbox::give_up(std::exception_ptr failure) noexcept {
  if (current->runtime == nullptr) return;
  const auto report = [](future_state_base& state, std::uint32_t references) {
    report_unheard(state, current->scheduler->task(), references);
  };
  if (failure) {
    future_state<void> unheard;
    unheard.fail(std::move(failure));
    report(unheard, 1);
  }
  for (lane& to : lanes_) {
    for (batch& each : to.under_way) {
      future_state<void>& state = *each.handled.state().get();
      if (!state.ready) continue;  // its target may still read the buffer, which stays until the job ends
      report(state, state.references);
      retire(to, each.items);
    }
    to.under_way.clear();
  }
}

void outbox::handle(const std::byte* items, std::size_t bytes) {
  const void* const task = current->scheduler->task();
  handling_.push_back(task);
  struct ended {
    outbox& self;
    const void* task;
    std::uint32_t told_of = current->told_of;
    ~ended() {
      self.handling_.erase(std::find(self.handling_.begin(), self.handling_.end(), task));
      if (told_of == told_of_all_ends) current->told_of = told_of;
    }
  } const guard{*this, task};
  // A loss ends the waits of the handler, even those that the task outlasts: as in a call, which begins told of all
  // that its place has seen.
  if (guard.told_of == told_of_all_ends) current->told_of = current->endpoint->failure_epoch();
  handler_(self_, items, bytes);
}

}  // namespace situ::detail
