// `situ topo`: draws this machine, a recorded one or a specified one, and measures this one.
#include "base/json.h"
#include "base/print.h"
#include "commands.h"
#include "machine_source.h"
#include "pages/placer.h"
#include "running_jobs.h"

#include <situ/base/error.h>
#include <situ/base/units.h>
#include <situ/machine/machine.h>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace machine = situ::machine;
using situ::detail::json;
using situ::detail::print_out;
using situ::detail::tell;

struct topo_options {
  machine::view_detail view = machine::view_detail::of(machine::view_kind::full);
  machine_source source;
  bool toml = false;
  bool json = false;
  bool measure = false;
  bool orderings = false;
  bool fill = false;
  bool jobs = false;
  bool all = false;
  bool ascii = false;
  bool within_affinity = false;
  std::uint32_t max_cores = 16;
  double seconds = 0.5;
};

constexpr const char* topo_examples =
    "Examples:\n"
    "  situ topo                                       this machine as a tree\n"
    "  situ topo --view numa                           only memories and the cores near them\n"
    "  situ topo --view memories,l3                    memories, L3 caches and cores\n"
    "  situ topo --fill --jobs                         and how full each memory is, and what running jobs have of it\n"
    "  situ topo --measure                             with measured latency, bandwidth and core-to-core round trips\n"
    "  situ topo --measure --toml > here.toml          a machine file of this machine, with measured figures, for "
    "`situ model run`\n"
    "  situ topo --machine knl-7210-flat --orderings\n"
    "                                                  where an allocation goes for each intent\n"
    "  situ topo --synthetic 'pack:2 [numa] core:4 pu:2'\n"
    "  lstopo other.xml; situ topo --xml other.xml     a machine recorded elsewhere with hwloc";

// Tells from the locale whether the terminal can show UTF-8.
bool locale_is_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    std::string name{value};
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
  }
  return false;
}

machine::measurements measure(const machine::tree& tree, const topo_options& options) {
  machine::measure_options how;
  how.max_cores = options.max_cores;
  how.seconds_per_pair = options.seconds;
  if (isatty(STDERR_FILENO) != 0)
    how.progress = [](std::string_view what, std::size_t done, std::size_t total) {
      if (done == total)
        tell("\r\033[K");
      else
        tell("\r\033[K[{}/{}] {}", done + 1, total, what);
    };
  return machine::measure(tree, how);
}

std::string ns_text(const machine::sample_summary& d) {
  return fmt::format("{:>9} {:>9} {:>9}", situ::format_nanoseconds(d.median), situ::format_nanoseconds(d.p10),
                     situ::format_nanoseconds(d.p90));
}

std::string rate_text(const machine::sample_summary& d) {
  if (d.samples == 0) return "-";
  return situ::format_bandwidth(static_cast<std::uint64_t>(d.median));
}

void print_latencies(const machine::tree& tree, const machine::measurements& measured) {
  if (measured.latencies.empty()) return;
  print_out("\nLatency of one dependent load{:>21}{:>10}{:>10}\n", "median", "p10", "p90");
  for (const auto& result : measured.latencies)
    print_out("  {:<12} from {:<8} over {:<9} {}\n", tree.label(result.where), tree.label(result.from),
              situ::format_bytes(result.working_set_bytes), ns_text(result.ns));
}

void print_bandwidths(const machine::tree& tree, const machine::measurements& measured) {
  if (measured.bandwidths.empty()) return;
  print_out("\nBandwidth, median{:>33}{:>12}{:>12}\n", "read", "copy", "triad");
  for (const auto& result : measured.bandwidths)
    print_out("  {:<12} {:>3} thread{} over {:<9} {:>12}{:>12}{:>12}\n", tree.label(result.memory), result.threads,
              result.threads == 1 ? " " : "s", situ::format_bytes(result.working_set_bytes), rate_text(result.read),
              rate_text(result.copy), rate_text(result.triad));
}

void print_ping_pongs(const machine::tree& tree, const machine::measurements& measured) {
  if (measured.ping_pongs.empty()) return;
  std::vector<machine::node_id> ends;
  for (const auto& result : measured.ping_pongs)
    for (const machine::node_id id : {result.a, result.b})
      if (std::find(ends.begin(), ends.end(), id) == ends.end()) ends.push_back(id);
  print_out("\nCore-to-core round trip, median in ns\n{:10}", "");
  for (const machine::node_id id : ends) print_out("{:>8}", fmt::format("os {}", tree.at(id).os_index));
  print_out("\n");
  for (const machine::node_id row : ends) {
    print_out("  {:<8}", fmt::format("os {}", tree.at(row).os_index));
    for (const machine::node_id column : ends) {
      const auto found = std::find_if(measured.ping_pongs.begin(), measured.ping_pongs.end(), [&](const auto& result) {
        return (result.a == row && result.b == column) || (result.a == column && result.b == row);
      });
      print_out("{:>8}", found == measured.ping_pongs.end() ? "-" : fmt::format("{:.0f}", found->round_trip_ns.median));
    }
    print_out("\n");
  }
  for (const auto& result : measured.ping_pongs) {
    const std::string pair = fmt::format("os {} - os {}", tree.at(result.a).os_index, tree.at(result.b).os_index);
    const auto& d = result.round_trip_ns;
    if (ends.size() <= 4 || result.split)
      print_out("  {:<14} p10 {:.0f}, median {:.0f}, p90 {:.0f} ns ({} samples)\n", pair, d.p10, d.median, d.p90,
                d.samples);
    if (result.split)
      print_out(
          "  {:<14} two regimes: {:.0f} ns ({:.0f}..{:.0f}) in {:.0f}% of the samples, {:.0f} ns ({:.0f}..{:.0f}) in "
          "the others\n",
          "", result.split->low.median, result.split->low.p10, result.split->low.p90, 100 * result.split->low_share,
          result.split->high.median, result.split->high.p10, result.split->high.p90);
  }
}

void print_core(const machine::tree& tree, const machine::core_result& core) {
  const machine::instruction_cycles& c = core.cycles;
  print_out(
      "\nA core, {}: {:.2f} GHz\n  cycles: integer {}, multiply {}, divide {}, floating {}, branch {}, call or return "
      "{}, a branch not foreseen {}\n",
      tree.label(core.from), static_cast<double>(core.hertz) * 1e-9, c.integer, c.multiply, c.divide, c.floating,
      c.branch, c.call, c.mispredict);
  print_out("  width: {} instructions of several classes a cycle\n", core.width);
  if (core.dtlb.entries > 0)
    print_out("  addresses translated without a wait: {} of {} pages; beyond, {} cycles\n",
              situ::format_bytes(core.dtlb.entries * core.dtlb.page_bytes), situ::format_bytes(core.dtlb.page_bytes),
              core.dtlb.walk_cycles);
  print_out("  past a miss: {} instructions, {} loads that miss, {} stores\n",
            core.window == 0 ? "any number of" : fmt::format("{}", core.window), core.misses, core.store_buffer);
  if (core.stream_count > 0)
    print_out("  fetched ahead: {} lines of {} streams, within {}; {} lines in all\n", core.stream_lines,
              core.stream_count, situ::format_bytes(core.stream_page_bytes), core.lines_in_all);
}

void print_measurements(const machine::tree& tree, const machine::measurements& measured) {
  print_latencies(tree, measured);
  print_bandwidths(tree, measured);
  if (measured.core) print_core(tree, *measured.core);
  for (const machine::capacity_result& each : measured.capacities)
    print_out("  one core's data finds {} of {}\n", situ::format_bytes(each.bytes), tree.label(each.cache));
  print_ping_pongs(tree, measured);
  for (const std::string& reason : measured.skipped) print_out("  not measured: {}\n", reason);
}

// Returns "hbm 0 > dram 0 > dram 1-3": memories of one rank and kind in one word.
std::string ordering_text(const machine::tree& tree, const situ::intent& what, machine::node_id from) {
  const std::vector<machine::ranked_memory> memories = machine::ordering(tree, what, from);
  std::string text;
  for (std::size_t i = 0; i < memories.size();) {
    const auto word = [&](std::size_t k) {
      const std::string label = tree.label(memories[k].memory);
      return label.substr(0, label.rfind(' '));
    };
    machine::processor_set numbers;  // only for its notation: "0-3,8"
    std::size_t next = i;
    while (next < memories.size() && memories[next].rank == memories[i].rank && word(next) == word(i))
      numbers.insert(tree.at(memories[next++].memory).index);
    if (i > 0) text += memories[i].rank == memories[i - 1].rank ? " = " : " > ";
    text += fmt::format("{} {}", word(i), numbers.to_string());
    i = next;
  }
  return text;
}

void print_orderings(const machine::tree& tree, bool all) {
  constexpr std::size_t few = 4;
  std::vector<machine::node_id> from_each = initiators(tree);
  const std::size_t count = from_each.size();
  if (!all) from_each.resize(std::min(count, few));
  for (const machine::node_id from : from_each) {
    print_out("\nOrderings seen from {}\n", tree.label(from));
    for (const situ::intent& what : machine::intents_of(tree))
      print_out("  {:<15}  {}\n", what.name(), ordering_text(tree, what, from));
  }
  if (from_each.size() < count) print_out("\n... and from {} more parts; --all lists them\n", count - from_each.size());
}

// Visits the addressable memories whose use the kernel reports.
template <class Visit>
void for_each_fill(const machine::tree& tree, Visit visit) {
  for (const machine::node_id id : tree.all(machine::node_kind::memory))
    if (tree.is_addressable(id))
      if (const auto use = situ::detail::use_of_node(tree.at(id).os_index)) visit(id, *use);
}

void print_fill(const machine::tree& tree) {
  print_out("\nMemories in use\n");
  for_each_fill(tree, [&](machine::node_id id, const situ::detail::memory_use& use) {
    print_out(
        "  {:<12} {:>10} of {:>10}, {:.1f} %\n", tree.label(id), situ::format_bytes(use.used_bytes),
        situ::format_bytes(use.total_bytes),
        100 * static_cast<double>(use.used_bytes) / static_cast<double>(std::max<std::uint64_t>(use.total_bytes, 1)));
  });
}

json fill_json(const machine::tree& tree) {
  json out = json::array();
  for_each_fill(tree, [&](machine::node_id id, const situ::detail::memory_use& use) {
    out.push({{"memory", id}, {"used_bytes", use.used_bytes}, {"total_bytes", use.total_bytes}});
  });
  return out;
}

void print_jobs() {
  const std::vector<running_job> jobs = find_running_jobs();
  print_out("\nMemory of running jobs, by intent{}\n", jobs.empty() ? ": none runs" : "");
  for (const running_job& job : jobs) {
    print_out("  process {}{}\n", job.launcher, job.is_any_program ? ", not a program of Situ's" : "");
    for (const held_memory& held : memory_of(job))
      print_out("    {:<10}{:<16} {:<16} {:>11}, {} at most\n", held.place ? fmt::format("place {}", *held.place) : "",
                held.intent, held.memory, situ::format_bytes(held.bytes), situ::format_bytes(held.most_bytes));
  }
}

json jobs_json() {
  json out = json::array();
  for (const running_job& job : find_running_jobs()) {
    json rows = json::array();
    for (const held_memory& held : memory_of(job)) {
      json row{
          {"intent", held.intent}, {"memory", held.memory}, {"bytes", held.bytes}, {"most_bytes", held.most_bytes}};
      if (held.place) row.set("place", *held.place);
      rows.push(std::move(row));
    }
    out.push({{"launcher", job.launcher}, {"is_any_program", job.is_any_program}, {"memories", std::move(rows)}});
  }
  return out;
}

json json_of(const machine::sample_summary& d) {
  return {{"median", d.median}, {"p10", d.p10}, {"p90", d.p90}, {"samples", d.samples}};
}

json json_of(const machine::ping_pong_result& r) {
  json row{{"a", r.a}, {"b", r.b}, {"round_trip_ns", json_of(r.round_trip_ns)}};
  if (r.split)
    row.set("regimes",
            {{"low", json_of(r.split->low)}, {"high", json_of(r.split->high)}, {"low_share", r.split->low_share}});
  return row;
}

json json_of(const machine::core_result& core) {
  const machine::instruction_cycles& c = core.cycles;
  json cycles{{"integer", c.integer}, {"multiply", c.multiply}, {"divide", c.divide},        {"floating", c.floating},
              {"branch", c.branch},   {"call", c.call},         {"mispredict", c.mispredict}};
  json dtlb{
      {"entries", core.dtlb.entries}, {"page_bytes", core.dtlb.page_bytes}, {"walk_cycles", core.dtlb.walk_cycles}};
  return {{"from", core.from},
          {"hertz", core.hertz},
          {"cycles", std::move(cycles)},
          {"width", core.width},
          {"dtlb", std::move(dtlb)},
          {"window", core.window},
          {"store_buffer", core.store_buffer},
          {"misses", core.misses},
          {"stream_count", core.stream_count},
          {"stream_lines", core.stream_lines},
          {"lines_in_all", core.lines_in_all},
          {"stream_page_bytes", core.stream_page_bytes}};
}

json json_of(const machine::measurements& measured) {
  json latencies = json::array(), bandwidths = json::array(), ping_pongs = json::array(), capacities = json::array();
  for (const auto& r : measured.latencies)
    latencies.push(
        {{"node", r.where}, {"from", r.from}, {"working_set_bytes", r.working_set_bytes}, {"ns", json_of(r.ns)}});
  for (const auto& r : measured.bandwidths)
    bandwidths.push({{"memory", r.memory},
                     {"threads", r.threads},
                     {"working_set_bytes", r.working_set_bytes},
                     {"read", json_of(r.read)},
                     {"copy", json_of(r.copy)},
                     {"triad", json_of(r.triad)}});
  for (const auto& r : measured.ping_pongs) ping_pongs.push(json_of(r));
  for (const auto& r : measured.capacities) capacities.push({{"cache", r.cache}, {"bytes", r.bytes}});
  json out{{"latencies", std::move(latencies)},
           {"bandwidths", std::move(bandwidths)},
           {"ping_pongs", std::move(ping_pongs)}};
  if (measured.core) out.set("core", json_of(*measured.core));
  if (!measured.capacities.empty()) out.set("capacities", std::move(capacities));
  out.set("skipped", measured.skipped);
  return out;
}

json orderings_json(const machine::tree& tree) {
  json out = json::array();
  for (const machine::node_id from : initiators(tree))
    for (const situ::intent& what : machine::intents_of(tree)) {
      json memories = json::array();
      for (const machine::ranked_memory& memory : machine::ordering(tree, what, from))
        memories.push({{"memory", memory.memory}, {"rank", memory.rank}});
      out.push({{"from", from}, {"intent", what.name()}, {"memories", std::move(memories)}});
    }
  return out;
}

void topo(const topo_options& options) {
  // Measurements name nodes of the full tree by id, and a view renumbers them.
  if (options.measure && options.json && options.view != machine::view_detail::of(machine::view_kind::full))
    throw CLI::ValidationError(
        "--view", "is full in JSON with measurements, whose ids are the full tree's; leave --view or --json out");
  machine::tree tree = options.source.load({.within_affinity = options.within_affinity});
  const machine::tree discovered = tree;
  machine::measurements measured;
  if (options.measure) {
    measured = measure(tree, options);
    tree = machine::with_measurements(tree, measured);
  }
  const machine::tree shown = machine::view(tree, options.view);
  if (options.toml) {
    print_out("{}",
              machine::to_toml(options.measure ? machine::view(machine::as_modelled(discovered, measured), options.view)
                                               : shown));
  } else if (options.json) {
    json out;
    out.set("machine", json::parse(machine::to_json(shown, -1)));
    if (options.orderings) out.set("orderings", orderings_json(shown));
    if (options.fill) out.set("fill", fill_json(shown));
    if (options.jobs) out.set("jobs", jobs_json());
    if (options.measure) out.set("measured", json_of(measured));
    print_out("{}\n", out.text(2));
  } else {
    print_out("{}", machine::draw(shown, {.unicode = !options.ascii && locale_is_utf8(),
                                          .collapse_from = options.all ? 0U : 4U}));
    if (options.orderings) print_orderings(shown, options.all);
    if (options.fill) print_fill(shown);
    if (options.jobs) print_jobs();
    if (options.measure) print_measurements(tree, measured);
  }
}

}  // namespace

void add_topo_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("topo", "Show the memories, caches and processors of a machine; measure this one");
  auto options = std::make_shared<topo_options>();
  command
      ->add_option_function<std::string>(
          "--view",
          [options](const std::string& text) {
            try {
              options->view = machine::parse_view(text);
            } catch (const situ::error& bad) {
              throw CLI::ValidationError("--view", std::string{bad.message()});
            }
          },
          "How much detail: full; numa: memories and cores; flat: cores in front of one memory of each kind; "
          "accelerators: flat, "
          "and "
          "accelerators with their memories; or a list as packages,memories,l3,links (full)")
      ->type_name("VIEW");
  auto* toml = command->add_flag("--toml", options->toml, "Write a machine file instead of a drawing");
  auto* json = command->add_flag("--json", options->json, "Write JSON instead of a drawing");
  toml->excludes(json);
  command
      ->add_flag("--orderings", options->orderings,
                 "List the memories in the order that each intent takes them by itself; `situ order show` adds what is "
                 "configured")
      ->excludes(toml);
  auto* fill =
      command->add_flag("--fill", options->fill, "How much of each memory of this machine is in use")->excludes(toml);
  auto* jobs =
      command->add_flag("--jobs", options->jobs, "What running jobs have of which memory, by intent")->excludes(toml);
  auto* measure = command->add_flag("--measure", options->measure,
                                    "Measure latency, bandwidth and core-to-core round trips of this machine");
  command->add_option("--cores", options->max_cores, "Round trips between the first N cores only (16)")
      ->type_name("N")
      ->needs(measure);
  command->add_option("--seconds", options->seconds, "Time for each pair of cores (0.5)")
      ->check(CLI::Range(0.001, 3600.0))
      ->type_name("S")
      ->needs(measure);
  command->add_flag("--all", options->all, "Draw every node, also those that look alike; list every ordering");
  command->add_flag("--ascii", options->ascii, "Draw with ASCII characters; the default where the locale is not UTF-8");
  auto* bound = command->add_flag("--bound", options->within_affinity,
                                  "Only the processors this command may run on, as set by taskset");
  options->source.add_to(*command, {measure, bound, fill, jobs});
  command->footer(topo_examples);
  command->callback([options] { topo(*options); });
}
