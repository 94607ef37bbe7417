// `situ bench report`, and `--out` of the benches: a page of results from the JSON files of one run, with its plots and
// the files themselves in a folder of its name beside it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results.h"
#include "results_page.h"

namespace situ::bench {

struct report_options {
  std::vector<std::string> files;  // of JSON, of one run: one machine, commit and build
  std::string out = "docs/results";
  std::string name;        // empty: the day, the benches and the commit
  bool with_plots = true;  // needs a python3 with matplotlib
};

// Writes the page. The exit code: 0, or 1 where a plot could not be drawn. Throws std::runtime_error for files that
// cannot be read, that are not of one run, or a folder that cannot be written.
int run_report(const report_options& options);

struct all_options {
  std::string out = "docs/results";
  bool quick = false;
  bool may_install = true;
  bool with_plots = true;
  bool large = false;               // of the stencil bench
  std::string programs;             // likewise
  std::vector<std::string> rivals;  // of the core bench
};

// The core, graph, everyday and stencil benches one after the other, and a page of all. The exit code: as
// run_core_bench(), and no page, where one of them did not deliver.
int run_all_benches(const all_options& options);

// The python3 that has matplotlib. Throws std::runtime_error, which says how to install it, where there is none: to be
// asked before minutes are spent on measuring.
[[nodiscard]] std::string find_plotting_python();

// Several files' rows as one run, as of its earliest date. Throws where they are of different machines, commits or
// builds, or where two hold the same case and subject.
[[nodiscard]] recorded_run merge_runs(const std::vector<recorded_run>& parts);

// What the page says; `files` are its JSON files as it names them.
[[nodiscard]] results_page describe_run(const recorded_run& run, const std::vector<std::string>& files);

// "2026-11-22-core-graph-b44f11b00000": the day, the benches that have rows, and the commit.
[[nodiscard]] std::string page_name(const recorded_run& run);

// Where a bench's results go, besides the table.
struct output_options {
  std::string json_file;  // empty: none
  std::string out;        // the folder of a page; empty: none
  std::string name;       // of the page, as in report_options
  bool with_plots = true;
};

// Runs `measure` with the name of a JSON file to write, then makes a page of it, where one is asked for.
int measure_and_report(const std::string& bench, const output_options& to,
                       const std::function<int(const std::string& json_file)>& measure);

}  // namespace situ::bench
