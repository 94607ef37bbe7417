// The translation of an access's address: TLBs, the second level behind them, and walks through the page table.
//
// 1. A walk takes the first level's fixed time, or, with page_walks = "through_caches", the time of its reads of
//    entries (page_tables.h), one after the other, from the highest level down to that of the page. The reads go
//    through the core's data caches as its own reads do: they fill these caches, take their miss registers, and are
//    counted as walk_hits and walk_misses, not among the program's accesses. They train no prefetcher.
// 2. With walk_instructions, walks are the core's own instructions: they take the same fixed time, and the core retires
//    so many of them. `walk` is their whole time, reads of the page table included.
// 3. Entries of the levels above that of the page are taken from the core's page-walk cache, if it has one.
#include "model/parts/machine_state.h"

#include <algorithm>

namespace situ::model {

[[gnu::noinline]] time_ps modelled_machine::impl::translate(std::uint32_t core, tlb& first, std::uint64_t address,
                                                            time_ps now) {
  core_state& c = cores[core];
  const std::uint32_t shift = first.shift_of(pages.shift_at(address));
  if (first.look_up(address, shift)) return now;
  if (c.further && c.further->stlb.exists()) {
    now += c.further->stlb.hit_time();
    if (c.further->stlb.look_up(address, shift)) return now;
  }
  if (!spec.cores[core].walks_through_caches) {
    first.count_walk(first.walk_time(), 0);
    walk_instructions[core] += first.walk_instructions();
    return now + first.walk_time();
  }
  return walk(core, first, address, shift, now);
}

time_ps modelled_machine::impl::walk(std::uint32_t core, tlb& first, std::uint64_t address, std::uint32_t shift,
                                     time_ps now) {
  page_walk_cache& held = cores[core].further->walk_cache;
  const std::uint32_t lowest = page_tables::level_of(shift);
  const std::uint32_t highest = held.first_level(lowest, address);
  time_ps done = now;
  for (std::uint32_t level = highest; level >= lowest; --level) {
    done = read_entry(core, page_tables::entry(level, address), done);
    if (level > lowest) held.fill(level, address);
  }
  first.count_walk(done - now, highest - lowest + 1);
  return done;
}

// Reads an entry of the page table.
time_ps modelled_machine::impl::read_entry(std::uint32_t core, std::uint64_t address, time_ps now) {
  core_state& c = cores[core];
  const home where = home_of(address, c.tile);
  const path way = where.cacheable ? path_to(where, c.data_path) : path{};
  if (is_warming) {
    is_walking = true;
    warm_read(core, c.data_path, address, page_tables::entry_bytes);
    is_walking = false;
    return now;
  }
  if (way.empty()) return uncached(core, where, address, page_tables::entry_bytes, false, now);
  cache_state& first = *way.front();
  const std::uint64_t line = first.tags.line_of(address);
  if (first.tags.hit(line)) {
    ++first.walk_hits;
    return std::max(now + first.hit_time, first.arrival(line, now));
  }
  is_walking = true;
  const time_ps done = get_line(core, way, where, address, false, now);
  is_walking = false;
  return done;
}

void modelled_machine::set_page_size(std::uint64_t begin, std::uint64_t end, std::uint32_t shift) {
  if (shift == 0 && impl_->pages.are_usual()) return;
  impl_->pages.set(begin, end, shift);
  for (impl::core_state& c : impl_->cores) {
    c.itlb.forget_last();
    c.dtlb.forget_last();
  }
}

}  // namespace situ::model
