// A study: experiments of a paper on its modelled machine, beside the paper's figures.
//
// A study runs and gives its result part by part; study_page.h makes text, JSON and a page of it. A part that a study
// cannot run yet says so in `missing`. Not thread-safe.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace situ::studies {

// What stands behind a figure of ours.
enum class origin {
  given,       // the paper's own figure goes into the model as it is
  calibrated,  // a constant of the model was chosen so that this comes out
  criterion,   // a threshold read off the model by a criterion of ours: another criterion gives another figure
  predicted,   // comes out of the model
  measured,    // on this host
};
[[nodiscard]] std::string_view name(origin of) noexcept;

// A figure of the paper beside ours.
struct comparison_row {
  std::string what;
  std::string unit;
  std::optional<double> paper;       // none: the paper does not say it in figures
  std::optional<double> paper_most;  // where the paper gives a range: its upper end
  std::optional<double> ours;        // none: not yet
  std::optional<double> ours_most;
  std::optional<double> wide;  // ours with pointers of 8 bytes
  origin from = origin::predicted;
  std::string remark;
  // How far ours is from the paper's figure or range, in percent of it, the worse of two ends; within the range: 0.
  [[nodiscard]] std::optional<double> deviation() const;
};

struct series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool is_hollow = false;  // per element, as the paper's hollow markers
};

// Both axes logarithmic.
struct plot {
  std::string title, x, y;
  std::vector<series> lines;
};

// A table of its own shape: a line of cells for each line, the headings first.
struct grid {
  std::string title;
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> lines;
};

struct study_part {
  std::string name, title;
  std::vector<comparison_row> rows;
  std::vector<plot> plots;
  std::vector<grid> grids;
  std::vector<std::string> missing;  // what is not there yet, and why
  std::vector<std::string> notes;    // sentences below the table
};

struct study_result {
  std::string name, title, source;
  std::string compared_with = "paper";  // whose figures those of comparison_row::paper are
  std::vector<std::string> method;      // a sentence each
  std::vector<study_part> parts;
  bool was_stopped = false;  // some parts are short, or not there
};

// How to run.
struct study_context {
  bool is_quick = false;
  std::vector<std::string> only;                        // the parts to run, by name; empty: all
  std::function<void(std::string_view what)> progress;  // may be empty
  std::function<bool()> is_stopped;                     // asked between points; may be empty
  void tell(std::string_view what) const {
    if (progress) progress(what);
  }
  [[nodiscard]] bool stopped() const { return is_stopped && is_stopped(); }
  [[nodiscard]] bool wants(std::string_view part) const {
    return only.empty() || std::ranges::find(only, part) != only.end();
  }
};

// A program of Situ that a study starts.
struct needed_program {
  std::string_view name;
  std::vector<std::string_view> parts = {};  // those that start it; empty: all
};

struct study_info {
  std::string_view name;
  std::string_view words;  // one line
  study_result (*run)(const study_context&);
  std::vector<std::string_view> parts = {};  // that can be run by themselves
  std::vector<needed_program> programs = {};
};
[[nodiscard]] const std::vector<study_info>& all_studies();
// Throws bad_argument with the names that there are.
[[nodiscard]] const study_info& study_named(std::string_view name);
// Throws bad_argument, with the parts that there are, where the study has none of that name.
void check_parts(const study_info& study, const std::vector<std::string>& only);
// Returns one line that says which programs this run of the study lacks, and how to get them; an empty text if it lacks
// none. The parts that need these programs have no figures then.
[[nodiscard]] std::string lacking_programs(const study_info& study, const study_context& context);

}  // namespace situ::studies
