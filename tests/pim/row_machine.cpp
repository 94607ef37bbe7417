#include "row_machine.h"

#include <fmt/format.h>

#include "pim/programs.h"
#include "pim/row_checks.h"

namespace situ::test {
namespace {

using pim::operand_role;

bool is_flag(operand_role role) { return role == operand_role::condition || role == operand_role::mask; }

std::vector<std::uint64_t> values_of(const pim::operation_spec& spec, operand_role role, const pim_values& values) {
  std::vector<std::uint64_t> its;
  switch (role) {
    case operand_role::condition: its = values.condition; break;
    case operand_role::a: its = values.a; break;
    case operand_role::b: its = values.b; break;
    case operand_role::c: its = values.c; break;
    case operand_role::mask: its = values.mask; break;
    default: its = values.before; break;
  }
  if (spec.direction == pim::dimension::horizontal && is_flag(role))
    for (std::uint64_t& flag : its) flag = 0 - flag;
  return its;
}

}  // namespace

std::vector<std::uint64_t> row_machine::run(machine::pim_design design, const pim::operation_spec& spec,
                                            const pim_values& values, result_place place) {
  const pim::micro_program program = pim::make_program(design, spec);
  const bool vertical = spec.direction == pim::dimension::vertical;
  std::vector<pim::block> blocks;
  pim::block result{}, a{};
  std::uint32_t row = 0;
  std::uint64_t undefined = 0;
  for (const pim::operand_need& need : pim::operands_of(spec)) {
    pim::block where{.subarray = 0, .row = row, .subarrays = 1, .rows = need.rows};
    if (need.role == operand_role::a) a = where;
    const bool over_a = need.role == operand_role::result && place == result_place::over_a;
    if (over_a) where.row = a.row;
    if (need.role == operand_role::result) result = where;
    if (need.role == operand_role::result && !over_a && spec.mask == pim::mask_use::none)
      undefined = std::uint64_t{1} << blocks.size();
    if (!over_a) {
      cells_.write(where, spec.direction, vertical ? need.rows : spec.bits, 0, values_of(spec, need.role, values));
      row += need.rows;
    }
    blocks.push_back(where);
  }
  pim::check_defined_rows(program, undefined);
  const pim::block scratch{.subarray = 0, .row = row, .subarrays = 1, .rows = program.scratch_rows};
  const pim::execution done = executor_.run(cells_, program, {blocks, scratch});
  if (spec.what == pim::operation::reduce_sum) return {pim::weighted_sum(spec, done.ones)};
  std::vector<std::uint64_t> got(values.a.size());
  cells_.read(result, spec.direction, pim::result_bits(spec), 0, got);
  return got;
}

std::string difference(const pim::operation_spec& spec, const pim_values& values,
                       const std::vector<std::uint64_t>& got) {
  const std::vector<std::uint64_t> want = by_host(spec, values);
  if (want.size() != got.size()) return fmt::format("{} elements instead of {}", got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    if (want[i] != got[i])
      return fmt::format("{}: element {}: a {:#x}, b {:#x}, c {:#x}, condition {}, mask {}: {:#x} instead of {:#x}",
                         text(spec), i, values.a[i], values.b[i], values.c[i], values.condition[i], values.mask[i],
                         got[i], want[i]);
  return {};
}

}  // namespace situ::test
