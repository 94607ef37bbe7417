#include "gascore/timed_board.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace situ::studies::gascore {

void timed_board::add_start() {
  for (pams_program& each : programs_) each.timer_threshold(start_time).wait(pams_program::timer_is_over());
}

void timed_board::load() {
  for (std::uint32_t node = 0; node < node_count; ++node) {
    if (programs_[node].size() == 0) continue;
    programs_[node].halt();
    board_.load(node, programs_[node].words());
  }
  // A node that is loaded waits for its timer or for messages, so no part has work after the last program is there.
  constexpr std::uint64_t quiet_cycles = 1000;
  (void)board_.try_run(start_time - quiet_cycles);
  const std::uint64_t busy = board_.busy_cycles();
  if (board_.try_run(start_time) != model::pams_board::outcome::cycle_limit || board_.busy_cycles() != busy)
    throw error{errc::bad_argument, fmt::format("programs are still loaded, or run, before the start at cycle {}:\n{}",
                                                start_time, board_.report())};
}

void timed_board::run() {
  load();
  board_.run();
}

std::int64_t timed_board::cycles(std::uint32_t node) {
  return static_cast<std::int64_t>(board_.arrival_time(node)) - start_time;
}

std::int64_t timed_board::cycles_of_all() {
  std::int64_t most = 0;
  for (std::uint32_t node = 0; node < node_count; ++node) most = std::max(most, cycles(node));
  return most;
}

}  // namespace situ::studies::gascore
