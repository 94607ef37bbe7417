#include "command_line.h"

#include "base/near_name.h"
#include "base/print.h"
#include "os/descriptor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <exception>
#include <sstream>
#include <string_view>

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

// --- what there is ---

// Returns the lines of a command's examples that are about one of its own commands, with the lines that continue them.
std::string examples_of(const std::string& footer, const std::string& path) {
  std::istringstream lines{footer};
  std::string examples;
  bool is_about_it = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) continue;
    if (!line.starts_with("      ")) {
      const std::size_t at = (line + " ").find(path + " ");
      is_about_it = at != std::string::npos;
    }
    if (is_about_it) examples += (examples.empty() ? "Examples:\n" : "\n") + line;
  }
  return examples;
}

// CLI11 gives a command's footer to its commands. Each shows what of it is its own.
void share_out_examples(CLI::App& command, const std::string& path) {
  for (CLI::App* const each : command.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string its_path = path + " " + each->get_name();
    const std::string own = each->get_footer() == command.get_footer() ? "" : each->get_footer();
    if (own.find("Examples:") == std::string::npos) {
      const std::string examples = examples_of(command.get_footer(), its_path);
      each->footer(examples + (examples.empty() || own.empty() ? "" : "\n") + own);
    }
    share_out_examples(*each, its_path);
  }
}

// Returns what is wrong if the arguments end at a command that wants one of its own, or go on by one that it lacks; an
// empty text if neither is so.
std::string missing_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  std::size_t at = 0;
  for (; at < arguments.size(); ++at) {
    const CLI::App* const next = find_subcommand(*command, arguments[at]);
    if (next == nullptr) break;
    command = next;
    path += " " + next->get_name();
  }
  if (command->get_require_subcommand_min() == 0) return {};
  return no_such_command(*command, path, at < arguments.size() ? arguments[at] : "");
}

int parse(CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    app.parse(for_parser(arguments, app));
  } catch (const CLI::RuntimeError& ended) {  // a command's exit code; the command has printed why
    return ended.get_exit_code();
  } catch (const CLI::RequiredError& failure) {
    const std::string missing = missing_command(app, arguments);
    if (missing.empty()) return say(app, failure);
    tell("{}\n", missing);
    return failure.get_exit_code();
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

std::string no_such_command(const CLI::App& among, const std::string& path, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* const each :
       among.get_subcommands([](const CLI::App* any) { return !any->get_group().empty(); }))
    names.push_back(each->get_name());
  const std::string_view meant =
      situ::detail::near_name(word, std::vector<std::string_view>{names.begin(), names.end()});
  const std::string what =
      word.empty() || word.starts_with('-') ? "a command is missing" : fmt::format("there is no command {}", word);
  return fmt::format("{}: {}{}; there are {} ({} --help)", path, what,
                     meant.empty() ? "" : fmt::format("; did you mean {}?", meant), fmt::join(names, ", "), path);
}

int run_command_line(CLI::App& app, const std::vector<std::string>& arguments) {
  share_out_examples(app, app.get_name());
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
