#include "gascore/barriers.h"

#include <situ/base/error.h>
#include <situ/model/pams_patterns.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace situ::studies::gascore {
namespace {

using model::pams_barrier;

constexpr std::uint32_t barrier_call = 1, barrier_done = 2;  // handlers

constexpr std::array<std::uint32_t, node_count> chips{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};

void make_figure_6(timed_board& board, unsigned times) {
  board.add_start();
  for (unsigned time = 0; time < times; ++time) {
    board[0].message_counter(0, barrier_call, 15).wait(first_counter());
    for (std::uint32_t node = 1; node < node_count; ++node) {
      board[0].send(barrier_done, node);
      board[node].send(barrier_call, 0).message_counter(0, barrier_done, 1).wait(first_counter());
    }
  }
}

barrier_cycles run(const pams_barrier& barrier, unsigned times) {
  timed_board board;
  barrier.begin(board.programs());
  board.add_start();
  for (unsigned time = 0; time < times; ++time) barrier.append(board.programs());
  board.run();
  return {board.cycles(0), board.cycles_of_all()};
}

template <unsigned Children>
barrier_cycles run_tree(unsigned times) {
  return run(pams_barrier::tree(node_count, Children), times);
}

barrier_cycles run_simple(unsigned times) { return run(pams_barrier::simple(node_count), times); }

// The staggered one, but that node 0 tells the hubs before its neighbours.
barrier_cycles run_hubs_first(unsigned times) {
  timed_board board;
  pams_barrier::per_chip(chips).begin(board.programs());
  board.add_start();
  for (unsigned time = 0; time < times; ++time) {
    const pams_program node_0 = board[0];
    pams_barrier::per_chip(chips).append(board.programs());
    board[0] = node_0;
    board[0].expect_messages(0, 6).wait(first_counter());
    for (const std::uint32_t node : {4U, 8U, 12U, 1U, 2U, 3U}) board[0].send(barrier_done, node);
  }
  board.run();
  return {board.cycles(0), board.cycles_of_all()};
}

}  // namespace

barrier_cycles run_figure_6() {
  timed_board board;
  make_figure_6(board, 1);
  board.run();
  return {board.cycles(0), board.cycles_of_all()};
}

std::vector<std::string> repeat_figure_6(unsigned times) {
  timed_board board;
  make_figure_6(board, times);
  board.load();
  if (board.board().try_run() != model::pams_board::outcome::stands)
    throw error{errc::bad_argument, "the program of figure 6 did not stand still when repeated"};
  std::vector<std::string> lines;
  std::istringstream report{board.board().report()};
  for (std::string line; std::getline(report, line);) lines.push_back(line);
  return lines;
}

barrier_cycles run_staggered(unsigned times) { return run(pams_barrier::per_chip(chips), times); }

const std::vector<barrier_kind>& all_barriers() {
  static const std::vector<barrier_kind> all{{"simple", run_simple},
                                             {"staggered, a hub a chip", run_staggered},
                                             {"staggered, hubs told first", run_hubs_first},
                                             {"tree, 2 children", run_tree<2>},
                                             {"tree, 3 children", run_tree<3>},
                                             {"tree, 4 children", run_tree<4>}};
  return all;
}

}  // namespace situ::studies::gascore
