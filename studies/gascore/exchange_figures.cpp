// Halo exchanges, and messages across the ring of chips.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gascore/exchanges.h"
#include "gascore/parts.h"

namespace situ::studies::gascore {
namespace {

std::string number(std::int64_t of) { return fmt::format("{}", of); }

}  // namespace

study_part halos(const study_context& context) {
  study_part part{.name = "halo", .title = "Halo: each of sixteen nodes on a ring writes to both neighbours"};
  context.tell("halo");
  grid table{"cycles until the last node has all bytes",
             {"bytes to each", "1 step", "4 steps", "each further one", "1 step, without ready messages",
              "4 steps, without", "each further one, without"},
             {}};
  for (const std::uint32_t bytes : {4U, 64U, 256U, 1024U}) {
    if (context.stopped()) break;
    std::vector<std::string> line{number(bytes)};
    for (const bool asks : {true, false}) {
      const std::int64_t one = halo_cycles({.bytes = bytes, .steps = 1, .asks = asks});
      const std::int64_t four = halo_cycles({.bytes = bytes, .steps = 4, .asks = asks});
      line.insert(line.end(), {number(one), number(four), fmt::format("{:.1f}", static_cast<double>(four - one) / 3)});
    }
    table.lines.push_back(std::move(line));
  }
  part.grids.push_back(std::move(table));
  part.notes = {
      "Not in the paper, which has no application; its section 3.2 names transfer counters as soft barriers, and a "
      "node "
      "here goes on when all bytes for it have come. Each run compared all bytes with those that were sent.",
      "With ready messages a node tells both neighbours that they may write. Without them a neighbour may be a step "
      "ahead: "
      "a program then needs two sets of ghost elements."};
  return part;
}

study_part ring(const study_context& context) {
  study_part part{.name = "ring", .title = "Long messages to the opposite chip, all at once"};
  context.tell("ring");
  grid table{
      "cycles until the last one has arrived", {"bytes of each", "one from each chip", "one from each node"}, {}};
  for (const std::uint32_t bytes : {4U, 64U, 256U, 1024U, 8192U})
    table.lines.push_back(
        {number(bytes), number(send_to_opposite(bytes, 4).cycles), number(send_to_opposite(bytes, 1).cycles)});
  part.grids.push_back(std::move(table));
  const opposite_result four = send_to_opposite(256, 4);
  grid links{"words over each link, one message of 256 bytes from each chip",
             {"from chip", "to the next one", "to the one before"},
             {}};
  for (std::size_t chip = 0; chip < four.link_words.size(); ++chip)
    links.lines.push_back({fmt::format("{}", chip), fmt::format("{}", four.link_words.at(chip)[0]),
                           fmt::format("{}", four.link_words.at(chip)[1])});
  part.grids.push_back(std::move(links));
  part.notes = {
      "All arrive. The rule: no packet passes through chip 0. So the links of a direction are taken in increasing "
      "order "
      "and never in a cycle, and packets that are longer than the FIFOs cannot wait for each other around the ring. On "
      "four chips each way is still a shortest one. The paper has no rule for two hops, and does not say what it "
      "does."};
  return part;
}

}  // namespace situ::studies::gascore
