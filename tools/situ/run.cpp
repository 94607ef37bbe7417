// `situ run`: starts a program as the places of a job, on this machine or over several hosts.
#include "command_line.h"
#include "commands.h"
#include "program_file.h"
#include "run_any.h"
#include "unknown_intent.h"

#include "base/print.h"
#include "base/stack_size.h"
#include "fabric/observe.h"
#include "launch/launch.h"
#include "launch/run_hosts.h"
#include "launch/standstill.h"
#include "os/find_program.h"
#include "os/output_file.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using situ::detail::binding;
using situ::detail::hosts_options;
using situ::detail::hosts_result;
using situ::detail::job_control;
using situ::detail::tell;

struct run_options {
  std::uint32_t places = 0;  // 0: one for each processor
  bool in_process = false;
  binding bind = binding::none;
  bool tag = false;
  bool stats = false;
  bool progress = false;
  bool check = false;
  std::string check_units;
  std::string trace_file;
  std::vector<std::string> memory;
  std::string intent;
  bool no_children = false;
  std::string stack;
  double grace_seconds = 5;
  double timeout_seconds = 0;
  double watchdog_seconds = 0;
  std::string report_file;
  std::string hosts;
  std::string remote_shell;
  std::vector<std::string> variables;
};

constexpr const char* run_examples =
    "Examples:\n"
    "  situ run -n 4 ./program --its-option        four processes, each a place\n"
    "  situ run -n 4 --tag ./program               \"[2] \" before what place 2 writes\n"
    "  situ run -n 4 --stats --trace t.json prog   who sent what to whom; t.json opens in ui.perfetto.dev\n"
    "  situ run -n 4 --timeout 60 ./program        ends it after a minute, and says what each place waited for\n"
    "  situ run -n 2 --intent bandwidth ./program  segments lie in the fastest memories, then in the next\n"
    "  situ run --intent bandwidth --stats -- sort big.txt\n"
    "                                              the same for a program that knows nothing of Situ, and what it "
    "starts\n"
    "  situ run -n 2 --memory file:/scratch ./prog segments lie in a file without a name there, beyond the memory\n"
    "  situ run -n 2 --in-process ./program        two threads of one process, for a debugger\n"
    "  situ run --hosts a:2,b:2 ./program          two places at each of two hosts, started by ssh\n"
    "Ctrl-\\ (or kill -QUIT) asks what every place waits for, where in the source, and who has not come.\n"
    "A program name without '/' is looked up beside situ, in PATH, and among the installed examples.\n"
    "Standard input is place 0's.\n"
    "Exit code: 0 when every place exits with 0; else that of the first place that was lost or failed, 128 + N for "
    "signal N.\n"
    "124 after --timeout.";

// CLI11 does not know that a program follows the options.
class run_help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: situ run [OPTIONS] PROGRAM [ARGUMENTS...]\n";
  }
};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds{std::llround(seconds * 1000)};
}

// Writes a file that the caller asked for. On failure the job goes on, and the command fails.
void save(const std::function<void()>& write, bool& is_lost) {
  try {
    write();
  } catch (const situ::error& failed) {
    tell("situ: {}\n", failed.message());
    is_lost = true;
  }
}

void save_report(const run_options& options, job_control& control, std::string_view why, bool& is_lost) {
  save([&] { situ::detail::write_file(options.report_file, situ::detail::format_report_json(control, why)); }, is_lost);
}

void report(const run_options& options, job_control& control, std::string_view why, bool& is_lost) {
  tell("situ: {}; where the places stand:\n{}", why, situ::detail::format_report(control));
  if (!options.report_file.empty()) save_report(options, control, why, is_lost);
}

// Reads the value of --memory: a kind and a budget, each if it is given.
void read_memory(const run_options& options, std::string& kind, std::uint64_t& budget) {
  for (const std::string& each : options.memory)
    if (situ::memory_kind::is_kind(each))
      kind = each;
    else
      budget = situ::parse_bytes(each);
}

std::uint64_t stack_bytes(const run_options& options) {
  return options.stack.empty() ? 0 : situ::detail::checked_stack_bytes(situ::parse_bytes(options.stack), "--stack");
}

void show_observed(const run_options& options, job_control& control, bool& is_lost) {
  if (options.stats) tell("{}", situ::detail::format_statistics(control));
  if (!options.trace_file.empty()) save([&] { situ::detail::write_trace(control, options.trace_file); }, is_lost);
}

situ::detail::program_options program_options(const run_options& options, bool& is_file_lost) {
  situ::detail::program_options made;
  const bool trace = !options.trace_file.empty();
  made.job.place_count = options.places != 0 ? options.places : situ::detail::allowed_processors();
  read_memory(options, made.job.memory, made.job.memory_budget);
  if (!options.intent.empty()) {
    made.job.memory_intent = situ::intent::of(options.intent);
    warn_if_unknown(*made.job.memory_intent);
  }
  made.job.stack_bytes = stack_bytes(options);
  made.job.stats = options.stats;
  made.job.trace = trace;
  made.job.progress = options.progress;
  made.job.checked = options.check;
  situ::detail::reserve_observation(made.job);
  made.in_process = options.in_process;
  made.bind = options.bind;
  made.tag = options.tag;
  made.grace = milliseconds(options.grace_seconds);
  made.time_limit = milliseconds(options.timeout_seconds);
  made.watchdog = milliseconds(options.watchdog_seconds);
  made.report = [&options, &is_file_lost](job_control& control, std::string_view why) {
    report(options, control, why, is_file_lost);
  };
  made.finished = [&options, &is_file_lost](job_control& control) { show_observed(options, control, is_file_lost); };
  return made;
}

// Tells whether an intent is asked of a program that does not use Situ. If a file does not show that (a script that
// starts places), it counts as Situ's if it is started as places.
bool is_for_any_program(const run_options& options, const std::string& file) {
  if (options.intent.empty() || is_situ_program(file)) return false;
  return options.places == 0 && !options.in_process && options.bind == binding::none && !options.tag &&
         options.trace_file.empty() && !options.progress && !options.check && options.check_units.empty() &&
         options.memory.empty() && options.stack.empty() && options.watchdog_seconds == 0;
}

hosts_options over_hosts(const run_options& options, const std::vector<std::string>& arguments) {
  hosts_options made{.hosts = situ::detail::parse_hosts(options.hosts),
                     .remote_shell = options.remote_shell.empty() ? "ssh" : options.remote_shell,
                     .start = {.arguments = arguments,
                               .folder = std::filesystem::current_path().string(),
                               .variables = situ::detail::variables_to_pass(options.variables),
                               .intent = options.intent,
                               .stack_bytes = stack_bytes(options),
                               .binding = static_cast<std::uint32_t>(options.bind)},
                     .tag = options.tag,
                     .grace = milliseconds(options.grace_seconds),
                     .time_limit = milliseconds(options.timeout_seconds),
                     .watchdog = milliseconds(options.watchdog_seconds)};
  using start = situ::detail::cluster::agent_start;
  if (!options.intent.empty()) (void)situ::intent::of(options.intent);  // refused here, not at each host
  read_memory(options, made.start.memory, made.start.memory_budget);
  made.start.grace_ms = static_cast<std::uint64_t>(made.grace.count());
  made.start.time_limit_ms = static_cast<std::uint64_t>(made.time_limit.count());
  made.start.how = (options.progress ? start::progress : 0U) | (options.check ? start::checked : 0U) |
                   (options.stats ? start::stats : 0U) | (options.trace_file.empty() ? 0U : start::trace);
  return made;
}

// Throws CLI::RuntimeError unless all places succeeded.
void run_at_hosts(const run_options& options, const std::vector<std::string>& arguments) {
  const std::pair<bool, const char*> not_built[] = {
      {options.in_process, "--in-process is for places of one process"},
      {options.places != 0, "-n is told by --hosts: a:2,b:2 are two places at each"},
      {options.no_children, "--no-children is for programs that are none of Situ's"}};
  for (const auto& [is_asked, why] : not_built)
    if (is_asked) throw CLI::ValidationError("--hosts", why);
  const auto begin = std::chrono::steady_clock::now();
  const auto end_with = [&](std::string_view what, int code) {
    situ::detail::flush_output();
    tell("situ: {}\n", what);
    const bool is_timeout = options.timeout_seconds > 0 &&
                            std::chrono::steady_clock::now() - begin >= milliseconds(options.timeout_seconds);
    throw CLI::RuntimeError(is_timeout ? timeout_exit_code : code);
  };
  try {
    bool is_file_lost = false;
    hosts_options how = over_hosts(options, arguments);
    if (!options.report_file.empty())
      how.save_report = [&](job_control& control, std::string_view why) {
        save_report(options, control, why, is_file_lost);
      };
    const hosts_result result = situ::detail::run_over_hosts(how);
    if (result.shown) show_observed(options, result.shown->control(), is_file_lost);
    if (!result.job.ok()) end_with(fmt::format("{} (at {})", result.job.message(), result.at), result.job.exit_code());
    if (is_file_lost) throw CLI::RuntimeError(EXIT_FAILURE);
  } catch (const situ::error& e) {
    end_with(e.message(), EXIT_FAILURE);
  }
}

void run(const run_options& options, std::vector<std::string> arguments) {
  if (arguments.empty()) throw CLI::ValidationError("PROGRAM", "is missing; see situ run --help");
  if (arguments.front().starts_with("-"))
    throw CLI::ValidationError(arguments.front(), "is no option of situ run; see situ run --help");
  if (!options.check_units.empty()) ::setenv("SITU_CHECK_UNITS", options.check_units.c_str(), 1);
  if (!options.hosts.empty()) return run_at_hosts(options, arguments);
  if (!options.variables.empty() || !options.remote_shell.empty())
    throw CLI::ValidationError("--env, --rsh", "are for --hosts; on this machine places have the whole environment");
  if (const std::string file = situ::os::find_program(arguments.front()); is_for_any_program(options, file)) {
    const int code = run_any_program({.intent = options.intent,
                                      .stats = options.stats,
                                      .only_this = options.no_children,
                                      .report_file = options.report_file,
                                      .time_limit = milliseconds(options.timeout_seconds)},
                                     file, arguments);
    if (code == 0) return;
    throw CLI::RuntimeError(code);
  }
  if (const auto launcher = situ::detail::other_launcher())
    situ::throw_error(situ::errc::bad_launch,
                      *launcher +
                          " started `situ run` as one of several tasks, each of which would be a job of "
                          "its own: start the program itself so, without `situ run`, or set SITU_ALONE=1");
  if (options.no_children)
    throw CLI::ValidationError("--no-children", "is for programs that are none of Situ's, with --intent");
  const auto begin = std::chrono::steady_clock::now();
  bool is_file_lost = false;
  const situ::launch_result result = situ::detail::launch_program(program_options(options, is_file_lost), arguments);
  if (result.ok() && is_file_lost) throw CLI::RuntimeError(EXIT_FAILURE);
  if (result.ok()) return;
  situ::detail::flush_output();
  // one process has all places
  const bool is_one_code = options.in_process && !result.first_lost && result.places[0].signal == 0;
  tell("situ: {}\n",
       is_one_code ? fmt::format("the program exited with code {}", result.exit_code()) : result.message());
  const bool is_timeout =
      options.timeout_seconds > 0 && std::chrono::steady_clock::now() - begin >= milliseconds(options.timeout_seconds);
  throw CLI::RuntimeError(is_timeout ? timeout_exit_code : result.exit_code());
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("run", "Start a program as the places of a job, on this machine or over several hosts");
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
  command->add_flag(
      "--stats", options->stats,
      "Print bytes, messages and waits between each two places at the end; of a program that is none of Situ's, "
      "where its memory lay");
  command
      ->add_option("--trace", options->trace_file,
                   "Write puts, gets, messages, tasks and barriers as a Chrome/Perfetto trace")
      ->type_name("FILE");
  command->add_flag(
      "--progress", options->progress,
      "A second thread for each place, so that it serves the others while it computes (situ::serve_while)");
  command->add_flag("--check", options->check, "Hold every access against what is allocated (slow)");
  command
      ->add_option("--check-units", options->check_units,
                   "Hold the accesses of task graphs' units against what they declare: spans (those by a "
                   "declared_span) or pages (also those of any code to a watched_array, by page protection; units run "
                   "one at a time)")
      ->check(CLI::IsMember({"spans", "pages"}).description(""))
      ->type_name("HOW");
  command
      ->add_option("--memory", options->memory,
                   "How much all places together may open, e.g. 4GiB, and what it lies in: huge, node:1, "
                   "intent:bandwidth, file:/scratch, device:/dev/dax0.0. May be given for both; the machine's memory, "
                   "where the kernel takes it, unless given")
      ->allow_extra_args(false)
      ->type_name("SIZE|KIND");
  command
      ->add_option(
          "--intent", options->intent,
          "Segments lie in the memories that are best for this, e.g. bandwidth; see situ order show. Of a "
          "program that is none of Situ's: all its memory. Not of one that is statically linked, of 32 bits, or "
          "that runs with more rights than yours")
      ->type_name("NAME");
  command->add_flag("--no-children", options->no_children,
                    "With --intent, for programs that are none of Situ's: not the processes that it starts");
  command
      ->add_option("--stack", options->stack,
                   "Stack of each task, e.g. 1MiB; 256KiB unless the program or SITU_STACK says otherwise")
      ->type_name("SIZE");
  command
      ->add_option("--grace", options->grace_seconds,
                   "After a place is lost, the others have this long to end by themselves (5)")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("SECONDS");
  command
      ->add_option("--timeout", options->timeout_seconds,
                   "End the job after this long, saying what each place waits for")
      ->check(CLI::Range(0.001, 1e9))
      ->type_name("SECONDS");
  command
      ->add_option("--watchdog", options->watchdog_seconds,
                   "Say what each place waits for whenever none has made progress for this long")
      ->check(CLI::Range(0.001, 1e9))
      ->type_name("SECONDS");
  command
      ->add_option(
          "--report", options->report_file,
          "Write what is said of waiting places as JSON, too; of a program that is none of Situ's, where its memory "
          "lay")
      ->type_name("FILE");
  command
      ->add_option(
          "--hosts", options->hosts,
          "Places on several hosts, so many at each: a:2,b:2. Each needs the same situ and program at the same "
          "path, and UCX")
      ->type_name("HOST:N,...");
  command
      ->add_option("--rsh", options->remote_shell,
                   "How a command is run at a host: words before the host's name and the command (ssh)")
      ->type_name("COMMAND");
  command
      ->add_option(
          "--env", options->variables,
          "A variable that places at other hosts get as well, besides those that begin with SITU_; may be given "
          "again")
      ->allow_extra_args(false)
      ->type_name("NAME[=VALUE]");
  command->prefix_command();  // from the program's name on, everything is the program's
  command->formatter(std::make_shared<run_help>());
  command->footer(run_examples);
  command->callback([command, options] { run(*options, command->remaining()); });
}

void add_host_agent_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("host-agent", "Started by situ run --hosts at each host");
  command->group("");  // hidden: only the launcher starts it
  command->callback([] { situ::detail::serve_as_host_agent(&identity_of_file); });
}
