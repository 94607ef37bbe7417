// Functional warming: accesses that change what caches, TLBs, page-walk caches, memory-side caches and prefetchers hold,
// as access.cpp does, without time: no bus, register, network or memory is asked.
//
// Three things differ from the same accesses with time. A prefetch is never dropped for want of a register, no request is
// under way when the warming ends, and a core with a window learns no dependences of its loads. Counters are those of an
// idle machine until it ends.
#include "model/parts/machine_state.h"

#include <utility>

namespace situ::model {

void modelled_machine::begin_warming() noexcept { impl_->is_warming = true; }

void modelled_machine::end_warming() noexcept {
  if (!std::exchange(impl_->is_warming, false)) return;
  reset_counters();
}

void modelled_machine::warm(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, access_kind kind,
                            time_ps now) {
  impl& m = *impl_;
  impl::core_state& c = m.cores[core];
  if (tlb& buffer = kind == access_kind::fetch ? c.itlb : c.dtlb; !buffer.is_last(address))
    m.translate(core, buffer, address, now);
  switch (kind) {
    case access_kind::read: return m.warm_read(core, c.data_path, address, bytes);
    case access_kind::fetch: return m.warm_read(core, c.fetch_path, address, bytes);
    case access_kind::write: return m.warm_write(core, address, bytes);
    case access_kind::atomic:
    case access_kind::atomic_read:
    case access_kind::atomic_write: return m.warm_atomic(core, address, bytes, kind);
  }
}

// Does to caches what an access of the memory does: a cache in front of it changes, and the tile whose own memory it is
// sees what another one writes.
void modelled_machine::impl::warm_memory(const home& where, std::uint64_t address, std::uint32_t bytes, bool is_write) {
  if (where.is_homed() && !where.cacheable) return warm_homed(where, address, bytes, is_write);
  memory_controller& memory = memories[where.memory];
  if (is_write && !where.own) snoop_arriving(memory, address, bytes);
  memory.warm(address, bytes, is_write);
}

void modelled_machine::impl::warm_read(std::uint32_t core, path all, std::uint64_t address, std::uint32_t bytes) {
  const home where = home_of(address, cores[core].tile);
  const path way = where.cacheable ? path_to(where, all) : path{};
  if (way.empty()) return warm_memory(where, address, bytes, false);
  set_associative_cache& tags = way.front()->tags;
  if (!tags.hit(tags.line_of(address))) warm_line(core, way, where, address, false);
}

void modelled_machine::impl::warm_write(std::uint32_t core, std::uint64_t address, std::uint32_t bytes) {
  core_state& c = cores[core];
  const home where = home_of(address, c.tile);
  const path way = where.cacheable ? path_to(where, c.data_path) : path{};
  if (way.empty()) return warm_memory(where, address, bytes, true);
  cache_state& first = *way.front();
  const std::uint64_t line = first.tags.line_of(address);
  if (first.write_through) {
    (void)first.tags.hit(line);
    ask_peers(c, address, true);
    if (where.own) return warm_memory(where, address, bytes, true);
    warm_write_below(core, where, address, bytes);
  } else if (first.tags.hit_for_write(line)) {
    return;
  } else if (first.tags.holds(line)) {
    ask_peers(c, address, true);
    first.tags.set_state(line, {.dirty = true, .writable = true});
  } else {
    warm_line(core, way, where, address, true);
  }
}

// Does what get_line() and get_victim() do.
void modelled_machine::impl::warm_line(std::uint32_t core, path way, const home& where, std::uint64_t address,
                                       bool to_own) {
  core_state& c = cores[core];
  cache_state& first = *way.front();
  const std::size_t level = look_outwards(way, address);
  const found_at_peers others = ask_peers(c, address, to_own);
  const bool is_victim = first.has_victims && level == 1;
  if (level == way.size() && !others.dirty) {
    if (where.own) {
      warm_memory(where, address, first.tags.line_bytes(), false);
    } else {
      warm_line_of_memory(way, where, address);
    }
  }
  for (std::size_t i = is_victim ? 0 : level; i-- > 1;)
    if (!way[i]->is_exclusive) fill_missing(*way[i], address, {.dirty = false, .writable = true}, 0);
  line_state state;
  if (!first.write_through) state = {.dirty = to_own || others.dirty, .writable = to_own || !others.any};
  fill_missing(first, address, state, 0);
  if (!c.has_registers || is_walking) return;
  for (std::size_t i = 0; i < (is_victim ? 1 : way.size()) && i <= level; ++i) prefetch(core, way, i, address, 0);
}

// Does what get_from_memory() does.
void modelled_machine::impl::warm_line_of_memory(path way, const home& where, std::uint64_t address) {
  const set_associative_cache& outer = way.back()->tags;
  warm_memory(where, outer.address_of(outer.line_of(address)), outer.line_bytes(), false);
}

// Does what write_below() and allocate_below() do.
void modelled_machine::impl::warm_write_below(std::uint32_t core, const home& where, std::uint64_t address,
                                              std::uint32_t bytes) {
  const path way = cores[core].data_path;
  for (std::size_t level = 1; level < way.size(); ++level) {
    cache_state& cache = *way[level];
    if (cache.victims_of != nullptr) continue;
    const std::uint64_t line = cache.tags.line_of(address);
    if (cache.tags.hit(line) && !cache.write_through) return cache.tags.own_last_used(line);
    if (cache.write_through || !cache.allocates_on_write) continue;
    warm_line_of_memory(way, where, address);
    for (std::size_t outer = way.size(); --outer > level;)
      if (!way[outer]->inner.empty()) fill(*way[outer], address, {.dirty = false, .writable = true}, 0);
    return fill(cache, address, {.dirty = true, .writable = true}, 0);
  }
  warm_memory(where, address, bytes, true);
}

void modelled_machine::impl::warm_atomic(std::uint32_t core, std::uint64_t address, std::uint32_t bytes,
                                         access_kind kind) {
  core_state& c = cores[core];
  const home where = home_of(address, c.tile);
  if (where.own) {
    ask_peers(c, address, changes(kind));
    warm_memory(where, address, bytes, changes(kind));
  } else if (!spec.coherent || !where.cacheable) {
    warm_remote_atomic(core, where, address, bytes, kind);
  } else if (kind == access_kind::atomic_read) {
    warm_read(core, c.data_path, address, bytes);
  } else {
    warm_write(core, address, bytes);
  }
}

// Does what remote_atomic() does: the tile's copy goes to memory first.
void modelled_machine::impl::warm_remote_atomic(std::uint32_t core, const home& where, std::uint64_t address,
                                                std::uint32_t bytes, access_kind kind) {
  if (where.is_homed()) {
    if (kind != access_kind::atomic_write) warm_homed(where, address, bytes, false);
    if (kind != access_kind::atomic_read) warm_homed(where, address, bytes, true);
    return;
  }
  operate_on_range(core, address, address + bytes, true, true, 0);
  memory_controller& memory = memories[where.memory];
  snoop_arriving(memory, address, bytes);
  if (kind != access_kind::atomic_write) memory.warm(address, bytes, false);
  if (kind != access_kind::atomic_read) memory.warm(address, bytes, true);
}

}  // namespace situ::model
