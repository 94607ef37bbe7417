// Measures, then predicts, then measures the kernels: the programs that this takes lie beside the command.
#include "host/host.h"

#include <situ/base/error.h>
#include <situ/machine/machine.h>
#include <situ/machine/measure.h>
#include <situ/machine/toml.h>

#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/find_program.h"
#include "os/output_file.h"
#include "support/child_program.h"

namespace situ::studies::host {
namespace {

struct programs {
  std::string situ, native, modelled;
};

// Nothing where it was stopped.
std::optional<kernel_run> run_kernel(const study_context& context, std::vector<std::string> arguments,
                                     const host_row& row) {
  arguments.emplace_back(row.kernel);
  arguments.push_back(std::to_string(row.size));
  const program_result result = run_program(arguments, context.is_stopped);
  if (result.was_stopped) return std::nullopt;
  if (result.exit_code != 0)
    throw_error(errc::bad_launch, fmt::format("{} did not end well ({}): {}", fmt::join(arguments, " "),
                                              result.exit_code, result.errors));
  return kernel_run_of(result.output);
}

// As a machine file of `machines/`, and in the study's result.
std::string measured_machine(const study_context& context, study_result& result) {
  const machine::tree here = machine::discover();
  machine::measure_options how;
  how.seconds_per_pair = 0.05;  // nothing of it is used here
  how.max_cores = 2;
  if (context.is_quick) how.seconds_per_point = 0.1;
  how.progress = [&](std::string_view what, std::size_t, std::size_t) {
    context.tell(fmt::format("measures: {}", what));
  };
  const machine::measurements measured = machine::measure(here, how);
  if (!measured.core || measured.core->window == 0)
    throw_error(errc::bad_argument,
                "no window has been found within which this machine's core goes on past a miss; "
                "see situ topo --measure");
  for (const std::string& each : measured.skipped) result.method.push_back("Not measured: " + each + ".");
  return machine::to_toml(machine::as_modelled(here, measured));
}

constexpr int rounds_usually = 9;
constexpr int rounds_quickly = 3;

study_part run_kernels(const study_context& context, const programs& its, const std::string& machine) {
  const study_folder folder;
  const std::string file = folder.file("host.toml");
  situ::detail::write_file(file, machine);
  std::vector<host_figures> all;
  for (const host_row& row : host_rows(context.is_quick)) {
    context.tell(fmt::format("predicts: {}", row.name));
    const std::optional<kernel_run> predicted = run_kernel(
        context, {its.situ, "model", "run", "--machine", file, "--fast-forward", "kernel", "--quiet", its.modelled},
        row);
    if (!predicted) break;
    all.push_back({row, *predicted, {}});
  }
  // In turns, so that what disturbs the machine for a while disturbs a run of each.
  for (int round = 0; round < (context.is_quick ? rounds_quickly : rounds_usually); ++round)
    for (host_figures& each : all) {
      context.tell(fmt::format("runs: {}", each.row.name));
      if (const auto run = run_kernel(context, {its.native}, each.row)) each.measured.push_back(*run);
    }
  std::erase_if(all, [](const host_figures& each) { return each.measured.empty(); });
  return host_part_of(all);
}

}  // namespace

study_result run(const study_context& context) {
  study_result result{
      .name = "host",
      .title = "This machine, predicted",
      .source = "Programs on the model of this machine beside the same programs on the machine itself.",
      .compared_with = "measured",
      .method = {"ours: a modelled run on the machine file below, made of what situ topo --measure finds here and now.",
                 "measured: the native form, compiled with the same options, the median of runs in turns, of the time "
                 "in which it had the processor."}};
  if (const std::string missing = missing_programs({"situ", "situ-model", "host_kernels", "host_kernels_modelled"});
      !missing.empty()) {
    result.parts.push_back({.name = "kernels",
                            .title = "Kernels, predicted and measured",
                            .missing = {missing + " (the modelled form needs gcc on x86-64, and no sanitizers)"}});
    return result;
  }
  const programs its{.situ = os::find_own_program("situ"),
                     .native = os::find_own_program("host_kernels"),
                     .modelled = os::find_own_program("host_kernels_modelled")};
  const std::string machine = measured_machine(context, result);
  result.parts.push_back(run_kernels(context, its, machine));
  study_part file{.name = "machine", .title = "The machine file"};
  for (std::size_t at = 0; at < machine.size();) {
    const std::size_t end = machine.find('\n', at);
    file.notes.push_back(machine.substr(at, end - at));
    at = end == std::string::npos ? machine.size() : end + 1;
  }
  result.parts.push_back(std::move(file));
  result.was_stopped = context.stopped();
  return result;
}

}  // namespace situ::studies::host
