#include "stencil/stream_plan.h"

#include "stencil/mirrored_ring.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

namespace situ::stencil {
namespace {

// Groups of tiles in a chain. More cost nothing in transfers, since windows slide, and shorten the beginning and the end, when transfers and
// kernels do not overlap; but each has two points at which all wait. Below least_group_bytes the device would not be busy.
constexpr int wanted_groups = 24;
constexpr std::size_t least_group_bytes = std::size_t{16} << 20;

// Lower blocks are mostly skew.
constexpr int least_block_height = 4;

int outermost(chain loops) { return dims(loops) - 1; }

bool is_block(const coordinates& tile, int outer) {
  return std::any_of(tile.begin(), tile.begin() + outer, [](int width) { return width > 0; });
}

}  // namespace

void widen(slabs& a, slabs b) {
  if (b.empty()) return;
  a = a.empty() ? b : slabs{std::min(a.low, b.low), std::max(a.high, b.high)};
}

slabs slabs_of(const dataset_core& data, const box& b) {
  const int outer = outer_of(data), low = data.valid.low[outer], n = data.slab_points;
  return b.empty() ? slabs{} : slabs{(b.low[outer] - low) / n, (b.high[outer] - low + n - 1) / n};
}

slabs slabs_inside(const dataset_core& data, const box& b) {
  const int outer = outer_of(data), low = data.valid.low[outer], n = data.slab_points;
  if (b.empty()) return {};
  return {(b.low[outer] - low + n - 1) / n, b.high[outer] == data.valid.high[outer] ? slabs_of(data, b).high : (b.high[outer] - low) / n};
}

namespace {

// Notes what a loop reads through an argument and the chain has not written yet.
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

}  // namespace

std::vector<data_use> uses_of(chain loops) {
  std::vector<data_use> uses;
  std::map<const dataset_core*, std::size_t> numbers;
  for (const auto& l : loops) {
    // A loop reads before it writes, whatever the order of its arguments.
    for (const bool is_write : {false, true}) {
      for (const auto& a : l->arguments()) {
        if (a.data == nullptr || !a.data->in_file || !(is_write ? writes(a.mode) : reads(a.mode))) continue;
        const box b = touched_by(a, l->range());
        const auto [it, is_new] = numbers.try_emplace(a.data, uses.size());
        if (is_new) uses.push_back({a.data, b, {{}, {}}, {}, {{}, {}}, {}});
        auto& u = uses[it->second];
        widen(u.touched, b);
        if (!is_write) {
          add_live_in(u, a, *l);
        } else {
          widen(u.written, b);
          if (a.mode == access::write && leaves_no_gaps(*a.where)) u.filled.add(b);
        }
      }
    }
  }
  return uses;
}

slabs ahead_of(const stream& s, int groups, int depth) {
  if (groups < depth + 2) return {s.first[0], s.first[0]};
  return {s.first[0], std::max(s.first[0], std::min(s.last[0], s.first[static_cast<std::size_t>(groups - 1 - depth)]))};
}

namespace {

// first and last of each row of tiles, which is what groups of rows are made of.
std::vector<stream> windows_of_rows(chain loops, int height, int& rows) {
  const int outer = outermost(loops);
  coordinates tile{};
  tile[outer] = height;
  const plan p = make_plan(loops, tile);
  rows = static_cast<int>(p.tile_count());
  const auto n = static_cast<std::size_t>(rows);
  std::vector<stream> all;
  std::map<const dataset_core*, std::size_t> numbers;
  for (std::size_t t = 0; t < n; ++t) {
    for (const auto& f : footprints(loops, p, static_cast<std::int64_t>(t))) {
      if (!f.data->in_file) continue;
      const auto [it, is_new] = numbers.try_emplace(f.data, all.size());
      if (is_new) all.push_back({f.data, std::vector<int>(n + 1, std::numeric_limits<int>::max()), std::vector<int>(n, 0), 0});
      auto& s = all[it->second];
      const auto touched = slabs_of(*f.data, f.touched);
      s.first[t] = touched.low;
      s.last[t] = touched.high;
    }
  }
  for (auto& s : all) {
    for (std::size_t t = 1; t < n; ++t) s.last[t] = std::max(s.last[t], s.last[t - 1]);
    s.first[n] = s.last[n - 1];
    for (std::size_t t = n; t-- > 0;) s.first[t] = std::min(s.first[t], s.first[t + 1]);
  }
  return all;
}

stream_plan group_rows(const std::vector<stream>& by_rows, int rows, int rows_of_group, int depth = 1) {
  stream_plan p;
  p.depth = depth;
  p.rows = rows_of_group;
  p.groups = (rows + rows_of_group - 1) / rows_of_group;
  const auto groups = static_cast<std::size_t>(p.groups);
  for (const auto& r : by_rows) {
    auto& s = p.streams.emplace_back(stream{r.data, {}, {}, 0});
    for (std::size_t g = 0; g < groups; ++g) {
      const auto begin = g * static_cast<std::size_t>(rows_of_group);
      const auto end = std::min(static_cast<std::size_t>(rows), begin + static_cast<std::size_t>(rows_of_group));
      s.first.push_back(r.first[begin]);
      s.last.push_back(r.last[end - 1]);
    }
    s.first.push_back(s.last.back());
    int most = 1;
    const auto far = static_cast<std::size_t>(depth);
    for (std::size_t g = 0; g < groups; ++g) most = std::max(most, s.last[std::min(g + far, groups - 1)] - s.first[g - std::min(g, far)]);
    if (groups >= far + 2) {
      const auto ahead = ahead_of(s, p.groups, depth);
      most = std::max(most, s.last.back() - s.first[groups - 1 - far] + ahead.high - ahead.low);
    }
    s.ring_bytes = mirrored_ring::round_up(bytes_of(*s.data, most));
    p.bytes += s.ring_bytes;
  }
  return p;
}

}  // namespace

stream_plan make_stream_plan(chain loops, const coordinates& tile, bool is_wanted, std::uint64_t fast_bytes, int threads) {
  const int outer = outermost(loops);
  const int extent = std::max(1, bounds(loops).extent(outer));
  int height = tile[outer] > 0 ? tile[outer] : extent;
  int rows = 1;
  auto by_rows = windows_of_rows(loops, height, rows);
  auto p = group_rows(by_rows, rows, 1);
  const auto cut = [&](int to) {
    height = to;
    by_rows = windows_of_rows(loops, height, rows);
    p = group_rows(by_rows, rows, 1);
  };
  while (p.bytes > fast_bytes && height > 1) cut((height + 1) / 2);
  if (p.bytes > fast_bytes) {
    throw_error(errc::out_of_memory, fmt::format("a chain of {} loops needs {} of fast memory even with tiles of one slab, and the budget is {}; raise "
                                                 "options::fast_bytes, or execute() more often", loops.size(), format_bytes(p.bytes), format_bytes(fast_bytes)));
  }
  if (!is_wanted) {
    // Low rows, so that groups of them can have any height.
    if (tile[outer] == 0 && height > 1) cut(std::max(1, std::min(height / 8, extent / (2 * wanted_groups))));
    const auto most_rows = [&] {
      int most = 1;
      for (int step = std::bit_floor(static_cast<unsigned>(rows)); step > 0; step /= 2) {
        if (most + step <= rows && group_rows(by_rows, rows, most + step).bytes <= fast_bytes) most += step;
      }
      return most;
    };
    int most = most_rows();
    // Threads run blocks of their own where a group has a row for each (execute.h).
    while (is_block(tile, outer) && most < threads && height >= 2 * least_block_height) {
      cut(height / 2);
      most = most_rows();
    }
    const int share = is_block(tile, outer) && most >= threads ? threads : 1;  // as many for each thread
    most -= most % share;
    int enough = std::clamp((rows / wanted_groups + share - 1) / share * share, share, most);
    while (enough < most && group_rows(by_rows, rows, enough).bytes < 3 * least_group_bytes) enough += share;
    p = group_rows(by_rows, rows, enough);
  }
  while (p.depth < most_depth) {
    auto deeper = group_rows(by_rows, rows, p.rows, p.depth + 1);
    if (deeper.bytes > fast_bytes) break;
    p = std::move(deeper);
  }
  auto cells = tile;
  cells[outer] = height;
  p.tiles = make_plan(loops, cells);
  for (int d = 0; d < outer; ++d) p.row *= p.tiles.tiles[d];
  return p;
}

}  // namespace situ::stencil
