#include "manycore/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "manycore/published.h"

namespace situ::studies::manycore {
namespace {

using enum configuration;

std::string text_of(const range& of) {
  return of.least == of.most ? fmt::format("{:.2f}", of.least) : fmt::format("{:.2f} to {:.2f}", of.least, of.most);
}
std::string text_of(const std::optional<range>& of) { return of ? text_of(*of) : "-"; }
std::string millions(double cycles) { return fmt::format("{:.2f}", cycles / 1e6); }
std::string count(double of) { return fmt::format("{:.0f}", of); }
std::string aim_of(const published_ratio& row) {
  if (!row.aim) return "-";
  return row.aim->least > 0 ? text_of(*row.aim) : fmt::format("<= {:.2f}", row.aim->most);
}
std::string verdict(const published_ratio& row, double measured) {
  if (!row.aim) return "-";
  return measured >= row.aim->least && measured <= row.aim->most ? "met" : "not met";
}

// Calls f(name, one tile's run, run) for each run with so many tiles that is there with its companion.
void each_run(const heap_runs& runs, std::uint32_t tiles,
              const std::function<void(configuration, const heap_run&, const heap_run&)>& f) {
  for (std::size_t i = 0; i < configuration_count; ++i) {
    const auto of = static_cast<configuration>(i);
    const heap_run *one = runs.find(of, 1), *many = runs.find(of, tiles);
    if (one != nullptr && many != nullptr) f(of, *one, *many);
  }
}

grid beside(const heap_runs& runs) {
  grid table{"cycles by those with one tile",
             {"configuration", "tiles", "predicted", "ours", "paper", "its words", "trial", "aim", "aim is"},
             {}};
  for (const published_ratio& row : published_ratios) {
    const double ours = runs.ratio(row.of, row.tiles);
    if (ours == 0) continue;
    table.lines.push_back({std::string{name(row.of)}, fmt::format("{}", row.tiles),
                           fmt::format("{:.2f}", row.predicted), fmt::format("{:.2f}", ours), text_of(row.paper),
                           row.words.empty() ? "-" : std::string{row.words}, text_of(row.trial), aim_of(row),
                           verdict(row, ours)});
  }
  return table;
}

plot ratio_plot(const heap_runs& runs) {
  plot made{"Cycles by those with one tile", "tiles", "x", {}};
  for (std::size_t i = 0; i < configuration_count; ++i) {
    const auto of = static_cast<configuration>(i);
    series line{.name = std::string{name(of)}, .points = {}};
    for (const std::uint32_t tiles : tile_counts)
      if (const double ours = runs.ratio(of, tiles); ours > 0) line.points.emplace_back(tiles, ours);
    if (line.points.size() > 1) made.lines.push_back(std::move(line));
  }
  return made;
}

// Without arguments, those of templates among them: one function, however it is compiled.
std::string short_name(const std::string& of) {
  if (of == "nobody's code") return of;
  constexpr std::string_view nameless = "(anonymous namespace)::";
  std::string name = of;
  for (std::size_t at = name.find(nameless); at != std::string::npos; at = name.find(nameless))
    name.erase(at, nameless.size());
  name.resize(std::min(name.size(), name.find_first_of("<(")));
  return name.substr(name.rfind(' ') == std::string::npos ? 0 : name.rfind(' ') + 1);
}

// By short names.
std::map<std::string, double> stalls_by_function(const heap_run& of) {
  std::map<std::string, double> made;
  for (const function_cycles& each : of.functions) made[short_name(each.name)] += each.stalls;
  return made;
}

}  // namespace

study_part ratios(const heap_runs& runs) {
  study_part part{.name = "ratios", .title = "Cycles with several tiles, by those with one"};
  for (const published_ratio& row : published_ratios) {
    const double ours = runs.ratio(row.of, row.tiles);
    if (ours == 0 || !row.paper) continue;
    part.rows.push_back({.what = fmt::format("{}, {} tiles", name(row.of), row.tiles),
                         .unit = "x one tile's cycles",
                         .paper = row.paper->least,
                         .paper_most = row.paper->most,
                         .ours = ours,
                         .from = origin::predicted,
                         .remark = std::string{row.words}});
  }
  const double two = runs.ratio(small_pages_and_clock, 2), all = runs.ratio(small_pages_and_clock, 56);
  if (two > 0 && all > 0)
    part.rows.push_back({.what = "64 KB pages, clock calls, 56 tiles by 2",
                         .unit = "x two tiles' cycles",
                         .paper = paper_56_by_2,
                         .ours = all / two,
                         .from = origin::predicted,
                         .remark = fmt::format("\"almost twice\"; predicted before: {}", predicted_56_by_2)});
  part.grids.push_back(beside(runs));
  part.plots.push_back(ratio_plot(runs));
  part.notes = {
      "Rows with 64 KB pages hold what is calibrated. The VM was changed after first results with several tiles: "
      "docs/studies/manycore-heap.md says which aims it met before.",
      "With one tile all objects are its own: what is read-mostly makes no difference, and the baton stays."};
  return part;
}

study_part bundles(const heap_runs& runs) {
  study_part part{.name = "bundles", .title = "Bundles: what doubles them (figures 9 and 12)"};
  const heap_run *one = runs.find(small_pages_and_clock, 1), *all = runs.find(small_pages_and_clock, 2),
                 *without_clock = runs.find(small_pages, 2), *without_both = runs.find(huge_pages, 2);
  if (one == nullptr || all == nullptr || without_clock == nullptr || without_both == nullptr) return part;
  const double by_walks = (all->walks - one->walks) * walk_instructions / one->bundles;
  const double by_clock = (all->bundles - without_clock->bundles) / one->bundles;
  const double by_batons = all->bundles / one->bundles - 1 - by_walks - by_clock;
  part.rows = {
      {.what = "bundles, two tiles by one",
       .unit = "x",
       .paper = paper_bundles,
       .ours = all->bundles / one->bundles,
       .from = origin::calibrated,
       .remark = "figure 9"},
      {.what = "of these by misses of the DTLB",
       .unit = "x one tile's",
       .paper = 0.5,
       .ours = by_walks,
       .from = origin::calibrated,
       .remark = "figure 12: about equally; at the end of the range of the machine's file"},
      {.what = "by clock calls",
       .unit = "x one tile's",
       .paper = 0.5,
       .ours = by_clock,
       .from = origin::calibrated,
       .remark =
           fmt::format("{:.0f} instructions a call, of {} rounds",
                       (all->bundles - without_clock->bundles) / std::max(1.0, all->batons), runs.clock_rounds())},
      {.what = "by passing the baton itself",
       .unit = "x one tile's",
       .ours = by_batons,
       .from = origin::predicted,
       .remark = "after both fixes \"rough equality\" is left"},
      {.what = "stalls a bundle, two tiles by one, words of other tiles left out",
       .unit = "x",
       .paper = paper_stalls_a_bundle,
       .ours = (all->stalls() - all->remote_cycles) / all->bundles / (one->stalls() / one->bundles),
       .from = origin::predicted,
       .remark = fmt::format("predicted before: {}; a clock call has no stalls here", predicted_stalls_a_bundle)}};
  part.notes = {"A bundle here is an instruction of x86-64; those of the TLB's handler are counted by its misses."};
  grid table{
      "millions of bundles", {"configuration", "tiles", "bundles", "of the DTLB's handler", "by one tile's"}, {}};
  for (const std::uint32_t tiles : tile_counts)
    each_run(runs, tiles, [&](configuration of, const heap_run& alone, const heap_run& its) {
      table.lines.push_back({std::string{name(of)}, fmt::format("{}", tiles), millions(its.bundles),
                             millions(its.walks * walk_instructions),
                             fmt::format("{:.2f}", its.bundles / alone.bundles)});
    });
  part.grids.push_back(std::move(table));
  return part;
}

study_part stalls(const heap_runs& runs) {
  study_part part{.name = "stalls", .title = "Stalls by kind (figures 10 and 14)"};
  grid table{"millions of cycles waited",
             {"configuration", "tiles", "cycles", "stalls", "code", "DTLB", "other tiles' words", "own L2 misses",
              "L2 hits, stores", "stalls a bundle"},
             {}};
  for (const std::uint32_t tiles : tile_counts)
    each_run(runs, tiles, [&](configuration of, const heap_run&, const heap_run& its) {
      table.lines.push_back({std::string{name(of)}, fmt::format("{}", tiles), millions(its.cycles),
                             millions(its.stalls()), millions(its.code_cycles), millions(its.walk_cycles),
                             millions(its.remote_cycles), millions(its.l2_miss_cycles),
                             millions(its.other_data_cycles()), fmt::format("{:.2f}", its.stalls() / its.bundles)});
    });
  part.grids.push_back(std::move(table));
  grid excess{"where the cycles beyond one tile's come from, of one tile's",
              {"configuration", "tiles", "excess", "DTLB", "other tiles' words", "code", "own L2 misses", "the rest"},
              {}};
  for (const std::uint32_t tiles : {2U, 56U})
    each_run(runs, tiles, [&](configuration of, const heap_run& one, const heap_run& its) {
      const auto share = [&](double cycles) { return cycles / one.cycles; };
      const double dtlb = share(its.walk_cycles - one.walk_cycles), words = share(its.remote_cycles),
                   code = share(its.code_cycles - one.code_cycles),
                   misses = share(its.l2_miss_cycles - one.l2_miss_cycles), all = share(its.cycles - one.cycles);
      const auto x = [](double of_one) { return fmt::format("{:+.2f}", of_one); };
      excess.lines.push_back({std::string{name(of)}, fmt::format("{}", tiles), x(all), x(dtlb), x(words), x(code),
                              x(misses), x(all - dtlb - words - code - misses)});
    });
  part.grids.push_back(std::move(excess));
  part.notes = {
      "The rest: instructions of passing the baton, its stores, which the first cache writes through, and the ways of "
      "messages.",
      "Counts are those of all tiles. While one exchanges objects (become:), all others wait and poll, and their waits "
      "count, too: with 56 tiles columns sum to more than the excess, and the rest is negative."};
  return part;
}

study_part functions(const heap_runs& runs) {
  study_part part{.name = "functions", .title = "Stalls by function (figure 11)"};
  const heap_run *one = runs.find(small_pages_and_clock, 1), *two = runs.find(small_pages_and_clock, 2);
  if (one == nullptr || two == nullptr) return part;
  struct line {
    std::string name;
    double before = 0, after = 0;
  };
  std::vector<line> lines{{"(the handler of DTLB misses, within the others')", one->walk_cycles, two->walk_cycles}};
  const auto before = stalls_by_function(*one), after = stalls_by_function(*two);
  std::map<std::string, line> all;
  for (const auto& [function, stalls] : before) all[function] = {function, stalls, 0};
  for (const auto& [function, stalls] : after) all[function].name = function, all[function].after = stalls;
  for (const auto& [function, of] : all) lines.push_back(of);
  std::ranges::stable_sort(lines, std::greater{}, [](const line& of) { return of.after - of.before; });
  grid table{"thousands of cycles waited in an evaluation, 64 KB pages and clock calls: where they grow most",
             {"function", "one tile", "two tiles", "growth"},
             {}};
  for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 10); ++i) {
    const line& of = lines[i];
    table.lines.push_back(
        {of.name, count(of.before / 1e3), count(of.after / 1e3), count((of.after - of.before) / 1e3)});
  }
  part.grids.push_back(std::move(table));
  std::string order;
  for (const std::string_view each : paper_functions) order += fmt::format("{}{}", order.empty() ? "" : ", ", each);
  part.notes = {
      fmt::format("The paper's order: {}.", order),
      "Here bytecodes and classes are fetched in the loop itself, whose code the compiler has inlined; a clock call is "
      "instructions alone, so it waits for nothing."};
  return part;
}

study_part traffic(const heap_runs& runs) {
  study_part part{.name = "traffic", .title = "Batons, and words of other tiles"};
  for (const predicted_batons& each : all_predicted_batons)
    for (const auto& [of, before] :
         {std::pair{huge_pages, each.otherwise}, std::pair{all_in_one_heap, each.in_one_heap}})
      if (const heap_run* const its = runs.find(of, each.tiles); its != nullptr)
        part.rows.push_back({.what = fmt::format("batons: {}, {} tiles", name(of), each.tiles),
                             .unit = "an evaluation",
                             .ours = its->batons,
                             .from = origin::predicted,
                             .remark = fmt::format("predicted before: {:.0f}", before)});
  grid table{"of the last evaluation",
             {"configuration", "tiles", "bytecodes", "sends", "batons", "cycles a bytecode", "other tiles' words",
              "DTLB misses", "L1I misses", "L1D misses", "L2 misses", "stores"},
             {}};
  for (const std::uint32_t tiles : tile_counts)
    each_run(runs, tiles, [&](configuration of, const heap_run&, const heap_run& its) {
      table.lines.push_back({std::string{name(of)}, fmt::format("{}", tiles), count(its.bytecodes), count(its.sends),
                             count(its.batons), fmt::format("{:.0f}", its.cycles / its.bytecodes),
                             count(its.remote_reads), count(its.walks), count(its.l1i_misses), count(its.l1d_misses),
                             count(its.l2_misses), count(its.stores)});
    });
  part.grids.push_back(std::move(table));
  return part;
}

study_part coherence(const study_context& context) {
  study_part part{.name = "coherence", .title = "What a tile sees of another one's stores"};
  context.tell("coherence");
  const coherence_run found = check_coherence(context);
  if (!found.missing.empty()) part.missing.push_back(found.missing);
  if (!found.said.empty()) part.notes = {fmt::format("All read-mostly, split, each read checked: {}", found.said)};
  return part;
}

}  // namespace situ::studies::manycore
