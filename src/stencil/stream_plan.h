// The use that a chain makes of the datasets in a store, and the groups of tiles in which it runs: the part of the
// out-of-core executor that depends on the chain alone (out_of_core.h explains windows).
#pragma once

#include "stencil/plan.h"
#include "stencil/region.h"

#include <string>
#include <vector>

namespace situ::stencil {

struct layers {
  int low = 0, high = 0;
  [[nodiscard]] bool empty() const noexcept { return high <= low; }
  [[nodiscard]] bool contains(int s) const noexcept { return low <= s && s < high; }
};

// Five slots instead of three: on a machine that others use, too, a chain bound by its file takes a tenth less. More
// were not tried.
inline constexpr int most_depth = 2;

// The part of one dataset in a chain's schedule.
struct stream {
  dataset_core* data = nullptr;
  std::vector<int> first;  // of each group; one more element at the end: all layers have left
  std::vector<int> last;
  layers ahead;  // layers of the next chain's first window that are read while the last group runs
  std::size_t ring_bytes = 0;
};

struct stream_plan {
  plan tiles;            // for the cache
  std::int64_t row = 1;  // distance between tiles that differ in the outermost dimension only
  int rows = 1;          // of tiles in one group
  int groups = 1;
  int depth = 1;  // groups by which reads and writes are ahead of the kernels, and behind them; 0: they take turns
  std::vector<stream> streams;  // by groups
  std::size_t bytes = 0;        // of all rings
};

// The use that a chain makes of a dataset of the store. Part of the chain's plan.
struct data_use {
  dataset_core* data = nullptr;
  box touched;                 // bounds of all points touched
  box written;                 // bounds of the points that are written; empty: none
  region filled;               // points that the chain certainly writes
  box live_in{{}, {}};         // bounds of the points that the chain may read before it has written them
  std::string live_in_kernel;  // the first kernel that reads such points; empty: none
};
[[nodiscard]] std::vector<data_use> uses_of(chain loops);
// Throws bad_argument if the chain reads points of a cyclic temporary before it has written them, whether the dataset
// is in the store or in memory.
void check_temporaries(chain loops);

// Makes a plan with as many rows of tiles of that size in a group as fit into the budget, or as suffice to keep the
// store busy. is_wanted: tiles are as high as `tile` says, each row a group of its own. Otherwise blocks are lowered
// until a group has a row of them for each thread. Transfers go as far ahead as there is room for, and alternate with
// kernels if there is none. pre: loops of the same dimensions, for which least_bytes(loops, 0) fit.
[[nodiscard]] stream_plan make_stream_plan(chain loops, const coordinates& tile, bool is_wanted,
                                           std::uint64_t fast_bytes, int threads);
// Returns the bytes that the lowest tiles need with reads and writes `depth` groups ahead. cost: loops x arguments x
// tiles, which are at most some 1000, or 65536 for few loops.
[[nodiscard]] std::size_t least_bytes(chain loops, int depth);

[[nodiscard]] inline int outer_of(const dataset_core& data) { return data.dims - 1; }
// Returns all layers that have points of the box.
[[nodiscard]] layers layers_of(const dataset_core& data, const box& b);
// Returns the layers that have only points of the box.
[[nodiscard]] layers layers_inside(const dataset_core& data, const box& b);
[[nodiscard]] inline int first_point(const dataset_core& data, int layer) {
  return data.valid.low[outer_of(data)] + layer * data.layer_points;
}
[[nodiscard]] inline std::size_t bytes_of(const dataset_core& data, int layers) {
  return static_cast<std::size_t>(layers) * data.layer_bytes;
}
// Extends a to the smallest range that holds both.
void widen(layers& a, layers b);

}  // namespace situ::stencil
