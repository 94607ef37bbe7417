// The cases of `situ bench core`: what each measures, over how many places, and what Situ aims at.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "results.h"

namespace situ::bench {

// What a target is counted in.
enum class target_unit {
  nanoseconds,       // of one operation
  ratio_to_raw,      // to the raw counterpart in the same sample
  context_switches,  // as many as there are places: each must run once between two barriers
  share_of_core,     // CPU time over elapsed time
};

struct target {
  target_unit unit;
  double at_most;
};

struct case_info {
  std::string_view name;
  unsigned places;
  std::string_view operation;   // one operation, in words
  std::string_view raw;         // its raw counterpart, in words
  std::string_view best_rival;  // best known rival, of the project's goals; may be empty
  std::optional<target> aim;    // for Situ
};

// In the order in which they are printed. `context_switch` and `idle_*` come with the barriers of many places.
[[nodiscard]] std::span<const case_info> all_cases();
[[nodiscard]] const case_info* find_case(std::string_view name);

// The unit of barriers: what one switch costs, from the row of context_switch. The tenth percentile, because another
// process on the processor can only make it longer; so also the strictest unit.
[[nodiscard]] inline double switch_cost(const row& context_switch) { return context_switch.all.ns.p10; }

// A median in the target's unit. switch_ns: what one context switch costs on this machine, 0 where it is not known.
[[nodiscard]] std::optional<double> in_unit_of(const case_info& info, const figures& measured, double switch_ns);

// Whether the aim is met, memory of an idle place included; nothing where that cannot be said.
[[nodiscard]] std::optional<bool> meets_aim(const case_info& info, const figures& measured, double switch_ns);

// Whether the case is one of waiting places, whose figures are CPU time and memory.
[[nodiscard]] bool is_idle(const case_info& info);

// As printed: "<= 2.5 ns", "<= 1.6 x", "<= 2 x 8 switches", "<= 1% of a core".
[[nodiscard]] std::string describe(const case_info& info, const target& aim);

// An idle place may have at most so much memory, its own and its share of the shared.
inline constexpr double idle_bytes_at_most = 8e6;

}  // namespace situ::bench
