// Tables 4 to 7 of the paper.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "gascore/barriers.h"
#include "gascore/messages.h"
#include "gascore/parts.h"
#include "gascore/published.h"

namespace situ::studies::gascore {
namespace {

comparison_row row(std::string what, const published_time& paper, std::int64_t cycles) {
  return {.what = std::move(what),
          .unit = "cycles",
          .paper = std::round(paper.us * cycles_of_us),
          .ours = static_cast<double>(cycles),
          .from = paper.from,
          .remark = std::string{paper.remark}};
}

void add_latencies(study_part& part) {
  for (unsigned distance = 0; distance < table_4.size(); ++distance) {
    const published_latency& paper = table_4.at(distance);
    part.rows.push_back(
        row(fmt::format("table 4: one way, distance {}", distance), paper.one_way, one_way_cycles(distance, 0)));
    part.rows.push_back(
        row(fmt::format("table 4: both ways, distance {}", distance), paper.both_ways, both_ways_cycles(distance, 0)));
  }
  for (unsigned distance = 0; distance < table_5.size(); ++distance) {
    const published_latency& paper = table_5.at(distance);
    part.rows.push_back(row(fmt::format("table 5: write of a word, distance {}", distance), paper.one_way,
                            one_way_cycles(distance, 4)));
    part.rows.push_back(row(fmt::format("table 5: read of a word, distance {}", distance), paper.both_ways,
                            both_ways_cycles(distance, 4)));
  }
}

}  // namespace

study_part tables(const study_context& context) {
  study_part part{.name = "tables", .title = "Tables 4 to 7: latencies and barriers"};
  context.tell("tables");
  add_latencies(part);
  const barrier_cycles simple = run_figure_6(), staggered = run_staggered(1);
  part.rows.push_back(row("table 6: simple barrier, to node 0", table_6.to_node_0, simple.node_0));
  part.rows.push_back(row("table 6: simple barrier, for all", table_6.for_all, simple.all));
  part.rows.push_back(row("table 7: staggered barrier, to node 0", table_7.to_node_0, staggered.node_0));
  part.rows.push_back(row("table 7: staggered barrier, for all", table_7.for_all, staggered.all));
  part.notes = {"The paper's figures are its microseconds by 100 MHz; it prints two digits, which are whole cycles.",
                "Six constants of the model were chosen by six of these figures, so those are calibrated. The ten "
                "others follow."};
  return part;
}

}  // namespace situ::studies::gascore
