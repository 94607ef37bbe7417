// Measures, then predicts, then measures the kernels: the programs that this takes lie beside the command.
#include "host/host.h"

#include <situ/base/error.h>
#include <situ/machine/machine.h>
#include <situ/machine/measure.h>
#include <situ/machine/toml.h>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace situ::studies {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& text) {
  std::string made{"'"};
  for (const char each : text) made += each == '\'' ? std::string{"'\\''"} : std::string{each};
  return made + "'";
}

// Its standard output. Throws bad_launch where it does not end well.
std::string output_of_command(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw_error(errc::bad_launch, "cannot start " + command);
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), read);
  const int status = ::pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw_error(errc::bad_launch, fmt::format("{} did not end well (status {}); run it by itself", command, status));
  return text;
}

// The machine file, in a folder of its own that goes with it.
class machine_file {
 public:
  explicit machine_file(const std::string& text) {
    std::string name = (fs::temp_directory_path() / "situ_host_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw_error(errc::bad_file, name + " cannot be made");
    folder_ = name;
    std::ofstream file{path()};
    file << text;
    file.close();
    if (!file) throw_error(errc::bad_file, path() + " cannot be written");
  }
  ~machine_file() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  machine_file(const machine_file&) = delete;
  machine_file& operator=(const machine_file&) = delete;
  [[nodiscard]] std::string path() const { return (folder_ / "host.toml").string(); }

 private:
  fs::path folder_;
};

struct programs {
  std::string situ, kernels;
};

// Nothing where they do not lie beside this program.
std::optional<programs> find_programs() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  programs found{(folder / "situ").string(), (folder / "host_kernels").string()};
  for (const std::string& each : {found.situ, found.kernels, found.kernels + "_modelled"})
    if (::access(each.c_str(), X_OK) != 0) return std::nullopt;
  return found;
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
  const machine_file file{machine};
  std::vector<host_figures> all;
  for (const host_row& row : host_rows(context.is_quick)) {
    if (context.stopped()) break;
    context.tell(fmt::format("predicts: {}", row.name));
    all.push_back({row,
                   kernel_run_of(output_of_command(
                       fmt::format("{} model run --machine {} --fast-forward kernel --quiet {} {} {}", quoted(its.situ),
                                   quoted(file.path()), quoted(its.kernels), row.kernel, row.size))),
                   {}});
  }
  // In turns, so that what disturbs the machine for a while disturbs a run of each.
  for (int round = 0; round < (context.is_quick ? rounds_quickly : rounds_usually); ++round)
    for (host_figures& each : all) {
      if (context.stopped() && round > 0) break;
      context.tell(fmt::format("runs: {}", each.row.name));
      each.measured.push_back(kernel_run_of(
          output_of_command(fmt::format("{} {} {}", quoted(its.kernels), each.row.kernel, each.row.size))));
    }
  return host_part_of(all);
}

}  // namespace

study_result run_host(const study_context& context) {
  study_result result{
      .name = "host",
      .title = "This machine, predicted",
      .source = "Programs on the model of this machine beside the same programs on the machine itself.",
      .compared_with = "measured",
      .method = {"ours: a modelled run on the machine file below, made of what situ topo --measure finds here and now.",
                 "measured: the native form, the median of runs in turns, of the time in which it had the processor; "
                 "both forms "
                 "without vector instructions."}};
  const std::optional<programs> its = find_programs();
  if (!its) {
    result.parts.push_back(
        {.name = "kernels",
         .title = "Kernels, predicted and measured",
         .missing = {"the programs host_kernels and host_kernels_modelled do not lie beside this one; build these "
                     "targets (the second needs gcc on x86-64, and no sanitizers)"}});
    return result;
  }
  const std::string machine = measured_machine(context, result);
  result.parts.push_back(run_kernels(context, *its, machine));
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

}  // namespace situ::studies
