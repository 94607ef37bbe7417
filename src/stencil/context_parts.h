// What a context consists of. Private to this directory.
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

// A chain's plan, found again by what the chain looks like: ranges, datasets, stencils and access modes of its loops.
struct cached_plan {
  struct way {
    coordinates tile{};
    bool is_alone = false;  // the calling thread runs it all
    tile_prediction expected{};
  };
  std::vector<std::uint64_t> key;
  int dims = 0;
  std::vector<shape> shapes;    // keeps them alive, so that no other stencil gets the address of one in the key
  std::vector<way> candidates;  // to compare
  std::vector<plan> plans;      // of the candidates tried so far
  struct trial {
    int count = 0;
    double seconds = 0;  // the best
  };
  std::vector<trial> trials;  // of each candidate
  std::size_t best = 0;
  std::size_t last = 0;     // candidate that ran
  double last_seconds = 0;  // and how long
  int slow_runs = 0;        // of the best, in a row, after its trials
  bool is_warm = false;     // has run
  std::uint64_t footprint = 0;
  std::vector<stream_plan> streams;  // out of core, of the candidates tried so far
  std::vector<data_use> uses;
  bool is_streamed = false;
  bool is_checked = false;  // that it reads no cyclic temporary first

  // Times of the other way say nothing.
  void choose_way(bool streamed) {
    if (std::exchange(is_streamed, streamed) == streamed) return;
    trials.clear();
    best = 0;
    is_warm = false;
  }
  // out of core: more than one if it does not fit, or mixes dimensions; empty: not looked at yet
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
  std::uint64_t own_bytes;     // of one thread: the largest level that threads do not share, or its part of the last
};

struct context::parts {
  options how;
  const machine::tree& tree;
  thread_pool pool;
  cache_sizes caches;
  chain_runner runner;
  std::unique_ptr<slot_runner> slots;  // out of core
  std::vector<std::pair<std::string, int>> blocks;
  std::vector<std::unique_ptr<dataset_core>> datasets;
  std::unordered_map<const dataset_core*, pages> memory;
  int next_index = 0;
  std::vector<std::unique_ptr<reduction_core>> reductions;
  std::vector<reduction_core*> claimed;  // that a loop which is being made is the first to use
  std::vector<std::unique_ptr<loop>> queue;
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<cached_plan>>> plans;
  const cached_plan* last_plan = nullptr;  // of the last chain; null when it is gone
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
  [[nodiscard]] std::vector<cached_plan::way> candidates_of(chain loops);
  // What the model knows of this machine; measured the first time.
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
  // What options::report_file asks for.
  void write_report() const noexcept;
  // Calls f for parts of a box that are in memory together; in_place: what f changes stays changed.
  void for_each_part(dataset_core& data, const box& what, bool in_place, const std::function<void(const box&)>& f);
  void copy(dataset_core& data, const box& what, component_order order, std::byte* buffer, bool to_buffer);
};

}  // namespace situ::stencil
