#include "pim/row_map.h"

#include <algorithm>
#include <bit>

namespace situ::pim::detail {

row_map::row_map(const geometry& shape, bool is_across_banks)
    : shape_{shape},
      all_{shape.all_subarrays()},
      blocks_{(shape.rows + 63) / 64},
      is_across_banks_{is_across_banks},
      words_(std::size_t{blocks_} * all_, ~std::uint64_t{0}),
      longest_(all_, static_cast<std::uint16_t>(shape.rows)),
      free_rows_(all_, static_cast<std::uint16_t>(shape.rows)),
      widest_(std::size_t{shape.banks + 1} * classes * blocks_),
      free_{std::make_unique<count[]>(shape.banks)} {
  const std::uint32_t last_rows = shape.rows - (blocks_ - 1) * 64;
  std::fill(words_.end() - all_, words_.end(), ~std::uint64_t{0} >> (64 - last_rows));
  for (std::uint32_t scope = 0; scope <= shape.banks; ++scope) {
    const range in = range_of(scope);
    std::fill_n(widest(scope, 0), std::size_t{classes} * blocks_, static_cast<std::uint16_t>(in.to - in.from));
  }
  for (std::uint32_t b = 0; b < shape.banks; ++b) free_[b].granules = shape.subarrays * shape.rows;
}

row_map::range row_map::range_of(std::uint32_t scope) const noexcept {
  if (scope == shape_.banks) return {0, all_};
  return {scope * shape_.subarrays, (scope + 1) * shape_.subarrays};
}

// --- changes ---

template <class Change>
void row_map::change(block of, Change change_word) {
  const std::uint32_t first = of.row / 64;
  const std::uint32_t last = (of.row + of.rows - 1) / 64;
  std::uint64_t* words = &words_[std::size_t{first} * all_ + of.subarray];
  for (std::uint32_t w = first; w <= last; ++w, words += all_) {
    std::uint64_t mask = ~std::uint64_t{0};
    if (w == first) mask &= ~std::uint64_t{0} << of.row % 64;
    if (w == last) mask &= ~std::uint64_t{0} >> (63 - (of.row + of.rows - 1) % 64);
    if (of.subarrays == 1)
      change_word(*words, mask);
    else
      for (std::uint32_t i = 0; i < of.subarrays; ++i) change_word(words[i], mask);
  }
}

void row_map::count_bank(std::uint32_t bank, std::uint32_t granules, bool is_free) {
  // Relaxed, and no atomic addition: the bank's lock orders the changes, and a reader without it wants a hint.
  std::atomic<std::uint32_t>& count = free_[bank].granules;
  const std::uint32_t before = count.load(std::memory_order_relaxed);
  count.store(is_free ? before + granules : before - granules, std::memory_order_relaxed);
}

void row_map::count_free(const block& of, bool is_free) {
  for (std::uint32_t s = of.subarray; s < of.subarray + of.subarrays;) {
    const std::uint32_t bank = s / shape_.subarrays;
    const std::uint32_t end = std::min((bank + 1) * shape_.subarrays, of.subarray + of.subarrays);
    count_bank(bank, (end - s) * of.rows, is_free);
    s = end;
  }
}

void row_map::take(block taken, std::uint32_t scope) {
  change(taken, [](std::uint64_t& word, std::uint64_t mask) { word &= ~mask; });
  for (std::uint32_t s = taken.subarray; s < taken.subarray + taken.subarrays; ++s) {
    free_rows_[s] = static_cast<std::uint16_t>(free_rows_[s] - taken.rows);
    longest_[s] = std::min(longest_[s], free_rows_[s]);
  }
  if (scope == all_banks())
    count_free(taken, false);
  else
    count_bank(scope, taken.subarrays * taken.rows, false);
}

void row_map::release(const block& of) {
  change(of, [](std::uint64_t& word, std::uint64_t mask) { word |= mask; });
  for (std::uint32_t s = of.subarray; s < of.subarray + of.subarrays; ++s)
    free_rows_[s] = static_cast<std::uint16_t>(free_rows_[s] + of.rows);
  count_free(of, true);
  raise_bounds(of);
}

void row_map::raise_bounds(const block& of) {
  for (std::uint32_t s = of.subarray; s < of.subarray + of.subarrays; ++s) {
    longest_[s] = std::max(longest_[s], static_cast<std::uint16_t>(run_around(s, of.row, of.rows)));
  }
  // A block of up to 64 rows that begins in the row block before may end in the released rows.
  const std::uint32_t first = of.row < 64 ? 0 : of.row / 64 - 1;
  const std::uint32_t last = (of.row + of.rows - 1) / 64;
  const std::uint32_t last_bank = (of.subarray + of.subarrays - 1) / shape_.subarrays;
  for (std::uint32_t bank = of.subarray / shape_.subarrays; bank <= last_bank; ++bank)
    for (std::uint32_t w = first; w <= last; ++w)
      for (std::uint32_t c = 0; c < classes; ++c)
        widest(bank, 0)[std::size_t{c} * blocks_ + w] = static_cast<std::uint16_t>(shape_.subarrays);
  if (!is_across_banks_) return;
  // Releases in other banks write the same words with the same value, and a search holds all banks' locks.
  for (std::uint32_t c = 0; c < classes; ++c)
    for (std::uint32_t w = first; w <= last; ++w)
      std::atomic_ref{widest(all_banks(), c)[w]}.store(static_cast<std::uint16_t>(all_), std::memory_order_relaxed);
}

// Returns at least the length of the run that has these free rows: exactly, if it ends within the words of the row
// before and of the row behind.
std::uint32_t row_map::run_around(std::uint32_t s, std::uint32_t row, std::uint32_t rows) const noexcept {
  std::uint32_t run = rows;
  if (row > 0) {
    const std::uint32_t bits = (row - 1) % 64 + 1;  // the rows before, in their word
    const auto ones = static_cast<std::uint32_t>(std::countl_one(word((row - 1) / 64, s) << (64 - bits)));
    if (ones >= bits && bits < row) return free_rows_[s];
    run += std::min(ones, bits);
  }
  const std::uint32_t end = row + rows;
  if (end < shape_.rows) {
    const std::uint32_t bits = std::min(64 - end % 64, shape_.rows - end);
    const auto ones = static_cast<std::uint32_t>(std::countr_one(word(end / 64, s) >> (end % 64)));
    if (ones >= bits && bits < shape_.rows - end) return free_rows_[s];
    run += std::min(ones, bits);
  }
  return run;
}

}  // namespace situ::pim::detail
