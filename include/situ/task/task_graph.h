// Work units that declare what they read and write. They run in parallel, with the results of one after the other.
//
//   situ::task_graph graph;                                              // as many threads as processors
//   for (int k = 0; k < n; ++k) {
//     graph.add({situ::updates(tile[k])}, [&, k] { factor(tile[k]); });
//     for (int i = k + 1; i < n; ++i)
//       graph.add({situ::reads(tile[k]), situ::updates(tile[i])}, [&, k, i] { apply(tile[k], tile[i]); });
//   }
//   graph.wait();
//
// The order of add() is the program's meaning. A unit begins once every unit before it that has a conflict with it has
// ended: one of the two writes a byte that the other declares. What conflicts with nothing runs at any time, on any of
// the threads. docs/design/task.md has the rules of what a unit sees, as litmus tests.
//
// A graph belongs to the thread that made it; that thread runs units, too, while it waits, and while more units than
// `window` are under way. Units may make graphs of their own. They may use one-sided access where the thread that made
// the graph may (place_threads tells what threads of a place may do).
//
// A unit that throws ends those that come after it by a conflict, whenever they are added: they never run. All others
// do. wait() throws the exception of the unit that was added first of those that threw.
#pragma once

#include <situ/task/access.h>
#include <situ/task/detail/work_unit.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace situ {

namespace detail {
class graph_core;
}

struct task_graph_options {
  // Threads that run units, with the one that makes the graph; 0: one for each processor that this process may use.
  std::uint32_t threads = 0;
  // Units under way at most, a power of two; add() runs others meanwhile. More: a longer look ahead, more memory (320
  // bytes a unit).
  std::uint32_t window = 2048;
};

// What a graph has done since it was made.
struct task_graph_statistics {
  std::uint64_t units = 0;      // added
  std::uint64_t edges = 0;      // conflicts that a unit had to wait for
  std::uint64_t never_run = 0;  // ended because one before them threw
  std::uint64_t taken = 0;      // units that ran on another thread than the one that made them ready
};

class task_graph {
 public:
  // Starts the threads. Throws bad_argument (a window that is no power of two, or more than 2^20) and std::system_error
  // where the system has no room for another thread.
  explicit task_graph(const task_graph_options& options = {});
  // Waits for all units. An exception of theirs is lost: call wait().
  ~task_graph();
  task_graph(const task_graph&) = delete;
  task_graph& operator=(const task_graph&) = delete;

  // Adds a unit: body(), once what it declares is as if all units before it had run one after the other. Throws what
  // copying `body` throws, std::bad_alloc, and bad_argument for rows that overlap; then nothing is added.
  // cost: about 100 ns and 40 ns for each region, of the thread that adds; bodies of more than 64 bytes are allocated.
  template <class F>
  void add(std::span<const declared_access> accesses, F&& body) {
    using function = std::remove_cvref_t<F>;
    static_assert(std::is_invocable_v<function&>, "the body of a unit is called without arguments");
    detail::check_accesses(accesses);
    detail::work_unit& unit = detail::begin_unit(*core_);
    if constexpr (sizeof(function) <= detail::work_unit::body_bytes && alignof(function) <= alignof(std::max_align_t)) {
      new (unit.body) function(std::forward<F>(body));
      unit.run = [](detail::work_unit& u) { (*std::launder(reinterpret_cast<function*>(u.body)))(); };
      if constexpr (std::is_trivially_destructible_v<function>)
        unit.destroy = nullptr;
      else
        unit.destroy = [](detail::work_unit& u) noexcept {
          std::launder(reinterpret_cast<function*>(u.body))->~function();
        };
    } else {
      auto* const apart = new function(std::forward<F>(body));
      new (unit.body)(function*)(apart);
      unit.run = [](detail::work_unit& u) { (**std::launder(reinterpret_cast<function**>(u.body)))(); };
      unit.destroy = [](detail::work_unit& u) noexcept { delete *std::launder(reinterpret_cast<function**>(u.body)); };
    }
    detail::end_unit(*core_, unit, accesses);
  }
  template <class F>
  void add(std::initializer_list<declared_access> accesses, F&& body) {
    add(std::span{accesses.begin(), accesses.size()}, std::forward<F>(body));
  }

  // Until every unit has ended. Throws the exception of the first of those that threw; after that the graph is as new.
  // Runs units meanwhile.
  void wait();

  // Until what is declared may be accessed here, as by a unit that is added now. Others go on. Throws the exception of
  // the first unit that threw, where one of those that had to come before did not run to its end; wait() throws it once
  // more.
  void wait_for(std::initializer_list<declared_access> accesses);

  [[nodiscard]] task_graph_statistics statistics() const;
  [[nodiscard]] std::uint32_t thread_count() const noexcept;

 private:
  std::unique_ptr<detail::graph_core> core_;
};

}  // namespace situ
