// `situ`: starts jobs, shows machines, measures.
#include "commands.h"

#include "base/descriptor.h"
#include "base/print.h"

#include <situ/base/error.h>
#include <situ/version.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace {

using situ::detail::tell;

// The arguments, last first, as CLI11 takes them; without a "--" between `run`'s options and its program: CLI11 would
// take what follows it for arguments of `situ` itself.
std::vector<std::string> arguments_of(int argc, char** argv, const CLI::App& app) {
  std::vector<std::string> all{argv + 1, argv + argc};
  const bool is_within = all.size() > 1 && (all[0] == "model" || all[0] == "rmem") && all[1] == "run";
  if (!is_within && (all.empty() || all[0] != "run")) return {all.rbegin(), all.rend()};
  const CLI::App* const run = is_within ? app.get_subcommand(all[0])->get_subcommand("run") : app.get_subcommand("run");
  for (std::size_t i = is_within ? 2 : 1; i < all.size() && all[i].starts_with('-'); ++i) {
    if (all[i] == "--") {
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    const CLI::Option* const option = run->get_option_no_throw(all[i]);
    if (option != nullptr && option->get_expected_min() > 0) ++i;  // its value follows
  }
  return {all.rbegin(), all.rend()};
}

// What the parser has to say: its help goes to standard output, its complaints to standard error.
int say(const CLI::App& app, const CLI::ParseError& what) {
  std::ostringstream output, complaints;
  const int code = app.exit(what, output, complaints);
  situ::detail::print_text(output.view());
  tell("{}", complaints.view());
  return code;
}

int run_command(int argc, char** argv) {
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
  add_study_command(app);
  add_model_command(app);
  add_pool_command(app);
  add_rmem_command(app);
#if SITU_WITH_BENCH
  add_bench_command(app);
#endif
  try {
    app.parse(arguments_of(argc, argv, app));
  } catch (const CLI::RuntimeError& ended) {  // a command's exit code: it has said what there is to say
    return ended.get_exit_code();
  } catch (const CLI::ParseError& failure) {
    return say(app, failure);
  } catch (const std::exception& failure) {
    tell("{}\n", failure.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  situ::detail::standard_streams_filled::for_good();  // in what it starts, too
  return situ::detail::exit_code_after_output(run_command(argc, argv));
}
