#include <algorithm>
#include <deque>

#include "pim/majority_programs.h"

namespace situ::pim {

// Signed: the highest bits count negative, so they change their sides.
void write_greater(row_gates& gates, row_name s, const bit_rows& a, const bit_rows& b, bool is_signed, bool or_equal) {
  gates.start_greater(or_equal);
  for (std::size_t k = 0; k < a.size(); ++k) {
    const bool swaps = is_signed && k + 1 == a.size();
    gates.greater(swaps ? b[k] : a[k], swaps ? a[k] : b[k]);
  }
  gates.end_greater(s);
}

// One addition for each bit j of b: a and b[j], shifted by j. Signed and of twice the width, by Baugh and Wooley: the
// products of one highest bit and a lower one are inverted, and ones are added in the columns n and 2n - 1.
void write_multiply(row_gates& gates, const bit_rows& d, const bit_rows& a, const bit_rows& b, bool is_signed) {
  const std::size_t n = a.size();
  const bool wide = d.size() > n;
  const bool corrects = wide && is_signed && n > 1;
  const auto product = [&](std::size_t k, std::size_t j) {
    return corrects && (k + 1 == n) != (j + 1 == n) ? micro_op::logic_nand : micro_op::logic_and;
  };
  for (std::size_t k = 0; k < n; ++k) gates.logic(product(k, 0), d[k], b[0], a[k]);
  if (wide) gates.copy(d[n], corrects ? own_row::one : own_row::zero);
  for (std::size_t j = 1; j < n; ++j) {
    const std::size_t last = wide ? n : n - j;
    gates.start_add();
    for (std::size_t k = 0; k < last; ++k)
      gates.add_product(product(k, j), d[j + k], d[j + k], b[j], a[k], wide || k + 1 < last);
    if (wide) gates.end_add(d[j + n]);
  }
  if (corrects) gates.invert(d[2 * n - 1], d[2 * n - 1]);
}

void write_multiply_add(row_gates& gates, const bit_rows& d, const bit_rows& a, const bit_rows& b, const bit_rows& c) {
  const std::size_t n = a.size();
  for (std::size_t j = 0; j < n; ++j) {
    gates.start_add();
    for (std::size_t k = 0; k + j < n; ++k)
      gates.add_product(micro_op::logic_and, d[j + k], j == 0 ? c[k] : d[j + k], b[j], a[k], j + k + 1 < n);
  }
}

// Digits of 1, 0 and -1, of which no two neighbours are both something: no form of the factor has fewer.
void write_scaled(row_gates& gates, const bit_rows& d, const bit_rows& a, std::uint64_t factor, const bit_rows& c) {
  const std::size_t n = d.size();
  const auto is_zero = [&](const row_name& row) { return row == row_name{own_row::zero}; };
  const bool from_zero = std::all_of(c.begin(), c.end(), is_zero);
  bool first = true;
  for (std::size_t j = 0; j < n && factor != 0; ++j, factor >>= 1) {
    if ((factor & 1) == 0) continue;
    const bool negative = (factor & 3) == 3 && j + 1 < n;
    const bit_rows& sum = first ? c : d;
    for (std::size_t k = 0; first && k < j; ++k) gates.copy(d[k], c[k]);
    if (!(first && from_zero && !negative)) negative ? gates.start_subtract() : gates.start_add();
    for (std::size_t k = j; k < n; ++k) {
      const bool keeps_carry = k + 1 < n;
      if (negative)
        gates.subtract(d[k], sum[k], a[k - j], keeps_carry);
      else if (first && from_zero)
        gates.copy(d[k], a[k - j]);
      else
        gates.add(d[k], sum[k], a[k - j], keeps_carry);
    }
    first = false;
    if (negative) ++factor;  // -1 here needs 1 more from the next digit on; beyond the highest one, nothing
  }
  for (std::size_t k = 0; first && k < n; ++k) gates.copy(d[k], c[k]);
}

// Rows of one weight are added three by three, and two by two at last; the carries have the next weight.
void write_popcount(row_gates& gates, const bit_rows& d, const bit_rows& a) {
  std::deque<row_name> rows{a.begin(), a.end()};
  const auto take = [&] {
    const row_name row = rows.front();
    rows.pop_front();
    return row;
  };
  const auto give = [&](const row_name& row) {
    const bool temporary = row.operand == row_name::scratch && std::find(d.begin(), d.end(), row) == d.end();
    if (temporary) gates.scratch().give(row);
  };
  for (std::size_t weight = 0; weight < d.size(); ++weight) {
    std::deque<row_name> carries;
    while (rows.size() > 1) {
      const bool last = rows.size() <= 3;
      const row_name x = take();
      const row_name y = take();
      const row_name z = rows.empty() ? row_name{own_row::zero} : take();
      const bool carry_is_result = last && carries.empty() && weight + 1 < d.size();
      const row_name carry = carry_is_result ? d[weight + 1] : gates.scratch().take();
      const row_name sum = last ? d[weight] : gates.scratch().take();
      gates.full_add(sum, carry, x, y, z);
      for (const row_name& row : {x, y, z}) give(row);
      if (!last) rows.push_back(sum);
      carries.push_back(carry);
      if (last) rows.assign(1, sum);
    }
    if (rows.empty()) gates.copy(d[weight], own_row::zero);
    if (!rows.empty() && rows.front() != d[weight]) gates.copy(d[weight], rows.front());
    for (const row_name& row : rows) give(row);
    rows = carries;
  }
  for (const row_name& row : rows) give(row);
}

}  // namespace situ::pim
