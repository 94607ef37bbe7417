// Homed pages: ranges whose lines only one tile's caches hold, the *home's*. Other tiles read and write them there, an
// access at a time (Ungar and Adams, DLS 2009, section 5.1.2).
//
// 1. A request goes through the asker's adapter, over the mesh and through the home's adapter, and is looked up in the
//    home's outermost cache. If that has the line, it answers: the way back takes the same parts.
// 2. On a miss the home requests the line from its memory. For a read the memory sends the accessed bytes to the asker
//    directly, ahead of the line that it sends to the home (assumed: only so the paper's figures for memory agree, 69
//    to 88 cycles for the home itself and about 80 for other tiles). A write is answered when the line is at the home.
// 3. Caches in front of the home's outermost one give it their dirty bytes first, and lose a line that is written or
//    changed by an atomic.
// 4. An atomic is carried out in the home's outermost cache, also for the home's own cores: as a read and a write
//    there, or as one of them (an atomic load or store).
// 5. An access across lines is several, as for caches (modelled_machine::access).
//
// docs/design/model.md works through a sum.
#include <situ/base/error_code.h>

#include "model/parts/machine_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ::model {

// Moves dirty bytes of the home's inner caches into its outermost one. `drops`: they lose the lines, too.
void modelled_machine::impl::take_inner_of_home(cache_state& outermost, std::uint64_t begin, std::uint64_t last,
                                                bool drops, time_ps now) {
  if (!outermost.is_used) return;  // it holds every line that they hold
  for (cache_state* inner : tiles[outermost.tile].used_caches) {
    if (inner == &outermost || spec.caches[inner->index].kind == machine::cache_kind::instruction) continue;
    set_associative_cache& tags = inner->tags;
    tags.for_each(tags.line_of(begin), tags.line_of(last), [&](std::uint64_t line, line_state state) {
      if (state.dirty) {
        fill(outermost, tags.address_of(line), {.dirty = true, .writable = true}, now);
        tags.set_state(line, {.dirty = false, .writable = state.writable});
      }
      if (!drops) return;
      tags.drop(line);
      ++inner->invalidations;
      note_taken(*inner, line, true);
    });
  }
}

// Requests a line of memory for the home: `done` is when it is there. `asks`: the tile that the memory sends `bytes` of
// it to, ahead of the line; `there` is when they have arrived.
modelled_machine::impl::served_at_home modelled_machine::impl::fetch_for_home(std::uint32_t asks, const home& where,
                                                                              std::uint64_t line,
                                                                              std::uint32_t line_bytes,
                                                                              std::uint32_t bytes, time_ps now) {
  memory_controller& memory = memories[where.memory];
  tile_state& at = tiles[where.homed_at];
  const grid_position of_memory{memory.spec().x, memory.spec().y};
  if (!network || asks == where.homed_at)
    return {.done = remote_access(where.homed_at, where.memory, line, line_bytes, false, now)};
  served_at_home made;
  const auto answer = [&](time_ps served) {
    made.there = network->send(of_memory, tiles[asks].at, bytes, served) + tiles[asks].adapter.pass();
  };
  const time_ps in_adapter = memory.spec().adapter_time;
  if (is_beside(at, memory.spec())) {
    made.done = memory.access(line, line_bytes, false, now);
    answer(made.done + in_adapter);
    return made;
  }
  made.done = at.adapter.carry_out(network_adapter::operation::load, line_bytes, now, [&](time_ps begin) {
    const time_ps asked =
        network->send(at.routes[where.memory].there, request_bytes, begin + at.adapter.pass()) + in_adapter;
    const time_ps served = memory.access(line, line_bytes, false, asked) + in_adapter;
    answer(served);
    return network->send(at.routes[where.memory].back, line_bytes, served) + at.adapter.pass();
  });
  return made;
}

// Serves a request that has reached the home. An atomic that reads and writes is served as a read by the home itself,
// and then as a write.
modelled_machine::impl::served_at_home modelled_machine::impl::serve_at_home(std::uint32_t asks, const home& where,
                                                                             std::uint64_t address, std::uint32_t bytes,
                                                                             access_kind kind, time_ps now) {
  const bool is_write = kind == access_kind::write || kind == access_kind::atomic_write;
  cache_state& outer = caches[outermost_of_tile(where.homed_at)];
  take_inner_of_home(outer, address, address + bytes - 1, is_write, now);
  const std::uint64_t line = outer.tags.line_of(address);
  served_at_home made{.done = now + outer.hit_time};
  const bool is_there = outer.tags.hit(line);
  ++(is_there ? outer.hits : outer.misses);
  if (is_there) {
    made.done = std::max(made.done, outer.arrival(line, now));
  } else if (asks != where.homed_at) {
    ++tiles[where.homed_at].adapter.homed.misses;
  }
  const bool keeps = !is_write || (!outer.write_through && (is_there || outer.allocates_on_write));
  if (!is_there && keeps) {
    const bool is_sent_on = kind == access_kind::read || kind == access_kind::atomic_read;
    made = fetch_for_home(is_sent_on ? asks : where.homed_at, where, outer.tags.address_of(line),
                          outer.tags.line_bytes(), bytes, made.done);
    fill(outer, address, {.dirty = false, .writable = true}, made.done);
  } else if (!keeps) {
    made.done = remote_access(where.homed_at, where.memory, address, bytes, true, made.done);
  }
  if (is_write && keeps) outer.tags.set_state(line, {.dirty = true, .writable = true});
  outer.meter.add(now, outer.hit_time, made.done - now - std::min(made.done - now, outer.hit_time));
  return made;
}

// Models an access to an address that is homed at another tile.
time_ps modelled_machine::impl::homed_access(std::uint32_t tile, const home& where, std::uint64_t address,
                                             std::uint32_t bytes, access_kind kind, time_ps now) {
  tile_state& own = tiles[tile];
  tile_state& at = tiles[where.homed_at];
  ++at.adapter.homed.served;
  const auto serve = [&](time_ps begin) {
    if (kind != access_kind::atomic) return serve_at_home(tile, where, address, bytes, kind, begin);
    const time_ps read = serve_at_home(tile, where, address, bytes, kind, begin).done;
    return serve_at_home(tile, where, address, bytes, access_kind::atomic_write, read);
  };
  if (!network) return serve(now).done;
  const bool writes = changes(kind), answers = kind != access_kind::write;
  const auto what = is_atomic(kind)              ? network_adapter::operation::atomic
                    : kind == access_kind::write ? network_adapter::operation::store
                                                 : network_adapter::operation::load;
  return own.adapter.carry_out(what, bytes, now, [&](time_ps begin) {
    const std::uint32_t payload = request_bytes + (writes ? bytes : 0);
    const time_ps asked = network->send(own.at, at.at, payload, begin + own.adapter.pass()) + at.adapter.pass();
    const served_at_home served = serve(asked);
    if (served.there != 0) return served.there;
    return network->send(at.at, own.at, answers ? bytes : 0, served.done + at.adapter.pass()) + own.adapter.pass();
  });
}

time_ps modelled_machine::impl::homed_atomic(std::uint32_t tile, const home& where, std::uint64_t address,
                                             std::uint32_t bytes, access_kind kind, time_ps now) {
  if (tile != where.homed_at) {
    ++tiles[tile].adapter.homed.atomics;
    return homed_access(tile, where, address, bytes, kind, now);
  }
  if (kind == access_kind::atomic) now = serve_at_home(tile, where, address, bytes, access_kind::atomic_read, now).done;
  return serve_at_home(tile, where, address, bytes, changes(kind) ? access_kind::atomic_write : kind, now).done;
}

// Does to caches what serve_at_home() does, without time.
void modelled_machine::impl::warm_homed(const home& where, std::uint64_t address, std::uint32_t bytes, bool is_write) {
  cache_state& outer = caches[outermost_of_tile(where.homed_at)];
  memory_controller& memory = memories[where.memory];
  take_inner_of_home(outer, address, address + bytes - 1, is_write, 0);
  const std::uint64_t line = outer.tags.line_of(address);
  const bool is_there = outer.tags.hit(line);
  const bool keeps = !is_write || (!outer.write_through && (is_there || outer.allocates_on_write));
  if (!keeps) return memory.warm(address, bytes, true);
  if (!is_there) {
    memory.warm(outer.tags.address_of(line), outer.tags.line_bytes(), false);
    fill(outer, address, {.dirty = false, .writable = true}, 0);
  }
  if (is_write) outer.tags.set_state(line, {.dirty = true, .writable = true});
}

// Writes dirty lines of a tile's caches back. `drops`: all its caches lose the lines.
time_ps modelled_machine::impl::operate_on_lines(std::uint32_t tile, std::uint64_t begin, std::uint64_t end, bool drops,
                                                 time_ps now) {
  if (spec.tiles[tile].cores.empty() || cores[spec.tiles[tile].cores.front()].data_path.empty()) return now;
  const std::uint32_t outermost = outermost_of_tile(tile);
  set_associative_cache& tags = caches[outermost].tags;
  const std::uint64_t first = tags.line_of(begin);
  const std::uint64_t last = tags.line_of(end - 1);
  gather_inner(tile, outermost, tags.address_of(first), tags.address_of(last) + tags.line_bytes() - 1, drops, now);
  time_ps done = now;
  tags.for_each(first, last, [&](std::uint64_t line, line_state state) {
    if (drops || state.dirty) done = std::max(done, operate_on_line(tile, outermost, line, state, true, drops, now));
  });
  if (!drops) return done;
  for (cache_state* each : tiles[tile].used_caches)  // lines of instructions are left
    each->tags.for_each(each->tags.line_of(begin), each->tags.line_of(end - 1), [&](std::uint64_t line, line_state) {
      each->tags.drop(line);
      ++each->invalidations;
    });
  return done;
}

// Brings homed bytes to memory before an access past the caches, or takes them from the home's caches before such a
// write.
time_ps modelled_machine::impl::settle_homed(std::uint64_t begin, std::uint64_t bytes, bool drops, time_ps now) {
  time_ps done = now;
  homes.for_each(begin, begin + bytes, [&](const page_homes::range& part) {
    done = std::max(done, operate_on_lines(part.tile, part.begin, part.end, drops, now));
  });
  return done;
}

// Takes homed lines from the caches of other tiles than their homes: contents of another run may have them there.
void modelled_machine::impl::drop_homed_elsewhere() {
  homes.for_each(0, ~std::uint64_t{0}, [&](const page_homes::range& part) {
    for (cache_state& each : caches) {
      if (each.tile == part.tile) continue;
      each.tags.for_each(each.tags.line_of(part.begin), each.tags.line_of(part.end - 1),
                         [&](std::uint64_t line, line_state) { each.tags.drop(line); });
    }
  });
}

void modelled_machine::impl::check_home(std::uint64_t begin, std::uint64_t end, std::uint32_t tile) const {
  std::uint64_t line_bytes = 1;
  for (const cache_spec& cache : spec.caches) line_bytes = std::max<std::uint64_t>(line_bytes, cache.line_bytes);
  if (begin >= end || begin % line_bytes != 0 || end % line_bytes != 0)
    throw_error(errc::bad_argument, fmt::format("homed pages are whole lines of {} bytes, and {:#x} to {:#x} are none",
                                                line_bytes, begin, end));
  if (tile == none) return;
  if (tile >= tiles.size() || tile >= page_homes::nobody)
    throw_error(errc::bad_argument, fmt::format("there is no tile {}; the last is {}", tile, tiles.size() - 1));
  const std::uint32_t outermost = outermost_of_tile(tile);
  for (const std::uint32_t core : spec.tiles[tile].cores)
    if (spec.cores[core].data_path.empty() || spec.cores[core].data_path.back() != outermost)
      throw_error(errc::bad_argument,
                  fmt::format("the cores of {} share no outermost cache, in which others could reach homed pages",
                              spec.tiles[tile].name));
}

time_ps modelled_machine::home_range(std::uint64_t begin, std::uint64_t end, std::uint32_t tile, time_ps now) {
  impl& m = *impl_;
  if (m.spec.coherent) return now;
  m.check_home(begin, end, tile);
  const std::uint16_t at = tile == none ? page_homes::nobody : static_cast<std::uint16_t>(tile);
  if (const page_homes::range already = m.homes.at(begin); already.tile == at && already.end >= end) return now;
  time_ps done = now;
  for (std::uint32_t each = 0; each < m.tiles.size(); ++each)
    done = std::max(done, m.operate_on_lines(each, begin, end, true, now));
  m.homes.set(begin, end, at);
  pages_changed();
  return done;
}

bool modelled_machine::is_homed(std::uint64_t address, std::uint32_t tile) const {
  return impl_->home_of(address, tile).is_homed();
}

void modelled_machine::forget_homes(std::uint64_t begin, std::uint64_t end) {
  impl& m = *impl_;
  if (m.homes.empty() || begin >= end) return;
  std::vector<page_homes::range> homed;
  m.homes.for_each(begin, end, [&](const page_homes::range& part) { homed.push_back(part); });
  for (const page_homes::range& part : homed) {
    forget(part.begin, part.end);
    m.homes.set(part.begin, part.end, page_homes::nobody);
  }
  if (!homed.empty()) pages_changed();
}

}  // namespace situ::model
