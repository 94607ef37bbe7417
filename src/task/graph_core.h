// A task graph independent of the types of its bodies: records of units, their dependences, threads, waits.
#pragma once

#include <situ/task/task_graph.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "os/host.h"
#include "task/access_map.h"
#include "task/homes.h"
#include "task/shared_workers.h"
#include "task/staging.h"
#include "task/unit_queues.h"

namespace situ::detail {

class graph_core {
 public:
  // await_end: set for a graph whose units are deferred; waits until a unit has ended.
  // on: the nodes for the threads and for the homes of units; nullopt: those of this thread.
  explicit graph_core(const task_graph_options& options, std::function<void()> await_end = nullptr,
                      std::optional<task_nodes> on = std::nullopt);
  ~graph_core();
  graph_core(const graph_core&) = delete;
  graph_core& operator=(const graph_core&) = delete;

  [[nodiscard]] work_unit& free_unit();
  open_reduction& reduction_of(const memory_region& target, const void* operation);
  [[nodiscard]] std::span<const declared_access> prepare(std::span<const declared_access> accesses);
  void add(work_unit& unit, std::span<const declared_access> accesses);
  // Called in a body: the unit does not end with the body, but when the adding thread calls end(), perhaps before the
  // body returns.
  work_unit& defer() noexcept;
  void end(work_unit& unit, const std::exception_ptr& failure) noexcept;
  // Called by a staging, which must not outlive the graph, on the adding thread.
  void add_staging(staging& s) { stagings_.push_back(&s); }
  void remove_staging(staging& s) noexcept { std::erase(stagings_, &s); }
  // Called by a staging's thread: a unit has its tiles, or cannot have them.
  void has_tiles(work_unit& unit, const std::exception_ptr& failure) noexcept;
  // Waits for all units; their exceptions stay for wait().
  void settle_all();
  void wait();
  void wait_for(std::span<const declared_access> accesses);
  [[nodiscard]] task_graph_statistics statistics() const;
  [[nodiscard]] std::uint64_t grain() const noexcept { return grain_; }
  [[nodiscard]] bool is_checked() const noexcept { return is_checked_; }
  [[nodiscard]] std::uint32_t thread_count() const noexcept { return static_cast<std::uint32_t>(threads_.size()); }

 private:
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

  [[nodiscard]] work_unit& record(std::uint32_t i) const noexcept { return units_.get()[i]; }
  [[nodiscard]] unit_name name_of(const work_unit& unit) const noexcept {
    return {static_cast<std::uint32_t>(&unit - units_.get()), unit.generation};
  }
  [[nodiscard]] bool is_over(unit_name name) const noexcept;  // no unit has to wait for it or know of it
  void depend(work_unit& unit, unit_name on, std::uint32_t& found);
  void declare(work_unit& unit, const memory_region& region, access_mode mode, std::uint32_t& found);
  void sweep();
  void close_reductions(const memory_region& touched);
  [[nodiscard]] dependence& edge_of(work_unit& unit, std::uint32_t i);

  void work(std::uint32_t thread);
  // Runs one ready unit; returns false if there is none. looks: how many looks before found none; a thread takes units
  // of other homes only after looks_before_far of them.
  bool run_one(std::uint32_t thread, int looks);
  [[nodiscard]] std::uint32_t take_waiting(std::uint32_t thread, int looks);
  [[nodiscard]] std::uint32_t take_at_homes(std::uint32_t thread, int looks);
  [[nodiscard]] std::uint32_t take_late(thread_part& part, ready_home& from, std::uint32_t share);
  [[nodiscard]] work_unit* give_back_late(ready_home& to, work_unit* first, std::uint32_t share) noexcept;
  [[nodiscard]] std::uint32_t take_from(thread_part& part, ready_home& from, std::uint32_t late_share);
  [[nodiscard]] std::uint32_t take_far(std::uint32_t thread);
  [[nodiscard]] std::uint32_t steal(std::uint32_t thread, bool far) noexcept;
  void deal_homes(task_nodes& on, std::uint32_t count);
  void run(work_unit& unit, std::uint32_t thread);
  void push_late(work_unit& unit) noexcept;
  [[nodiscard]] ready_home& home_of(const work_unit& unit) const noexcept {
    return unit.home == no_home ? *homes_.back() : *homes_[unit.home];
  }
  void fail(const work_unit& unit, std::exception_ptr failure) noexcept;
  void settle(work_unit& unit, std::uint32_t thread, bool failed) noexcept;
  [[nodiscard]] bool has_ready() const noexcept;
  void wake_somebody(ready_home& near) noexcept;
  void wake_far() noexcept;
  void wake_for_more(const thread_part& part, const ready_home& from) noexcept;
  void wake_owner() noexcept;
  template <class Done>
  void sleep_unless(ready_home& home, Done done) noexcept;
  void stop() noexcept;
  [[nodiscard]] std::uint64_t ended() const noexcept;
  // Runs units until `done`; sleeps while none is ready.
  template <class Done>
  void work_until(Done done);
  void check_thread(const char* what) const;

  // Frees the memory for `window_` records, of which the first `in_use_` have been made.
  struct free_records {
    void operator()(work_unit* first) const noexcept { ::operator delete(first, std::align_val_t{alignof(work_unit)}); }
  };
  void make_records(std::uint32_t count);

  std::uint32_t window_;
  std::uint32_t in_use_ = 0;  // records made so far, a power of two; of the adding thread
  std::unique_ptr<work_unit, free_records> units_;
  std::vector<std::unique_ptr<ready_home>> homes_;
  std::unique_ptr<unit_homes> homes_of_units_;         // null: there is one home for all
  bool threads_order_;                                 // order_all_threads() works, so the waker needs no fence
  std::vector<std::unique_ptr<thread_part>> threads_;  // index 0: the adding thread's

  // The following members belong to the adding thread.
  alignas(64) std::uint64_t added_ = 0;
  std::uint64_t edges_ = 0;
  std::vector<open_reduction> reductions_;
  std::vector<staging*> stagings_;
  std::vector<declared_access> in_pieces_;
  std::vector<staged_tile> tiles_;  // tiles of the unit that is being prepared
  bool is_checked_;
  std::uint64_t grain_;  // bytes of one location
  std::function<void()> await_end_;
  work_unit* running_ = nullptr;  // the unit in its body, if units are deferred
  bool is_in_unit_ = false;       // the adding thread runs a unit
  std::uint32_t next_record_ = 0;
  access_map accesses_;
  std::thread::id owner_ = std::this_thread::get_id();

  alignas(64) std::atomic<bool> owner_sleeps_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_failed_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::uint64_t failed_number_ = 0;
  std::vector<shared_worker> workers_;
};

}  // namespace situ::detail
