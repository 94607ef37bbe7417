#include "stencil/execute.h"
#include "base/float_settings.h"
#include "stencil/stopwatch.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

namespace situ::stencil {
namespace {

// Keeps the first exception of any thread. After it the other threads skip their parts, which count as done.
class failure {
 public:
  template <class F>
  void guard(const F& f) {
    if (has_failed_.load(std::memory_order_relaxed)) return;  // a hint: one part more or less does not matter
    try {
      f();
    } catch (...) {
      const std::lock_guard held{lock_};
      if (!first_) first_ = std::current_exception();
      has_failed_.store(true, std::memory_order_relaxed);
    }
  }
  void tell() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> has_failed_{false};
  std::mutex lock_;
  std::exception_ptr first_;
};

// Counts the tiles of a row that are done. It has its own cache line: its writer and its reader are on different
// processors.
struct alignas(64) row_progress {
  std::atomic<std::int64_t> done{0};

  void wait_for(std::int64_t tiles) const noexcept {
    for (int i = 0; i < spins_before_sleep; ++i) {
      if (done.load(std::memory_order_acquire) >= tiles) return;
      spin_pause();
    }
    for (auto seen = done.load(std::memory_order_acquire); seen < tiles; seen = done.load(std::memory_order_acquire))
      done.wait(seen, std::memory_order_acquire);
  }
  void advance() noexcept {
    done.fetch_add(1, std::memory_order_release);
    done.notify_all();
  }
};

void run_part(loop& l, const box& part, scratch& memory) {
  const situ::detail::float_settings_scope as{situ::detail::float_settings{l.float_settings()}};
  l.run(part, memory);
}

// Returns the number of tiles that differ only in dimensions below the outermost cut one.
std::int64_t tiles_of_row(const plan& p) {
  for (int d = max_dims - 1; d >= 0; --d) {
    if (p.tiles[d] > 1) return p.tile_count() / p.tiles[d];
  }
  return 1;
}

loop_facts facts_of(const loop& l) {
  loop_facts f;
  // A line's accumulator may go to another thread in the next tile: a loop with reductions conflicts with itself.
  if (l.has_reduction()) f.touches.written |= std::uint64_t{1} << 63;
  for (const auto& a : l.arguments()) {
    if (a.data == nullptr) continue;
    const auto bit = std::uint64_t{1} << (a.data->index % 63);
    if (reads(a.mode)) f.touches.read |= bit;
    if (writes(a.mode)) f.touches.written |= bit;
  }
  for (int d = 0; d < max_dims; ++d) f.splittable[d] = l.is_splittable(d);
  return f;
}

// Returns the dimension in which a part is cut for threads: the outermost that is long enough, else the longest; -1:
// none.
template <class IsSplittable>
int dimension_to_cut(const box& part, int dims, const IsSplittable& is_splittable, int threads) {
  int best = -1;
  for (int d = dims - 1; d >= 0; --d) {
    if (!is_splittable(d)) continue;
    if (part.extent(d) >= 2 * threads) return d;
    if (best < 0 || part.extent(d) > part.extent(best)) best = d;
  }
  return best;
}

// Returns piece i of n equal ones. If the part cannot be cut, piece 0 is all of it.
box piece_of(const box& part, int dimension, int i, int n) {
  box r = part;
  if (dimension < 0) {
    if (i != 0) r.high = r.low;
    return r;
  }
  const std::int64_t extent = part.extent(dimension);
  r.low[dimension] = part.low[dimension] + static_cast<int>(extent * i / n);
  r.high[dimension] = part.low[dimension] + static_cast<int>(extent * (i + 1) / n);
  return r;
}

// a thread waits for one piece at most: a thirtieth of a loop's time with two threads
constexpr int most_pieces_of_slice = 16;

}  // namespace

box slice(const box& part, int dims, const std::function<bool(int)>& is_splittable, int thread, int threads) {
  return piece_of(part, dimension_to_cut(part, dims, is_splittable, threads), thread, threads);
}

// Parts that may run in any order, except for the small ones, which run one after another as the first piece of thread
// 0. Every thread has a slice of each other part, in some pieces.
struct chain_runner::epoch {
  struct part {
    std::size_t loop;
    box range;
    int cut = -1;    // the dimension; -1: the part is one piece
    int pieces = 1;  // of a slice
  };
  std::vector<part> small, large;
  int of_owner = 0;  // pieces of each thread, without the small parts
  touch_masks small_touches, large_touches;
  failure* failed = nullptr;
  std::span<loop_time> times;  // of thread 0, else empty

  void clear() noexcept {
    small.clear(), large.clear();
    of_owner = 0;
    small_touches = large_touches = {};
  }
  [[nodiscard]] bool is_empty() const noexcept { return small.empty() && large.empty(); }
  [[nodiscard]] int count(int owner) const noexcept { return of_owner + (owner == 0 && !small.empty() ? 1 : 0); }

  void run(chain loops, std::size_t l, const box& part, scratch& memory) const {
    if (part.empty()) return;
    const auto start = times.empty() ? clock::time_point{} : clock::now();
    failed->guard([&] { run_part(*loops[l], part, memory); });
    if (!times.empty()) times[l].seconds += seconds_since(start);
  }
  void run_piece(chain loops, int owner, int n, int threads, scratch& memory) const {
    if (owner == 0 && !small.empty() && n-- == 0) {
      for (const auto& p : small) run(loops, p.loop, p.range, memory);
      return;
    }
    for (const auto& p : large) {
      if (n < p.pieces)
        return run(loops, p.loop, piece_of(p.range, p.cut, owner * p.pieces + n, threads * p.pieces), memory);
      n -= p.pieces;
    }
  }
};

chain_runner::chain_runner(thread_pool& pool, std::int64_t small_points)
    : pool_{pool},
      small_points_{small_points},
      memories_(static_cast<std::size_t>(pool.size())),
      pieces_{pool},
      epochs_(static_cast<std::size_t>(pool.size())) {}
chain_runner::~chain_runner() = default;

void chain_runner::run(chain loops, const plan& p, bool is_alone, std::span<loop_time> times) {
  is_alone ? run_alone(loops, p, 0, p.tile_count(), times) : run_tiles(loops, p, 0, p.tile_count(), times);
}

void chain_runner::run_tiles(chain loops, const plan& p, std::int64_t first, std::int64_t last,
                             std::span<loop_time> times, const std::function<void()>& beside) {
  const int threads = pool_.size();
  if (threads == 1 || !has_large_parts(loops, p, first, last)) {
    beside();
    return run_alone(loops, p, first, last, times);
  }
  const auto row = tiles_of_row(p);
  const auto rows = (last - first) / row;  // one thread runs each row: fewer rows would leave threads idle
  if (row >= threads && rows >= threads &&
      std::all_of(loops.begin(), loops.end(), [](const auto& l) { return writes_are_apart(*l); })) {
    run_rows(loops, p, first, last, row, times, beside);
  } else {
    run_parts(loops, p, first, last, times, beside);
  }
}

bool chain_runner::has_large_parts(chain loops, const plan& p, std::int64_t first, std::int64_t last) const {
  for (std::int64_t tile = first; tile < last; ++tile) {
    const auto at = p.tile_index(tile);
    for (std::size_t l = 0; l < loops.size(); ++l) {
      if (const box part = p.part(static_cast<int>(l), loops[l]->range(), at);
          part.points() >= small_points_ && !part.empty())
        return true;
    }
  }
  return false;
}

void chain_runner::run_alone(chain loops, const plan& p, std::int64_t first, std::int64_t last,
                             std::span<loop_time> times) {
  for (std::int64_t tile = first; tile < last; ++tile) {
    const auto at = p.tile_index(tile);
    for (std::size_t l = 0; l < loops.size(); ++l) {
      const auto start = times.empty() ? clock::time_point{} : clock::now();
      if (const box part = p.part(static_cast<int>(l), loops[l]->range(), at); !part.empty())
        run_part(*loops[l], part, memories_[0]);
      if (!times.empty()) times[l].seconds += seconds_since(start);
    }
  }
}

// Runs each tile by one thread; a thread takes the next row of tiles when it is free. If two instances of loops depend
// on each other, the earlier one is in a tile whose index is not higher in any dimension (plan.h), so a tile waits
// only for the tile at its position in the row before: its other predecessors come before these two in their rows. Two
// tiles that may run at the same time do not write to the same point, since writes of one loop are apart. The lowest
// unfinished row waits for no other row, and some thread has begun it.
void chain_runner::run_rows(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::int64_t row,
                            std::span<loop_time> times, const std::function<void()>& beside) {
  const auto rows = (last - first) / row;
  std::vector<row_progress> progress(static_cast<std::size_t>(rows));
  std::atomic<std::int64_t> next_row{0};
  failure failed;
  pool_.run_open([&](int thread) {
    if (thread == 0) beside();
    auto& memory = memories_[static_cast<std::size_t>(thread)];
    for (auto r = next_row.fetch_add(1); r < rows; r = next_row.fetch_add(1)) {
      for (std::int64_t k = 0; k < row; ++k) {
        if (r > 0) progress[static_cast<std::size_t>(r) - 1].wait_for(k + 1);
        const auto at = p.tile_index(first + r * row + k);
        for (std::size_t l = 0; l < loops.size(); ++l) {
          const box part = p.part(static_cast<int>(l), loops[l]->range(), at);
          if (part.empty()) continue;
          const auto start = times.empty() || thread != 0 ? clock::time_point{} : clock::now();
          failed.guard([&] { run_part(*loops[l], part, memory); });
          if (!times.empty() && thread == 0) times[l].seconds += seconds_since(start);
        }
        progress[static_cast<std::size_t>(r)].advance();
      }
    }
  });
  failed.tell();
}

void chain_runner::run_parts(chain loops, const plan& p, std::int64_t first, std::int64_t last,
                             std::span<loop_time> times, const std::function<void()>& beside) {
  failure failed;
  facts_.clear();
  for (const auto& l : loops) facts_.push_back(facts_of(*l));
  const auto number = pieces_.first_epoch();
  pool_.run_open([&](int thread) {
    if (thread == 0) beside();
    auto& now = epochs_[static_cast<std::size_t>(thread)];
    now.clear();
    now.failed = &failed;
    now.times = thread == 0 ? times : std::span<loop_time>{};
    walk(loops, p, first, last, number, thread, now);
  });
  failed.tell();
}

// All threads find the same epochs. A thread that has waited outside the job returns at once if the job is over.
void chain_runner::walk(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::uint32_t number,
                        int thread, epoch& now) {
  const int threads = pool_.size();
  auto& memory = memories_[static_cast<std::size_t>(thread)];
  const auto finish = [&] {
    if (now.is_empty()) return true;
    const int total = threads * now.of_owner + (now.small.empty() ? 0 : 1);
    if (!pieces_.finish(
            thread, number++, total, [&](int owner) { return now.count(owner); },
            [&](int owner, int n) { now.run_piece(loops, owner, n, threads, memory); })) {
      return false;  // `now` may be gone
    }
    now.clear();
    return true;
  };
  for (std::int64_t tile = first; tile < last; ++tile) {
    const auto at = p.tile_index(tile);
    for (std::size_t l = 0; l < loops.size(); ++l) {
      const box part = p.part(static_cast<int>(l), loops[l]->range(), at);
      if (part.empty()) continue;
      const auto& f = facts_[l];
      const auto points = part.points();
      const int cut = dimension_to_cut(
          part, loops[l]->dims(), [&](int d) { return f.splittable[static_cast<std::size_t>(d)]; }, threads);
      const bool is_small = cut < 0 || points < small_points_;
      if (f.touches.conflicts_with(now.large_touches) ||
          (!is_small &&
           (f.touches.conflicts_with(now.small_touches) || now.of_owner > shared_pieces::most_of_owner / 2))) {
        if (!finish()) return;
      }
      if (is_small) {
        now.small.push_back({l, part});
        now.small_touches |= f.touches;
      } else {
        const auto pieces = std::clamp<std::int64_t>(points / (threads * std::max<std::int64_t>(1, small_points_)), 1,
                                                     most_pieces_of_slice);
        now.large.push_back({l, part, cut, static_cast<int>(pieces)});
        now.of_owner += static_cast<int>(pieces);
        now.large_touches |= f.touches;
      }
    }
  }
  (void)finish();
}

}  // namespace situ::stencil
