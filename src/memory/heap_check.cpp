// The heap's invariants as code (heap.h names them). For tests and for assertions of level 3.

#include "memory/heap.h"

#include <bit>

namespace situ::detail {

struct heap::tally {
  std::uint64_t taken_chunks = 0;
  std::uint64_t dirty_chunks = 0;
  std::uint64_t free_runs = 0;
  std::uint64_t partial_slabs = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t idle_blocks = 0;  // taken, not live
  map_entry before;               // entry of the run before
};

// The bits of one slab: live within taken, remote within live, and `used` their number.
bool heap::slab_is_valid(std::uint32_t first) const noexcept {
  const map_entry entry = map_.entry(first);
  if (!entry.is_slab() || entry.first != first || entry.size_class >= class_count) return false;
  if ((entry.kind == chunk_kind::slab) != (entry.arena == plain) || entry.arena > placed_.size()) return false;
  const size_class_info& sizes = size_classes[entry.size_class];
  for (std::uint32_t i = 0; i < sizes.chunks; ++i)
    if (map_.entry(first + i).pack() != entry.pack()) return false;
  std::uint32_t taken = 0;
  for (std::uint32_t i = 0; i * 64 < sizes.blocks; ++i) {
    const block_word& word = map_.bits[first].words[i];
    const std::uint32_t rest = sizes.blocks - i * 64;
    const std::uint64_t beyond = rest >= 64 ? 0 : ~std::uint64_t{0} << rest;
    const std::uint64_t live = word.live.load(std::memory_order_relaxed);
    if ((word.taken & beyond) != beyond || (live & beyond) != 0 || (live & ~word.taken) != 0) return false;
    if ((word.remote.load(std::memory_order_relaxed) & ~live) != 0) return false;
    taken += static_cast<std::uint32_t>(std::popcount(word.taken & ~beyond));
  }
  return taken == map_.states[first].used;
}

bool heap::count_run(std::uint32_t first, tally& sums) const noexcept {
  const map_entry entry = map_.entry(first);
  const chunk_state& state = map_.states[first];
  const std::uint32_t chunks = state.chunks.load(std::memory_order_relaxed);
  if (entry.kind == chunk_kind::none || entry.first != first || chunks == 0 || chunks > open_chunks_ - first)
    return false;
  const bool is_free = entry.kind == chunk_kind::free;
  if (is_free) {
    const bool touches = sums.before.kind == chunk_kind::free && sums.before.arena == entry.arena;
    if (touches || map_.entry(first + chunks - 1).pack() != entry.pack() || state.dirty > chunks) return false;
    if (entry.arena != plain && state.dirty != chunks) return false;
    sums.dirty_chunks += state.dirty;
    ++sums.free_runs;
  } else if (entry.is_slab()) {
    if (!slab_is_valid(first)) return false;
    const size_class_info& sizes = size_classes[entry.size_class];
    std::uint32_t live = 0;
    for (std::uint32_t i = 0; i * 64 < sizes.blocks; ++i)
      live += static_cast<std::uint32_t>(std::popcount(map_.bits[first].words[i].live.load(std::memory_order_relaxed)));
    sums.live_bytes += std::uint64_t{live} * sizes.bytes;
    sums.idle_blocks += state.used - live;
    sums.partial_slabs += state.used != sizes.blocks;
  } else {
    if (map_.bits[first].words[0].live.load(std::memory_order_relaxed) != 1) return false;
    sums.live_bytes += chunks * chunk_bytes;
  }
  if (!entry.is_slab())  // invariant 1 of heap_map.h
    for (std::uint32_t i = first + 1; i + (is_free ? 1 : 0) < first + chunks; ++i)
      if (map_.entry(i).kind != chunk_kind::none) return false;
  if (!is_free) sums.taken_chunks += chunks;
  sums.before = entry;
  return true;
}

// Checks that lists and magazines hold only valid entries; is_valid compares numbers to find missing ones.
bool heap::bins_are_valid(const arena& in) const noexcept {
  for (unsigned i = 0; i < class_count; ++i) {
    const bin& of = in.bins[i];
    std::uint32_t before = no_chunk;
    int empty = 0;
    for (std::uint32_t slab = of.partial; slab != no_chunk; slab = map_.states[slab].next) {
      const chunk_state& state = map_.states[slab];
      const map_entry entry = map_.entry(slab);
      if (!entry.is_slab() || entry.arena != in.number || entry.size_class != i || entry.first != slab ||
          state.prev != before)
        return false;
      empty += state.used == 0;
      before = slab;
    }
    if (empty > 1) return false;
    for (std::uint32_t k = 0; k < of.count; ++k) {
      const slot& free = of.slots[k];
      if ((free.word().taken & free.mask()) == 0 ||
          (free.word().live.load(std::memory_order_relaxed) & free.mask()) != 0)
        return false;
    }
  }
  return true;
}

bool heap::is_valid() const noexcept {
  tally sums;
  for (std::uint32_t chunk = 0; chunk < open_chunks_;
       chunk += map_.states[chunk].chunks.load(std::memory_order_relaxed))
    if (!count_run(chunk, sums)) return false;
  std::uint64_t taken_bytes = sums.live_bytes;
  bool listed_runs_are_free = true;
  const auto look = [&](const arena& in) {
    for (const bin& of : in.bins) {
      sums.idle_blocks -= of.count;
      taken_bytes += std::uint64_t{of.count} * of.block_bytes;
      for (std::uint32_t slab = of.partial; slab != no_chunk; slab = map_.states[slab].next) --sums.partial_slabs;
    }
    in.runs.for_each([&](std::uint32_t run) {
      --sums.free_runs;
      const map_entry entry = map_.entry(run);
      listed_runs_are_free =
          listed_runs_are_free && entry.kind == chunk_kind::free && entry.first == run && entry.arena == in.number;
    });
    return bins_are_valid(in);
  };
  if (!look(plain_)) return false;
  for (const std::unique_ptr<arena>& placed : placed_)
    if (!look(*placed)) return false;
  return listed_runs_are_free && sums.idle_blocks == 0 && sums.partial_slabs == 0 && sums.free_runs == 0 &&
         sums.dirty_chunks == dirty_chunks_ && sums.taken_chunks + sums.dirty_chunks == needed_chunks_ &&
         sums.live_bytes == count().live_bytes && taken_bytes == taken_bytes_;
}

}  // namespace situ::detail
