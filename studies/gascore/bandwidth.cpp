// Figure 10: the bandwidth of one transfer by its size.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gascore/messages.h"
#include "gascore/parts.h"
#include "gascore/published.h"

namespace situ::studies::gascore {
namespace {

constexpr std::uint32_t least_bytes = 4, most_bytes = 16384;

enum class direction : std::uint8_t { write, read };

std::string_view name(direction of) { return of == direction::write ? "write" : "read"; }

double mb_s(direction of, unsigned distance, std::uint32_t bytes) {
  const std::int64_t cycles =
      of == direction::write ? one_way_cycles(distance, bytes) : both_ways_cycles(distance, bytes);
  return bytes * cycles_of_us / static_cast<double>(cycles);  // bytes a microsecond
}

// Returns the least multiple of 4 bytes whose transfer has half of the optimum. More bytes have more bandwidth.
std::uint32_t half_of_optimum(direction of, unsigned distance) {
  std::uint32_t below = 0, enough = most_bytes;
  while (enough - below > 4) {
    const std::uint32_t bytes = (below + enough) / 8 * 4;
    (mb_s(of, distance, bytes) >= optimum_mb_s / 2 ? enough : below) = bytes;
  }
  return enough;
}

}  // namespace

study_part bandwidth(const study_context& context) {
  study_part part{.name = "bandwidth", .title = "Figure 10: bandwidth by the size of a transfer"};
  context.tell("bandwidth");
  grid table{"MB/s of one transfer, of 400", {"bytes"}, {}};
  plot drawn{"Bandwidth of one transfer", "bytes", "MB/s", {}};
  std::vector<series> lines;
  for (const direction of : {direction::write, direction::read})
    for (unsigned distance = 0; distance < at_distance.size(); ++distance) {
      const std::string title = fmt::format("{}, distance {}", name(of), distance);
      table.headings.push_back(title);
      lines.push_back({.name = title, .points = {}, .is_hollow = of == direction::read});
      const std::uint32_t half = half_of_optimum(of, distance);
      part.rows.push_back({.what = fmt::format("half of 400 MB/s is reached: {}", title),
                           .unit = "bytes",
                           .paper = half_bytes_least,
                           .paper_most = half_bytes_most,
                           .ours = half,
                           .from = origin::predicted,
                           .remark = fmt::format("64 bytes: {:.0f} % of the optimum; 256 bytes: {:.0f} %",
                                                 mb_s(of, distance, 64) / optimum_mb_s * 100,
                                                 mb_s(of, distance, 256) / optimum_mb_s * 100)});
    }
  for (std::uint32_t bytes = least_bytes; bytes <= most_bytes; bytes *= context.is_quick ? 4 : 2) {
    std::vector<std::string> cells{fmt::format("{}", bytes)};
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const double rate = mb_s(i < at_distance.size() ? direction::write : direction::read,
                               static_cast<unsigned>(i % at_distance.size()), bytes);
      cells.push_back(fmt::format("{:.1f}", rate));
      lines[i].points.emplace_back(bytes, rate);
    }
    table.lines.push_back(std::move(cells));
  }
  drawn.lines = std::move(lines);
  part.plots.push_back(std::move(drawn));
  part.grids.push_back(std::move(table));
  part.notes = {
      "The paper's values of figure 10 are not in its text, which says only that half of the optimum is reached "
      "between "
      "64 and 256 bytes, and not of which transfers and distances. A read has both ways in its time.",
      "The optimum is a word of 4 bytes a cycle at 100 MHz."};
  return part;
}

}  // namespace situ::studies::gascore
