#include "results_page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace situ::bench {
namespace {

using nlohmann::ordered_json;

std::string line_of(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += cell.empty() ? " |" : " " + cell + " |";
  return line + "\n";
}

std::string text_of(const page_table& table) {
  if (table.rows.empty()) return {};
  std::string text = line_of(table.header) + "|";
  for (std::size_t i = 0; i < table.header.size(); ++i) text += " --- |";
  text += "\n";
  for (const auto& row : table.rows) text += line_of(row);
  return text + "\n";
}

std::string text_of(const page_section& section, const std::string& plots) {
  std::string text = fmt::format("## {}\n\n", section.title);
  if (!section.words.empty()) text += section.words + "\n\n";
  if (!plots.empty())
    for (const plot& each : section.plots) text += fmt::format("![{}]({}/{})\n\n", each.title, plots, each.file);
  text += text_of(section.table);
  if (!section.limits.empty()) {
    text += "What limits what is missed:\n\n";
    for (const std::string& limit : section.limits) text += "- " + limit + "\n";
    text += "\n";
  }
  return text;
}

ordered_json json_of(const plot& each) {
  ordered_json object{{"file", each.file}, {"title", each.title}, {"x_label", each.x_label}, {"y_label", each.y_label}};
  object["groups"] = ordered_json::array();
  for (const plot_group& group : each.groups) {
    ordered_json bars = ordered_json::array();
    for (const plot_bar& bar : group.bars)
      bars.push_back(
          {{"series", bar.series}, {"value", bar.value}, {"aim", bar.aim ? ordered_json(*bar.aim) : nullptr}});
    object["groups"].push_back({{"label", group.label}, {"bars", bars}});
  }
  object["curves"] = ordered_json::array();
  for (const plot_curve& curve : each.curves) {
    ordered_json points = ordered_json::array();
    for (const plot_point& p : curve.points) points.push_back({p.x, p.y, p.low, p.high});
    object["curves"].push_back({{"label", curve.label}, {"points", points}});
  }
  return object;
}

}  // namespace

std::string to_markdown(const results_page& page, const std::string& plots) {
  std::string text = fmt::format("# {}\n\n", page.title);
  text += fmt::format(
      "{}; commit {}, {} build; {}{}.\n\n", page.from.machine, page.from.commit, page.from.build, page.from.date,
      page.from.load < 0 ? "" : fmt::format("; load average {:.2f} in the minute before", page.from.load));
  if (page.from.build.ends_with(quick_mark))
    text += "A **quick** run: sizes are smaller than the cases say, and samples few. Its verdicts decide nothing.\n\n";
  text += "Written by `situ bench` from one run";
  for (std::size_t i = 0; i < page.files.size(); ++i)
    text += fmt::format("{}[{}]({})", i == 0 ? ": " : ", ", page.files[i], page.files[i]);
  text += ". Medians; in brackets the 10th and the 90th percentile of the samples.\n\n";
  for (const page_section& section : page.sections) text += text_of(section, plots);
  if (!page.terms.rows.empty()) {
    text += "## Equal terms\n\n";
    text +=
        "All subjects run on the same processors, bound alike, with huge pages where Situ has them, and are warm "
        "before the "
        "first sample. Flags are read from the programs themselves, where these record them.\n\n";
    text += text_of(page.terms);
  }
  text.pop_back();  // the last empty line
  return text;
}

std::string to_plot_json(const results_page& page) {
  ordered_json all = ordered_json::array();
  for (const page_section& section : page.sections)
    for (const plot& each : section.plots) all.push_back(json_of(each));
  return all.dump(1) + "\n";
}

}  // namespace situ::bench
