// Programs of the sixteen nodes of the paper's board that all begin at one time, and the cycles that they take from then
// on. A board carries out one run.
#pragma once

#include <situ/model/pams_board.h>
#include <situ/model/pams_program.h>

#include <array>
#include <cstdint>
#include <span>

namespace situ::studies::gascore {

using model::pams_program;

inline constexpr std::uint32_t node_count = 16;
// Nodes whose chips are 0, 1 and 2 hops from that of node 0.
inline constexpr std::array<std::uint32_t, 3> at_distance{1, 4, 8};

class timed_board {
 public:
  static constexpr std::uint32_t start_time = 40'000;  // cycles after reset; all programs are loaded before

  [[nodiscard]] pams_program& operator[](std::uint32_t node) { return programs_.at(node); }
  [[nodiscard]] std::span<pams_program> programs() noexcept { return programs_; }
  // Adds to each program the wait for the start time. An instruction before it is carried out earlier, and its cycles do not count.
  void add_start();
  // Ends each program with a halt and runs them. A node whose program is empty gets none. Throws situ::error if a run does
  // not end, or if the programs are not loaded before the start time.
  void run();
  // Loads them with the halt, runs to the start time, and leaves the rest to the caller. Throws as run().
  void load();

  [[nodiscard]] model::pams_board& board() noexcept { return board_; }
  [[nodiscard]] std::span<std::uint32_t> memory(std::uint32_t node) noexcept { return board_.memory(node); }
  // Returns the cycles from the start to the last message that a node counted.
  [[nodiscard]] std::int64_t cycles(std::uint32_t node);
  // Returns the most cycles of any node that counted a message after the start.
  [[nodiscard]] std::int64_t cycles_of_all();

 private:
  std::array<pams_program, node_count> programs_;
  model::pams_board board_;
};

// Waits for message counter 0.
[[nodiscard]] inline pams_program::condition first_counter() { return pams_program::messages_are_there(0); }

}  // namespace situ::studies::gascore
