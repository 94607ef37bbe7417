// The machine's operations for units next to a tile's outermost cache, and next to a memory.
//
// A unit is on a bus of its own (NEMESYS, section 4.4): its accesses begin at the cache, and take the cache's latency
// as a core sees it, as no figure for units is known. First caches that write through lose the lines that the unit
// writes, as for any other writer of the tile.
#include <situ/base/error_code.h>

#include "model/parts/machine_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ::model {

std::uint32_t modelled_machine::impl::outermost_of_tile(std::uint32_t tile) const {
  if (spec.tiles[tile].cores.empty() || spec.cores[spec.tiles[tile].cores.front()].data_path.empty())
    throw_error(errc::bad_argument, fmt::format("{} has no cache for a unit to stand beside", spec.tiles[tile].name));
  return spec.cores[spec.tiles[tile].cores.front()].data_path.back();
}

std::uint32_t modelled_machine::line_bytes_of_tile(std::uint32_t tile) const {
  return impl_->caches[impl_->outermost_of_tile(tile)].tags.line_bytes();
}

time_ps modelled_machine::tile_access(std::uint32_t tile, std::uint64_t address, std::uint32_t bytes, bool write,
                                      time_ps now) {
  impl& m = *impl_;
  const impl::home where = m.home_of(address, tile);
  if (where.own) return m.memories[where.memory].access_by_unit(address, bytes, write, now);
  if (!where.cacheable && where.is_homed())
    return m.homed_access(tile, where, address, bytes, write ? access_kind::write : access_kind::read, now);
  if (!where.cacheable) return m.remote_access(tile, where.memory, address, bytes, write, now);
  const std::uint32_t outermost = m.outermost_of_tile(tile);
  m.gather_inner(tile, outermost, address, address + bytes - 1, write, now);
  impl::cache_state& cache = m.caches[outermost];
  const std::uint64_t line = cache.tags.line_of(address);
  time_ps done = now + cache.hit_time;
  if (cache.tags.hit(line)) {
    ++cache.hits;
  } else {
    ++cache.misses;
    done = m.remote_access(tile, where.memory, cache.tags.address_of(line), cache.tags.line_bytes(), false, done);
    m.fill(cache, address, {.dirty = false, .writable = true}, done);
  }
  cache.meter.add(now, cache.hit_time, done - now - cache.hit_time);
  if (write) cache.tags.set_state(line, {.dirty = true, .writable = true});
  return done;
}

modelled_machine::line_operation modelled_machine::operate_on_line(std::uint32_t tile, std::uint64_t address,
                                                                   bool to_memory, bool drops, time_ps now) {
  impl& m = *impl_;
  const std::uint32_t outermost = m.outermost_of_tile(tile);
  set_associative_cache& tags = m.caches[outermost].tags;
  const std::uint64_t line = tags.line_of(address);
  const std::uint64_t begin = tags.address_of(line);
  m.gather_inner(tile, outermost, begin, begin + tags.line_bytes() - 1, drops, now);
  if (!tags.holds(line)) return {now, false};
  const line_state state = tags.state(line);
  return {m.operate_on_line(tile, outermost, line, state, to_memory, drops, now), state.dirty && to_memory};
}

time_ps modelled_machine::send_to_tile(std::uint32_t memory, std::uint32_t target_tile, std::uint32_t bytes,
                                       time_ps now) {
  impl& m = *impl_;
  if (!m.network) return now;
  const memory_spec& from = m.spec.memories[memory];
  const impl::tile_state& target = m.tiles[target_tile];
  return m.send_packets({from.x, from.y}, target.at, bytes, now + from.adapter_time) + target.adapter.pass();
}

time_ps modelled_machine::send_to_memory(std::uint32_t tile, std::uint32_t memory, std::uint32_t bytes, time_ps now) {
  impl& m = *impl_;
  if (!m.network) return now;
  const memory_spec& to = m.spec.memories[memory];
  impl::tile_state& own = m.tiles[tile];
  const time_ps arrived = m.send_packets(own.at, {to.x, to.y}, bytes, now + own.adapter.pass()) + to.adapter_time;
  own.adapter.count(network_adapter::operation::message, bytes, now, arrived);
  return arrived;
}

}  // namespace situ::model
