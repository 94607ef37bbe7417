#include <situ/base/error.h>
#include <situ/pim/operation.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using situ::pim::dimension;
using situ::pim::mask_use;
using situ::pim::operand_need;
using situ::pim::operand_role;
using situ::pim::operation;
using situ::pim::operation_spec;
using situ::pim::parse_operation;
using situ::pim::weighted_sum;
using testing::ElementsAre;
using testing::HasSubstr;

std::string in_words(const operation_spec& spec) { return situ::pim::text(spec); }

TEST(pim_operation, has_the_paper_s_texts) {
  EXPECT_EQ(in_words({.what = operation::add, .mask = mask_use::when_true}), "ADD.V.I32.T");
  EXPECT_EQ(parse_operation("ADD.V.I32.T"), (operation_spec{.mask = mask_use::when_true}));
  EXPECT_EQ(parse_operation("LT.H.U7.F -1"), (operation_spec{operation::less, dimension::horizontal, 7, false,
                                                             ~std::uint64_t{0}, mask_use::when_false}));
  EXPECT_EQ(parse_operation("MULW.V.I16"), (operation_spec{.what = operation::multiply, .bits = 16, .wide = true}));
}

TEST(pim_operation, is_the_same_when_its_text_is_read) {
  for (unsigned k = 0; k <= static_cast<unsigned>(operation::reduce_sum); ++k)
    for (const bool with_scalar : {false, true})
      for (const mask_use mask : {mask_use::none, mask_use::when_true, mask_use::when_false}) {
        operation_spec spec{.what = static_cast<operation>(k), .bits = 1 + k, .is_signed = k % 2 == 0, .mask = mask};
        if (with_scalar) spec.scalar = k * 1000;
        try {
          check(spec);
        } catch (const situ::error&) {
          continue;
        }
        EXPECT_EQ(parse_operation(in_words(spec)), spec) << in_words(spec);
      }
}

TEST(pim_operation, refuses_other_texts) {
  const auto refusal = [](const char* text) {
    try {
      (void)parse_operation(text);
    } catch (const situ::error& refused) {
      EXPECT_EQ(refused.code(), situ::errc::bad_argument);
      return std::string{refused.what()};
    }
    ADD_FAILURE() << text;
    return std::string{};
  };
  EXPECT_THAT(refusal("PLUS.V.I32"), HasSubstr("'PLUS' is no operation"));
  EXPECT_THAT(refusal("ADD.X.I32"), HasSubstr("'X' is no direction"));
  EXPECT_THAT(refusal("ADD.V.F32"), HasSubstr("'F32' is no type"));
  EXPECT_THAT(refusal("ADD.V.I"), HasSubstr("is no type"));
  EXPECT_THAT(refusal("ADD.V.I32.M"), HasSubstr("'M' is no mask"));
  EXPECT_THAT(refusal("ADD.V.I32."), HasSubstr("is no mask"));
  EXPECT_THAT(refusal("ADD.V.I32 x"), HasSubstr("'x' is no number"));
  EXPECT_THAT(refusal("ADD.V.I65"), HasSubstr("ADD of 65 bits"));
  EXPECT_THAT(refusal("NOT.V.I8 3"), HasSubstr("takes no scalar"));
  EXPECT_THAT(refusal("SHL.V.I8"), HasSubstr("needs a scalar"));
  EXPECT_THAT(refusal("MULW.V.I33"), HasSubstr("at most 32 bits"));
  EXPECT_THAT(refusal("MULW.H.I8"), HasSubstr("vertical"));
  refusal("");
}

TEST(pim_operation, names_its_operands_in_order) {
  const auto roles = [](const char* text) { return operands_of(parse_operation(text)); };
  EXPECT_THAT(
      roles("MULADD.V.I8.T"),
      ElementsAre(operand_need{operand_role::a, 8}, operand_need{operand_role::b, 8}, operand_need{operand_role::c, 8},
                  operand_need{operand_role::result, 8}, operand_need{operand_role::mask, 1}));
  EXPECT_THAT(roles("SEL.V.U5 3"),
              ElementsAre(operand_need{operand_role::condition, 1}, operand_need{operand_role::a, 5},
                          operand_need{operand_role::result, 5}));
  EXPECT_THAT(roles("LT.H.I8"),
              ElementsAre(operand_need{operand_role::a, 1}, operand_need{operand_role::b, 1},
                          operand_need{operand_role::result, 1}, operand_need{operand_role::pattern, 2}));
  EXPECT_THAT(roles("SUM.V.I8"), ElementsAre(operand_need{operand_role::a, 8}));
  EXPECT_EQ(result_bits(parse_operation("LT.V.I8")), 1u);
  EXPECT_EQ(result_bits(parse_operation("MULW.V.I8")), 16u);
}

TEST(pim_operation, weighs_the_ones_of_a_sum) {
  const std::uint64_t ones[] = {3, 0, 1, 2};
  EXPECT_EQ(weighted_sum({.bits = 4, .is_signed = false}, ones), 3u + 4 + 16);
  EXPECT_EQ(weighted_sum({.bits = 4, .is_signed = true}, ones), static_cast<std::uint64_t>(3 + 4 - 16));
}

}  // namespace
