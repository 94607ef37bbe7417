// place_tree: memories and workers as a tree, as a program sees them, and the loops and copies over it. It follows the
// hierarchical place tree of Yan, Brightwell and Sun (Memory-Centric Programming, MCHPC 2017, sections 3.1, 3.2).
//
//   situ::place_tree tree = situ::place_tree::of_places();  // or of_memories()
//   auto rows = tree.distribute(n, situ::deal::block());    // n rows to the children
//   situ::placed_array<double> u{rows, m, 1}, v{rows, m, 1};
//   u.move_down(initial);                                   // from the parent's memory
//   for (int step = 0; step < steps; ++step) {
//     u.copy_ghosts();                                      // between siblings
//     tree.for_each(rows, sweep, situ::reads(u), situ::writes(v));
//     std::swap(u, v);
//   }
//   u.move_up(result);                                      // back
//   tree.wait();
//
// A tree has three levels: the root (the memory of the place or program that makes the tree), its children (memories
// with workers: the places of a job, or the NUMA nodes of a machine), and under each child the caches of its workers,
// which tiles are staged into (cache_tile.h). A program runs unchanged on a tree of one child and of many.
//
// Loops and moves are units with declared accesses (task/access.h): each begins once the data that it reads are there,
// and none has to have ended before wait(). A body runs at a child, so it takes its arguments by value: it captures
// plain data (at(), runtime/at.h), and reaches arrays by the views that it gets. Units are ordered only if they share
// bytes.
//
// A tree belongs to the thread that made it; a tree of of_places belongs to its place's own thread, and the other
// places run units while they wait in Situ. Rows and arrays keep their tree alive, and keep their memory until no unit
// uses it. wait() rethrows an exception of a unit, as does any call that waits before (balance(), a loop with
// deal::automatic, or with deal::dynamic at places). cost: some loads, unless a function says otherwise.
#pragma once

#include <situ/fabric/atomic.h>
#include <situ/machine/intent.h>
#include <situ/memory/allocate.h>
#include <situ/runtime/at.h>
#include <situ/trees/deal.h>
#include <situ/trees/detail/placed_rows_core.h>
#include <situ/trees/detail/tree_core.h>
#include <situ/trees/tree_node.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace situ {

// The part of a loop that one call of a body executes. A value that can be sent to other places.
struct tree_part {
  std::ptrdiff_t begin = 0;          // the first row
  std::ptrdiff_t end = 0;            // one behind the last
  std::uint32_t child = 0;           // the child that executes the part
  std::uint64_t cache_bytes = 0;     // size of the cache under that child; 0: unknown
  ptr<detail::child_record> record;  // for Situ itself
  ptr<detail::child_speed> speed;    // for Situ itself
};

// Rows of a loop, and of the arrays that are aligned with it, dealt to the children of a tree. A handle: copies refer
// to the same rows. Made by place_tree::distribute.
class placed_rows {
 public:
  // Return the number of rows, and the policy by which they were dealt.
  [[nodiscard]] std::size_t size() const noexcept { return core_->size(); }
  [[nodiscard]] const deal& how() const noexcept { return core_->how(); }
  // Returns the runs of contiguous rows, in order, each with its child. Valid until the rows are balanced.
  [[nodiscard]] std::span<const row_run> runs() const noexcept { return core_->runs(); }
  // Returns the child that holds a row. pre: row < size().
  [[nodiscard]] std::uint32_t child_of(std::size_t row) const noexcept { return core_->run_of(row).child; }
  // Returns the number of rows of each child.
  [[nodiscard]] std::vector<std::size_t> counts() const { return core_->counts(); }

  // Returns the rows per second of a worker of each child, in loops over these rows since they were dealt; 0 if no unit
  // has ended there. Throws place_lost_error if a child's host is lost. cost: two loads for each child, gets if it is
  // on another host.
  [[nodiscard]] std::vector<double> speeds() const { return core_->speeds(); }
  // Deals the rows anew, by the speeds at which the children have executed loops over them. Moves the contents of all
  // arrays of these rows between siblings, and copies their ghost rows anew. Waits for all units. deal::automatic calls
  // it by itself after the first loop, the fourth and the sixteenth, before the next loop or move. Throws as
  // place_tree::wait. cost: a copy of the rows that move.
  void balance() { core_->balance(); }

  // Returns whether two handles refer to the same rows.
  friend bool operator==(const placed_rows&, const placed_rows&) noexcept = default;

  // For Situ itself.
  [[nodiscard]] const std::shared_ptr<detail::placed_rows_core>& core() const noexcept { return core_; }

 private:
  friend class place_tree;
  explicit placed_rows(std::shared_ptr<detail::placed_rows_core> core) : core_{std::move(core)} {}
  std::shared_ptr<detail::placed_rows_core> core_;
};

namespace detail {

// A unit that executes one part of a loop.
template <class F, class... Views>
struct loop_unit {
  F body;
  void operator()(tree_part part, Views... views) const {
    const auto begin = std::chrono::steady_clock::now();
    body(part, views...);
    const auto took = std::chrono::steady_clock::now() - begin;
    part.speed.local()->note(
        static_cast<std::uint64_t>(part.end - part.begin),
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
  }
};

// A unit that executes several runs, one after the other.
template <class F, class... Views>
struct group_unit {
  F body;
  void operator()(const std::vector<std::tuple<tree_part, Views...>>& runs) const {
    const loop_unit<F, Views...> each{body};
    for (const auto& run : runs) std::apply(each, run);
  }
};

// A call to one child in a loop with dynamic runs: it takes and executes runs until all are taken.
template <class F, class... Views>
struct run_loop {
  F body;
  // Returns the bytes of those runs that it took and whose data belong to another child.
  std::uint64_t operator()(tree_part here, ptr<std::uint64_t> next,
                           const std::vector<std::tuple<tree_part, std::uint64_t, Views...>>& runs) const {
    std::uint64_t moved = 0;
    for (;;) {
      const std::uint64_t taken = atomic_fetch_add(next, 1);
      if (taken >= runs.size()) return moved;
      std::apply(
          [&](tree_part part, std::uint64_t bytes, const Views&... views) {
            if (part.child != here.child) moved += bytes;
            here.begin = part.begin;
            here.end = part.end;
            loop_unit<F, Views...>{body}(here, views...);
          },
          runs[taken]);
    }
  }
};

}  // namespace detail

// Memories and workers as a tree; see above.
class place_tree {
 public:
  // Makes a tree with a child for each place of the job, whose memory is in the place's segment; the root is the
  // calling place's. Places may be on several hosts: rows move between hosts by put and get, and the runs of
  // deal::dynamic are taken by the places of the host that has their data. Not collective: the other places serve, for
  // example in a barrier. In a job of one place the tree has one child. Throws no_runtime, and what at() throws. cost:
  // a look at the machine (tens of ms) at each host, and a call to each place.
  [[nodiscard]] static place_tree of_places();

  // Options of the trees over the memories of one process.
  struct memory_options {
    std::uint32_t threads = 0;  // threads that run units, for all children together; 0: one for each processor
  };
  // Makes a tree with a child for each memory of this machine that programs can allocate from and that no device owns
  // (NUMA nodes). Works without a runtime, too. Throws what discovery and task_graph throw; allocating throws
  // out_of_memory. cost: a look at the machine, and the threads.
  [[nodiscard]] static place_tree of_memories(const memory_options& options);
  [[nodiscard]] static place_tree of_memories();
  // Makes a tree with a child for each intent: the ordering of the intent names its memory, for example a part of a
  // node that has a budget (guide/orderings.md). The children share the machine's workers. cost: as of_memories.
  [[nodiscard]] static place_tree of_intents(std::span<const intent> intents, const memory_options& options);
  // Makes a tree with the shape and the figures of a machine that need not be this one, to try a program on it: the
  // memories are those of this process, placed by the kernel. cost: the threads.
  [[nodiscard]] static place_tree of_machine(const machine::tree& machine, const memory_options& options);

  // Return the root with its memory, workers and children, and the children alone. to_text() draws a node.
  [[nodiscard]] const tree_node& root() const noexcept { return core_->root(); }
  [[nodiscard]] std::span<const tree_node> children() const noexcept {
    return {core_->root().children.data(), core_->root().children.size()};
  }

  // Deals rows to the children. Arrays made of the result, and loops over it, are aligned. Throws bad_argument if there
  // is not one weight for each child, and what allocating a line at each child throws: out_of_memory; at places also
  // what at() throws. cost: linear in the runs of rows; at places a call to each child.
  [[nodiscard]] placed_rows distribute(std::size_t rows, deal how = {}) const;

  // Calls body(part, views...) for all rows, at the children that hold them. `accesses` are reads(a), writes(a) or
  // updates(a) of arrays; the body gets a view of the part for each (placed_array.h, child_copies.h). Adds a unit for
  // each run of rows and worker of its child. A read includes the ghost rows; a write or update covers the part's own
  // rows only. With deal::dynamic at places, the call returns once the loop has ended; with deal::automatic it may wait
  // to balance the rows. Throws bad_argument for an array of other rows, as task_graph::add, and, if it waits, as
  // wait(). cost: that of task_graph::add or place_graph::add, for each unit.
  template <class F, class... Accesses>
  void for_each(const placed_rows& rows, F body, const Accesses&... accesses) {
    detail::placed_rows_core& core = *rows.core();
    core.check_tree(*core_);
    (accesses.check(core), ...);
    core.settle();
    if (core.how().what == deal::policy::dynamic && core_->has_places())
      take_runs(core, body, accesses...);
    else if (core.is_fine())
      for (const std::vector<std::size_t>& group : core.groups()) add_group(core, group, body, accesses...);
    else
      for (const row_run& run : core.runs()) add_parts(core, run, body, accesses...);
    core.has_run();
  }

  // Waits until every unit has ended. Rethrows the first exception of any unit, and throws place_lost_error if a place
  // is lost, even one that ran no unit. The tree stays usable. cost: what the units take.
  void wait() { core_->wait(); }

  // Returns the bytes moved so far, by direction; a move counts when it is added. Throws place_lost_error if a child's
  // host is lost. cost: a load for each child, a get if it is on another host.
  [[nodiscard]] tree_traffic traffic() const;

  // For Situ itself.
  [[nodiscard]] const std::shared_ptr<detail::tree_core>& core() const noexcept { return core_; }

 private:
  explicit place_tree(std::shared_ptr<detail::tree_core> core) : core_{std::move(core)} {}

  [[nodiscard]] tree_part part_of(const detail::placed_rows_core& rows, const row_run& run) const {
    const tree_node& child = core_->root().children[run.child];
    return {run.begin,
            run.end,
            run.child,
            child.children.empty() ? 0 : child.children.front().bytes,
            ptr<detail::child_record>{&core_->record(run.child)},
            ptr<detail::child_speed>{&rows.speed(run.child)}};
  }

  template <class F, class... Accesses>
  void add_parts(const detail::placed_rows_core& core, const row_run& run, const F& body, const Accesses&... accesses) {
    const std::ptrdiff_t workers = core.workers_of(run.child), rows = run.end - run.begin;
    for (std::ptrdiff_t w = 0; w < workers; ++w) {
      const row_run share{run.begin + rows * w / workers, run.begin + rows * (w + 1) / workers, run.child};
      if (share.begin == share.end) continue;
      std::vector<declared_access> declared;
      (accesses.declare(run, share, declared), ...);
      if (declared.empty()) declared.push_back(reads(core_->record(run.child)));  // so that the unit runs at its child
      core_->add(declared, detail::loop_unit<F, typename Accesses::view...>{body}, part_of(core, share),
                 accesses.view_of(run, share)...);
    }
  }

  template <class F, class... Accesses>
  void add_group(const detail::placed_rows_core& core, const std::vector<std::size_t>& group, const F& body,
                 const Accesses&... accesses) {
    const row_run& first = core.runs()[group.front()];
    std::vector<declared_access> declared;
    (accesses.declare_all(first, core.runs()[group.back()], declared), ...);
    if (declared.empty()) declared.push_back(reads(core_->record(first.child)));
    std::vector<std::tuple<tree_part, typename Accesses::view...>> runs;
    for (const std::size_t i : group)
      runs.emplace_back(part_of(core, core.runs()[i]), accesses.view_of(core.runs()[i], core.runs()[i])...);
    core_->add(declared, detail::group_unit<F, typename Accesses::view...>{body}, std::move(runs));
  }

  template <class F, class... Accesses>
  void take_runs(const detail::placed_rows_core& core, const F& body, const Accesses&... accesses) {
    core_->wait();
    using run = std::tuple<tree_part, std::uint64_t, typename Accesses::view...>;
    std::vector<std::vector<run>> runs(core_->hosts());
    for (const row_run& each : core.runs()) {
      std::vector<declared_access> declared;
      (accesses.declare(each, each, declared), ...);
      std::uint64_t bytes = 0;
      for (const declared_access& access : declared) bytes += access.region.size();
      runs[core_->host_of(each.child)].emplace_back(part_of(core, each), bytes, accesses.view_of(each, each)...);
    }
    const std::vector<detail::run_counter> next(runs.size());
    std::vector<future<std::uint64_t>> ends;
    std::exception_ptr failure;
    try {
      for (std::uint32_t c = 0; c < core_->children(); ++c) {
        const std::uint32_t host = core_->host_of(c);
        ends.push_back(async_at(place{c}, detail::run_loop<F, typename Accesses::view...>{body},
                                part_of(core, {0, 0, c}), next[host].word(), runs[host]));
      }
    } catch (...) {
      failure = std::current_exception();
    }
    for (const future<std::uint64_t>& end : ends) {  // wait for all of them: they use the counters
      try {
        const std::exception_ptr loss = detail::await_despite_losses(end);
        if (failure == nullptr) failure = loss;
        core_->traffic.across += end.get();
      } catch (...) {
        if (failure == nullptr) failure = std::current_exception();
      }
    }
    if (failure != nullptr) std::rethrow_exception(failure);
  }

  std::shared_ptr<detail::tree_core> core_;
};

}  // namespace situ
