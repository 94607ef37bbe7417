// Accesses of cores that continue past a miss, and prefetches of their caches.
//
// 1. An access enters the window (instruction_window.h), is executed when its address is known (load_dependence.h), and
//    reaches the machine then. The core's time continues from the entry; its instructions cost the same as on other
//    cores, and a hit costs nothing more. Until a mispredicted branch is resolved, the core executes the wrong path,
//    which is taken to request the same lines (wrong_paths.h).
// 2. Several cores use a shared cache's registers; the executor limits the difference of their times.
// 3. A prefetch takes the time of a miss of its cache, and starts only if a register is free at once; only an access to
//    its line waits for it. Lines that another core's cache has dirty are not prefetched.
#include "model/parts/machine_state.h"

#include <algorithm>

namespace situ::model {

bool modelled_machine::goes_ahead(std::uint32_t core) const noexcept {
  return impl_->cores[core].past_misses != nullptr;
}

time_ps modelled_machine::access_ahead(std::uint32_t core, const window_access& of, time_ps now) {
  impl& m = *impl_;
  impl::core_state& c = m.cores[core];
  c.past_misses->settled = c.past_misses->asked_ahead.asked_at(of.instruction, now);
  if (of.kind == access_kind::fetch) return m.access_line(core, of.address, of.bytes, of.kind, now);
  if (is_atomic(of.kind)) return access(core, of.address, of.bytes, of.kind, wait_for_all(core, now));
  const time_ps entered = c.past_misses->window.enter(of.instruction, now);
  const time_ps goes_on =
      of.kind == access_kind::read ? m.load_ahead(core, of, entered) : m.store_ahead(core, of, entered);
  c.waited += goes_on - now;
  return goes_on;
}

time_ps modelled_machine::branch(std::uint32_t core, bool foreseen, std::uint64_t instruction, time_ps restart,
                                 time_ps now) {
  impl::core_state& c = impl_->cores[core];
  impl::ahead& under_way = *c.past_misses;
  if (!foreseen) {
    const time_ps known = under_way.dependence.ready_since(under_way.loads_till_branch, now);
    c.waited += known - now;
    under_way.asked_ahead.add({.until = instruction + under_way.window.instructions(), .begin = now, .known = known},
                              known + restart);
    now = known + restart;
  }
  under_way.loads_till_branch = under_way.dependence.count();
  return now;
}

void modelled_machine::share_core(std::uint32_t core, std::uint32_t active) {
  const core_spec& its = impl_->spec.cores[impl_->spec.cores[core].core];
  for (std::uint32_t i = its.core; i < impl_->cores.size(); ++i)
    if (impl::core_state& c = impl_->cores[i]; c.core == its.core && c.past_misses)
      c.past_misses->window.resize(its.window / active, its.store_buffer / active);
}

time_ps modelled_machine::wait_for_all(std::uint32_t core, time_ps now) {
  impl::core_state& c = impl_->cores[core];
  if (!c.past_misses) return now;
  const time_ps done = c.past_misses->window.all_done(now);
  c.waited += done - now;
  return done;
}

time_ps modelled_machine::impl::load_ahead(std::uint32_t core, const window_access& of, time_ps now) {
  core_state& c = cores[core];
  ahead& under_way = *c.past_misses;
  cache_state& first = *c.first_data;
  const time_ps begin = under_way.dependence.known(of.address, of.code, under_way.settled);
  const time_ps waited = c.waited;
  time_ps done = std::max(access_line(core, of.address, of.bytes, access_kind::read, begin), now + first.hit_time);
  c.waited = waited;  // load_ahead() counts no waiting: the core continues
  if (done > begin + first.hit_time && under_way.window.forwards(of.address, of.bytes)) done = begin + first.hit_time;
  first.meter.add(begin, first.hit_time, done - begin - std::min(done - begin, first.hit_time));
  under_way.dependence.loaded(of.value, of.bytes, of.code, done);
  if (done > now + first.hit_time) under_way.window.add_load(of.instruction, done);
  return now;
}

time_ps modelled_machine::impl::store_ahead(std::uint32_t core, const window_access& of, time_ps now) {
  core_state& c = cores[core];
  ahead& under_way = *c.past_misses;
  cache_state& first = *c.first_data;
  now = under_way.window.store_room(now);
  const time_ps begin = under_way.dependence.known(of.address, of.code, now);
  const time_ps waited = c.waited;
  const std::uint64_t line = first.tags.line_of(of.address);
  c.store_free = 0;
  const time_ps goes_on = access_line(core, of.address, of.bytes, access_kind::write, begin);
  const time_ps done = std::max({goes_on, c.store_free, first.under_way.arrival(line, begin)});
  c.waited = waited;
  first.meter.add(begin, first.hit_time, done - begin - std::min(done - begin, first.hit_time));
  under_way.window.add_store(of.address, of.bytes, done);
  return now;
}

// Issues the prefetches that a cache on a line's way wants after a request for that line.
void modelled_machine::impl::prefetch(std::uint32_t core, path way, std::size_t level, std::uint64_t address,
                                      time_ps now) {
  cache_state& cache = *way[level];
  if (!cache.prefetcher.exists()) return;
  cache.prefetcher.see(cache.tags.line_of(address), [&](std::uint64_t line) {
    return prefetch_line(core, way, level, cache.tags.address_of(line), now);
  });
}

// Prefetches a line. Returns false if the prefetch must be retried.
bool modelled_machine::impl::prefetch_line(std::uint32_t core, path way, std::size_t level, std::uint64_t address,
                                           time_ps now) {
  core_state& c = cores[core];
  cache_state& cache = *way[level];
  if (cache.tags.holds(cache.tags.line_of(address))) return true;
  std::size_t found = level + 1;
  while (found < way.size() && !way[found]->tags.hit(way[found]->tags.line_of(address))) ++found;
  for (std::size_t i = level; i < found; ++i)
    if (!is_warming && !way[i]->under_way.has_free(c.core, now)) return false;
  for (const cache_state* peer : c.peers)
    if (peer->tags.state(peer->tags.line_of(address)).dirty) return true;
  const home where = home_of(address, c.tile);
  if (!where.cacheable) return true;  // a line behind a page that is homed elsewhere
  const found_at_peers others = ask_peers(c, address, false);
  time_ps done = now;
  if (is_warming) {
    if (found == way.size()) warm_line_of_memory(way, where, address);
  } else if (found < way.size()) {
    cache_state& from = *way[found];
    const time_ps begin = send_line(way, found, now);
    done = std::max(begin + from.hit_time, from.arrival(from.tags.line_of(address), begin));
    if (from.victims_of != nullptr) done = std::max(done, from.arrival_of_victim(from.tags.line_of(address), begin));
  } else {
    done = get_from_memory(core, *way.back(), where, address, cache.tags.line_bytes(), now);
  }
  ++cache.prefetches;
  for (std::size_t i = found; i-- > level;)
    if (!way[i]->is_exclusive)
      fill(*way[i], address, {.dirty = false, .writable = i == 0 ? !others.any : true}, c.past_misses ? now : done);
  if (const std::uint64_t line = cache.tags.line_of(address); cache.tags.holds(line)) cache.tags.mark_prefetched(line);
  if (!is_warming)
    keep_under_way(core, way.subspan(level, found - level), address, now, done,
                   c.past_misses ? c.past_misses->settled : now);
  return true;
}

}  // namespace situ::model
