// The commands that programs for latches take, beside those that PIMeval's tables have for BitSIMD
// (UVA-LavaLab/PIMeval-PIMbench, the table that it prices operations by, in 2025).
#include <gtest/gtest.h>

#include <algorithm>

#include "pim/programs.h"

namespace {

using situ::machine::pim_design;
using situ::pim::micro_op;
using situ::pim::operation;
using situ::pim::operation_spec;

struct latch_counts {
  unsigned reads = 0, writes = 0, logic = 0;
  friend bool operator==(const latch_counts&, const latch_counts&) = default;
};

latch_counts counts_of(const operation_spec& spec) {
  latch_counts counts;
  for (const auto& step : make_program(pim_design::bitsimd, spec).commands) {
    counts.reads += step.op == micro_op::read_row ? 1 : 0;
    counts.writes += step.op == micro_op::write_row ? 1 : 0;
    counts.logic += step.op >= micro_op::set_zero && step.op <= micro_op::select ? 1 : 0;
  }
  return counts;
}

TEST(pim_latch_counts, of_additions_and_subtractions_are_as_published) {
  for (unsigned n = 1; n <= 64; ++n)
    for (const operation what : {operation::add, operation::subtract})
      EXPECT_EQ(counts_of({.what = what, .bits = n}), (latch_counts{2 * n, n, 3 * n + 1})) << n;
}

struct published {
  operation what;
  unsigned bits;
  latch_counts counts;
};

TEST(pim_latch_counts, are_no_more_than_those_published) {
  constexpr published table[] = {
      {operation::absolute, 8, {9, 8, 34}},
      {operation::multiply, 8, {72, 36, 136}},
      {operation::invert, 8, {8, 8, 8}},
      {operation::logic_and, 8, {16, 8, 16}},
      {operation::logic_or, 8, {16, 8, 16}},
      {operation::logic_xor, 8, {16, 8, 16}},
      {operation::logic_xnor, 8, {16, 8, 24}},
      {operation::greater, 8, {16, 1, 25}},
      {operation::less, 8, {16, 1, 25}},
      {operation::equal, 8, {16, 1, 26}},
      {operation::not_equal, 8, {16, 1, 26}},
      {operation::minimum, 8, {32, 8, 41}},
      {operation::maximum, 8, {32, 8, 41}},
      {operation::absolute, 32, {33, 32, 130}},
      {operation::multiply, 32, {1056, 528, 2080}},
      {operation::greater, 32, {64, 1, 97}},
      {operation::equal, 32, {64, 1, 98}},
      {operation::minimum, 32, {128, 32, 161}},
      {operation::multiply, 16, {272, 136, 528}},
      {operation::logic_xnor, 32, {64, 32, 96}},
      {operation::popcount, 32, {114, 114, 218}},
  };
  for (const published& row : table)
    for (const bool is_signed : {false, true}) {
      const latch_counts ours = counts_of({.what = row.what, .bits = row.bits, .is_signed = is_signed});
      EXPECT_LE(ours.reads, row.counts.reads) << name(row.what) << row.bits;
      EXPECT_LE(ours.writes, row.counts.writes) << name(row.what) << row.bits;
      EXPECT_LE(ours.logic, row.counts.logic) << name(row.what) << row.bits;
    }
}

double time_of(const latch_counts& counts) { return 46.5 * (counts.reads + counts.writes) + 3 * counts.logic; }

// With a scalar the counts depend on its bits; PIMeval takes each bit from the host. Their times in ns, as priced
// there.
TEST(pim_latch_counts, with_any_scalar_take_no_longer_than_published) {
  constexpr published table[] = {
      {operation::add, 8, {8, 8, 33}},         {operation::subtract, 8, {8, 8, 33}},
      {operation::multiply, 8, {36, 36, 172}}, {operation::logic_and, 8, {8, 8, 24}},
      {operation::logic_xor, 8, {8, 8, 24}},   {operation::logic_xnor, 8, {8, 8, 32}},
      {operation::greater, 8, {8, 1, 33}},     {operation::less, 8, {8, 1, 33}},
      {operation::equal, 8, {8, 1, 34}},       {operation::minimum, 8, {16, 8, 57}},
      {operation::maximum, 8, {16, 8, 57}},
  };
  for (const published& row : table)
    for (std::uint64_t scalar = 0; scalar < 256; ++scalar)
      EXPECT_LE(time_of(counts_of({.what = row.what, .bits = 8, .scalar = scalar})), time_of(row.counts))
          << name(row.what) << scalar;
  for (const std::uint64_t scalar : {0x55555555ULL, 0xAAAAAAAAULL, 0xFFFFFFFFULL, 0x6DB6DB6DULL})
    EXPECT_LE(time_of(counts_of({.what = operation::multiply, .bits = 32, .scalar = scalar})),
              time_of({528, 528, 2608}));
}

TEST(pim_latch_counts, of_masks_are_a_read_and_a_gate_for_each_row) {
  using situ::pim::mask_use;
  for (unsigned n = 1; n <= 64; ++n) {
    EXPECT_EQ(counts_of({.what = operation::add, .bits = n, .mask = mask_use::when_true}),
              (latch_counts{3 * n + 1, n, 4 * n + 2}));
    const latch_counts plain = counts_of({.what = operation::multiply, .bits = n});
    EXPECT_EQ(counts_of({.what = operation::multiply, .bits = n, .mask = mask_use::when_false}),
              (latch_counts{plain.reads + n + 1, plain.writes, plain.logic + n + 1}));
  }
}

}  // namespace
