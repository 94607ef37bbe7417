// Computing for long while the place serves the others.
//
//   situ::serve_while([&] {                        // situ run --progress: on a second thread of the place
//     for (double& x : cells) x = relax(x);        // meanwhile its own thread runs calls and tasks
//   });
//
// Bodies of calls run on the place's own thread, as ever, so they see its thread_local variables and may wait; what
// computes is what moves to the other thread. There it may put, get, use atomics and signals, give blocks back, and ask
// here() and place_count(), as a registered thread (place_threads.h); all else is no_runtime. What it shares with
// bodies and tasks of the place needs atomics or locks, since both run at once.
//
// A second thread is made where somebody asks for it: situ run --progress, launch_options::progress, SITU_PROGRESS=1 in
// the environment, or runtime_options::progress. Else what computes runs at once, on the place's own thread, with the
// same rules, and nobody is served meanwhile. So a program says once where it may be served, and whoever starts it
// whether a processor is to be spent on that.
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
// Runs it on the place's second thread, or here; returns when it has ended.
void serve_until_computed(computation& what);

}  // namespace detail

// Runs compute(), and returns its value or throws what it threw; the place serves the others meanwhile, where it has
// a second thread. One that is called while that thread computes runs at once. A loss does not end it: it is told by
// the next wait. Throws no_runtime outside a runtime, and on other threads than the place's own. cost: some words for
// each place the first time; with a second thread two hand-overs between threads, about 10 us where both sleep.
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
