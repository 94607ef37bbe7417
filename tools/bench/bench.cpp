// `situ bench`: the benchmarks: bench/support/core_bench.h, graph_bench.h, job_bench.h and stencil_bench.h behind
// options.
#include "command_line.h"

#include "cases.h"
#include "core_bench.h"
#include "graph_bench.h"
#include "job_bench.h"
#include "results_report.h"
#include "stencil_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace {

using situ::bench::output_options;

std::shared_ptr<output_options> add_output(CLI::App& bench) {
  auto output = std::make_shared<output_options>();
  bench.add_option("--json", output->json_file, "Also write the rows to this file")->type_name("FILE");
  CLI::Option* const out =
      bench
          .add_option("--out", output->out,
                      "Also write a page of results into this folder, with plots and the JSON file")
          ->type_name("FOLDER");
  bench.add_option("--name", output->name, "That page's name, without .md (the day, the bench, the commit)")
      ->needs(out);
  bench.add_flag("!--no-plots", output->with_plots, "A page without plots: these need python3-matplotlib");
  return output;
}

// Ends the command with the benchmark's exit code.
void end_with(int code) {
  if (code != 0) throw CLI::RuntimeError(code);
}

std::string core_footer() {
  std::string text = "Cases:\n";
  for (const situ::bench::case_info& info : situ::bench::all_cases())
    text += fmt::format("  {:<16} {}\n", info.name, info.operation);
  return text +
         "Subjects: raw (shared memory with nothing in between), situ, openmpi, oshmem.\nFigures, definitions and "
         "limits: docs/benchmarks.md.";
}

void add_core(CLI::App& bench) {
  auto options = std::make_shared<situ::bench::core_options>();
  CLI::App* core = bench.add_subcommand(
      "core", "One-sided access, messages, `at` and barriers, beside raw shared memory and the packaged rivals");
  core->add_option("--cases", options->cases, "Only these, with commas between")->delimiter(',')->type_name("NAME,...");
  core->add_option("--subjects", options->subjects, "Only these, with commas between")
      ->delimiter(',')
      ->type_name("NAME,...");
  const CLI::Option* seconds =
      core->add_option("--seconds", options->seconds,
                       "Time for samples, over all runs (60; 4 with --quick); starts come on top")
          ->check(CLI::PositiveNumber);
  core->add_option("--split-ns", options->split_ns,
                   "A sample is near where the raw round trip takes less, else far (227)")
      ->check(CLI::PositiveNumber);
  core->add_option("--rival", options->rivals,
                   "A rival built elsewhere, of two places: PROGRAM 2 starts its ranks, which take samples as "
                   "bench/support/sampling.h says; gasnetex=PROGRAM is held against the aims for it")
      ->type_name("NAME=PROGRAM");
  core->add_flag("--quick", options->quick, "One round with few samples");
  core->add_flag("!--no-install", options->may_install,
                 "Do not install the rivals' Debian packages where they are absent");
  const auto output = add_output(*core);
  core->footer(core_footer());
  core->callback([options, seconds, output] {
    if (options->quick && seconds->count() == 0) options->seconds = 4;
    end_with(situ::bench::measure_and_report("core", *output, [&](const std::string& json_file) {
      options->json_file = json_file;
      return situ::bench::run_core_bench(*options);
    }));
  });
}

std::string graph_footer() {
  std::string text =
      "Cases: OPERATION_FORM_SIZE, with sizes 1e2 to 1e7 (objects; bytes of flat; doubles of primitives)\n";
  for (const situ::bench::graph_operation& operation : situ::bench::graph_operations())
    text +=
        fmt::format("  {:<16} {}; subjects {}\n", operation.name, operation.words, fmt::join(operation.subjects, ", "));
  for (const situ::bench::graph_form& form : situ::bench::graph_forms())
    text += fmt::format("  {:<16} {}\n", form.name, form.words);
  return text + "Figures, definitions and limits: docs/benchmarks.md.";
}

void add_graph(CLI::App& bench) {
  auto options = std::make_shared<situ::bench::graph_options>();
  CLI::App* graph =
      bench.add_subcommand("graph", "Copies of object graphs, beside raw walks, memcpy and the packaged rivals");
  graph
      ->add_option("--cases", options->cases,
                   "Only these, with commas between; the beginning of a name stands for all that begin so")
      ->delimiter(',')
      ->type_name("NAME,...");
  graph->add_option("--subjects", options->subjects, "Only these, with commas between")
      ->delimiter(',')
      ->type_name("NAME,...");
  const CLI::Option* seconds =
      graph
          ->add_option("--seconds", options->seconds,
                       "Time for samples, over all runs (60; 2 with --quick); making the graphs comes on top")
          ->check(CLI::PositiveNumber);
  graph->add_flag("--quick", options->quick, "One round, graphs of up to 1e4 objects");
  graph->add_flag("!--no-install", options->may_install,
                  "Do not install the rivals' Debian packages where they are absent");
  const auto output = add_output(*graph);
  graph->footer(graph_footer());
  graph->callback([options, seconds, output] {
    if (options->quick && seconds->count() == 0) options->seconds = 2;
    end_with(situ::bench::measure_and_report("graph", *output, [&](const std::string& json_file) {
      options->json_file = json_file;
      return situ::bench::run_graph_bench(*options);
    }));
  });
}

void add_job_bench(CLI::App& bench, const situ::bench::job_bench& which) {
  auto options = std::make_shared<situ::bench::job_bench_options>();
  CLI::App* jobs = bench.add_subcommand(std::string{which.name}, std::string{which.help});
  jobs->add_option("--cases", options->cases,
                   "Only these, with commas between; the beginning of a name stands for all that begin so")
      ->delimiter(',')
      ->type_name("NAME,...");
  jobs->add_flag("--quick", options->quick, "Small sizes, one sample of each");
  if (which.has_files)
    jobs->add_option("--folder", options->folder,
                     "Where its files go, some GB, to be removed afterwards (TMPDIR, /tmp): on the disk that is meant")
        ->check(CLI::ExistingDirectory)
        ->type_name("FOLDER");
  if (which.is_over_hosts) {
    jobs->add_option("--hosts", options->hosts, "Two, as `situ run --hosts` names them")
        ->delimiter(',')
        ->expected(2)
        ->required()
        ->type_name("A,B");
    jobs->add_option("--rsh", options->remote_shell, "How they are reached, as of `situ run`")->type_name("CMD");
  }
  const auto output = add_output(*jobs);
  std::string footer = "Cases:\n";
  for (const situ::bench::comparison_case& info : which.cases)
    footer += fmt::format("  {:<16} {}\n", info.name, info.words);
  footer += fmt::format("Examples:\n  situ bench {0} --quick\n  situ bench {0} --cases {1}\n", which.name,
                        which.cases.front().name);
  for (const auto& [arguments, words] : which.examples)
    footer += fmt::format("  situ bench {} {}\n      {}\n", which.name, arguments, words);
  jobs->footer(footer + "Figures, definitions and limits: docs/benchmarks.md.");
  jobs->callback([options, output, &which] {
    end_with(situ::bench::measure_and_report(std::string{which.name}, *output, [&](const std::string& json_file) {
      options->json_file = json_file;
      return situ::bench::run_job_bench(which, *options);
    }));
  });
}

std::string stencil_footer() {
  std::string text = "Cases:\n";
  for (const situ::bench::comparison_case& info : situ::bench::all_stencil_cases())
    text += fmt::format("  {:<20} {}{}\n", info.name, info.words,
                        info.is_large      ? " (--large)"
                        : info.is_programs ? " (--programs)"
                                           : "");
  return text +
         "Files go to SITU_STENCIL_DIRECTORY, else TMPDIR or /tmp. Figures, definitions and limits: "
         "docs/benchmarks.md.";
}

void add_stencil(CLI::App& bench) {
  auto options = std::make_shared<situ::bench::stencil_options>();
  CLI::App* stencil = bench.add_subcommand("stencil",
                                           "Loops over grids, chains of them in tiles and out of core, beside loops "
                                           "written by hand and the file's bandwidth");
  stencil
      ->add_option("--cases", options->cases,
                   "Only these, with commas between; the beginning of a name stands for all that begin so")
      ->delimiter(',')
      ->type_name("NAME,...");
  const CLI::Option* seconds =
      stencil
          ->add_option("--seconds", options->seconds,
                       "Time for samples, over all runs (120; 1 with --quick); making the data comes on top")
          ->check(CLI::PositiveNumber);
  stencil->add_flag("--quick", options->quick, "Small grids, few samples");
  stencil->add_flag("--large", options->large, "Also the case with more data than memory: 30 GB of disk, some minutes");
  stencil
      ->add_option("--programs", options->programs,
                   "Also compare programs built elsewhere: FOLDER/CASE/SUBJECT prints its seconds (docs/benchmarks.md)")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER");
  const auto output = add_output(*stencil);
  stencil->add_flag("!--no-install", options->may_install, "Do not install Devito from PyPI where it is absent");
  stencil->footer(stencil_footer());
  stencil->callback([options, seconds, output] {
    if (options->quick && seconds->count() == 0) options->seconds = 1;
    end_with(situ::bench::measure_and_report("stencil", *output, [&](const std::string& json_file) {
      options->json_file = json_file;
      return situ::bench::run_stencil_bench(*options);
    }));
  });
}

// Runs all benches with their defaults, and makes one page of that one run.
void add_all(CLI::App& bench) {
  auto options = std::make_shared<situ::bench::all_options>();
  CLI::App* all = bench.add_subcommand("all", "All of these, one after the other, and one page of results of the run");
  all->add_option("--out", options->out, "The folder of the page (docs/results)")->type_name("FOLDER");
  all->add_flag("--quick", options->quick, "As for each of them");
  all->add_flag("!--no-install", options->may_install, "As for each of them");
  all->add_flag("!--no-plots", options->with_plots, "A page without plots: these need python3-matplotlib");
  all->add_flag("--large", options->large, "As for stencil");
  all->add_option("--programs", options->programs, "As for stencil")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER");
  all->add_option("--rival", options->rivals, "As for core")->type_name("NAME=PROGRAM");
  all->callback([options] { end_with(situ::bench::run_all_benches(*options)); });
}

void add_report(CLI::App& bench) {
  auto options = std::make_shared<situ::bench::report_options>();
  CLI::App* report = bench.add_subcommand("report", "A page of results from the JSON files of one run");
  report->add_option("files", options->files, "What `situ bench ... --json FILE` wrote")->required()->type_name("FILE");
  report->add_option("--out", options->out, "The folder of the page (docs/results)")->type_name("FOLDER");
  report->add_option("--name", options->name, "The page's name, without .md (the day, the benches, the commit)");
  report->add_flag("!--no-plots", options->with_plots, "A page without plots: these need python3-matplotlib");
  report->footer(
      "The page: what is aimed at against rivals and what limits each miss, a table and plots for each bench, and the\n"
      "terms: what each subject was compiled with and how it was built. The files must be of one machine and commit.");
  report->callback([options] { end_with(situ::bench::run_report(*options)); });
}

void add_bench_command(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "Measure Situ beside the raw limit and its rivals");
  bench->require_subcommand(1);
  bench->footer(
      "Examples:\n"
      "  situ bench core                                 put, get, messages and calls, beside the raw limit\n"
      "  situ bench graph --quick                        copies of object graphs: one round, up to 1e4 objects\n"
      "  situ bench stencil --quick --json stencil.json\n"
      "  situ bench report core.json stencil.json        a page of what these wrote\n"
      "  situ bench all                                  all of them, and one page of results");
  add_core(*bench);
  add_graph(*bench);
  for (const situ::bench::job_bench* const each : situ::bench::job_benches()) add_job_bench(*bench, *each);
  add_stencil(*bench);
  add_all(*bench);
  add_report(*bench);
}

}  // namespace

int main(int argc, char** argv) { return main_of_command(argc, argv, "bench", add_bench_command); }
