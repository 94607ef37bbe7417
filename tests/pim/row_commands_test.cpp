// What ap and aap do to the cells of a subarray, and what stops a program that is wrong: literal rows and messages.
#include <situ/base/error.h>
#include <situ/pim/geometry.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "pim/cell_storage.h"
#include "pim/execute.h"
#include "pim/row_checks.h"

namespace {

using namespace situ::pim;
using testing::HasSubstr;

// Eight columns: all combinations of three bits.
constexpr std::uint64_t x = 0b11110000, y = 0b11001100, z = 0b10101010, all = 0xff;
constexpr std::uint64_t majority = 0b11101000;

constexpr row_name a(std::uint16_t bit) { return {0, bit}; }
constexpr row_name d(std::uint16_t bit) { return {1, bit}; }

// A subarray whose operand 0 is rows with x, y, z, and operand 1 eight rows for results.
class subarray {
 public:
  explicit subarray(std::uint32_t columns = 64, instruction_set set = best_instruction_set())
      : cells_{geometry{.rows = 16, .columns = columns, .subarrays = 2, .banks = 1}}, executor_{1, set} {
    for (std::uint32_t k = 0; k < 3; ++k) set_row(k, std::array{x, y, z}[k]);
  }

  void set_row(std::uint32_t row, std::uint64_t bits) {
    std::vector<std::uint64_t> words(cells_.shape().columns / 64, bits);
    cells_.write_row(1, row, words);
  }
  void flip(std::uint32_t row, std::uint32_t column) {
    std::vector<std::uint64_t> words(cells_.shape().columns / 64);
    cells_.read_row(1, row, words);
    words[column / 64] ^= std::uint64_t{1} << column % 64;
    cells_.write_row(1, row, words);
  }
  [[nodiscard]] std::uint64_t row(std::uint32_t row) const {
    std::vector<std::uint64_t> words(cells_.shape().columns / 64);
    cells_.read_row(1, row, words);
    for (const std::uint64_t word : words) EXPECT_EQ(word, words[0]);
    return words[0] & all;
  }

  execution run(const micro_program& program) {
    const std::array<block, 2> operands{block{1, 0, 1, 4}, block{1, 4, 1, 8}};
    return executor_.run(cells_, program, {operands, block{1, 12, 1, program.scratch_rows}});
  }
  // Runs the commands; the results are d(0) to d(7), rows 4 to 11.
  execution run(const std::function<void(micro_program&)>& write) { return run(made(write)); }

  static micro_program made(const std::function<void(micro_program&)>& write) {
    micro_program program{.name = "by_hand", .operands = 2};
    write(program);
    return program;
  }

  std::string refused(const std::function<void(micro_program&)>& write) {
    try {
      run(write);
    } catch (const situ::error& error) {
      EXPECT_EQ(error.code(), situ::errc::bad_argument);
      return error.what();
    }
    return "no error";
  }

 private:
  cell_storage cells_;
  executor executor_;
};

// Puts x, y and z into the three cells of a triple, through their own addresses.
void load(micro_program& p, own_row first, own_row second, own_row third) {
  p.aap(a(0), first);
  p.aap(a(1), second);
  p.aap(a(2), third);
}

TEST(pim_row_commands, copy_a_row_and_keep_it) {
  subarray s;
  s.run([](micro_program& p) { p.aap(a(0), d(0)); });
  EXPECT_EQ(s.row(4), x);
  EXPECT_EQ(s.row(0), x);
}

TEST(pim_row_commands, read_constants) {
  subarray s;
  s.run([](micro_program& p) {
    p.aap(own_row::one, d(0));
    p.aap(own_row::one, d(1));
    p.aap(own_row::zero, d(1));
    p.ap(own_row::zero);
  });
  EXPECT_EQ(s.row(4), all);
  EXPECT_EQ(s.row(5), 0u);
}

TEST(pim_row_commands, make_three_rows_their_majority) {
  struct triple {
    own_row address;
    own_row cells[3];
  };
  constexpr triple triples[] = {
      {own_row::t0_t1_t2, {own_row::t0, own_row::t1, own_row::t2}},
      {own_row::t1_t2_t3, {own_row::t1, own_row::t2, own_row::t3}},
      {own_row::dcc0_t1_t2, {own_row::dcc0, own_row::t1, own_row::t2}},
      {own_row::dcc1_t0_t3, {own_row::dcc1, own_row::t0, own_row::t3}},
  };
  for (const triple& of : triples) {
    subarray s;
    const execution done = s.run([&](micro_program& p) {
      load(p, of.cells[0], of.cells[1], of.cells[2]);
      p.ap(of.address);
      for (std::uint16_t k = 0; k < 3; ++k) p.aap(of.cells[k], d(k));
      load(p, of.cells[0], of.cells[1], of.cells[2]);
      p.aap(of.address, d(3));
      p.aap(of.cells[2], d(4));
    });
    for (std::uint32_t k = 0; k < 5; ++k) EXPECT_EQ(s.row(4 + k), majority);
    EXPECT_EQ(s.row(0), x);
    EXPECT_EQ(done.counts, (command_counts{.ap = 1, .aap = 11, .extra_rows = 4}));
  }
}

TEST(pim_row_commands, invert_through_the_second_address_of_a_dual_contact_cell) {
  constexpr own_row pairs[][2] = {{own_row::dcc0, own_row::dcc0n}, {own_row::dcc1, own_row::dcc1n}};
  for (const auto& [cell, inverse] : pairs) {
    subarray s;
    s.run([&](micro_program& p) {
      p.aap(a(0), inverse);
      p.aap(cell, d(0));
      p.aap(inverse, d(1));
      p.aap(a(1), cell);
      p.aap(cell, d(2));
      p.aap(inverse, d(3));
    });
    EXPECT_EQ(s.row(4), ~x & all);
    EXPECT_EQ(s.row(5), x);
    EXPECT_EQ(s.row(6), y);
    EXPECT_EQ(s.row(7), ~y & all);
  }
}

TEST(pim_row_commands, write_all_cells_of_a_second_address) {
  subarray s;
  const execution done = s.run([](micro_program& p) {
    p.aap(a(0), own_row::dcc0n_t0);
    p.aap(own_row::dcc0, d(0));
    p.aap(own_row::t0, d(1));
    p.aap(a(1), own_row::t2_t3);
    p.aap(own_row::t2, d(2));
    p.aap(own_row::t3, d(3));
    p.aap(a(2), own_row::t0_t1_t2);
    p.aap(own_row::t0, d(4));
    p.aap(own_row::t1, d(5));
    p.aap(own_row::t2, d(6));
    p.aap(own_row::dcc0n, own_row::dcc1n_t1);  // x, so DCC1 has its inverse
    p.aap(own_row::dcc1, d(7));
  });
  const std::uint64_t want[] = {~x & all, x, y, y, z, z, z, ~x & all};
  for (std::uint32_t k = 0; k < 8; ++k) EXPECT_EQ(s.row(4 + k), want[k]) << k;
  EXPECT_EQ(done.counts.extra_rows, 1u + 1u + 2u + 1u);
}

TEST(pim_row_commands, open_two_rows_that_hold_the_same) {
  subarray s;
  const execution done = s.run([](micro_program& p) {
    p.aap(a(0), own_row::t0);
    p.aap(a(0), own_row::t3);
    p.aap(own_row::t0_t3, d(0));
    p.aap(a(0), own_row::dcc0n);
    p.aap(own_row::dcc0n_t0, d(1));
    p.ap(own_row::t0_t3);
  });
  EXPECT_EQ(s.row(4), x);
  EXPECT_EQ(s.row(5), x);
  EXPECT_EQ(done.counts.extra_rows, 3u);
}

TEST(pim_row_commands, do_the_same_with_all_instructions) {
  for (const instruction_set set : {instruction_set::portable, instruction_set::avx2, instruction_set::avx512}) {
    if (!has(set)) continue;
    subarray s{4096 + 64, set};
    const execution done = s.run([](micro_program& p) {
      p.aap(a(0), own_row::dcc1n_t1);
      p.aap(a(1), own_row::t0_t3);
      p.aap(own_row::dcc1_t0_t3, d(0));
      p.aap(a(2), own_row::t2);
      p.aap(own_row::t0_t1_t2, own_row::dcc0n);
      p.aap(own_row::dcc0, d(1));
    });
    EXPECT_EQ(s.row(4), y);
    EXPECT_EQ(s.row(5), ~majority & all);
    EXPECT_EQ(done.counts, (command_counts{.aap = 6, .extra_rows = 6}));
  }
}

TEST(pim_row_commands, refuse_two_rows_that_differ) {
  subarray s{4096};
  s.set_row(3, x);
  s.flip(3, 2048 + 77);
  const auto wrong = [](micro_program& p) {
    p.aap(a(0), own_row::t0);
    p.aap(a(3), own_row::t3);
    p.aap(own_row::t0_t3, d(3));
  };
  EXPECT_THAT(s.refused(wrong), HasSubstr("pim: program by_hand: command 2 (aap t0+t3, operand 1 bit 3), in subarray "
                                          "1: t0 and t3 hold different bits in column 2125"));
  s.flip(3, 2048 + 77);
  EXPECT_EQ(s.refused(wrong), "no error");
}

TEST(pim_row_commands, refuse_a_dual_contact_cell_that_differs_from_its_pair) {
  subarray s;
  EXPECT_THAT(s.refused([](micro_program& p) {
    p.aap(own_row::zero, own_row::t0);
    p.aap(own_row::zero, own_row::dcc0);
    p.ap(own_row::dcc0n_t0);
  }),
              HasSubstr("command 2 (ap ~dcc0+t0), in subarray 1: ~dcc0 and t0 hold different bits in column 0"));
}

// Behind the device's columns the last tile has padding, in which rows that were never written to differ.
TEST(pim_row_commands, look_at_the_columns_of_the_device_alone) {
  subarray s;
  s.set_row(3, all);
  s.run([](micro_program& p) { p.aap(own_row::one, d(0)); });
  s.set_row(4, x);  // as operand 0's row 0, but for the padding
  EXPECT_EQ(s.refused([](micro_program& p) {
    p.aap(d(0), own_row::t2);
    p.aap(a(0), own_row::t3);
    p.aap(own_row::t2_t3, d(1));
  }),
            "no error");
  EXPECT_EQ(s.row(5), x);
}

TEST(pim_row_commands, refuse_to_write_constants) {
  subarray s;
  EXPECT_THAT(s.refused([](micro_program& p) {
    p.aap(a(0), d(0));
    p.aap(a(0), own_row::one);
  }),
              HasSubstr("pim: program by_hand: command 1 (aap operand 0 bit 0, one): it writes a constant"));
  EXPECT_THAT(s.refused([](micro_program& p) { p.aap(own_row::zero, own_row::zero); }),
              HasSubstr("command 0 (aap zero, zero): it writes a constant"));
}

TEST(pim_row_commands, refuse_to_open_a_cell_through_both_of_its_addresses) {
  subarray s;
  EXPECT_THAT(s.refused([](micro_program& p) {
    p.aap(a(0), own_row::dcc1);
    p.aap(own_row::dcc1, own_row::dcc1n_t1);
  }),
              HasSubstr("command 1 (aap dcc1, ~dcc1+t1): it opens dcc1 through both of its addresses at once"));
  EXPECT_THAT(s.refused([](micro_program& p) {
    load(p, own_row::dcc0, own_row::t1, own_row::t2);
    p.aap(own_row::dcc0_t1_t2, own_row::dcc0n);
  }),
              HasSubstr("command 3 (aap dcc0+t1+t2, ~dcc0): it opens dcc0 through both of its addresses at once"));
}

TEST(pim_row_commands, refuse_to_read_what_no_command_has_written) {
  subarray s;
  EXPECT_THAT(s.refused([](micro_program& p) {
    p.aap(a(0), own_row::t0);
    p.aap(a(1), own_row::t1);
    p.aap(own_row::t0_t1_t2, d(0));
  }),
              HasSubstr("command 2 (aap t0+t1+t2, operand 1 bit 0): it reads t2, which no command before it writes"));
  EXPECT_THAT(s.refused([](micro_program& p) { p.aap(own_row::dcc1n, d(0)); }),
              HasSubstr("command 0 (aap ~dcc1, operand 1 bit 0): it reads dcc1, which no command before it writes"));
  EXPECT_THAT(s.refused([](micro_program& p) {
    p.scratch_rows = 2;
    p.aap(a(0), {row_name::scratch, 1});
    p.aap({row_name::scratch, 0}, d(0));
  }),
              HasSubstr("command 1 (aap scratch row 0, operand 1 bit 0): it reads scratch row 0, which no command "
                        "before it writes"));
}

// What a program before it has left in the rows for computing is nothing that a program may rely on.
TEST(pim_row_commands, refuse_to_read_what_another_program_has_written) {
  subarray s;
  s.run([](micro_program& p) { p.aap(a(0), own_row::t0); });
  EXPECT_THAT(s.refused([](micro_program& p) { p.aap(own_row::t0, d(0)); }), HasSubstr("it reads t0, which no"));
}

TEST(pim_row_commands, refuse_to_read_operands_that_are_said_to_be_undefined) {
  const micro_program program = subarray::made([](micro_program& p) {
    p.aap(a(0), d(0));
    p.aap(d(0), d(1));
    p.aap(d(2), d(3));
  });
  EXPECT_NO_THROW(check_defined_rows(program));
  try {
    check_defined_rows(program, 0b10);
    FAIL() << "no error";
  } catch (const situ::error& error) {
    EXPECT_THAT(error.what(), HasSubstr("command 2 (aap operand 1 bit 2, operand 1 bit 3): it reads operand 1 bit 2, "
                                        "which no command before it writes"));
  }
}

TEST(pim_row_commands, refuse_to_read_an_operand_that_another_one_has_destroyed) {
  const micro_program program = subarray::made([](micro_program& p) {
    p.aap(a(0), d(1));
    p.aap(a(1), d(0));
  });
  const std::array<block, 2> apart{block{0, 0, 1, 2}, block{0, 2, 1, 2}};
  const std::array<block, 2> together{block{0, 0, 1, 2}, block{0, 0, 1, 2}};
  EXPECT_NO_THROW(check_shared_rows(program, apart, {}));
  try {
    check_shared_rows(program, together, {});
    FAIL() << "no error";
  } catch (const situ::error& error) {
    EXPECT_EQ(error.code(), situ::errc::bad_argument);
    EXPECT_THAT(error.what(),
                HasSubstr("pim: program by_hand: command 1 (aap operand 0 bit 1, operand 1 bit 0): it reads operand 0 "
                          "bit 1, which command 0 has destroyed: it writes operand 1 bit 1, the same row"));
  }
}

// The scratch rows are an operand like the others.
TEST(pim_row_commands, refuse_scratch_rows_over_an_operand_that_is_read_later) {
  subarray s;
  const micro_program program = subarray::made([](micro_program& p) {
    p.scratch_rows = 1;
    p.aap(own_row::zero, {row_name::scratch, 0});
    p.aap(a(0), d(0));
  });
  const std::array<block, 2> operands{block{1, 0, 1, 4}, block{1, 4, 1, 8}};
  EXPECT_NO_THROW(check_shared_rows(program, operands, block{1, 12, 1, 1}));
  EXPECT_THROW(check_shared_rows(program, operands, block{1, 0, 1, 1}), situ::error);
}

}  // namespace
