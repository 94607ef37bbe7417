// A machine's contents as words: what a later run can begin with (warm_state.h). Lines and pages, their order of
// replacement, and streams; no requests under way, which are over when another run begins.
#include "model/parts/machine_state.h"
#include "model/parts/warm_state.h"

#include <situ/base/error.h>

#include <algorithm>

namespace situ::model {
namespace {

void add_tlb(word_hash& hash, const tlb_spec& of) {
  for (const std::uint64_t each :
       {of.sets, of.ways, of.page_bytes, of.of_2m.sets, of.of_2m.ways, of.of_1g.sets, of.of_1g.ways})
    hash.add(each);
}

void add_path(word_hash& hash, const std::vector<std::uint32_t>& path) {
  hash.add(path.size());
  for (const std::uint32_t cache : path) hash.add(cache);
}

}  // namespace

std::uint64_t modelled_machine::state_hash() const {
  const machine_spec& its = impl_->spec;
  word_hash hash;
  hash.add(its.coherent ? 1 : 0);
  hash.add(its.caches.size());
  for (const cache_spec& each : its.caches) {
    for (const std::uint64_t word :
         {each.tile, each.level, each.sets, each.ways, each.line_bytes, each.prefetch_streams, each.prefetch_lines})
      hash.add(word);
    for (const std::uint64_t word :
         {static_cast<std::uint64_t>(each.kind), static_cast<std::uint64_t>(each.write_through),
          static_cast<std::uint64_t>(each.allocates_on_write), static_cast<std::uint64_t>(each.replacement.policy),
          static_cast<std::uint64_t>(each.inclusion), each.prefetch_page})
      hash.add(word);
  }
  hash.add(its.cores.size());
  for (const core_spec& each : its.cores) {
    add_tlb(hash, each.itlb);
    add_tlb(hash, each.dtlb);
    add_tlb(hash, each.stlb);
    hash.add(each.walk_cache);
    hash.add(each.page_bytes);
    add_path(hash, each.data_path);
    add_path(hash, each.fetch_path);
    if (each.threads > 1) hash.add(each.core);
  }
  for (const memory_spec& each : its.memories) hash.add(each.side_cache);
  for (const side_cache_spec& each : its.side_caches) {
    for (const std::uint64_t word : {each.sets, std::uint64_t{each.ways}, std::uint64_t{each.line_bytes},
                                     static_cast<std::uint64_t>(each.replacement.policy)})
      hash.add(word);
  }
  return hash.value();
}

void modelled_machine::save_state(state_words& to) const {
  for (const impl::cache_state& each : impl_->caches) {
    each.tags.save(to);
    each.prefetcher.save(to);
  }
  for (const impl::core_state& each : impl_->cores) {
    if (&each != &impl_->cores[each.core]) continue;  // its first thread's
    each.itlb.save(to);
    each.dtlb.save(to);
    if (!each.further) continue;
    each.further->stlb.save(to);
    each.further->walk_cache.save(to);
  }
  for (const memory_controller& each : impl_->memories)
    if (each.side() != nullptr) each.side()->save(to);
}

void modelled_machine::load_state(state_reader& from) {
  for (impl::cache_state& each : impl_->caches) {
    if (each.tags.load(from) && !each.is_used) impl_->begin_to_use(each);
    each.prefetcher.load(from);
    each.lost.clear();
  }
  for (impl::core_state& each : impl_->cores) {
    if (&each != &impl_->cores[each.core]) {
      each.itlb.forget_last();
      each.dtlb.forget_last();
      continue;
    }
    each.itlb.load(from);
    each.dtlb.load(from);
    if (!each.further) continue;
    each.further->stlb.load(from);
    each.further->walk_cache.load(from);
  }
  for (memory_controller& each : impl_->memories)
    if (each.side() != nullptr) each.side()->load(from);
  impl_->drop_homed_elsewhere();
}

}  // namespace situ::model
