// `situ bench`: the benchmarks: bench/support/core_bench.h, graph_bench.h and stencil_bench.h behind options.
#include "commands.h"

#include "cases.h"
#include "core_bench.h"
#include "graph_bench.h"
#include "stencil_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace {

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
  core->add_flag("--quick", options->quick, "One round with few samples");
  core->add_flag("!--no-install", options->may_install,
                 "Do not install the rivals' Debian packages where they are absent");
  core->add_option("--json", options->json_file, "Also write the rows to this file")->type_name("FILE");
  core->footer(core_footer());
  core->callback([options, seconds] {
    if (options->quick && seconds->count() == 0) options->seconds = 4;
    if (const int code = situ::bench::run_core_bench(*options); code != 0) throw CLI::RuntimeError(code);
  });
}

std::string graph_footer() {
  std::string text =
      "Cases: OPERATION_SHAPE_SIZE, with sizes 1e2 to 1e7 (objects; bytes of flat; doubles of primitives)\n";
  for (const situ::bench::graph_operation& operation : situ::bench::graph_operations())
    text +=
        fmt::format("  {:<16} {}; subjects {}\n", operation.name, operation.words, fmt::join(operation.subjects, ", "));
  for (const situ::bench::graph_shape& shape : situ::bench::graph_shapes())
    text += fmt::format("  {:<16} {}\n", shape.name, shape.words);
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
  graph->add_option("--json", options->json_file, "Also write the rows to this file")->type_name("FILE");
  graph->footer(graph_footer());
  graph->callback([options, seconds] {
    if (options->quick && seconds->count() == 0) options->seconds = 2;
    if (const int code = situ::bench::run_graph_bench(*options); code != 0) throw CLI::RuntimeError(code);
  });
}

std::string stencil_footer() {
  std::string text = "Cases:\n";
  for (const situ::bench::stencil_case& info : situ::bench::all_stencil_cases())
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
  stencil->add_option("--json", options->json_file, "Also write the rows to this file")->type_name("FILE");
  stencil->footer(stencil_footer());
  stencil->callback([options, seconds] {
    if (options->quick && seconds->count() == 0) options->seconds = 1;
    if (const int code = situ::bench::run_stencil_bench(*options); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "Measure Situ beside the raw limit and its rivals");
  bench->require_subcommand(1);
  add_core(*bench);
  add_graph(*bench);
  add_stencil(*bench);
}
