// Runs a chain in memory by a plan; the plain executor's plan has one tile. If there are enough rows of tiles, and they
// are long enough, threads take rows in turn and follow each other through them tile by tile. Otherwise all threads
// walk through the same tiles and loops: each takes its slice of every part, and then pieces that other threads have
// not begun (pieces.h); an epoch ends only if a loop touches data that an earlier loop of the same epoch writes. The
// calling thread runs a chain of small parts alone: waking the others costs more.
#pragma once

#include "stencil/pieces.h"
#include "stencil/plan.h"
#include "stencil/thread_pool.h"

#include <functional>
#include <vector>

namespace situ::stencil {

// The time of one loop of a chain, for reports.
struct loop_time {
  double seconds = 0;
};

// Datasets as bits. Two datasets may share a bit; at worst, that ends an epoch early.
struct touch_masks {
  std::uint64_t read = 0;
  std::uint64_t written = 0;

  [[nodiscard]] bool conflicts_with(const touch_masks& o) const noexcept {
    return (written & (o.read | o.written)) != 0 || (read & o.written) != 0;
  }
  void operator|=(const touch_masks& o) noexcept { read |= o.read, written |= o.written; }
};

struct loop_facts {
  touch_masks touches;
  std::array<bool, max_dims> splittable{};
};

class chain_runner {
 public:
  chain_runner(thread_pool& pool, std::int64_t small_points);
  ~chain_runner();
  chain_runner(const chain_runner&) = delete;
  chain_runner& operator=(const chain_runner&) = delete;
  // Runs all tiles. times: one element for each loop, or empty. is_alone: only the calling thread runs them.
  void run(chain loops, const plan& p, bool is_alone, std::span<loop_time> times);
  // Runs some tiles, in whole rows. `beside` is called once, on the calling thread, when the other threads may begin.
  // Throws the exceptions of a kernel (checked mode only) and of `beside`.
  void run_tiles(
      chain loops, const plan& p, std::int64_t first, std::int64_t last, std::span<loop_time> times,
      const std::function<void()>& beside = [] {});

 private:
  struct epoch;  // a thread's state in the present epoch
  [[nodiscard]] bool has_large_parts(chain loops, const plan& p, std::int64_t first, std::int64_t last) const;
  void run_alone(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::span<loop_time> times);
  void run_rows(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::int64_t row,
                std::span<loop_time> times, const std::function<void()>& beside);
  void run_parts(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::span<loop_time> times,
                 const std::function<void()>& beside);
  // Walks through all parts as one thread.
  void walk(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::uint32_t number, int thread,
            epoch& now);

  thread_pool& pool_;
  std::int64_t small_points_;
  std::vector<scratch> memories_;
  shared_pieces pieces_;
  std::vector<epoch> epochs_;      // one for each thread, kept to reuse the memory
  std::vector<loop_facts> facts_;  // of the chain that runs in parts
};

// Returns thread t's slice of a part, which is cut in the outermost dimension that is long enough. First touch uses the
// same partition.
[[nodiscard]] box slice(const box& part, int dims, const std::function<bool(int)>& is_splittable, int thread,
                        int threads);

}  // namespace situ::stencil
