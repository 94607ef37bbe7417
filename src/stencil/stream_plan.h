// What a chain does to the datasets in a store, and in which groups of tiles it runs: the part of the out-of-core
// executor that depends on the chain alone (out_of_core.h explains windows).
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

// Five slots in place of three: on a machine that others use, too, a chain bound by its file takes a tenth less. More
// were not tried.
inline constexpr int most_depth = 2;

// The part of one dataset in a chain's schedule.
struct stream {
  dataset_core* data = nullptr;
  std::vector<int> first;  // of each tile; one more at the end: where everything has left
  std::vector<int> last;
  layers ahead;  // of the next chain's first window: what is read while the last tile runs
  std::size_t ring_bytes = 0;
};

struct stream_plan {
  plan tiles;            // for the cache
  std::int64_t row = 1;  // tiles that differ in the outermost dimension only are so far apart
  int rows = 1;          // of tiles in one group
  int groups = 1;
  int depth = 1;  // how many groups reads and writes are ahead of the kernels, and behind them; 0: they take turns
  std::vector<stream> streams;  // by groups
  std::size_t bytes = 0;        // of all rings
};

// How a chain uses a dataset of the store. Part of its plan.
struct data_use {
  dataset_core* data = nullptr;
  box touched;                 // around all points
  box written;                 // around the points that are written; empty: none
  region filled;               // what the chain certainly writes
  box live_in{{}, {}};         // around the points that it may read before it has written them
  std::string live_in_kernel;  // the first that does; empty: none
};
[[nodiscard]] std::vector<data_use> uses_of(chain loops);
// Throws bad_argument if the chain reads of a cyclic temporary what it has not written before, wherever that one lies.
void check_temporaries(chain loops);

// As many rows of tiles of that size as fit into the budget, or as suffice to keep the store busy. is_wanted: tiles are
// as high as `tile` says, each row a group of its own. Otherwise blocks are lowered until a group has a row of them for
// each thread. Transfers go as far ahead as there is room for, and wait for kernels where there is none.
// pre: loops of the same dimensions, for which least_bytes(loops, 0) fit.
[[nodiscard]] stream_plan make_stream_plan(chain loops, const coordinates& tile, bool is_wanted,
                                           std::uint64_t fast_bytes, int threads);
// What the lowest tiles need with reads and writes `depth` groups ahead. cost: loops x arguments x tiles, which are at
// most some 1000, or 65536 for few loops.
[[nodiscard]] std::size_t least_bytes(chain loops, int depth);

[[nodiscard]] inline int outer_of(const dataset_core& data) { return data.dims - 1; }
// All layers that have points of the box.
[[nodiscard]] layers layers_of(const dataset_core& data, const box& b);
// Those that have no others.
[[nodiscard]] layers layers_inside(const dataset_core& data, const box& b);
[[nodiscard]] inline int first_point(const dataset_core& data, int layer) {
  return data.valid.low[outer_of(data)] + layer * data.layer_points;
}
[[nodiscard]] inline std::size_t bytes_of(const dataset_core& data, int layers) {
  return static_cast<std::size_t>(layers) * data.layer_bytes;
}
// The smallest that holds both.
void widen(layers& a, layers b);

}  // namespace situ::stencil
