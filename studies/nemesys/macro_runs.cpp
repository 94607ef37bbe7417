#include "nemesys/macro_runs.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "os/find_program.h"
#include "os/output_file.h"
#include "support/child_program.h"
#include "support/machine_files.h"

namespace situ::studies::nemesys {
namespace {

using nlohmann::json;

enum class machine_size : std::uint8_t { whole, small };

struct variant_facts {
  std::string_view name;
  std::string_view transfer;
  machine_size machine = machine_size::whole;
  std::uint32_t memories = 1;
  std::uint32_t l2_way_kib = 128;
  bool is_timed = false;
  std::vector<std::string> options = {};
};

const std::array<variant_facts, variant_count>& all_variants() {
  static const std::array<variant_facts, variant_count> facts{{
      {.name = "MP-single", .transfer = "message"},
      {.name = "MP-twin", .transfer = "message", .memories = 2},
      {.name = "Pegasus-single", .transfer = "pull"},
      {.name = "Pegasus-twin", .transfer = "pull", .memories = 2},
      {.name = "NEMESYS-single", .transfer = "offload"},
      {.name = "NEMESYS-twin", .transfer = "offload", .memories = 2},
      {.name = "no dummies", .transfer = "offload", .options = {"--no-dummy-allocations"}},
      {.name = "noNCA", .transfer = "offload", .options = {"--graph-units", "copy-only"}},
      {.name = "MP 2x2", .transfer = "message", .machine = machine_size::small},
      {.name = "Pegasus 2x2", .transfer = "pull", .machine = machine_size::small},
      {.name = "NEMESYS 2x2", .transfer = "offload", .machine = machine_size::small},
      {.name = "Pegasus, L2 4x8 KiB", .transfer = "pull", .l2_way_kib = 8},
      {.name = "Pegasus, L2 4x16 KiB", .transfer = "pull", .l2_way_kib = 16},
      {.name = "NEMESYS, L2 4x8 KiB", .transfer = "offload", .l2_way_kib = 8},
      {.name = "NEMESYS, L2 4x16 KiB", .transfer = "offload", .l2_way_kib = 16},
      {.name = "Pegasus-single, timed", .transfer = "pull", .is_timed = true},
      {.name = "Pegasus-twin, timed", .transfer = "pull", .memories = 2, .is_timed = true},
      {.name = "NEMESYS-single, timed", .transfer = "offload", .is_timed = true},
      {.name = "NEMESYS-twin, timed", .transfer = "offload", .memories = 2, .is_timed = true},
  }};
  return facts;
}
const variant_facts& facts_of(variant of) { return all_variants()[static_cast<std::size_t>(of)]; }

constexpr std::array<std::size_t, 3> quick_kernels{3, 6, 11};  // DR, LCR, VC
constexpr double cycle_ps = 20'000;                            // of 50 MHz

double number(const json& part, const char* key) { return part.at(key).get<double>(); }

bool is_of(const json& part, std::string_view kind, std::string_view name) {
  return part.at("kind").get<std::string>() == kind && part.at("part").get<std::string>().starts_with(name);
}

// The sum of a counter over parts of a kind whose names begin so.
double sum_of(const json& parts, std::string_view kind, std::string_view name, const char* key) {
  double sum = 0;
  for (const json& each : parts)
    if (is_of(each, kind, name)) sum += number(each, key);
  return sum;
}
double count_of(const json& parts, std::string_view kind, std::string_view name) {
  double count = 0;
  for (const json& each : parts) count += is_of(each, kind, name) ? 1 : 0;
  return count;
}

double quotient(double a, double b) { return b > 0 ? a / b : 0; }

const json& region_of(const json& report) {
  for (const json& each : report.at("regions"))
    if (each.at("name") == "compute") return each;
  throw_error(errc::bad_file, "the report of a modelled run has no region \"compute\"");
}

void read_parts(kernel_run& made, const json& parts, double ps, std::uint32_t memories) {
  constexpr const char* tile = "compute tile";
  const double tiles = count_of(parts, "bus", tile);
  made.bus_load = sum_of(parts, "bus", tile, "busy_ps") / tiles / ps;
  made.adapter_use = sum_of(parts, "adapter", tile, "busy_ps") / tiles / ps;
  made.load_cycles =
      quotient(sum_of(parts, "adapter", tile, "load_ps"), sum_of(parts, "adapter", tile, "loads")) / cycle_ps;
  made.store_cycles =
      quotient(sum_of(parts, "adapter", tile, "store_ps"), sum_of(parts, "adapter", tile, "stores")) / cycle_ps;
  made.loads = sum_of(parts, "adapter", tile, "loads");
  made.stores = sum_of(parts, "adapter", tile, "stores");
  made.atomics = sum_of(parts, "adapter", tile, "atomics");
  const double used = memories;
  const double busy = sum_of(parts, "memory", "dram", "busy_ps");
  const double of_units = sum_of(parts, "memory", "dram", "unit_busy_ps");
  made.memory_use = busy / used / ps;
  made.via_unit = of_units / used / ps;
  made.via_adapter = (busy - of_units) / used / ps;
  made.megabytes =
      (sum_of(parts, "memory", "dram", "read_bytes") + sum_of(parts, "memory", "dram", "written_bytes")) / 1e6;
  made.unit_use = sum_of(parts, "graph unit", "graph copy", "busy_ps") / used / ps;
}

std::string text_of(const std::string& file) {
  std::ifstream stream{file};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

std::string_view name(variant of) noexcept { return facts_of(of).name; }

kernel_run read_run(const std::string& report, const std::string& program, std::uint32_t memories) {
  try {
    const json machine = json::parse(report), own = json::parse(program);
    const json& kernel = own.at("kernels").at(0);
    if (!kernel.at("validated").get<bool>()) throw_error(errc::bad_file, "imsuite's answer is wrong");
    const json& region = region_of(machine);
    const double ps = number(region, "modelled_ps");
    kernel_run made{.seconds = ps * 1e-12};
    if (kernel.contains("ats")) {
      made.at_seconds = number(kernel.at("ats"), "at_seconds");
      made.com_seconds = made.at_seconds - number(kernel.at("ats"), "function_seconds");
    }
    read_parts(made, region.at("parts"), ps, memories);
    double waited = 0, busy = 0;
    for (const json& core : region.at("cores")) {
      waited += number(core, "to_machine_ps") + number(core, "fetch_ps");
      busy += ps - number(core, "idle_ps");
    }
    made.memory_bound = quotient(waited, busy);
    return made;
  } catch (const json::exception& e) {
    throw_error(errc::bad_file, fmt::format("the report of a modelled run is not what it was: {}", e.what()));
  }
}

std::string machine_file(variant of, const run_choice& choice) {
  const variant_facts& facts = facts_of(of);
  const bool is_small = facts.machine == machine_size::small;
  const std::string_view small = choice.is_fitted ? nemesys_2x2_fitted_toml() : nemesys_2x2_toml();
  std::string text{is_small ? small : choice.is_fitted ? nemesys_4x4_fitted_toml() : nemesys_4x4_toml()};
  if (facts.l2_way_kib == 128) return text;
  const std::string_view l2 = "size = \"512 KiB\"";
  const std::size_t at = text.find(l2);
  if (at == std::string::npos || text.find(l2, at + 1) != std::string::npos)
    throw_error(errc::bad_file, "the machine's file has not one cache of 512 KiB, its L2");
  return text.replace(at, l2.size(), fmt::format("size = \"{} KiB\"", 4 * facts.l2_way_kib));
}

macro_runs::macro_runs(const study_context& context, const run_choice& choice) {
  if (std::string missing = missing_programs({"situ", "situ-model", "imsuite_modelled"}); !missing.empty()) {
    missing_.push_back(std::move(missing));
    return;
  }
  const std::string situ = os::find_own_program("situ"), program = os::find_own_program("imsuite_modelled");
  struct task {
    std::size_t kernel;
    variant of;
  };
  std::vector<task> tasks;
  std::vector<variant> variants = choice.variants;
  for (std::size_t v = 0; v < variant_count && choice.variants.empty(); ++v)
    variants.push_back(static_cast<variant>(v));
  for (const variant v : variants)
    for (std::size_t k = 0; k < kernel_names.size(); ++k)
      if (!context.is_quick || std::ranges::find(quick_kernels, k) != quick_kernels.end()) tasks.push_back({k, v});

  const study_folder folder;
  for (const variant v : variants)
    situ::detail::write_file(folder.file(fmt::format("{}.toml", static_cast<int>(v))), machine_file(v, choice));
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  std::size_t finished = 0;
  const auto run = [&](const task& what) {
    const variant_facts& facts = facts_of(what.of);
    const std::string_view kernel = kernel_names[what.kernel].kernel;
    const std::string base = folder.file(fmt::format("{}-{}", kernel, static_cast<int>(what.of)));
    std::vector<std::string> arguments{situ,
                                       "model",
                                       "run",
                                       "--machine",
                                       folder.file(fmt::format("{}.toml", static_cast<int>(what.of))),
                                       "-n",
                                       facts.machine == machine_size::small ? "3" : "14",
                                       "--memories",
                                       std::to_string(facts.memories),
                                       "--quiet",
                                       "--json",
                                       base + ".machine.json"};
    arguments.insert(arguments.end(), facts.options.begin(), facts.options.end());
    if (facts.machine == machine_size::whole)
      for (const std::string& each : choice.settings) arguments.insert(arguments.end(), {"--set", each});
    for (const std::string& each : {program, std::string{kernel}, std::string{"--transfer"},
                                    std::string{facts.transfer}, std::string{"--json"}, base + ".json"})
      arguments.push_back(each);
    if (facts.is_timed) arguments.emplace_back("--timers");
    std::optional<kernel_run> read;
    std::string why;
    try {
      const program_result result = run_program(arguments, context.is_stopped);
      if (result.was_stopped) return;
      if (result.exit_code != 0)
        throw_error(errc::bad_launch, fmt::format("ended with {}: {}", result.exit_code,
                                                  result.errors.substr(0, result.errors.find('\n'))));
      read = read_run(text_of(base + ".machine.json"), text_of(base + ".json"), facts.memories);
    } catch (const error& e) {
      why = fmt::format("{} by {}: {}", kernel, facts.name, e.message());
    }
    const std::lock_guard lock{mutex};
    if (read) runs_[{what.kernel, what.of}] = *read;
    if (!why.empty()) missing_.push_back(std::move(why));
    context.tell(fmt::format("{} of {} runs of kernels: {}, {}", ++finished, tasks.size(), facts.name, kernel));
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < tasks.size() && !context.stopped(); at = next++) run(tasks[at]);
    });
  for (std::jthread& each : workers) each.join();
}

const kernel_run* macro_runs::find(std::size_t kernel, variant of) const {
  const auto found = runs_.find({kernel, of});
  return found == runs_.end() ? nullptr : &found->second;
}

std::vector<std::size_t> macro_runs::kernels(const std::vector<variant>& needed) const {
  std::vector<std::size_t> made;
  for (std::size_t k = 0; k < kernel_names.size(); ++k)
    if (std::ranges::all_of(needed, [&](variant each) { return find(k, each) != nullptr; })) made.push_back(k);
  return made;
}

}  // namespace situ::studies::nemesys
