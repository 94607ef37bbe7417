#include "pim/free_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace situ::pim::detail {
namespace {

// The subarrays from .. to, each with the free rows that end at the current row.
class heights {
 public:
  heights(std::uint32_t from, std::uint32_t to) : from_{from}, rows_(to - from + 1, 0) {}

  void add(const row_map& map, std::uint32_t row) {
    for (std::uint32_t i = 0; i + 1 < rows_.size(); ++i) rows_[i] = map.is_free(from_ + i, row) ? rows_[i] + 1 : 0;
  }
  // Returns the largest rectangle that ends at this row: for each height, as far as its neighbours are as high. A stack
  // holds the subarrays whose heights rise; the 0 at the end empties it.
  block largest(std::uint32_t row) {
    block best;
    rising_.clear();
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      while (!rising_.empty() && rows_[rising_.back()] >= rows_[i]) {
        const std::uint32_t high = rows_[rising_.back()];
        rising_.pop_back();
        const std::uint32_t first = rising_.empty() ? 0 : rising_.back() + 1;
        const block found{from_ + first, row + 1 - high, i - first, high};
        if (found.granules() > best.granules()) best = found;
      }
      rising_.push_back(i);
    }
    return best;
  }

 private:
  std::uint32_t from_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> rising_;
};

// The granules that a character stands for.
struct scale {
  std::uint32_t subarrays, rows;
};

constexpr std::uint32_t most_columns = 128;
constexpr std::uint32_t most_lines = 16;

// A character's subarrays lie in one bank, so a device of more banks than columns has its first banks drawn.
scale scale_of(const geometry& shape) {
  const std::uint32_t columns_a_bank = std::max(most_columns / shape.banks, 1u);
  return {(shape.subarrays + columns_a_bank - 1) / columns_a_bank, (shape.rows + most_lines - 1) / most_lines};
}

char drawn(const row_map& map, std::uint32_t subarray, std::uint32_t row, scale by) {
  const geometry& shape = map.shape();
  const std::uint32_t bank_end = (subarray / shape.subarrays + 1) * shape.subarrays;
  std::uint32_t taken = 0;
  std::uint32_t all = 0;
  for (std::uint32_t s = subarray; s < std::min(subarray + by.subarrays, bank_end); ++s)
    for (std::uint32_t r = row; r < std::min(row + by.rows, shape.rows); ++r) {
      ++all;
      taken += map.is_free(s, r) ? 0 : 1;
    }
  if (taken == 0) return '.';
  if (taken == all) return '#';
  return static_cast<char>('0' + std::clamp<std::uint64_t>(std::uint64_t{taken} * 10 / all, 1, 9));
}

std::string headline(const geometry& shape, scale by, std::uint32_t banks) {
  std::string text = fmt::format("{} rows down, {} banks of {} subarrays across; # taken, . free", shape.rows,
                                 shape.banks, shape.subarrays);
  if (by.subarrays > 1 || by.rows > 1)
    text += fmt::format("; a character is {} x {}, a digit the tenths taken", by.subarrays, by.rows);
  if (banks < shape.banks) text += fmt::format("; the first {} banks", banks);
  return text + '\n';
}

}  // namespace

block largest_free(const row_map& map, bool is_across_banks) {
  const geometry& shape = map.shape();
  const std::uint32_t width = is_across_banks ? shape.all_subarrays() : shape.subarrays;
  block best;
  for (std::uint32_t from = 0; from < shape.all_subarrays(); from += width) {
    heights of{from, from + width};
    for (std::uint32_t row = 0; row < shape.rows; ++row) {
      of.add(map, row);
      const block found = of.largest(row);
      if (found.granules() > best.granules()) best = found;
    }
  }
  return best;
}

std::string draw(const row_map& map) {
  const geometry& shape = map.shape();
  const scale by = scale_of(shape);
  const std::uint32_t banks = std::min(shape.banks, most_columns);
  std::string text = headline(shape, by, banks);
  for (std::uint32_t row = 0; row < shape.rows; row += by.rows) {
    for (std::uint32_t bank = 0; bank < banks; ++bank) {
      if (bank > 0) text += '|';
      for (std::uint32_t s = 0; s < shape.subarrays; s += by.subarrays)
        text += drawn(map, bank * shape.subarrays + s, row, by);
    }
    text += '\n';
  }
  return text;
}

}  // namespace situ::pim::detail
