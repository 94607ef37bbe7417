// Barriers of sixteen nodes: those of the paper, and trees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gascore/timed_board.h"

namespace situ::studies::gascore {

struct barrier_cycles {
  std::int64_t node_0 = 0;  // until the last call that node 0 counts
  std::int64_t all = 0;     // until the last node knows that all are there
};

// Runs the program of figure 6, word for word.
[[nodiscard]] barrier_cycles run_figure_6();
// Runs it several times in a row, which stands still: returns a line for each node that says what it waits for. Throws
// situ::error if it comes to its end.
[[nodiscard]] std::vector<std::string> repeat_figure_6(unsigned times);

struct barrier_kind {
  std::string_view name;
  // Runs it as often in a row; its counters count on.
  barrier_cycles (*run)(unsigned times);
};
// The simple one, the paper's staggered one, and trees.
[[nodiscard]] const std::vector<barrier_kind>& all_barriers();
// The one of table 7, node 0's calls in the order of the nodes. times: in a row.
[[nodiscard]] barrier_cycles run_staggered(unsigned times);

}  // namespace situ::studies::gascore
