#include "model/execution/time_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/execution/stacks.h"

namespace situ::model {
namespace {

constexpr std::size_t most_lines = 25;

std::string function_of(std::uintptr_t code) { return code == 0 ? "nobody's code" : function_name(code - 1); }

double percent(time_ps part, time_ps of) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<time_ps>(of, 1));
}

}  // namespace

time_profile::of_core& time_profile::of(const core& c) {
  if (c.index >= cores_.size()) cores_.resize(c.index + 1);  // for a device's core
  return cores_[c.index];
}

void time_profile::note(const core& c, std::uintptr_t code, time_ps in_machine, const sharing_counts& shared) {
  of_core& its = of(c);
  share& where = its.by_code[code];
  where.time += c.clock - its.until;
  where.in_machine += in_machine;
  ++where.accesses;
  where.sharing.coherence_misses += shared.coherence_misses - its.shared.coherence_misses;
  where.sharing.upgrades += shared.upgrades - its.shared.upgrades;
  where.branches += c.branches - its.branches;
  where.mispredicted += c.mispredicted - its.mispredicted;
  its.until = c.clock;
  its.shared = shared;
  its.branches = c.branches;
  its.mispredicted = c.mispredicted;
}

void time_profile::share::add(const share& more) noexcept {
  time += more.time;
  in_machine += more.in_machine;
  accesses += more.accesses;
  sharing.coherence_misses += more.sharing.coherence_misses;
  sharing.upgrades += more.sharing.upgrades;
  branches += more.branches;
  mispredicted += more.mispredicted;
}

time_profile::functions time_profile::by_function(const of_core* only) const {
  std::map<std::string, share> sums;
  for (const of_core& each : cores_) {
    if (only != nullptr && only != &each) continue;
    for (const auto& [code, its] : each.by_code) sums[function_of(code)].add(its);
  }
  functions made{sums.begin(), sums.end()};
  std::ranges::stable_sort(made, [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  return made;
}

void time_profile::append(std::string& text, const functions& all) {
  const auto out = std::back_inserter(text);
  time_ps sum = 0;
  for (const auto& [name, its] : all) sum += its.time;
  text += "  time %   machine %     accesses   coherence    upgrades     branches  mispredicted  function\n";
  for (std::size_t i = 0; i < std::min(all.size(), most_lines); ++i) {
    const auto& [name, its] = all[i];
    fmt::format_to(out, "{:>8.1f}  {:>10.1f}  {:>11}  {:>10}  {:>10}  {:>11}  {:>12}  {}\n", percent(its.time, sum),
                   percent(its.in_machine, sum), its.accesses, its.sharing.coherence_misses, its.sharing.upgrades,
                   its.branches, its.mispredicted, name);
  }
}

std::string time_profile::text() const {
  const auto busy = [](const of_core& each) {
    time_ps sum = 0;
    for (const auto& [code, its] : each.by_code) sum += its.time;
    return sum;
  };
  std::string made{"profile of all cores\n"};
  append(made, by_function(nullptr));
  const auto busiest = std::ranges::max_element(cores_, {}, busy);
  if (busiest == cores_.end()) return made;
  made += fmt::format("profile of core {}, the busiest\n", busiest - cores_.begin());
  append(made, by_function(&*busiest));
  return made;
}

std::string time_profile::json() const {
  std::string made{"["};
  const char* comma = "";
  for (const auto& [name, its] : by_function(nullptr)) {
    std::string quoted;
    for (const char each : name) {
      if (each == '"' || each == '\\') quoted += '\\';
      quoted += each;
    }
    fmt::format_to(std::back_inserter(made),
                   "{}\n    {{\"function\": \"{}\", \"ps\": {}, \"in_machine_ps\": {}, \"accesses\": {}, "
                   "\"coherence_misses\": {}, \"upgrades\": {}, \"branches\": {}, \"mispredicted\": {}}}",
                   comma, quoted, its.time, its.in_machine, its.accesses, its.sharing.coherence_misses,
                   its.sharing.upgrades, its.branches, its.mispredicted);
    comma = ",";
  }
  return made += "\n  ]";
}

}  // namespace situ::model
