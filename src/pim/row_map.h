// Which rows of a device are free: one bitmap, and bounds by which a search passes over what cannot have room.
//
// Word (w, s) holds the rows 64 w .. 64 w + 63 of subarray s; a one is a free row. The words of a row block w lie side
// by side, so that both directions are stretches of memory or shifts of a word:
//
//     row block 0:  s0 s1 s2 ... s127      AND over neighbours: rows that are free in all of them
//     row block 1:  s0 s1 s2 ... s127      shifts within a word, and into the one below: runs of rows
//
// Leidel, Wang and Chen (MCHPC 2017, section 4.2) keep two vectors of exact lengths, whose update is a scan of the
// whole row and column with each call. Here both are upper bounds: an allocation leaves them as they are, a search that
// fails by a bound tightens it, and a release raises it.
//
//     longest_[s]            at least the longest run of free rows in subarray s
//     widest_[scope][c][w]   at least the widest block, of 2^c rows or more, that begins in row block w of the scope
//
// A scope is a bank, or all banks as one (the last scope, of devices whose blocks may lie across banks).
//
// Invariants: longest_[s] and widest_ are never too small. free_rows_[s] and the banks' counts are exact.
//
// Thread-safety: the caller holds the locks of the banks of the scope or the block; free_of reads without.
#pragma once

#include <situ/pim/geometry.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace situ::pim::detail {

class row_map {
 public:
  // The first row of the first subarray of a block, or none. Returned in a register.
  struct place {
    std::uint32_t subarray = ~std::uint32_t{0};
    std::uint32_t row = 0;
    [[nodiscard]] bool is_none() const noexcept { return subarray == ~std::uint32_t{0}; }
  };

  // All rows are free. pre: check(shape) has passed. cost: writes the bitmap, a bit for each granule.
  row_map(const geometry& shape, bool is_across_banks);

  // Takes a rectangle of free rows in a scope: a bank, or all_banks(). The first one by row and then by subarray, if
  // the device has at most 64 rows. Else the first one in the order of row blocks, in each by row and then by subarray;
  // for one subarray, in the shortest run of rows that is long enough; for several subarrays and more than 64 rows, the
  // first by subarray and then by row. Returns none if there is no such rectangle. pre: subarrays and rows are at least
  // 1. cost: at most a look at each word of the scope; some 100 ns if the bounds are tight.
  place take_in(std::uint32_t scope, std::uint32_t subarrays, std::uint32_t rows);
  // Takes the first free rows of just these subarrays.
  place take_beside(std::uint32_t subarray, std::uint32_t subarrays, std::uint32_t rows);
  // Makes a block's rows free. pre: none of them is.
  void release(const block& of);

  // The scope of blocks that may lie across banks.
  [[nodiscard]] std::uint32_t all_banks() const noexcept { return shape_.banks; }
  [[nodiscard]] bool is_free(std::uint32_t subarray, std::uint32_t row) const noexcept {
    return (word(row / 64, subarray) >> (row % 64) & 1) != 0;
  }
  // Returns the free granules of a bank. Without the bank's lock it is a count of a moment.
  [[nodiscard]] std::uint32_t free_of(std::uint32_t bank) const noexcept {
    return free_[bank].granules.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const geometry& shape() const noexcept { return shape_; }
  // Returns whether all bounds are large enough, and all counts right: for tests. cost: looks at each granule.
  [[nodiscard]] bool is_consistent() const;

 private:
  // Classes of heights: 2^0 .. 2^6 rows.
  static constexpr std::uint32_t classes = 7;
  struct alignas(64) count {
    std::atomic<std::uint32_t> granules{0};
  };
  struct range {
    std::uint32_t from, to;  // subarrays
  };

  [[nodiscard]] std::uint64_t word(std::uint32_t w, std::uint32_t s) const noexcept {
    return words_[std::size_t{w} * all_ + s];
  }
  [[nodiscard]] range range_of(std::uint32_t scope) const noexcept;
  // The bounds of a scope's row blocks, for blocks of this class.
  [[nodiscard]] std::uint16_t* widest(std::uint32_t scope, std::uint32_t height_class) noexcept {
    return &widest_[(std::size_t{scope} * classes + height_class) * blocks_];
  }
  place find_flat(std::uint32_t scope, std::uint32_t subarrays, std::uint32_t rows);
  place find_in_block(std::uint32_t w, range in, std::uint32_t subarrays, std::uint32_t rows) const;
  place find_wide(std::uint32_t w, range in, std::uint32_t subarrays, std::uint32_t rows) const;
  place find_column(range in, std::uint32_t rows);
  place find_tall(range in, std::uint32_t subarrays, std::uint32_t rows) const;
  template <class Word, class Use>
  void each_run(Word word_at, Use use) const;
  std::optional<std::uint32_t> first_run_of(std::uint32_t s, std::uint32_t subarrays, std::uint32_t rows) const;

  void take(block taken, std::uint32_t scope);
  template <class Change>
  void change(block of, Change change_word);
  void count_free(const block& of, bool is_free);
  void count_bank(std::uint32_t bank, std::uint32_t granules, bool is_free);
  void raise_bounds(const block& of);
  [[nodiscard]] std::uint32_t run_around(std::uint32_t s, std::uint32_t row, std::uint32_t rows) const noexcept;

  geometry shape_;
  std::uint32_t all_;     // subarrays of all banks
  std::uint32_t blocks_;  // row blocks: words of a subarray
  bool is_across_banks_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint16_t> longest_;
  std::vector<std::uint16_t> free_rows_;
  std::vector<std::uint16_t> widest_;
  std::unique_ptr<count[]> free_;
};

}  // namespace situ::pim::detail
