// The programs of the designs that open rows (ambit, simdram), carried out, against the host.
#include <situ/base/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ranges>

#include "pim/programs.h"
#include "row_machine.h"

namespace {

using namespace situ::pim;
using namespace situ::test;
using situ::machine::pim_design;

constexpr pim_design designs[] = {pim_design::ambit, pim_design::simdram};
constexpr mask_use masks[] = {mask_use::none, mask_use::when_true, mask_use::when_false};

bool may_have_scalar(operation what) {
  return what >= operation::logic_and && what <= operation::maximum && what != operation::absolute;
}
bool needs_scalar(operation what) {
  return what == operation::shift_left || what == operation::shift_right || what == operation::broadcast;
}
bool may_go_over_a(operation what) {
  return what != operation::multiply && what != operation::multiply_add && what != operation::popcount &&
         what != operation::broadcast && what != operation::reduce_sum;
}

auto all_operations() {
  return std::views::iota(0, static_cast<int>(operation::reduce_sum) + 1) |
         std::views::transform([](int what) { return static_cast<operation>(what); });
}

class row_programs : public testing::TestWithParam<pim_design> {};

TEST_P(row_programs, agree_with_the_host_for_all_pairs_of_8_bits) {
  row_machine machine{65536, 256};
  const pim_values values = all_pairs();
  for (const operation what : all_operations())
    for (const bool is_signed : {false, true})
      for (const mask_use mask : masks) {
        operation_spec spec{.what = what, .bits = 8, .is_signed = is_signed, .mask = mask};
        if (needs_scalar(what)) spec.scalar = 3;
        ASSERT_EQ(difference(spec, values, machine.run(GetParam(), spec, values)), "");
      }
}

TEST_P(row_programs, multiply_to_twice_the_width_for_all_pairs_of_8_bits) {
  row_machine machine{65536, 256};
  const pim_values values = all_pairs();
  for (const bool is_signed : {false, true})
    for (const mask_use mask : masks) {
      const operation_spec spec{
          .what = operation::multiply, .bits = 8, .is_signed = is_signed, .mask = mask, .wide = true};
      ASSERT_EQ(difference(spec, values, machine.run(GetParam(), spec, values)), "");
    }
}

TEST_P(row_programs, agree_with_the_host_for_edges_of_all_widths) {
  row_machine machine{2112};  // a whole tile, and 64 columns of another one
  for (unsigned bits = 1; bits <= 64; ++bits) {
    const pim_values values = random_values(bits, 2112, bits);
    for (const operation what : all_operations()) {
      const bool multiplies = what == operation::multiply || what == operation::multiply_add;
      if (multiplies && bits > 12 && bits % 13 != 0 && bits < 64) continue;
      for (const bool is_signed : {false, true}) {
        operation_spec spec{.what = what, .bits = bits, .is_signed = is_signed};
        if (needs_scalar(what)) spec.scalar = bits / 2;
        ASSERT_EQ(difference(spec, values, machine.run(GetParam(), spec, values)), "");
        spec.mask = is_signed ? mask_use::when_true : mask_use::when_false;
        ASSERT_EQ(difference(spec, values, machine.run(GetParam(), spec, values)), "");
      }
    }
  }
}

TEST_P(row_programs, multiply_to_twice_the_width_for_edges) {
  row_machine machine{2048};
  for (const unsigned bits : {1, 2, 3, 5, 16, 31, 32})
    for (const bool is_signed : {false, true}) {
      const operation_spec spec{.what = operation::multiply, .bits = bits, .is_signed = is_signed, .wide = true};
      const pim_values values = random_values(bits, 2048, bits);
      ASSERT_EQ(difference(spec, values, machine.run(GetParam(), spec, values)), "");
    }
}

TEST_P(row_programs, take_scalars) {
  row_machine machine{64 * 7};
  for (const unsigned bits : {1, 2, 7, 8, 32, 64}) {
    const pim_values values = random_values(bits, 64 * 7, bits);
    for (const operation what : all_operations()) {
      if (!may_have_scalar(what) && !needs_scalar(what)) continue;
      for (const std::uint64_t scalar : {0ull, 1ull, 2ull, 5ull, 7ull, 119ull, 0x5555555555555555ull, ~0ull, ~6ull})
        for (const bool is_signed : {false, true})
          for (const mask_use mask : {mask_use::none, mask_use::when_true}) {
            const operation_spec spec{
                .what = what, .bits = bits, .is_signed = is_signed, .scalar = scalar, .mask = mask};
            ASSERT_EQ(difference(spec, values, machine.run(GetParam(), spec, values)), "");
          }
    }
  }
}

TEST_P(row_programs, may_write_their_result_over_an_input) {
  row_machine machine{2048};
  for (const unsigned bits : {1, 2, 3, 8, 33}) {
    pim_values values = random_values(bits, 2048, bits);
    values.before = values.a;
    for (const operation what : all_operations()) {
      if (!may_go_over_a(what)) continue;
      for (const bool is_signed : {false, true})
        for (const mask_use mask : masks) {
          operation_spec spec{.what = what, .bits = bits, .is_signed = is_signed, .mask = mask};
          if (needs_scalar(what)) spec.scalar = 2;
          if (result_bits(spec) != bits) continue;
          ASSERT_EQ(difference(spec, values, machine.run(GetParam(), spec, values, result_place::over_a)), "");
        }
    }
  }
}

// What goes wrong if the caller does not read the contract: the check names the command that reads what is gone.
TEST_P(row_programs, that_multiply_refuse_to_destroy_their_operand) {
  row_machine machine{64};
  const operation_spec spec{.what = operation::multiply, .bits = 8, .is_signed = false};
  try {
    machine.run(GetParam(), spec, random_values(8, 64, 1), result_place::over_a);
    FAIL() << "no error";
  } catch (const situ::error& error) {
    EXPECT_EQ(error.code(), situ::errc::bad_argument);
    const std::string at = GetParam() == pim_design::ambit ? "33" : "34";
    EXPECT_THAT(error.what(), testing::HasSubstr("program MUL.V.U8: command " + at +
                                                 " (aap operand 0 bit 0, t1): it reads operand 0 bit 0, which command "
                                                 "3 has destroyed: it writes operand 2 bit 0, the same row"));
  }
}

TEST_P(row_programs, for_horizontal_elements_are_logic) {
  for (const operation what : all_operations()) {
    operation_spec spec{.what = what, .direction = dimension::horizontal, .bits = 8};
    if (needs_scalar(what)) spec.scalar = 1;
    const bool logic = what <= operation::logic_xnor || what == operation::select;
    if (logic) {
      EXPECT_GT(make_program(GetParam(), spec).commands.size(), 0u) << text(spec);
      continue;
    }
    try {
      (void)make_program(GetParam(), spec);
      ADD_FAILURE() << text(spec) << ": no error";
    } catch (const situ::error& error) {
      EXPECT_EQ(error.code(), situ::errc::not_supported);
      EXPECT_THAT(error.what(), testing::HasSubstr(text(spec)));
      EXPECT_THAT(error.what(), testing::HasSubstr(GetParam() == pim_design::ambit ? "ambit" : "simdram"));
    }
  }
}

TEST_P(row_programs, work_on_rows_of_horizontal_elements) {
  row_machine machine{65536, 16};
  pim_values values = all_pairs();
  for (auto* all : {&values.a, &values.b, &values.c, &values.condition, &values.mask, &values.before})
    all->resize(8192);
  for (const operation what : all_operations()) {
    if (what > operation::logic_xnor && what != operation::select) continue;
    for (const mask_use mask : masks) {
      const operation_spec spec{.what = what, .direction = dimension::horizontal, .bits = 8, .mask = mask};
      ASSERT_EQ(difference(spec, values, machine.run(GetParam(), spec, values)), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(designs, row_programs, testing::ValuesIn(designs),
                         [](const auto& info) { return info.param == pim_design::ambit ? "ambit" : "simdram"; });

}  // namespace
