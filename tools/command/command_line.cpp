#include "command_line.h"

#include "base/print.h"
#include "os/descriptor.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <exception>
#include <sstream>

namespace {

using situ::detail::tell;

// Returns the arguments, last first, as CLI11 takes them. It leaves out a "--" between the options of a `run` and its
// program, since CLI11 would give the words after "--" to `situ` itself.
std::vector<std::string> for_parser(std::vector<std::string> all, const CLI::App& app) {
  const CLI::App* command = &app;
  std::size_t at = 0;
  for (; at < all.size() && command->get_name() != "run"; ++at) {
    const CLI::App* const next = find_subcommand(*command, all[at]);
    if (next == nullptr) break;
    command = next;
  }
  if (command->get_name() == "run")
    for (; at < all.size() && all[at].starts_with('-'); ++at) {
      if (all[at] == "--") {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
      const CLI::Option* const option = command->get_option_no_throw(all[at]);
      if (option != nullptr && option->get_expected_min() > 0) ++at;  // its value follows
    }
  return {all.rbegin(), all.rend()};
}

// Prints the parser's help to standard output and its complaints to standard error.
int say(const CLI::App& app, const CLI::ParseError& what) {
  std::ostringstream output, complaints;
  const int code = app.exit(what, output, complaints);
  situ::detail::print_text(output.view());
  tell("{}", complaints.view());
  return code;
}

int parse(CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    app.parse(for_parser(arguments, app));
  } catch (const CLI::RuntimeError& ended) {  // a command's exit code; the command has printed why
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

std::string situ_description() {
  return "Situ: one address space over every memory a program can reach, and work that moves to the data";
}

const CLI::App* find_subcommand(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

int run_command_line(CLI::App& app, const std::vector<std::string>& arguments) {
  situ::detail::standard_streams_filled::for_good();  // also for the programs that this one starts
  return situ::detail::exit_code_after_output(parse(app, arguments));
}

int main_of_command(int argc, char** argv, const char* name, void (*add_to)(CLI::App&)) {
  CLI::App app{situ_description(), "situ"};
  app.require_subcommand(1);
  add_to(app);
  std::vector<std::string> arguments{argv, argv + argc};
  if (arguments.empty()) arguments.emplace_back();
  arguments[0] = name;
  return run_command_line(app, arguments);
}
