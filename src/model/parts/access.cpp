// The way of an access through caches, bus and memories. docs/design/model.md works through an example with figures.
//
// 1. The latency of a cache is the latency of a core's hit in it: a hit further out takes that cache's latency alone,
//    not the sum of the latencies on the way; waiting for the bus is added.
// 2. Only the first level caches a tile-local memory; the tile's outer caches are for other memories.
// 3. In a machine of several tiles the outermost cache of a tile holds every line of global memory that the inner
//    caches hold: a line evicted from the outermost cache leaves the inner caches, too. So does a line that leaves a
//    cache with inclusion = "inclusive".
// 4. A line that enters a cache in front of an exclusive one leaves the exclusive cache, with its dirty bit; a line that
//    leaves that cache, dirty or not, enters the exclusive one.
// 5. A victim buffer is such an exclusive cache of one set, directly behind its cache. It is no part of the tile's outer
//    world: a hit in that of a first cache takes no bus and no miss register, and it has the level of its cache. Further
//    out a hit in it takes what a hit in its cache takes, and the cache's hit time once more.
#include "model/parts/machine_state.h"

#include <algorithm>

namespace situ::model {

// Reads bytes. The path of a hit, the most frequent case, must be inlined into access().
[[gnu::always_inline]] inline time_ps modelled_machine::impl::read(std::uint32_t core, cache_state* first, path all,
                                                                   std::uint64_t address, std::uint32_t bytes,
                                                                   time_ps now) {
  if (first != nullptr) [[likely]] {
    const std::uint64_t line = first->tags.line_of(address);
    if (first->tags.hit(line)) {
      ++first->hits;
      return std::max(now + first->hit_time, first->arrival(line, now));
    }
  }
  return read_miss(core, all, address, bytes, now);
}

[[gnu::always_inline]] inline time_ps modelled_machine::impl::access_here(std::uint32_t core, std::uint64_t address,
                                                                          std::uint32_t bytes, access_kind kind,
                                                                          time_ps now) {
  core_state& c = cores[core];
  if (tlb& buffer = kind == access_kind::fetch ? c.itlb : c.dtlb; !buffer.is_last(address)) [[unlikely]] {
    const time_ps asked = now;
    now = translate(core, buffer, address, now);
    c.waited += now - asked;
  }
  switch (kind) {
    case access_kind::read: ++c.reads; return read(core, c.first_data, c.data_path, address, bytes, now);
    case access_kind::fetch: ++c.fetches; return read(core, c.first_fetch, c.fetch_path, address, bytes, now);
    case access_kind::write: ++c.writes; return write(core, address, bytes, now);
    case access_kind::atomic:
    case access_kind::atomic_read:
    case access_kind::atomic_write: ++c.atomics; return atomic(core, address, bytes, kind, now);
  }
  return now;
}

time_ps modelled_machine::impl::access_line(std::uint32_t core, std::uint64_t address, std::uint32_t bytes,
                                            access_kind kind, time_ps now) {
  return access_here(core, address, bytes, kind, now);
}

time_ps modelled_machine::access(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind,
                                 time_ps now) {
  impl& m = *impl_;
  const impl::core_state& c = m.cores[core];
  const impl::cache_state* const first = kind == access_kind::fetch ? c.first_fetch : c.first_data;
  if (first == nullptr || is_atomic(kind)) return m.access_line(core, address, bytes, kind, now);
  const std::uint64_t line_bytes = first->tags.line_bytes();
  while (true) {
    const std::uint64_t in_line = line_bytes - (address & (line_bytes - 1));
    if (bytes <= in_line) [[likely]]
      return m.access_here(core, address, bytes, kind, now);
    now = m.access_line(core, address, static_cast<std::uint32_t>(in_line), kind, now);
    address += in_line;
    bytes -= static_cast<std::uint32_t>(in_line);
  }
}

modelled_machine::impl::path modelled_machine::impl::path_to(const home& where, path all) const {
  if (!where.own) return all;
  std::size_t depth = 0;
  while (depth < all.size() && all[depth]->level == 1) ++depth;
  return all.first(depth);
}

[[gnu::noinline]] time_ps modelled_machine::impl::read_miss(std::uint32_t core, path all, std::uint64_t address,
                                                            std::uint32_t bytes, time_ps now) {
  core_state& c = cores[core];
  const home where = home_of(address, c.tile);
  const path way = where.cacheable ? path_to(where, all) : path{};
  if (way.empty()) {
    const time_ps done = uncached(core, where, address, bytes, false, now);
    c.waited += done - now;
    return done;
  }
  const time_ps done = get_line(core, way, where, address, false, now);
  cache_state& first = *way.front();
  const time_ps hit = now + first.hit_time;
  if (done > hit) {  // a tile's own memory may be as fast as a hit
    c.waited += done - hit;
    first.miss_time += done - hit;
    ++first.waited_misses;
  }
  return done;
}

// Fetches a line that missed the first cache. Returns the time of the whole access.
time_ps modelled_machine::impl::get_line(std::uint32_t core, path way, const home& where, std::uint64_t address,
                                         bool to_own, time_ps now) {
  core_state& c = cores[core];
  tile_bus& bus = tiles[c.tile].bus;
  const std::size_t level = look_outwards(way, address);
  if (c.has_victims) [[unlikely]] {
    if (level == 1 && way.front()->has_victims) return get_victim(core, way, address, to_own, now);
    now = ask_outer_victim(way, level, address, now);
  }
  if (c.has_registers) now = free_registers(c.core, way.first(level), now);
  const time_ps asked = now;
  const found_at_peers others = ask_peers(c, address, to_own);
  cache_state& first = *way.front();
  if (!first.lost.empty() && first.lost.contains(first.tags.line_of(address))) ++c.shared.coherence_misses;
  const std::uint32_t bytes = first.tags.line_bytes();
  const bool on_chip = level < way.size() || others.dirty;
  time_ps begin = on_chip || where.own ? bus.transfer(bytes, now) : bus.ask(now);
  if (level < way.size()) begin = send_line(way, level, begin);
  time_ps done = 0;
  if (on_chip) {
    cache_state& from = *way[std::min(level, way.size() - 1)];
    done = std::max(begin + from.hit_time + others.time, from.arrival(from.tags.line_of(address), begin));
  } else if (where.own) {
    done = memories[where.memory].access(address, bytes, false, begin);
  } else {
    done = get_from_memory(core, *way.back(), where, address, bytes, begin);
  }
  for (std::size_t outer = 1; outer <= level && outer < way.size(); ++outer) {
    cache_state& asked_too = *way[outer];
    const time_ps hit_time = asked_too.hit_time;
    asked_too.meter.add(begin, hit_time, done > begin + hit_time ? done - begin - hit_time : 0);
  }
  // A core that continues past a miss has many lines in flight. Their victims would reserve memory far ahead of the
  // requests that come next, beyond the intervals that a calendar keeps.
  const time_ps room_made = c.past_misses ? asked : done;
  for (std::size_t i = level; i-- > 1;)
    if (!way[i]->is_exclusive) fill_missing(*way[i], address, {.dirty = false, .writable = true}, room_made);
  if (first.write_through) {
    fill_missing(first, address, {}, room_made);
  } else {
    fill_missing(first, address, {.dirty = to_own || others.dirty, .writable = to_own || !others.any}, room_made);
  }
  if (c.has_registers) keep_request(core, way, level, address, asked, done);
  return done;
}

// Returns when the line may be asked for so that it has arrived, if it was found in a victim buffer further out.
[[gnu::noinline]] time_ps modelled_machine::impl::ask_outer_victim(path way, std::size_t level, std::uint64_t address,
                                                                   time_ps now) {
  if (level == way.size() || way[level]->victims_of == nullptr) return now;
  const cache_state& from = *way[level];
  return std::max(now + from.hit_time, from.arrival_of_victim(from.tags.line_of(address), now)) - from.hit_time;
}

// Does what get_line() does for a line in the first cache's victim buffer. The line may still be on its way.
[[gnu::noinline]] time_ps modelled_machine::impl::get_victim(std::uint32_t core, path way, std::uint64_t address,
                                                             bool to_own, time_ps now) {
  core_state& c = cores[core];
  cache_state& first = *way.front();
  const found_at_peers others = ask_peers(c, address, to_own);
  const time_ps done = std::max(now + way[1]->hit_time, first.under_way.arrival(first.tags.line_of(address), now));
  line_state state;
  if (!first.write_through) state = {.dirty = to_own || others.dirty, .writable = to_own || !others.any};
  fill_missing(first, address, state, c.past_misses ? now : done);
  if (c.has_registers && !is_walking) prefetch(core, way, 0, address, now);
  return done;
}

// Returns when a register is free in each cache that missed.
[[gnu::noinline]] time_ps modelled_machine::impl::free_registers(std::uint32_t core, path missed, time_ps now) {
  for (const cache_state* each : missed) now = each->under_way.begin_of(core, now);
  return now;
}

// Records a request that found its line at `level` of the way, and prefetches what follows it.
[[gnu::noinline]] void modelled_machine::impl::keep_request(std::uint32_t core, path way, std::size_t level,
                                                            std::uint64_t address, time_ps asked, time_ps done) {
  const core_state& c = cores[core];
  keep_under_way(core, way.first(level), address, asked, done, c.past_misses ? c.past_misses->settled : asked);
  if (is_walking) return;
  for (std::size_t i = 0; i <= level && i < way.size(); ++i) prefetch(core, way, i, address, asked);
}

// Records the line as in flight in the caches that missed it: other misses of the line wait for it, and so do misses
// that find no free register.
void modelled_machine::impl::keep_under_way(std::uint32_t core, path missed, std::uint64_t address, time_ps begin,
                                            time_ps end, time_ps settled) {
  const std::uint32_t of = cores[core].core;
  for (cache_state* each : missed) each->under_way.take(of, each->tags.line_of(address), begin, end, settled);
}

// Returns the first level after the first cache that has the line, or the size of the way; counts hits and misses.
std::size_t modelled_machine::impl::look_outwards(path way, std::uint64_t address) {
  const auto count = [walks = is_walking](std::uint64_t& usual, std::uint64_t& of_walks) {
    ++(walks ? of_walks : usual);
  };
  count(way.front()->misses, way.front()->walk_misses);
  for (std::size_t level = 1; level < way.size(); ++level) {
    cache_state& cache = *way[level];
    if (cache.tags.hit(cache.tags.line_of(address))) {
      count(cache.hits, cache.walk_hits);
      return level;
    }
    count(cache.misses, cache.walk_misses);
  }
  return way.size();
}

time_ps modelled_machine::impl::get_from_memory(std::uint32_t core, cache_state& outermost, const home& where,
                                                std::uint64_t address, std::uint32_t bus_bytes, time_ps begin) {
  const std::uint32_t tile = cores[core].tile;
  const set_associative_cache& outer = outermost.tags;
  const time_ps looked = begin + outermost.hit_time;
  const time_ps there =
      remote_access(tile, where.memory, outer.address_of(outer.line_of(address)), outer.line_bytes(), false, looked);
  return bus_bytes == 0 ? there : tiles[tile].bus.answer(bus_bytes, there);
}

// Asks the write-back caches that are not on the path: they supply a dirty line, and lose the line or the right to
// write it. Write-through caches only lose the line.
modelled_machine::impl::found_at_peers modelled_machine::impl::ask_peers(const core_state& of, std::uint64_t address,
                                                                         bool to_own) {
  found_at_peers found;
  for (cache_state* peer : of.peers) {
    cache_state& other = *peer;
    const std::uint64_t line = other.tags.line_of(address);
    if (!other.tags.holds(line)) continue;
    if (!other.write_through) {
      found.any = true;
      if (other.tags.state(line).dirty) {
        found.dirty = true;
        found.time = std::max(found.time, other.hit_time);
      }
    }
    if (to_own) {
      other.tags.drop(line);
      ++other.invalidations;
      note_taken(other, line, true);
    } else if (!other.write_through) {
      if (other.tags.state(line).writable) note_taken(other, line, false);
      other.tags.set_state(line, {});
    }
  }
  return found;
}

// Notes that a cache has lost a line, or the right to write it, to another core's access.
void modelled_machine::impl::note_taken(cache_state& from, std::uint64_t line, bool is_lost) {
  if (from.victims_of != nullptr) return note_taken(*from.victims_of, line, is_lost);
  if (from.first_of.empty()) return;
  if (is_lost) from.lost.insert(line);
  if (sharing == nullptr) return;
  for (const std::uint32_t core : from.first_of) sharing->on_taken(core, from.tags.address_of(line));
}

// Puts a line into a cache; the victim moves outwards. The cache may hold the line already: by a write-back, or if a
// shorter line of an inner cache fills it a second time.
void modelled_machine::impl::fill(cache_state& cache, std::uint64_t address, line_state state, time_ps now) {
  const std::uint64_t line = cache.tags.line_of(address);
  if (cache.tags.holds(line)) {
    const line_state old = cache.tags.state(line);
    cache.tags.set_state(line, {.dirty = old.dirty || state.dirty, .writable = state.writable});
    return;
  }
  fill_missing(cache, address, state, now);
}

// Handles a line that has made room for another. `keeps_clean`: the next cache takes it even if it is not dirty.
[[gnu::always_inline]] inline void modelled_machine::impl::evict(cache_state& cache,
                                                                 const set_associative_cache::victim& gone,
                                                                 bool keeps_clean, time_ps now) {
  ++cache.evictions;
  if (cache.next == nullptr) {
    leave_outermost(cache, gone, now);
  } else if (gone.state.dirty || keeps_clean) {
    const std::uint64_t left = cache.tags.address_of(gone.line);
    if (gone.state.dirty) ++cache.write_backs;
    if (cache.next->victims_of != nullptr || !home_of(left, cache.tile).own) {
      const bool is_writable = cache.next->victims_of == nullptr || gone.state.writable;
      fill(*cache.next, left, {.dirty = gone.state.dirty, .writable = is_writable}, now);
    } else if (gone.state.dirty) {
      write_to_memory(cache.tile, left, cache.tags.line_bytes(), now);
    }
  }
}

// Does the same for a line that the cache does not hold.
void modelled_machine::impl::fill_missing(cache_state& cache, std::uint64_t address, line_state state, time_ps now) {
  if (!cache.is_used) [[unlikely]]
    begin_to_use(cache);
  if (!cache.lost.empty()) cache.lost.erase(cache.tags.line_of(address));
  if (cache.fills_by_keys) [[unlikely]]
    return fill_by_keys(cache, address, state, now);
  const set_associative_cache::victim gone = cache.tags.fill_by_use(cache.tags.line_of(address), state);
  if (gone.exists()) evict(cache, gone, false, now);
}

// Does the same for a cache with a replacement, or that includes or excludes lines.
[[gnu::noinline]] void modelled_machine::impl::fill_by_keys(cache_state& cache, std::uint64_t address, line_state state,
                                                            time_ps now) {
  const std::uint64_t line = cache.tags.line_of(address);
  for (cache_state* next = cache.next; next != nullptr && next->is_exclusive; next = next->next)
    state.dirty |= next->tags.drop(line).state.dirty;
  set_associative_cache::victim gone = cache.tags.fill(line, state);
  if (!gone.exists()) return;
  if (!cache.inner.empty()) gone.state.dirty |= drop_inner(cache, gone.line);
  evict(cache, gone, cache.feeds_exclusive, now);
}

// Takes a line that leaves an inclusive cache from the caches in front of it. Returns whether one of them had it dirty.
bool modelled_machine::impl::drop_inner(const cache_state& outer, std::uint64_t line) {
  bool dirty = false;
  const std::uint64_t address = outer.tags.address_of(line);
  for (cache_state* inner : outer.inner) {
    set_associative_cache& tags = inner->tags;
    for (std::uint32_t at = 0; inner->is_used && at < outer.tags.line_bytes(); at += tags.line_bytes()) {
      const set_associative_cache::victim gone = tags.drop(tags.line_of(address + at));
      if (!gone.exists()) continue;
      ++inner->invalidations;
      dirty |= gone.state.dirty;
    }
  }
  return dirty;
}

// Writes a line's bytes to their memory. Only later requests on the same way wait for the write.
time_ps modelled_machine::impl::write_to_memory(std::uint32_t tile, std::uint64_t address, std::uint32_t bytes,
                                                time_ps now) {
  const home where = home_of(address, tile);
  if (is_warming) [[unlikely]] {
    warm_memory(where, address, bytes, true);
    return now;
  }
  if (where.own) return memories[where.memory].access(address, bytes, true, now);
  return remote_access(tile, where.memory, address, bytes, true, now);
}

// Handles a line evicted from a tile's outermost cache: a dirty line is written to memory, after the fetch of the line
// that replaces it.
void modelled_machine::impl::leave_outermost(cache_state& outer, const set_associative_cache::victim& gone,
                                             time_ps now) {
  const std::uint64_t address = outer.tags.address_of(gone.line);
  bool dirty = gone.state.dirty;
  if (!spec.coherent)
    for (cache_state* inner : tiles[outer.tile].used_caches) {
      if (inner == &outer) continue;
      set_associative_cache& tags = inner->tags;
      for (std::uint32_t at = 0; at < outer.tags.line_bytes(); at += tags.line_bytes())
        dirty |= tags.drop(tags.line_of(address + at)).state.dirty;
    }
  notify(outer.tile, gone.line, outer.tags.line_bytes(), line_event::evicted, dirty);
  if (!dirty) return;
  ++outer.write_backs;
  write_to_memory(outer.tile, address, outer.tags.line_bytes(), now);
}

// Models a write. The core continues when its write buffer has taken the write; it waits for the previous write.
time_ps modelled_machine::impl::write(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, time_ps now) {
  core_state& c = cores[core];
  const path all = c.data_path;
  const bool passes_on = c.first_data != nullptr && c.first_data->write_through;
  if (c.first_data != nullptr && !passes_on) {
    cache_state& first = *c.first_data;
    if (const std::uint64_t line = first.tags.line_of(address); first.tags.hit_for_write(line)) {
      ++first.hits;
      if (first.prefetcher.exists()) first.arrival(line, now);  // only counts: the core goes on
      return now + first.hit_time;
    }
  }
  const home where = home_of(address, c.tile);
  const path way = where.cacheable ? path_to(where, all) : path{};
  if (way.empty()) return uncached(core, where, address, bytes, true, now);
  const time_ps begin = c.past_misses ? now : std::max(now, c.store_free);
  const time_ps goes_on = begin + way.front()->hit_time;
  c.waited += begin - now;
  if (passes_on) {
    c.store_free = write_through(core, address, bytes, where, goes_on);
    return goes_on;
  }
  cache_state& first = *way.front();
  const std::uint64_t line = first.tags.line_of(address);
  if (first.tags.holds(line)) {  // the line is held, but not writable
    ++first.hits;
    ++c.shared.upgrades;
    const found_at_peers others = ask_peers(c, address, true);
    first.tags.set_state(line, {.dirty = true, .writable = true});
    c.store_free = begin + (others.any ? all.back()->hit_time : first.hit_time);
  } else {
    c.store_free = get_line(core, way, where, address, true, begin);
  }
  return goes_on;
}

time_ps modelled_machine::impl::write_through(std::uint32_t core, std::uint64_t address, std::uint32_t bytes,
                                              const home& where, time_ps now) {
  core_state& c = cores[core];
  cache_state& first = *c.first_data;
  ++(first.tags.hit(first.tags.line_of(address)) ? first.hits : first.misses);
  ask_peers(c, address, true);
  const time_ps begin = tiles[c.tile].bus.transfer(bytes, now);
  if (where.own) return memories[where.memory].access(address, bytes, true, begin);
  return write_below(core, address, bytes, begin);
}

// Brings a line that is written into a cache of the way.
[[gnu::noinline]] time_ps modelled_machine::impl::allocate_below(std::uint32_t core, path way, std::size_t level,
                                                                 std::uint64_t address, time_ps now) {
  cache_state& cache = *way[level];
  const time_ps done = get_from_memory(core, *way.back(), home_of(address, cache.tile), address, 0, now);
  cache.meter.add(now, cache.hit_time, done - now - std::min(done - now, cache.hit_time));
  for (std::size_t outer = way.size(); --outer > level;)
    if (!way[outer]->inner.empty()) fill(*way[outer], address, {.dirty = false, .writable = true}, done);
  fill(cache, address, {.dirty = true, .writable = true}, done);
  return done;
}

// Models a write that the first cache passed on, into the next cache or to memory.
time_ps modelled_machine::impl::write_below(std::uint32_t core, std::uint64_t address, std::uint32_t bytes,
                                            time_ps now) {
  const core_state& c = cores[core];
  const path way = c.data_path;
  for (std::size_t level = 1; level < way.size(); ++level) {
    cache_state& cache = *way[level];
    if (cache.victims_of != nullptr) continue;  // its line is written on the way
    const std::uint64_t line = cache.tags.line_of(address);
    const bool there = cache.tags.hit(line);
    ++(there ? cache.hits : cache.misses);
    if (there && !cache.write_through) {
      cache.tags.own_last_used(line);
      cache.meter.add(now, cache.hit_time, 0);
      return now + cache.hit_time;
    }
    if (cache.write_through || !cache.allocates_on_write) continue;
    return allocate_below(core, way, level, address, now);
  }
  return remote_access(c.tile, home_of(address, c.tile).memory, address, bytes, true, now);
}

time_ps modelled_machine::impl::uncached(std::uint32_t core, const home& where, std::uint64_t address,
                                         std::uint32_t bytes, bool is_write, time_ps now) {
  core_state& c = cores[core];
  tile_state& tile = tiles[c.tile];
  const auto at_memory = [&](time_ps begin) {
    if (where.own) return memories[where.memory].access(address, bytes, is_write, begin);
    if (where.is_homed()) {
      ++(is_write ? tile.adapter.homed.writes : tile.adapter.homed.reads);
      return homed_access(c.tile, where, address, bytes, is_write ? access_kind::write : access_kind::read, begin);
    }
    return remote_access(c.tile, where.memory, address, bytes, is_write, begin);
  };
  if (!is_write) return tile.bus.answer(bytes, at_memory(tile.bus.ask(now)));
  const time_ps begin = std::max(now, c.store_free);
  c.waited += begin - now;
  c.store_free = at_memory(tile.bus.transfer(bytes, begin));
  return begin + spec.cores[core].period;
}

// Models an atomic, which begins when the core's earlier writes are done. In a tile's own memory: the atomic occupies
// the bus throughout. In a coherent machine: a load like others, or a write for which the core waits and four hit
// times. In any other memory: at the memory.
time_ps modelled_machine::impl::atomic(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind,
                                       time_ps now) {
  core_state& c = cores[core];
  const home where = home_of(address, c.tile);
  const time_ps begin = std::max(now, c.store_free);
  time_ps done = begin;
  if (where.own) {
    tile_bus& bus = tiles[c.tile].bus;
    memory_controller& memory = memories[where.memory];
    const time_ps length = memory.spec().access_time + bus.transfer_time(bytes);
    ask_peers(c, address, changes(kind));
    done = std::max(memory.access(address, bytes, changes(kind), bus.lock(length, begin)) + bus.transfer_time(bytes),
                    begin);
  } else if (spec.coherent && where.cacheable && kind == access_kind::atomic_read) {
    return read(core, c.first_data, c.data_path, address, bytes, begin);
  } else if (spec.coherent && where.cacheable) {
    done = std::max(write(core, address, bytes, begin), c.store_free);
    if (c.first_data != nullptr) done += 4 * c.first_data->hit_time;
  } else {
    done = remote_atomic(core, address, bytes, kind, begin);
  }
  c.waited += done - now;
  return done;
}

}  // namespace situ::model
