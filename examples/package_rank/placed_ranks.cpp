#include "placed_ranks.h"

#include <algorithm>
#include <cmath>

namespace package_rank {
namespace {

// What the rows of this place name elsewhere: ascending, hence grouped by place.
std::vector<vertex> ghosts_of(const graph_part& part) {
  std::vector<vertex> ghosts;
  for (std::uint64_t e = 0; e < part.edges; ++e)
    if (const vertex v = part.dependents.local()[e]; v < part.first || v >= part.end) ghosts.push_back(v);
  std::sort(ghosts.begin(), ghosts.end());
  ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
  return ghosts;
}

std::vector<std::uint32_t> indices_of_rows(const graph_part& part, std::span<const vertex> ghosts) {
  std::vector<std::uint32_t> indices(part.edges);
  for (std::uint64_t e = 0; e < part.edges; ++e) {
    const vertex v = part.dependents.local()[e];
    const bool own = v >= part.first && v < part.end;
    indices[e] = own ? v - part.first
                     : part.vertex_count() + static_cast<std::uint32_t>(
                                                 std::lower_bound(ghosts.begin(), ghosts.end(), v) - ghosts.begin());
  }
  return indices;
}

}  // namespace

ghost_values::ghost_values(const placed_graph& graph, traffic& traffic)
    : traffic_{traffic}, own_count_{graph.here().vertex_count()} {
  const graph_part& part = graph.here();
  const std::vector<vertex> ghosts = ghosts_of(part);
  ghost_count_ = ghosts.size();
  values_ = situ::allocate<double>(own_count_ + ghost_count_);
  row_offsets_ = part.offsets.local();
  row_indices_ = indices_of_rows(part, ghosts);

  // Tell every owner which of its values are needed, and where.
  std::vector<std::vector<vertex>> needed(situ::place_count());
  std::vector<situ::ptr<double>> destinations(situ::place_count());
  for (std::size_t g = 0; g < ghosts.size(); ++g) {
    const std::uint32_t p = graph.owner(ghosts[g]).index();
    if (needed[p].empty()) destinations[p] = values_ + static_cast<std::ptrdiff_t>(own_count_ + g);
    needed[p].push_back(ghosts[g]);
  }
  destinations = situ::all_to_all(destinations);
  needed = situ::exchange(needed);
  for (const situ::place p : situ::places()) {
    if (needed[p.index()].empty()) continue;
    neighbour& n = neighbours_.emplace_back(neighbour{p, destinations[p.index()], {}});
    for (const vertex v : needed[p.index()]) n.indices.push_back(v - part.first);
  }
}

ghost_values::~ghost_values() { situ::deallocate(values_); }

void ghost_values::renew() {
  const double* values = values_.local();
  for (const neighbour& n : neighbours_) {
    packed_.resize(n.indices.size());
    for (std::size_t i = 0; i < packed_.size(); ++i) packed_[i] = values[n.indices[i]];
    situ::put(n.destination, packed_.data(), packed_.size());
    traffic_.put(n.where, packed_.size() * sizeof(double));
  }
  situ::barrier();  // everybody's puts are complete
}

double ghost_values::sum_of_row(vertex local) const noexcept {
  const double* values = values_.local();
  double sum = 0;
  for (std::uint64_t e = row_offsets_[local]; e < row_offsets_[local + 1]; ++e) sum += values[row_indices_[e]];
  return sum;
}

rank_summary placed_ranks(const placed_graph& graph, ghost_values& values, const rank_options& options,
                          situ::ptr<double> ranks) {
  struct totals {
    double change, dangling;
  };
  const auto add = [](totals a, totals b) { return totals{a.change + b.change, a.dangling + b.dangling}; };
  const graph_part& part = graph.here();
  const double n = graph.vertex_count();
  const std::uint32_t* out = part.out_degrees.local();
  double* rank = ranks.local();

  totals local{0, 0};
  for (vertex v = 0; v < part.vertex_count(); ++v) {
    rank[v] = 1 / n;
    if (out[v] == 0) local.dangling += rank[v];
  }
  totals all = situ::all_reduce(local, add);
  rank_summary result;
  while (result.iterations < options.max_iterations) {
    for (vertex v = 0; v < part.vertex_count(); ++v) values.own()[v] = out[v] == 0 ? 0 : rank[v] / out[v];
    values.renew();
    const double base = (1 - options.damping) / n + options.damping * all.dangling / n;
    local = {0, 0};
    for (vertex v = 0; v < part.vertex_count(); ++v) {
      const double next = base + options.damping * values.sum_of_row(v);
      local.change += std::abs(next - rank[v]);
      if (out[v] == 0) local.dangling += next;
      rank[v] = next;
    }
    all = situ::all_reduce(local, add);  // also says that every place is done with its ghosts: the next puts may come
    result.residual = all.change;
    ++result.iterations;
    if (result.converged(options)) break;
  }
  return result;
}

std::vector<ranked> best_ranks(const placed_graph& graph, situ::ptr<double> ranks, std::size_t count, std::uint8_t mask,
                               std::uint8_t wanted) {
  const graph_part& part = graph.here();
  std::vector<ranked> best;
  for (vertex i = 0; i < part.vertex_count(); ++i)
    if ((part.marks.local()[i] & mask) == wanted) best.push_back({ranks.local()[i], part.first + i});
  const auto keep_best = [&] {
    const std::size_t kept = std::min(count, best.size());
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(kept), best.end());
    best.resize(kept);
  };
  keep_best();
  const std::vector<std::vector<ranked>> all = situ::gather(best, 0);
  best.clear();
  for (const std::vector<ranked>& row : all) best.insert(best.end(), row.begin(), row.end());
  keep_best();
  return best;
}

}  // namespace package_rank
