// `situ model`: programs on modelled machines.
#include "command_line.h"
#include "machine_file.h"
#include "model_compare.h"
#include "model_machines.h"
#include "model_replay.h"
#include "model_sweep.h"
#include "program_file.h"
#include "settings_before_main.h"

#include "base/print.h"
#include "os/child.h"
#include "os/find_program.h"
#include "os/output_file.h"

#include <situ/base/error.h>
#include <situ/machine/toml.h>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

struct model_run_options {
  std::string machine;
  std::uint32_t places = 1;
  std::uint64_t quantum_ns = 1000;
  bool strict = false;
  bool profile = false;
  bool objects = false;
  bool quiet = false;
  bool check_coherence = false;
  std::string fast_forward;
  std::string save;
  std::string save_after;
  std::string warm;
  bool functional_warming = false;
  std::string trace;
  std::string trace_format;
  std::string graph_units;
  std::string copy_map;
  bool no_dummies = false;
  std::uint32_t memories = 0;
  std::string intent;
  std::string json;
  std::string report;
  std::vector<std::string> settings;
  std::vector<std::string> sweeps;
  std::uint32_t jobs = 0;
};

constexpr const char* model_run_examples =
    "Examples:\n"
    "  situ model run --machine nemesys-4x4 -n 4 ./hello   four places, each on a tile\n"
    "  situ model run --machine flat ./program           the smallest machine: equal cores, one cache each\n"
    "  situ model run --machine nemesys-4x4 --sweep l2.size=64KiB,128KiB,256KiB ./program\n"
    "                                                    three machines, and a table\n"
    "  situ model run --machine nemesys-4x4 --fast-forward solve --functional-warming ./program\n"
    "                                                    prices region solve alone, with warm caches\n"
    "  situ model run --machine nemesys-4x4 --trace p.trace --trace-format ramulator-dram ./program\n"
    "                                                    what misses all caches, for a simulator of DRAM\n"
    "  situ model machines                               the machines that run programs\n"
    "  situ model assumed nemesys-4x4                    what of that machine has no source, and in which range it is\n"
    "  situ model compare before.json after.json         two reports of --json, by region and function\n"
    "The program is one that CMake's situ_add_modelled() built; of ./program and ./program_modelled the one that is.\n"
    "Exit code: the program's; 3 where it stands still for good, 2 where it cannot be run.";

// Returns the file to run: the name itself, or its modelled form next to it.
std::string find_modelled(const std::string& name) {
  if (const std::string beside = name + "_modelled";
      name.find('/') != std::string::npos && ::access(beside.c_str(), X_OK) == 0 && is_modelled_program(beside))
    return beside;
  const std::string file = situ::os::find_program(name);
  if (!is_modelled_program(file))
    situ::throw_error(situ::errc::bad_launch,
                      fmt::format("{} is not built for modelled machines: add situ_add_modelled(TARGET) after its "
                                  "add_executable, in a build that has Situ as a folder, and build TARGET_modelled",
                                  file));
  return file;
}

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

// Replaces this process by the program, so that a debugger finds it: returns only by an error. A sweep runs the
// program as its children instead.
void run(const model_run_options& options, std::vector<std::string> arguments) {
  if (arguments.empty()) throw CLI::ValidationError("PROGRAM", "is missing; see situ model run --help");
  if (arguments.front().starts_with("-"))
    throw CLI::ValidationError(arguments.front(), "is no option of situ model run; see situ model run --help");
  const std::string file = find_modelled(arguments.front());
  const std::string machine =
      machine_file_of(options.machine, [](const std::filesystem::path& file) { return missing_in(file).empty(); });
  set("SITU_MODEL_MACHINE", machine);
  set("SITU_MODEL_PLACES", std::to_string(options.places));
  set("SITU_MODEL_QUANTUM", std::to_string(options.quantum_ns));
  set("SITU_MODEL_STRICT", options.strict ? "1" : "0");
  set("SITU_MODEL_PROFILE", options.profile ? "1" : "0");
  set("SITU_MODEL_OBJECTS", options.objects ? "1" : "0");
  set("SITU_MODEL_QUIET", options.quiet ? "1" : "0");
  set("SITU_MODEL_COHERENCE", options.check_coherence ? "1" : "0");
  if (!options.fast_forward.empty()) set("SITU_MODEL_FAST_FORWARD", options.fast_forward);
  if (!options.save.empty()) set("SITU_MODEL_SAVE", options.save);
  if (!options.save_after.empty()) set("SITU_MODEL_SAVE_AFTER", options.save_after);
  if (!options.warm.empty()) set("SITU_MODEL_WARM", options.warm);
  set("SITU_MODEL_FUNCTIONAL_WARMING", options.functional_warming ? "1" : "0");
  if (!options.trace.empty()) set("SITU_MODEL_TRACE", options.trace);
  if (!options.trace_format.empty()) set("SITU_MODEL_TRACE_FORMAT", options.trace_format);
  set("SITU_MODEL_GRAPH_UNITS", options.graph_units);
  set("SITU_MODEL_COPY_MAP", options.copy_map);
  set("SITU_MODEL_DUMMIES", options.no_dummies ? "0" : "1");
  set("SITU_MODEL_MEMORIES", std::to_string(options.memories));
  if (!options.intent.empty()) set("SITU_MODEL_INTENT", options.intent);
  if (!options.json.empty()) set("SITU_MODEL_JSON", options.json);
  if (!options.report.empty()) set("SITU_MODEL_REPORT", options.report);
  if (!options.sweeps.empty()) {
    const int code = run_sweep({.sweeps = options.sweeps,
                                .settings = options.settings,
                                .jobs = options.jobs,
                                .json = options.json,
                                .machine = machine},
                               file, arguments);
    if (code != 0) throw CLI::RuntimeError(code);
    return;
  }
  std::string settings;
  for (const std::string& each : options.settings) settings += each + "\n";
  set("SITU_MODEL_SET", settings);
  for (const auto& [name, value] : settings_before_main(machine, options.settings)) set(name.c_str(), value);
  const int reason = situ::os::become_program(file, std::move(arguments));
  situ::throw_error(situ::errc::bad_launch, fmt::format("cannot start {}: {}", file, std::strerror(reason)));
}

struct assumed_options {
  std::string machine;
  std::string json;
};

void print_assumed(const assumed_options& options) {
  const std::string file = machine_file_of(options.machine);
  if (file == "flat" || file.starts_with("flat:"))
    situ::throw_error(situ::errc::bad_argument, "the flat machine has no file, and so no figures that a file assumes");
  std::vector<situ::machine::assumption> assumed;
  static_cast<void>(situ::machine::read_toml(file, nullptr, &assumed));
  if (!options.json.empty()) {
    nlohmann::ordered_json made = nlohmann::ordered_json::array();
    for (const situ::machine::assumption& each : assumed) {
      nlohmann::ordered_json entry{{"figure", each.figure}, {"value", each.value}};
      if (each.low.empty())
        entry["others"] = each.others;
      else
        entry["low"] = each.low, entry["high"] = each.high;
      entry["source"] = each.source;
      made.push_back(std::move(entry));
    }
    situ::detail::write_file(options.json, made.dump(2) + "\n");
  }
  if (assumed.empty()) situ::detail::print_out("{} marks no figure as assumed\n", file);
  std::size_t figure = 0, value = 0, range = 0;
  for (const situ::machine::assumption& each : assumed) {
    figure = std::max(figure, each.figure.size());
    value = std::max(value, each.value.size());
    range = std::max(range, situ::machine::range_of(each).size());
  }
  for (const situ::machine::assumption& each : assumed)
    situ::detail::print_out("{:<{}}  {:<{}}  {:<{}}  {}\n", each.figure, figure, each.value, value,
                            situ::machine::range_of(each), range, each.source);
}

void add_assumed_command(CLI::App& model) {
  CLI::App* command =
      model.add_subcommand("assumed", "The figures of a machine that have no source, with their ranges");
  auto options = std::make_shared<assumed_options>();
  command->add_option("machine", options->machine, "A machine's file, or one that comes with Situ by its name")
      ->required()
      ->type_name("FILE|NAME");
  command->add_option("--json", options->json, "Write them as JSON, too")->type_name("FILE");
  command->footer(
      "`situ model run --set FIGURE=low`, or `high`, runs on the machine with the end of a figure's range;\n"
      "`--sweep FIGURE=low,high` runs with both.");
  command->callback([options] { print_assumed(*options); });
}

void add_compare_command(CLI::App& model) {
  CLI::App* command =
      model.add_subcommand("compare", "Two reports side by side: two machines, or two versions of a program");
  auto options = std::make_shared<compare_options>();
  command->add_option("first", options->first, "A report that situ model run --json has written")
      ->required()
      ->type_name("FIRST.json");
  command->add_option("second", options->second, "The report that is compared with it")
      ->required()
      ->type_name("SECOND.json");
  command->add_option("--json", options->json, "Write the comparison as JSON, too")->type_name("FILE");
  command->footer(
      "Time, reads, writes and misses of the first cache of the whole run and of each region (situ/model/region.h), "
      "and,\nif both runs had --profile, the time and the misses of each function. A ratio is second / first.\n"
      "Examples:\n"
      "  situ model compare before.json after.json\n"
      "      what `situ model run --profile --json before.json ./program` wrote, and the same of a changed program\n"
      "Exit code: 0; 1 if a file is no report.");
  command->callback([options] { compare_reports(*options); });
}

void add_replay_command(CLI::App& model) {
  CLI::App* command =
      model.add_subcommand("replay", "Run a trace of ChampSim's or Ramulator's formats on a modelled machine");
  auto options = std::make_shared<replay_options>();
  command->add_option("trace", options->trace, "The trace, unpacked; - for the standard input")
      ->required()
      ->type_name("FILE");
  command->add_option("--machine", options->machine, "A machine's file, or one that comes with Situ by its name")
      ->required()
      ->type_name("FILE|NAME");
  command->add_option("--core", options->core, "The core that runs it, or whose cycles send its requests (0)")
      ->type_name("N");
  command
      ->add_option("--set", options->settings,
                   "A figure of the machine that takes the place of its file's, as in situ model run")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--json", options->json, "Write the counters as JSON, too")->type_name("FILE");
  command->footer(
      "The trace itself says which format it has. One of ChampSim's runs on the core; those of Ramulator's (see situ "
      "model\nrun --trace-format) have passed caches already: their requests go to the machine's first memory.\n"
      "Examples:\n"
      "  situ model replay walk.trace.0 --machine xeon-max-9480-flat\n"
      "  xz -dc 600.perlbench.champsimtrace.xz | situ model replay - --machine xeon-max-9480-flat\n"
      "  situ model replay dram.trace --machine nemesys-4x4 --set dram.bandwidth=2GB/s\n"
      "Exit code: 0; 1 if the file is no such trace, ends within a record, or has a bad line, which is named.");
  command->callback([options] {
    options->machine = machine_file_of(options->machine);
    replay_trace(*options);
  });
}

void add_model_command(CLI::App& app) {
  CLI::App* model = app.add_subcommand("model", "Run a program on a modelled machine, and list the machines");
  model->require_subcommand(1);
  model->footer(model_run_examples);
  model->add_subcommand("machines", "List the machines that come with Situ, and what the others lack to run programs")
      ->callback(&print_machines);
  add_assumed_command(*model);
  add_compare_command(*model);
  add_replay_command(*model);
  CLI::App* command = model->add_subcommand("run", "Run a program as the cores of a modelled machine");
  auto options = std::make_shared<model_run_options>();
  command->add_option("--machine", options->machine, "A machine's file, one that comes with Situ by its name, or flat")
      ->required()
      ->type_name("FILE|NAME");
  command->add_option("-n,--places", options->places, "Number of places of a program of Situ's, each on a tile (1)")
      ->check(CLI::Range(1U, 4096U))
      ->type_name("N");
  command
      ->add_option("--quantum", options->quantum_ns,
                   "How far a core may run ahead of others while nobody can see what it does (1000)")
      ->type_name("NS");
  command->add_flag("--strict", options->strict, "Never ahead: every access in the order of time (slow)");
  CLI::Option* const fast_forward =
      command
          ->add_option("--fast-forward", options->fast_forward,
                       "Until this region of the program begins (situ/model/region.h), accesses are not priced")
          ->type_name("REGION");
  CLI::Option* const warming =
      command
          ->add_flag(
              "--functional-warming", options->functional_warming,
              "Until then accesses still change what caches, TLBs, prefetchers and branch predictors hold, in no "
              "time: the region begins with warm caches")
          ->needs(fast_forward);
  CLI::Option* const save =
      command
          ->add_option("--save", options->save,
                       "Write the contents of caches, TLBs and predictors at the end of the run, for --warm")
          ->type_name("FILE");
  command->add_option("--save-after", options->save_after, "Write them when this region first ends")
      ->needs(save)
      ->type_name("REGION");
  command
      ->add_option("--warm", options->warm,
                   "Begin with the contents that --save has written, or with --fast-forward begin the region with them")
      ->excludes(warming)
      ->type_name("FILE");
  CLI::Option* const trace =
      command
          ->add_option("--trace", options->trace,
                       "Write what each core executes as a trace of ChampSim's format, to FILE.0 for core 0 and so on; "
                       "from the region of --fast-forward on (slow)")
          ->type_name("FILE");
  command
      ->add_option("--trace-format", options->trace_format,
                   "Another format of this trace. Of the requests that reach the memories, of all cores in FILE: "
                   "ramulator-dram (0x12345680 R), ramulator2-loadstore (LD 0x12345680). Of those and the instructions "
                   "between them, of each core in FILE.0 and so on: ramulator-cpu (3 20734016). Unless given: champsim")
      ->check(CLI::IsMember({"champsim", "ramulator-dram", "ramulator2-loadstore", "ramulator-cpu"}))
      ->needs(trace);
  command->add_flag("--profile", options->profile, "The report says where the modelled time went, by function");
  command->add_flag("--objects", options->objects,
                    "The report says what the accesses to each object cost (blocks by the line that allocated them, "
                    "variables, stacks), and which lines cores share falsely (slow)");
  command->add_option("--json", options->json, "Write the report as JSON, too")->type_name("FILE");
  command
      ->add_option("--report", options->report,
                   "Write the report as one page for a browser: the machine drawn with its traffic, time lines, tables")
      ->type_name("FILE");
  command
      ->add_option("--set", options->settings,
                   "A figure of the machine that takes the place of its file's: l2.size=64KiB for the node with the id "
                   "l2; link.latency=20ns; miss=80 for flat; low or high: the end of an assumed figure's range. Can be "
                   "given again")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  CLI::Option* const sweep =
      command
          ->add_option(
              "--sweep", options->sweeps,
              "Run once with each of these values of such a figure, and print a table; with --json, all of the "
              "reports. Given again: each value with each of the others'")
          ->type_name("KEY=VALUE,VALUE,...")
          ->allow_extra_args(false)
          ->excludes("--report")
          ->excludes(save)
          ->excludes(trace);
  command->add_option("--jobs", options->jobs, "How many of a sweep's runs go at a time (as many as processors)")
      ->check(CLI::Range(1U, 4096U))
      ->needs(sweep)
      ->type_name("N");
  command->add_flag("--check-coherence", options->check_coherence,
                    "Where tiles are not coherent: they see the bytes that they would see there, and each stale read "
                    "and lost write is told of");
  command
      ->add_option(
          "--graph-units", options->graph_units,
          "Who copies the graphs of offloads: devices, copy-only (the units beside memories; graphs are walked "
          "by software), or software. Unless given: the devices that the machine has")
      ->check(CLI::IsMember({"devices", "copy-only", "software"}));
  command
      ->add_option("--copy-map", options->copy_map, "Copy map of the graph-copy units: linear (unless given), hashing")
      ->check(CLI::IsMember({"linear", "hashing"}));
  command->add_flag("--no-dummy-allocations", options->no_dummies,
                    "After a copy by a unit, do not allocate as many objects as a copy by software would");
  command
      ->add_option("--memories", options->memories,
                   "How many of the memories that belong to no tile places lie in: the machine's first ones (all)")
      ->type_name("N");
  command
      ->add_option("--intent", options->intent,
                   "Sort the memories for the program's own memory (blocks, variables, stacks) for this intent. Unless "
                   "given: a tile's own memory or the file's first one, then the others by latency")
      ->check(CLI::IsMember({"normal", "latency", "write_latency", "bandwidth", "write_bandwidth", "capacity"}));
  command->add_flag("--quiet", options->quiet, "No table at the end");
  command->prefix_command();  // from the program's name on, everything is the program's
  command->footer(model_run_examples);
  command->callback([command, options] { run(*options, command->remaining()); });
}

}  // namespace

int main(int argc, char** argv) { return main_of_command(argc, argv, "model", add_model_command); }
