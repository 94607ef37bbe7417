#include "gascore/message_states.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gascore/messages.h"
#include "gascore/parts.h"

namespace situ::studies::gascore {
namespace {

// The acts of all nodes' units from the start time on: cycle, node, unit, state.
using acted_states = std::set<std::tuple<std::uint64_t, unsigned, std::string_view, std::string_view>>;

void expect_acted(const acted_states& seen, std::uint64_t cycle, unsigned node, std::string_view unit,
                  std::string_view state) {
  if (seen.contains({cycle, node, unit, state})) return;
  throw error{errc::bad_argument,
              fmt::format("{} of node {} was not in {} in cycle {} of the message", unit, node, state, cycle)};
}

std::string name(chain_state::side of) {
  switch (of) {
    case chain_state::side::sender: return "sender";
    case chain_state::side::network: return "network";
    case chain_state::side::receiver: break;
  }
  return "receiver";
}

std::string cell(std::uint32_t cycles) { return cycles == 0 ? "" : fmt::format("{}", cycles); }

grid table_of(std::span<const chain_cycles> columns) {
  grid table{"cycles of one message",
             {"side", "unit", "state", "known by", "short, distance 0", "distance 1", "distance 2",
              "long of a word, distance 0"},
             {}};
  for (std::size_t i = 0; i < chain_states.size(); ++i) {
    const chain_state& each = chain_states.at(i);
    std::vector<std::string> line{name(each.of), std::string{each.unit}, std::string{each.state},
                                  each.is_observed ? "run" : "rule"};
    for (const chain_cycles& column : columns) line.push_back(cell(column.of.at(i)));
    table.lines.push_back(std::move(line));
  }
  std::vector<std::string> sum{"", "", "sum", ""};
  for (const chain_cycles& column : columns) sum.push_back(cell(column.sum));
  table.lines.push_back(std::move(sum));
  return table;
}

}  // namespace

chain_cycles check_chain(unsigned distance, bool is_long) {
  timed_board board;
  acted_states seen;
  board.board().observe([&](const model::pams_board::action& each) {
    if (each.cycle >= timed_board::start_time)
      seen.emplace(each.cycle - timed_board::start_time, each.node, each.unit, each.state);
  });
  make_message(board, distance, is_long ? 4 : 0);
  board.run();
  const std::uint32_t to = at_distance.at(distance);
  chain_cycles found;
  for (std::size_t i = 0; i < chain_states.size(); ++i) {
    const chain_state& each = chain_states.at(i);
    found.of.at(i) = (is_long ? each.in_long : each.in_short) + distance * each.a_hop;
    for (std::uint32_t cycle = 0; cycle < found.of.at(i); ++cycle, ++found.sum)
      if (each.is_observed)
        expect_acted(seen, found.sum, each.of == chain_state::side::sender ? 0 : to, each.unit, each.state);
  }
  expect_acted(seen, found.sum, to, "PAMS", "COUNT");
  if (found.sum != board.cycles(to))
    throw error{errc::bad_argument,
                fmt::format("the states of the message sum to {} cycles; it took {}", found.sum, board.cycles(to))};
  return found;
}

study_part cycles(const study_context& context) {
  study_part part{.name = "cycles", .title = "Each cycle of a message: the unit and state that it belongs to"};
  context.tell("cycles");
  const std::array columns{check_chain(0, false), check_chain(1, false), check_chain(2, false), check_chain(0, true)};
  part.grids.push_back(table_of(columns));
  part.notes = {
      "Known by run: the unit told in this run that it acted in this state, in this cycle; a unit that waits tells "
      "nothing. By rule: docs/design/message_units.md says that the state takes a cycle; such states of NetIfs, links "
      "and "
      "registers are not observed one by one, but the states before and after them are.",
      "The first cycle is that in which the sender's wait ends, the cycle after the last is the receiver's COUNT. Each "
      "sum was compared with the measured time."};
  return part;
}

}  // namespace situ::studies::gascore
