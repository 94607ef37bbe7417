#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/fabric/signal.h>
#include <situ/runtime/future.h>
#include <situ/runtime/place_threads.h>
#include <situ/runtime/task.h>
#include <situ/runtime/wait.h>

#include <deque>
#include <mutex>

#include "base/float_settings.h"
#include "os/host.h"
#include "os/thread_stacks.h"
#include "os/worker.h"
#include "runtime/serve.h"

namespace situ {
namespace detail {

struct place_threads_state {
  place_context& own = *current;
  // Counts calls that were handed over and threads that have ended. The place waits for this word as for any other.
  ptr<signal> events = allocate_signals();
  future<> server;
  bool is_closing = false;
  std::uint32_t under_way = 0;

  std::mutex mutex;  // guards the members below
  handed_over* first = nullptr;
  handed_over* last = nullptr;
  std::exception_ptr failure;
  std::deque<os::worker> started;

  std::atomic<std::uint32_t> running{0};     // number of threads of start()
  std::atomic<std::uint32_t> registered{0};  // number of registered threads

  void tell() { atomic_fetch_add(word(events), std::uint64_t{1}); }
  void push(handed_over& call) {
    {
      const std::lock_guard lock{mutex};
      (last == nullptr ? first : last->next) = &call;
      last = &call;
    }
    tell();
  }
  handed_over* take_all() {
    const std::lock_guard lock{mutex};
    last = nullptr;
    return std::exchange(first, nullptr);
  }
  // A registered thread may end this wait, so a place in it does not stand still.
  template <class Done>
  void wait(Done done) {
    current->scheduler->wait_until(done, {.words = awaited_bit(events.address()), .note = {.kind = wait_kind::other}});
  }
};

namespace {

// Ends a call. The waiting thread may be gone as soon as `done` is set; waking an address that no longer exists does no
// harm.
void finish(handed_over& call) noexcept {
  std::atomic<std::uint32_t>& done = call.done;
  done.store(1, std::memory_order_release);
  wake_on_word(done, 1);
}

// The task that executes calls that are handed over: each as a task of its own, so that a call that waits blocks no
// other.
void serve(place_threads_state& state) {
  const std::atomic_ref<std::uint64_t> events{state.events.local()->value};
  while (!state.is_closing || state.under_way != 0) {
    const std::uint64_t seen = events.load(std::memory_order_acquire);
    for (handed_over* call = state.take_all(); call != nullptr;) {
      handed_over& each = *std::exchange(call, call->next);  // read `next` first: the call may end with its turn
      ++state.under_way;
      async([&state, &each] {
        each.run(&each);
        finish(each);
        --state.under_way;
        state.tell();
      });
    }
    try {
      state.wait([&] { return events.load(std::memory_order_acquire) != seen; });
    } catch (const place_lost_error&) {}  // the tasks that wait for the lost place hear of it
  }
}

}  // namespace

registration::registration(place_threads_state& of) : limits(of.own.place_count), before{current}, threads{&of} {
  if (current->place_count != 0)
    throw_error(errc::bad_argument,
                "a registered_thread is for threads that belong to no place yet; this one is a place's own, or "
                "registered");
  give_access(context, of.own, limits);
  current = &context;
  of.registered.fetch_add(1);
}

registration::~registration() {
  current = before;
  threads->registered.fetch_sub(1);
}

}  // namespace detail

place_threads::place_threads() {
  if (detail::current->scheduler == nullptr) detail::throw_no_runtime("place_threads");
  state_ = std::make_unique<detail::place_threads_state>();
  state_->server = async([state = state_.get()] { detail::serve(*state); });
}

place_threads::~place_threads() {
  try {
    join();
  } catch (...) {}  // a program that needs the failure calls join()
  SITU_ASSERT(1, state_->registered.load() == 0, "a place_threads ends after the registered threads");
  state_->is_closing = true;
  state_->tell();
  try {
    state_->server.get();
  } catch (...) {}
  deallocate(state_->events);
}

void place_threads::start(std::function<void()> body) {
  detail::place_threads_state& state = *state_;
  state.running.fetch_add(1);
  try {
    const detail::program_stacks for_bodies;
    state.started.emplace_back([&state, body = std::move(body)] {
      const detail::watched_stack watched{"a thread of place_threads"};
      const detail::registration self{state};
      try {
        body();
      } catch (...) {
        const std::lock_guard lock{state.mutex};
        if (!state.failure) state.failure = std::current_exception();
      }
      state.running.fetch_sub(1);
      state.tell();
    });
  } catch (...) {
    state.running.fetch_sub(1);
    throw;
  }
}

void place_threads::join() {
  state_->wait([this] { return state_->running.load() == 0; });
  state_->started.clear();  // joins
  if (const std::exception_ptr failure = std::exchange(state_->failure, nullptr)) std::rethrow_exception(failure);
}

bool place_threads::must_hand_over() const {
  if (detail::current == &state_->own) return false;
  if (detail::current->place_count == 0) detail::throw_no_runtime("place_threads::run");
  return true;
}

void place_threads::hand_over(detail::handed_over& call) {
  struct computing_as_here : detail::handed_over {
    detail::handed_over& call;
    detail::float_settings settings = detail::float_settings::of_this_thread();
    explicit computing_as_here(detail::handed_over& of) : call{of} {
      run = [](detail::handed_over* self) noexcept {
        auto& here = *static_cast<computing_as_here*>(self);
        const detail::float_settings_scope as{here.settings};
        here.call.run(&here.call);
      };
    }
  } handed{call};
  state_->push(handed);
  while (handed.done.load(std::memory_order_acquire) == 0) detail::wait_on_word(handed.done, 0, -1);
}

}  // namespace situ
