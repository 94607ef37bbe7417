// The speed of the model itself, on this host.
#include <situ/model/pams_patterns.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string_view>
#include <vector>

#include "gascore/parts.h"
#include "gascore/timed_board.h"

namespace situ::studies::gascore {
namespace {

constexpr double aim_millions = 2;
constexpr std::uint32_t pause = 1000;  // cycles, of a node that is idle

// Barriers without end, one after the other.
void make_barriers(timed_board& board) {
  const auto barrier = model::pams_barrier::simple(node_count);
  barrier.begin(board.programs());
  board.add_start();
  for (pams_program& each : board.programs()) each.label("again");
  barrier.append(board.programs());
  for (pams_program& each : board.programs()) each.jump("again");
}

// Each node sends short messages to all others in turn, and never waits.
void make_senders(timed_board& board) {
  for (pams_program& each : board.programs()) each.message_counter(0, 1, std::numeric_limits<std::uint32_t>::max());
  board.add_start();
  for (std::uint32_t node = 0; node < node_count; ++node) {
    board[node].label("again");
    for (std::uint32_t i = 1; i < node_count; ++i) board[node].send(1, (node + i) % node_count);
    board[node].jump("again");
  }
}

// Each node waits for its timer, again and again.
void make_idle(timed_board& board) {
  board.add_start();
  for (pams_program& each : board.programs())
    each.label("again")
        .timer_offset(-static_cast<std::int32_t>(pause))
        .wait(pams_program::timer_is_over())
        .jump("again");
}

struct speed {
  double stepped = 0;  // millions of cycles a second of CPU time
  double passed = 0;
};

// Runs once more for so many cycles of modelled time.
speed run_on(timed_board& board, std::uint64_t cycles) {
  model::pams_board& network = board.board();
  const std::uint64_t from = network.now(), busy = network.busy_cycles();
  const std::clock_t begin = std::clock();
  (void)network.try_run(from + cycles);
  const double us = static_cast<double>(std::clock() - begin) * 1e6 / CLOCKS_PER_SEC;
  return {static_cast<double>(network.busy_cycles() - busy) / us, static_cast<double>(network.now() - from) / us};
}

speed median_speed(void (*make)(timed_board&), std::uint64_t cycles) {
  timed_board board;
  make(board);
  board.load();
  std::vector<speed> samples(5);
  for (speed& each : samples) each = run_on(board, cycles);
  const auto middle = samples.begin() + 2;
  std::ranges::nth_element(samples, middle, {}, &speed::passed);
  return *middle;
}

}  // namespace

study_part speeds(const study_context& context) {
  study_part part{.name = "speed", .title = "The model itself: cycles a second of CPU time, one thread"};
  const std::uint64_t cycles = context.is_quick ? 100'000 : 500'000;
  struct load {
    std::string_view name;
    void (*make)(timed_board&);
    std::uint64_t cycles;
  };
  for (const load& each : {load{"16 nodes in barriers without pause", make_barriers, cycles},
                           load{"16 nodes that send all the time", make_senders, cycles}}) {
    if (context.stopped()) return part;
    context.tell(each.name);
    const speed found = median_speed(each.make, each.cycles);
    part.rows.push_back({.what = fmt::format("{}: cycles stepped", each.name),
                         .unit = "M/s",
                         .ours = found.stepped,
                         .from = origin::measured,
                         .remark = fmt::format("aim: {} or more, {}", aim_millions,
                                               found.stepped >= aim_millions ? "met" : "not met")});
  }
  context.tell("idle nodes");
  const speed idle = median_speed(make_idle, 100 * cycles);
  part.rows.push_back({.what = fmt::format("16 idle nodes, each woken every {} cycles: cycles passed", pause),
                       .unit = "M/s",
                       .ours = idle.passed,
                       .from = origin::measured,
                       .remark = "time in which no part has work is skipped"});
  part.rows.push_back(
      {.what = "the same: cycles stepped", .unit = "M/s", .ours = idle.stepped, .from = origin::measured});
  part.notes = {"The median of five runs. The paper's board steps 100 M cycles a second."};
  return part;
}

}  // namespace situ::studies::gascore
