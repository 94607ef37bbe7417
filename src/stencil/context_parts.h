// The parts of a context. Private to this directory.
#pragma once

#include "stencil/chain_parts.h"
#include "stencil/execute.h"
#include "stencil/memory.h"
#include "stencil/out_of_core.h"
#include "stencil/tile_model.h"

#include <situ/machine/tree.h>

#include <map>
#include <unordered_map>

namespace situ::stencil {

// A candidate for running a chain: a tile size, by one thread or by all.
struct way {
  coordinates tile{};
  bool is_alone = false;  // the calling thread runs the whole chain
  tile_prediction expected{};
};

// Candidates that are compared by running them, and their times.
class way_trials {
 public:
  [[nodiscard]] std::vector<way>& ways() noexcept { return ways_; }
  [[nodiscard]] const std::vector<way>& ways() const noexcept { return ways_; }
  // Returns the candidate to run next: among those with a best time close to the overall best, the one with the fewest
  // trials, until each of them has had enough. They take turns, in the model's order.
  [[nodiscard]] std::size_t next() const noexcept;
  // Records a run of a candidate and its time. The first run of all warms up (pages, frequency).
  void note(std::size_t way, double seconds);
  // Forgets all trials.
  void forget() noexcept;
  [[nodiscard]] std::size_t best() const noexcept { return best_; }
  struct trial {
    int count = 0;
    double seconds = 0;  // the best time
  };
  [[nodiscard]] trial of(std::size_t way) const noexcept { return way < trials_.size() ? trials_[way] : trial{}; }

 private:
  void note_steady_run(double seconds);

  std::vector<way> ways_;
  std::vector<trial> trials_;  // one for each candidate
  std::size_t best_ = 0;
  int slow_runs_ = 0;  // of the best candidate, in a row, after its trials
  bool is_warm_ = false;
};

// A chain's plan. The cache finds it by the ranges, datasets, stencils and access modes of the chain's loops.
struct cached_plan {
  std::vector<std::uint64_t> key;
  int dims = 0;
  std::size_t loop_count = 0;
  double points = 0;          // of all loops
  std::vector<shape> shapes;  // keeps them alive, so that no other stencil gets an address that is in the key
  // In memory, similar chains share it: a program whose steps alternate their directions compares once for both.
  std::shared_ptr<way_trials> trials = std::make_shared<way_trials>();
  std::vector<plan> plans;  // for the candidates tried so far
  std::size_t last = 0;     // the candidate that ran last
  double last_seconds = 0;  // time of that run
  std::uint64_t footprint = 0;
  std::vector<stream_plan> streams;  // out of core, for the candidates tried so far
  std::vector<data_use> uses;
  bool is_streamed = false;
  bool is_checked = false;  // known to read no cyclic temporary before writing it

  // Records whether the chain runs from the store or in memory; a change discards the trials, whose times no longer
  // apply.
  void choose_way(bool streamed) {
    if (std::exchange(is_streamed, streamed) != streamed) trials->forget();
  }
  // out of core: several if the chain does not fit, or mixes dimensions; empty: not determined yet
  std::vector<chain_part> parts;
};

struct loop_report {
  std::uint64_t calls = 0;
  std::uint64_t points = 0;
  double seconds = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  loop_traffic traffic;  // of the last call
};

struct cache_sizes {
  std::uint64_t shared_bytes;  // of the last level
  std::uint64_t own_bytes;     // for one thread: the largest level that threads do not share, or its part of the last
};

struct context::parts {
  options how;
  const machine::tree& tree;
  page_source source;  // for datasets in memory, and for slots
  thread_pool pool;
  cache_sizes caches;
  chain_runner runner;
  std::unique_ptr<slot_runner> slots;  // out of core
  std::vector<std::pair<std::string, int>> blocks;
  std::vector<std::unique_ptr<dataset_core>> datasets;
  std::unordered_map<const dataset_core*, sourced_pages> memory;
  int next_index = 0;
  std::vector<std::unique_ptr<reduction_core>> reductions;
  std::vector<reduction_core*> claimed;  // reductions that the loop being made is the first to use
  std::vector<std::unique_ptr<loop>> queue;
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<cached_plan>>> plans;
  const cached_plan* last_plan = nullptr;  // of the last chain; null if it was dropped
  chain_statistics statistics;
  std::map<std::string, loop_report> reports;

  explicit parts(options how);

  void forget_plans() {
    last_plan = nullptr;
    plans.clear();
  }

  void execute(std::vector<std::unique_ptr<loop>> loops);
  void execute_whole_steps();
  cached_plan& find_plan(chain loops);
  [[nodiscard]] std::vector<way> candidates_of(chain loops);
  // Gives the chain its candidates, with the trials of a similar chain if there is one.
  void find_ways(chain loops, cached_plan& found);
  // Returns the model's figures of this machine; measures them the first time.
  [[nodiscard]] tile_costs costs();
  void run(chain loops, std::span<loop_time> times);
  void run_in_memory(chain loops, cached_plan& found, std::span<loop_time> times);
  void run_out_of_core(chain loops, cached_plan& found, std::span<loop_time> times);
  void run_streamed(chain loops, cached_plan& found, std::span<const dataset_core* const> dead,
                    std::span<loop_time> times);
  void run_in_parts(chain loops, cached_plan& found, std::span<loop_time> times);
  void allocate(dataset_core& data);
  [[noreturn]] void refuse_loop(const std::string& why);
  void find_nan(chain loops);
  // Writes the file of options::report_file.
  void write_report() const noexcept;
  // Calls f for parts of a box that are in memory at the same time; in_place: changes by f are kept.
  void for_each_part(dataset_core& data, const box& what, bool in_place, const std::function<void(const box&)>& f);
  void copy(dataset_core& data, const box& what, component_order order, std::byte* buffer, bool to_buffer);
};

}  // namespace situ::stencil
