// The executor: what it counts, what it refuses, and that threads and instructions make no difference.
#include "pim/execute.h"

#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "pim/programs.h"

namespace {

using situ::machine::pim_design;
using situ::pim::block;
using situ::pim::bound_blocks;
using situ::pim::cell_storage;
using situ::pim::command_counts;
using situ::pim::dimension;
using situ::pim::executor;
using situ::pim::geometry;
using situ::pim::instruction_set;
using situ::pim::make_program;
using situ::pim::micro_op;
using situ::pim::micro_program;
using situ::pim::operation;
using situ::pim::own_row;
using testing::HasSubstr;

constexpr geometry shape{.rows = 64, .columns = 4160, .subarrays = 3, .banks = 2};

// Random rows in all subarrays.
void fill(cell_storage& cells) {
  std::mt19937_64 random{7};
  std::vector<std::uint64_t> row(shape.columns / 64);
  for (std::uint32_t s = 0; s < shape.all_subarrays(); ++s)
    for (std::uint32_t r = 0; r < shape.rows; ++r) {
      for (std::uint64_t& word : row) word = random();
      cells.write_row(s, r, row);
    }
}

std::vector<std::uint64_t> all_rows(const cell_storage& cells) {
  const std::size_t words = shape.columns / 64;
  std::vector<std::uint64_t> rows(words * shape.rows * shape.all_subarrays());
  for (std::uint32_t s = 0; s < shape.all_subarrays(); ++s)
    for (std::uint32_t r = 0; r < shape.rows; ++r)
      cells.read_row(s, r, std::span{rows}.subspan((s * shape.rows + r) * words, words));
  return rows;
}

std::string refusal(const micro_program& program, const bound_blocks& blocks) {
  cell_storage cells{shape};
  executor with;
  try {
    (void)with.run(cells, program, blocks);
  } catch (const situ::error& refused) {
    EXPECT_EQ(refused.code(), situ::errc::bad_argument);
    return refused.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

micro_program named(std::string name, std::uint8_t operands) {
  micro_program made;
  made.name = std::move(name);
  made.operands = operands;
  return made;
}

TEST(pim_execute, counts_the_commands_of_each_subarray) {
  cell_storage cells{shape};
  executor with;
  const block operands[] = {{1, 0, 4, 8}, {1, 8, 4, 8}, {1, 16, 4, 8}};
  const auto program = make_program(pim_design::bitsimd, {.what = operation::add, .bits = 8});
  const command_counts counts = with.run(cells, program, {operands}).counts;
  EXPECT_EQ(counts, (command_counts{.row_reads = 4 * 16, .row_writes = 4 * 8, .logic = 4 * 25}));
}

TEST(pim_execute, counts_shifts_and_ones) {
  cell_storage cells{shape};
  executor with;
  const block operands[] = {{1, 3, 2, 1}};
  micro_program program = named("ones", 1);
  program.logic(micro_op::set_one, 0);
  program.commands.push_back({.op = micro_op::count_ones});
  program.write({0, 0});
  program.logic(micro_op::shift_right, 0, 0);
  program.commands.push_back({.op = micro_op::count_ones});
  program.logic(micro_op::shift_left, 0, 0);
  program.logic(micro_op::shift_left, 0, 0);
  program.commands.push_back({.op = micro_op::count_ones});
  const auto done = with.run(cells, program, {operands});
  EXPECT_THAT(done.ones, testing::ElementsAre(2 * 4160, 2 * 4159, 2 * 4158));
  EXPECT_EQ(done.counts, (command_counts{.row_writes = 2, .logic = 2, .shifts = 6, .counted_rows = 6}));
}

TEST(pim_execute, works_on_the_blocks_alone) {
  cell_storage cells{shape};
  fill(cells);
  const std::vector<std::uint64_t> before = all_rows(cells);
  executor with;
  const block operands[] = {{2, 4, 2, 3}, {2, 30, 2, 3}};
  (void)with.run(cells, make_program(pim_design::imi, {.what = operation::invert, .bits = 3}), {operands});
  const std::vector<std::uint64_t> after = all_rows(cells);
  const std::size_t words = shape.columns / 64;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::size_t subarray = i / words / shape.rows, row = i / words % shape.rows;
    const bool written = (subarray == 2 || subarray == 3) && row >= 30 && row < 33;
    ASSERT_EQ(after[i], written ? ~before[i - 26 * words] : before[i]) << i;
  }
}

// A program of every command of latches, in all ways to run it.
micro_program of_everything(bool shifts) {
  micro_program program = named("everything", 2);
  for (std::uint8_t latch = 1; latch < 8; ++latch) {
    program.read({0, latch});
    program.logic(micro_op::move, latch, 0);
  }
  for (auto op = static_cast<unsigned>(micro_op::move); op <= static_cast<unsigned>(micro_op::select); ++op) {
    const auto d = static_cast<std::uint8_t>(op % 7 + 1);
    program.logic(static_cast<micro_op>(op), d, 1 + op % 5, 1 + op % 6, 7);
    if (shifts) program.logic(op % 2 == 0 ? micro_op::shift_left : micro_op::shift_right, 0, d);
    if (!shifts) program.logic(micro_op::move, 0, d);
    program.write({1, static_cast<std::uint16_t>(op)});
    program.commands.push_back({.op = micro_op::count_ones});
  }
  return program;
}

TEST(pim_execute, gives_the_same_with_all_threads_and_instructions) {
  const block operands[] = {{0, 0, 6, 20}, {0, 20, 6, 20}};
  for (const bool shifts : {false, true}) {
    const micro_program program = of_everything(shifts);
    std::vector<std::uint64_t> expected, ones;
    for (const unsigned threads : {1U, 2U, 5U})
      for (const auto set : {instruction_set::portable, instruction_set::avx2, instruction_set::avx512}) {
        if (!has(set)) continue;
        cell_storage cells{shape};
        fill(cells);
        executor with{threads, set};
        EXPECT_EQ(with.threads(), threads);
        const auto done = with.run(cells, program, {operands});
        if (expected.empty()) {
          expected = all_rows(cells);
          ones = done.ones;
        }
        EXPECT_EQ(all_rows(cells), expected) << threads << name(set);
        EXPECT_EQ(done.ones, ones) << threads << name(set);
      }
  }
}

// Commands at random, where every second one uses the amplifiers, as those that the tile's loop takes in pairs do.
micro_program at_random(std::mt19937_64& random) {
  micro_program program = named("random", 2);
  for (std::uint8_t latch = 0; latch < 8; ++latch) program.logic(micro_op::set_one, latch);
  const auto latch = [&] { return static_cast<std::uint8_t>(random() % 2 == 0 ? 0 : random() % 4); };
  for (int k = 0; k < 300; ++k) {
    const auto row = static_cast<std::uint16_t>(random() % 20);
    switch (random() % 3) {
      case 0: program.read({0, row}); break;
      case 1: program.write({1, row}); break;
      default: {
        const micro_op gates[] = {micro_op::move, micro_op::logic_and, micro_op::logic_xor, micro_op::select};
        program.logic(gates[random() % 4], latch(), latch(), latch(), latch());
      }
    }
  }
  return program;
}

// A shift, whose result nothing reads, makes the executor go command by command, each alone on whole rows.
TEST(pim_execute, gives_the_same_tile_by_tile_and_command_by_command) {
  std::mt19937_64 random{11};
  const block operands[] = {{0, 0, 6, 20}, {0, 20, 6, 20}};
  for (int turn = 0; turn < 50; ++turn) {
    micro_program program = at_random(random);
    cell_storage tiles{shape}, rows{shape};
    fill(tiles);
    fill(rows);
    executor with;
    command_counts counts = with.run(tiles, program, {operands}).counts;
    EXPECT_EQ(counts.row_reads + counts.row_writes + counts.logic, 6 * program.commands.size());
    program.logic(micro_op::shift_left, 7, 7);
    counts.shifts = 6;
    EXPECT_EQ(with.run(rows, program, {operands}).counts, counts);
    ASSERT_EQ(all_rows(tiles), all_rows(rows)) << turn;
  }
}

TEST(pim_execute, runs_programs_of_several_threads_one_after_the_other) {
  cell_storage cells{shape};
  executor with{3};
  const auto add = make_program(pim_design::imi, {.what = operation::add, .bits = 8, .scalar = 1});
  const auto add_one = [&](std::uint32_t row) {
    const block operands[] = {{0, row, 6, 8}, {0, row, 6, 8}};
    for (int turn = 0; turn < 20; ++turn) (void)with.run(cells, add, {operands});
  };
  {
    const situ::os::worker other{[&] { add_one(0); }};
    add_one(8);
  }
  for (const std::uint32_t row : {0U, 8U}) {
    std::vector<std::uint64_t> values(std::size_t{6} * shape.columns);
    cells.read({0, row, 6, 8}, dimension::vertical, 8, 0, values);
    EXPECT_THAT(values, testing::Each(20u));
  }
}

TEST(pim_execute, refuses_a_latch_that_nothing_has_set) {
  const block operands[] = {{0, 0, 1, 4}};
  micro_program program = named("half", 1);
  program.read({0, 0});
  program.logic(micro_op::select, 2, 0, 3, 0);
  EXPECT_THAT(refusal(program, {operands}),
              HasSubstr("program half: command 1 (select 2 = 0, 3, 0): no command before it sets latch 3"));
  program = named("half", 1);
  program.write({0, 2});
  EXPECT_THAT(refusal(program, {operands}),
              HasSubstr("command 0 (write_row operand 0 bit 2): no command before it sets latch 0"));
  program = named("half", 1);
  program.logic(micro_op::set_one, 8);
  EXPECT_THAT(refusal(program, {operands}), HasSubstr("a subarray has 8 latches"));
}

TEST(pim_execute, refuses_rows_outside_their_blocks) {
  const block operands[] = {{0, 0, 1, 4}};
  micro_program program = named("far", 1);
  program.read({0, 4});
  EXPECT_THAT(refusal(program, {operands}), HasSubstr("command 0 (read_row operand 0 bit 4): its block has 4 rows"));
  program = named("far", 1);
  program.read({1, 0});
  EXPECT_THAT(refusal(program, {operands}), HasSubstr("the program has 1 operands"));
  program = named("far", 1);
  program.read({situ::pim::row_name::scratch, 0});
  EXPECT_THAT(refusal(program, {operands}), HasSubstr("scratch row 0): its block has 0 rows"));
  program = named("far", 1);
  program.read(own_row::t1);
  EXPECT_THAT(refusal(program, {operands}), HasSubstr("read_row t1): latches read and write rows of blocks"));
  program = named("far", 1);
  program.aap({0, 0}, own_row::one);
  EXPECT_THAT(refusal(program, {operands}), HasSubstr("aap operand 0 bit 0, one): it writes a constant"));
}

TEST(pim_execute, refuses_blocks_that_do_not_fit) {
  const auto add = make_program(pim_design::imi, {.what = operation::add, .bits = 4});
  const block two[] = {{0, 0, 1, 4}, {0, 4, 1, 4}};
  EXPECT_THAT(refusal(add, {two}), HasSubstr("it has 3 operands, but 2 are bound"));
  const block apart[] = {{0, 0, 2, 4}, {0, 4, 2, 4}, {1, 8, 2, 4}};
  EXPECT_THAT(refusal(add, {apart}), HasSubstr("operand 2 is in subarrays 1 to 2, operand 0 in 0 to 1"));
  const block outside[] = {{0, 0, 2, 4}, {0, 4, 2, 4}, {0, 61, 2, 4}};
  EXPECT_THAT(refusal(add, {outside}), HasSubstr("row 61 is not in the device"));
  micro_program program = named("scratchy", 1);
  program.scratch_rows = 2;
  EXPECT_THAT(refusal(program, {two, {0, 9, 1, 1}}), HasSubstr("it has 1 operands"));
  EXPECT_THAT(refusal(program, {std::span{two}.first(1), {0, 9, 1, 1}}),
              HasSubstr("it needs 2 scratch rows, but 1 are bound"));
  EXPECT_THAT(refusal(named("nowhere", 0), {}), HasSubstr("no block says which subarrays"));
}

TEST(pim_execute, names_the_column_where_cells_differ) {
  cell_storage cells{shape};
  cells.write({2, 0, 1, 1}, dimension::vertical, 1, 3001, std::vector<std::uint64_t>{1});
  micro_program program = named("unequal", 1);
  program.aap({0, 0}, own_row::t2);
  program.aap(own_row::zero, own_row::t3);
  program.aap(own_row::t2_t3, {0, 1});
  const block operands[] = {{0, 0, 6, 2}};
  for (const unsigned threads : {1U, 3U}) {
    executor with{threads};
    try {
      (void)with.run(cells, program, {operands});
      ADD_FAILURE() << "nothing was refused";
    } catch (const situ::error& refused) {
      EXPECT_EQ(refused.code(), situ::errc::bad_argument);
      EXPECT_THAT(refused.what(), HasSubstr("program unequal: command 2 (aap t2+t3, operand 0 bit 1), in subarray 2"));
      EXPECT_THAT(refused.what(), HasSubstr("column 3001"));
    }
  }
}

TEST(pim_execute, refuses_a_product_over_its_factors) {
  const auto multiply = make_program(pim_design::imi, {.what = operation::multiply, .bits = 4});
  const block over[] = {{0, 0, 1, 4}, {0, 4, 1, 4}, {0, 0, 1, 4}};
  EXPECT_THAT(refusal(multiply, {over}), HasSubstr("MUL.V.I4: command"));
}

TEST(pim_execute, refuses_threads_and_instructions_that_are_not_there) {
  EXPECT_THROW(executor{0}, situ::error);
  if (!has(instruction_set::avx512)) {
    EXPECT_THROW(executor(1, instruction_set::avx512), situ::error);
  }
}

}  // namespace
