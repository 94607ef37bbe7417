// `situ`: starts jobs, shows machines, measures.
#include "commands.h"

#include "base/descriptor.h"

#include <situ/base/error.h>
#include <situ/version.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  situ::detail::standard_streams_filled::for_good();  // in what it starts, too
  CLI::App app{"Situ: one address space over every memory a program can reach, and work that moves to the data",
               "situ"};
  app.set_version_flag("--version", "situ " SITU_VERSION_STRING);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  situ run -n 4 ./program         four places on this machine\n"
      "  situ new sums                   a project to begin with, in the folder sums\n"
      "  situ top                        what the places of a running job do\n"
      "  situ topo                       the memories and processors of this machine\n"
      "  situ order show                 which memories an allocation goes to, for each intent\n"
      "  situ COMMAND --help             what a command can do");
  add_run_command(app);
  add_top_command(app);
  add_topo_command(app);
  add_order_command(app);
  add_new_command(app);
#if SITU_WITH_BENCH
  add_bench_command(app);
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& ended) {  // a command's exit code: it has said what there is to say
    return ended.get_exit_code();
  } catch (const CLI::ParseError& failure) {
    return app.exit(failure);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
