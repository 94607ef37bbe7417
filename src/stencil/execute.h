// Runs a chain in memory by a plan; the plain executor's plan has one tile. Where rows of tiles are long enough, and enough, threads take rows in turn, and
// follow each other through them tile by tile. Otherwise all threads walk through the same tiles and loops, each takes its slice of
// every part (where there is one tile, then what others have not begun of theirs), and they wait for each other only where a loop touches what an unfinished one of another thread writes.
#pragma once

#include "stencil/plan.h"
#include "stencil/thread_pool.h"

#include <functional>
#include <vector>

namespace situ::stencil {

// The times of one loop of a chain, for reports.
struct loop_time {
  double seconds = 0;
};

class chain_runner {
 public:
  chain_runner(thread_pool& pool, std::int64_t small_points) : pool_{pool}, small_points_{small_points}, memories_(static_cast<std::size_t>(pool.size())) {}
  // All tiles. times: one for each loop, or empty.
  void run(chain loops, const plan& p, std::span<loop_time> times);
  // Some tiles, in whole rows. Throws what a kernel throws (checked mode only).
  void run_tiles(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::span<loop_time> times);

 private:
  void run_rows(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::int64_t row, std::span<loop_time> times);
  void run_parts(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::span<loop_time> times);

  thread_pool& pool_;
  std::int64_t small_points_;
  std::vector<scratch> memories_;
};

// Thread t's slice of a part: cut in the outermost dimension that is long enough. Also the partition of first touch.
[[nodiscard]] box slice(const box& part, int dims, const std::function<bool(int)>& is_splittable, int thread, int threads);

}  // namespace situ::stencil
