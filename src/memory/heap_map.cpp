#include "memory/heap_map.h"

#include <situ/base/detail/test_points.h>

namespace situ::detail {

heap_map heap_map::at(std::uintptr_t heap_address, unsigned slice_shift) noexcept {
  const std::uint64_t chunks = chunks_of(slice_shift);
  std::uintptr_t next = heap_address - metadata_bytes(slice_shift);
  const auto take = [&next](std::uint64_t bytes) {
    const std::uintptr_t at = next;
    next += page_round(bytes);
    return at;
  };
  heap_map map;
  map.heap = heap_address;
  map.header = reinterpret_cast<heap_header*>(take(header_bytes));
  map.map = reinterpret_cast<std::atomic<std::uint64_t>*>(take(chunks * sizeof(std::uint64_t)));
  map.regions = reinterpret_cast<std::atomic<std::uint32_t>*>(take(chunks / region_chunks * sizeof(std::uint32_t) + 4));
  map.links = reinterpret_cast<remote_link*>(take(chunks * sizeof(remote_link)));
  map.states = reinterpret_cast<chunk_state*>(take(chunks * sizeof(chunk_state)));
  map.bits = reinterpret_cast<block_bits*>(take(chunks * sizeof(block_bits)));
  return map;
}

// Returns the chunk of the nearest non-zero map entry at or before `chunk`, no_chunk if there is none (invariants 1
// and 2).
std::uint32_t heap_map::nearest_entry(std::uint32_t chunk) const noexcept {
  const std::uint32_t region = chunk / region_chunks;
  for (std::uint32_t c = chunk + 1; c-- > region * region_chunks;)
    if (map[c].load(std::memory_order_acquire) != 0) return c;
  const std::uint32_t first = regions[region].load(std::memory_order_acquire);
  return first < chunk && map[first].load(std::memory_order_acquire) != 0 ? first : no_chunk;
}

std::optional<block> heap_map::find(std::uintptr_t address, std::uint32_t open_chunks) const noexcept {
  const std::uint64_t chunk = (address - heap) >> chunk_shift;
  if (chunk >= open_chunks) return std::nullopt;
  const std::uint32_t at = nearest_entry(static_cast<std::uint32_t>(chunk));
  if (at == no_chunk) return std::nullopt;
  const map_entry found = entry(at);
  const block_index where = locate(found, address);
  std::uint64_t size = 0;
  if (found.is_slab() && found.size_class < class_count) {
    if (at != chunk) return std::nullopt;  // a stale region: each chunk of a slab has an entry of its own
    if (where.index >= size_classes[found.size_class].blocks) return std::nullopt;  // the slab's unused tail
    size = size_classes[found.size_class].bytes;
  } else if (found.kind == chunk_kind::large) {
    if (chunk >= std::uint64_t{at} + states[at].chunks.load(std::memory_order_relaxed)) return std::nullopt;
    size = states[at].bytes.load(std::memory_order_relaxed);
  } else {
    return std::nullopt;
  }
  const std::uint64_t bit = std::uint64_t{1} << (where.index % 64);
  const block_word& word = bits[found.first].words[where.index / 64];
  const bool live =
      (word.live.load(std::memory_order_relaxed) & ~word.remote.load(std::memory_order_relaxed) & bit) != 0;
  return block{this->address(found.first) + where.index * size, size, live};
}

void heap_map::push_remote(std::uint32_t chunk) const noexcept {
  std::uint32_t head = header->remote_head.load(std::memory_order_relaxed);
  do {
    links[chunk].next.store(head, std::memory_order_relaxed);
    // release: the popping thread sees `next`.
  } while (!header->remote_head.compare_exchange_weak(head, chunk + 1, std::memory_order_release,
                                                      std::memory_order_relaxed));
}

free_status heap_map::free_remote(std::uintptr_t address, std::uint32_t open_chunks) const noexcept {
  const std::uint64_t chunk = (address - heap) >> chunk_shift;
  if (chunk >= open_chunks) return free_status::no_block;
  // relaxed: the block reached this place by some synchronisation of the program's, and the entry was written before
  // it.
  const map_entry found = entry(static_cast<std::uint32_t>(chunk));
  if ((!found.is_slab() && found.kind != chunk_kind::large) || found.size_class >= class_count)
    return free_status::no_block;
  const block_index where = locate(found, address);
  if (!where.exact) return free_status::no_block;
  const std::uint64_t bit = std::uint64_t{1} << (where.index % 64);
  block_word& word = bits[found.first].words[where.index / 64];
  if ((word.live.load(std::memory_order_relaxed) & bit) == 0) return free_status::already_free;
  // Sequentially consistent for invariant 5; it also releases this place's last accesses to the block.
  if ((word.remote.fetch_or(bit) & bit) != 0) return free_status::already_free;
  remote_link& link = links[found.first];
  if (link.queued.load() == 0 && link.queued.exchange(1) == 0) {
    SITU_POINT(chunk_claimed);
    push_remote(found.first);
  }
  return free_status::done;
}

}  // namespace situ::detail
