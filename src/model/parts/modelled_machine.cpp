#include "model/parts/modelled_machine.h"

#include <situ/base/error_code.h>

#include "model/parts/machine_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace situ::model {

modelled_machine::impl::impl(machine_spec from) : spec{std::move(from)} {
  for (const cache_spec& cache : spec.caches)
    caches.push_back(
        {.tags = {cache.sets, cache.ways, cache.line_bytes, cache.replacement},
         .hit_time = cache.hit_time,
         .line_time = cache.line_time,
         .index = static_cast<std::uint32_t>(caches.size()),
         .tile = cache.tile,
         .under_way = {cache.outstanding, cache.outstanding_per_core, spec.cores.size()},
         .prefetcher = {cache.prefetch_streams, cache.prefetch_lines, cache.line_bytes, cache.prefetch_page},
         .level = cache.level,
         .write_through = cache.write_through,
         .allocates_on_write = cache.allocates_on_write,
         .is_exclusive = cache.inclusion == machine::inclusion::exclusive});
  for (const tile_spec& tile : spec.tiles)
    tiles.push_back({.bus = tile_bus{tile}, .adapter = network_adapter{tile}, .at = {tile.x, tile.y}});
  for (const memory_spec& memory : spec.memories)
    memories.push_back(memory.side_cache == none ? memory_controller{memory}
                                                 : memory_controller{memory, spec.side_caches[memory.side_cache]});
  if (spec.mesh.columns > 0) {
    network.emplace(spec.mesh);
    if (spec.control.columns > 0) control.emplace(spec.control, "control ");
    for (tile_state& tile : tiles)
      for (const memory_spec& memory : spec.memories)
        tile.routes.push_back({.there = network->route_between(tile.at, {memory.x, memory.y}),
                               .back = network->route_between({memory.x, memory.y}, tile.at)});
  }
  for (const core_spec& core : spec.cores) {
    for (const std::vector<std::uint32_t>* way : {&core.data_path, &core.fetch_path})
      for (std::size_t i = 0; i + 1 < way->size(); ++i) caches[(*way)[i]].next = &caches[(*way)[i + 1]];
    core_state& state = cores.emplace_back();
    state.tile = core.tile;
    state.core = core.core;
    for (const std::uint32_t cache : core.data_path) state.data_path.push_back(&caches[cache]);
    for (const std::uint32_t cache : core.fetch_path) state.fetch_path.push_back(&caches[cache]);
    if (!core.data_path.empty()) {
      state.first_data = state.data_path.front();
      state.first_data->first_of.push_back(static_cast<std::uint32_t>(cores.size() - 1));
    }
    if (!core.fetch_path.empty()) state.first_fetch = state.fetch_path.front();
    for (const path each : {path{state.data_path}, path{state.fetch_path}})
      for (const cache_state* cache : each)
        state.has_registers |= cache->under_way.exist() || cache->prefetcher.exists();
    give_translation(core, state);
    if (core.window > 0)
      state.past_misses =
          std::make_unique<impl::ahead>(instruction_window{core.window, core.store_buffer}, load_dependence{});
    if (core.window > 0) caches[core.data_path.front()].is_met_ahead = true;
  }
  walks_through_caches = std::ranges::any_of(spec.cores, &core_spec::walks_through_caches);
  if (walks_through_caches) map_page_tables();
  connect_inclusion();
  walk_instructions.resize(cores.size());
}

void modelled_machine::impl::give_translation(const core_spec& core, core_state& to) const {
  if (core.thread > 0) {
    const core_state& first = cores[core.core];
    to.itlb = first.itlb.of_sibling();
    to.dtlb = first.dtlb.of_sibling();
    to.further = first.further;
    return;
  }
  to.itlb = tlb{core.itlb};
  to.dtlb = tlb{core.dtlb, core.page_bytes};
  if (core.stlb.sets > 0 || core.walks_through_caches)
    to.further = std::make_shared<further_translation>(tlb{core.stlb}, page_walk_cache{core.walk_cache});
}

// Puts the page tables into the first memory of all tiles. A caller that maps all addresses puts them elsewhere.
void modelled_machine::impl::map_page_tables() {
  const auto shared = std::ranges::find(spec.memories, none, &memory_spec::tile);
  const auto first = shared == spec.memories.end() ? spec.memories.begin() : shared;
  if (first == spec.memories.end()) return;
  ranges.push_back(
      {page_tables::begin, page_tables::end, static_cast<std::uint32_t>(first - spec.memories.begin()), true});
}

// Connects caches that hold all lines of those in front of them, or none.
void modelled_machine::impl::connect_inclusion() {
  for (cache_state& each : caches) {
    if (const std::uint32_t of = spec.caches[each.index].victims_of; of != none) each.victims_of = &caches[of];
    each.has_victims = spec.caches[each.index].victim_buffer != none;
    each.feeds_exclusive = each.next != nullptr && each.next->is_exclusive;
    for (cache_state* outer = each.next; outer != nullptr; outer = outer->next)
      if (spec.caches[outer->index].inclusion == machine::inclusion::inclusive) outer->inner.push_back(&each);
  }
  for (core_state& core : cores)
    for (const path each : {path{core.data_path}, path{core.fetch_path}})
      core.has_victims |= std::ranges::any_of(each, &cache_state::has_victims);
  for (cache_state& each : caches)
    each.fills_by_keys =
        each.feeds_exclusive || !each.inner.empty() || !spec.caches[each.index].replacement.is_by_order_of_use();
}

// Handles a cache's first line: from now on the cache is asked for its lines, in the order of the tile's caches.
void modelled_machine::impl::begin_to_use(cache_state& cache) {
  cache.is_used = true;
  const auto add = [&](std::vector<cache_state*>& to) { to.insert(std::ranges::lower_bound(to, &cache), &cache); };
  add(tiles[cache.tile].used_caches);
  if (spec.caches[cache.index].kind == machine::cache_kind::instruction || !spec.tiles[cache.tile].is_snooped) return;
  for (const std::uint32_t core : spec.tiles[cache.tile].cores)
    if (std::ranges::find(cores[core].data_path, &cache) == cores[core].data_path.end()) add(cores[core].peers);
}

modelled_machine::impl::home modelled_machine::impl::find_home(std::uint64_t address, std::uint32_t tile) {
  const auto behind = std::ranges::upper_bound(ranges, address, {}, &range::begin);
  if (behind == ranges.begin() || std::prev(behind)->end <= address)
    throw_error(
        errc::bad_argument,
        fmt::format("no memory of the modelled machine holds {:#x}; say with map_range() where it lies", address));
  range found = *std::prev(behind);
  if (found.memory == by_page) {
    const page_home page = finder(address, tile);
    found = {std::max(found.begin, page.begin), std::min(found.end, page.end), page.memory, found.cacheable};
  }
  page_homes::range at_home;
  if (!homes.empty()) {
    at_home = homes.at(address);
    found.begin = std::max(found.begin, at_home.begin);
    found.end = std::min(found.end, at_home.end);
  }
  const std::uint32_t memory = found.memory == local_memory ? spec.tiles[tile].local_memory : found.memory;
  const std::uint32_t of_tile = spec.memories[memory].tile;
  tile_state& asks = tiles[tile];
  asks.last_begin = found.begin;
  asks.last_bytes = found.end - found.begin;
  // Another tile's own memory is reached word by word.
  asks.last_home = {memory, found.cacheable && (of_tile == none || of_tile == tile), of_tile == tile};
  if (at_home.tile != page_homes::nobody && of_tile == none && found.cacheable) {
    asks.last_home.homed_at = at_home.tile;
    asks.last_home.cacheable = at_home.tile == tile;
  }
  return asks.last_home;
}

modelled_machine::modelled_machine(machine_spec spec) : impl_{std::make_unique<impl>(std::move(spec))} {}
modelled_machine::~modelled_machine() = default;
modelled_machine::modelled_machine(modelled_machine&&) noexcept = default;
modelled_machine& modelled_machine::operator=(modelled_machine&&) noexcept = default;

const machine_spec& modelled_machine::spec() const noexcept { return impl_->spec; }
std::uint32_t modelled_machine::core_count() const noexcept { return static_cast<std::uint32_t>(impl_->cores.size()); }
std::uint32_t modelled_machine::tile_of(std::uint32_t core) const noexcept { return impl_->cores[core].tile; }
time_ps modelled_machine::period(std::uint32_t core) const noexcept { return impl_->spec.cores[core].period; }
void modelled_machine::observe(line_observer* observer) noexcept { impl_->observer = observer; }
void modelled_machine::observe_sharing(sharing_observer* observer) noexcept { impl_->sharing = observer; }
void modelled_machine::observe_memories(memory_observer* observer) noexcept {
  for (std::uint32_t i = 0; i < impl_->memories.size(); ++i) impl_->memories[i].observe(i, observer);
}
time_ps modelled_machine::transfer_time(std::uint32_t core) const noexcept {
  const impl::core_state& c = impl_->cores[core];
  if (c.first_data == nullptr) return 0;
  return impl_->tiles[c.tile].bus.transfer_time(c.first_data->tags.line_bytes()) + c.data_path.back()->hit_time +
         c.first_data->hit_time;
}
sharing_counts modelled_machine::sharing(std::uint32_t core) const noexcept {
  return impl_->is_warming ? sharing_counts{} : impl_->cores[core].shared;
}

namespace {

template <class Range>
void cut_out(std::vector<Range>& ranges, std::uint64_t begin, std::uint64_t end) {
  std::vector<Range> kept;
  for (const Range& old : ranges) {
    if (old.begin < begin) kept.push_back({old.begin, std::min(old.end, begin), old.memory, old.cacheable});
    if (old.end > end) kept.push_back({std::max(old.begin, end), old.end, old.memory, old.cacheable});
  }
  ranges = std::move(kept);
}

}  // namespace

void modelled_machine::map_range(std::uint64_t begin, std::uint64_t end, std::uint32_t memory, bool cacheable) {
  impl& m = *impl_;
  if (begin >= end) throw_error(errc::bad_argument, fmt::format("the range {:#x} to {:#x} is empty", begin, end));
  if (memory == local_memory) {
    for (const tile_spec& tile : m.spec.tiles)
      if (tile.local_memory == none)
        throw_error(errc::bad_argument, fmt::format("{} has no memory of its own; name one of the machine", tile.name));
  } else if (memory == by_page) {
    if (!m.finder) throw_error(errc::bad_argument, "pages are mapped before find_pages_by()");
  } else if (memory >= m.memories.size()) {
    throw_error(errc::bad_argument,
                fmt::format("there is no memory {}; the last is {}", memory, m.memories.size() - 1));
  }
  cut_out(m.ranges, begin, end);
  m.ranges.push_back({begin, end, memory, cacheable});
  std::ranges::sort(m.ranges, {}, &impl::range::begin);
  pages_changed();
}

void modelled_machine::find_pages_by(std::function<page_home(std::uint64_t, std::uint32_t)> finder) {
  impl_->finder = std::move(finder);
  pages_changed();
}

void modelled_machine::pages_changed() noexcept {
  for (impl::tile_state& tile : impl_->tiles) tile.last_bytes = 0;
}

std::uint32_t modelled_machine::memory_of(std::uint64_t address, std::uint32_t tile) const {
  return impl_->home_of(address, tile).memory;
}

bool modelled_machine::has_data_cache(std::uint32_t core) const noexcept {
  return !impl_->spec.cores[core].data_path.empty();
}

set_associative_cache& modelled_machine::first_data_cache(std::uint32_t core) noexcept {
  return impl_->caches[impl_->spec.cores[core].data_path.front()].tags;
}

time_ps modelled_machine::first_hit_time(std::uint32_t core) const noexcept {
  return has_data_cache(core) ? impl_->caches[impl_->spec.cores[core].data_path.front()].hit_time : 0;
}

void modelled_machine::count_hits(std::uint32_t core, std::uint64_t reads, std::uint64_t writes) noexcept {
  impl_->cores[core].reads += reads;
  impl_->cores[core].writes += writes;
  if (has_data_cache(core)) impl_->caches[impl_->spec.cores[core].data_path.front()].hits += reads + writes;
}

bool modelled_machine::has_instruction_cache(std::uint32_t core) const noexcept {
  const std::vector<std::uint32_t>& way = impl_->spec.cores[core].fetch_path;
  return !way.empty() && impl_->spec.caches[way.front()].kind == machine::cache_kind::instruction;
}

set_associative_cache& modelled_machine::first_instruction_cache(std::uint32_t core) noexcept {
  return impl_->caches[impl_->spec.cores[core].fetch_path.front()].tags;
}

time_ps modelled_machine::first_fetch_time(std::uint32_t core) const noexcept {
  return impl_->caches[impl_->spec.cores[core].fetch_path.front()].hit_time;
}

std::uint64_t modelled_machine::walk_instructions(std::uint32_t core) const noexcept {
  return impl_->is_warming ? 0 : impl_->walk_instructions[core];
}

time_ps modelled_machine::translate_fetch(std::uint32_t core, std::uint64_t address, time_ps now) {
  impl::core_state& c = impl_->cores[core];
  if (c.itlb.is_last(address)) return now;
  const time_ps translated = impl_->translate(core, c.itlb, address, now);
  c.waited += translated - now;
  return translated;
}

void modelled_machine::count_fetch_hits(std::uint32_t core, std::uint64_t lines) noexcept {
  if (lines == 0) return;
  impl_->cores[core].fetches += lines;
  impl_->caches[impl_->spec.cores[core].fetch_path.front()].hits += lines;
}

camat_figures modelled_machine::camat(std::uint32_t cache) const {
  const impl::cache_state& state = impl_->caches[cache];
  if (state.victims_of != nullptr) return {};  // its hits are misses of its cache
  if (impl_->spec.caches[cache].level > 1 || state.is_met_ahead) return state.meter.figures();
  // A core waits for its misses, so nothing overlaps in a first cache.
  camat_figures f;
  f.accesses = state.hits + state.misses;
  f.hit_time = f.hit_active = f.accesses * state.hit_time;
  f.pure_time = f.pure_active = state.miss_time;
  f.pure_misses = state.waited_misses;
  f.active = f.hit_active + f.pure_active;
  return f;
}

void modelled_machine::add_prefetched(std::vector<part_counters>& to) const {
  const impl& m = *impl_;
  const auto told = [&](std::uint64_t count) { return m.is_warming ? 0 : count; };
  auto counted = to.begin() + static_cast<std::ptrdiff_t>(m.cores.size());  // counters() has no part of a victim buffer
  for (const impl::cache_state& of : m.caches) {
    if (of.victims_of != nullptr) continue;
    part_counters& part = *counted++;
    if (!of.prefetcher.exists()) continue;
    const set_associative_cache::prefetched_lines& lines = of.tags.prefetched();
    part.values.emplace_back("prefetches_useful", told(lines.used));
    part.values.emplace_back("prefetches_late", told(of.prefetches_late));
    part.values.emplace_back("prefetches_useless", told(lines.unused));
  }
}

namespace {

std::vector<part_counters> without_counts(std::vector<part_counters> parts) {
  for (part_counters& part : parts)
    for (auto& [name, value] : part.values) value = 0;
  return parts;
}

}  // namespace

std::vector<part_counters> modelled_machine::counters() const {
  const impl& m = *impl_;
  std::vector<part_counters> all;
  for (std::size_t i = 0; i < m.cores.size(); ++i) {
    const impl::core_state& c = m.cores[i];
    all.push_back({m.spec.cores[i].name,
                   "core",
                   {{"reads", c.reads},
                    {"writes", c.writes},
                    {"atomics", c.atomics},
                    {"fetches", c.fetches},
                    {"waited_ps", c.waited}}});
  }
  for (std::size_t i = 0; i < m.caches.size(); ++i) {
    const impl::cache_state& c = m.caches[i];
    if (c.victims_of != nullptr) continue;
    // A line leaves a cache with a victim buffer by the buffer.
    const std::uint32_t buffer = m.spec.caches[i].victim_buffer;
    const impl::cache_state& out = buffer == none ? c : m.caches[buffer];
    const std::uint64_t invalidations = c.invalidations + (buffer == none ? 0 : out.invalidations);
    const camat_figures f = camat(static_cast<std::uint32_t>(i));
    part_counters& counted = all.emplace_back(part_counters{m.spec.caches[i].name,
                                                            "cache",
                                                            {{"hits", c.hits},
                                                             {"misses", c.misses},
                                                             {"evictions", out.evictions},
                                                             {"write_backs", out.write_backs},
                                                             {"invalidations", invalidations},
                                                             {"active_ps", f.active},
                                                             {"hit_active_ps", f.hit_active},
                                                             {"pure_misses", f.pure_misses},
                                                             {"pure_miss_ps", f.pure_time},
                                                             {"pure_active_ps", f.pure_active}}});
    if (buffer != none) counted.values.emplace_back("victim_hits", out.hits);
    if (c.prefetcher.exists()) counted.values.emplace_back("prefetches", c.prefetches);
    if (m.walks_through_caches) {
      counted.values.emplace_back("walk_hits", c.walk_hits);
      counted.values.emplace_back("walk_misses", c.walk_misses);
      if (buffer != none) counted.values.emplace_back("victim_walk_hits", out.walk_hits);
    }
  }
  for (std::size_t i = 0; i < m.cores.size(); ++i) {
    const impl::core_state& c = m.cores[i];
    if (c.core != i) continue;  // its first thread's
    const bool has_further = c.further != nullptr;
    if (c.itlb.exists()) all.push_back(c.itlb.counters(fmt::format("ITLB {}", i), has_further));
    if (c.dtlb.exists()) all.push_back(c.dtlb.counters(fmt::format("DTLB {}", i), has_further));
    if (!has_further) continue;
    if (c.further->stlb.exists()) all.push_back(c.further->stlb.counters(fmt::format("STLB {}", i)));
    if (const page_walk_cache& held = c.further->walk_cache; held.exists())
      all.push_back({fmt::format("page-walk cache {}", i), "tlb", {{"hits", held.hits()}, {"misses", held.misses()}}});
  }
  for (const impl::tile_state& tile : m.tiles) all.push_back(tile.bus.counters());
  for (const impl::tile_state& tile : m.tiles) all.push_back(tile.adapter.counters());
  if (m.network) m.network->append_counters(all);
  if (m.control) m.control->append_counters(all);
  for (const memory_controller& memory : m.memories) memory.append_side_counters(all);
  for (const memory_controller& memory : m.memories) all.push_back(memory.counters());
  return m.is_warming ? without_counts(std::move(all)) : all;
}

void modelled_machine::reset_counters() noexcept {
  impl& m = *impl_;
  std::ranges::fill(m.walk_instructions, 0);
  for (impl::core_state& c : m.cores) {
    c.reads = c.writes = c.atomics = c.fetches = c.waited = 0;
    c.shared = {};
    c.itlb.reset_counters();
    c.dtlb.reset_counters();
    if (!c.further) continue;
    c.further->stlb.reset_counters();
    c.further->walk_cache.reset_counters();
  }
  for (impl::cache_state& c : m.caches) {
    c.hits = c.misses = c.evictions = c.write_backs = c.invalidations = c.miss_time = c.waited_misses = 0;
    c.prefetches = c.prefetches_late = c.walk_hits = c.walk_misses = 0;
    c.tags.reset_prefetched();
    c.meter.reset();
  }
  for (impl::tile_state& tile : m.tiles) {
    tile.bus.reset_counters();
    tile.adapter.reset_counters();
  }
  if (m.network) m.network->reset_counters();
  if (m.control) m.control->reset_counters();
  for (memory_controller& memory : m.memories) memory.reset_counters();
}

}  // namespace situ::model
