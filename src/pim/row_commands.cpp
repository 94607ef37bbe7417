// Ap and aap on the cells of one tile.
//
//   1  A command opens its first address. The row buffer then holds what the opened cells held: one cell's bit, or the
//      bit that two cells share, or the majority of three; inverted if the cell was opened through its n-address.
//   2  All opened cells are restored from the row buffer: three hold the majority afterwards.
//   3  The second address of an aap connects its cells to the row buffer too: all of them take its bits, a cell
//      that is opened through its n-address takes them inverted.
//
// Columns do not depend on one another, so each step is a loop over the words of a row, and a row that is opened twice
// by one command needs no care: word i is read before word i is written.
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "pim/bound_program.h"
#include "pim/own_rows.h"

namespace situ::pim {
namespace {

alignas(64) constexpr std::uint64_t zeros[tile_words] = {};
alignas(64) constexpr auto ones = [] {
  std::array<std::uint64_t, tile_words> words{};
  words.fill(~std::uint64_t{0});
  return words;
}();

// The cells that an own_row opens, for the loops: their rows, counted from the first one. Cells that it has not
// are its first one again, so that the addresses of all three can be made without a branch.
struct cell_rows {
  std::uint8_t rows = 0;
  std::uint8_t a = 0, b = 0, c = 0;
  std::uint64_t flip = 0;
};

constexpr auto rows_of_cells = [] {
  std::array<cell_rows, named_own_rows> all{};
  for (unsigned k = 0; k < named_own_rows; ++k) {
    const opened_cells& of = own_row_cells[k];
    const auto row = [&](unsigned i) { return static_cast<std::uint8_t>(of.cell[i < of.cells ? i : 0]); };
    all[k] = {of.cells, row(0), row(1), row(2), of.first_inverted ? ~std::uint64_t{0} : 0};
  }
  return all;
}();

// The rows that an address opens, on one tile. Scalars, which stay in registers.
struct opened_rows {
  unsigned rows = 0;  // 0: a constant, whose bits are at a and may not be written
  std::uint64_t* a = nullptr;
  std::uint64_t* b = nullptr;
  std::uint64_t* c = nullptr;
  std::uint64_t flip = 0;  // all ones if a is opened inverted
};

SITU_PIM_BODY opened_rows open(const tile_cells& tile, std::uint32_t address) {
  if (!bound_command::is_own(address)) {
    std::uint64_t* const row = tile.row(address);
    return {1, row, row, row, 0};
  }
  const own_row which = bound_command::own(address);
  if (is_constant(which)) {
    auto* const bits = const_cast<std::uint64_t*>(which == own_row::zero ? zeros : ones.data());
    return {0, bits, bits, bits, 0};
  }
  const cell_rows& of = rows_of_cells[static_cast<unsigned>(which)];
  std::uint64_t* const first = tile.row(tile.first_own_row);
  return {of.rows, first + of.a * tile_words, first + of.b * tile_words, first + of.c * tile_words, of.flip};
}

// Each cell of `to` takes the bits, flipped.
SITU_PIM_BODY void connect(const opened_rows& to, const std::uint64_t* bits, std::uint64_t flip) {
  std::uint64_t* const a = to.a;
  std::uint64_t* const b = to.b;
  std::uint64_t* const c = to.c;
  const std::uint64_t first_flip = flip ^ to.flip;
  if (to.rows == 1) {
#pragma GCC ivdep
    for (unsigned i = 0; i < tile_words; ++i) a[i] = bits[i] ^ first_flip;
    return;
  }
  if (to.rows == 2) {
#pragma GCC ivdep
    for (unsigned i = 0; i < tile_words; ++i) {
      const std::uint64_t word = bits[i];
      a[i] = word ^ first_flip;
      b[i] = word ^ flip;
    }
    return;
  }
#pragma GCC ivdep
  for (unsigned i = 0; i < tile_words; ++i) {
    const std::uint64_t word = bits[i];
    a[i] = word ^ first_flip;
    b[i] = word ^ flip;
    c[i] = word ^ flip;
  }
}

SITU_PIM_BODY void keep_majority(const opened_rows& of) {
  std::uint64_t* const a = of.a;
  std::uint64_t* const b = of.b;
  std::uint64_t* const c = of.c;
#pragma GCC ivdep
  for (unsigned i = 0; i < tile_words; ++i) {
    const std::uint64_t majority = (a[i] & b[i]) | (c[i] & (a[i] | b[i]));
    a[i] = majority;
    b[i] = majority;
    c[i] = majority;
  }
}

// Compares all columns together, so that the usual case has no branch in its loop.
SITU_PIM_BODY bool hold_the_same(const opened_rows& pair) {
  std::uint64_t difference = 0;
  for (unsigned i = 0; i < tile_words; ++i) difference |= pair.a[i] ^ pair.b[i] ^ pair.flip;
  return difference == 0;
}

// Returns the first column in which the two rows of a pair differ, or -1. Out of the way: a pair hardly ever does.
[[gnu::noinline, gnu::cold]] std::int64_t unequal_column(opened_rows pair, std::uint32_t words) {
  for (std::uint32_t i = 0; i < words; ++i) {
    const std::uint64_t difference = pair.a[i] ^ pair.b[i] ^ pair.flip;
    if (difference != 0) return std::int64_t{i} * 64 + std::countr_zero(difference);
  }
  return -1;
}

SITU_PIM_BODY row_result run_all(const tile_cells& tile, std::span<const bound_command> commands, std::uint32_t words) {
  std::uint64_t extra = 0;
  for (std::size_t at = 0; at < commands.size(); ++at) {
    const bound_command& step = commands[at];
    if (step.op != micro_op::ap && step.op != micro_op::aap) return {at, row_fault::not_a_row_command, extra};
    const opened_rows from = open(tile, step.row);
    if (from.rows == 2 && !hold_the_same(from)) {
      const std::int64_t column = unequal_column(from, words);
      if (column >= 0) return {at, row_fault::unequal_cells, extra, static_cast<std::uint32_t>(column)};
    }
    if (from.rows == 3) keep_majority(from);
    if (from.rows > 1) extra += from.rows - 1;
    if (step.op == micro_op::ap) continue;
    const opened_rows to = open(tile, step.to);
    if (to.rows == 0) return {at, row_fault::written_constant, extra};
    connect(to, from.a, from.flip);
    extra += to.rows - 1;
  }
  return {commands.size(), row_fault::none, extra};
}

#if SITU_PIM_X86
SITU_PIM_AVX2 row_result run_avx2(const tile_cells& tile, std::span<const bound_command> commands,
                                  std::uint32_t words) {
  return run_all(tile, commands, words);
}
SITU_PIM_AVX512 row_result run_avx512(const tile_cells& tile, std::span<const bound_command> commands,
                                      std::uint32_t words) {
  return run_all(tile, commands, words);
}
#endif

}  // namespace

row_result run_row_commands(instruction_set set, const tile_cells& tile, std::span<const bound_command> commands,
                            std::uint32_t words) noexcept {
#if SITU_PIM_X86
  if (set == instruction_set::avx512) return run_avx512(tile, commands, words);
  if (set == instruction_set::avx2) return run_avx2(tile, commands, words);
#endif
  return run_all(tile, commands, words);
}

}  // namespace situ::pim
