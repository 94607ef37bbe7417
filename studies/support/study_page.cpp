#include "support/study_page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace situ::studies {
namespace {

// Three digits that count; whole numbers as they are.
std::string figure(double value) {
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string range(double least, const std::optional<double>& most) {
  return most && *most != least ? fmt::format("{} to {}", figure(least), figure(*most)) : figure(least);
}

std::string optional_range(const std::optional<double>& least, const std::optional<double>& most,
                           const char* otherwise) {
  return least ? range(*least, most) : otherwise;
}

constexpr std::array headings{"figure", "unit", "paper", "ours", "deviation", "8-byte pointers", "from", "remark"};
using cells = std::array<std::string, headings.size()>;

cells cells_of(const comparison_row& row) {
  const std::optional<double> deviation = row.deviation();
  return {row.what,
          row.unit,
          optional_range(row.paper, row.paper_most, "no figure"),
          optional_range(row.ours, row.ours_most, "not yet"),
          !deviation                    ? ""
          : std::abs(*deviation) < 0.05 ? "0 %"
                                        : fmt::format("{:+.1f} %", *deviation),
          row.wide ? figure(*row.wide) : "",
          row.ours ? std::string{name(row.from)} : "",
          row.remark};
}

std::string text_table(const grid& drawn) {
  std::vector<std::size_t> widths(drawn.headings.size());
  const auto widen = [&](const std::vector<std::string>& line) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  };
  widen(drawn.headings);
  for (const auto& line : drawn.lines) widen(line);
  std::string table = drawn.title.empty() ? std::string{} : fmt::format("  {}\n", drawn.title);
  const auto add = [&](const std::vector<std::string>& line) {
    std::string out = " ";
    for (std::size_t i = 0; i < line.size(); ++i) out += fmt::format(" {:<{}} ", line[i], widths[i]);
    out.erase(out.find_last_not_of(' ') + 1);
    table += out + '\n';
  };
  add(drawn.headings);
  for (const auto& line : drawn.lines) add(line);
  return table;
}

// `with`: what stands over the figures of others.
grid grid_of(const std::vector<comparison_row>& rows, const std::string& with) {
  grid made{.headings{headings.begin(), headings.end()}};
  made.headings[2] = with;
  for (const comparison_row& row : rows) {
    const cells all = cells_of(row);
    made.lines.emplace_back(all.begin(), all.end());
  }
  return made;
}

nlohmann::ordered_json json_of(const comparison_row& row) {
  nlohmann::ordered_json json{{"figure", row.what}, {"unit", row.unit}};
  json["paper"] = row.paper ? nlohmann::ordered_json(*row.paper) : nlohmann::ordered_json(nullptr);
  if (row.paper_most) json["paper_most"] = *row.paper_most;
  json["ours"] = row.ours ? nlohmann::ordered_json(*row.ours) : nlohmann::ordered_json(nullptr);
  if (row.ours_most) json["ours_most"] = *row.ours_most;
  if (const std::optional<double> deviation = row.deviation()) json["deviation_percent"] = *deviation;
  if (row.wide) json["ours_with_8_byte_pointers"] = *row.wide;
  json["from"] = name(row.from);
  json["remark"] = row.remark;
  return json;
}

nlohmann::ordered_json json_of(const plot& drawn) {
  nlohmann::ordered_json json{{"title", drawn.title}, {"x", drawn.x}, {"y", drawn.y}};
  for (const series& line : drawn.lines) json["lines"].push_back({{"name", line.name}, {"points", line.points}});
  return json;
}

std::string html_table(const std::vector<comparison_row>& rows, const std::string& with) {
  std::string html = "<table><tr>";
  for (const std::string& heading : grid_of({}, with).headings) html += fmt::format("<th>{}</th>", heading);
  html += "</tr>\n";
  for (const comparison_row& row : rows) {
    const std::optional<double> deviation = row.deviation();
    html += !deviation ? "<tr class=\"missing\">" : std::abs(*deviation) > 10 ? "<tr class=\"far\">" : "<tr>";
    for (const std::string& cell : cells_of(row)) html += fmt::format("<td>{}</td>", escape_html(cell));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string html_table(const grid& drawn) {
  std::string html = drawn.title.empty() ? std::string{} : fmt::format("<h3>{}</h3>\n", escape_html(drawn.title));
  html += "<table><tr>";
  for (const std::string& heading : drawn.headings) html += fmt::format("<th>{}</th>", escape_html(heading));
  html += "</tr>\n";
  for (const auto& line : drawn.lines) {
    html += "<tr>";
    for (const std::string& cell : line) html += fmt::format("<td>{}</td>", escape_html(cell));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

constexpr std::string_view style =
    "body{font:15px/1.45 system-ui,sans-serif;color:#222;max-width:1100px;margin:2em auto;padding:0 1em}"
    "h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}"
    "table{border-collapse:collapse;font-size:13px;width:100%}th,td{text-align:left;padding:4px 8px;border-bottom:1px "
    "solid #ddd;vertical-align:top}th{border-bottom:2px solid #888}tr.far td{background:#fdecea}tr.missing "
    "td{color:#888}"
    ".plots{display:flex;flex-wrap:wrap;gap:16px;margin:1em 0}svg{width:520px;max-width:100%;height:auto}";

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string to_text(const study_result& result) {
  std::string text = fmt::format("{}\n{}\n", result.title, result.source);
  for (const std::string& sentence : result.method) text += fmt::format("  {}\n", sentence);
  for (const study_part& part : result.parts) {
    text += fmt::format("\n{}\n", part.title);
    if (!part.rows.empty()) text += text_table(grid_of(part.rows, result.compared_with));
    for (const grid& each : part.grids) text += text_table(each);
    for (const std::string& note : part.notes) text += fmt::format("  {}\n", note);
    for (const std::string& missing : part.missing) text += fmt::format("  not yet: {}\n", missing);
  }
  if (result.was_stopped) text += "\nStopped before the end: what is finished stands above.\n";
  return text;
}

std::string to_json(const study_result& result) {
  nlohmann::ordered_json json{{"study", result.name},    {"title", result.title},
                              {"source", result.source}, {"compared_with", result.compared_with},
                              {"kind", "modelled"},      {"was_stopped", result.was_stopped},
                              {"method", result.method}, {"parts", nlohmann::ordered_json::array()}};
  for (const study_part& part : result.parts) {
    nlohmann::ordered_json made{
        {"name", part.name}, {"title", part.title}, {"missing", part.missing}, {"notes", part.notes}};
    made["rows"] = made["plots"] = made["grids"] = nlohmann::ordered_json::array();
    for (const comparison_row& row : part.rows) made["rows"].push_back(json_of(row));
    for (const plot& drawn : part.plots) made["plots"].push_back(json_of(drawn));
    for (const grid& each : part.grids)
      made["grids"].push_back({{"title", each.title}, {"headings", each.headings}, {"lines", each.lines}});
    json["parts"].push_back(std::move(made));
  }
  return json.dump(2) + "\n";
}

std::string to_html(const study_result& result) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{0}</title><style>{1}</style></head><body>\n<h1>{0}</h1>\n<p>{2}</p>\n",
      escape_html(result.title), style, escape_html(result.source));
  html += "<ul>";
  for (const std::string& sentence : result.method) html += fmt::format("<li>{}</li>", escape_html(sentence));
  html += "</ul>\n";
  if (result.was_stopped) html += "<p><b>Stopped before the end: what is finished stands here.</b></p>\n";
  for (const study_part& part : result.parts) {
    html += fmt::format("<h2>{}</h2>\n<div class=\"plots\">\n", escape_html(part.title));
    for (const plot& drawn : part.plots) html += to_svg(drawn);
    html += "</div>\n";
    if (!part.rows.empty()) html += html_table(part.rows, result.compared_with);
    for (const grid& each : part.grids) html += html_table(each);
    for (const std::string& missing : part.missing) html += fmt::format("<p>Not yet: {}</p>\n", escape_html(missing));
  }
  return html + "</body></html>\n";
}

}  // namespace situ::studies
