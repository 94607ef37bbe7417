// Barriers of sixteen nodes, once and several times in a row; the program of figure 6 repeated.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gascore/barriers.h"
#include "gascore/parts.h"

namespace situ::studies::gascore {
namespace {

grid repeated_figure_6() {
  constexpr std::size_t shown = 3;
  const std::vector<std::string> report = repeat_figure_6(2);
  const auto waiting = std::ranges::count_if(
      report, [](const std::string& line) { return line.find("waits for m") != std::string::npos; });
  grid table{
      fmt::format("figure 6, word for word, twice in a row: it stands still, and {} nodes wait; the report's first "
                  "lines",
                  waiting),
      {"node", "where it is"},
      {}};
  for (std::size_t i = 0; i < std::min(shown, report.size()); ++i) {
    const std::size_t colon = report[i].find(": ");
    table.lines.push_back({report[i].substr(0, colon), report[i].substr(colon + 2)});
  }
  return table;
}

}  // namespace

study_part barriers(const study_context& context) {
  study_part part{.name = "barriers", .title = "Barriers of sixteen nodes"};
  context.tell("barriers");
  grid table{"cycles from the common start",
             {"barrier", "to node 0", "for all", "two in a row", "four in a row", "each further one"},
             {}};
  for (const barrier_kind& each : all_barriers()) {
    if (context.stopped()) break;
    const barrier_cycles one = each.run(1);
    const std::int64_t two = each.run(2).all, four = each.run(4).all;
    table.lines.push_back({std::string{each.name}, fmt::format("{}", one.node_0), fmt::format("{}", one.all),
                           fmt::format("{}", two), fmt::format("{}", four),
                           fmt::format("{:.1f}", static_cast<double>(four - two) / 2)});
  }
  part.grids.push_back(std::move(table));
  part.grids.push_back(repeated_figure_6());
  part.notes = {
      "All but the first two are not in the paper. In a row, thresholds are raised and counts go on.",
      "Figure 6 sets its counter anew for each barrier, and that clears the count: calls of the second barrier that "
      "come "
      "before are lost. The paper does not say whether setting a counter clears it; its program runs once there."};
  return part;
}

}  // namespace situ::studies::gascore
