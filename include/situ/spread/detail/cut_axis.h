// One dimension of a distribution: its elements are cut into blocks, which are dealt round-robin to the places along
// it.
//
//   block      0     1     2     3     4            k-th block: place k % places, as its block number k / places
//   elements | b   | b   | b   | b   | rest |       local position: (k / places) * b + position in the block
//
// An uncut dimension has places = 1, a block cut has one block for each place, and a cyclic cut has b = 1. Values;
// constexpr.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace situ::detail {

// Divides by a number known only at run time, with a multiplication and a shift (Granlund and Montgomery, 1994). With l
// = ceil(log2 d), the multiplier is the smallest integer above 2^(63 + l) / d: exact for every n < 2^63.
class divisor {
 public:
  constexpr divisor() noexcept = default;
  constexpr explicit divisor(std::uint64_t d) noexcept
      : shift_{static_cast<std::uint32_t>(63 + std::bit_width(d - 1))},
        multiplier_{static_cast<std::uint64_t>((wide{1} << shift_) / d + 1)} {}

  [[nodiscard]] constexpr std::ptrdiff_t quotient(std::ptrdiff_t n) const noexcept {
    return static_cast<std::ptrdiff_t>(wide{static_cast<std::uint64_t>(n)} * multiplier_ >> shift_);
  }

 private:
  __extension__ using wide = unsigned __int128;
  std::uint32_t shift_ = 63;  // divides by 1
  std::uint64_t multiplier_ = (std::uint64_t{1} << 63) + 1;
};

// The elements of a range of a dimension that one place owns: `blocks` runs of `length` elements. In the place's part
// the runs start a block apart, and the elements of a run are contiguous; in the range the runs start a round of blocks
// apart.
struct axis_piece {
  std::uint32_t place;    // index of the owner along the dimension
  std::ptrdiff_t local;   // position of the first element in the owner's part
  std::ptrdiff_t offset;  // position of the first element in the range
  std::ptrdiff_t blocks;
  std::ptrdiff_t length;
  std::ptrdiff_t stride;  // in the range, from one element of a run to the next
};

struct cut_axis {
  std::ptrdiff_t extent = 0;
  std::ptrdiff_t block = 1;
  std::ptrdiff_t places = 1;
  divisor by_block;
  divisor by_places;

  constexpr cut_axis() noexcept = default;
  constexpr cut_axis(std::size_t n, std::size_t block_size, std::uint32_t place_count) noexcept
      : extent{static_cast<std::ptrdiff_t>(n)},
        block{static_cast<std::ptrdiff_t>(
            std::max<std::size_t>(1, block_size == 0 ? (n + place_count - 1) / place_count : std::min(block_size, n)))},
        places{place_count},
        by_block{static_cast<std::uint64_t>(block)},
        by_places{place_count} {}

  struct home {
    std::uint32_t place;
    std::ptrdiff_t local;
  };
  [[nodiscard]] constexpr home locate(std::ptrdiff_t i) const noexcept {
    const std::ptrdiff_t k = by_block.quotient(i);
    const std::ptrdiff_t round = by_places.quotient(k);
    return {static_cast<std::uint32_t>(k - round * places), round * block + (i - k * block)};
  }
  [[nodiscard]] constexpr std::ptrdiff_t global(std::uint32_t place, std::ptrdiff_t local) const noexcept {
    const std::ptrdiff_t round = by_block.quotient(local);
    return (round * places + place) * block + (local - round * block);
  }
  // Returns how many elements a place owns.
  [[nodiscard]] constexpr std::ptrdiff_t count(std::uint32_t place) const noexcept {
    const std::ptrdiff_t cycle = block * places;
    const std::ptrdiff_t rounds = extent / cycle;
    return rounds * block + std::clamp<std::ptrdiff_t>(extent - rounds * cycle - place * block, 0, block);
  }
  // Returns true if no place has more than one block.
  [[nodiscard]] constexpr bool has_single_blocks() const noexcept { return block * places >= extent; }

  // Calls f(axis_piece) for the pieces of [low, high): one for each place, and separate ones for its first and last
  // block if they are cut off. If blocks have one element, a place's elements form one run. pre: 0 <= low <= high <=
  // extent.
  template <class F>
  constexpr void for_each_piece(std::ptrdiff_t low, std::ptrdiff_t high, F&& f) const {
    if (low >= high) return;
    const auto piece = [&](std::ptrdiff_t begin, std::ptrdiff_t blocks, std::ptrdiff_t length, std::ptrdiff_t stride) {
      const home at = locate(begin);
      f(axis_piece{at.place, at.local, begin - low, blocks, length, stride});
    };
    const std::ptrdiff_t last = by_block.quotient(high - 1);
    std::ptrdiff_t k = by_block.quotient(low);
    for (const std::ptrdiff_t end = std::min(last + 1, k + places); k < end; ++k) {
      const std::ptrdiff_t begin = std::max(low, k * block);
      const std::ptrdiff_t blocks = by_places.quotient(last - k) + 1;
      if (block == 1) {
        piece(begin, 1, blocks, places);
      } else if (blocks == 1) {
        piece(begin, 1, std::min(high, (k + 1) * block) - begin, 1);
      } else {
        const bool is_first_cut = begin != k * block;
        const std::ptrdiff_t tail = (k + (blocks - 1) * places) * block;
        const bool is_last_cut = high < tail + block;
        if (is_first_cut) piece(begin, 1, (k + 1) * block - begin, 1);
        const std::ptrdiff_t whole = blocks - is_first_cut - is_last_cut;
        if (whole != 0) piece((k + is_first_cut * places) * block, whole, block, 1);
        if (is_last_cut) piece(tail, 1, high - tail, 1);
      }
    }
  }
};

}  // namespace situ::detail
