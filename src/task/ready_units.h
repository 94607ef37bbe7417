// The units of a graph that are ready to run: the queues in which they wait, and the threads that take them from there
// or sleep. It runs nothing itself, and knows nothing of dependences (graph_core.h).
//
// A unit that is ready when it is added goes to the fresh units of its home. A unit that another unit's end made ready
// goes to the own units of the thread that ended it; if its home is another node, to the late units of that home.
// Threads first look at their own units, then at their home, then at other threads of their node, and only then at
// other nodes.
//
// Invariant of sleeping: the waker pushes a unit, then reads `sleepers`; a sleeper counts itself, then looks for a
// unit. One of the two sees the other, since the sleeper orders all threads between its two steps.
#pragma once

#include <situ/task/detail/work_unit.h>
#include <situ/task/task_graph.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "os/host.h"
#include "task/homes.h"
#include "task/unit_queues.h"

namespace situ::detail {

class ready_units {
  // A queue of ready units for any thread of a node, on which those threads sleep. There is one if units have no homes;
  // otherwise one for each node, and one more for units without a home, from which all threads take and on which none
  // sleeps.
  struct ready_home {
    explicit ready_home(std::uint32_t room) : fresh{room} {}
    fresh_units fresh;
    alignas(64) std::atomic<work_unit*> late{nullptr};  // made ready by other threads, the last one first
    alignas(64) std::atomic<std::uint32_t> sleepers{0};
    std::atomic<std::uint32_t> bell{0};
    std::uint32_t share = 0;  // a thread takes 1/share of the fresh units: twice its threads
  };

 public:
  // The number of looks that find no unit before a thread takes units of other homes: about 2 us. Reading 64 KiB from
  // another node costs as much extra.
  static constexpr int looks_before_far = 200;

  // The counters and ready units of a thread. Only the thread writes them, except `own`, from which others steal.
  struct alignas(128) thread_part {
    thread_part(std::uint32_t window, std::uint16_t node, ready_home& of_node)
        : home{of_node}, home_number{node}, own{window} {}
    ready_home& home;
    std::uint16_t home_number;
    own_units own;
    alignas(64) std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> never_run{0};
    std::atomic<std::uint64_t> taken{0};
    std::atomic<std::uint64_t> far{0};
  };

  ready_units() = default;
  ready_units(const ready_units&) = delete;
  ready_units& operator=(const ready_units&) = delete;

  // Makes the queues of `threads` threads, of which the adding thread is the first, for `window` records from `records`
  // on. Removes nodes that get no thread from `on`; if several are left, each is a home. Called once, before all other
  // members. Throws std::bad_alloc.
  void deal(task_nodes& on, std::uint32_t threads, const work_unit* records, std::uint32_t window);
  [[nodiscard]] bool has_homes() const noexcept { return has_homes_; }
  [[nodiscard]] std::uint32_t thread_count() const noexcept { return static_cast<std::uint32_t>(threads_.size()); }
  [[nodiscard]] thread_part& part(std::uint32_t thread) const noexcept { return *threads_[thread]; }

  // --- a unit is ready ---

  // Called by the adding thread, for a unit that it has just added.
  void push_fresh(const work_unit& unit) noexcept {
    ready_home& at = has_homes_ ? home_of(unit) : threads_[0]->home;
    at.fresh.push(index_of(unit));
    wake_somebody(at);
  }
  // Called by the thread of `part`, for a unit that it has made ready. Returns true if the unit is its own now: then
  // the caller wakes a helper if there are more of them.
  bool push(thread_part& part, work_unit& unit) noexcept {
    if (unit.home != part.home_number && unit.home != no_home) {
      push_late(unit);
      return false;
    }
    part.own.push(index_of(unit));
    return true;
  }
  // Called by any thread.
  void push_late(work_unit& unit) noexcept;

  // --- taking ---

  // Takes a unit for a thread that has none of its own; returns no_unit if there is none. looks: the number of looks
  // before that found none.
  [[nodiscard]] std::uint32_t take(std::uint32_t thread, int looks);

  // --- sleeping ---

  // Sleeps until a unit may be ready, unless there is one, or `done` is true.
  template <class Done>
  void sleep_unless(std::uint32_t thread, Done done) noexcept;
  // As sleep_unless, for the adding thread: it also sleeps until a unit has ended.
  template <class Done>
  void owner_sleeps_unless(Done done) noexcept;
  // Wakes a thread of the home of `part` to help, or one of another node.
  void wake_helper(const thread_part& part) noexcept { wake_somebody(part.home); }
  // Wakes the adding thread, which sleeps until a unit has ended or is ready.
  void wake_owner() noexcept;
  void wake_all() noexcept;

  // --- counting ---

  // Returns the number of units that have ended.
  [[nodiscard]] std::uint64_t ended() const noexcept;
  // Adds the counters of the threads.
  void add_to(task_graph_statistics& sum) const noexcept;

 private:
  [[nodiscard]] std::uint32_t index_of(const work_unit& unit) const noexcept {
    return static_cast<std::uint32_t>(&unit - records_);
  }
  [[nodiscard]] ready_home& home_of(const work_unit& unit) const noexcept {
    return unit.home == no_home ? *homes_.back() : *homes_[unit.home];
  }
  [[nodiscard]] std::uint32_t take_at_homes(std::uint32_t thread, int looks);
  [[nodiscard]] std::uint32_t take_late(thread_part& part, ready_home& from, std::uint32_t share);
  [[nodiscard]] work_unit* give_back_late(ready_home& to, work_unit* first, std::uint32_t share) noexcept;
  [[nodiscard]] std::uint32_t take_from(thread_part& part, ready_home& from, std::uint32_t late_share);
  [[nodiscard]] std::uint32_t take_far(std::uint32_t thread);
  [[nodiscard]] std::uint32_t steal(std::uint32_t thread, bool far) noexcept;
  [[nodiscard]] bool has_ready() const noexcept;
  void wake_somebody(ready_home& near) noexcept;
  void wake_far() noexcept;
  void wake_for_more(const thread_part& part, const ready_home& from) noexcept;
  template <class Done>
  void sleep_at(ready_home& home, Done done) noexcept;

  const work_unit* records_ = nullptr;
  std::vector<std::unique_ptr<ready_home>> homes_;
  bool has_homes_ = false;                             // false: there is one home for all
  bool threads_order_ = can_order_all_threads();       // order_all_threads() works, so the waker needs no fence
  std::vector<std::unique_ptr<thread_part>> threads_;  // index 0: the adding thread's
  alignas(64) std::atomic<bool> owner_sleeps_{false};
};

template <class Done>
void ready_units::sleep_at(ready_home& home, Done done) noexcept {
  const std::uint32_t heard = home.bell.load(std::memory_order_acquire);
  home.sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (threads_order_)
    order_all_threads();
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!done() && !has_ready()) wait_on_word(home.bell, heard, -1);
  home.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

template <class Done>
void ready_units::sleep_unless(std::uint32_t thread, Done done) noexcept {
  sleep_at(threads_[thread]->home, done);
}

template <class Done>
void ready_units::owner_sleeps_unless(Done done) noexcept {
  owner_sleeps_.store(true, std::memory_order_seq_cst);
  sleep_at(threads_[0]->home, done);
  owner_sleeps_.store(false, std::memory_order_relaxed);
}

}  // namespace situ::detail
