#include "model/execution/regions.h"

#include <algorithm>
#include <utility>

#include "model/execution/calls.h"
#include "model/execution/host_calls.h"

namespace situ::model {
namespace {

// Returns the idle time until `when`: idle_ps does not include an idle period that has not ended.
time_ps idle_until(const core& c, time_ps when) {
  return c.idle_ps + (c.current == nullptr && when > c.idle_since ? when - c.idle_since : 0);
}

core_figures figures_of_core(engine& of, const core& c, time_ps when) {
  return {.reads = c.reads(),
          .writes = c.writes(),
          .atomics = c.atomics(),
          .modified = c.modified,
          .blocks = c.blocks,
          .instructions = c.instructions + c.without_cost + (c.is_device ? 0 : of.machine().walk_instructions(c.index)),
          .branches = c.branches,
          .mispredicted = c.mispredicted,
          .fetches = c.fetch_hits + c.slow[static_cast<int>(access_kind::fetch)],
          .fetch_misses = c.slow[static_cast<int>(access_kind::fetch)],
          .fetch_ps = c.fetch_ps,
          .to_machine = c.slow_accesses(),
          .to_machine_ps = c.slow_ps,
          .idle_ps = idle_until(c, when),
          .width_ps = c.width_ps,
          .sharing = of.machine().sharing(c.index)};
}

template <class Operation>
void each_figure(core_figures& a, const core_figures& b, Operation with) {
  for (const auto member :
       {&core_figures::reads, &core_figures::writes, &core_figures::atomics, &core_figures::modified,
        &core_figures::blocks, &core_figures::instructions, &core_figures::branches, &core_figures::mispredicted,
        &core_figures::fetches, &core_figures::fetch_misses, &core_figures::fetch_ps, &core_figures::to_machine,
        &core_figures::to_machine_ps, &core_figures::idle_ps, &core_figures::width_ps})
    with(a.*member, b.*member);
  with(a.sharing.coherence_misses, b.sharing.coherence_misses);
  with(a.sharing.upgrades, b.sharing.upgrades);
}

// Returns the same part in another list, at `guess` or later. Parts come in the same order each time, but some parts
// (such as links) appear only after their first use, so that others are then further back.
part_counters* find_part(std::vector<part_counters>& in, const part_counters& part, std::size_t& guess) {
  for (std::size_t i = guess; i < in.size(); ++i)
    if (in[i].part == part.part && in[i].kind == part.kind) {
      guess = i + 1;
      return &in[i];
    }
  return nullptr;
}

// Combines the figures of `a` and `b`; `a` is later, so it has every part that `b` has, and each of its counters, perhaps
// with others between them that a part only tells if they are not 0.
template <class Operation>
void combine(machine_figures& a, const machine_figures& b, Operation with) {
  with(a.when, b.when);
  a.cores.resize(std::max(a.cores.size(), b.cores.size()));
  for (std::size_t i = 0; i < b.cores.size(); ++i) each_figure(a.cores[i], b.cores[i], with);
  std::size_t guess = 0;
  for (const part_counters& part : b.parts)
    if (part_counters* const same = find_part(a.parts, part, guess)) {
      auto at = same->values.begin();
      for (const auto& [name, value] : part.values) {
        while (at != same->values.end() && at->first != name) ++at;
        if (at == same->values.end()) break;
        with(at->second, value);
      }
    }
}

}  // namespace

machine_figures take_figures(engine& of, time_ps when) {
  machine_figures made{.when = when};
  for (core& c : of.cores()) {
    made.cores.push_back(figures_of_core(of, c, when));
    of.machine().add_front_hits(c.index, c.hits[0] - c.told_hits[0], c.hits[1] - c.told_hits[1]);
    std::ranges::copy(c.hits, c.told_hits);
    of.machine().add_fetch_hits(c.index, c.fetch_hits - c.told_fetch_hits);
    c.told_fetch_hits = c.fetch_hits;
  }
  made.parts = of.machine().counters();
  return made;
}

machine_figures difference(const machine_figures& to, const machine_figures& from) {
  machine_figures made = to;
  combine(made, from, [](std::uint64_t& a, std::uint64_t b) { a = a > b ? a - b : 0; });
  return made;
}

void add(machine_figures& sum, const machine_figures& more) {
  machine_figures made = more;  // `more` has every part of the sum
  combine(made, sum, [](std::uint64_t& a, std::uint64_t b) { a += b; });
  sum = std::move(made);
}

region_log& the_regions() {
  static auto* const all = new region_log;
  return *all;
}

region_figures& region_log::find(std::string_view name) {
  const auto found = std::ranges::find(regions_, name, &region_figures::name);
  if (found != regions_.end()) return *found;
  return regions_.emplace_back(region_figures{.name = std::string{name}});
}

void region_log::begin(engine& in, std::string_view name, time_ps when) {
  region_figures& which = find(name);
  if (which.inside++ != 0) return;
  ++which.times;
  which.at_begin = take_figures(in, when);
}

void region_log::end(engine& in, std::string_view name, time_ps when) {
  region_figures& which = find(name);
  if (which.inside == 0) give_up(("region " + which.name + " ends where nobody is in it").c_str());
  if (--which.inside == 0) close(in, which, when);
}

void region_log::end_all(engine& in) {
  time_ps last = 0;
  for (const core& c : in.cores()) last = std::max(last, c.clock);
  for (region_figures& each : regions_)
    if (std::exchange(each.inside, 0) != 0) close(in, each, last);
}

void region_log::close(engine& in, region_figures& which, time_ps when) {
  add(which.sum, difference(take_figures(in, when), which.at_begin));
  if (at_end_ && which.name == awaited_) std::exchange(at_end_, nullptr)();
}

}  // namespace situ::model

using namespace situ::model;

extern "C" {

void situ_model_region_begin(const char* name) noexcept {
  if (running == &nobody) return;
  the_engine->take_turn();
  const time_ps when = running->clock;
  const outside_time scope;
  the_regions().begin(*the_engine, name, when);
  the_engine->stop_fast_forward(name);
}

void situ_model_region_end(const char* name) noexcept {
  if (running == &nobody) return;
  the_engine->take_turn();
  const time_ps when = running->clock;
  const outside_time scope;
  the_regions().end(*the_engine, name, when);
}

}  // extern "C"
