#include "model/execution/timeline.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>

#include "model/execution/regions.h"

namespace situ::model {
namespace {

// Counters of parts that a timeline follows; other counters are reported for the whole run.
constexpr std::array followed{"hits",  "misses",     "busy_ps",       "unit_busy_ps", "queueing_ps", "bytes",
                              "flits", "read_bytes", "written_bytes", "operations",   "objects"};

template <class Value>
void keep_every_second(std::vector<Value>& of) {
  for (std::size_t i = 1; i < of.size(); i += 2) of[i / 2] = of[i];
  of.resize(of.size() / 2);
}

}  // namespace

void timeline::take_due(engine& of, time_ps now) {
  while (next() <= now) {
    take(of, next());
    if (times_.size() == most_samples) halve();
  }
}

void timeline::end(engine& of, time_ps when) {
  if (times_.empty() || times_.back() < when) take(of, when);
}

void timeline::take(engine& of, time_ps when) {
  const machine_figures now = take_figures(of, when);
  times_.push_back(when);
  for (std::size_t i = 0; i < now.cores.size(); ++i) {
    const core_figures& its = now.cores[i];
    if (its.accesses() == 0) continue;
    const std::string part = fmt::format("core {}", i);
    note(part, "core", "accesses", its.accesses());
    note(part, "core", "to_machine", its.to_machine);
    note(part, "core", "to_machine_ps", its.to_machine_ps);
    note(part, "core", "fetch_ps", its.fetch_ps);
    note(part, "core", "busy_ps", when > its.idle_ps ? when - its.idle_ps : 0);
  }
  for (const part_counters& part : now.parts) {
    if (part.kind == "core") continue;  // added above
    for (const auto& [counter, sum] : part.values)
      if (sum != 0 && std::ranges::find(followed, std::string_view{counter}) != followed.end())
        note(part.part, part.kind, counter, sum);
  }
  for (series& each : series_) each.sums.resize(times_.size(), each.sums.empty() ? 0 : each.sums.back());
}

void timeline::note(const std::string& part, const std::string& kind, const std::string& counter, std::uint64_t sum) {
  std::string name = kind;
  for (const std::string* const each : {&part, &counter}) (name += '/') += *each;
  const auto [found, is_new] = index_.try_emplace(std::move(name), series_.size());
  if (is_new) series_.push_back({.part = part, .kind = kind, .counter = counter, .sums = {}});
  std::vector<std::uint64_t>& sums = series_[found->second].sums;
  sums.resize(times_.size() - 1);
  sums.push_back(sum);
}

void timeline::halve() {
  keep_every_second(times_);
  for (series& each : series_) keep_every_second(each.sums);
  interval_ *= 2;
}

std::string timeline::json() const {
  nlohmann::ordered_json made{{"times", times_}, {"series", nlohmann::ordered_json::array()}};
  for (const series& each : series_) {
    std::vector<std::uint64_t> values;
    std::uint64_t before = 0;
    for (const std::uint64_t sum : each.sums) {
      values.push_back(sum > before ? sum - before : 0);
      before = sum;
    }
    made["series"].push_back(
        {{"part", each.part}, {"kind", each.kind}, {"counter", each.counter}, {"values", std::move(values)}});
  }
  return made.dump();
}

}  // namespace situ::model
