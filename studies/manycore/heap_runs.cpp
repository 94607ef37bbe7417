#include "manycore/heap_runs.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "os/find_program.h"
#include "os/output_file.h"
#include "support/child_program.h"
#include "support/machine_files.h"

namespace situ::studies::manycore {
namespace {

using nlohmann::json;
using enum configuration;

// A method is parsed and compiled, as in the paper's Compiler Benchmark; nothing of the answer is kept.
constexpr const char* benchmark =
    "((Compiler new compile: 'insertSorted: anObject from: start | i j | i := start. j := self size. [i < j] "
    "whileTrue: [| m | m := i + j // 2. (self at: m) < anObject ifTrue: [i := m + 1] ifFalse: [j := m]]. self add: "
    "anObject beforeIndex: (i max: 1). (i = 1 and: [self isEmpty not]) ifTrue: [^ self do: [:each | each printString "
    "size + 1 + i]]. ^ anObject' in: OrderedCollection notifying: nil ifFail: [nil]) generate: #(0 0 0 0)) isNil";
constexpr const char* benchmark_answer = "false";
constexpr std::uint32_t evaluations = 3;  // the first one finds nothing in any cache
constexpr double cycle_ps = 1e6 / 700;    // of 700 MHz

struct configuration_facts {
  std::string_view name;
  bool has_huge_pages;
  std::vector<std::string> options;  // of the program, if there are several tiles: one tile passes no baton
};
const std::array<configuration_facts, configuration_count>& all_facts() {
  static const std::array<configuration_facts, configuration_count> facts{{
      {"64 KB pages, clock calls", false, {}},
      {"64 KB pages", false, {}},
      {"16 MB pages", true, {}},
      {"methods read-mostly", true, {"--read-mostly", "methods"}},
      {"all read-mostly, one heap", true, {"--read-mostly", "all", "--one-heap"}},
      {"all read-mostly, split", true, {"--read-mostly", "all"}},
  }};
  return facts;
}
const configuration_facts& facts_of(configuration of) { return all_facts()[static_cast<std::size_t>(of)]; }

// With one tile there are two kinds of run: all objects are its own, and there is no baton.
configuration as_run(configuration of, std::uint32_t tiles) {
  if (tiles > 1) return of;
  return facts_of(of).has_huge_pages ? huge_pages : small_pages;
}

double number(const json& part, const char* key) { return part.at(key).get<double>(); }

double sum_of(const json& parts, std::string_view kind, std::string_view name, const char* key) {
  double sum = 0;
  for (const json& each : parts)
    if (each.at("kind").get<std::string>() == kind && each.at("part").get<std::string>().starts_with(name))
      sum += each.value(key, 0.0);
  return sum;
}

double sum_of_cores(const json& region, const char* key) {
  double sum = 0;
  for (const json& each : region.at("cores")) sum += number(each, key);
  return sum;
}

const json& region_of(const json& report, std::string_view name) {
  for (const json& each : report.at("regions"))
    if (each.at("name") == name) return each;
  throw_error(errc::bad_file, fmt::format("the report of a modelled run has no region {}", name));
}

// Returns what a region has counted. Its cycles are the time that passed.
heap_run counts_of(const json& region) {
  heap_run made;
  const json& parts = region.at("parts");
  made.cycles = number(region, "modelled_ps") / cycle_ps;
  made.bundles = sum_of_cores(region, "instructions");
  made.stores = sum_of_cores(region, "writes");
  made.code_cycles = sum_of_cores(region, "fetch_ps") / cycle_ps;
  made.data_cycles = sum_of_cores(region, "to_machine_ps") / cycle_ps;
  made.walks = sum_of(parts, "tlb", "DTLB", "misses");
  made.walk_cycles = sum_of(parts, "tlb", "DTLB", "walk_ps") / cycle_ps;
  made.remote_reads = sum_of(parts, "adapter", "tile", "homed_reads");
  made.l2_misses = sum_of(parts, "cache", "L2", "misses");
  made.l2_miss_cycles = sum_of(parts, "cache", "L2", "pure_miss_ps") / cycle_ps;
  made.l1i_misses = sum_of(parts, "cache", "L1i", "misses");
  made.l1d_misses = sum_of(parts, "cache", "L1d", "misses");
  // An adapter's loads are those of its L2's misses, and words of other tiles.
  const double loads = sum_of(parts, "adapter", "tile", "load_ps") / cycle_ps;
  made.remote_cycles = made.remote_reads > 0 ? std::max(0.0, loads - made.l2_miss_cycles) : 0;
  return made;
}

void read_functions(heap_run& made, const json& profile) {
  for (const json& each : profile)
    made.functions.push_back({each.at("function"), number(each, "ps") / cycle_ps / made.evaluations,
                              number(each, "in_machine_ps") / cycle_ps / made.evaluations});
  std::ranges::stable_sort(made.functions, std::greater{}, &function_cycles::stalls);
}

std::string text_of(const std::string& file) {
  std::ifstream stream{file};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<std::pair<configuration, std::uint32_t>> wanted_runs(bool is_quick) {
  std::vector<std::pair<configuration, std::uint32_t>> made;
  for (auto tiles = tile_counts.rbegin(); tiles != tile_counts.rend(); ++tiles) {  // the longest first
    if (is_quick && *tiles > 2) continue;
    for (std::size_t i = 0; i < configuration_count; ++i) {
      const auto of = static_cast<configuration>(i);
      if (as_run(of, *tiles) == of) made.push_back({of, *tiles});
    }
  }
  return made;
}

}  // namespace

std::string image_path() {
  const char* const named = std::getenv("SITU_SQUEAK_IMAGE");
  return named != nullptr ? named : "/usr/share/scratch/Scratch.image";
}

std::string missing_image() {
  if (std::filesystem::exists(image_path())) return {};
  std::string why =
      fmt::format("there is no {}: install Debian's package scratch, or set SITU_SQUEAK_IMAGE", image_path());
  if (std::getenv("SITU_SQUEAK_IS_NEEDED") != nullptr) throw_error(errc::bad_file, why);
  return why;
}

std::string_view name(configuration of) noexcept { return facts_of(of).name; }

heap_run read_run(const std::string& report, const std::string& program) {
  try {
    const json machine = json::parse(report), own = json::parse(program);
    heap_run made = counts_of(region_of(machine, "last"));
    made.evaluations = static_cast<std::uint32_t>(own.size());
    const json& last = own.at(own.size() - 1);
    if (!last.at("ok").get<bool>() || last.at("answer") != benchmark_answer)
      throw_error(errc::bad_file, "the benchmark's answer is wrong");
    made.bytecodes = number(last, "bytecodes");
    made.sends = number(last, "sends");
    made.batons = number(last, "batons");
    read_functions(made, machine.at("profile"));
    return made;
  } catch (const json::exception& e) {
    throw_error(errc::bad_file, fmt::format("the report of a modelled run is not what it was: {}", e.what()));
  }
}

std::vector<std::string> heap_runs::arguments_of(const wanted_run& what, const std::string& machine,
                                                 const std::string& report) const {
  const configuration_facts& facts = facts_of(what.of);
  std::vector<std::string> made{os::find_own_program("situ"),
                                "model",
                                "run",
                                "--machine",
                                machine,
                                "--places",
                                std::to_string(what.tiles),
                                "--fast-forward",
                                "evaluations",
                                "--set",
                                fmt::format("core.dtlb.walk_instructions={}", walk_instructions),
                                "--profile",
                                "--quiet",
                                "--json",
                                report};
  if (facts.has_huge_pages) made.insert(made.end(), {"--set", "core.dtlb.page=16MiB"});
  for (const std::string& each :
       {os::find_own_program("squeak_modelled"), image_path(), std::string{"--repeat"}, std::to_string(evaluations),
        std::string{"--count"}, std::string{"--json"}, std::string{"--evaluate"}, std::string{benchmark}})
    made.push_back(each);
  if (what.tiles > 1) made.insert(made.end(), facts.options.begin(), facts.options.end());
  if (what.of == small_pages_and_clock) made.insert(made.end(), {"--clock-call", std::to_string(clock_rounds_)});
  return made;
}

heap_runs::heap_runs(const study_context& context) {
  std::vector<wanted_run> first, with_clock;
  for (const auto& [of, tiles] : wanted_runs(context.is_quick))
    (of == small_pages_and_clock ? with_clock : first).push_back({of, tiles});
  run(context, first);
  calibrate();
  if (clock_rounds_ != 0) run(context, with_clock);
}

void heap_runs::calibrate() {
  const heap_run *one = find(small_pages, 1), *two = find(small_pages, 2);
  if (one == nullptr || two == nullptr || two->batons == 0) return;
  const double rounds = (paper_bundles * one->bundles - two->bundles) / two->batons / clock_round_instructions;
  clock_rounds_ = static_cast<std::uint32_t>(std::max(1.0, std::round(rounds)));
}

void heap_runs::run(const study_context& context, const std::vector<wanted_run>& tasks) {
  const study_folder folder;
  const std::string machine = folder.file("tile64.toml");
  situ::detail::write_file(machine, std::string{tile64_toml()});
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  std::size_t finished = 0;
  const auto run_one = [&](std::size_t number) {
    const wanted_run& what = tasks[number];
    const std::string report = folder.file(fmt::format("{}.json", number));
    std::optional<heap_run> read;
    std::string why;
    try {
      const program_result result = run_program(arguments_of(what, machine, report), context.is_stopped);
      if (result.was_stopped) return;
      if (result.exit_code != 0)
        throw_error(errc::bad_launch, fmt::format("ended with {}: {}", result.exit_code, first_line(result.errors)));
      read = read_run(text_of(report), result.output);
    } catch (const error& e) {
      why = fmt::format("{} with {} tiles: {}", name(what.of), what.tiles, e.message());
    }
    const std::lock_guard lock{mutex};
    if (read) runs_[{what.of, what.tiles}] = *std::move(read);
    if (!why.empty()) missing_.push_back(std::move(why));
    context.tell(fmt::format("{} of {} runs: {}, {} tiles", ++finished, tasks.size(), name(what.of), what.tiles));
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < tasks.size() && !context.stopped(); at = next++) run_one(at);
    });
}

const heap_run* heap_runs::find(configuration of, std::uint32_t tiles) const {
  const auto found = runs_.find({as_run(of, tiles), tiles});
  return found == runs_.end() ? nullptr : &found->second;
}

double heap_runs::ratio(configuration of, std::uint32_t tiles) const {
  const heap_run *many = find(of, tiles), *one = find(of, 1);
  return many != nullptr && one != nullptr ? many->cycles / one->cycles : 0;
}

coherence_run check_coherence(const study_context& context) {
  const study_folder folder;
  const std::string machine = folder.file("tile64.toml");
  situ::detail::write_file(machine, std::string{tile64_toml()});
  const program_result result = run_program(
      {os::find_own_program("situ"), "model", "run", "--machine", machine, "--places", context.is_quick ? "2" : "4",
       "--check-coherence", "--quiet", os::find_own_program("squeak_modelled"), image_path(), "--read-mostly", "all",
       "--evaluate", context.is_quick ? "3 + 4" : benchmark},
      context.is_stopped);
  if (result.was_stopped) return {};
  const std::size_t at = result.errors.find("coherence: ");
  if (result.exit_code != 0 || at == std::string::npos)
    return {.said = {}, .missing = fmt::format("ended with {}: {}", result.exit_code, first_line(result.errors))};
  return {.said = first_line(result.errors.substr(at)), .missing = {}};
}

}  // namespace situ::studies::manycore
