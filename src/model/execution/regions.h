// What the machine has counted while somebody was in a region (situ/model/region.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/execution/engine.h"

namespace situ::model {

// What a core has counted: figures that only grow.
struct core_figures {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t atomics = 0;
  std::uint64_t blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t fetches = 0;  // of lines of code
  std::uint64_t fetch_misses = 0;
  time_ps fetch_ps = 0;          // waited for these
  std::uint64_t to_machine = 0;  // accesses that the first cache has not answered
  time_ps to_machine_ps = 0;
  time_ps idle_ps = 0;
  [[nodiscard]] std::uint64_t accesses() const noexcept { return reads + writes + atomics; }
};

// All that has been counted until a time.
struct machine_figures {
  time_ps when = 0;
  std::vector<core_figures> cores;
  std::vector<part_counters> parts;
};

// Of now. Tells the machine of what the cores' first caches have answered.
[[nodiscard]] machine_figures take_figures(engine& of, time_ps when);
// What came between, name by name; `to` is the later one.
[[nodiscard]] machine_figures difference(const machine_figures& to, const machine_figures& from);
void add(machine_figures& sum, const machine_figures& more);

struct region_figures {
  std::string name;
  std::uint64_t times = 0;  // how often it has begun
  std::uint32_t inside = 0;
  machine_figures at_begin;
  machine_figures sum;  // `when` is the time that it took in all
};

class region_log {
 public:
  void begin(engine& in, std::string_view name, time_ps when);
  void end(engine& in, std::string_view name, time_ps when);
  // Those that somebody is still in end now.
  void end_all(engine& in);
  // In the order in which they began.
  [[nodiscard]] const std::vector<region_figures>& regions() const noexcept { return regions_; }

 private:
  [[nodiscard]] region_figures& find(std::string_view name);
  static void close(engine& in, region_figures& which, time_ps when);
  std::vector<region_figures> regions_;
};

// Of the program that runs.
[[nodiscard]] region_log& the_regions();

}  // namespace situ::model
