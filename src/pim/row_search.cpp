// The searches of row_map: flat blocks by row blocks, others by subarray.
#include "pim/row_map.h"

#include <algorithm>
#include <bit>

namespace situ::pim::detail {
namespace {

// Words of neighbouring subarrays that one step of a flat search works on: half a kilobyte of the stack, twice.
constexpr std::uint32_t step_words = 64;
// From so many subarrays on, or with so few places for a block, neighbours are AND-ed before their runs are looked for.
constexpr std::uint32_t wide_from = 33;
constexpr std::uint32_t few_places = 4;

// Returns the rows of `low` where `rows` ones begin, the last of which may lie in `high`. rows: 1 .. 64.
std::uint64_t runs_of(std::uint64_t low, std::uint64_t high, std::uint32_t rows) noexcept {
  for (std::uint32_t have = 1; have < rows && low != 0;) {
    const std::uint32_t more = std::min(have, rows - have);
    low &= low >> more | high << (64 - more);
    high &= high >> more;
    have += more;
  }
  return low;
}

// Finds the runs of neighbouring words in the same way, in place.
void find_runs(std::uint64_t* low, std::uint64_t* high, std::uint32_t count, std::uint32_t rows) noexcept {
  for (std::uint32_t have = 1; have < rows;) {
    const std::uint32_t more = std::min(have, rows - have);
    for (std::uint32_t i = 0; i < count; ++i) {
      low[i] &= low[i] >> more | high[i] << (64 - more);
      high[i] &= high[i] >> more;
    }
    have += more;
  }
}

// ANDs each word with its next width - 1 neighbours, in place; the last width - 1 words are left without meaning.
void and_neighbours(std::uint64_t* words, std::uint32_t count, std::uint32_t width) noexcept {
  for (std::uint32_t have = 1; have < width;) {
    const std::uint32_t more = std::min(have, width - have);
    for (std::uint32_t i = 0; i + more < count; ++i) words[i] &= words[i + more];
    have += more;
  }
}

std::uint64_t and_all(const std::uint64_t* words, std::uint32_t count) noexcept {
  std::uint64_t all = ~std::uint64_t{0};
  for (std::uint32_t i = 0; i < count; ++i) all &= words[i];
  return all;
}

}  // namespace

row_map::place row_map::take_in(std::uint32_t scope, std::uint32_t subarrays, std::uint32_t rows) {
  const range in = range_of(scope);
  if (subarrays > in.to - in.from || rows > shape_.rows) return {};
  const bool is_flat = rows <= 64 && (subarrays > 1 || blocks_ == 1);
  const place found = is_flat          ? find_flat(scope, subarrays, rows)
                      : subarrays == 1 ? find_column(in, rows)
                                       : find_tall(in, subarrays, rows);
  if (!found.is_none()) take({found.subarray, found.row, subarrays, rows}, scope);
  return found;
}

row_map::place row_map::take_beside(std::uint32_t subarray, std::uint32_t subarrays, std::uint32_t rows) {
  const std::optional<std::uint32_t> row = first_run_of(subarray, subarrays, rows);
  if (!row) return {};
  take({subarray, *row, subarrays, rows}, all_banks());
  return {subarray, *row};
}

// --- flat blocks: up to 64 rows ---

row_map::place row_map::find_flat(std::uint32_t scope, std::uint32_t subarrays, std::uint32_t rows) {
  const range in = range_of(scope);
  const std::uint32_t places = in.to - in.from - subarrays + 1;
  const bool is_wide = subarrays >= wide_from || places <= few_places;
  const auto class_below = static_cast<std::uint32_t>(std::bit_width(rows) - 1);
  const auto class_above = static_cast<std::uint32_t>(std::bit_width(rows - 1));
  const std::uint16_t* const bounds = widest(scope, class_below);
  for (std::uint32_t w = 0; w < blocks_; ++w) {
    if (bounds[w] < subarrays) continue;
    const place found = is_wide ? find_wide(w, in, subarrays, rows) : find_in_block(w, in, subarrays, rows);
    if (!found.is_none()) return found;
    for (std::uint32_t c = class_above; c < classes; ++c) {
      std::uint16_t& bound = widest(scope, c)[w];
      bound = std::min(bound, static_cast<std::uint16_t>(subarrays - 1));
    }
  }
  return {};
}

// The first row of the row block, and of that the first subarray: runs of all subarrays first, then neighbours.
row_map::place row_map::find_in_block(std::uint32_t w, range in, std::uint32_t subarrays, std::uint32_t rows) const {
  place best;
  for (std::uint32_t s = in.from; s + subarrays <= in.to; s += step_words - subarrays + 1) {
    std::uint64_t low[step_words];
    std::uint64_t high[step_words];
    const std::uint32_t count = std::min(step_words, in.to - s);
    std::copy_n(&words_[std::size_t{w} * all_ + s], count, low);
    if (rows > 1) {
      if (w + 1 < blocks_)
        std::copy_n(&words_[std::size_t{w + 1} * all_ + s], count, high);
      else
        std::fill_n(high, count, 0);
      find_runs(low, high, count, rows);
    }
    and_neighbours(low, count, subarrays);
    std::uint64_t any = 0;
    for (std::uint32_t i = 0; i + subarrays <= count; ++i) any |= low[i];
    if (any == 0) continue;
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(any));
    if (!best.is_none() && best.row <= w * 64 + bit) continue;
    std::uint32_t first = 0;
    while ((low[first] >> bit & 1) == 0) ++first;
    best = {s + first, w * 64 + bit};
  }
  return best;
}

// Searches for wide blocks: neighbours first, at each place, then runs.
row_map::place row_map::find_wide(std::uint32_t w, range in, std::uint32_t subarrays, std::uint32_t rows) const {
  const std::uint64_t* const upper = &words_[std::size_t{w} * all_];
  place best;
  for (std::uint32_t s = in.from; s + subarrays <= in.to; ++s) {
    const std::uint64_t low = and_all(upper + s, subarrays);
    if (low == 0) continue;
    // Most runs end within the word.
    std::uint64_t begins = runs_of(low, 0, rows);
    if (begins == 0 && rows > 1 && w + 1 < blocks_) begins = runs_of(low, and_all(upper + all_ + s, subarrays), rows);
    if (begins == 0) continue;
    const std::uint32_t row = w * 64 + static_cast<std::uint32_t>(std::countr_zero(begins));
    if (best.is_none() || row < best.row) best = {s, row};
  }
  return best;
}

// --- blocks of one subarray, and of many rows ---

// Calls use(begin, rows) for each run of ones over the words word_at(0), word_at(1) ..., until it returns true.
template <class Word, class Use>
void row_map::each_run(Word word_at, Use use) const {
  std::uint32_t run = 0;
  for (std::uint32_t w = 0; w < blocks_; ++w) {
    std::uint64_t left = word_at(w);
    if (left == ~std::uint64_t{0}) {
      run += 64;
      continue;
    }
    for (std::uint32_t at = 0;;) {
      const auto ones = static_cast<std::uint32_t>(std::countr_one(left));
      run += ones;
      at += ones;
      if (at == 64) break;
      if (run > 0 && use(w * 64 + at - run, run)) return;
      run = 0;
      left >>= ones;
      if (left == 0) break;
      const auto zeros = static_cast<std::uint32_t>(std::countr_zero(left));
      at += zeros;
      left >>= zeros;
    }
  }
  if (run > 0) use(blocks_ * 64 - run, run);
}

std::optional<std::uint32_t> row_map::first_run_of(std::uint32_t s, std::uint32_t subarrays, std::uint32_t rows) const {
  std::optional<std::uint32_t> found;
  each_run([&](std::uint32_t w) { return and_all(&words_[std::size_t{w} * all_ + s], subarrays); },
           [&](std::uint32_t begin, std::uint32_t run) {
             if (run >= rows) found = begin;
             return found.has_value();
           });
  return found;
}

// The shortest run that is long enough, and of those the first: vectors have few heights, so that a hole which one has
// left fits another. (First fit refuses twice as many vectors at 90 %.)
row_map::place row_map::find_column(range in, std::uint32_t rows) {
  place best;
  std::uint32_t best_run = ~std::uint32_t{0};
  for (std::uint32_t s = in.from; s < in.to && best_run > rows; ++s) {
    if (longest_[s] < rows) continue;
    if (free_rows_[s] == shape_.rows) {
      if (shape_.rows < best_run) {
        best = {s, 0};
        best_run = shape_.rows;
      }
      continue;
    }
    std::uint32_t longest = 0;
    each_run([&](std::uint32_t w) { return word(w, s); },
             [&](std::uint32_t begin, std::uint32_t run) {
               longest = std::max(longest, run);
               if (run < rows || run >= best_run) return false;
               best = {s, begin};
               best_run = run;
               return run == rows;
             });
    if (best_run > rows) longest_[s] = static_cast<std::uint16_t>(longest);
  }
  return best;
}

row_map::place row_map::find_tall(range in, std::uint32_t subarrays, std::uint32_t rows) const {
  for (std::uint32_t s = in.from; s + subarrays <= in.to;) {
    // The last subarray that has no such run: no block has it, so the next one that may be begins behind it.
    std::uint32_t fits = subarrays;
    while (fits > 0 && longest_[s + fits - 1] >= rows) --fits;
    if (fits > 0) {
      s += fits;
      continue;
    }
    if (const std::optional<std::uint32_t> row = first_run_of(s, subarrays, rows)) return {s, *row};
    ++s;
  }
  return {};
}

// --- for tests ---

bool row_map::is_consistent() const {
  for (std::uint32_t s = 0; s < all_; ++s) {
    std::uint32_t longest = 0;
    std::uint32_t free = 0;
    each_run([&](std::uint32_t w) { return word(w, s); },
             [&](std::uint32_t, std::uint32_t run) {
               longest = std::max(longest, run);
               return false;
             });
    for (std::uint32_t row = 0; row < shape_.rows; ++row) free += is_free(s, row) ? 1 : 0;
    if (longest > longest_[s] || free != free_rows_[s]) return false;
  }
  for (std::uint32_t scope = 0; scope < shape_.banks + (is_across_banks_ ? 1 : 0); ++scope)
    for (std::uint32_t w = 0; w < blocks_; ++w)
      for (std::uint32_t c = 0; c < classes; ++c) {
        const std::uint32_t bound = widest_[(std::size_t{scope} * classes + c) * blocks_ + w];
        const range in = range_of(scope);
        if (bound < in.to - in.from && !find_wide(w, in, bound + 1, std::uint32_t{1} << c).is_none()) return false;
      }
  for (std::uint32_t bank = 0; bank < shape_.banks; ++bank) {
    std::uint32_t free = 0;
    for (std::uint32_t s = range_of(bank).from; s < range_of(bank).to; ++s) free += free_rows_[s];
    if (free != free_of(bank)) return false;
  }
  return true;
}

}  // namespace situ::pim::detail
