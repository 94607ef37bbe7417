// Work units that declare the bytes that they read and write. They run in parallel, with the results of running them
// one after another.
//
//   situ::task_graph graph;                                              // as many threads as processors
//   for (int k = 0; k < n; ++k) {
//     graph.add({situ::updates(tile[k])}, [&, k] { factor(tile[k]); });
//     for (int i = k + 1; i < n; ++i)
//       graph.add({situ::reads(tile[k]), situ::updates(tile[i])}, [&, k, i] { apply(tile[k], tile[i]); });
//   }
//   graph.wait();
//
// The order of add() defines the meaning of the program. Two units conflict if one of them writes a byte that the other
// declares; a unit begins once every earlier unit that conflicts with it has ended. A unit without conflicts may run at
// any time, on any of the threads. A unit computes with the floating-point settings (flush-to-zero, rounding) that the
// adding thread had at add(). docs/design/task.md gives the rules for the values that a unit sees, as litmus tests.
//
// A graph belongs to the thread that made it; that thread runs units, too, while it waits, and while more units than
// `window` are under way. A unit may make graphs of its own, but must not add units to the graph that it is in. A unit
// may use one-sided access if the thread that made the graph may (place_threads says what threads of a place may do).
//
// If a unit throws, later units that conflict with it never run, whenever they are added. All others run. wait() throws
// the exception of that unit, among those that threw, which was added first.
#pragma once

#include <situ/task/access.h>
#include <situ/task/declared_span.h>
#include <situ/task/detail/work_unit.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {

class task_graph;

namespace detail {

class graph_core;
[[nodiscard]] graph_core& core_of(task_graph& graph) noexcept;

template <class F>
void add_unit(graph_core& core, std::span<const declared_access> accesses, F&& body, const char* name) {
  using function = std::remove_cvref_t<F>;
  static_assert(std::is_invocable_v<function&>, "the body of a unit is called without arguments");
  accesses = prepare_unit(core, accesses);
  work_unit& unit = begin_unit(core);
  if constexpr (sizeof(function) <= work_unit::body_bytes && alignof(function) <= alignof(std::max_align_t)) {
    new (unit.body) function(std::forward<F>(body));
    unit.run = [](work_unit& u) { (*std::launder(reinterpret_cast<function*>(u.body)))(); };
    if constexpr (std::is_trivially_destructible_v<function>)
      unit.destroy = nullptr;
    else
      unit.destroy = [](work_unit& u) noexcept { std::launder(reinterpret_cast<function*>(u.body))->~function(); };
  } else {
    auto* const apart = new function(std::forward<F>(body));
    new (unit.body)(function*)(apart);
    unit.run = [](work_unit& u) { (**std::launder(reinterpret_cast<function**>(u.body)))(); };
    unit.destroy = [](work_unit& u) noexcept { delete *std::launder(reinterpret_cast<function**>(u.body)); };
  }
  unit.name = name;
  end_unit(core, unit, accesses);
}

[[nodiscard]] std::size_t grain_of(const graph_core& core) noexcept;

// Makes a part of a reduction, in a block that shares no grain with another part: units would wait for each other.
template <class T>
[[nodiscard]] std::shared_ptr<T> make_part(T identity, std::size_t grain) {
  if (grain == 1) return std::make_shared<T>(std::move(identity));
  const std::align_val_t alignment{std::max(grain, alignof(T))};
  const std::size_t bytes = (sizeof(T) + grain - 1) / grain * grain;
  const auto give_back = [alignment](void* block) { ::operator delete(block, alignment); };
  std::unique_ptr<void, decltype(give_back)> block{::operator new(bytes, alignment), give_back};
  T* const made = new (block.get()) T(std::move(identity));
  (void)block.release();
  return {made, [give_back](T* part) {
            part->~T();
            give_back(part);
          }};
}

}  // namespace detail

// The options of a task_graph.
struct task_graph_options {
  // The number of threads that run units, including the thread that makes the graph; 0: one for each processor that
  // this process may use.
  std::uint32_t threads = 0;
  // The most units under way, a power of two; add() runs units while the window is full. A larger window looks further
  // ahead and takes more memory (256 bytes a unit).
  std::uint32_t window = 2048;
  // Checks each access through a declared_span against the declarations of its unit. cost: an allocation a unit, some
  // ns an access.
  bool checked = false;
  // Checks, besides, each load and store to the pages of a watched_array (watched_array.h), by any code: page protection.
  // Implies `checked`. Units run one at a time, on the thread that made the graph, whatever `threads` says. The
  // environment chooses the checks of a program's graphs, too: SITU_CHECK_UNITS=spans is `checked`,
  // SITU_CHECK_UNITS=pages is this. cost: some us a unit, and more for large arrays.
  bool checked_by_pages = false;
  // Regions are widened to multiples of this number of bytes, a power of two: units that share such a grain conflict. A
  // value above 1 makes it cheaper to declare many small regions (rows of a tile, objects of a graph that are close
  // together), but reports false conflicts.
  std::uint64_t granularity_bytes = 1;
};

// Counters of a graph since it was made.
struct task_graph_statistics {
  std::uint64_t units = 0;      // units added
  std::uint64_t edges = 0;      // conflicts that a unit had to wait for
  std::uint64_t never_run = 0;  // units that ended without running because an earlier unit threw
  std::uint64_t taken = 0;      // units that ran on another thread than the one that made them ready
  std::uint64_t far = 0;        // units that ran on another NUMA node than the one that holds most of their bytes
};

// Units with declared accesses, which threads of this process run. cost: making a graph wakes threads of earlier graphs
// or starts new ones, about 20 us each; waiting takes as long as the units.
class task_graph {
 public:
  // Throws bad_argument (a window that is not a power of two, or more than 2^20; likewise a granularity; an unknown
  // SITU_CHECK_UNITS) and std::system_error if the system has no room for another thread.
  explicit task_graph(const task_graph_options& options = {});
  // Waits for all units and discards their exceptions: call wait() to get them.
  ~task_graph();
  task_graph(const task_graph&) = delete;
  task_graph& operator=(const task_graph&) = delete;

  // Adds a unit: runs body() once its declared bytes have the values that they would have if all earlier units had run
  // one after another. `name`, of static storage, identifies the unit in errors. Throws what copying `body` throws,
  // std::bad_alloc, and bad_argument for rows that overlap; then no unit is added. cost: about 100 ns and 40 ns for
  // each region, in the adding thread; bodies of more than 64 bytes are allocated.
  template <class F>
  void add(std::span<const declared_access> accesses, F&& body, const char* name = nullptr) {
    detail::add_unit(*core_, accesses, std::forward<F>(body), name);
  }
  template <class F>
  void add(std::initializer_list<declared_access> accesses, F&& body, const char* name = nullptr) {
    add(std::span{accesses.begin(), accesses.size()}, std::forward<F>(body), name);
  }

  // Adds a unit that contributes to `target`: runs body(part), with a part that begins as `identity`. Units that reduce
  // into the same target by the same operation do not wait for each other. The graph combines their parts in the order
  // of add(), target = combine(target, part), so the bits do not depend on the schedule. `Combine` has no state. cost:
  // of add(), an allocation, and a share of 1/64 of a unit that combines.
  template <class T, class F, class Combine = std::plus<>>
  void reduce(T& target, std::initializer_list<declared_access> accesses, F&& body, T identity = T{}, Combine = {},
              const char* name = nullptr);

  // Waits until every unit has ended, and runs units in that time. Throws the exception of the first unit that threw;
  // after that the graph is as new.
  void wait();

  // Waits until every unit has ended, and runs units in that time; for destructors of data that units use. Exceptions
  // of units stay for wait(), and until then later units that conflict with the failed ones do not run.
  void settle();

  // Waits until this thread may access the declared bytes, as if it were a unit added now. Other units go on. If a unit
  // that must run first did not complete, throws the exception of the first unit that threw; wait() throws it once
  // more.
  void wait_for(std::initializer_list<declared_access> accesses);

  // Returns the counters so far; units that other threads are running may or may not be counted. cost: a load for each
  // thread.
  [[nodiscard]] task_graph_statistics statistics() const;
  // Returns the number of threads that run units, including the thread that made the graph.
  [[nodiscard]] std::uint32_t thread_count() const noexcept;

 private:
  friend detail::graph_core& detail::core_of(task_graph& graph) noexcept;
  std::unique_ptr<detail::graph_core> core_;
};

template <class T, class F, class Combine>
void task_graph::reduce(T& target, std::initializer_list<declared_access> accesses, F&& body, T identity, Combine,
                        const char* name) {
  static_assert(std::is_empty_v<Combine> && std::is_default_constructible_v<Combine>, "a Combine without state");
  static constexpr char operation = 0;  // its address identifies this T and Combine
  detail::open_reduction& open = detail::open_reduction_of(*core_, detail::region_of(target), &operation,
                                                           std::span{accesses.begin(), accesses.size()});
  open.add_combiner = [](detail::graph_core& core, detail::open_reduction& of) {
    auto* const into = static_cast<T*>(const_cast<void*>(of.target.begin));
    std::vector<declared_access> all{updates(*into)};
    for (const auto& part : of.parts) all.push_back(reads(*static_cast<const T*>(part.get())));
    detail::add_unit(
        core, all,
        [into, parts = std::move(of.parts)] {
          for (const auto& part : parts) *into = Combine{}(*into, *static_cast<const T*>(part.get()));
        },
        "combine");
  };
  auto part = detail::make_part(std::move(identity), detail::grain_of(*core_));
  std::vector<declared_access> all(accesses);
  all.push_back(updates(*part));
  open.parts.push_back(part);
  add(all, [part, body = std::forward<F>(body)]() mutable { body(*part); }, name);
}

}  // namespace situ
