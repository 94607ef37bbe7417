#include "cases.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ::bench {
namespace {

using enum target_unit;

constexpr std::string_view ping_pong = "a raw round trip";

// A rate of 0.95 of memcpy is a time of 1 / 0.95.
constexpr double at_95_percent = 1 / 0.95;

constexpr case_info table[] = {
    {"put_8", 2, "blocking put of 8 bytes", "a store", "1.65 ns (GASNet-EX)", target{nanoseconds, 2.5}},
    {"get_8", 2, "blocking get of 8 bytes", "a load", "1.65 ns (GASNet-EX)", target{nanoseconds, 2.5}},
    {"put_1m", 2, "blocking put of 1 MiB", "memcpy into shared memory", "equal to memcpy",
     target{ratio_to_raw, at_95_percent}},
    {"get_1m", 2, "blocking get of 1 MiB", "memcpy out of shared memory", "equal to memcpy",
     target{ratio_to_raw, at_95_percent}},
    {"fetch_add", 2, "fetch-and-add on a word that nobody else uses", "a locked add", "5.4 ns (GASNet-EX)",
     target{nanoseconds, 5.5}},
    {"am_short_rt", 2, "short active message and its short reply", ping_pong, "2.3 x (GASNet-EX)",
     target{ratio_to_raw, 1.6}},
    {"am_short_oneway", 2, "one of a stream of short active messages", ping_pong, "48 ns (GASNet-EX)",
     target{nanoseconds, 30}},
    {"at_empty_rt", 2, "`at` with no arguments and no result", ping_pong, "2.5 x (UPC++)", target{ratio_to_raw, 2.0}},
    {"at_1000_doubles", 2, "`at` carrying 1000 doubles", ping_pong, "1200 ns (UPC++)", target{nanoseconds, 700}},
    {"barrier_2", 2, "barrier of 2 places on 2 processors", ping_pong, "1.1 x", target{ratio_to_raw, 0.8}},
    {"barrier_8", 8, "barrier of 8 places on 2 processors", ping_pong, "", target{context_switches, 2}},
    {"barrier_64", 64, "barrier of 64 places on 2 processors", ping_pong, "", target{context_switches, 20}},
    {"at_beside_load", 2, "blocking `at` beside two programs that never yield", "a round trip by futex beside them", "",
     target{ratio_to_raw, 1.5}},
    {"context_switch", 2, "switch between two processes of one processor", ping_pong, "", std::nullopt},
    {"idle_8", 8, "CPU time of a place that waits a second in a barrier", "the second", "",
     target{share_of_core, 0.01}},
    {"idle_64", 64, "CPU time of a place that waits a second in a barrier", "the second", "",
     target{share_of_core, 0.01}},
};

}  // namespace

std::span<const case_info> all_cases() { return table; }

const case_info* find_case(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const case_info& c) { return c.name == name; });
  return found == std::end(table) ? nullptr : found;
}

std::optional<double> in_unit_of(const case_info& info, const figures& measured, double switch_ns) {
  if (!info.aim) return std::nullopt;
  switch (info.aim->unit) {
    case nanoseconds: return measured.ns.median;
    case ratio_to_raw:
    case share_of_core: return measured.ratio_to_raw;
    case context_switches:
      if (switch_ns <= 0) return std::nullopt;
      return measured.ns.median / (switch_ns * info.places);
  }
  return std::nullopt;
}

bool is_idle(const case_info& info) { return info.aim && info.aim->unit == share_of_core; }

std::optional<bool> meets_aim(const case_info& info, const figures& measured, double switch_ns) {
  const std::optional<double> value = in_unit_of(info, measured, switch_ns);
  if (!value) return std::nullopt;
  return *value <= info.aim->at_most && (!is_idle(info) || measured.bytes <= idle_bytes_at_most);
}

std::string describe(const case_info& info, const target& aim) {
  switch (aim.unit) {
    case nanoseconds: return fmt::format("<= {:g} ns", aim.at_most);
    case ratio_to_raw: return fmt::format("<= {:.3g} x", aim.at_most);
    case context_switches: return fmt::format("<= {:g} x {} switches", aim.at_most, info.places);
    case share_of_core: return fmt::format("<= {:g}% of a core, {:g} MB", aim.at_most * 100, idle_bytes_at_most / 1e6);
  }
  return {};
}

}  // namespace situ::bench
