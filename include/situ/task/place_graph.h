// Work units that run where their data are: a task graph (task_graph.h) whose units are calls to the places.
//
//   situ::place_graph graph;  // of the place that makes it; the others serve
//   for (std::size_t i = 0; i < blocks; ++i)
//     graph.add({situ::updates(situ::region(block[i], n))}, smooth, block[i], n);  // smooth(ptr<double>, std::size_t)
//   graph.wait();
//
// A unit runs at the place that holds most of the bytes that the unit declares; if several places hold as many, at the
// one of them with the fewest units under way. The unit accesses its declared bytes at any place of that place's host
// by global pointers; docs/design/task.md says which values it sees. Regions must be in the job's memory. The other
// places run units while they wait in Situ for anything (a barrier, for example).
//
// If a unit throws or its place is lost, later units that conflict with it never run; wait() throws the exception of
// the first such unit, as remote_error or place_lost_error. A graph belongs to the thread of its place.
#pragma once

#include <situ/base/error.h>
#include <situ/runtime/at.h>
#include <situ/runtime/future.h>
#include <situ/runtime/runtime.h>
#include <situ/runtime/task.h>
#include <situ/task/task_graph.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace situ {

// The options of a place_graph.
struct place_graph_options {
  // As in task_graph_options.
  std::uint32_t window = 2048;
  // The number of units that may be in flight to one place; further units wait here. Each unit in flight holds a stack.
  std::uint32_t at_once = 16;
  // As in task_graph_options.
  std::uint64_t granularity_bytes = 1;
  // For debugging: units run at this place, one after another in an order that their declarations allow, regardless of
  // where their data are; each access through a declared_span is checked against the declarations of its unit.
  bool checked = false;
};

namespace detail {

class place_graph_core;

// True for a function that reaches what its unit declares by copy() and the like, so that it may be on any host.
template <class F>
concept reaches_all_hosts = requires { requires F::reaches_all_hosts; };

// True for a function whose units are short, while units of other places wait for them: units of the graph's own
// place, which keep its thread, begin once all such units that were added before have ended. Such a unit runs at the
// place that it writes to; or, if half of its bytes are there, at the graph's own place.
template <class F>
concept goes_first = requires { requires F::goes_first; };

// Returns the place at which a unit with these accesses runs. Throws bad_address if an access is not in the job's
// memory, not_supported if it is on another host than that place, unless the unit reaches all hosts.
[[nodiscard]] place place_of_unit(place_graph_core& core, std::span<const declared_access> accesses, bool reaches_all,
                                  bool goes_first);
[[nodiscard]] bool runs_units_here(const place_graph_core& core) noexcept;
// Counts a unit that has been added and will run at `where`.
void unit_added(place_graph_core& core, place where);
// The number of a unit among those of the graph. As long as `first` lives, units of the graph's own place with higher
// numbers do not begin; null unless the unit goes first.
struct unit_order {
  std::uint64_t number;
  std::shared_ptr<void> first;
};
[[nodiscard]] unit_order order_of_next(place_graph_core& core, bool goes_first);
// Turns the unit that this thread is running into a task that executes call(), which waits for the unit's end at
// `where`. The task calls it once fewer than at_once units are in flight to `where`.
void start_unit(place_graph_core& core, place where, const unit_order& order, std::function<void()> call);
[[nodiscard]] graph_core& units_of(place_graph_core& core) noexcept;

// Throws place_lost_error if this place is lost itself: its host has no way to the others any more.
void check_not_lost_here();

// Waits until a call has ended. The loss of another place interrupts such a wait while the call goes on: the function
// then waits on, and returns the first loss. It rethrows the loss if losses are more frequent than places can end,
// because then the runtime is ending, and every wait with it. It asks may_wait() before each wait, which throws if no
// answer can come.
template <class T>
[[nodiscard]] std::exception_ptr await_despite_losses(const future<T>& call,
                                                      void (*may_wait)() = &check_not_lost_here) {
  std::exception_ptr first;
  for (std::uint32_t losses = 0; !call.is_ready(); ++losses) {
    may_wait();
    try {
      call.wait();
    } catch (const place_lost_error&) {
      if (losses > place_count()) throw;
      if (first == nullptr) first = std::current_exception();
    }
  }
  return first;
}

// Calls like at(), but does not return while the body still runs.
template <class F, class... Arguments>
void call_to_its_end(place where, const F& f, const Arguments&... arguments) {
  if (where == here()) return (void)at(where, f, arguments...);
  const auto call = async_at(where, f, arguments...);
  (void)await_despite_losses(call);  // the task that waits for the unit is notified of a loss itself
  (void)call.get();
}

}  // namespace detail

// Units with declared accesses, which the places of the job run. cost: waiting takes as long as the units, plus a call
// for each.
class place_graph {
 public:
  // Throws bad_argument as task_graph does, or if at_once is 0; no_runtime.
  explicit place_graph(const place_graph_options& options = {});
  // Waits for all units and discards their exceptions.
  ~place_graph();
  place_graph(const place_graph&) = delete;
  place_graph& operator=(const place_graph&) = delete;

  // Adds a unit: calls f(arguments...) at the place that holds most of its bytes, as at() would. The unit returns no
  // value; it writes its results to memory. Throws bad_address for a region outside the job's memory, not_supported for
  // bytes on another host than that place, bad_argument as task_graph::add; then no unit is added. cost: that of
  // task_graph::add, and of async_at.
  template <class F, class... Arguments>
  void add(std::initializer_list<declared_access> accesses, F f, Arguments... arguments) {
    add(std::span{accesses.begin(), accesses.size()}, std::move(f), std::move(arguments)...);
  }
  template <class F, class... Arguments>
  void add(std::span<const declared_access> all, F f, Arguments... arguments) {
    const place where = detail::place_of_unit(*core_, all, detail::reaches_all_hosts<F>, detail::goes_first<F>);
    if (detail::runs_units_here(*core_))
      return detail::add_unit(
          detail::units_of(*core_), all,
          [call = std::tuple{f, std::move(arguments)...}] {
            std::apply([](const F& function, const Arguments&... each) { (void)function(each...); }, call);
          },
          nullptr);
    detail::add_unit(
        detail::units_of(*core_), all,
        [core = core_.get(), where, order = detail::order_of_next(*core_, detail::goes_first<F>),
         call = std::tuple{f, std::move(arguments)...}] {
          detail::start_unit(*core, where, order, [where, call] {
            std::apply([where](const F& function,
                               const Arguments&... each) { detail::call_to_its_end(where, function, each...); },
                       call);
          });
        },
        nullptr);
    detail::unit_added(*core_, where);
  }

  // Waits until every unit has ended, including units at places that go on after another is lost. Throws the exception
  // of the first unit that threw; after that the graph is as new. Throws place_lost_error if a place is lost, even one
  // that ran no unit.
  void wait();
  // Works as task_graph::settle. The loss of a place, too, stays for wait().
  void settle();
  // Works as task_graph::wait_for.
  void wait_for(std::initializer_list<declared_access> accesses);

  // Returns the counters so far.
  [[nodiscard]] task_graph_statistics statistics() const;
  // Returns how many units of this graph have run at each place.
  [[nodiscard]] const std::vector<std::uint64_t>& units_at() const noexcept;

 private:
  std::unique_ptr<detail::place_graph_core> core_;
};

}  // namespace situ
