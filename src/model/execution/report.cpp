#include "model/execution/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/execution/coherence_log.h"
#include "model/execution/engine.h"
#include "model/execution/host_samples.h"
#include "model/execution/imported_calls.h"
#include "model/execution/regions.h"
#include "model/execution/report_memories.h"
#include "model/execution/report_shape.h"
#include "model/execution/report_sharing.h"
#include "model/execution/time_profile.h"
#include "model/execution/timeline.h"

namespace situ::model {
namespace {

std::uint64_t accesses_of(const core& c) { return c.hits[0] + c.hits[1] + c.slow_accesses(); }
std::uint64_t accesses_of(const machine_figures& figures) {
  std::uint64_t sum = 0;
  for (const core_figures& each : figures.cores) sum += each.accesses();
  return sum;
}
bool was_used(const core& c) { return accesses_of(c) != 0; }

// Returns a core's idle time: idle_ps does not include the idle period at the end.
time_ps idle_of(const core& c, time_ps end) {
  return c.idle_ps + (c.current == nullptr && end > c.idle_since ? end - c.idle_since : 0);
}

double percent(time_ps part, time_ps whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<time_ps>(whole, 1));
}

// Returns which hardware thread this is, if its core has several.
std::string thread_text(const core& c, time_ps end) {
  if (c.width == nullptr) return {};
  return fmt::format("  thread {} of core {}, {:.1f} % waiting for its width", c.thread_number, c.of_core,
                     percent(c.width_ps, end));
}

std::string quoted(const std::string& text) {
  std::string made{"\""};
  for (const char each : text)
    if (each == '"' || each == '\\')
      (made += '\\') += each;
    else
      made += each;
  return made += '"';
}

std::string too_late_text(const std::vector<part_counters>& parts) {
  std::uint64_t requests = 0;
  for (const part_counters& part : parts) requests += part[part_counters::too_late];
  if (requests == 0) return {};
  return fmt::format(
      "{} requests came for times that a part had forgotten, and waited longer than they should have (too_late)\n",
      requests);
}

}  // namespace

run_figures figures_of(engine& ran, std::uint64_t host_ns) {
  run_figures made{.host_ns = host_ns};
  for (const core& c : ran.cores()) {
    if (!was_used(c)) continue;
    made.modelled_ps = std::max(made.modelled_ps, c.clock);
    made.accesses += accesses_of(c);
  }
  made.cycles = made.modelled_ps / ran.cores().front().period_ps;
  return made;
}

std::string report_text(engine& ran, const run_figures& figures) {
  std::string text = fmt::format(
      "situ model: {} ns modelled on {}, {} cycles, {} accesses, trace {:016x}\n"
      "core  tile         clock ns        reads       writes      atomics   to machine     idle %\n",
      figures.modelled_ps / 1000, ran.machine().name(), figures.cycles, figures.accesses, ran.trace_hash());
  const auto out = std::back_inserter(text);
  for (const core& c : ran.cores()) {
    if (!was_used(c)) continue;
    fmt::format_to(out, "{:>4}  {:>4}  {:>15}  {:>11}  {:>11}  {:>11}  {:>11}  {:>9.1f}{}\n", c.index, c.tile,
                   c.clock / 1000, c.reads(), c.writes(), c.atomics(), c.slow_accesses(),
                   percent(idle_of(c, figures.modelled_ps), figures.modelled_ps), thread_text(c, figures.modelled_ps));
  }
  const std::vector<part_counters> parts = take_figures(ran, figures.modelled_ps).parts;
  text += to_text(parts);
  text += too_late_text(parts);
  text += sharing_text(ran, figures.modelled_ps);
  text += memories_text(ran);
  text += imported_text(host_samples());
  for (const region_figures& each : the_regions().regions())
    fmt::format_to(out, "region {}: {} ns modelled, {} accesses, begun {} times\n", each.name, each.sum.when / 1000,
                   accesses_of(each.sum), each.times);
  if (ran.profile() != nullptr) text += ran.profile()->text();
  text += assumed_text(ran);
  const double seconds = static_cast<double>(figures.host_ns) * 1e-9;
  fmt::format_to(out, "host: {:.3f} s, {:.1f} million accesses a second, {} switches\n", seconds,
                 static_cast<double>(figures.accesses) * 1e-6 / std::max(seconds, 1e-9), ran.switches());
  return text;
}

namespace {

// Returns what a hardware thread of a core of several has beside what a core has.
std::string thread_json(const core& c, const core_figures& its) {
  if (c.width == nullptr) return {};
  return fmt::format("\"of_core\": {}, \"thread\": {}, \"width_ps\": {}, ", c.of_core, c.thread_number, its.width_ps);
}

std::string to_json(const core& c, const core_figures& its, time_ps clock) {
  return fmt::format(
      "{{\"core\": {}, {}\"tile\": {}, \"clock_ps\": {}, \"reads\": {}, \"writes\": {}, \"atomics\": {}, "
      "\"modified\": {}, \"blocks\": {}, \"instructions\": {}, \"branches\": {}, \"mispredicted\": {}, \"fetches\": "
      "{}, \"fetch_misses\": {}, \"fetch_ps\": {}, \"to_machine\": "
      "{}, \"to_machine_ps\": {}, \"idle_ps\": {}, \"coherence_misses\": {}, \"upgrades\": {}}}",
      c.index, thread_json(c, its), c.tile, clock, its.reads, its.writes, its.atomics, its.modified, its.blocks,
      its.instructions, its.branches, its.mispredicted, its.fetches, its.fetch_misses, its.fetch_ps, its.to_machine,
      its.to_machine_ps, its.idle_ps, its.sharing.coherence_misses, its.sharing.upgrades);
}

// Returns the cores that had an access, one a line.
std::string cores_json(engine& ran, const machine_figures& figures, bool whole_run) {
  std::string text{"["};
  const char* comma = "";
  for (const core& c : ran.cores()) {
    if (figures.cores[c.index].accesses() == 0) continue;
    fmt::format_to(std::back_inserter(text), "{}\n    {}", comma,
                   to_json(c, figures.cores[c.index], whole_run ? c.clock : figures.when));
    comma = ",";
  }
  return text += "\n  ]";
}

}  // namespace

std::string report_json(engine& ran, const run_figures& figures, const report_extras& extras) {
  const machine_figures whole = take_figures(ran, figures.modelled_ps);
  std::string text = fmt::format(
      "{{\n  \"machine\": {},\n  \"exit_code\": {},\n  \"is_complete\": {},\n  \"modelled_ps\": {},\n  \"cycles\": "
      "{},\n"
      "  \"accesses\": {},\n  \"trace\": \"{:016x}\",\n  \"switches\": {},\n  \"host_ns\": {},\n  \"cores\": {},",
      quoted(std::string{ran.machine().name()}), extras.exit_code, extras.is_complete, figures.modelled_ps,
      figures.cycles, figures.accesses, ran.trace_hash(), ran.switches(), figures.host_ns,
      cores_json(ran, whole, true));
  const auto out = std::back_inserter(text);
  if (extras.mistakes != nullptr)
    fmt::format_to(out, "\n  \"stale_reads\": {},\n  \"lost_writes\": {},", extras.mistakes->stale_reads(),
                   extras.mistakes->lost_writes());
  if (ran.profile() != nullptr) fmt::format_to(out, "\n  \"profile\": {},", ran.profile()->json());
  if (!extras.objects.empty()) fmt::format_to(out, "\n  \"by_object\": {},", extras.objects);
  fmt::format_to(out, "\n  \"without_hooks\": {},\n  \"sharing\": {},", extras.without_hooks, sharing_json(ran));
  fmt::format_to(out, "\n  \"memories\": {},", memories_json(ran));
  fmt::format_to(out, "\n  \"imported\": {},", imported_json(host_samples()));
  text += "\n  \"regions\": [";
  const char* comma = "";
  for (const region_figures& each : the_regions().regions()) {
    fmt::format_to(out, "{}{{\"name\": {}, \"times\": {}, \"modelled_ps\": {},\n  \"cores\": {},\n  \"parts\": {}}}",
                   comma, quoted(each.name), each.times, each.sum.when, cores_json(ran, each.sum, false),
                   to_json(each.sum.parts));
    comma = ",\n  ";
  }
  fmt::format_to(out, "],\n  \"assumed\": {},\n  \"shape\": {},\n  \"camat\": {},\n  \"parts\": {}", assumed_json(ran),
                 shape_json(ran), camat_json(ran), to_json(whole.parts));
  if (extras.over_time != nullptr) fmt::format_to(out, ",\n  \"timeline\": {}", extras.over_time->json());
  text += "\n}\n";
  return text;
}

}  // namespace situ::model
