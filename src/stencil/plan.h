// The dependency analysis: from a chain of loops to a schedule of skewed tiles.
//
// For each dimension d, tile t and loop l the plan holds an end e(d, t, l): after tile t loop l has run for all indices
// below it. In tile t it runs [e(t - 1), e(t)). Tiles are numbered by one index a dimension and run in lexicographic
// order, dimension 0 fastest; within a tile loops run in program order. For loops p before l of the chain and a dataset
// they share this is correct if
//
//   1. p has written the data that l reads or overwrites:
//      each index at which p writes a coordinate that l touches below e(t, l) is below e(t, p);
//   2. l does not overwrite data that p still has to read:
//      each index at which p reads a coordinate that l writes below e(t, l) is below e(t, p).
//
// Both require the same of p: "be done with every index that touches coordinates below c". So one walk from the last
// loop to the first, with two numbers for each dataset (the highest coordinate read so far, and written so far), gives
// the smallest ends. It suffices that the conditions hold in each dimension alone: of two tiles in the wrong order, the
// first dimension in which they differ keeps their accesses apart. A tile's loops thus start the further to the right,
// the later they come in the chain: the skew. Boundary loops end at the end of their range and require no more than
// that. (Reguly, Mudalige and Giles: Beyond 16GB, MCHPC 2017, section 3, and TPDS 2017.)
#pragma once

#include <situ/stencil/detail/loop.h>

#include <cstdint>
#include <span>

namespace situ::stencil {

using chain = std::span<const std::unique_ptr<loop>>;

struct plan {
  int loops = 0;
  std::array<int, max_dims> tiles{1, 1, 1, 1, 1};
  coordinates tile{};                           // points of a tile in each dimension; 0: not cut
  std::array<std::vector<int>, max_dims> ends;  // of cut dimensions: ends[d][t * loops + l]

  [[nodiscard]] std::int64_t tile_count() const noexcept {
    std::int64_t n = 1;
    for (const int t : tiles) n *= t;
    return n;
  }
  [[nodiscard]] std::array<int, max_dims> tile_index(std::int64_t n) const noexcept {
    std::array<int, max_dims> at{};
    for (int d = 0; d < max_dims; ++d) {
      at[d] = static_cast<int>(n % tiles[d]);
      n /= tiles[d];
    }
    return at;
  }
  // Returns the part that loop l runs in a tile; may be empty.
  [[nodiscard]] box part(int l, const box& range, const std::array<int, max_dims>& at) const noexcept {
    box r = range;
    for (int d = 0; d < max_dims; ++d) {
      if (ends[d].empty()) continue;
      const auto n = static_cast<std::size_t>(at[d]) * static_cast<std::size_t>(loops) + static_cast<std::size_t>(l);
      r.high[d] = ends[d][n];
      if (at[d] > 0) r.low[d] = ends[d][n - static_cast<std::size_t>(loops)];
    }
    return r;
  }
};

// Makes the plan; tile[d] == 0 leaves dimension d uncut. cost: loops x arguments x tiles, for each cut dimension.
[[nodiscard]] plan make_plan(chain loops, const coordinates& tile);

// The ends of all loops in the tile in the middle of dimension d, cut to this width, and in the tile before it.
struct middle_ends {
  int tiles = 1;
  std::vector<int> before, at;  // empty if there is only one tile
};
[[nodiscard]] middle_ends plan_middle(chain loops, int d, int width);

// The points of one dataset that a chain touches in one tile, clipped to the dataset.
struct footprint {
  dataset_core* data = nullptr;
  box touched;
};
[[nodiscard]] std::vector<footprint> footprints(chain loops, const plan& p, std::int64_t tile);
[[nodiscard]] std::uint64_t footprint_bytes(chain loops, const plan& p, std::int64_t tile);

// Returns whether the chain touches at most `bytes` in all.
[[nodiscard]] bool touches_at_most(chain loops, std::uint64_t bytes);

// Returns a tile whose footprint is about `bytes`: the outermost dimension is cut first, the innermost last. All zero
// if the whole chain fits, or gains nothing from tiles because it is a single loop.
[[nodiscard]] coordinates choose_tile(chain loops, std::uint64_t bytes);

// Returns a tile that is cut in at least two dimensions, so that threads can run tiles of their own: low in the
// outermost dimension, as wide as fits in the next. In 2-D lines are cut, in more dimensions they are left whole. All
// zero if there is no second dimension.
[[nodiscard]] coordinates choose_block(chain loops, std::uint64_t bytes);

// Returns the box that an argument touches while a part of its loop runs, clipped to its dataset.
[[nodiscard]] box touched_by(const argument& a, const box& part);
// Returns whether no two points of a loop's range write the same element.
[[nodiscard]] bool writes_are_apart(const loop& l);
// Returns whether a loop that writes through the stencil leaves no gaps.
[[nodiscard]] bool leaves_no_gaps(const shape& s);
// Extends a to the smallest box around both.
void widen(box& a, const box& b);

[[nodiscard]] box bounds(chain loops);
[[nodiscard]] int dims(chain loops);

}  // namespace situ::stencil
