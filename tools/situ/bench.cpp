// `situ bench`: the benchmarks. `situ bench core` is bench/support/core_bench.h behind options.
#include "commands.h"

#include "cases.h"
#include "core_bench.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <string>

namespace {

std::string core_footer() {
  std::string text = "Cases:\n";
  for (const situ::bench::case_info& info : situ::bench::all_cases())
    text += fmt::format("  {:<16} {}\n", info.name, info.operation);
  return text + "Subjects: raw (shared memory with nothing in between), situ, openmpi, oshmem.\nFigures, definitions and limits: docs/benchmarks.md.";
}

void add_core(CLI::App& bench) {
  auto options = std::make_shared<situ::bench::core_options>();
  CLI::App* core = bench.add_subcommand("core", "One-sided access, messages, `at` and barriers, beside raw shared memory and the packaged rivals");
  core->add_option("--cases", options->cases, "Only these, with commas between")->delimiter(',')->type_name("NAME,...");
  core->add_option("--subjects", options->subjects, "Only these, with commas between")->delimiter(',')->type_name("NAME,...");
  const CLI::Option* seconds =
      core->add_option("--seconds", options->seconds, "Time for samples, over all runs (60; 4 with --quick); starts come on top")
          ->check(CLI::PositiveNumber);
  core->add_option("--split-ns", options->split_ns, "A sample is near where the raw round trip takes less, else far (227)")->check(CLI::PositiveNumber);
  core->add_flag("--quick", options->quick, "One round with few samples");
  core->add_flag("!--no-install", options->may_install, "Do not install the rivals' Debian packages where they are absent");
  core->add_option("--json", options->json_file, "Also write the rows to this file")->type_name("FILE");
  core->footer(core_footer());
  core->callback([options, seconds] {
    if (options->quick && seconds->count() == 0)
      options->seconds = 4;
    if (const int code = situ::bench::run_core_bench(*options); code != 0)
      throw CLI::RuntimeError(code);
  });
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "Measure Situ beside the raw limit and its rivals");
  bench->require_subcommand(1);
  add_core(*bench);
}
