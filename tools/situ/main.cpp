// `situ`: starts jobs, shows machines, begins projects. Other commands are programs next to it (other_commands.h).
#include "command_line.h"
#include "commands.h"
#include "other_commands.h"

#include "base/print.h"

#include <situ/base/error.h>
#include <situ/version.h>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

// Returns the arguments, with `situ help COMMAND` written as `situ COMMAND --help`.
std::vector<std::string> with_help_last(std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments = with_help_last({argv + (argc > 0 ? 1 : 0), argv + argc});
  CLI::App app{situ_description(), "situ"};
  app.set_version_flag("--version", "situ " SITU_VERSION_STRING);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  situ run -n 4 ./program         four places on this machine\n"
      "  situ new sums                   a project to begin with, in the folder sums\n"
      "  situ top                        what the places of a running job do\n"
      "  situ topo                       the memories and processors of this machine\n"
      "  situ order show                 which memories an allocation goes to, for each intent\n"
      "  situ pool check index.pool      whether a persistent pool is sound\n"
      "  situ rmem serve --memory 4GiB --keys keys   memory for clients on other hosts\n"
      "  situ model run --machine flat ./program   a program on a machine that is not here\n"
      "  situ COMMAND --help             what a command can do");
  add_run_command(app);
  add_host_agent_command(app);
  add_top_command(app);
  add_topo_command(app);
  add_order_command(app);
  add_new_command(app);
  const bool is_other =
      !arguments.empty() && !arguments[0].starts_with('-') && find_subcommand(app, arguments[0]) == nullptr;
  if (is_other) {
    try {
      become_other_command(arguments);
    } catch (const situ::error& failure) {
      situ::detail::tell("{}\n", failure.what());
      return EXIT_FAILURE;
    }
  }
  add_other_commands(app);
  if (is_other) {
    situ::detail::tell("{}\n", no_such_command(app, "situ", arguments[0]));
    return static_cast<int>(CLI::ExitCodes::ExtrasError);
  }
  return run_command_line(app, arguments);
}
