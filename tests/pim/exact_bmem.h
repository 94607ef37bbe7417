// The allocation algorithm of Leidel, Wang and Chen (MCHPC 2017, section 4.2) as it is written: a bit for each row of
// each subarray, and two vectors of exact lengths, which each call updates. The reference of the tests, and a subject
// of the benchmark. It counts what both stages look at: equation 1 has p * q + S + R for a search whose first candidate
// fits.
#pragma once

#include <situ/pim/geometry.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace situ_pim_test {

class exact_bmem {
 public:
  struct looks {
    std::uint64_t entries = 0;   // of the contig vectors: stage 1
    std::uint64_t granules = 0;  // of the matrix: stage 2
    friend bool operator==(const looks&, const looks&) = default;
  };

  exact_bmem(std::uint32_t rows, std::uint32_t subarrays)
      : rows_{rows},
        subarrays_{subarrays},
        is_taken_(std::size_t{rows} * subarrays, false),
        subarray_contig_(rows, subarrays),
        row_contig_(subarrays, rows) {}

  // Returns the first place by row and then by subarray, and takes it.
  std::optional<situ::pim::block> allocate(std::uint32_t subarrays, std::uint32_t rows) {
    const std::lock_guard lock{mutex_};
    looked_ = {};
    for (std::uint32_t row = 0; row + rows <= rows_;) {
      const std::uint32_t high = reach(subarray_contig_, row, rows, subarrays);
      if (high < rows) {
        row += high + 1;
        continue;
      }
      for (std::uint32_t s = 0; s + subarrays <= subarrays_;) {
        const std::uint32_t wide = reach(row_contig_, s, subarrays, rows);
        if (wide < subarrays) {
          s += wide + 1;
          continue;
        }
        const situ::pim::block candidate{s, row, subarrays, rows};
        if (is_free(candidate)) {
          set(candidate, true);
          live_.emplace(key(s, row), candidate);
          return candidate;
        }
        ++s;
      }
      ++row;
    }
    return std::nullopt;
  }
  void free(const situ::pim::block& of) {
    const std::lock_guard lock{mutex_};
    const auto found = live_.find(key(of.subarray, of.row));
    set(found->second, false);
    live_.erase(found);
  }
  // Marks granules by hand, as a picture has them.
  void set(const situ::pim::block& of, bool is_taken) {
    for (std::uint32_t row = of.row; row < of.row + of.rows; ++row)
      for (std::uint32_t s = of.subarray; s < of.subarray + of.subarrays; ++s) is_taken_[at(s, row)] = is_taken;
    for (std::uint32_t row = of.row; row < of.row + of.rows; ++row)
      subarray_contig_[row] = longest(subarrays_, [&](std::uint32_t s) { return !is_taken_[at(s, row)]; });
    for (std::uint32_t s = of.subarray; s < of.subarray + of.subarrays; ++s)
      row_contig_[s] = longest(rows_, [&](std::uint32_t row) { return !is_taken_[at(s, row)]; });
  }

  // For each row, the longest run of free subarrays; for each subarray, that of free rows.
  [[nodiscard]] const std::vector<std::uint32_t>& subarray_contig() const { return subarray_contig_; }
  [[nodiscard]] const std::vector<std::uint32_t>& row_contig() const { return row_contig_; }
  // What the last allocation looked at.
  [[nodiscard]] looks looked() const { return looked_; }

 private:
  [[nodiscard]] std::size_t at(std::uint32_t s, std::uint32_t row) const { return std::size_t{row} * subarrays_ + s; }
  static std::uint64_t key(std::uint32_t s, std::uint32_t row) { return std::uint64_t{s} << 32 | row; }

  // Returns how many entries from `first` on, up to `count`, are at least `least`.
  std::uint32_t reach(const std::vector<std::uint32_t>& contig, std::uint32_t first, std::uint32_t count,
                      std::uint32_t least) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ++looked_.entries;
      if (contig[first + i] < least) return i;
    }
    return count;
  }
  bool is_free(const situ::pim::block& of) {
    for (std::uint32_t row = of.row; row < of.row + of.rows; ++row)
      for (std::uint32_t s = of.subarray; s < of.subarray + of.subarrays; ++s) {
        ++looked_.granules;
        if (is_taken_[at(s, row)]) return false;
      }
    return true;
  }
  template <class IsFree>
  static std::uint32_t longest(std::uint32_t count, IsFree is_free_at) {
    std::uint32_t run = 0;
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      run = is_free_at(i) ? run + 1 : 0;
      best = std::max(best, run);
    }
    return best;
  }

  std::uint32_t rows_;
  std::uint32_t subarrays_;
  std::vector<bool> is_taken_;
  std::vector<std::uint32_t> subarray_contig_;
  std::vector<std::uint32_t> row_contig_;
  std::unordered_map<std::uint64_t, situ::pim::block> live_;
  looks looked_;
  std::mutex mutex_;
};

}  // namespace situ_pim_test
