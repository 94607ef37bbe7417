// Runs of commands on tiles, or on whole rows of a subarray: what threads of the executor do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pim/bound_program.h"

namespace situ::pim {

// Two commands, one after the other, that a tile's loop carries out at once, word by word: all latches and rows that
// they write are written. It saves the way from a latch to the next command.
enum class command_pair : std::uint8_t {
  none,       // this command alone
  read_move,  // read_row, then move of the amplifiers
  read_and,   // read_row, then a gate whose first input is the amplifiers
  read_xor,
  read_select,       // read_row, then select whose second input is the amplifiers
  read_select_else,  // the same for its third input
  and_write,         // a gate to the amplifiers, then write_row
  xor_write,
};

// Returns for each command whether it and the next one are a pair; the next one then is `none`.
[[nodiscard]] std::vector<command_pair> pair_up(std::span<const bound_command> program);

// The totals that runs add to.
struct run_totals {
  std::array<std::uint64_t, static_cast<std::size_t>(micro_op::aap) + 1> commands{};  // by micro_op, of each tile
  std::uint64_t extra_rows = 0;                                                       // of each tile
  std::span<std::uint64_t> ones;  // for each count_ones of the program, in its order
};

// The point at which a run stopped.
struct run_stop {
  row_fault fault = row_fault::none;
  std::size_t command = 0;
  std::uint32_t tile = 0;
  std::uint32_t column = 0;  // of the tile: where the cells differ (row_result)
};

// Carries out a program without shifts on one tile. pairs: pair_up() of the program. words: of a row
// in the tile that are columns of the device; the rest is padding.
[[nodiscard]] run_stop run_on_tile(instruction_set set, std::span<const bound_command> program,
                                   std::span<const command_pair> pairs, const tile_cells& tile, std::uint32_t words,
                                   run_totals& totals) noexcept;

// Carries out any program on whole rows: each command on all tiles. room: latches * tiles * tile_words words.
// words: of a row that are columns.
[[nodiscard]] run_stop run_on_rows(instruction_set set, std::span<const bound_command> program,
                                   std::span<const tile_cells> tiles, std::uint32_t words,
                                   std::span<std::uint64_t> room, run_totals& totals) noexcept;

}  // namespace situ::pim
