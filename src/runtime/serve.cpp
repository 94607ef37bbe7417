#include "runtime/serve.h"

#include <situ/base/error_code.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "memory/liveness.h"
#include "os/thread_stacks.h"
#include "runtime/runtime_state.h"

namespace situ::detail {
namespace {

// Applies the rules of the second thread to code that runs on this one.
class access_only {
 public:
  explicit access_only(access_context& access) noexcept : before_{std::exchange(current, &access.context)} {}
  ~access_only() { current = before_; }
  access_only(const access_only&) = delete;
  access_only& operator=(const access_only&) = delete;

 private:
  place_context* const before_;
};

}  // namespace

void give_access(place_context& context, const place_context& own, const std::vector<std::uint64_t>& limits) noexcept {
  context.base = own.base;
  context.slice_mask = own.slice_mask;
  context.heap_offset = own.heap_offset;
  context.limit = limits.data();
  context.slice_shift = own.slice_shift;
  context.place_count = own.place_count;
  context.place = own.place;
  context.sender_fences = own.sender_fences;
  context.awaited_words = own.awaited_words;
  context.far = own.far;
  context.give_back_elsewhere = own.give_back_elsewhere;
  context.job = own.job;
}

access_context::access_context(const place_context& own) : limits(own.place_count) {
  give_access(context, own, limits);
}

computing_thread::computing_thread(const place_context& own) : access_{own} {
  const program_stacks for_computations;
  thread_ = os::worker{[this] { compute(); }};
}

computing_thread::~computing_thread() {
  next_ = nullptr;
  turn_.fetch_add(1);
  wake_on_word(turn_, 1);
  thread_.join();
}

void computing_thread::compute() {
  const watched_stack watched{"the thread of serve_while()"};
  current = &access_.context;
  for (std::uint32_t turn = 0;;) {
    while (turn_.load(std::memory_order_acquire) == turn) wait_on_word(turn_, turn, -1);
    ++turn;
    if (next_ == nullptr) return;
    {
      const float_settings_scope as{settings_};
      next_->run(next_);
    }
    done_.store(turn);  // publishes the results to the readers of done_
    wake_on_word(done_, INT_MAX);
    wake_after_change(access_.context.job->slot(access_.context.place));
  }
}

void computing_thread::run(computation& what) {
  next_ = &what;
  settings_ = float_settings::of_this_thread();
  turn_.fetch_add(1);
  wake_on_word(turn_, 1);
  try {
    // The second thread ends this wait, so a place in it does not stand still.
    current->scheduler->wait_until([this] { return is_done(); },
                                   {.outlives_losses = true, .note = {.kind = wait_kind::other}});
  } catch (...) {  // the runtime ends; the computation still uses the caller's frame
    for (std::uint32_t done = done_.load(); !is_done(); done = done_.load()) wait_on_word(done_, done, -1);
    throw;
  }
}

bool choose_progress(bool of_job, bool of_program) {
  if (of_job) return true;
  const char* const text = std::getenv("SITU_PROGRESS");
  if (text == nullptr || *text == '\0') return of_program;
  if (std::strcmp(text, "0") == 0) return false;
  if (std::strcmp(text, "1") == 0) return true;
  throw_error(errc::bad_argument, "SITU_PROGRESS in the environment is neither 0 nor 1");
}

void serve_until_computed(computation& what) {
  if (current->runtime == nullptr) throw_no_runtime("serve_while()");
  runtime_state& state = *current->runtime;
  if (state.has_second_thread) {
    if (!state.computing) state.computing = std::make_unique<computing_thread>(*current);
    if (!state.computing->is_busy()) return state.computing->run(what);
  }
  if (!state.access) state.access = std::make_unique<access_context>(*current);
  const access_only limited{*state.access};
  what.run(&what);
}

}  // namespace situ::detail
