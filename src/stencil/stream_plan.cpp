#include "stencil/stream_plan.h"

#include "stencil/mirrored_ring.h"

#include <situ/base/detail/assert.h>
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

namespace situ::stencil {
namespace {

// Groups of tiles in a chain. More groups cost nothing in reads and writes, since windows slide, and they shorten the
// beginning and the end, when transfers and kernels do not overlap; but each group has two points at which all threads
// wait. Below least_group_bytes the device would not be busy.
constexpr int wanted_groups = 24;
constexpr std::size_t least_group_bytes = std::size_t{16} << 20;

// Lower blocks are mostly skew.
constexpr int least_block_height = 4;

int outermost(chain loops) { return dims(loops) - 1; }

bool is_block(const coordinates& tile, int outer) {
  return std::any_of(tile.begin(), tile.begin() + outer, [](int width) { return width > 0; });
}

}  // namespace

void widen(layers& a, layers b) {
  if (b.empty()) return;
  a = a.empty() ? b : layers{std::min(a.low, b.low), std::max(a.high, b.high)};
}

layers layers_of(const dataset_core& data, const box& b) {
  const int outer = outer_of(data), low = data.valid.low[outer], n = data.layer_points;
  return b.empty() ? layers{} : layers{(b.low[outer] - low) / n, (b.high[outer] - low + n - 1) / n};
}

layers layers_inside(const dataset_core& data, const box& b) {
  const int outer = outer_of(data), low = data.valid.low[outer], n = data.layer_points;
  if (b.empty()) return {};
  return {(b.low[outer] - low + n - 1) / n,
          b.high[outer] == data.valid.high[outer] ? layers_of(data, b).high : (b.high[outer] - low) / n};
}

namespace {

// Notes the points that a loop reads through an argument and that the chain has not written yet.
void add_live_in(data_use& use, const argument& a, const loop& l) {
  const box b = touched_by(a, l.range());
  if (use.filled.covers(b) || contains(use.live_in, b)) return;
  // The box around all points of a stencil may have corners that none of them touches.
  for (const auto& offset : a.where->points()) {
    box at = b;
    for (int d = 0; d < max_dims; ++d) {
      at.low[d] = a.where->map(d, l.range().low[d]) + offset[d];
      at.high[d] = a.where->map(d, l.range().high[d] - 1) + offset[d] + 1;
    }
    at = intersection(at, a.data->valid);
    if (use.filled.covers(at)) continue;
    widen(use.live_in, at);
    if (use.live_in_kernel.empty()) use.live_in_kernel = l.name();
  }
}

template <class Filter>
std::vector<data_use> uses_of(chain loops, const Filter& is_wanted) {
  std::vector<data_use> uses;
  std::map<const dataset_core*, std::size_t> numbers;
  for (const auto& l : loops) {
    // A loop reads before it writes, whatever the order of its arguments.
    for (const bool is_write : {false, true}) {
      for (const auto& a : l->arguments()) {
        if (a.data == nullptr || !is_wanted(*a.data) || !(is_write ? writes(a.mode) : reads(a.mode))) continue;
        const box b = touched_by(a, l->range());
        const auto [it, is_new] = numbers.try_emplace(a.data, uses.size());
        if (is_new) uses.push_back({a.data, b, {{}, {}}, {}, {{}, {}}, {}});
        auto& u = uses[it->second];
        widen(u.touched, b);
        if (!is_write) {
          add_live_in(u, a, *l);
        } else {
          widen(u.written, b);
          if (a.mode == access_mode::write && leaves_no_gaps(*a.where)) u.filled.add(b);
        }
      }
    }
  }
  return uses;
}

}  // namespace

std::vector<data_use> uses_of(chain loops) {
  return uses_of(loops, [](const dataset_core& data) { return data.in_file; });
}

void check_temporaries(chain loops) {
  for (const auto& u : uses_of(loops, [](const dataset_core& data) { return data.is_cyclic_temporary; })) {
    if (u.live_in_kernel.empty()) continue;
    throw_error(errc::bad_argument, fmt::format("dataset '{}' was declared a cyclic temporary, but kernel '{}' reads "
                                                "of it what the chain has not written; what "
                                                "an earlier chain left there is not kept",
                                                u.data->name, u.live_in_kernel));
  }
}

namespace {

// Plans get no finer than that many rows of tiles: otherwise a 1-D dataset would have a row for each point. Chains of
// few loops may have more, so that the least memory that one loop needs is small.
constexpr std::int64_t most_rows_of_a_plan = 1024, most_rows_of_all_loops = 65536;

int least_height(chain loops) {
  const std::int64_t rows =
      std::max(most_rows_of_a_plan, most_rows_of_all_loops / static_cast<std::int64_t>(loops.size()));
  const std::int64_t extent = bounds(loops).extent(outermost(loops));
  return static_cast<int>(std::max<std::int64_t>(1, (extent + rows - 1) / rows));
}

// Coordinates in the outermost dimension that a chain touches of one dataset, by rows of tiles.
struct row_windows {
  dataset_core* data;
  std::vector<int> low, high;

  void add(const argument& a, int d, const int* ends, std::size_t step, int range_low, int range_high) {
    const int valid_low = data->valid.low[d], valid_high = data->valid.high[d];
    for (std::size_t t = 0; t < low.size(); ++t) {
      const int from = t > 0 ? ends[(t - 1) * step] : range_low, until = ends != nullptr ? ends[t * step] : range_high;
      if (until <= from) continue;
      low[t] = std::min(low[t], std::max(valid_low, a.where->map(d, from) + a.where->lowest(d)));
      high[t] = std::max(high[t], std::min(valid_high, a.where->map(d, until - 1) + a.where->highest(d) + 1));
    }
  }
  // Returns first and last of each row; groups of rows are made of these.
  [[nodiscard]] stream windows() const {
    const auto n = low.size();
    const int origin = data->valid.low[outer_of(*data)], points = data->layer_points;
    stream s{data, std::vector<int>(n + 1, std::numeric_limits<int>::max()), std::vector<int>(n, 0), {}, 0};
    for (std::size_t t = 0; t < n; ++t) {
      if (low[t] < high[t])
        s.first[t] = (low[t] - origin) / points, s.last[t] = (high[t] - origin + points - 1) / points;
      if (t > 0) s.last[t] = std::max(s.last[t], s.last[t - 1]);
    }
    s.first[n] = s.last[n - 1];
    for (std::size_t t = n; t-- > 0;) s.first[t] = std::min(s.first[t], s.first[t + 1]);
    return s;
  }
};

std::vector<stream> windows_of_rows(chain loops, int height, int& rows) {
  const int outer = outermost(loops);
  coordinates tile{};
  tile[outer] = height;
  const plan p = make_plan(loops, tile);
  rows = static_cast<int>(p.tile_count());
  std::vector<row_windows> all;
  std::map<const dataset_core*, std::size_t> numbers;
  for (std::size_t l = 0; l < loops.size(); ++l) {
    const auto& range = loops[l]->range();
    for (const auto& a : loops[l]->arguments()) {
      if (a.data == nullptr || !a.data->in_file || touched_by(a, range).empty()) continue;
      const auto [it, is_new] = numbers.try_emplace(a.data, all.size());
      const auto n = static_cast<std::size_t>(rows);
      if (is_new)
        all.push_back({a.data, std::vector<int>(n, std::numeric_limits<int>::max()),
                       std::vector<int>(n, std::numeric_limits<int>::min())});
      all[it->second].add(a, outer, p.ends[outer].empty() ? nullptr : p.ends[outer].data() + l, loops.size(),
                          range.low[outer], range.high[outer]);
    }
  }
  std::vector<stream> streams;
  for (const auto& w : all) streams.push_back(w.windows());
  return streams;
}

// Returns the layers of the next chain's first window that are final when the last group begins: those that have been
// written back for the last time.
layers ahead_of(const stream& s, int groups, int depth) {
  if (depth == 0 || groups < depth + 2) return {s.first[0], s.first[0]};
  return {s.first[0], std::max(s.first[0], std::min(s.last[0], s.first[static_cast<std::size_t>(groups - 1 - depth)]))};
}

// Groups rows. is_generous: rings have room for all layers that could be read ahead, up to a window; otherwise only as
// many are read ahead as the ring has room for anyway.
stream_plan group_rows(const std::vector<stream>& by_rows, int rows, int rows_of_group, int depth,
                       bool is_generous = false) {
  stream_plan p;
  p.depth = depth;
  p.rows = rows_of_group;
  p.groups = (rows + rows_of_group - 1) / rows_of_group;
  const auto groups = static_cast<std::size_t>(p.groups);
  for (const auto& r : by_rows) {
    auto& s = p.streams.emplace_back(stream{r.data, {}, {}, {}, 0});
    for (std::size_t g = 0; g < groups; ++g) {
      const auto begin = g * static_cast<std::size_t>(rows_of_group);
      const auto end = std::min(static_cast<std::size_t>(rows), begin + static_cast<std::size_t>(rows_of_group));
      s.first.push_back(r.first[begin]);
      s.last.push_back(r.last[end - 1]);
    }
    s.first.push_back(s.last.back());
    int most = 1;
    const auto far = static_cast<std::size_t>(depth);
    for (std::size_t g = 0; g < groups; ++g)
      most = std::max(most, s.last[std::min(g + far, groups - 1)] - s.first[g - std::min(g, far)]);
    s.ahead = ahead_of(s, p.groups, depth);
    const int beside = s.last.back() - s.first[groups - 1 - std::min(groups - 1, far)];  // when it is read
    if (is_generous) most = std::max(most, beside + s.ahead.high - s.ahead.low);
    s.ahead.high = std::min(s.ahead.high, s.ahead.low + most - beside);
    s.ring_bytes = mirrored_ring::round_up(bytes_of(*s.data, most));
    p.bytes += s.ring_bytes;
  }
  return p;
}

// A plan while it is made: rows of tiles of some height, and how far ahead reads and writes go at least.
struct rows_of_tiles {
  chain loops;
  int height = 0, rows = 1, depth = 1;
  std::vector<stream> windows;

  void cut(int to) {
    height = to;
    windows = windows_of_rows(loops, height, rows);
  }
  [[nodiscard]] stream_plan group(int rows_of_group) const { return group_rows(windows, rows, rows_of_group, depth); }
  [[nodiscard]] int most_rows(std::uint64_t bytes) const {
    int most = 1;
    for (int step = static_cast<int>(std::bit_floor(static_cast<unsigned>(rows))); step > 0; step /= 2) {
      if (most + step <= rows && group(most + step).bytes <= bytes) most += step;
    }
    return most;
  }
};

// Finds the highest tiles that fit, by halving.
rows_of_tiles rows_that_fit(chain loops, int height, std::uint64_t fast_bytes) {
  rows_of_tiles r{.loops = loops};
  const int least = least_height(loops);
  r.cut(height);
  while (r.group(1).bytes > fast_bytes && r.height > least) r.cut(std::max(least, (r.height + 1) / 2));
  if (r.group(1).bytes <= fast_bytes) return r;
  r.depth = 0;
  SITU_ASSERT(1, r.group(1).bytes <= fast_bytes, "take the parts that parts_of() makes");
  return r;
}

// Cuts low rows, so that groups of them can have any height.
void cut_low(rows_of_tiles& r, int extent) {
  if (r.height <= 1) return;
  const int wanted = std::min(r.height / 8, extent / (2 * wanted_groups));
  r.cut(std::max({1, std::min(r.height, least_height(r.loops)), wanted}));
}

// Chooses about wanted_groups groups, large enough for the store. Each thread runs blocks of its own if a group has a
// row for each (execute.h), so rows are cut for that, and a group has equally many rows for each thread.
int choose_rows_of_group(rows_of_tiles& r, bool are_blocks, std::uint64_t fast_bytes, int threads) {
  int most = r.most_rows(fast_bytes);
  while (are_blocks && most < threads && r.height >= 2 * least_block_height) {
    r.cut(r.height / 2);
    most = r.most_rows(fast_bytes);
  }
  const int share = are_blocks && most >= threads ? threads : 1;
  most -= most % share;
  int chosen = std::clamp((r.rows / wanted_groups + share - 1) / share * share, share, most);
  while (chosen < most && r.group(chosen).bytes < 3 * least_group_bytes) chosen += share;
  return chosen;
}

// Lets transfers go as far ahead as there is room, and reads the next chain's first layers at the end if they fit.
stream_plan with_moves_ahead(const rows_of_tiles& r, int rows_of_group, std::uint64_t fast_bytes) {
  stream_plan p = r.group(rows_of_group);
  while (p.depth < most_depth) {
    stream_plan deeper = group_rows(r.windows, r.rows, p.rows, p.depth + 1);
    if (deeper.bytes > fast_bytes) break;
    p = std::move(deeper);
  }
  stream_plan generous = group_rows(r.windows, r.rows, p.rows, p.depth, true);
  return generous.bytes <= fast_bytes ? generous : p;
}

}  // namespace

std::size_t least_bytes(chain loops, int depth) {
  int rows = 1;
  const auto windows = windows_of_rows(loops, least_height(loops), rows);
  return group_rows(windows, rows, 1, depth).bytes;
}

stream_plan make_stream_plan(chain loops, const coordinates& tile, bool is_wanted, std::uint64_t fast_bytes,
                             int threads) {
  const int outer = outermost(loops);
  const int extent = std::max(1, bounds(loops).extent(outer));
  rows_of_tiles r = rows_that_fit(loops, tile[outer] > 0 ? tile[outer] : extent, fast_bytes);
  int rows_of_group = 1;
  if (!is_wanted) {
    if (tile[outer] == 0) cut_low(r, extent);
    rows_of_group = choose_rows_of_group(r, is_block(tile, outer), fast_bytes, threads);
  }
  stream_plan p = with_moves_ahead(r, rows_of_group, fast_bytes);
  coordinates cells = tile;
  cells[outer] = r.height;
  p.tiles = make_plan(loops, cells);
  for (int d = 0; d < outer; ++d) p.row *= p.tiles.tiles[d];
  return p;
}

}  // namespace situ::stencil
