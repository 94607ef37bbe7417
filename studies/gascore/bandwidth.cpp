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

struct transfer {
  direction of;
  unsigned distance;
};
constexpr std::array<transfer, 6> all_transfers{{{direction::write, 0},
                                                 {direction::write, 1},
                                                 {direction::write, 2},
                                                 {direction::read, 0},
                                                 {direction::read, 1},
                                                 {direction::read, 2}}};

std::string name(const transfer& each) { return fmt::format("{}, distance {}", name(each.of), each.distance); }

comparison_row half_row(const transfer& each) {
  const auto percent = [&](std::uint32_t bytes) { return mb_s(each.of, each.distance, bytes) / optimum_mb_s * 100; };
  return {.what = fmt::format("half of 400 MB/s is reached: {}", name(each)),
          .unit = "bytes",
          .paper = half_bytes_least,
          .paper_most = half_bytes_most,
          .ours = half_of_optimum(each.of, each.distance),
          .from = origin::predicted,
          .remark = fmt::format("64 bytes: {:.0f} % of the optimum; 256 bytes: {:.0f} %", percent(64), percent(256))};
}

// The rates of all transfers by their size, as a grid and as lines of a plot.
void add_rates(study_part& part, bool is_quick) {
  grid table{"MB/s of one transfer, of 400", {"bytes"}, {}};
  plot drawn{"Bandwidth of one transfer", "bytes", "MB/s", {}};
  for (const transfer& each : all_transfers) {
    table.headings.push_back(name(each));
    drawn.lines.push_back({.name = name(each), .points = {}, .is_hollow = each.of == direction::read});
  }
  for (std::uint32_t bytes = least_bytes; bytes <= most_bytes; bytes *= is_quick ? 4 : 2) {
    std::vector<std::string> cells{fmt::format("{}", bytes)};
    for (std::size_t i = 0; i < all_transfers.size(); ++i) {
      const double rate = mb_s(all_transfers.at(i).of, all_transfers.at(i).distance, bytes);
      cells.push_back(fmt::format("{:.1f}", rate));
      drawn.lines[i].points.emplace_back(bytes, rate);
    }
    table.lines.push_back(std::move(cells));
  }
  part.plots.push_back(std::move(drawn));
  part.grids.push_back(std::move(table));
}

}  // namespace

study_part bandwidth(const study_context& context) {
  study_part part{.name = "bandwidth", .title = "Figure 10: bandwidth by the size of a transfer"};
  context.tell("bandwidth");
  for (const transfer& each : all_transfers) part.rows.push_back(half_row(each));
  add_rates(part, context.is_quick);
  part.notes = {
      "The paper's values of figure 10 are not in its text, which says only that half of the optimum is reached "
      "between "
      "64 and 256 bytes, and not of which transfers and distances. A read has both ways in its time.",
      "The optimum is a word of 4 bytes a cycle at 100 MHz."};
  return part;
}

}  // namespace situ::studies::gascore
