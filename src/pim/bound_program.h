// Commands whose rows are resolved, as the executor runs them on one tile: 2,048 columns of a subarray, all of its rows
// one after the other, 32 words each.
//
// A bound row is a row number of the subarray; or, with own_flag, the code of an own_row: a row for computing, which
// may open several cells. The cells of these lie behind the rows that programs allocate, in the order of own_cell. The
// constants (own_row::zero, own_row::one) have no cells: a command that reads them sees zeros or ones.
//
// The commands of latches are run by execute.cpp, those of rows (ap, aap) by row_commands.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pim/instruction_set.h"
#include "pim/micro_program.h"

namespace situ::pim {

inline constexpr std::uint32_t tile_columns = 2048;
inline constexpr std::uint32_t tile_words = tile_columns / 64;  // of a row in a tile

// The cells of the rows for computing, counted from tile_cells::first_own_row.
enum class own_cell : std::uint8_t { t0, t1, t2, t3, dcc0, dcc1 };
inline constexpr std::uint32_t own_cells = 16;  // with those that no design names yet

// The cells of one tile: row r is rows[r * tile_words] and the 31 words behind it.
struct tile_cells {
  std::uint64_t* rows = nullptr;
  std::uint32_t first_own_row = 0;  // the row of own_cell::t0

  [[nodiscard]] std::uint64_t* row(std::uint32_t number) const noexcept {
    return rows + std::size_t{number} * tile_words;
  }
  [[nodiscard]] std::uint64_t* row(own_cell which) const noexcept {
    return row(first_own_row + static_cast<std::uint32_t>(which));
  }
};

// A command whose rows are resolved.
struct bound_command {
  static constexpr std::uint32_t own_flag = std::uint32_t{1} << 31;

  micro_op op = micro_op::ap;
  std::uint8_t d = 0, a = 0, b = 0, c = 0;  // latches
  std::uint32_t row = 0, to = 0;            // a row of the subarray, or own_flag | an own_row

  [[nodiscard]] static constexpr bool is_own(std::uint32_t row) noexcept { return (row & own_flag) != 0; }
  // pre: is_own(row).
  [[nodiscard]] static constexpr own_row own(std::uint32_t row) noexcept { return static_cast<own_row>(row & 0xff); }
};

// The reason why a row command stops: a mistake of the program, which shows in the data.
enum class row_fault : std::uint8_t {
  none,
  unequal_cells,      // two rows were opened together, and a column of theirs differs
  written_constant,   // a command's second address is a constant, or a triple with one
  not_a_row_command,  // the design has no such command
};

// The result of run_row_commands.
struct row_result {
  std::size_t done = 0;  // commands; if there is a fault, the index of the command that has it
  row_fault fault = row_fault::none;
  std::uint64_t extra_rows = 0;  // rows opened beside the first one, over the commands done: each address counts
  std::uint32_t column = 0;      // of the tile: the first one in which unequal_cells differ
};

// Carries out commands, each `ap` or `aap`, one after the other on a tile, with these instructions (row_commands.cpp).
// words: of a row in the tile that are columns of the device; what differs in the padding behind them is no fault.
// Threads may run it on different tiles.
[[nodiscard]] row_result run_row_commands(instruction_set set, const tile_cells& tile,
                                          std::span<const bound_command> commands,
                                          std::uint32_t words = tile_words) noexcept;

}  // namespace situ::pim
