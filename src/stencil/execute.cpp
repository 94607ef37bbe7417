#include "stencil/execute.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>

namespace situ::stencil {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Datasets as bits; two may share one, which costs a barrier at most.
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

// The first exception of any thread; after it the others' parts are skipped, but not their barriers.
class failure {
 public:
  template <class F>
  void guard(const F& f) {
    if (has_failed_.load(std::memory_order_relaxed)) return;  // a hint: a part more or less does not matter
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

// How many tiles of a row are done. On a line of its own: its writer and its reader are on different processors.
struct alignas(64) row_progress {
  std::atomic<std::int64_t> done{0};

  void wait_for(std::int64_t tiles) const noexcept {
    for (int i = 0; i < spins_before_sleep; ++i) {
      if (done.load(std::memory_order_acquire) >= tiles) return;
      spin_pause();
    }
    for (auto seen = done.load(std::memory_order_acquire); seen < tiles; seen = done.load(std::memory_order_acquire)) done.wait(seen, std::memory_order_acquire);
  }
  void advance() noexcept {
    done.fetch_add(1, std::memory_order_release);
    done.notify_all();
  }
};

// Whether no two points of a loop's range write the same element.
bool writes_are_apart(const loop& l) {
  return std::all_of(l.arguments().begin(), l.arguments().end(), [](const argument& a) {
    if (a.data == nullptr || !writes(a.mode)) return true;
    for (int d = 0; d < max_dims; ++d) {
      if (a.where->multiplier(d) < a.where->divisor(d)) return false;
    }
    return true;
  });
}

// Tiles that differ in less than the outermost cut dimension.
std::int64_t tiles_of_row(const plan& p) {
  for (int d = max_dims - 1; d >= 0; --d) {
    if (p.tiles[d] > 1) return p.tile_count() / p.tiles[d];
  }
  return 1;
}

std::vector<loop_facts> facts_of(chain loops) {
  std::vector<loop_facts> facts;
  for (const auto& l : loops) {
    auto& f = facts.emplace_back();
    // A line's accumulator may go to another thread in the next tile: a loop with reductions conflicts with itself.
    if (l->has_reduction()) f.touches.written |= std::uint64_t{1} << 63;
    for (const auto& a : l->arguments()) {
      if (a.data == nullptr) continue;
      const auto bit = std::uint64_t{1} << (a.data->index % 63);
      if (reads(a.mode)) f.touches.read |= bit;
      if (writes(a.mode)) f.touches.written |= bit;
    }
    for (int d = 0; d < max_dims; ++d) f.splittable[d] = l->is_splittable(d);
  }
  return facts;
}

// The dimension in which a part is cut for threads: the outermost that is long enough, else the longest; -1: in none.
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

// Piece i of n equal ones; all of it is piece 0 where it cannot be cut.
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

constexpr int pieces_per_thread = 16;  // what threads wait for each other is a piece at most: a thirtieth of a loop's time with two

// The pieces of one thread's slice of a loop that nobody has taken. Their owner takes them in order; who has nothing left helps, from the other end.
class alignas(64) slice_pieces {
 public:
  int take_first() noexcept { return take([](bounds& b) { return static_cast<int>(b.first++); }); }
  int take_last() noexcept { return take([](bounds& b) { return static_cast<int>(--b.end); }); }

 private:
  struct bounds {
    std::uint32_t first, end;
  };
  // -1: none is left.
  template <class F>
  int take(const F& f) noexcept {
    auto seen = left_.load(std::memory_order_relaxed);
    while (seen.first < seen.end) {
      auto rest = seen;
      const int taken = f(rest);
      if (left_.compare_exchange_weak(seen, rest, std::memory_order_relaxed)) return taken;  // barriers order what the pieces hold
    }
    return -1;
  }
  std::atomic<bounds> left_{bounds{0, pieces_per_thread}};
};

// A thread's pieces, and then what others have left: calls run with numbers that count through all slices.
template <class F>
void take_pieces(std::span<slice_pieces> slices, int thread, const F& run) {
  const int threads = static_cast<int>(slices.size());
  for (int n = 0; n < threads; ++n) {
    const int owner = (thread + n) % threads;
    auto& pieces = slices[static_cast<std::size_t>(owner)];
    const auto take = [&] { return n == 0 ? pieces.take_first() : pieces.take_last(); };
    for (int i = take(); i >= 0; i = take()) run(owner * pieces_per_thread + i);
  }
}

}  // namespace

box slice(const box& part, int dims, const std::function<bool(int)>& is_splittable, int thread, int threads) {
  return piece_of(part, dimension_to_cut(part, dims, is_splittable, threads), thread, threads);
}

void chain_runner::run(chain loops, const plan& p, std::span<loop_time> times) { run_tiles(loops, p, 0, p.tile_count(), times); }

void chain_runner::run_tiles(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::span<loop_time> times) {
  const auto row = tiles_of_row(p);
  const auto rows = (last - first) / row;  // one thread each: fewer would leave threads idle
  if (pool_.size() > 1 && row >= pool_.size() && rows >= pool_.size() && std::all_of(loops.begin(), loops.end(), [](const auto& l) { return writes_are_apart(*l); })) {
    run_rows(loops, p, first, last, row, times);
  } else {
    run_parts(loops, p, first, last, times);
  }
}

// Each tile by one thread, rows of tiles in turn. Of two instances of loops that depend on each other the one that comes first lies in a tile whose
// index is not higher in any dimension (plan.h), so a tile waits for the tile at its place in the row before it only: what else it needs lies
// before these two in their rows. Two tiles that may run at the same time do not write to the same place, since writes of one loop are apart.
void chain_runner::run_rows(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::int64_t row, std::span<loop_time> times) {
  const auto rows = (last - first) / row;
  std::vector<row_progress> progress(static_cast<std::size_t>(rows));
  failure failed;
  pool_.run([&](int thread) {
    auto& memory = memories_[static_cast<std::size_t>(thread)];
    for (std::int64_t r = thread; r < rows; r += pool_.size()) {
      for (std::int64_t k = 0; k < row; ++k) {
        if (r > 0) progress[static_cast<std::size_t>(r) - 1].wait_for(k + 1);
        const auto at = p.tile_index(first + r * row + k);
        for (std::size_t l = 0; l < loops.size(); ++l) {
          const box part = p.part(static_cast<int>(l), loops[l]->range(), at);
          if (part.empty()) continue;
          const auto start = times.empty() || thread != 0 ? std::chrono::steady_clock::time_point{} : std::chrono::steady_clock::now();
          failed.guard([&] { loops[l]->run(part, memory); });
          if (!times.empty() && thread == 0) times[l].seconds += seconds_since(start);
        }
        progress[static_cast<std::size_t>(r)].advance();
      }
    }
  });
  failed.tell();
}

// Each part of a loop by all threads. Where there is one tile its parts are long, and threads help each other: processors that others use, too, are
// not equally fast.
void chain_runner::run_parts(chain loops, const plan& p, std::int64_t first, std::int64_t last, std::span<loop_time> times) {
  const auto facts = facts_of(loops);
  const int threads = pool_.size();
  auto slices = last - first == 1 && threads > 1 ? std::vector<slice_pieces>(loops.size() * static_cast<std::size_t>(threads)) : std::vector<slice_pieces>{};
  failure failed;
  pool_.run([&](int thread) {
    auto& memory = memories_[static_cast<std::size_t>(thread)];
    touch_masks shared;  // by loops since the last barrier that all threads run
    touch_masks alone;   // by those that thread 0 runs
    for (std::int64_t tile = first; tile < last; ++tile) {
      const auto at = p.tile_index(tile);
      for (std::size_t l = 0; l < loops.size(); ++l) {
        const box part = p.part(static_cast<int>(l), loops[l]->range(), at);
        if (part.empty()) continue;
        const auto start = times.empty() || thread != 0 ? std::chrono::steady_clock::time_point{} : std::chrono::steady_clock::now();
        const auto& f = facts[l];
        const bool is_small = threads == 1 || part.points() < small_points_;
        if (threads > 1 && (f.touches.conflicts_with(shared) || (!is_small && f.touches.conflicts_with(alone)))) {
          pool_.barrier();
          shared = alone = {};
        }
        const auto run = [&](const box& some) {
          if (!some.empty()) failed.guard([&] { loops[l]->run(some, memory); });
        };
        if (is_small) {
          if (thread == 0) run(part);
          alone |= f.touches;
        } else {
          const int d = dimension_to_cut(part, loops[l]->dims(), [&](int n) { return f.splittable[static_cast<std::size_t>(n)]; }, threads);
          const int pieces = threads * pieces_per_thread;
          if (slices.empty() || d < 0 || part.points() < pieces * small_points_) {
            run(piece_of(part, d, thread, threads));
          } else {
            take_pieces(std::span{slices}.subspan(l * static_cast<std::size_t>(threads), static_cast<std::size_t>(threads)), thread,
                        [&](int i) { run(piece_of(part, d, i, pieces)); });
          }
          shared |= f.touches;
        }
        if (!times.empty() && thread == 0) times[l].seconds += seconds_since(start);
      }
    }
  });
  failed.tell();
}

}  // namespace situ::stencil
