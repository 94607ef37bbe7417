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
// the threads. It computes with the floating-point settings (flush-to-zero, rounding) that the adding thread had at
// add(). docs/design/task.md has the rules of what a unit sees, as litmus tests.
//
// A graph belongs to the thread that made it; that thread runs units, too, while it waits, and while more units than
// `window` are under way. Units may make graphs of their own, but add nothing to the
// one that they are in. They may use one-sided access where the thread that made
// the graph may (place_threads tells what threads of a place may do).
//
// A unit that throws ends those that come after it by a conflict, whenever they are added: they never run. All others
// do. wait() throws the exception of the unit that was added first of those that threw.
#pragma once

#include <situ/task/access.h>
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

// A part of a reduction, in a block that shares no grain with another: they would wait for each other.
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

// How a graph is made.
struct task_graph_options {
  // Threads that run units, with the one that makes the graph; 0: one for each processor that this process may use.
  std::uint32_t threads = 0;
  // Units under way at most, a power of two; add() runs others meanwhile. More: a longer look ahead, more memory (256
  // bytes a unit).
  std::uint32_t window = 2048;
  // Accesses by declared_span are held against what their unit has declared. cost: an allocation a unit, some ns an
  // access.
  bool checked = false;
  // Regions are widened to whole multiples of so many bytes, a power of two: units that share one have a conflict. More
  // than 1 makes declaring many small regions cheaper (rows of a tile, objects of a graph that lie close), and finds
  // conflicts where there are none.
  std::uint64_t granularity_bytes = 1;
};

// What a graph has done since it was made.
struct task_graph_statistics {
  std::uint64_t units = 0;      // added
  std::uint64_t edges = 0;      // conflicts that a unit had to wait for
  std::uint64_t never_run = 0;  // ended because one before them threw
  std::uint64_t taken = 0;      // units that ran on another thread than the one that made them ready
  std::uint64_t far = 0;        // units that ran on another NUMA node than the one that has most of their bytes
};

// Units with declared accesses, run by threads of this process. cost: making one wakes threads that other
// graphs had, or starts them, 20 us or so each; waiting, what the units take.
class task_graph {
 public:
  // Throws bad_argument (a window that is no power of two, or more than 2^20; likewise a granularity) and
  // std::system_error where the system has no room for another thread.
  explicit task_graph(const task_graph_options& options = {});
  // Waits for all units. An exception of theirs is lost: call wait().
  ~task_graph();
  task_graph(const task_graph&) = delete;
  task_graph& operator=(const task_graph&) = delete;

  // Adds a unit: body(), once what it declares is as if all units before it had run one after the other. `name`, of
  // static storage, is what errors call it. Throws what copying `body` throws, std::bad_alloc, and bad_argument for
  // rows that overlap; then nothing is added. cost: about 100 ns and 40 ns for each region, of the thread that adds;
  // bodies of more than 64 bytes are allocated.
  template <class F>
  void add(std::span<const declared_access> accesses, F&& body, const char* name = nullptr) {
    detail::add_unit(*core_, accesses, std::forward<F>(body), name);
  }
  template <class F>
  void add(std::initializer_list<declared_access> accesses, F&& body, const char* name = nullptr) {
    add(std::span{accesses.begin(), accesses.size()}, std::forward<F>(body), name);
  }

  // Adds a unit that contributes to `target`: body(part), where part begins as `identity`. Units that reduce into the
  // same target by the same operation do not wait for each other. Their parts are combined in the order of add(),
  // target = combine(target, part), so the bits do not depend on who ran when. `Combine` has no state. cost: of add(),
  // an allocation, and a share of 1/64 of a unit that combines.
  template <class T, class F, class Combine = std::plus<>>
  void reduce(T& target, std::initializer_list<declared_access> accesses, F&& body, T identity = T{}, Combine = {},
              const char* name = nullptr);

  // Until every unit has ended. Throws the exception of the first of those that threw; after that the graph is as new.
  // Runs units meanwhile.
  void wait();

  // Until every unit has ended, as in a destructor of what they use. What they threw stays for wait(), and ends what
  // comes after them till then. Runs units meanwhile.
  void settle();

  // Until what is declared may be accessed here, as by a unit that is added now. Others go on. Throws the exception of
  // the first unit that threw, where one of those that had to come before did not run to its end; wait() throws it once
  // more.
  void wait_for(std::initializer_list<declared_access> accesses);

  // What it has done so far; units that other threads run now may be counted or not. cost: a load for each thread.
  [[nodiscard]] task_graph_statistics statistics() const;
  // Threads that run units, with the one that made the graph.
  [[nodiscard]] std::uint32_t thread_count() const noexcept;

 private:
  friend detail::graph_core& detail::core_of(task_graph& graph) noexcept;
  std::unique_ptr<detail::graph_core> core_;
};

template <class T, class F, class Combine>
void task_graph::reduce(T& target, std::initializer_list<declared_access> accesses, F&& body, T identity, Combine,
                        const char* name) {
  static_assert(std::is_empty_v<Combine> && std::is_default_constructible_v<Combine>, "a Combine without state");
  static constexpr char operation = 0;  // its address tells one T and Combine from others
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

// A named span whose elements are held against the declarations of the unit that accesses them, where its graph is
// checked. Elements of a span of const are read; those of others are written, or read by at(). cost: unchecked, a load
// of a thread's variable.
template <class T>
class declared_span {
 public:
  // `name`, of static storage, is what errors call it.
  declared_span(const char* name, std::span<T> elements) : elements_{elements}, name_{name} {}

  // Throws bad_argument in a unit of a checked graph that has not declared to write the element (of const: to read it).
  T& operator[](std::size_t i) const {
    if (detail::checked_unit != nullptr)
      detail::check_declared(&elements_[i], sizeof(T), !std::is_const_v<T>, name_, i);
    return elements_[i];
  }
  // The element, to be read. Throws bad_argument where that is not declared.
  const T& at(std::size_t i) const {
    if (detail::checked_unit != nullptr) detail::check_declared(&elements_[i], sizeof(T), false, name_, i);
    return elements_[i];
  }
  // Its elements, unchecked; where they begin and how many there are, so that reads(), writes() and updates() take it.
  [[nodiscard]] T* data() const noexcept { return elements_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); }
  [[nodiscard]] T* begin() const noexcept { return elements_.data(); }
  [[nodiscard]] T* end() const noexcept { return elements_.data() + elements_.size(); }

 private:
  std::span<T> elements_;
  const char* name_;
};

}  // namespace situ
