// Work units that run where their data lie: a task graph (task_graph.h) whose units are calls to the places.
//
//   situ::place_graph graph;  // of the place that makes it; the others serve
//   for (std::size_t i = 0; i < blocks; ++i)
//     graph.add({situ::updates(situ::region(block[i], n))}, smooth, block[i], n);  // smooth(ptr<double>, std::size_t)
//   graph.wait();
//
// A unit runs at the place that holds most of the bytes that it declares; of places with as many, where fewest are
// under way. It reads and writes what it declares wherever that lies, by global pointers; docs/design/task.md says what
// it sees. Regions lie in the job's memory. The other places run units while they wait in Situ, for anything (a
// barrier, for one).
//
// A unit that throws, or whose place is lost, ends those that come after it by a conflict; wait() throws what the first
// threw, as remote_error, or place_lost_error. Belongs to the thread of its place.
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

// How a graph is made.
struct place_graph_options {
  // As of a task_graph.
  std::uint32_t window = 2048;
  // Units that a place is asked for at the same time; more wait here. Each holds a stack while it is away.
  std::uint32_t at_once = 16;
  // As of a task_graph.
  std::uint64_t granularity_bytes = 1;
  // Units run here, one after the other in the order that their declarations allow, whatever they declare; accesses by
  // declared_span are held against what their unit has declared. For finding mistakes.
  bool checked = false;
};

namespace detail {

class place_graph_core;

// Where a unit of these accesses runs. Throws bad_address where one is not in the job's memory.
[[nodiscard]] place place_of_unit(place_graph_core& core, std::span<const declared_access> accesses);
[[nodiscard]] bool runs_units_here(const place_graph_core& core) noexcept;
// A unit that will run there has been added.
void unit_added(place_graph_core& core, place where);
// The unit that is being run here goes on as a task, once its place may be asked for one more: call() waits for it.
void start_unit(place_graph_core& core, place where, std::function<void()> call);
[[nodiscard]] graph_core& units_of(place_graph_core& core) noexcept;

// Until a call has ended. A loss ends waits for other places, too, which run their calls on: it is returned. Throws it
// where it comes more often than places can end: the runtime ends, and every wait with it.
template <class T>
[[nodiscard]] std::exception_ptr await_despite_losses(const future<T>& call) {
  std::exception_ptr first;
  for (std::uint32_t losses = 0; !call.is_ready(); ++losses) {
    try {
      call.wait();
    } catch (const place_lost_error&) {
      if (losses > place_count()) throw;
      if (first == nullptr) first = std::current_exception();
    }
  }
  return first;
}

// As at(), but that it does not return while the body runs.
template <class F, class... Arguments>
void call_to_its_end(place where, const F& f, const Arguments&... arguments) {
  if (where == here()) return (void)at(where, f, arguments...);
  const auto call = async_at(where, f, arguments...);
  (void)await_despite_losses(call);  // the task that waits for the unit is told of it
  (void)call.get();
}

}  // namespace detail

// Units with declared accesses, run by the places of the job. cost: waiting, what the units take, and a call for each.
class place_graph {
 public:
  // Throws bad_argument as task_graph does, or for at_once 0; no_runtime.
  explicit place_graph(const place_graph_options& options = {});
  // Waits for all units; an exception of theirs is lost.
  ~place_graph();
  place_graph(const place_graph&) = delete;
  place_graph& operator=(const place_graph&) = delete;

  // Adds a unit: f(arguments...) at the place of most of its bytes, as at() would call it. Returns nothing: results are
  // what it writes. Throws bad_address for a region outside the job's memory, bad_argument as task_graph::add; then
  // nothing is added. cost: that of task_graph::add, and of async_at.
  template <class F, class... Arguments>
  void add(std::initializer_list<declared_access> accesses, F f, Arguments... arguments) {
    add(std::span{accesses.begin(), accesses.size()}, std::move(f), std::move(arguments)...);
  }
  template <class F, class... Arguments>
  void add(std::span<const declared_access> all, F f, Arguments... arguments) {
    const place where = detail::place_of_unit(*core_, all);
    if (detail::runs_units_here(*core_))
      return detail::add_unit(
          detail::units_of(*core_), all,
          [call = std::tuple{f, std::move(arguments)...}] {
            std::apply([](const F& function, const Arguments&... each) { (void)function(each...); }, call);
          },
          nullptr);
    detail::add_unit(
        detail::units_of(*core_), all,
        [core = core_.get(), where, call = std::tuple{f, std::move(arguments)...}] {
          detail::start_unit(*core, where, [where, call] {
            std::apply([where](const F& function,
                               const Arguments&... each) { detail::call_to_its_end(where, function, each...); },
                       call);
          });
        },
        nullptr);
    detail::unit_added(*core_, where);
  }

  // Until every unit has ended, those of places that go on when one is lost, too. Throws the exception of the first of
  // those that threw; after that the graph is as new. Of a lost place that ran none it throws place_lost_error.
  void wait();
  // As of a task_graph. A lost place, too, is for wait().
  void settle();
  // As of a task_graph.
  void wait_for(std::initializer_list<declared_access> accesses);

  // What it has done so far.
  [[nodiscard]] task_graph_statistics statistics() const;
  // How many units have run at each place, those of other graphs not counted.
  [[nodiscard]] const std::vector<std::uint64_t>& units_at() const noexcept;

 private:
  std::unique_ptr<detail::place_graph_core> core_;
};

}  // namespace situ
