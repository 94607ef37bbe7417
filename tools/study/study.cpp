// `situ study`: experiments of papers on modelled machines, next to the papers' figures (studies/).
#include "command_line.h"

#include "base/print.h"
#include "os/output_file.h"
#include "os/signals.h"
#include "support/study_page.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using situ::detail::print_out;
using situ::detail::tell;

using situ::studies::study_context;
using situ::studies::study_info;
using situ::studies::study_result;

struct study_options {
  std::string name, html_file, json_file;
  bool is_quick = false;
  std::vector<std::string> only;
};

// The first Ctrl-C ends the study at its next point, with the finished points; the second ends the command.
std::atomic<bool> is_interrupted = false;
void interrupt(int signal) {
  is_interrupted = true;
  situ::os::reset_signal(signal);
}

// Makes the file at once, so that a path that cannot be written does not cost a study.
std::unique_ptr<situ::detail::replaced_file> report_file(const std::string& path) {
  return path.empty() ? nullptr : std::make_unique<situ::detail::replaced_file>(path);
}

study_context context_of(const study_options& options) {
  study_context context{.is_quick = options.is_quick, .only = options.only, .progress = {}, .is_stopped = [] {
                          return is_interrupted.load();
                        }};
  if (isatty(STDERR_FILENO) != 0) context.progress = [](std::string_view what) { tell("\r\x1b[K{}", what); };
  return context;
}

void run_study(const study_options& options) {
  const study_info& study = situ::studies::study_named(options.name);
  situ::studies::check_parts(study, options.only);
  const auto html = report_file(options.html_file), json = report_file(options.json_file);
  situ::os::handle_signal(SIGINT, interrupt, SA_RESTART);
  const study_context context = context_of(options);
  if (const std::string lacking = situ::studies::lacking_programs(study, context); !lacking.empty())
    tell("situ: {}\n", lacking);
  const study_result result = study.run(context);
  if (context.progress) tell("\r\x1b[K");
  print_out("{}", situ::studies::to_text(result));
  if (html) html->publish(situ::studies::to_html(result));
  if (json) json->publish(situ::studies::to_json(result));
  if (result.was_stopped) throw CLI::RuntimeError(128 + SIGINT);
}

void add_study_command(CLI::App& app) {
  CLI::App* study = app.add_subcommand("study", "Experiments of papers on modelled machines, beside their figures");
  study->require_subcommand(1);
  study->footer(
      "Examples:\n"
      "  situ study list                                   the studies, and what each repeats\n"
      "  situ study run nemesys --quick                    its figures beside the paper's, in under a minute\n"
      "  situ study run nemesys --only figure8 --html figure8.html    one part, as a page with plots\n"
      "  situ study run manycore-heap --only ratios,bundles --quick    a Squeak VM on one and two tiles of a TILE64");
  study->add_subcommand("list", "The studies that there are")->callback([] {
    for (const study_info& each : situ::studies::all_studies()) print_out("{:<15} {}\n", each.name, each.words);
  });
  auto options = std::make_shared<study_options>();
  CLI::App* run = study->add_subcommand("run", "Run one, and print the paper's figures, ours, and the deviation");
  run->add_option("name", options->name, "The study")->required()->type_name("NAME");
  run->add_flag("--quick", options->is_quick, "Fewer and smaller points: under a minute");
  run->add_option("--only", options->only, "Run these parts alone: figure8,table6")->delimiter(',')->type_name("PART");
  run->add_option("--html", options->html_file, "Also write one self-contained page, with plots")->type_name("FILE");
  run->add_option("--json", options->json_file, "Also write all figures and points")->type_name("FILE");
  run->footer("Ctrl-C leaves what is finished. What each study does, and how far it is off: docs/studies.");
  run->callback([options] { run_study(*options); });
}

}  // namespace

int main(int argc, char** argv) { return main_of_command(argc, argv, "study", add_study_command); }
