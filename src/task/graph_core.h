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
#include "task/page_watch.h"
#include "task/ready_units.h"
#include "task/shared_workers.h"
#include "task/staging.h"

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
  // Called by a page_watch, which must not outlive the graph, on the adding thread. Throws bad_argument if it may not
  // watch these bytes, or not now.
  void check_new_watch(const std::byte* begin, std::size_t bytes) const;
  void add_watch(page_watch& watch) { watches_.push_back(&watch); }
  void remove_watch(page_watch& watch) noexcept { std::erase(watches_, &watch); }
  // Called by a staging's thread: a unit has its tiles, or cannot have them.
  void has_tiles(work_unit& unit, const std::exception_ptr& failure) noexcept;
  // Waits for all units; their exceptions stay for wait().
  void settle_all();
  void wait();
  void wait_for(std::span<const declared_access> accesses);
  [[nodiscard]] task_graph_statistics statistics() const;
  [[nodiscard]] std::uint64_t grain() const noexcept { return grain_; }
  [[nodiscard]] bool is_checked() const noexcept { return is_checked_; }
  [[nodiscard]] bool checks_pages() const noexcept { return checks_pages_; }
  [[nodiscard]] std::uint32_t thread_count() const noexcept { return ready_.thread_count(); }

 private:
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
  // of other homes only after ready_units::looks_before_far of them.
  bool run_one(std::uint32_t thread, int looks);
  void run(work_unit& unit, std::uint32_t thread);
  void run_checked(work_unit& unit);
  void warn_of_unwatched() const;
  void fail(const work_unit& unit, std::exception_ptr failure) noexcept;
  void settle(work_unit& unit, std::uint32_t thread, bool failed) noexcept;
  void stop() noexcept;
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
  std::unique_ptr<unit_homes> homes_of_units_;  // null: there is one home for all
  ready_units ready_;

  // The following members belong to the adding thread.
  alignas(64) std::uint64_t added_ = 0;
  std::uint64_t edges_ = 0;
  std::vector<open_reduction> reductions_;
  std::vector<staging*> stagings_;
  std::vector<declared_access> in_pieces_;
  std::vector<staged_tile> tiles_;  // tiles of the unit that is being prepared
  std::vector<page_watch*> watches_;
  bool is_checked_;
  bool checks_pages_;    // then there is one thread
  std::uint64_t grain_;  // bytes of one location
  std::function<void()> await_end_;
  work_unit* running_ = nullptr;  // the unit in its body, if units are deferred
  bool is_in_unit_ = false;       // the adding thread runs a unit
  std::uint32_t next_record_ = 0;
  access_map accesses_;
  std::thread::id owner_ = std::this_thread::get_id();

  alignas(64) std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_failed_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::uint64_t failed_number_ = 0;
  std::vector<shared_worker> workers_;
};

}  // namespace situ::detail
