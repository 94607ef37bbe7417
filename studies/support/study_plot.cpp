// Plots as SVG: both axes logarithmic, a line a decade, the legend within.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/study_page.h"

namespace situ::studies {
namespace {

constexpr double width = 520, height = 360;
constexpr double left = 62, right = 12, top = 30, bottom = 44;
constexpr std::array colours{"#0b6fb8", "#d1495b", "#2a9d5c", "#8a5fbf", "#b7791f", "#444444"};

// One axis: decades from `first` to `last` on pixels from `begin` to `end`.
struct axis {
  double first = 0, last = 1, begin = 0, end = 0;
  [[nodiscard]] double at(double value) const {
    return begin + (std::log10(value) - first) / (last - first) * (end - begin);
  }
};

bool is_drawn(const std::pair<double, double>& point) { return point.first > 0 && point.second > 0; }

// Whole decades around all values; false where there is nothing to draw.
bool fit(const plot& drawn, axis& x, axis& y) {
  double least[2] = {INFINITY, INFINITY};
  double most[2] = {0, 0};
  for (const series& line : drawn.lines) {
    for (const auto& point : line.points) {
      if (!is_drawn(point)) continue;
      const double values[2] = {point.first, point.second};
      for (int i = 0; i < 2; ++i) {
        least[i] = std::min(least[i], values[i]);
        most[i] = std::max(most[i], values[i]);
      }
    }
  }
  if (most[0] == 0) return false;
  x = {std::floor(std::log10(least[0])), std::ceil(std::log10(most[0])), left, width - right};
  y = {std::floor(std::log10(least[1])), std::ceil(std::log10(most[1])), height - bottom, top};
  for (axis* each : {&x, &y})
    if (each->last <= each->first) each->last = each->first + 1;
  return true;
}

std::string grid_lines(const axis& x, const axis& y) {
  std::string svg;
  for (double decade = x.first; decade <= x.last; ++decade) {
    const double at = x.at(std::pow(10, decade));
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#ddd\"/><text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">10<tspan "
        "dy=\"-4\" font-size=\"8\">{4:.0f}</tspan></text>\n",
        at, top, height - bottom, height - bottom + 16, decade);
  }
  for (double decade = y.first; decade <= y.last; ++decade) {
    const double at = y.at(std::pow(10, decade));
    svg += fmt::format(
        "<path d=\"M{0} {1:.1f}H{2}\" stroke=\"#ddd\"/><text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">10<tspan "
        "dy=\"-4\" font-size=\"8\">{5:.0f}</tspan></text>\n",
        left, at, width - right, left - 6, at + 4, decade);
  }
  return svg;
}

std::string curve(const series& line, const axis& x, const axis& y, const char* colour) {
  std::string path, markers;
  for (const auto& point : line.points) {
    if (!is_drawn(point)) continue;
    const double px = x.at(point.first), py = y.at(point.second);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', px, py);
    markers += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\" stroke=\"{}\"><title>{}: {:.4g}, {:.4g}</title>"
        "</circle>\n",
        px, py, line.is_hollow ? "#fff" : colour, colour, escape_html(line.name), point.first, point.second);
  }
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\"{}/>\n{}", path, colour,
                     line.is_hollow ? " stroke-dasharray=\"4 3\"" : "", markers);
}

}  // namespace

std::string to_svg(const plot& drawn) {
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" font-family=\"system-ui,sans-serif\" font-size=\"11\" fill=\"#333\" role=\"img\" "
      "aria-label=\"{2}\"><text x=\"{3}\" y=\"16\" font-size=\"13\" font-weight=\"600\">{2}</text>\n",
      width, height, escape_html(drawn.title), left);
  axis x, y;
  if (!fit(drawn, x, y)) return svg + "</svg>\n";
  svg += grid_lines(x, y);
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", (left + width - right) / 2,
                     height - 8, escape_html(drawn.x));
  svg += fmt::format("<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     (top + height - bottom) / 2, escape_html(drawn.y));
  for (std::size_t i = 0; i < drawn.lines.size(); ++i) {
    const char* const colour = colours[i % colours.size()];
    svg += curve(drawn.lines[i], x, y, colour);
    const double at = top + 14 + 15 * static_cast<double>(i);
    svg += fmt::format(
        "<circle cx=\"{0}\" cy=\"{1}\" r=\"3\" fill=\"{2}\" stroke=\"{3}\"/><text x=\"{4}\" y=\"{5}\">{6}</text>\n",
        left + 14, at - 4, drawn.lines[i].is_hollow ? "#fff" : colour, colour, left + 22, at,
        escape_html(drawn.lines[i].name));
  }
  return svg + "</svg>\n";
}

}  // namespace situ::studies
