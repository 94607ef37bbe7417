#include "pim/host_model.h"

#include <algorithm>
#include <bit>
#include <random>

#include "pim/cell_storage.h"
#include "pim/programs.h"

namespace situ::test {
namespace {

using pim::operand_role;
using pim::operation;

std::uint64_t low(std::uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::int64_t as_signed(std::uint64_t value, unsigned bits) {
  const unsigned unused = 64 - bits;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

bool is_less(const pim::operation_spec& spec, std::uint64_t x, std::uint64_t y) {
  return spec.is_signed ? as_signed(x, spec.bits) < as_signed(y, spec.bits) : x < y;
}

std::uint64_t product(const pim::operation_spec& spec, std::uint64_t x, std::uint64_t y) {
  if (!spec.wide || !spec.is_signed) return x * y;
  return static_cast<std::uint64_t>(as_signed(x, spec.bits) * as_signed(y, spec.bits));
}

std::uint64_t shifted_right(const pim::operation_spec& spec, std::uint64_t x) {
  const std::uint64_t by = *spec.scalar;
  if (!spec.is_signed) return by >= spec.bits ? 0 : x >> by;
  return static_cast<std::uint64_t>(as_signed(x, spec.bits) >> std::min<std::uint64_t>(by, spec.bits - 1));
}

std::uint64_t element(const pim::operation_spec& spec, std::uint64_t a, std::uint64_t b, std::uint64_t c, bool flag) {
  switch (spec.what) {
    case operation::copy: return a;
    case operation::invert: return ~a;
    case operation::logic_and: return a & b;
    case operation::logic_or: return a | b;
    case operation::logic_nand: return ~(a & b);
    case operation::logic_nor: return ~(a | b);
    case operation::logic_xor: return a ^ b;
    case operation::logic_xnor: return ~(a ^ b);
    case operation::add: return a + b;
    case operation::subtract: return a - b;
    case operation::multiply: return product(spec, a, b);
    case operation::multiply_add: return a * b + c;
    case operation::equal: return a == b;
    case operation::not_equal: return a != b;
    case operation::less: return is_less(spec, a, b);
    case operation::less_equal: return !is_less(spec, b, a);
    case operation::greater: return is_less(spec, b, a);
    case operation::greater_equal: return !is_less(spec, a, b);
    case operation::select: return flag ? a : b;
    case operation::minimum: return is_less(spec, b, a) ? b : a;
    case operation::maximum: return is_less(spec, a, b) ? b : a;
    case operation::absolute: return spec.is_signed && as_signed(a, spec.bits) < 0 ? 0 - a : a;
    case operation::popcount: return static_cast<unsigned>(std::popcount(a));
    case operation::shift_left: return *spec.scalar >= spec.bits ? 0 : a << *spec.scalar;
    case operation::shift_right: return shifted_right(spec, a);
    case operation::broadcast: return *spec.scalar;
    default: return 0;
  }
}

bool is_comparison(operation what) { return what >= operation::equal && what <= operation::greater_equal; }

bool applies(const pim::operation_spec& spec, const pim_values& values, std::size_t i) {
  return spec.mask == pim::mask_use::none || (values.mask[i] != 0) == (spec.mask == pim::mask_use::when_true);
}

const std::vector<std::uint64_t>& values_of(const pim_values& values, operand_role role) {
  switch (role) {
    case operand_role::a: return values.a;
    case operand_role::b: return values.b;
    case operand_role::c: return values.c;
    case operand_role::condition: return values.condition;
    case operand_role::mask: return values.mask;
    default: return values.before;
  }
}

// The blocks of one program, below each other.
class stacked_blocks {
 public:
  stacked_blocks(const pim::operation_spec& spec, const pim_values& values, std::uint32_t columns,
                 std::uint16_t scratch_rows)
      : spec_{spec}, vertical_{spec.direction == pim::dimension::vertical} {
    const std::size_t in_row = vertical_ ? columns : columns / spec.bits;
    subarrays_ = static_cast<std::uint32_t>((values.a.size() + in_row - 1) / in_row);
    std::uint32_t row = 3;
    for (const pim::operand_need& need : needs_) {
      blocks_.push_back({1, row, subarrays_, need.rows});
      row += need.rows + 1;
    }
    scratch_ = {1, row, subarrays_, std::max<std::uint32_t>(scratch_rows, 1)};
    shape_ = {.rows = row + scratch_.rows + 1, .columns = columns, .subarrays = subarrays_ + 2, .banks = 1};
  }

  [[nodiscard]] const pim::geometry& shape() const { return shape_; }
  [[nodiscard]] pim::bound_blocks bound() const { return {blocks_, scratch_}; }

  void fill(pim::cell_storage& cells, const pim_values& values) const {
    for (std::size_t k = 0; k < needs_.size(); ++k) {
      if (needs_[k].role == operand_role::pattern) {
        pim::write_patterns(cells, blocks_[k], spec_.bits);
        continue;
      }
      std::vector<std::uint64_t> written = values_of(values, needs_[k].role);
      if (!vertical_ && is_flag(needs_[k].role))
        for (std::uint64_t& flag : written) flag = flag != 0 ? ~std::uint64_t{0} : 0;
      cells.write(blocks_[k], spec_.direction, width_of(needs_[k]), 0, written);
    }
  }

  [[nodiscard]] std::vector<std::uint64_t> result(const pim::cell_storage& cells, std::size_t elements) const {
    std::vector<std::uint64_t> read(elements);
    for (std::size_t k = 0; k < needs_.size(); ++k)
      if (needs_[k].role == operand_role::result) cells.read(blocks_[k], spec_.direction, width_of(needs_[k]), 0, read);
    return read;
  }

 private:
  static bool is_flag(operand_role role) { return role == operand_role::condition || role == operand_role::mask; }
  [[nodiscard]] unsigned width_of(const pim::operand_need& need) const { return vertical_ ? need.rows : spec_.bits; }

  pim::operation_spec spec_;
  bool vertical_;
  std::vector<pim::operand_need> needs_ = pim::operands_of(spec_);
  std::uint32_t subarrays_ = 0;
  std::vector<pim::block> blocks_;
  pim::block scratch_;
  pim::geometry shape_;
};

}  // namespace

std::vector<std::uint64_t> by_host(const pim::operation_spec& spec, const pim_values& values) {
  std::vector<std::uint64_t> results;
  std::uint64_t sum = 0;
  const bool flags_fill = is_comparison(spec.what) && spec.direction == pim::dimension::horizontal;
  const unsigned bits = pim::result_bits(spec);
  for (std::size_t i = 0; i < values.a.size(); ++i) {
    const bool written = applies(spec, values, i);
    if (spec.what == operation::reduce_sum) {
      if (written) sum += spec.is_signed ? static_cast<std::uint64_t>(as_signed(values.a[i], spec.bits)) : values.a[i];
      continue;
    }
    const std::uint64_t b = spec.scalar ? low(*spec.scalar, spec.bits) : values.b[i];
    std::uint64_t made = element(spec, values.a[i], b, values.c[i], values.condition[i] != 0);
    if (flags_fill && made != 0) made = ~std::uint64_t{0};
    results.push_back(low(written ? made : values.before[i], bits));
  }
  if (spec.what == operation::reduce_sum) results.push_back(sum);
  return results;
}

std::vector<std::uint64_t> by_device(pim::executor& with, machine::pim_design design, const pim::operation_spec& spec,
                                     const pim_values& values, std::uint32_t columns, pim::command_counts* counts) {
  const pim::micro_program program = pim::make_program(design, spec);
  const stacked_blocks blocks{spec, values, columns, program.scratch_rows};
  pim::cell_storage cells{blocks.shape()};
  blocks.fill(cells, values);
  const pim::execution done = with.run(cells, program, blocks.bound());
  if (counts != nullptr) *counts = done.counts;
  if (spec.what == operation::reduce_sum) return {pim::weighted_sum(spec, done.ones)};
  return blocks.result(cells, values.a.size());
}

pim_values random_values(unsigned bits, std::size_t elements, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  const std::uint64_t edges[] = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << (bits - 1),
                                 (std::uint64_t{1} << (bits - 1)) - 1};
  const auto value = [&] { return low(random() % 4 == 0 ? edges[random() % std::size(edges)] : random(), bits); };
  pim_values made;
  for (std::size_t i = 0; i < elements; ++i) {
    made.a.push_back(value());
    made.b.push_back(random() % 8 == 0 ? made.a.back() : value());
    made.c.push_back(value());
    made.condition.push_back(random() & 1);
    made.mask.push_back(random() & 1);
    made.before.push_back(random());
  }
  return made;
}

pim_values all_pairs() {
  pim_values made = random_values(8, 65536, 8);
  for (std::uint64_t i = 0; i < 65536; ++i) {
    made.a[i] = i & 0xff;
    made.b[i] = i >> 8;
  }
  return made;
}

}  // namespace situ::test
