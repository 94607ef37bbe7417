#include "pim/majority_programs.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "pim/programs.h"

namespace situ::pim {
namespace {

using machine::pim_design;

constexpr row_name zero{own_row::zero};
constexpr row_name one{own_row::one};

bool is_logic(operation what) { return what >= operation::logic_and && what <= operation::logic_xnor; }

micro_op gate_of(operation what) {
  constexpr auto first = static_cast<int>(micro_op::logic_and) - static_cast<int>(operation::logic_and);
  static_assert(static_cast<int>(operation::logic_xnor) + first == static_cast<int>(micro_op::logic_xnor));
  return static_cast<micro_op>(static_cast<int>(what) + first);
}

bit_rows bits_of(std::uint64_t value, unsigned bits) {
  bit_rows rows;
  for (unsigned k = 0; k < bits; ++k) rows.push_back((value >> k & 1) != 0 ? one : zero);
  return rows;
}

// Makes one program.
class program_maker {
 public:
  program_maker(pim_design design, const operation_spec& spec) : spec_{spec} {
    program_.name = text(spec);
    if (design == pim_design::ambit)
      gates_ = std::make_unique<ambit_gates>(program_);
    else
      gates_ = std::make_unique<majority_gates>(program_);
    name_rows();
  }

  micro_program make() {
    if (spec_.what == operation::reduce_sum)
      write_counts();
    else if (!write_bit_by_bit())
      write_whole();
    return std::move(program_);
  }

 private:
  void name_rows() {
    for (const operand_need& need : operands_of(spec_)) {
      bit_rows rows;
      for (std::uint16_t k = 0; k < need.rows; ++k) rows.emplace_back(program_.operands, k);
      ++program_.operands;
      switch (need.role) {
        case operand_role::condition: rows_.condition = rows[0]; break;
        case operand_role::a: rows_.a = rows; break;
        case operand_role::b: rows_.b = rows; break;
        case operand_role::c: rows_.c = rows; break;
        case operand_role::result: rows_.result = rows; break;
        case operand_role::mask: rows_.mask = rows[0]; break;
        case operand_role::pattern: break;  // of operations that these designs do not have
      }
    }
    if (spec_.scalar) rows_.b = bits_of(*spec_.scalar, spec_.bits);
  }

  [[nodiscard]] bool is_masked() const { return spec_.mask != mask_use::none; }

  // d = fresh for the elements that the mask selects. pre: start_select(rows_.mask).
  void merge(row_name d, row_name fresh) {
    const bool when_true = spec_.mask == mask_use::when_true;
    gates_->select(d, when_true ? fresh : d, when_true ? d : fresh);
  }

  // d = a, under the mask if there is one.
  void put(row_name d, row_name a) { is_masked() ? merge(d, a) : gates_->copy(d, a); }

  // The operations whose bits do not depend on one another: under a mask they need one row of scratch.
  bool write_bit_by_bit() {
    const bool has_gate = spec_.what == operation::invert || is_logic(spec_.what);
    const bool moves = spec_.what == operation::copy || spec_.what == operation::broadcast ||
                       spec_.what == operation::shift_left || spec_.what == operation::shift_right;
    if (!has_gate && !moves) return false;
    if (is_masked()) gates_->start_select(rows_.mask);
    has_gate ? write_gates() : write_moves();
    if (is_masked()) gates_->end_select();
    return true;
  }

  void write_gates() {
    const row_name fresh = is_masked() ? gates_->scratch().take() : row_name{};
    for (std::size_t k = 0; k < rows_.result.size(); ++k) {
      const row_name d = is_masked() ? fresh : rows_.result[k];
      if (spec_.what == operation::invert)
        gates_->invert(d, rows_.a[k]);
      else
        gates_->logic(gate_of(spec_.what), d, rows_.a[k], rows_.b[k]);
      if (is_masked()) merge(rows_.result[k], fresh);
    }
    if (is_masked()) gates_->scratch().give(fresh);
  }

  // A result over its own operand: each row is read before it is written.
  void write_moves() {
    const std::size_t n = rows_.result.size();
    const std::uint64_t distance = spec_.scalar.value_or(0);
    const row_name filling = spec_.is_signed && !rows_.a.empty() ? rows_.a.back() : zero;
    for (std::size_t step = 0; step < n; ++step) {
      const std::size_t k = spec_.what == operation::shift_left ? n - 1 - step : step;
      row_name from;
      switch (spec_.what) {
        case operation::copy: from = rows_.a[k]; break;
        case operation::broadcast: from = rows_.b[k]; break;
        case operation::shift_left: from = k >= distance ? rows_.a[k - distance] : zero; break;
        default: from = distance < n - k ? rows_.a[k + distance] : filling; break;
      }
      put(rows_.result[k], from);
    }
  }

  // The others: under a mask, into scratch rows first.
  void write_whole() {
    bit_rows fresh = rows_.result;
    if (is_masked())
      for (row_name& row : fresh) row = gates_->scratch().take();
    write_result(fresh);
    if (!is_masked()) return;
    gates_->start_select(rows_.mask);
    for (std::size_t k = 0; k < fresh.size(); ++k) merge(rows_.result[k], fresh[k]);
    gates_->end_select();
  }

  void write_result(const bit_rows& d) {
    const bool is_signed = spec_.is_signed;
    const bit_rows& a = rows_.a;
    const bit_rows& b = rows_.b;
    switch (spec_.what) {
      case operation::add:
      case operation::subtract: return write_sum(d);
      case operation::multiply: return write_product(d);
      case operation::multiply_add:
        return spec_.scalar ? write_scaled(*gates_, d, a, factor(), rows_.c)
                            : write_multiply_add(*gates_, d, a, b, rows_.c);
      case operation::equal: return write_equal(d[0], false);
      case operation::not_equal: return write_equal(d[0], true);
      case operation::less: return write_greater(*gates_, d[0], b, a, is_signed, false);
      case operation::less_equal: return write_greater(*gates_, d[0], b, a, is_signed, true);
      case operation::greater: return write_greater(*gates_, d[0], a, b, is_signed, false);
      case operation::greater_equal: return write_greater(*gates_, d[0], a, b, is_signed, true);
      case operation::select: return write_choice(d, rows_.condition, a, b);
      case operation::minimum: return write_extreme(d, b, a);
      case operation::maximum: return write_extreme(d, a, b);
      case operation::absolute: return write_absolute(d);
      case operation::popcount: return write_popcount(*gates_, d, a);
      default: throw_error(errc::not_supported, fmt::format("pim: no program of rows for {}", program_.name));
    }
  }

  void write_sum(const bit_rows& d) {
    const bool adds = spec_.what == operation::add;
    adds ? gates_->start_add() : gates_->start_subtract();
    for (std::size_t k = 0; k < d.size(); ++k) {
      const bool keeps_carry = k + 1 < d.size();
      if (adds)
        gates_->add(d[k], rows_.a[k], rows_.b[k], keeps_carry);
      else
        gates_->subtract(d[k], rows_.a[k], rows_.b[k], keeps_carry);
    }
  }

  // Returns the factor; a product with a scalar is never wide.
  [[nodiscard]] std::uint64_t factor() const { return *spec_.scalar & (~std::uint64_t{0} >> (64 - spec_.bits)); }

  void write_product(const bit_rows& d) {
    if (!spec_.scalar) return write_multiply(*gates_, d, rows_.a, rows_.b, spec_.is_signed);
    write_scaled(*gates_, d, rows_.a, factor(), bit_rows(d.size(), zero));
  }

  void write_equal(row_name d, bool inverted) {
    gates_->start_equal(inverted);
    for (std::size_t k = 0; k < rows_.a.size(); ++k) gates_->equal(rows_.a[k], rows_.b[k]);
    gates_->end_equal(d);
  }

  void write_choice(const bit_rows& d, row_name condition, const bit_rows& a, const bit_rows& b) {
    gates_->start_select(condition);
    for (std::size_t k = 0; k < d.size(); ++k) gates_->select(d[k], a[k], b[k]);
    gates_->end_select();
  }

  // d = a if a > b in the order of maximum's operands, else b. Minimum has them the other way round.
  void write_extreme(const bit_rows& d, const bit_rows& first, const bit_rows& second) {
    const row_name chosen = gates_->scratch().take();
    write_greater(*gates_, chosen, rows_.a, rows_.b, spec_.is_signed, false);
    write_choice(d, chosen, first, second);
    gates_->scratch().give(chosen);
  }

  void write_absolute(const bit_rows& d) {
    if (spec_.is_signed) return gates_->absolute(d, rows_.a);
    for (std::size_t k = 0; k < d.size(); ++k) gates_->copy(d[k], rows_.a[k]);
  }

  // The periphery counts the ones of each row; under a mask, of the row's conjunction with it.
  void write_counts() {
    for (const row_name& row : rows_.a) {
      row_name counted = row;
      if (is_masked()) {
        counted = gates_->scratch().take();
        gates_->start_select(rows_.mask);
        const bool when_true = spec_.mask == mask_use::when_true;
        gates_->select(counted, when_true ? row : zero, when_true ? zero : row);
        gates_->end_select();
        gates_->scratch().give(counted);
      }
      program_.read(counted);
      program_.logic(micro_op::count_ones, 0);
    }
  }

  const operation_spec& spec_;
  micro_program program_;
  std::unique_ptr<row_gates> gates_;
  operation_rows rows_;
};

// Horizontal elements: what works on each column by itself, without a constant whose bits differ from column to column.
bool has_horizontal_program(const operation_spec& spec) {
  const bool by_column = spec.what == operation::copy || spec.what == operation::invert || is_logic(spec.what) ||
                         spec.what == operation::select;
  return by_column && !spec.scalar;
}

}  // namespace

micro_program make_majority_program(pim_design design, const operation_spec& spec) {
  if (spec.direction == dimension::horizontal && !has_horizontal_program(spec))
    throw_error(errc::not_supported,
                fmt::format("pim: {} has no program for {}: of horizontal elements it has copies, logic and selections "
                            "alone, without constants; lay the elements out vertically",
                            design == pim_design::ambit ? "ambit" : "simdram", text(spec)));
  return program_maker{design, spec}.make();
}

}  // namespace situ::pim
