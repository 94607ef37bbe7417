#include "pim/latch_commands.h"

#include <algorithm>
#include <bit>

namespace situ::pim {
namespace {

using word = std::uint64_t;

// The loops below are over the words of one row in a tile. A result's latch may be that of an input, never a part of
// one, so the words are independent.
#define SITU_PIM_WORDS _Pragma("GCC ivdep") for (unsigned i = 0; i < tile_words; ++i)

// Carries out a command of latches but shifts and counts. stride: words from a latch to the next.
SITU_PIM_BODY void run_latch(const bound_command& step, word* latch, std::size_t stride, const tile_cells& tile) {
  word* d = latch + step.d * stride;
  const word* a = latch + step.a * stride;
  const word* b = latch + step.b * stride;
  const word* c = latch + step.c * stride;
  switch (step.op) {
    case micro_op::read_row: {
      const word* row = tile.row(step.row);
      SITU_PIM_WORDS latch[i] = row[i];
      break;
    }
    case micro_op::write_row: {
      word* row = tile.row(step.row);
      SITU_PIM_WORDS row[i] = latch[i];
      break;
    }
    case micro_op::set_zero: SITU_PIM_WORDS d[i] = 0; break;
    case micro_op::set_one: SITU_PIM_WORDS d[i] = ~word{0}; break;
    case micro_op::move: SITU_PIM_WORDS d[i] = a[i]; break;
    case micro_op::invert: SITU_PIM_WORDS d[i] = ~a[i]; break;
    case micro_op::logic_and: SITU_PIM_WORDS d[i] = a[i] & b[i]; break;
    case micro_op::logic_or: SITU_PIM_WORDS d[i] = a[i] | b[i]; break;
    case micro_op::logic_nand: SITU_PIM_WORDS d[i] = ~(a[i] & b[i]); break;
    case micro_op::logic_nor: SITU_PIM_WORDS d[i] = ~(a[i] | b[i]); break;
    case micro_op::logic_xor: SITU_PIM_WORDS d[i] = a[i] ^ b[i]; break;
    case micro_op::logic_xnor: SITU_PIM_WORDS d[i] = ~(a[i] ^ b[i]); break;
    case micro_op::select: SITU_PIM_WORDS d[i] = c[i] ^ (a[i] & (b[i] ^ c[i])); break;
    default: break;
  }
}

command_pair pair_of(const bound_command& first, const bound_command& second) noexcept {
  if (first.op == micro_op::read_row) {
    if (second.op == micro_op::move && second.a == 0) return command_pair::read_move;
    if (second.op == micro_op::logic_and && second.a == 0 && second.b != 0) return command_pair::read_and;
    if (second.op == micro_op::logic_xor && second.a == 0 && second.b != 0) return command_pair::read_xor;
    if (second.op != micro_op::select || second.a == 0) return command_pair::none;
    if (second.b == 0 && second.c != 0) return command_pair::read_select;
    if (second.b != 0 && second.c == 0) return command_pair::read_select_else;
  }
  if (second.op == micro_op::write_row && first.d == 0) {
    if (first.op == micro_op::logic_and) return command_pair::and_write;
    if (first.op == micro_op::logic_xor) return command_pair::xor_write;
  }
  return command_pair::none;
}

// Carries out a command and the next one. For each word, the first command's result is written first, since the second
// one's latch may be the same.
SITU_PIM_BODY void run_pair(command_pair pair, const bound_command* steps, word* latch, const tile_cells& tile) {
  const bound_command& gate = pair >= command_pair::and_write ? steps[0] : steps[1];
  word* row = tile.row(pair >= command_pair::and_write ? steps[1].row : steps[0].row);
  word* d = latch + gate.d * tile_words;
  const word* a = latch + gate.a * tile_words;
  const word* b = latch + gate.b * tile_words;
  const word* c = latch + gate.c * tile_words;
  switch (pair) {
    case command_pair::read_move: SITU_PIM_WORDS latch[i] = d[i] = row[i]; break;
    case command_pair::read_and:
      SITU_PIM_WORDS {
        const word read = row[i];
        const word made = read & b[i];
        latch[i] = read;
        d[i] = made;
      }
      break;
    case command_pair::read_xor:
      SITU_PIM_WORDS {
        const word read = row[i];
        const word made = read ^ b[i];
        latch[i] = read;
        d[i] = made;
      }
      break;
    case command_pair::read_select:
      SITU_PIM_WORDS {
        const word read = row[i];
        const word made = c[i] ^ (a[i] & (read ^ c[i]));
        latch[i] = read;
        d[i] = made;
      }
      break;
    case command_pair::read_select_else:
      SITU_PIM_WORDS {
        const word read = row[i];
        const word made = read ^ (a[i] & (b[i] ^ read));
        latch[i] = read;
        d[i] = made;
      }
      break;
    case command_pair::and_write: SITU_PIM_WORDS row[i] = latch[i] = a[i] & b[i]; break;
    case command_pair::xor_write: SITU_PIM_WORDS row[i] = latch[i] = a[i] ^ b[i]; break;
    default: break;
  }
}

SITU_PIM_BODY std::uint64_t ones_of(const word* from, std::uint32_t words) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < words; ++i) sum += static_cast<unsigned>(std::popcount(from[i]));
  return sum;
}

// Returns the length of the stretch of row commands at the front.
std::size_t row_stretch(std::span<const bound_command> commands) noexcept {
  std::size_t length = 0;
  while (length < commands.size() && commands[length].op >= micro_op::ap) ++length;
  return length;
}

// Runs a stretch of row commands, and adds their counts. Returns the number of the command at which it has
// stopped, and that command's fault, if it has one.
run_stop run_stretch(instruction_set set, std::span<const bound_command> stretch, std::size_t first,
                     const tile_cells& tile, std::uint32_t words, run_totals& totals) noexcept {
  const row_result result = run_row_commands(set, tile, stretch, words);
  totals.extra_rows += result.extra_rows;
  for (const bound_command& step : stretch.first(result.done)) ++totals.commands[static_cast<unsigned>(step.op)];
  return {result.fault, first + result.done, 0, result.column};
}

SITU_PIM_BODY run_stop tile_body(instruction_set set, std::span<const bound_command> program,
                                 std::span<const command_pair> pairs, const tile_cells& tile, std::uint32_t words,
                                 run_totals& totals) {
  alignas(64) word latch[latches * tile_words];
  std::size_t counted = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const bound_command& step = program[at];
    if (step.op >= micro_op::ap) [[unlikely]] {
      const auto stretch = program.subspan(at, row_stretch(program.subspan(at)));
      const run_stop stop = run_stretch(set, stretch, at, tile, words, totals);
      if (stop.fault != row_fault::none) return stop;
      at += stretch.size() - 1;
      continue;
    }
    ++totals.commands[static_cast<unsigned>(step.op)];
    if (pairs[at] != command_pair::none) {
      run_pair(pairs[at], &step, latch, tile);
      ++totals.commands[static_cast<unsigned>(program[++at].op)];
      continue;
    }
    if (step.op == micro_op::count_ones) [[unlikely]]
      totals.ones[counted++] += ones_of(latch, words);
    else
      run_latch(step, latch, tile_words, tile);
  }
  return {};
}

// Moves a row by one column. Words are taken in stretches, so that a result may replace its input: each stretch is
// read, with the word before or behind it, before it is written.
SITU_PIM_BODY void shift_up(word* d, const word* a, std::size_t words) {
  for (std::size_t end = words; end > 0; end -= tile_words) {
    word before[tile_words], own[tile_words];
    const std::size_t first = end - tile_words;
    before[0] = first == 0 ? 0 : a[first - 1];
    for (unsigned i = 1; i < tile_words; ++i) before[i] = a[first + i - 1];
    for (unsigned i = 0; i < tile_words; ++i) own[i] = a[first + i];
    for (unsigned i = 0; i < tile_words; ++i) d[first + i] = (own[i] << 1) | (before[i] >> 63);
  }
}

// columns: words that are columns; the padding behind them does not move into them.
SITU_PIM_BODY void shift_down(word* d, const word* a, std::size_t words, std::uint32_t columns) {
  for (std::size_t first = 0; first < words; first += tile_words) {
    word behind[tile_words], own[tile_words];
    for (unsigned i = 0; i + 1 < tile_words; ++i) behind[i] = a[first + i + 1];
    behind[tile_words - 1] = first + tile_words == words ? 0 : a[first + tile_words];
    for (unsigned i = 0; i < tile_words; ++i) own[i] = a[first + i];
    for (unsigned i = 0; i < tile_words; ++i) d[first + i] = (own[i] >> 1) | (behind[i] << 63);
  }
  d[columns - 1] &= ~(word{1} << 63);
}

SITU_PIM_BODY run_stop rows_body(instruction_set set, std::span<const bound_command> program,
                                 std::span<const tile_cells> tiles, std::uint32_t words, word* latch,
                                 run_totals& totals) {
  const std::size_t stride = tiles.size() * tile_words;
  std::size_t counted = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const bound_command& step = program[at];
    if (step.op >= micro_op::ap) {
      for (std::uint32_t t = 0; t < tiles.size(); ++t) {
        const std::uint32_t columns = std::min(tile_words, words - t * tile_words);
        run_stop stop = run_stretch(set, program.subspan(at, 1), at, tiles[t], columns, totals);
        stop.tile = t;
        if (stop.fault != row_fault::none) return stop;
      }
      continue;
    }
    totals.commands[static_cast<unsigned>(step.op)] += tiles.size();
    switch (step.op) {
      case micro_op::count_ones: totals.ones[counted++] += ones_of(latch, words); break;
      case micro_op::shift_left: shift_up(latch + step.d * stride, latch + step.a * stride, stride); break;
      case micro_op::shift_right: shift_down(latch + step.d * stride, latch + step.a * stride, stride, words); break;
      default:
        for (std::size_t t = 0; t < tiles.size(); ++t) run_latch(step, latch + t * tile_words, stride, tiles[t]);
    }
  }
  return {};
}

#if SITU_PIM_X86
SITU_PIM_AVX2 run_stop tile_avx2(std::span<const bound_command> program, std::span<const command_pair> pairs,
                                 const tile_cells& tile, std::uint32_t words, run_totals& totals) {
  return tile_body(instruction_set::avx2, program, pairs, tile, words, totals);
}
SITU_PIM_AVX512 run_stop tile_avx512(std::span<const bound_command> program, std::span<const command_pair> pairs,
                                     const tile_cells& tile, std::uint32_t words, run_totals& totals) {
  return tile_body(instruction_set::avx512, program, pairs, tile, words, totals);
}
SITU_PIM_AVX2 run_stop rows_avx2(std::span<const bound_command> program, std::span<const tile_cells> tiles,
                                 std::uint32_t words, word* room, run_totals& totals) {
  return rows_body(instruction_set::avx2, program, tiles, words, room, totals);
}
SITU_PIM_AVX512 run_stop rows_avx512(std::span<const bound_command> program, std::span<const tile_cells> tiles,
                                     std::uint32_t words, word* room, run_totals& totals) {
  return rows_body(instruction_set::avx512, program, tiles, words, room, totals);
}
#endif

}  // namespace

std::vector<command_pair> pair_up(std::span<const bound_command> program) {
  std::vector<command_pair> pairs(program.size(), command_pair::none);
  for (std::size_t at = 0; at + 1 < program.size(); ++at) {
    pairs[at] = pair_of(program[at], program[at + 1]);
    if (pairs[at] != command_pair::none) ++at;
  }
  return pairs;
}

run_stop run_on_tile(instruction_set set, std::span<const bound_command> program, std::span<const command_pair> pairs,
                     const tile_cells& tile, std::uint32_t words, run_totals& totals) noexcept {
#if SITU_PIM_X86
  if (set == instruction_set::avx512) return tile_avx512(program, pairs, tile, words, totals);
  if (set == instruction_set::avx2) return tile_avx2(program, pairs, tile, words, totals);
#endif
  return tile_body(set, program, pairs, tile, words, totals);
}

run_stop run_on_rows(instruction_set set, std::span<const bound_command> program, std::span<const tile_cells> tiles,
                     std::uint32_t words, std::span<std::uint64_t> room, run_totals& totals) noexcept {
#if SITU_PIM_X86
  if (set == instruction_set::avx512) return rows_avx512(program, tiles, words, room.data(), totals);
  if (set == instruction_set::avx2) return rows_avx2(program, tiles, words, room.data(), totals);
#endif
  return rows_body(set, program, tiles, words, room.data(), totals);
}

}  // namespace situ::pim
