// Writes back and invalidates lines of a tile's caches by order of a core.
//
// The core's earlier writes come first. One command per line goes over the bus, and the outermost cache looks the line
// up (its hit time is for the bytes; the commands follow each other on the bus). Only the next dirty line, at the
// adapter, waits for a dirty line's way to memory.
#include "model/parts/machine_state.h"

#include <algorithm>

namespace situ::model {

// Moves dirty lines of inner caches into the outermost cache; the inner caches lose the lines if these are dropped.
void modelled_machine::impl::gather_inner(std::uint32_t tile, std::uint32_t outermost, std::uint64_t begin,
                                          std::uint64_t last, bool drops, time_ps now) {
  if (!caches[outermost].is_used) begin_to_use(caches[outermost]);  // it may get lines, and then joins used_caches
  for (cache_state* inner : tiles[tile].used_caches) {
    if (inner->index == outermost || spec.caches[inner->index].kind == machine::cache_kind::instruction) continue;
    set_associative_cache& tags = inner->tags;
    tags.for_each(tags.line_of(begin), tags.line_of(last), [&](std::uint64_t line, line_state state) {
      const std::uint64_t address = tags.address_of(line);
      if (state.dirty) {
        // A line that stays in front of an exclusive cache does not enter it.
        if (home_of(address, tile).own || (!drops && caches[outermost].is_exclusive)) {
          write_to_memory(tile, address, tags.line_bytes(), now);
        } else {
          fill(caches[outermost], address, {.dirty = true, .writable = true}, now);
        }
        tags.set_state(line, {.dirty = false, .writable = state.writable});
      }
      if (!drops) return;
      tags.drop(line);
      ++inner->invalidations;
    });
  }
}

time_ps modelled_machine::impl::operate_on_line(std::uint32_t tile, std::uint32_t cache, std::uint64_t line,
                                                line_state state, bool to_memory, bool drops, time_ps now) {
  cache_state& outer = caches[cache];
  const std::uint64_t address = outer.tags.address_of(line);
  const std::uint32_t bytes = outer.tags.line_bytes();
  time_ps done = now;
  if (drops && !to_memory && state.dirty) to_memory = home_of(address, tile).is_homed();
  if (drops) {
    outer.tags.drop(line);
    ++outer.invalidations;
    notify(tile, line, bytes, to_memory ? line_event::evicted : line_event::invalidated, state.dirty);
  } else {
    outer.tags.set_state(line, {.dirty = false, .writable = state.writable});
    notify(tile, line, bytes, line_event::written_back, state.dirty);
  }
  if (state.dirty && to_memory) {
    ++outer.write_backs;
    done = write_to_memory(tile, address, bytes, now);
  }
  return done;
}

time_ps modelled_machine::impl::operate_on_range(std::uint32_t core, std::uint64_t begin, std::uint64_t end,
                                                 bool to_memory, bool drops, time_ps now) {
  const std::vector<std::uint32_t>& way = spec.cores[core].data_path;
  if (!is_warming) now = std::max(now, cores[core].store_free);
  if (way.empty() || begin >= end) return now;
  const std::uint32_t outermost = way.back();
  cache_state& outer = caches[outermost];
  const std::uint32_t tile = cores[core].tile;
  tile_bus& bus = tiles[tile].bus;
  const std::uint64_t first = outer.tags.line_of(begin);
  const std::uint64_t last = outer.tags.line_of(end - 1);
  // Inner caches' lines may be shorter: all of them within the outermost cache's lines.
  gather_inner(tile, outermost, outer.tags.address_of(first), outer.tags.address_of(last) + outer.tags.line_bytes() - 1,
               drops, now);
  const bool whole_cache = last - first >= std::uint64_t{outer.tags.sets()} * outer.tags.ways();
  const time_ps command = std::max(bus.transfer_time(0), spec.cores[core].period);
  time_ps issued = now;
  std::uint64_t commands = 0;
  const auto issue_until = [&](std::uint64_t count) {
    if (is_warming) return;  // lines change without time
    for (; commands < count; ++commands) issued = bus.ask(issued) + command;
  };
  time_ps done = now;
  outer.tags.for_each(first, last, [&](std::uint64_t line, line_state state) {
    issue_until(whole_cache ? commands + 1 : line - first + 1);  // in order, unless it is the whole
    done = std::max(done, operate_on_line(tile, outermost, line, state, to_memory, drops, issued));
  });
  if (!whole_cache) issue_until(last - first + 1);
  return std::max(done, issued);
}

time_ps modelled_machine::write_back(std::uint32_t core, std::uint64_t begin, std::uint64_t end, time_ps now) {
  return impl_->operate_on_range(core, begin, end, true, false, now);
}

time_ps modelled_machine::invalidate(std::uint32_t core, std::uint64_t begin, std::uint64_t end, time_ps now) {
  return impl_->operate_on_range(core, begin, end, false, true, now);
}

time_ps modelled_machine::flush(std::uint32_t core, std::uint64_t begin, std::uint64_t end, time_ps now) {
  return impl_->operate_on_range(core, begin, end, true, true, now);
}

void modelled_machine::forget(std::uint64_t begin, std::uint64_t end) {
  if (impl_->spec.coherent || begin >= end) return;
  for (impl::cache_state& each : impl_->caches)
    each.tags.for_each(each.tags.line_of(begin), each.tags.line_of(end - 1),
                       [&](std::uint64_t line, line_state) { each.tags.drop(line); });
}

}  // namespace situ::model
