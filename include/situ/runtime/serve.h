// Long computations during which the place still serves the others.
//
//   situ::serve_while([&] {                        // situ run --progress: on a second thread of the place
//     for (double& x : cells) x = relax(x);        // meanwhile its own thread runs calls and tasks
//   });
//
// Bodies of calls always run on the place's own thread, so they see its thread_local variables and may wait; only the
// computation moves to the other thread. The computation may put, get, use atomics and signals, give blocks back, and
// ask here() and place_count(), like a registered thread (place_threads.h); every other call throws no_runtime. Data
// that it shares with bodies and tasks of the place needs atomics or locks, since both run at the same time.
//
// A place has a second thread only on request: by situ run --progress, launch_options::progress, SITU_PROGRESS=1 in
// the environment, or runtime_options::progress. Without it the computation runs at once, on the place's own thread,
// with the same rules, and the place serves nobody until it ends. So the program marks once where its place may be
// served, and the user who starts the job decides whether to spend a processor on that.
#pragma once

#include <situ/base/detail/abi.h>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace situ {

namespace detail {

struct computation {
  void (*run)(computation*) noexcept = nullptr;
};
// Runs `what` on the place's second thread, or on the calling thread, and returns when it has ended.
void serve_until_computed(computation& what);

}  // namespace detail

// Runs compute(), and returns its value or throws its exception. The place serves the others while compute() runs if
// it has a second thread. A call made while the second thread is busy runs compute() at once on the calling thread. A
// loss does not end compute(): the next wait reports it. Throws no_runtime outside a runtime, and on other threads
// than the place's own. cost: some words for each place the first time; with a second thread two hand-overs between
// threads, about 10 us if both sleep.
template <class Compute>
std::invoke_result_t<Compute&> serve_while(Compute&& compute) {
  using result = std::invoke_result_t<Compute&>;
  static_assert(!std::is_reference_v<result>, "serve_while: what computes returns by value: another thread uses it");
  struct computed final : detail::computation {
    std::remove_reference_t<Compute>* compute = nullptr;
    std::exception_ptr failure;
    std::conditional_t<std::is_void_v<result>, std::optional<char>, std::optional<result>> value;
  } made;
  made.compute = &compute;
  made.run = [](detail::computation* each) noexcept {
    auto& self = *static_cast<computed*>(each);
    try {
      if constexpr (std::is_void_v<result>)
        (*self.compute)();
      else
        self.value.emplace((*self.compute)());
    } catch (...) {
      self.failure = std::current_exception();
    }
  };
  detail::serve_until_computed(made);
  if (made.failure) std::rethrow_exception(made.failure);
  if constexpr (!std::is_void_v<result>) return std::move(*made.value);
}

}  // namespace situ
