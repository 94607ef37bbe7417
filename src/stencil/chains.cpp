// Executes a context's chains: finds or makes the plan, chooses among tile sizes, runs, and keeps count.
#include "base/float_settings.h"
#include "stencil/context_parts.h"
#include "stencil/stopwatch.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace situ::stencil {
namespace {

std::vector<std::uint64_t> key_of(chain loops) {
  std::vector<std::uint64_t> key;
  key.reserve(loops.size() * 32);
  for (const auto& l : loops) {
    const auto& r = l->range();
    key.push_back(l->arguments().size() << 8 | static_cast<std::uint64_t>(l->dims()));
    for (int d = 0; d < l->dims(); ++d) {
      key.push_back(std::uint64_t{static_cast<std::uint32_t>(r.low[d])} << 32 | static_cast<std::uint32_t>(r.high[d]));
    }
    for (const auto& a : l->arguments()) {
      if (a.data == nullptr) {
        key.push_back(reinterpret_cast<std::uintptr_t>(a.into));
        continue;
      }
      key.push_back(reinterpret_cast<std::uintptr_t>(a.data));
      key.push_back(reinterpret_cast<std::uintptr_t>(a.where->id()) ^ static_cast<std::uint64_t>(a.mode) << 60);
    }
  }
  return key;
}

constexpr std::size_t tiles_to_try = 3;  // if each is run three times, the trials end by the tenth step

std::uint64_t hash_of(const std::vector<std::uint64_t>& key) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const auto word : key) h = (h ^ word) * 0x9e3779b97f4a7c15u ^ h >> 29;
  return h;
}

}  // namespace

namespace {

// Candidates when the model is not asked: tiles of layers for the cache that threads share, and blocks, of which each
// thread has one in its own cache. The first tile fills half of the shared cache: data that the tile leaves behind and
// data that streams through need room, too. Out of core the model knows nothing of reads and writes, and its
// measurement would take memory in addition to the budget.
std::vector<way> candidates_by_caches(chain loops, bool tune, const cache_sizes& caches) {
  std::vector<way> all{{choose_tile(loops, caches.shared_bytes / 2)}};
  if (!tune || all.front().tile == coordinates{}) return all;
  const auto add = [&](const coordinates& tile) {
    if (std::none_of(all.begin(), all.end(), [&](const auto& c) { return c.tile == tile; })) all.push_back({tile});
  };
  add(choose_block(loops, caches.own_bytes / 2));
  add(choose_block(loops, caches.own_bytes));
  add(choose_tile(loops, caches.shared_bytes / 4));
  add({});  // the uncut chain
  return all;
}

}  // namespace

// Returns the tiles to compare by running them: the best by the model. It returns one if there is no choice.
std::vector<way> context::parts::candidates_of(chain loops) {
  if (how.run_by == executor::plain) return {{}};
  if (how.tile != coordinates{}) return {{how.tile}};
  // If the user sets how much a tile may fill, that holds, whatever the caches are.
  if (slots != nullptr || how.cache_bytes > 0) return candidates_by_caches(loops, how.tune, caches);
  if (loops.size() < 2 || touches_at_most(loops, caches.shared_bytes / 2)) return {{}};
  const auto start = clock::now();
  const auto known = costs();
  statistics.measure_seconds += seconds_since(start);
  const auto begin = clock::now();
  tile_model model{loops, known, pool.size(), how.small_points};
  std::vector<way> all;
  for (const auto& r : worth_a_trial(model.rank(), how.tune ? tiles_to_try : 1))
    all.push_back({r.tile, false, r.expected});
  statistics.plan_seconds += seconds_since(begin);
  return all;
}

cached_plan& context::parts::find_plan(chain loops) {
  auto key = key_of(loops);
  auto& bucket = plans[hash_of(key)];
  for (auto& p : bucket) {
    if (p->key == key) {
      ++statistics.plans_reused;
      return *p;
    }
  }
  ++statistics.plans_made;
  auto made = std::make_unique<cached_plan>();
  for (const auto& l : loops) {
    for (const auto& a : l->arguments()) {
      if (a.where != nullptr) made->shapes.push_back(*a.where);
    }
  }
  made->key = std::move(key);
  made->dims = dims(loops);
  made->loop_count = loops.size();
  for (const auto& l : loops) made->points += static_cast<double>(l->range().points());
  made->uses = uses_of(loops);
  bucket.push_back(std::move(made));
  return *bucket.back();
}

namespace {

// If a chain's time, summed over all threads, is less than this times its number of loops, one thread may be faster: a
// loop on several threads costs its hand-over, which takes microseconds if processors are free, and far more if other
// programs use them, too.
constexpr double worth_handing_over_seconds = 400e-6;

constexpr int trials_at_most = 3;
constexpr double close_factor = 1.15;  // times of one tile differ by that factor on a machine that others use, too

// If the best tile takes longer than before this many times in a row, the machine has changed (a virtual one's
// processors move), and another tile may be the best.
constexpr int slow_runs_at_most = 8;

// Runs a way and notes its time.
template <class Run>
double try_ways(cached_plan& found, const Run& run) {
  const std::size_t chosen = found.trials->next();
  const double seconds = run(chosen);
  found.last = chosen;
  found.last_seconds = seconds;
  found.trials->note(chosen, seconds);
  return seconds;
}

bool same_tiles(const std::vector<way>& a, const std::vector<way>& b) {
  const auto holds = [](const std::vector<way>& all, const way& one) {
    return std::any_of(all.begin(), all.end(), [&](const way& w) { return w.tile == one.tile; });
  };
  return std::all_of(a.begin(), a.end(), [&](const way& w) { return w.is_alone || holds(b, w); }) &&
         std::all_of(b.begin(), b.end(), [&](const way& w) { return w.is_alone || holds(a, w); });
}

// Tells whether two chains have the same number of loops, over the same number of points of the same datasets. In
// whatever order the loops are, both chains then take the same time in a tile.
bool are_alike(const cached_plan& a, const cached_plan& b) {
  constexpr double nearly_same = 0.98;
  return a.dims == b.dims && a.loop_count == b.loop_count &&
         std::min(a.points, b.points) >= nearly_same * std::max(a.points, b.points) &&
         std::is_permutation(a.uses.begin(), a.uses.end(), b.uses.begin(), b.uses.end(),
                             [](const data_use& x, const data_use& y) { return x.data == y.data; });
}

}  // namespace

std::size_t way_trials::next() const noexcept {
  if (!is_warm_) return 0;
  std::size_t next = best_;
  int fewest = trials_at_most;
  for (std::size_t w = 0; w < ways_.size(); ++w) {
    const trial t = of(w);
    if (t.count < fewest && (t.count == 0 || t.seconds <= close_factor * of(best_).seconds)) fewest = t.count, next = w;
  }
  return next;
}

void way_trials::note(std::size_t way, double seconds) {
  if (!std::exchange(is_warm_, true)) return;
  trials_.resize(ways_.size());
  trial& t = trials_[way];
  if (t.count == trials_at_most) return note_steady_run(seconds);
  t.seconds = t.count++ == 0 ? seconds : std::min(t.seconds, seconds);
  if (trials_[best_].count == 0 || t.seconds < trials_[best_].seconds) best_ = way;
}

void way_trials::note_steady_run(double seconds) {
  slow_runs_ = seconds > close_factor * trials_[best_].seconds ? slow_runs_ + 1 : 0;
  if (slow_runs_ < slow_runs_at_most || ways_.size() < 2) return;
  slow_runs_ = 0;
  for (trial& t : trials_) t = {};
}

void way_trials::forget() noexcept {
  trials_.clear();
  best_ = 0;
  is_warm_ = false;
}

void context::parts::find_ways(chain loops, cached_plan& found) {
  found.trials->ways() = candidates_of(loops);
  if (slots != nullptr || found.trials->ways().size() < 2) return;
  for (const auto& [hash, bucket] : plans) {
    for (const auto& other : bucket) {
      if (other.get() != &found && are_alike(*other, found) &&
          same_tiles(other->trials->ways(), found.trials->ways())) {
        found.trials = other->trials;
        return;
      }
    }
  }
}

void context::parts::run_in_memory(chain loops, cached_plan& found, std::span<loop_time> times) {
  if (found.trials->ways().empty()) find_ways(loops, found);
  std::vector<way>& ways = found.trials->ways();
  const double seconds = try_ways(found, [&](std::size_t chosen) {
    const auto start = clock::now();
    while (chosen >= found.plans.size()) {
      found.plans.push_back(make_plan(loops, ways[found.plans.size()].tile));
      if (found.plans.size() == 1)
        found.footprint = footprint_bytes(loops, found.plans.front(), found.plans.front().tile_count() / 2);
    }
    const plan& p = found.plans[chosen];
    statistics.plan_seconds += seconds_since(start);
    statistics.last_tiles = p.tile_count();
    statistics.last_tile = p.tile;
    statistics.last_expected_seconds = ways[chosen].expected.seconds;
    statistics.last_footprint_bytes = found.footprint;
    const auto begin = clock::now();
    runner.run(loops, p, ways[chosen].is_alone, times);
    const double spent = seconds_since(begin);
    statistics.compute_seconds += spent;
    return spent;
  });
  if (how.tune && pool.size() > 1 && !ways.back().is_alone &&
      seconds * pool.size() < worth_handing_over_seconds * static_cast<double>(loops.size())) {
    ways.push_back({{}, true});
  }
}

void context::parts::run_out_of_core(chain loops, cached_plan& found, std::span<loop_time> times) {
  if (slots->make_resident(found.uses)) {
    found.choose_way(false);
    slots->note_changes(found.uses);
    statistics.last_parts = 1;
    return run_in_memory(loops, found, times);
  }
  if (found.parts.empty()) {
    const auto start = clock::now();
    found.parts = parts_of(loops, slots->fast_bytes());
    statistics.plan_seconds += seconds_since(start);
  }
  statistics.last_parts = static_cast<std::int64_t>(found.parts.size());
  if (found.parts.size() > 1) return run_in_parts(loops, found, times);
  run_streamed(loops, found, {}, times);
}

void context::parts::run_streamed(chain loops, cached_plan& found, std::span<const dataset_core* const> dead,
                                  std::span<loop_time> times) {
  found.choose_way(true);
  std::vector<way>& ways = found.trials->ways();
  std::erase_if(ways, [](const way& w) { return w.is_alone; });
  if (ways.empty()) find_ways(loops, found);
  try_ways(found, [&](std::size_t chosen) {
    const auto start = clock::now();
    if (chosen >= found.streams.size()) {
      found.streams.push_back(
          make_stream_plan(loops, ways[chosen].tile, how.tile[dims(loops) - 1] > 0, slots->fast_bytes(), pool.size()));
    }
    const auto& p = found.streams[chosen];
    statistics.plan_seconds += seconds_since(start);
    statistics.last_tiles = p.groups;
    statistics.last_footprint_bytes = p.bytes;
    // The time includes waits: tiles that use less memory bandwidth make reads and writes faster, too. It excludes the
    // making of rings, which only the first run of a size needs.
    const auto spent = [&] { return statistics.compute_seconds + statistics.wait_seconds; };
    const double before = spent();
    slots->run(loops, p, found.uses, dead, times, statistics);
    return spent() - before;
  });
}

void context::parts::run_in_parts(chain loops, cached_plan& found, std::span<loop_time> times) {
  const auto start = clock::now();
  std::vector<cached_plan*> plans_of_parts;
  std::vector<std::span<const data_use>> uses;
  for (const auto& p : found.parts) {
    plans_of_parts.push_back(&find_plan(loops.subspan(p.first, p.last - p.first)));
    uses.emplace_back(plans_of_parts.back()->uses);
  }
  find_dead(found.parts, uses);
  statistics.plan_seconds += seconds_since(start);
  try {
    slots->begin_parts(loops, found.uses);
    for (std::size_t n = 0; n < found.parts.size(); ++n) {
      const auto& p = found.parts[n];
      run_streamed(loops.subspan(p.first, p.last - p.first), *plans_of_parts[n], p.dead,
                   times.empty() ? times : times.subspan(p.first, p.last - p.first));
    }
  } catch (...) {
    slots->abandon_parts();
    throw;
  }
  slots->complete_parts();
}

void context::parts::run(chain loops, std::span<loop_time> times) {
  const auto start = clock::now();
  auto& found = find_plan(loops);
  if (!found.is_checked) check_temporaries(loops);
  found.is_checked = true;
  statistics.plan_seconds += seconds_since(start);
  last_plan = &found;
  if (slots == nullptr) return run_in_memory(loops, found, times);
  run_out_of_core(loops, found, times);
  slots->count_bytes(statistics);
}

void context::parts::execute(std::vector<std::unique_ptr<loop>> loops) {
  std::vector<loop_time> all_times(how.report ? loops.size() : 0);
  const std::span<loop_time> times{all_times};
  for (const auto& l : loops) l->begin();
  const auto start = clock::now();
  try {
    run(loops, times);
  } catch (...) {
    // After a failure of the chain its partial sums are no result.
    for (const auto& l : loops) {
      for (const auto& a : l->arguments()) {
        if (a.into != nullptr) a.into->is_fresh = true;
      }
    }
    throw;
  }
  statistics.run_seconds += seconds_since(start);
  for (const auto& l : loops) {
    const situ::detail::float_settings_scope as{situ::detail::float_settings{l->float_settings()}};
    l->end();  // combines the lines of reductions
  }
  ++statistics.chains;
  statistics.loops += loops.size();
  for (std::size_t i = 0; i < times.size(); ++i) {
    auto& r = reports[loops[i]->name()];
    ++r.calls;
    r.seconds += times[i].seconds;
    r.points += static_cast<std::uint64_t>(loops[i]->range().points());
    r.traffic = loops[i]->traffic();
    r.bytes_read += r.traffic.bytes_read;
    r.bytes_written += r.traffic.bytes_written;
  }
  if (how.find_nan) find_nan(loops);
}

namespace {

template <class T>
void find_nan_in(const dataset_core& data, const box& part, const std::string& kernel) {
  coordinates at = part.low;
  for (std::int64_t n = 0; n < part.points(); ++n) {
    for (int c = 0; c < data.components; ++c) {
      if (std::isnan(reinterpret_cast<const T*>(data.origin)[data.offset(at) + c * data.component_stride])) {
        throw_error(errc::bad_argument, fmt::format("dataset '{}', component {} is NaN at ({}, {}, {}, {}, {}) after a "
                                                    "chain in which kernel '{}' wrote it last",
                                                    data.name, c, at[0], at[1], at[2], at[3], at[4], kernel));
      }
    }
    for (int d = 0; d < max_dims; ++d) {
      if (++at[d] < part.high[d]) break;
      at[d] = part.low[d];
    }
  }
}

}  // namespace

void context::parts::find_nan(chain loops) {
  std::map<dataset_core*, const loop*> last;
  for (const auto& l : loops) {
    for (const auto& a : l->arguments()) {
      if (a.data != nullptr && writes(a.mode)) last[a.data] = l.get();
    }
  }
  for (const auto& [data, l] : last) {
    for_each_part(*data, data->inner, false, [&, data = data, l = l](const box& part) {
      if (data->type_name == typeid(double).name()) find_nan_in<double>(*data, part, l->name());
      if (data->type_name == typeid(float).name()) find_nan_in<float>(*data, part, l->name());
    });
  }
}

}  // namespace situ::stencil
