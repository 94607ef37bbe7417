// Calls that can be stopped before they begin.
//
//   std::stop_source source;
//   situ::future<int> f = situ::async_at(p, source.get_token(), search, key);
//   source.request_stop();                    // if p has not begun it, it never will
//
// Either the stop or the beginning wins. If the beginning wins, the function runs to its end and its result arrives.
// If the stop wins, the function is never called, and the future has errc::cancelled once p has handled the message.
// No finish scope takes that for a failure. Thread-safe: any thread may call request_stop(). The target checks for a
// stop at the moment at which the function would begin; a function that has begun, and its messages, are not undone.
// Tasks of this place: async (task.h).
#pragma once

#include <situ/fabric/atomic.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/at.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace situ {
namespace detail {

// Which side came first: the caller that stops, or the target that begins. The word is in the caller's segment.
enum class call_phase : std::uint32_t { sent, begun, stopped };

class stoppable_call {
 public:
  explicit stoppable_call(std::stop_token stop)
      : phase_{allocate<std::uint32_t>()}, callback_{std::move(stop), request{set(phase_)}} {}
  ~stoppable_call() { release(); }
  stoppable_call(const stoppable_call&) = delete;
  stoppable_call& operator=(const stoppable_call&) = delete;
  [[nodiscard]] ptr<std::uint32_t> phase() const noexcept { return phase_; }

 private:
  struct request {
    std::uint32_t* phase;
    void operator()() const noexcept {
      auto expected = static_cast<std::uint32_t>(call_phase::sent);
      std::atomic_ref{*phase}.compare_exchange_strong(expected, static_cast<std::uint32_t>(call_phase::stopped));
    }
  };
  [[nodiscard]] static std::uint32_t* set(ptr<std::uint32_t> phase) noexcept {
    std::atomic_ref{*phase.local()}.store(static_cast<std::uint32_t>(call_phase::sent));
    return phase.local();
  }
  void release() noexcept;

  ptr<std::uint32_t> phase_;
  std::stop_callback<request> callback_;
};

// Runs f at the target, unless the call was stopped.
template <class F>
struct unless_stopped {
  [[no_unique_address]] F f;
  template <class... Arguments>
  auto operator()(ptr<std::uint32_t> phase, Arguments&&... arguments) -> std::invoke_result_t<F&, Arguments...> {
    const auto found = atomic_compare_exchange(phase, static_cast<std::uint32_t>(call_phase::sent),
                                               static_cast<std::uint32_t>(call_phase::begun));
    if (found != static_cast<std::uint32_t>(call_phase::sent)) throw_cancelled();
    return f(std::forward<Arguments>(arguments)...);
  }
};

}  // namespace detail

// As async_at, but f is not called if a stop is requested before it begins. f is a lambda or function object without
// state. cost: async_at's, some allocations, a task when the answer arrives, and an atomic of the target on the
// caller's segment.
template <class F, class... Arguments>
auto async_at(route target, std::stop_token stop, F f, Arguments&&... arguments) {
  static_assert(
      std::is_empty_v<F>,
      "situ: a call that can be stopped takes a lambda or function object without state: wrap the function in "
      "a lambda");
  using call = detail::unless_stopped<F>;
  auto held = std::make_unique<detail::stoppable_call>(std::move(stop));
  const ptr<std::uint32_t> phase = held->phase();
  auto outcome = async_at(target, call{f}, phase, std::forward<Arguments>(arguments)...);
  detail::on_ready(outcome.state(), [kept = std::move(held)](detail::task_context&) {});
  return outcome;
}

}  // namespace situ
