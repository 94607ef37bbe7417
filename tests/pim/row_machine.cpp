#include "row_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "pim/row_checks.h"

namespace situ::pim::test {
namespace {

std::uint64_t low_bits(std::uint64_t value, unsigned bits) { return value & (~std::uint64_t{0} >> (64 - bits)); }

std::int64_t sign_extended(std::uint64_t value, unsigned bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

const elements& of_role(const operand_values& values, operand_role role) {
  switch (role) {
    case operand_role::condition: return values.condition;
    case operand_role::a: return values.a;
    case operand_role::b: return values.b;
    case operand_role::c: return values.c;
    case operand_role::result: return values.result;
    default: return values.mask;
  }
}

bool less_than(const operation_spec& spec, std::uint64_t a, std::uint64_t b) {
  return spec.is_signed ? sign_extended(a, spec.bits) < sign_extended(b, spec.bits) : a < b;
}

std::uint64_t logic_of(operation what, std::uint64_t a, std::uint64_t b) {
  switch (what) {
    case operation::logic_and: return a & b;
    case operation::logic_or: return a | b;
    case operation::logic_nand: return ~(a & b);
    case operation::logic_nor: return ~(a | b);
    case operation::logic_xor: return a ^ b;
    default: return ~(a ^ b);
  }
}

std::uint64_t shifted(const operation_spec& spec, std::uint64_t a, std::uint64_t distance) {
  const auto by = static_cast<unsigned>(std::min<std::uint64_t>(distance, 64));
  if (spec.what == operation::shift_left) return by == 64 ? 0 : a << by;
  if (spec.is_signed) return static_cast<std::uint64_t>(sign_extended(a, spec.bits) >> std::min(by, 63u));
  return by == 64 ? 0 : a >> by;
}

std::uint64_t product(const operation_spec& spec, std::uint64_t a, std::uint64_t b) {
  if (!spec.wide || !spec.is_signed) return a * b;
  return static_cast<std::uint64_t>(sign_extended(a, spec.bits) * sign_extended(b, spec.bits));
}

// Of inputs within their widths; the caller cuts the result.
std::uint64_t value_of(const operation_spec& spec, std::uint64_t a, std::uint64_t b, std::uint64_t c, bool condition) {
  switch (spec.what) {
    case operation::copy: return a;
    case operation::invert: return ~a;
    case operation::add: return a + b;
    case operation::subtract: return a - b;
    case operation::multiply: return product(spec, a, b);
    case operation::multiply_add: return a * b + c;
    case operation::equal: return a == b;
    case operation::not_equal: return a != b;
    case operation::less: return less_than(spec, a, b);
    case operation::less_equal: return !less_than(spec, b, a);
    case operation::greater: return less_than(spec, b, a);
    case operation::greater_equal: return !less_than(spec, a, b);
    case operation::select: return condition ? a : b;
    case operation::minimum: return less_than(spec, b, a) ? b : a;
    case operation::maximum: return less_than(spec, a, b) ? b : a;
    case operation::absolute: return spec.is_signed && sign_extended(a, spec.bits) < 0 ? 0 - a : a;
    case operation::popcount: return static_cast<std::uint64_t>(std::popcount(a));
    case operation::shift_left:
    case operation::shift_right: return shifted(spec, a, *spec.scalar);
    case operation::broadcast: return b;
    default: return logic_of(spec.what, a, b);
  }
}

std::uint64_t at(const elements& values, std::size_t i) { return values.empty() ? 0 : values[i]; }

std::size_t count_of(const operand_values& values) {
  return std::max({values.a.size(), values.result.size(), values.mask.size()});
}

bool applies(const operation_spec& spec, const operand_values& values, std::size_t i) {
  if (spec.mask == mask_use::none) return true;
  return (values.mask[i] & 1) == (spec.mask == mask_use::when_true ? 1u : 0u);
}

// Horizontal flags have an element's columns all the same.
elements in_the_device(const operation_spec& spec, operand_role role, elements values) {
  const bool flag = role == operand_role::condition || role == operand_role::mask;
  if (spec.direction == dimension::horizontal && flag)
    for (std::uint64_t& value : values) value = (value & 1) != 0 ? ~std::uint64_t{0} : 0;
  return values;
}

unsigned element_bits(const operation_spec& spec, const operand_need& need) {
  return spec.direction == dimension::horizontal ? spec.bits : need.rows;
}

elements expected_sum(const operation_spec& spec, const operand_values& values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.a.size(); ++i) {
    if (!applies(spec, values, i)) continue;
    const std::uint64_t a = low_bits(values.a[i], spec.bits);
    sum += spec.is_signed ? static_cast<std::uint64_t>(sign_extended(a, spec.bits)) : a;
  }
  return {sum};
}

}  // namespace

elements expected(const operation_spec& spec, const operand_values& values) {
  if (spec.what == operation::reduce_sum) return expected_sum(spec, values);
  const unsigned bits = result_bits(spec);
  elements all(count_of(values));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool shifts = spec.what == operation::shift_left || spec.what == operation::shift_right;
    const std::uint64_t b = spec.scalar && !shifts ? *spec.scalar : at(values.b, i);
    all[i] = low_bits(at(values.result, i), bits);
    if (applies(spec, values, i))
      all[i] = low_bits(value_of(spec, low_bits(at(values.a, i), spec.bits), low_bits(b, spec.bits),
                                 low_bits(at(values.c, i), spec.bits), (at(values.condition, i) & 1) != 0),
                        bits);
  }
  return all;
}

elements row_machine::run(machine::pim_design design, const operation_spec& spec, const operand_values& values,
                          bool over_a) {
  const micro_program program = make_majority_program(design, spec);
  std::vector<block> blocks;
  block result{}, a{};
  std::uint32_t row = 0;
  std::uint64_t undefined = 0;
  for (const operand_need& need : operands_of(spec)) {
    block where{.subarray = 0, .row = row, .subarrays = 1, .rows = need.rows};
    if (need.role == operand_role::a) a = where;
    if (need.role == operand_role::result) {
      if (over_a) where.row = a.row;
      result = where;
      if (spec.mask == mask_use::none && !over_a) undefined = std::uint64_t{1} << blocks.size();
    }
    row += over_a && need.role == operand_role::result ? 0 : need.rows;
    const elements its = in_the_device(spec, need.role, of_role(values, need.role));
    if (!its.empty() && !(over_a && need.role == operand_role::result))
      cells_.write(where, spec.direction, element_bits(spec, need), 0, its);
    blocks.push_back(where);
  }
  const block scratch{.subarray = 0, .row = row, .subarrays = 1, .rows = program.scratch_rows};
  check_defined_rows(program, undefined);
  check_shared_rows(program, blocks, scratch);
  done_ = executor_.run(cells_, program, {blocks, scratch});
  if (spec.what == operation::reduce_sum) return {weighted_sum(spec, done_.ones)};
  elements got(count_of(values));
  cells_.read(result, spec.direction, result_bits(spec), 0, got);
  return got;
}

std::string difference(const operation_spec& spec, const operand_values& values, const elements& got) {
  const elements want = expected(spec, values);
  if (want.size() != got.size()) return fmt::format("{} elements instead of {}", got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    if (want[i] != got[i])
      return fmt::format("{}: element {}: a {:#x}, b {:#x}, c {:#x}, condition {}, mask {}: {:#x} instead of {:#x}",
                         text(spec), i, at(values.a, i), at(values.b, i), at(values.c, i), at(values.condition, i),
                         at(values.mask, i), got[i], want[i]);
  return {};
}

}  // namespace situ::pim::test
