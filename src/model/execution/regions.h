// The machine's counts while a thread was in a region (situ/model/region.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/execution/engine.h"

namespace situ::model {

// The counts of a core: figures that only grow.
struct core_figures {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t atomics = 0;
  std::uint64_t modified = 0;  // instructions that read and write the same bytes; hooks in assembly tell them
  std::uint64_t blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t branches = 0;      // conditional and indirect jumps
  std::uint64_t mispredicted = 0;  // of those; by cores that predict them
  std::uint64_t fetches = 0;       // fetched lines of code
  std::uint64_t fetch_misses = 0;
  time_ps fetch_ps = 0;          // time waited for fetches
  std::uint64_t to_machine = 0;  // accesses that missed the first cache
  time_ps to_machine_ps = 0;
  time_ps idle_ps = 0;
  time_ps width_ps = 0;  // time waited for width that other threads of the core have taken
  sharing_counts sharing;
  [[nodiscard]] std::uint64_t accesses() const noexcept { return reads + writes + atomics; }
};

// All counts until a time.
struct machine_figures {
  time_ps when = 0;
  std::vector<core_figures> cores;
  std::vector<part_counters> parts;
};

// Returns the current figures. Reports the hits of the cores' first caches to the machine.
[[nodiscard]] machine_figures take_figures(engine& of, time_ps when);
// Returns the difference of two figures, name by name; `to` is the later one.
[[nodiscard]] machine_figures difference(const machine_figures& to, const machine_figures& from);
void add(machine_figures& sum, const machine_figures& more);

struct region_figures {
  std::string name;
  std::uint64_t times = 0;  // how often the region has begun
  std::uint32_t inside = 0;
  machine_figures at_begin;
  machine_figures sum;  // `when` is the region's total time
};

class region_log {
 public:
  void begin(engine& in, std::string_view name, time_ps when);
  void end(engine& in, std::string_view name, time_ps when);
  // Ends all regions that a thread is still in.
  void end_all(engine& in);
  // Calls `what` at the first end of this region.
  void at_end(std::string name, std::function<void()> what) {
    awaited_ = std::move(name);
    at_end_ = std::move(what);
  }
  // Returns the regions in the order of their first begin.
  [[nodiscard]] const std::vector<region_figures>& regions() const noexcept { return regions_; }

 private:
  [[nodiscard]] region_figures& find(std::string_view name);
  void close(engine& in, region_figures& which, time_ps when);
  std::vector<region_figures> regions_;
  std::string awaited_;
  std::function<void()> at_end_;  // empty, or of the region `awaited_`
};

// Returns the region log of the running program.
[[nodiscard]] region_log& the_regions();

}  // namespace situ::model
