#include "results_report.h"

#include "conditions.h"
#include "core_bench.h"
#include "graph_bench.h"
#include "job_bench.h"
#include "os/output_file.h"
#include "page_sections.h"
#include "rival_sources.h"
#include "rivals.h"
#include "stencil_bench.h"
#include "subject_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace situ::bench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error{"situ bench: " + what}; }

std::string text_of_file(const fs::path& path) {
  std::ifstream file{path};
  if (!file) fail("cannot read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, std::string_view text) { situ::detail::write_file(path.string(), text); }

recorded_run read_run(const std::string& path) {
  const std::string text = text_of_file(path);
  try {
    return from_json(text);
  } catch (const std::runtime_error& e) {
    fail(path + ": " + e.what());
  }
}

std::vector<std::string> benches_in(const recorded_run& run) {
  std::vector<std::string> all{"core", "graph"}, benches;
  for (const job_bench* const each : job_benches()) all.emplace_back(each->name);
  all.emplace_back("stencil");
  for (const std::string& bench : all)
    if (std::any_of(run.rows.begin(), run.rows.end(), [&](const row& r) { return bench_of(r.case_name) == bench; }))
      benches.emplace_back(bench);
  return benches;
}

bool draw_plots(const results_page& page, const fs::path& folder, const std::string& python) {
  const temporary_directory scratch;
  const fs::path script = scratch.path() / "plot_results.py", spec = scratch.path() / "plots.json";
  write_file(script, plot_script);
  write_file(spec, to_plot_json(page));
  const int status = run_saying({python, script.string(), spec.string(), folder.string()});
  if (status != 0) say(fmt::format("the plots could not be drawn: {} ended with status {}", python, status));
  return status == 0;
}

}  // namespace

std::string find_plotting_python() {
  // The one that is meant first; Debian's package is for Debian's own, which another may hide.
  for (const char* const python : {"python3", "/usr/bin/python3"})
    if (run_quietly({python, "-c", "import matplotlib"}) == 0) return python;
  fail("plots need a python3 with matplotlib: apt-get install python3-matplotlib (--no-plots goes without)");
}

recorded_run merge_runs(const std::vector<recorded_run>& parts) {
  recorded_run all;
  for (const recorded_run& part : parts) {
    if (all.rows.empty()) all.from = part.from;
    const auto same = [&](const std::string& mine, const std::string& theirs, const char* what) {
      if (mine != theirs) fail(fmt::format("the files are not of one run: {} '{}' and '{}'", what, mine, theirs));
    };
    same(all.from.machine, part.from.machine, "machine");
    same(all.from.commit, part.from.commit, "commit");
    same(all.from.build, part.from.build, "build");
    all.from.date = std::min(all.from.date, part.from.date);
    all.from.load = std::max(all.from.load, part.from.load);
    for (const row& r : part.rows) {
      if (find_row(all.rows, r.case_name, r.subject) != nullptr)
        fail(fmt::format("two files hold {} of {}", r.case_name, r.subject));
      all.rows.push_back(r);
    }
  }
  return all;
}

std::string page_name(const recorded_run& run) {
  std::string name = run.from.date.substr(0, 10);
  for (const std::string& bench : benches_in(run)) name += "-" + bench;
  return name + "-" + run.from.commit;
}

results_page describe_run(const recorded_run& run, const std::vector<std::string>& files) {
  results_page page;
  page.title = fmt::format("Results of {}", run.from.date.substr(0, 10));
  page.from = run.from;
  page.files = files;
  if (auto section = aims_section(run.rows)) page.sections.push_back(std::move(*section));
  if (auto section = core_section(run.rows)) page.sections.push_back(std::move(*section));
  for (page_section& section : graph_sections(run.rows)) page.sections.push_back(std::move(section));
  for (const job_bench* const each : job_benches())
    if (auto section = job_section(*each, run.rows)) page.sections.push_back(std::move(*section));
  if (auto section = stencil_section(run.rows)) page.sections.push_back(std::move(*section));
  page.terms = terms_table(run.rows);
  return page;
}

int run_report(const report_options& options) {
  if (options.files.empty()) fail("which files? See `situ bench report --help`");
  const std::string python = options.with_plots ? find_plotting_python() : "";
  std::vector<recorded_run> parts;
  for (const std::string& file : options.files) parts.push_back(read_run(file));
  const recorded_run run = merge_runs(parts);
  if (benches_in(run).empty()) fail("no bench has any of the cases in these files");

  const std::string name = options.name.empty() ? page_name(run) : options.name;
  const fs::path beside = fs::path{options.out} / name;
  fs::create_directories(beside);
  std::vector<std::string> kept;
  for (const std::string& file : options.files) {
    const fs::path copy = beside / fs::path{file}.filename();
    if (!fs::exists(copy) || !fs::equivalent(file, copy))
      fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    kept.push_back(name + "/" + copy.filename().string());
  }
  const results_page page = describe_run(run, kept);
  const bool drawn = !options.with_plots || draw_plots(page, beside, python);
  write_file(fs::path{options.out} / (name + ".md"), to_markdown(page, options.with_plots ? name : ""));
  say("wrote " + (fs::path{options.out} / (name + ".md")).string());
  return drawn ? 0 : 1;
}

int run_all_benches(const all_options& options) {
  if (options.with_plots) (void)find_plotting_python();
  const temporary_directory scratch;
  const auto file = [&](const std::string& bench) { return (scratch.path() / bench).string() + ".json"; };
  const std::string core_file = file("core"), graph_file = file("graph"), stencil_file = file("stencil");
  core_options core{
      .rivals = options.rivals, .quick = options.quick, .may_install = options.may_install, .json_file = core_file};
  graph_options graph{.quick = options.quick, .may_install = options.may_install, .json_file = graph_file};
  stencil_options stencil{.quick = options.quick,
                          .large = options.large,
                          .may_install = options.may_install,
                          .programs = options.programs,
                          .json_file = stencil_file};
  if (options.quick) core.seconds = 4, graph.seconds = 2, stencil.seconds = 1;
  if (const int code = run_core_bench(core); code != 0) return code;
  if (const int code = run_graph_bench(graph); code != 0) return code;
  std::vector<std::string> files{core_file, graph_file};
  for (const job_bench* const each : job_benches()) {
    if (each->is_over_hosts) continue;  // nobody has named two
    files.push_back(file(std::string{each->name}));
    const job_bench_options job{.cases = {}, .quick = options.quick, .json_file = files.back()};
    if (const int code = run_job_bench(*each, job); code != 0) return code;
  }
  if (const int code = run_stencil_bench(stencil); code != 0) return code;
  files.push_back(stencil_file);
  return run_report({.files = files, .out = options.out, .name = {}, .with_plots = options.with_plots});
}

int measure_and_report(const std::string& bench, const output_options& to,
                       const std::function<int(const std::string& json_file)>& measure) {
  if (to.out.empty()) return measure(to.json_file);
  if (to.with_plots) (void)find_plotting_python();
  const temporary_directory scratch;
  const std::string measured = (scratch.path() / (bench + ".json")).string();
  if (const int code = measure(measured); code != 0) return code;
  if (!to.json_file.empty()) fs::copy_file(measured, to.json_file, fs::copy_options::overwrite_existing);
  return run_report({.files = {measured}, .out = to.out, .name = to.name, .with_plots = to.with_plots});
}

}  // namespace situ::bench
