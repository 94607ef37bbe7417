// `situ study`: experiments of papers on modelled machines, beside the papers' figures (studies/).
#include "commands.h"

#include "support/study_page.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

namespace {

using situ::studies::study_context;
using situ::studies::study_info;
using situ::studies::study_result;

struct study_options {
  std::string name, html_file, json_file;
  bool is_quick = false;
};

// The first Ctrl-C ends the study at its next point, with what is finished; the second ends the command.
std::atomic<bool> is_interrupted = false;
void interrupt(int signal) {
  is_interrupted = true;
  std::signal(signal, SIG_DFL);
}

void save_text(const std::string& path, const std::string& text) {
  std::ofstream file{path};
  file << text;
  file.flush();
  if (!file) situ::throw_error(situ::errc::bad_file, fmt::format("{} cannot be written", path));
}

study_context context_of(const study_options& options) {
  study_context context{
      .is_quick = options.is_quick, .progress = {}, .is_stopped = [] { return is_interrupted.load(); }};
  if (isatty(STDERR_FILENO) != 0)
    context.progress = [](std::string_view what) { fmt::print(stderr, "\r\x1b[K{}", what); };
  return context;
}

void run_study(const study_options& options) {
  const study_info& study = situ::studies::study_named(options.name);
  // a file that cannot be written shall not cost a study
  if (!options.html_file.empty()) save_text(options.html_file, "");
  if (!options.json_file.empty()) save_text(options.json_file, "");
  std::signal(SIGINT, interrupt);
  const study_context context = context_of(options);
  const study_result result = study.run(context);
  if (context.progress) fmt::print(stderr, "\r\x1b[K");
  fmt::print("{}", situ::studies::to_text(result));
  if (!options.html_file.empty()) save_text(options.html_file, situ::studies::to_html(result));
  if (!options.json_file.empty()) save_text(options.json_file, situ::studies::to_json(result));
  if (result.was_stopped) throw CLI::RuntimeError(128 + SIGINT);
}

}  // namespace

void add_study_command(CLI::App& app) {
  CLI::App* study = app.add_subcommand("study", "Experiments of papers on modelled machines, beside their figures");
  study->require_subcommand(1);
  study->add_subcommand("list", "The studies that there are")->callback([] {
    for (const study_info& each : situ::studies::all_studies()) fmt::print("{:<10} {}\n", each.name, each.words);
  });
  auto options = std::make_shared<study_options>();
  CLI::App* run = study->add_subcommand("run", "Run one, and print the paper's figures, ours, and the deviation");
  run->add_option("name", options->name, "The study")->required()->type_name("NAME");
  run->add_flag("--quick", options->is_quick, "Fewer and smaller points: under a minute");
  run->add_option("--html", options->html_file, "Also write one self-contained page, with plots")->type_name("FILE");
  run->add_option("--json", options->json_file, "Also write all figures and points")->type_name("FILE");
  run->footer("Ctrl-C leaves what is finished. What each study does, and how far it is off: docs/studies.");
  run->callback([options] { run_study(*options); });
}
