// Predicts the time of a chain in tiles of some size, from measurements of the machine: the choice of tiles by
// arithmetic. docs/design/stencil.md, "How the tile is chosen", has an example.
//
//   1. One tile stands for all: the tile in the middle of the chain's bounds (plan.h), times the number of tiles.
//   2. A byte that a loop touches costs what the machine's curve (machine/detail/reuse.h) gives for the bytes that its
//      thread has touched since that byte was touched before: by an earlier loop of the tile, in the tile before, in
//      the row of tiles before, or not in this chain. Datasets count as a whole, not point by point: the part of a
//      dataset that a tile has touched so far is a box.
//   3. A stencil that reaches over several lines reads most of them again a line or a plane later: bytes of that line
//      or plane, of all that the loop touches.
//   4. Besides bytes, parts, lines and discontinuities of memory have a cost; and threads wait.
//   5. The computation of a kernel is the same in all tiles, and the model leaves it out: it ranks tiles, and its times
//      are too low if kernels compute much.
#pragma once

#include "stencil/plan.h"

#include <situ/machine/detail/reuse.h>

#include <map>

namespace situ::stencil {

// The model's figures of the machine.
struct tile_costs {
  machine::reuse_curve reuse;
  double own_bytes = 0;    // size of the caches that a thread has for itself
  double share_bytes = 0;  // its share of the last-level cache
  // Measured on an AMD EPYC (Zen 5) by sweeps over tiles of the solvers of examples/stencil.
  double part_ns = 200;     // to begin a loop's part
  double plane_ns = 100;    // and each plane of it
  double line_ns = 4;       // and each line
  double epoch_ns = 1000;   // for all threads to end an epoch (execute.h)
  double handed_ns = 0.06;  // least cost of a byte that another thread has touched last
};

struct tile_prediction {
  double seconds = 0;
  double moved_seconds = 0;    // the part for bytes that come from farther than the first-level cache
  double footprint_bytes = 0;  // of a tile
  bool in_rows = false;        // each thread runs a tile of its own
};

struct ranked_tile {
  coordinates tile{};
  tile_prediction expected;
};

class tile_model {
 public:
  // The loops must outlive the model.
  tile_model(chain loops, tile_costs costs, int threads, std::int64_t small_points);
  ~tile_model();
  tile_model(const tile_model&) = delete;
  tile_model& operator=(const tile_model&) = delete;

  // Predicts the time with this tile. cost: loops x arguments x datasets; some 20 us for 100 loops.
  [[nodiscard]] tile_prediction predict(const coordinates& tile);
  // Returns tiles of all kinds, the best first; {} is always among them. cost: 20 to 50 predictions.
  [[nodiscard]] std::vector<ranked_tile> rank();

 private:
  struct use;
  struct dataset_state;
  struct part_cost;
  [[nodiscard]] const middle_ends& ends_of(int d, int width);
  [[nodiscard]] box part_of(std::size_t l, const coordinates& tile);
  void touch_all(const coordinates& tile);
  void split_first_touches(const coordinates& tile);
  [[nodiscard]] part_cost cost_of(std::size_t l, const box& part, const coordinates& tile, int row_dim);
  void add_use(part_cost& sum, const use& u, const box& part, const coordinates& tile, std::size_t l, double sharers,
               int cut, int row_dim);
  [[nodiscard]] double crowded(double distance) const noexcept;
  [[nodiscard]] double mean_skew(int d, int width);
  [[nodiscard]] std::vector<coordinates> grid() const;

  chain loops_;
  tile_costs costs_;
  int threads_;
  std::int64_t small_points_;
  int dims_;
  box bounds_;
  bool writes_apart_ = true;
  std::vector<std::vector<use>> uses_;  // of each loop
  std::vector<dataset_state> data_;
  double whole_bytes_ = 0;  // of all datasets
  double footprint_ = 0;    // bytes that a tile touches
  double fresh_ = 0;        // the part of these that no tile of the chain has touched before
  std::map<std::pair<int, int>, middle_ends> ends_;
};

// Returns the tiles of a ranking that are worth a trial: the best one, and others that are not much worse by the model
// and not nearly the same.
[[nodiscard]] std::vector<ranked_tile> worth_a_trial(const std::vector<ranked_tile>& ranking, std::size_t most);

}  // namespace situ::stencil
