#include "model/parts/counters.h"

#include <situ/base/units.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace situ::model {
namespace {

bool counted_something(const part_counters& part) {
  return std::ranges::any_of(part.values, [](const auto& value) { return value.second != 0; });
}

// Times are counted in picoseconds, which nobody reads: the table has them in the unit that suits each, and their
// columns without "_ps".
constexpr std::string_view of_time = "_ps";

std::string heading_of(const std::string& column) {
  return column.ends_with(of_time) ? column.substr(0, column.size() - of_time.size()) : column;
}
std::string cell_of(const std::string& column, std::uint64_t value) {
  return column.ends_with(of_time) ? format_nanoseconds(static_cast<double>(value) * 1e-3) : fmt::format("{}", value);
}

// Appends one kind's table. Its columns are the names that any of its parts counts, in their order.
void append_table(std::string& text, const std::vector<const part_counters*>& rows) {
  std::vector<std::string> columns;
  std::size_t name_width = rows.front()->kind.size();
  for (const part_counters* row : rows) {
    name_width = std::max(name_width, row->part.size());
    for (const auto& [name, value] : row->values)
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
  }
  std::vector<std::size_t> widths;
  for (const std::string& column : columns) {
    std::size_t width = heading_of(column).size();
    for (const part_counters* row : rows) width = std::max(width, cell_of(column, (*row)[column]).size());
    widths.push_back(width);
  }
  text += fmt::format("{:<{}}", rows.front()->kind, name_width);
  for (std::size_t i = 0; i < columns.size(); ++i) text += fmt::format("  {:>{}}", heading_of(columns[i]), widths[i]);
  text += '\n';
  for (const part_counters* row : rows) {
    text += fmt::format("{:<{}}", row->part, name_width);
    for (std::size_t i = 0; i < columns.size(); ++i)
      text += fmt::format("  {:>{}}", cell_of(columns[i], (*row)[columns[i]]), widths[i]);
    text += '\n';
  }
}

}  // namespace

std::string to_text(const std::vector<part_counters>& parts) {
  std::vector<std::string> kinds;
  for (const part_counters& part : parts)
    if (std::ranges::find(kinds, part.kind) == kinds.end()) kinds.push_back(part.kind);
  std::string text;
  for (const std::string& kind : kinds) {
    std::vector<const part_counters*> rows;
    for (const part_counters& part : parts)
      if (part.kind == kind && counted_something(part)) rows.push_back(&part);
    if (rows.empty()) continue;
    if (!text.empty()) text += '\n';
    append_table(text, rows);
  }
  return text.empty() ? "nothing was counted\n" : text;
}

std::string to_json(const std::vector<part_counters>& parts, int indent) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const part_counters& part : parts) {
    nlohmann::ordered_json one{{"part", part.part}, {"kind", part.kind}};
    for (const auto& [name, value] : part.values) one[name] = value;
    out.push_back(std::move(one));
  }
  return out.dump(indent);
}

}  // namespace situ::model
