// A page of results: what a run of `situ bench` measured, as Markdown with plots. This part knows nothing of the
// benches: they describe themselves (results_report.h), and the same description always gives the same text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results.h"

namespace situ::bench {

// Cells of Markdown. Rows are as long as the header.
struct page_table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

struct plot_bar {
  std::string series;
  double value = 0;
  std::optional<double> aim = std::nullopt;  // drawn as a mark
};
struct plot_group {
  std::string label;
  std::vector<plot_bar> bars;
};
struct plot_point {
  double x = 0, y = 0, low = 0, high = 0;
};
struct plot_curve {
  std::string label;
  std::vector<plot_point> points;
};

// Bars of ratios, or curves over sizes (one of the two is empty). Both axes of curves are logarithmic, and the bars'.
struct plot {
  std::string file;  // name without folder: "core.svg"
  std::string title, x_label, y_label;
  std::vector<plot_group> groups;
  std::vector<plot_curve> curves;
};

struct page_section {
  std::string title;
  std::string words;  // how to read it; Markdown
  std::vector<plot> plots;
  page_table table;
  std::vector<std::string> limits;  // a line for each missed aim: what limits it
};

struct results_page {
  std::string title;
  provenance from;
  std::vector<page_section> sections;
  page_table terms;                // what each subject was compiled with, and how it was built
  std::vector<std::string> files;  // of JSON, beside the page
};

// `plots`: the folder of the plots as the page names it; empty: the page has none.
[[nodiscard]] std::string to_markdown(const results_page& page, const std::string& plots);

// What tools/plot_results.py draws: a JSON array of the plots of all sections.
[[nodiscard]] std::string to_plot_json(const results_page& page);

}  // namespace situ::bench
