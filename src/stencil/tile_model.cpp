#include "stencil/tile_model.h"

#include "stencil/stream_plan.h"

#include <algorithm>
#include <cmath>

namespace situ::stencil {
namespace {

double product(const std::array<double, max_dims>& a, int first, int last) {
  double p = 1;
  for (int d = first; d < last; ++d) p *= a[d];
  return p;
}

double points_of(const box& b) { return b.empty() ? 0 : static_cast<double>(b.points()); }

// Counts the lines of a stencil that follow the one which reaches a point first, by their distance to the line that
// reached it before: in planes, else in lines.
struct line_gap {
  int planes = 0;
  int lines = 0;
  double count = 0;  // lines of the stencil
};

// Returns the gaps between the stencil's lines. The lines are sorted by their offsets in dimensions 2 and above (as
// one number of planes) and 1, ascending: the last one reaches a point first.
std::vector<line_gap> gaps_of(const shape& s) {
  std::vector<std::pair<int, int>> lines;
  for (const auto& p : s.points()) {
    int planes = 0;
    for (int d = max_dims - 1; d >= 2; --d) planes += p[d];
    lines.emplace_back(planes, p[1]);
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::vector<line_gap> gaps;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const line_gap g{lines[i + 1].first - lines[i].first, lines[i + 1].second - lines[i].second, 1};
    const auto same = std::find_if(gaps.begin(), gaps.end(),
                                   [&](const auto& o) { return o.planes == g.planes && o.lines == g.lines; });
    same != gaps.end() ? same->count += 1 : (gaps.push_back(g), 0.0);
  }
  return gaps;
}

}  // namespace

struct tile_model::use {
  const argument* a;
  std::size_t data;
  double bytes;  // of a point
  std::vector<line_gap> gaps;
};

// The model's state of a dataset in the current tile.
struct tile_model::dataset_state {
  box whole{{}, {}};  // that the chain touches
  double bytes = 0;   // of a point
  bool is_written = false;
  box all{{}, {}};     // touched in the tile
  box so_far{{}, {}};  // touched by the loops that have run in the tile
  double bytes_so_far = 0;
  int last_loop = -1;      // that touched it
  double last_middle = 0;  // of that loop's part, in the dimension that threads cut
  bool first_is_write = false;
  // Bytes that the tile touches first: those that a tile before has touched, by dimension; `fresh`: new to this chain.
  std::array<double, max_dims> from_before{};
  double fresh = 0;

  double total = 0;  // bytes of `all`
};

struct tile_model::part_cost {
  double moved_ns = 0;
  double other_ns = 0;
};

tile_model::tile_model(chain loops, tile_costs costs, int threads, std::int64_t small_points)
    : loops_{loops},
      costs_{std::move(costs)},
      threads_{threads},
      small_points_{small_points},
      dims_{stencil::dims(loops)},
      bounds_{bounds(loops)} {
  costs_.handed_ns = std::max(costs_.handed_ns, costs_.reuse.handed_ns());
  std::map<const dataset_core*, std::size_t> numbers;
  for (const auto& l : loops) {
    writes_apart_ = writes_apart_ && writes_are_apart(*l);
    auto& uses = uses_.emplace_back();
    for (const auto& a : l->arguments()) {
      if (a.data == nullptr) continue;
      const auto [it, is_new] = numbers.try_emplace(a.data, data_.size());
      if (is_new) data_.emplace_back().bytes = static_cast<double>(a.data->element_bytes) * a.data->components;
      auto& d = data_[it->second];
      widen(d.whole, touched_by(a, l->range()));
      d.is_written = d.is_written || writes(a.mode);
      uses.push_back({&a, it->second, d.bytes, reads(a.mode) ? gaps_of(*a.where) : std::vector<line_gap>{}});
    }
  }
  for (const auto& d : data_) whole_bytes_ += points_of(d.whole) * d.bytes;
}

tile_model::~tile_model() = default;

// Scales a distance for loops with several arrays. The curve was measured with one array in a cache and in turns;
// caches then keep a part of an array that is larger than they are. Loops that read and write several arrays leave
// less of it: beyond half of the share, distances count for more, in proportion to their excess.
double tile_model::crowded(double distance) const noexcept {
  const double roomy = costs_.share_bytes / 2;
  return roomy > 0 && distance > roomy ? distance * distance / roomy : distance;
}

const middle_ends& tile_model::ends_of(int d, int width) {
  const auto [it, is_new] = ends_.try_emplace({d, width});
  if (is_new) it->second = plan_middle(loops_, d, width);
  return it->second;
}

box tile_model::part_of(std::size_t l, const coordinates& tile) {
  box part = loops_[l]->range();
  for (int d = 0; d < dims_; ++d) {
    if (tile[d] == 0) continue;
    const auto& ends = ends_of(d, tile[d]);
    if (ends.tiles == 1) continue;
    part.low[d] = ends.before[l], part.high[d] = ends.at[l];
  }
  return part;
}

void tile_model::touch_all(const coordinates& tile) {
  for (auto& d : data_) {
    d.all = d.so_far = box{{}, {}};
    d.bytes_so_far = 0;
    d.last_loop = -1;
    d.first_is_write = false;
  }
  for (std::size_t l = 0; l < loops_.size(); ++l) {
    const box part = part_of(l, tile);
    if (part.empty()) continue;
    for (const auto& u : uses_[l]) {
      auto& d = data_[u.data];
      if (d.all.empty()) d.first_is_write = writes(u.a->mode);
      widen(d.all, touched_by(*u.a, part));
    }
  }
}

// Splits the bytes that a tile touches first. The bytes in the tile's own share of the dataset are new to the chain;
// the tile before in dimension 0 touched the rest, else the one in dimension 1, and so on.
void tile_model::split_first_touches(const coordinates& tile) {
  footprint_ = fresh_ = 0;
  for (auto& d : data_) {
    d.from_before = {};
    d.fresh = 0;
    d.total = points_of(d.all) * d.bytes;
    footprint_ += d.total;
    if (d.all.empty()) continue;
    std::array<double, max_dims> touched{}, own{};
    for (int k = 0; k < max_dims; ++k) {
      touched[k] = own[k] = d.all.extent(k);
      if (tile[k] > 0 && ends_of(k, tile[k]).tiles > 1)
        own[k] = std::min(touched[k], static_cast<double>(tile[k]) * d.whole.extent(k) / bounds_.extent(k));
    }
    d.fresh = product(own, 0, max_dims) * d.bytes;
    fresh_ += d.fresh;
    for (int k = 0; k < max_dims; ++k)
      d.from_before[k] = product(touched, 0, k) * (touched[k] - own[k]) * product(own, k + 1, max_dims) * d.bytes;
  }
}

// Adds an argument's cost. sharers: threads that share the part. cut: the dimension in which they share it, or -1.
void tile_model::add_use(part_cost& sum, const use& u, const box& part, const coordinates& tile, std::size_t l,
                         double sharers, int cut, int row_dim) {
  auto& d = data_[u.data];
  const box touched = touched_by(*u.a, part);
  if (touched.empty()) return;
  const bool is_write = writes(u.a->mode);
  const double bytes = points_of(touched) * u.bytes;
  const double seen = points_of(intersection(touched, d.so_far)) * u.bytes;
  const double first = std::max(0.0, bytes - seen);
  const bool lines_cut = touched.extent(0) < d.whole.extent(0);
  const bool planes_cut = touched.extent(1) < d.whole.extent(1);
  const double lines = points_of(touched) / touched.extent(0);
  // The number of places where contiguous memory begins.
  const double starts = lines_cut ? lines : planes_cut ? lines / touched.extent(1) : 1;
  const auto add = [&](double moved, double distance, double begins, bool is_handed = false) {
    if (moved <= 0) return;
    const auto c = costs_.reuse.at(crowded(distance / sharers));
    const double byte_ns = std::max(is_write ? c.write_ns : c.read_ns, is_handed ? costs_.handed_ns : 0.0);
    sum.moved_ns += moved * byte_ns + begins * moved / bytes * c.start_ns;
  };
  if (seen > 0) {
    double distance = 0;
    for (const auto& o : data_) {
      if (o.last_loop >= d.last_loop && o.last_loop >= 0) distance += o.bytes_so_far;
    }
    // The threads' cuts move with the skew: another thread used some of the bytes before.
    double handed = 0;
    if (cut >= 0 && sharers > 1) {
      const double moved = std::abs((part.low[cut] + part.high[cut]) * 0.5 - d.last_middle);
      const double reach = (u.a->where->highest(cut) - u.a->where->lowest(cut)) * 0.5;
      handed = std::min(1.0, (moved + reach) * (sharers - 1) / part.extent(cut));
    }
    add(seen * (1 - handed), distance, 0);
    add(seen * handed, distance, 0, true);
  }
  if (first > 0) {
    const double share = first / d.total;
    add(share * d.fresh, whole_bytes_ / (sharers > 1 ? 1 : threads_), starts);
    double distance = 0, tiles = 1;
    for (int k = 0; k < dims_; ++k) {
      if (tile[k] == 0) continue;
      distance = std::max(footprint_, fresh_ * tiles);
      // The row before belongs to another thread, whose cache holds as much of it as fits.
      const double near = k == row_dim ? std::min(1.0, costs_.own_bytes / footprint_) : 0;
      add(share * d.from_before[k] * near, distance, starts, true);
      add(share * d.from_before[k] * (1 - near), distance, starts);
      tiles *= ends_of(k, tile[k]).tiles;
    }
  }
  for (const auto& g : u.gaps) {
    double line = 0;
    for (const auto& o : uses_[l]) line += o.bytes * part.extent(0);
    double plane = line * part.extent(1);
    if (cut == 1) plane /= sharers;
    const double gap = g.planes > 0 ? g.planes * plane : g.lines * line;
    const auto c = costs_.reuse.at(gap);
    sum.moved_ns += g.count * bytes * c.read_ns;
  }
}

tile_model::part_cost tile_model::cost_of(std::size_t l, const box& part, const coordinates& tile, int row_dim) {
  part_cost sum;
  double sharers = 1;
  int cut = -1;
  if (row_dim < 0 && threads_ > 1 && part.points() >= small_points_) {
    for (int d = dims_ - 1; d >= 0; --d) {
      if (!loops_[l]->is_splittable(d)) continue;
      if (cut < 0 || part.extent(d) > part.extent(cut)) cut = d;
      if (part.extent(d) >= 2 * threads_) {
        cut = d;
        break;
      }
    }
    if (cut >= 0) sharers = threads_;
  }
  for (const auto& u : uses_[l]) add_use(sum, u, part, tile, l, sharers, cut, row_dim);
  for (const auto& u : uses_[l]) {
    auto& d = data_[u.data];
    widen(d.so_far, touched_by(*u.a, part));
    d.bytes_so_far = points_of(d.so_far) * d.bytes;
    d.last_loop = static_cast<int>(l);
    if (cut >= 0) d.last_middle = (part.low[cut] + part.high[cut]) * 0.5;
  }
  const double lines = points_of(part) / std::max(1, part.extent(0));
  const double planes = lines / std::max(1, part.extent(1));
  sum.other_ns = (costs_.part_ns + planes * costs_.plane_ns + lines * costs_.line_ns) / sharers +
                 (sharers > 1 ? costs_.epoch_ns : 0);
  sum.moved_ns /= sharers;
  return sum;
}

// Returns by how much loops run ahead of the tile's edge, on average.
double tile_model::mean_skew(int d, int width) {
  const auto& ends = ends_of(d, width);
  const double edge = bounds_.low[d] + (ends.tiles / 2 + 1.0) * width;
  double sum = 0, parts = 0;
  for (std::size_t l = 0; l < loops_.size(); ++l) {
    if (ends.at[l] > ends.before[l]) sum += std::max(0.0, ends.at[l] - edge), parts += 1;
  }
  return parts > 0 ? sum / parts : 0;
}

tile_prediction tile_model::predict(const coordinates& tile) {
  double tiles = 1, rounded_tiles = 1, rows = 1;
  int row_dim = -1;
  for (int d = 0; d < dims_; ++d) {
    if (tile[d] == 0 || ends_of(d, tile[d]).tiles == 1) continue;
    tiles *= static_cast<double>(bounds_.extent(d)) / tile[d];
    rounded_tiles *= ends_of(d, tile[d]).tiles;
    row_dim = d;
  }
  if (row_dim >= 0) rows = ends_of(row_dim, tile[row_dim]).tiles;
  tile_prediction p;
  p.in_rows = threads_ > 1 && writes_apart_ && rows >= threads_ && rounded_tiles / rows >= threads_;
  touch_all(tile);
  split_first_touches(tile);
  part_cost sum;
  for (std::size_t l = 0; l < loops_.size(); ++l) {
    const box part = part_of(l, tile);
    if (part.empty()) continue;
    const auto c = cost_of(l, part, tile, p.in_rows ? row_dim : -1);
    sum.moved_ns += c.moved_ns, sum.other_ns += c.other_ns;
  }
  // Data that was read first and written later is written back at the end.
  const auto far = costs_.reuse.at(whole_bytes_ / threads_);
  p.footprint_bytes = footprint_;
  for (const auto& d : data_) {
    if (d.is_written && !d.first_is_write)
      sum.moved_ns += d.fresh * std::max(0.0, far.write_ns - far.read_ns) / (p.in_rows ? 1 : threads_);
  }
  double runs = 1;
  if (p.in_rows) {
    // The first row is higher by the skew, and the thread of the second row waits for it.
    const double higher = mean_skew(row_dim, tile[row_dim]) / tile[row_dim];
    runs = (std::ceil(rows / threads_) + higher) / rows + (threads_ - 1) / rounded_tiles;
  }
  p.moved_seconds = sum.moved_ns * tiles * runs * 1e-9;
  p.seconds = p.moved_seconds + sum.other_ns * rounded_tiles * runs * 1e-9;
  return p;
}

namespace {

// Returns the widths of a dimension to try: powers of two up to half of the extent, and no cut.
std::vector<int> widths(int least, int most, int extent) {
  std::vector<int> all{0};
  for (int w = least; w <= most && 2 * w <= extent; w *= 2) all.push_back(w);
  return all;
}

}  // namespace

std::vector<coordinates> tile_model::grid() const {
  std::vector<coordinates> all;
  const int outer = dims_ - 1;
  const auto lines = dims_ == 1 ? widths(1 << 10, 1 << 22, bounds_.extent(0)) : widths(256, 1024, bounds_.extent(0));
  const auto middle = dims_ < 3 ? std::vector{0} : widths(16, 128, bounds_.extent(outer - 1));
  const auto high = dims_ < 2 ? std::vector{0} : widths(4, 256, bounds_.extent(outer));
  for (const int x : lines) {
    for (const int y : middle) {
      for (const int z : high) {
        // The planes of tall and narrow tiles are far apart. In no sweep was such a tile the best, but the model
        // favours them.
        if (y > 0 && (z == 0 || z > y)) continue;
        coordinates tile{};
        tile[0] = x;
        if (dims_ > 2) tile[outer - 1] = y;
        if (dims_ > 1) tile[outer] = z;
        all.push_back(tile);
      }
    }
  }
  return all;
}

std::vector<ranked_tile> tile_model::rank() {
  std::vector<ranked_tile> ranking;
  for (const auto& tile : grid()) ranking.push_back({tile, predict(tile)});
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const auto& a, const auto& b) { return a.expected.seconds < b.expected.seconds; });
  return ranking;
}

std::vector<ranked_tile> worth_a_trial(const std::vector<ranked_tile>& ranking, std::size_t most) {
  constexpr double much_worse = 1.25;
  // Tiles that differ by so little in the logarithms of their widths run alike.
  constexpr double nearly_same = 0.9;
  const auto differs = [](const coordinates& a, const coordinates& b) {
    double difference = 0;
    for (int d = 0; d < max_dims; ++d) {
      if ((a[d] == 0) != (b[d] == 0)) return true;
      if (a[d] > 0) difference += std::abs(std::log2(static_cast<double>(a[d]) / b[d]));
    }
    return difference > nearly_same;
  };
  std::vector<ranked_tile> chosen;
  for (const auto& r : ranking) {
    if (chosen.size() == most || r.expected.seconds > much_worse * ranking.front().expected.seconds) break;
    // An uncut chain is never slightly worse: if the model predicts that, the kernels' time hides the difference.
    if (r.tile == coordinates{} && !chosen.empty()) continue;
    if (std::all_of(chosen.begin(), chosen.end(), [&](const auto& c) { return differs(c.tile, r.tile); }))
      chosen.push_back(r);
  }
  return chosen;
}

}  // namespace situ::stencil
