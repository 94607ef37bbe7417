// Programs for latches against the host's arithmetic.
#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "pim/host_model.h"
#include "pim/programs.h"

namespace {

using situ::machine::pim_design;
using situ::pim::dimension;
using situ::pim::executor;
using situ::pim::mask_use;
using situ::pim::operand_role;
using situ::pim::operation;
using situ::pim::operation_spec;
using situ::test::pim_values;

constexpr auto last_operation = static_cast<unsigned>(operation::reduce_sum);

bool has(const operation_spec& spec, operand_role role) {
  const auto needs = situ::pim::operands_of(spec);
  return std::any_of(needs.begin(), needs.end(), [&](const auto& need) { return need.role == role; });
}

// Compares an operation's elements, and reports the first that differs.
void expect_right(executor& with, pim_design design, const operation_spec& spec, const pim_values& values,
                  std::uint32_t columns) {
  const auto expected = situ::test::by_host(spec, values);
  const auto found = situ::test::by_device(with, design, spec, values, columns);
  ASSERT_EQ(found.size(), expected.size());
  const auto [at, other] = std::mismatch(found.begin(), found.end(), expected.begin());
  if (at == found.end()) return;
  const auto i = static_cast<std::size_t>(at - found.begin());
  ADD_FAILURE() << (design == pim_design::imi ? "imi" : "bitsimd") << ": " << text(spec) << ", element " << i << ": "
                << *at << ", not " << *other << "; a " << values.a[i] << ", b " << values.b[i] << ", c " << values.c[i]
                << ", mask " << values.mask[i] << ", before " << values.before[i];
}

// Calls for each operation, with a scalar where it must have one; by `scalars`, also where it may.
template <class Body>
void for_each_operation(unsigned bits, dimension direction, std::uint64_t scalar, bool scalars, Body body) {
  for (unsigned k = 0; k <= last_operation; ++k) {
    for (const bool with_scalar : {false, true}) {
      operation_spec spec{.what = static_cast<operation>(k), .direction = direction, .bits = bits};
      if (with_scalar) spec.scalar = scalar;
      try {
        check(spec);
      } catch (const situ::error&) {
        continue;
      }
      spec.scalar.reset();
      const bool optional = [&] {
        try {
          check(spec);
          return true;
        } catch (const situ::error&) {
          return false;
        }
      }();
      if (with_scalar) spec.scalar = scalar;
      if (!with_scalar || scalars || !optional) body(spec);
    }
  }
}

// Both signs under all masks; or one of these ways, the `only`th, which other calls complement.
void expect_all_right(executor& with, pim_design design, operation_spec spec, const pim_values& values,
                      std::uint32_t columns, std::optional<unsigned> only = {}) {
  unsigned way = 0;
  for (const bool is_signed : {false, true})
    for (const mask_use mask : {mask_use::none, mask_use::when_true, mask_use::when_false}) {
      if (only && way++ != *only % 6) continue;
      spec.is_signed = is_signed;
      spec.mask = mask;
      expect_right(with, design, spec, values, columns);
    }
}

// All ways for widths about powers of two, one for the others.
std::optional<unsigned> ways(unsigned bits, const operation_spec& spec) {
  for (const unsigned all : {1U, 2U, 3U, 7U, 8U, 13U, 16U, 31U, 32U, 33U, 63U, 64U})
    if (bits == all) return {};
  return bits + static_cast<unsigned>(spec.what);
}

TEST(pim_latch_programs, are_right_for_all_pairs_of_8_bits) {
  executor with;
  const pim_values values = situ::test::all_pairs();
  for_each_operation(8, dimension::vertical, 3, false, [&](operation_spec spec) {
    expect_all_right(with, pim_design::bitsimd, spec, values, 65536);
    spec.wide = spec.what == operation::multiply;
    expect_all_right(with, pim_design::imi, spec, values, 65536);
  });
}

TEST(pim_latch_programs, are_right_for_all_scalars_of_8_bits) {
  executor with;
  pim_values values = situ::test::random_values(8, 256, 3);
  for (std::uint64_t i = 0; i < 256; ++i) values.a[i] = i;
  for (std::uint64_t scalar = 0; scalar < 256; ++scalar)
    for_each_operation(8, dimension::vertical, scalar, true, [&](const operation_spec& spec) {
      if (spec.scalar) expect_all_right(with, pim_design::imi, spec, values, 256);
    });
}

TEST(pim_latch_programs, are_right_for_all_widths) {
  executor with;
  for (unsigned bits = 1; bits <= 64; ++bits) {
    const pim_values values = situ::test::random_values(bits, 2112, bits);
    for_each_operation(bits, dimension::vertical, values.b[5], true, [&](operation_spec spec) {
      expect_all_right(with, pim_design::imi, spec, values, 2112, ways(bits, spec));
      spec.wide = spec.what == operation::multiply && !spec.scalar && bits <= 32;
      if (spec.wide) expect_all_right(with, pim_design::imi, spec, values, 2112, ways(bits, spec));
    });
  }
}

TEST(pim_latch_programs, shift_by_any_number_of_bits) {
  executor with;
  for (const dimension direction : {dimension::vertical, dimension::horizontal})
    for (const unsigned bits : {1U, 7U, 8U}) {
      const pim_values values = situ::test::random_values(bits, 70, bits);
      for (const operation what : {operation::shift_left, operation::shift_right})
        for (const std::uint64_t by : {0ULL, 1ULL, 2ULL, 6ULL, 7ULL, 8ULL, 9ULL, ~0ULL})
          expect_all_right(with, pim_design::imi, {.what = what, .direction = direction, .bits = bits, .scalar = by},
                           values, 640);
    }
}

TEST(pim_horizontal_programs, are_right_for_all_pairs_of_8_bits) {
  executor with;
  const pim_values values = situ::test::all_pairs();
  for_each_operation(8, dimension::horizontal, 3, false,
                     [&](const operation_spec& spec) { expect_all_right(with, pim_design::imi, spec, values, 65536); });
}

// Elements of most widths lie across words and tiles; the columns behind the last one, and the padding, are not used.
TEST(pim_horizontal_programs, are_right_for_all_widths) {
  executor with;
  for (unsigned bits = 1; bits <= 64; ++bits) {
    const pim_values values = situ::test::random_values(bits, 2 * (4160 / bits), bits);
    for_each_operation(bits, dimension::horizontal, values.b[5], true, [&](const operation_spec& spec) {
      expect_all_right(with, pim_design::imi, spec, values, 4160, ways(bits, spec));
    });
  }
}

TEST(pim_horizontal_programs, of_bitsimd_are_logic_alone) {
  executor with;
  const pim_values values = situ::test::random_values(16, 130, 1);
  unsigned right = 0;
  for_each_operation(16, dimension::horizontal, 5, true, [&](const operation_spec& spec) {
    if (!has(spec, operand_role::pattern)) {
      expect_all_right(with, pim_design::bitsimd, spec, values, 2112);
      ++right;
      return;
    }
    try {
      (void)make_program(pim_design::bitsimd, spec);
      ADD_FAILURE() << text(spec);
    } catch (const situ::error& refused) {
      EXPECT_EQ(refused.code(), situ::errc::not_supported);
      EXPECT_THAT(std::string{refused.what()}, testing::HasSubstr(text(spec)));
    }
  });
  EXPECT_EQ(right, 9u);  // copy, invert, six gates and select
}

TEST(pim_latch_programs, may_write_their_results_over_inputs) {
  executor with;
  const situ::pim::geometry shape{.rows = 32, .columns = 256, .subarrays = 1, .banks = 1};
  const pim_values values = situ::test::random_values(8, 256, 4);
  for (const operation what : {operation::add, operation::subtract, operation::minimum, operation::logic_nor}) {
    for (const std::uint32_t over : {0U, 8U}) {
      const operation_spec spec{.what = what, .bits = 8};
      situ::pim::cell_storage cells{shape};
      const situ::pim::block operands[] = {{0, 0, 1, 8}, {0, 8, 1, 8}, {0, over, 1, 8}};
      cells.write(operands[0], dimension::vertical, 8, 0, values.a);
      cells.write(operands[1], dimension::vertical, 8, 0, values.b);
      (void)with.run(cells, make_program(pim_design::imi, spec), {operands});
      std::vector<std::uint64_t> found(256);
      cells.read(operands[2], dimension::vertical, 8, 0, found);
      EXPECT_EQ(found, situ::test::by_host(spec, values)) << text(spec) << " over row " << over;
    }
  }
}

}  // namespace
