// How many commands the programs of rows have, against what is published: SIMDRAM's programs in the source of MIMDRAM,
// as carried out under Ambit's rules (their selections, minima, maxima and absolute values give wrong numbers).
#include <situ/machine/pim.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "pim/own_rows.h"
#include "pim/programs.h"

namespace {

using namespace situ::pim;
using situ::machine::pim_design;

std::pair<std::size_t, std::size_t> aap_ap(pim_design design, const operation_spec& spec) {
  const micro_program program = make_program(design, spec);
  const auto aap = static_cast<std::size_t>(
      std::ranges::count_if(program.commands, [](const command& step) { return step.op == micro_op::aap; }));
  return {aap, program.commands.size() - aap};
}

// The rows that a program opens beside the first one of an address.
std::size_t extra_rows(pim_design design, const operation_spec& spec) {
  std::size_t extra = 0;
  for (const command& step : make_program(design, spec).commands)
    for (const row_name& row : {step.row, step.to})
      if (row.operand == row_name::own && row.bit < static_cast<unsigned>(own_row::zero))
        extra += own_row_cells[row.bit].cells - 1u;
  return extra;
}

std::size_t simdram(operation what, unsigned bits, bool is_signed = false, bool wide = false) {
  const auto [aap, ap] =
      aap_ap(pim_design::simdram, {.what = what, .bits = bits, .is_signed = is_signed, .wide = wide});
  return aap + ap;
}

std::size_t ambit(operation what, unsigned bits) {
  const auto [aap, ap] = aap_ap(pim_design::ambit, {.what = what, .bits = bits});
  return aap + ap;
}

TEST(pim_row_counts, are_those_of_simdram) {
  for (const unsigned n : {1u, 2u, 8u, 16u, 32u, 64u}) {
    EXPECT_EQ(simdram(operation::add, n), 8 * n + 1);
    EXPECT_EQ(simdram(operation::subtract, n), 8 * n + 1);
    EXPECT_EQ(simdram(operation::greater, n), 3 * n + 2);
    EXPECT_EQ(simdram(operation::greater_equal, n), 3 * n + 2);
    EXPECT_EQ(simdram(operation::less, n, true), 3 * n + 2);
    EXPECT_EQ(simdram(operation::less_equal, n), 3 * n + 2);
    EXPECT_EQ(simdram(operation::equal, n), 4 * n + 3);
    EXPECT_EQ(simdram(operation::not_equal, n), 4 * n + 3);
  }
  for (const unsigned n : {1u, 2u, 8u, 16u, 32u})
    EXPECT_EQ(simdram(operation::multiply, n, false, true), 11 * n * n - 5 * n - 1);
  EXPECT_EQ(simdram(operation::multiply, 8, false, true), 663u);
  EXPECT_EQ(simdram(operation::multiply, 16, false, true), 2735u);
}

TEST(pim_row_counts, are_aap_and_ap_as_published) {
  using counts = std::pair<std::size_t, std::size_t>;
  const auto of = [](operation what, bool wide = false) {
    return aap_ap(pim_design::simdram, {.what = what, .bits = 8, .is_signed = false, .wide = wide});
  };
  EXPECT_EQ(of(operation::add), (counts{49, 16}));
  EXPECT_EQ(of(operation::subtract), (counts{57, 8}));
  EXPECT_EQ(of(operation::multiply, true), (counts{495, 168}));
  EXPECT_EQ(of(operation::greater), (counts{18, 8}));
  EXPECT_EQ(of(operation::equal), (counts{19, 16}));
}

// Published, and wrong: 7n, 10n + 2 and 10n - 1.
TEST(pim_row_counts, are_no_more_than_those_of_wrong_programs) {
  for (const unsigned n : {2u, 8u, 16u, 32u, 64u}) {
    EXPECT_EQ(simdram(operation::select, n), 7 * n);
    EXPECT_EQ(simdram(operation::maximum, n), 10 * n + 2);
    EXPECT_EQ(simdram(operation::minimum, n, true), 10 * n + 2);
    EXPECT_EQ(simdram(operation::absolute, n, true), 10 * n - 12);
  }
}

TEST(pim_row_counts, of_what_nobody_has_published) {
  for (const unsigned n : {2u, 8u, 16u, 32u, 64u}) {
    EXPECT_EQ(simdram(operation::multiply, n), 4 * n + (n - 1) + 11 * n * (n - 1) / 2);
    EXPECT_EQ(simdram(operation::multiply_add, n), n + 11 * n * (n + 1) / 2);
  }
  EXPECT_EQ(simdram(operation::multiply, 8, true, true), 663u + 2 * 7 + 2);  // signed
  EXPECT_EQ(simdram(operation::popcount, 8), 8u * 7 + 4);                    // 7 adders, 4 rows of zeros
}

TEST(pim_row_counts, of_logic_are_ambits) {
  for (const pim_design design : {pim_design::ambit, pim_design::simdram}) {
    const auto of = [&](operation what) { return aap_ap(design, {.what = what, .bits = 1}); };
    using counts = std::pair<std::size_t, std::size_t>;
    EXPECT_EQ(of(operation::copy), (counts{1, 0}));
    EXPECT_EQ(of(operation::invert), (counts{2, 0}));
    EXPECT_EQ(of(operation::logic_and), (counts{4, 0}));
    EXPECT_EQ(of(operation::logic_or), (counts{4, 0}));
    EXPECT_EQ(of(operation::logic_nand), (counts{5, 0}));
    EXPECT_EQ(of(operation::logic_nor), (counts{5, 0}));
    EXPECT_EQ(of(operation::logic_xor), (counts{5, 2}));
    EXPECT_EQ(of(operation::logic_xnor), (counts{5, 2}));
  }
}

// What their energies depend on, with the numbers of commands.
TEST(pim_row_counts, of_rows_opened_together_are_ambits) {
  const auto of = [](operation what) { return extra_rows(pim_design::ambit, {.what = what, .bits = 1}); };
  EXPECT_EQ(of(operation::invert), 0u);
  EXPECT_EQ(of(operation::logic_and), 2u);
  EXPECT_EQ(of(operation::logic_nand), 2u);
  EXPECT_EQ(of(operation::logic_xor), 9u);
}

// Gates alone: three times as many commands.
TEST(pim_row_counts, of_ambits_arithmetic) {
  for (const unsigned n : {2u, 8u, 32u}) {
    EXPECT_EQ(ambit(operation::add, n), 26 * n - 15 - 12);
    EXPECT_EQ(ambit(operation::greater, n), 18 * n - 12 + 1);
    EXPECT_EQ(ambit(operation::equal, n), 11 * n - 4 + 1);
    EXPECT_EQ(ambit(operation::select, n), 12 * n + 2);
  }
}

TEST(pim_row_counts, of_constants_have_one_addition_a_digit) {
  const auto scaled = [](std::uint64_t factor) {
    const auto [aap, ap] =
        aap_ap(pim_design::simdram, {.what = operation::multiply, .bits = 16, .is_signed = false, .scalar = factor});
    return aap + ap;
  };
  EXPECT_EQ(scaled(0), 16u);
  EXPECT_EQ(scaled(1), 16u);
  EXPECT_EQ(scaled(2), 16u);
  EXPECT_EQ(scaled(5), 16u + 8 * 14 + 1);           // a + (a << 2)
  EXPECT_EQ(scaled(7), 8u * 16 + 1 + 8 * 13 + 1);   // (a << 3) - a
  EXPECT_EQ(scaled(255), 8u * 16 + 1 + 8 * 8 + 1);  // (a << 8) - a
}

}  // namespace
