// The heap's invariants as code (heap.h names them). For tests and for assertions of level 3.

#include "memory/heap.h"

#include <bit>

namespace situ::detail {

bool heap::slab_is_valid(std::uint32_t first) const noexcept {
  const map_entry entry = map_.entry(first);
  if (entry.kind != chunk_kind::slab || entry.first != first || entry.size_class >= class_count) return false;
  const size_class_info& sizes = size_classes[entry.size_class];
  for (std::uint32_t i = 0; i < sizes.chunks; ++i)
    if (map_.entry(first + i).pack() != entry.pack()) return false;
  const std::uint32_t words = (sizes.blocks + 63) / 64;
  std::uint32_t live = 0;
  for (std::uint32_t i = 0; i < words; ++i)
    live += static_cast<std::uint32_t>(std::popcount(map_.bits[first].live[i].load(std::memory_order_relaxed)));
  live -= words * 64 - sizes.blocks;
  const chunk_state& state = map_.states[first];
  switch (state.list) {
    case slab_list::current: return bins_[entry.size_class].current == first && state.used == live + 1;
    case slab_list::partial: return state.used == live && live != 0 && live != sizes.blocks;
    case slab_list::full: return state.used == live && (live == sizes.blocks || live == 0);  // 0 while it is being released
  }
  return false;
}

// Each partial slab and each free run is in its list exactly once: counted here, held against the tiling in is_valid.
bool heap::lists_are_valid() const noexcept {
  for (unsigned i = 0; i < class_count; ++i) {
    const bin& of = bins_[i];
    if (of.current != no_chunk && map_.states[of.current].list != slab_list::current) return false;
    if (of.current == no_chunk && of.word != &full_word_) return false;
    std::uint32_t before = no_chunk;
    for (std::uint32_t slab = of.partial; slab != no_chunk; slab = map_.states[slab].next) {
      if (map_.states[slab].list != slab_list::partial || map_.entry(slab).size_class != i || map_.states[slab].prev != before) return false;
      before = slab;
    }
  }
  bool valid = true;
  free_runs_.for_each([&](std::uint32_t run) { valid = valid && map_.entry(run).kind == chunk_kind::free && map_.entry(run).first == run; });
  return valid;
}

bool heap::is_valid() const noexcept {
  std::uint64_t taken = 0, dirty = 0, live_bytes = 0, partial = 0, free = 0;
  bool after_free = false;
  for (std::uint32_t chunk = 0; chunk < open_chunks_;) {
    const map_entry entry = map_.entry(chunk);
    const chunk_state& state = map_.states[chunk];
    const std::uint32_t chunks = state.chunks.load(std::memory_order_relaxed);
    if (entry.kind == chunk_kind::none || entry.first != chunk || chunks == 0 || chunks > open_chunks_ - chunk) return false;
    if (entry.kind == chunk_kind::free) {
      if (after_free || map_.entry(chunk + chunks - 1).pack() != entry.pack() || state.dirty > chunks) return false;
      dirty += state.dirty;
      ++free;
    } else if (entry.kind == chunk_kind::slab) {
      if (!slab_is_valid(chunk)) return false;
      partial += state.list == slab_list::partial;
      live_bytes += std::uint64_t{state.used - (state.list == slab_list::current)} * size_classes[entry.size_class].bytes;
    } else {
      if ((map_.bits[chunk].live[0].load(std::memory_order_relaxed) & 1) == 0) return false;
      live_bytes += chunks * chunk_bytes;
    }
    // Invariant 1 of heap_map.h: nothing is set between the first chunk of a run and its end.
    if (entry.kind != chunk_kind::slab)
      for (std::uint32_t i = chunk + 1; i + 1 < chunk + chunks; ++i)
        if (map_.entry(i).kind != chunk_kind::none) return false;
    after_free = entry.kind == chunk_kind::free;
    if (!after_free) taken += chunks;
    chunk += chunks;
  }
  for (const bin& of : bins_)
    for (std::uint32_t slab = of.partial; slab != no_chunk; slab = map_.states[slab].next) --partial;
  free_runs_.for_each([&](std::uint32_t) { --free; });
  return lists_are_valid() && partial == 0 && free == 0 && dirty == dirty_chunks_ && taken + dirty == needed_chunks_ &&
         live_bytes == counters_.live_bytes;
}

}  // namespace situ::detail
