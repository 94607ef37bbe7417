// The operations that use the network: loads and stores of other memories, atomics at them, work for other tiles, DMA.
#include <situ/base/error_code.h>

#include "model/parts/machine_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ::model {

// Bytes that arrive at a tile's own memory cross the tile's bus, where its caches see them and drop their lines. So
// such a memory is never stale for its tile. Takes no time of its own.
void modelled_machine::impl::snoop_arriving(const memory_controller& target, std::uint64_t address,
                                            std::uint64_t bytes) {
  const std::uint32_t tile = target.spec().tile;
  if (tile == none || bytes == 0 || !spec.tiles[tile].is_snooped) return;
  for (const std::uint32_t index : spec.tiles[tile].caches) {
    cache_state& cache = caches[index];
    if (spec.caches[index].kind == machine::cache_kind::instruction || spec.caches[index].level != 1) continue;
    cache.tags.for_each(cache.tags.line_of(address), cache.tags.line_of(address + bytes - 1),
                        [&](std::uint64_t line, line_state) {
                          cache.tags.drop(line);
                          ++cache.invalidations;
                          note_taken(cache, line, true);
                        });
  }
}

// Models an access to a memory elsewhere. Without a mesh, or if tile and memory share a position, no network is in
// between.
time_ps modelled_machine::impl::remote_access(std::uint32_t tile, std::uint32_t memory, std::uint64_t address,
                                              std::uint32_t bytes, bool is_write, time_ps now) {
  memory_controller& target = memories[memory];
  if (is_write) snoop_arriving(target, address, bytes);
  if (!network || is_beside(tiles[tile], target.spec())) return target.access(address, bytes, is_write, now);
  tile_state& own = tiles[tile];
  const memory_routes routes = own.routes[memory];
  const time_ps at_memory = target.spec().adapter_time;
  const auto what = is_write ? network_adapter::operation::store : network_adapter::operation::load;
  return own.adapter.carry_out(what, bytes, now, [&](time_ps begin) {
    const std::uint32_t payload = request_bytes + (is_write ? bytes : 0);
    const time_ps asked = network->send(routes.there, payload, begin + own.adapter.pass());
    const time_ps served = target.access(address, bytes, is_write, asked + at_memory);
    const time_ps back = network->send(routes.back, is_write ? 0 : bytes, served + at_memory);
    return back + own.adapter.pass();
  });
}

// Models an atomic at its memory. The tile's own copy of the line goes to memory first, so that the atomic sees the
// tile's writes.
time_ps modelled_machine::impl::remote_atomic(std::uint32_t core, std::uint64_t address, std::uint32_t bytes,
                                              access_kind kind, time_ps now) {
  const std::uint32_t tile = cores[core].tile;
  if (const home where = home_of(address, tile); where.is_homed())
    return homed_atomic(tile, where, address, bytes, kind, std::max(now, cores[core].store_free));
  now = operate_on_range(core, address, address + bytes, true, true, now);
  memory_controller& target = memories[home_of(address, tile).memory];
  snoop_arriving(target, address, bytes);
  const auto at_memory = [&](time_ps begin) {
    if (kind != access_kind::atomic_write) begin = target.access(address, bytes, false, begin);
    return kind == access_kind::atomic_read ? begin : target.access(address, bytes, true, begin);
  };
  if (!network) return at_memory(now);
  tile_state& own = tiles[tile];
  if (is_beside(own, target.spec())) return at_memory(now);
  const grid_position there{target.spec().x, target.spec().y};
  return own.adapter.carry_out(network_adapter::operation::atomic, bytes, now, [&](time_ps begin) {
    const time_ps asked = network->send(own.at, there, request_bytes + bytes, begin + own.adapter.pass());
    const time_ps served = at_memory(asked + target.spec().adapter_time);
    return network->send(there, own.at, bytes, served + target.spec().adapter_time) + own.adapter.pass();
  });
}

// Sends a message in packets of packet_bytes, one after the other.
time_ps modelled_machine::impl::send_packets(grid_position from, grid_position to, std::uint32_t bytes, time_ps now) {
  mesh& over = control ? *control : *network;
  time_ps done = now;
  do {
    const std::uint32_t part = std::min(bytes, packet_bytes);
    done = std::max(done, over.send(from, to, part, now));
    bytes -= part;
  } while (bytes > 0);
  return done;
}

void modelled_machine::impl::check_tile(std::uint32_t tile) const {
  if (tile >= tiles.size())
    throw_error(errc::bad_argument, fmt::format("there is no tile {}; the last is {}", tile, tiles.size() - 1));
}

time_ps modelled_machine::send(std::uint32_t core, std::uint32_t target_tile, std::uint32_t bytes, time_ps now) {
  impl& m = *impl_;
  m.check_tile(target_tile);
  impl::tile_state& own = m.tiles[m.cores[core].tile];
  impl::tile_state& target = m.tiles[target_tile];
  time_ps arrived = now;
  if (m.network && &own != &target)
    arrived = m.send_packets(own.at, target.at, impl::request_bytes + bytes, now + own.adapter.pass()) +
              target.adapter.pass();
  if (const std::uint32_t memory = m.spec.tiles[target_tile].local_memory; memory != none && bytes > 0)
    arrived = m.memories[memory].access(0, bytes, true, arrived);
  own.adapter.count(network_adapter::operation::message, bytes, now, arrived);
  return arrived;
}

time_ps modelled_machine::send_raw(std::uint32_t core, std::uint32_t target_tile, std::uint32_t bytes, time_ps now) {
  impl& m = *impl_;
  m.check_tile(target_tile);
  impl::tile_state& own = m.tiles[m.cores[core].tile];
  const mesh_spec& its = m.control ? m.spec.control : m.spec.mesh;
  mesh* const over = m.control ? &*m.control : m.network ? &*m.network : nullptr;
  time_ps arrived = now;
  if (over != nullptr && target_tile != m.cores[core].tile) {
    const time_ps begin = now - std::min(now, over->flits(bytes) * its.period);
    arrived = over->send(own.at, m.tiles[target_tile].at, bytes, begin);
  }
  own.adapter.count(network_adapter::operation::message, bytes, now, arrived);
  return arrived;
}

// Begins a transfer packet by packet: each packet is read when the previous one has been read, and written when it has
// arrived. The order and each packet pass through the adapters of the places that they leave and reach, if these
// differ.
modelled_machine::dma_transfer modelled_machine::begin_dma(std::uint32_t core, std::uint64_t to, std::uint64_t from,
                                                           std::uint64_t bytes, time_ps now) {
  impl& m = *impl_;
  const std::uint32_t tile = m.cores[core].tile;
  dma_transfer made{.tile = tile,
                    .source = m.home_of(from, tile).memory,
                    .target = m.home_of(to, tile).memory,
                    .to = to,
                    .from = from,
                    .bytes = bytes,
                    .asked = now,
                    .next = now + m.tiles[tile].adapter.pass()};
  const memory_spec& source = m.spec.memories[made.source];
  const grid_position at_source{source.x, source.y};
  if (m.network && m.tiles[tile].at != at_source)
    made.next = m.network->send(m.tiles[tile].at, at_source, 3 * impl::request_bytes, made.next) + source.adapter_time;
  made.done = made.next;
  return made;
}

modelled_machine::dma_transfer modelled_machine::begin_dma_of_memory(std::uint32_t source, std::uint32_t target,
                                                                     std::uint64_t to, std::uint64_t from,
                                                                     std::uint64_t bytes, time_ps now) {
  return {.source = source,
          .target = target,
          .to = to,
          .from = from,
          .bytes = bytes,
          .asked = now,
          .next = now,
          .done = now};
}

void modelled_machine::step_dma(dma_transfer& transfer) {
  impl& m = *impl_;
  memory_controller& source = m.memories[transfer.source];
  memory_controller& target = m.memories[transfer.target];
  const grid_position at_source{source.spec().x, source.spec().y};
  const grid_position at_target{target.spec().x, target.spec().y};
  if (!transfer.is_over()) {
    const auto part =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(transfer.bytes - transfer.at, impl::packet_bytes));
    if (!m.homes.empty()) [[unlikely]] {
      transfer.next = m.settle_homed(transfer.from + transfer.at, part, false, transfer.next);
      transfer.next = m.settle_homed(transfer.to + transfer.at, part, true, transfer.next);
    }
    transfer.next = source.access(transfer.from + transfer.at, part, false, transfer.next);
    time_ps arrived = transfer.next;
    if (m.network && at_source != at_target)
      arrived = m.network->send(at_source, at_target, part, arrived + source.spec().adapter_time) +
                target.spec().adapter_time;
    transfer.done = target.access(transfer.to + transfer.at, part, true, arrived);
    m.snoop_arriving(target, transfer.to + transfer.at, part);
    transfer.at += part;
  }
  if (transfer.is_over() && transfer.tile != none)
    m.tiles[transfer.tile].adapter.count(network_adapter::operation::dma, transfer.bytes, transfer.asked,
                                         transfer.done);
}

time_ps modelled_machine::dma(std::uint32_t core, std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
                              time_ps now) {
  dma_transfer transfer = begin_dma(core, to, from, bytes, now);
  do step_dma(transfer);
  while (!transfer.is_over());
  return transfer.done;
}

time_ps modelled_machine::remote_atomic(std::uint32_t core, std::uint64_t address, std::uint32_t bytes, time_ps now) {
  return impl_->remote_atomic(core, address, bytes, access_kind::atomic, now);
}

time_ps modelled_machine::memory_request(std::uint32_t memory, std::uint64_t address, std::uint64_t bytes, bool write,
                                         time_ps now) {
  return impl_->memories[memory].access(address, bytes, write, now);
}

time_ps modelled_machine::memory_access(std::uint32_t memory, std::uint64_t address, std::uint64_t bytes, bool write,
                                        time_ps now, std::optional<access_times> own) {
  if (memory >= impl_->memories.size())
    throw_error(errc::bad_argument,
                fmt::format("there is no memory {}; the last is {}", memory, impl_->memories.size() - 1));
  if (!impl_->homes.empty()) [[unlikely]]
    now = impl_->settle_homed(address, bytes, write, now);
  return impl_->memories[memory].access_by_unit(address, bytes, write, now, own);
}

}  // namespace situ::model
