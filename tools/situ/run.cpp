// `situ run`: starts a program as the places of a job on this machine.
#include "commands.h"

#include "fabric/observe.h"
#include "runtime/launch.h"
#include "runtime/stack.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using situ::detail::binding;
using situ::detail::job_control;

struct run_options {
  std::uint32_t places = 0;  // 0: one a processor
  bool in_process = false;
  binding bind = binding::none;
  bool tag = false;
  bool stats = false;
  bool check = false;
  std::string trace_file;
  std::string memory;
  std::string stack;
  double grace_seconds = 5;
};

constexpr const char* examples =
    "Examples:\n"
    "  situ run -n 4 ./program --its-option        four processes, each a place\n"
    "  situ run -n 4 --tag ./program               \"[2] \" before what place 2 writes\n"
    "  situ run -n 4 --stats --trace t.json prog   who sent what to whom; t.json opens in ui.perfetto.dev\n"
    "  situ run -n 2 --in-process ./program        two threads of one process, for a debugger\n"
    "A program name without '/' is looked up beside situ, then in PATH. Standard input is place 0's.\n"
    "Exit code: 0 when every place exits with 0; else that of the first place that was lost or failed, 128 + N for "
    "signal N.";

// CLI11 does not know that a program follows the options.
class run_help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: situ run [OPTIONS] PROGRAM [ARGUMENTS...]\n";
  }
};

situ::detail::program_options program_options(const run_options& options) {
  situ::detail::program_options made;
  const bool trace = !options.trace_file.empty();
  made.job.place_count = options.places != 0 ? options.places : situ::detail::allowed_processors();
  made.job.memory_budget = options.memory.empty() ? 0 : situ::parse_bytes(options.memory);
  made.job.stack_bytes =
      options.stack.empty() ? 0 : situ::detail::checked_stack_bytes(situ::parse_bytes(options.stack), "--stack");
  made.job.stats = options.stats;
  made.job.trace = trace;
  made.job.checked = options.check;
  if (options.stats || trace) made.job.observation_bytes = situ::detail::observation_bytes(made.job.place_count, trace);
  made.in_process = options.in_process;
  made.bind = options.bind;
  made.tag = options.tag;
  made.grace = std::chrono::milliseconds{std::llround(options.grace_seconds * 1000)};
  made.finished = [options](job_control& control) {
    if (options.stats) fmt::print(stderr, "{}", situ::detail::format_statistics(control));
    if (!options.trace_file.empty()) situ::detail::write_trace(control, options.trace_file);
  };
  return made;
}

void run(const run_options& options, std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "--") arguments.erase(arguments.begin());
  if (arguments.empty()) throw CLI::ValidationError("PROGRAM", "is missing; see situ run --help");
  if (arguments.front().starts_with("-"))
    throw CLI::ValidationError(arguments.front(), "is no option of situ run; see situ run --help");
  situ::detail::refuse_foreign_singletons();
  const situ::launch_result result = situ::detail::launch_program(program_options(options), arguments);
  if (result.ok()) return;
  std::fflush(stdout);
  // of one process for all places
  const bool is_one_code = options.in_process && !result.first_lost && result.places[0].signal == 0;
  fmt::print(stderr, "situ: {}\n",
             is_one_code ? fmt::format("the program exited with code {}", result.exit_code()) : result.message());
  throw CLI::RuntimeError(result.exit_code());
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Start a program as the places of a job on this machine");
  auto options = std::make_shared<run_options>();
  command->add_option("-n,--places", options->places, "Number of places; one a processor unless given")
      ->check(CLI::Range(1U, situ::detail::job::max_places))
      ->type_name("N");
  command->add_flag("--in-process", options->in_process, "Places are threads of one process");
  command
      ->add_option("--bind", options->bind,
                   "Bind each place to a core or a NUMA node, in turn: core, numa, none (none)")
      ->transform(
          CLI::CheckedTransformer(
              std::map<std::string, binding>{{"core", binding::core}, {"numa", binding::numa}, {"none", binding::none}})
              .description(""))
      ->type_name("HOW");
  command->add_flag("--tag", options->tag, "Write the place's number before each line of its output");
  command->add_flag("--stats", options->stats, "Print bytes, messages and waits between each two places at the end");
  command
      ->add_option("--trace", options->trace_file,
                   "Write puts, gets, messages, tasks and barriers as a Chrome/Perfetto trace")
      ->type_name("FILE");
  command->add_flag("--check", options->check, "Hold every access against what is allocated (slow)");
  command
      ->add_option("--memory", options->memory,
                   "All places together may open this much, e.g. 4GiB; the machine's memory unless given")
      ->type_name("SIZE");
  command
      ->add_option("--stack", options->stack,
                   "Stack of each task, e.g. 1MiB; 256KiB unless the program or SITU_STACK says otherwise")
      ->type_name("SIZE");
  command
      ->add_option("--grace", options->grace_seconds,
                   "After a place is lost, the others have this long to end by themselves (5)")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("SECONDS");
  command->prefix_command();  // from the program's name on, everything is the program's
  command->formatter(std::make_shared<run_help>());
  command->footer(examples);
  command->callback([command, options] { run(*options, command->remaining()); });
}
