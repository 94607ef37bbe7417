#include "stencil/plan.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace situ::stencil {
namespace {

constexpr int nothing = std::numeric_limits<int>::min() / 2;

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

// Returns the end below which all indices are that touch coordinates below `coordinate` through this argument.
int end_for(const argument& a, int d, int coordinate, int high) {
  const std::int64_t c = std::int64_t{coordinate} - a.where->lowest(d);  // map(i) < c
  const int multiplier = a.where->multiplier(d), divisor = a.where->divisor(d);
  if (multiplier == 0) return c > 0 ? high : nothing;
  const std::int64_t end = multiplier == divisor ? c : ceiling(c * divisor, multiplier);
  return static_cast<int>(std::clamp<std::int64_t>(end, nothing, high));
}

// Returns one past the highest coordinate that indices below `end` touch.
int touched_end(const argument& a, int d, int end) { return a.where->map(d, end - 1) + a.where->highest(d) + 1; }

struct reach {
  int read = nothing;     // one past the highest coordinate that later loops read, up to this tile
  int written = nothing;  // one past the highest coordinate that they write
};

struct local_argument {
  const argument* a;
  int data;  // numbered within the chain
};

// The arguments of all loops, with datasets numbered from 0.
struct flat_chain {
  std::vector<local_argument> arguments;
  std::vector<std::size_t> first;  // index of loop l's first argument; one more entry at the end
  int datasets = 0;

  explicit flat_chain(chain loops) {
    std::unordered_map<const dataset_core*, int> numbers;
    for (const auto& l : loops) {
      first.push_back(arguments.size());
      for (const auto& a : l->arguments()) {
        if (a.data == nullptr) continue;
        const auto [it, is_new] = numbers.try_emplace(a.data, datasets);
        datasets += is_new ? 1 : 0;
        arguments.push_back({&a, it->second});
      }
    }
    first.push_back(arguments.size());
  }
  [[nodiscard]] std::span<const local_argument> of(std::size_t l) const {
    return {arguments.data() + first[l], first[l + 1] - first[l]};
  }
};

// Sets the ends of all loops in one tile of dimension d. previous: the ends of the tile before, or null.
void plan_tile(chain loops, const flat_chain& flat, int d, std::int64_t nominal, bool is_last, const int* previous,
               int* ends, std::vector<reach>& later) {
  later.assign(static_cast<std::size_t>(flat.datasets), {});
  for (std::size_t l = loops.size(); l-- > 0;) {
    const int low = loops[l]->range().low[d];
    const int high = std::max(low, loops[l]->range().high[d]);
    if (is_last) {
      ends[l] = high;
      continue;
    }
    int end = static_cast<int>(std::clamp<std::int64_t>(nominal, low, high));
    for (const auto& [a, data] : flat.of(l)) {
      const auto& r = later[static_cast<std::size_t>(data)];
      const int asked = writes(a->mode) ? std::max(r.read, r.written) : r.written;
      if (asked != nothing) end = std::max(end, end_for(*a, d, asked, high));
    }
    if (previous != nullptr) end = std::max(end, previous[l]);
    ends[l] = end;
    if (end == low) continue;  // the loop has no index yet: it requires nothing
    for (const auto& [a, data] : flat.of(l)) {
      auto& r = later[static_cast<std::size_t>(data)];
      const int touched = touched_end(*a, d, end);
      if (reads(a->mode)) r.read = std::max(r.read, touched);
      if (writes(a->mode)) r.written = std::max(r.written, touched);
    }
  }
}

// Plans tiles [first, last) of dimension d, out of `of` tiles in all.
void plan_dimension(chain loops, const flat_chain& flat, int d, int width, int first, int last, int of, plan& p) {
  const int low = bounds(loops).low[d];
  const auto count = loops.size();
  p.tiles[d] = last - first;
  auto& ends = p.ends[d];
  ends.resize(static_cast<std::size_t>(p.tiles[d]) * count);
  std::vector<reach> later;
  for (int t = first; t < last; ++t) {
    int* const row = ends.data() + static_cast<std::size_t>(t - first) * count;
    plan_tile(loops, flat, d, low + (std::int64_t{t} + 1) * width, t == of - 1, t > first ? row - count : nullptr, row,
              later);
  }
}

int tiles_in(chain loops, int d, int width) {
  return width > 0 ? static_cast<int>(ceiling(std::int64_t{bounds(loops).extent(d)}, width)) : 1;
}

}  // namespace

box bounds(chain loops) {
  box all = loops.empty() ? box{} : loops.front()->range();
  for (const auto& l : loops) {
    for (int d = 0; d < max_dims; ++d) {
      all.low[d] = std::min(all.low[d], l->range().low[d]);
      all.high[d] = std::max(all.high[d], l->range().high[d]);
    }
  }
  return all;
}

int dims(chain loops) {
  int most = 1;
  for (const auto& l : loops) most = std::max(most, l->dims());
  return most;
}

plan make_plan(chain loops, const coordinates& tile) {
  plan p;
  p.loops = static_cast<int>(loops.size());
  p.tile = tile;
  if (loops.empty()) return p;
  const flat_chain flat{loops};
  for (int d = 0; d < max_dims; ++d) {
    const int tiles = tiles_in(loops, d, tile[d]);
    if (tiles > 1) plan_dimension(loops, flat, d, tile[d], 0, tiles, tiles, p);
  }
  return p;
}

middle_ends plan_middle(chain loops, int d, int width) {
  const int tiles = tiles_in(loops, d, width), middle = tiles / 2;
  if (tiles < 2) return {};
  plan p;
  plan_dimension(loops, flat_chain{loops}, d, width, middle - 1, middle + 1, tiles, p);
  const auto& both = p.ends[d];
  const auto half = both.begin() + static_cast<std::ptrdiff_t>(loops.size());
  return {tiles, {both.begin(), half}, {half, both.end()}};
}

bool writes_are_apart(const loop& l) {
  return std::all_of(l.arguments().begin(), l.arguments().end(), [](const argument& a) {
    if (a.data == nullptr || !writes(a.mode)) return true;
    for (int d = 0; d < max_dims; ++d) {
      if (a.where->multiplier(d) < a.where->divisor(d)) return false;
    }
    return true;
  });
}

box touched_by(const argument& a, const box& part) {
  box b = a.data->valid;
  for (int d = 0; d < max_dims; ++d) {
    b.low[d] = std::max(b.low[d], a.where->map(d, part.low[d]) + a.where->lowest(d));
    b.high[d] = std::min(b.high[d], touched_end(a, d, part.high[d]));
  }
  return b;
}

void widen(box& a, const box& b) {
  if (b.empty()) return;
  if (a.empty()) {
    a = b;
    return;
  }
  for (int d = 0; d < max_dims; ++d) {
    a.low[d] = std::min(a.low[d], b.low[d]);
    a.high[d] = std::max(a.high[d], b.high[d]);
  }
}

bool leaves_no_gaps(const shape& s) {
  for (int d = 0; d < max_dims; ++d) {
    if (s.multiplier(d) > s.divisor(d)) return false;
  }
  return s.points().size() == 1;
}

namespace {

// Returns the datasets' footprints in the order of their numbers in the chain.
std::vector<footprint> footprints(chain loops, const flat_chain& flat, const plan& p, std::int64_t tile) {
  const auto at = p.tile_index(tile);
  std::vector<footprint> all(static_cast<std::size_t>(flat.datasets), {nullptr, {{}, {}}});
  for (std::size_t l = 0; l < loops.size(); ++l) {
    const box part = p.part(static_cast<int>(l), loops[l]->range(), at);
    if (part.empty()) continue;
    for (const auto& [a, data] : flat.of(l)) {
      const box touched = touched_by(*a, part);
      if (touched.empty()) continue;
      auto& f = all[static_cast<std::size_t>(data)];
      f.data = a->data;
      widen(f.touched, touched);
    }
  }
  std::erase_if(all, [](const footprint& f) { return f.data == nullptr; });
  return all;
}

std::uint64_t bytes_of(const std::vector<footprint>& all) {
  std::uint64_t sum = 0;
  for (const auto& f : all)
    sum += static_cast<std::uint64_t>(f.touched.points()) * f.data->element_bytes *
           static_cast<std::uint64_t>(f.data->components);
  return sum;
}

}  // namespace

std::vector<footprint> footprints(chain loops, const plan& p, std::int64_t tile) {
  return footprints(loops, flat_chain{loops}, p, tile);
}

std::uint64_t footprint_bytes(chain loops, const plan& p, std::int64_t tile) {
  return bytes_of(footprints(loops, p, tile));
}

namespace {

// Returns the bytes of the tile in the middle. Only that tile and those before it are planned.
std::uint64_t tile_bytes(chain loops, const flat_chain& flat, const coordinates& tile) {
  plan p;
  p.loops = static_cast<int>(loops.size());
  for (int d = 0; d < max_dims; ++d) {
    const int tiles = tiles_in(loops, d, tile[d]), middle = tiles / 2;
    if (tiles > 1) plan_dimension(loops, flat, d, tile[d], middle - 1, middle + 1, tiles, p);
  }
  return bytes_of(footprints(loops, flat, p, p.tile_count() - 1));
}

// Short lines cost more in the loops' edges than the cache gains; so do flat tiles whose skew exceeds their height.
int least_width(int d) { return d == 0 ? 128 : 4; }

// Sets the widest extent in dimension d that fits, or the least if none does.
void widen_to(chain loops, const flat_chain& flat, coordinates& tile, int d, std::uint64_t bytes) {
  int low = least_width(d), high = bounds(loops).extent(d);
  while (high - low > std::max(1, low / 8)) {
    tile[d] = low + (high - low) / 2;
    (tile_bytes(loops, flat, tile) <= bytes ? low : high) = tile[d];
  }
  tile[d] = low;
}

}  // namespace

bool touches_at_most(chain loops, std::uint64_t bytes) { return tile_bytes(loops, flat_chain{loops}, {}) <= bytes; }

coordinates choose_tile(chain loops, std::uint64_t bytes) {
  coordinates tile{};
  if (loops.size() < 2) return tile;
  const flat_chain flat{loops};
  const box all = bounds(loops);
  const int most = dims(loops);
  if (tile_bytes(loops, flat, tile) <= bytes) return tile;
  for (int d = most - 1; d >= 0; --d) {
    if (all.extent(d) <= least_width(d)) continue;
    tile[d] = least_width(d);
    if (tile_bytes(loops, flat, tile) > bytes) continue;
    widen_to(loops, flat, tile, d, bytes);
    return tile;
  }
  return tile;
}

coordinates choose_block(chain loops, std::uint64_t bytes) {
  coordinates tile{};
  const int outer = dims(loops) - 1, next = outer - 1;
  const box all = bounds(loops);
  if (loops.size() < 2 || outer < 1 || all.extent(outer) <= least_width(outer) || all.extent(next) <= least_width(next))
    return tile;
  const flat_chain flat{loops};
  for (tile[outer] = 16; tile[outer] >= least_width(outer); tile[outer] /= 2) {
    tile[next] = least_width(next);
    if (tile_bytes(loops, flat, tile) <= bytes || tile[outer] == least_width(outer)) break;
  }
  widen_to(loops, flat, tile, next, bytes);
  return tile;
}

}  // namespace situ::stencil
