#include "memory/heap.h"

#include <algorithm>
#include <bit>

namespace situ::detail {

heap::heap(heap_backing& backing, const heap_map& map) noexcept : backing_{backing}, map_{map}, free_runs_{map.states} {
  for (unsigned i = 0; i < class_count; ++i) {
    bins_[i].word = &full_word_;
    bins_[i].block_bytes = size_classes[i].bytes;
  }
}

// --- allocation beyond the hot path ---

void* heap::allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  // Slabs start at chunks, so that every block of a class is aligned as the class's size is.
  if (bytes <= largest_class_bytes && alignment <= chunk_bytes) {
    const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) & ~(alignment - 1);
    if (rounded <= largest_class_bytes) {
      unsigned size_class = class_of(rounded);
      while (size_classes[size_class].bytes % alignment != 0) ++size_class;  // ends at a power of two at the latest
      return take_block(size_class, bytes);
    }
  }
  return allocate_large(bytes, alignment);
}

void* heap::refill_and_take(unsigned size_class, std::size_t bytes) noexcept {
  bin& into = bins_[size_class];
  if (advance_word(into, size_class)) return take_block(size_class, bytes);
  drain();
  if (advance_word(into, size_class) || make_current(into, size_class)) return take_block(size_class, bytes);
  return nullptr;
}

// To the next word of the current slab that has a free block, in a circle: what was freed last is far away in it, and rests.
bool heap::advance_word(bin& bin, unsigned size_class) noexcept {
  const std::uint32_t blocks = size_classes[size_class].blocks;
  if (bin.current == no_chunk || bin.state->used > blocks) return false;
  std::atomic<std::uint64_t>* const live = map_.bits[bin.current].live;
  const std::uint32_t words = (blocks + 63) / 64;
  const auto now = static_cast<std::uint32_t>(bin.word - live);
  for (std::uint32_t i = 1; i <= words; ++i) {
    const std::uint32_t word = now + i < words ? now + i : now + i - words;
    if (live[word].load(std::memory_order_relaxed) == ~std::uint64_t{0}) continue;
    bin.word = live + word;
    bin.word_base = reinterpret_cast<std::byte*>(map_.address(bin.current)) + std::uint64_t{64} * word * bin.block_bytes;
    return true;
  }
  return false;
}

// Replaces the (full) current slab by one with free blocks.
bool heap::make_current(bin& bin, unsigned size_class) noexcept {
  std::uint32_t first = bin.partial;
  if (first != no_chunk) {
    unlist_partial(bin, first);
  } else {
    first = new_slab(size_class);
    if (first == no_chunk) return false;
  }
  if (bin.current != no_chunk) {
    --bin.state->used;
    bin.state->list = slab_list::full;
  }
  bin.current = first;
  bin.state = &map_.states[first];
  ++bin.state->used;
  bin.state->list = slab_list::current;
  bin.word = map_.bits[first].live + (size_classes[size_class].blocks - 1) / 64;  // so that the circle starts at word 0
  return advance_word(bin, size_class);
}

std::uint32_t heap::new_slab(unsigned size_class) noexcept {
  const size_class_info& sizes = size_classes[size_class];
  const std::uint32_t first = take_run(sizes.chunks, chunk_bytes);
  if (first == no_chunk) return no_chunk;
  chunk_state& state = map_.states[first];
  state.chunks.store(sizes.chunks, std::memory_order_relaxed);
  state.used = 0;
  block_bits& words = map_.bits[first];
  for (std::uint32_t word = 0; word < (sizes.blocks + 63) / 64; ++word) {
    const std::uint32_t rest = sizes.blocks - word * 64;
    words.live[word].store(rest >= 64 ? 0 : ~std::uint64_t{0} << rest, std::memory_order_relaxed);
    // Only a block that two places freed at once has left a bit here; it must not free the next one.
    if (words.remote[word].load(std::memory_order_relaxed) != 0) words.remote[word].store(0, std::memory_order_relaxed);
  }
  for (std::uint32_t i = 0; i < sizes.chunks; ++i)
    set_entry(first + i, {chunk_kind::slab, static_cast<std::uint8_t>(size_class), first});
  return first;
}

void* heap::allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
  drain();
  const std::uint64_t chunks = bytes / chunk_bytes + (bytes % chunk_bytes != 0 || bytes == 0);
  const std::uint64_t slack = alignment > chunk_bytes ? alignment / chunk_bytes : 0;
  if (chunks >= no_chunk || slack >= no_chunk - chunks) return nullptr;
  const std::uint32_t first = take_run(static_cast<std::uint32_t>(chunks), alignment);
  if (first == no_chunk) return nullptr;
  mark_large(first, static_cast<std::uint32_t>(chunks), bytes);
  count_allocation(chunks * chunk_bytes);
  void* const block = reinterpret_cast<void*>(map_.address(first));
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

// --- deallocation beyond the hot path ---

free_status heap::deallocate_large(std::uint32_t first) noexcept {
  block_bits& words = map_.bits[first];
  if ((words.remote[0].load(std::memory_order_relaxed) & 1) != 0) return free_status::already_free;
  words.live[0].store(0, std::memory_order_relaxed);
  const std::uint32_t chunks = map_.states[first].chunks.load(std::memory_order_relaxed);
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(map_.address(first)), chunks * chunk_bytes);
  count_deallocation(chunks * chunk_bytes);
  set_entry(first, {});
  give_run(first, chunks);
  return free_status::done;
}

// A slab that is not current has lost blocks: from full to partial, from either to a free run.
void heap::after_deallocation(std::uint32_t first, unsigned size_class) noexcept {
  chunk_state& state = map_.states[first];
  bin& of = bins_[size_class];
  if (state.used == 0) {
    if (state.list == slab_list::partial) unlist_partial(of, first);
    release_slab(first, size_class);
  } else if (state.list == slab_list::full) {
    list_partial(of, first);
  }
}

void heap::release_slab(std::uint32_t first, unsigned size_class) noexcept {
  SITU_ASSERT(3, slab_is_valid(first), "situ's heap is broken: report this");
  const std::uint32_t chunks = size_classes[size_class].chunks;
  for (std::uint32_t i = 0; i < chunks; ++i) set_entry(first + i, {});
  give_run(first, chunks);
}

void heap::retire_idle_slabs() noexcept {
  for (unsigned i = 0; i < class_count; ++i) {
    bin& of = bins_[i];
    if (of.current == no_chunk || of.state->used != 1) continue;
    const std::uint32_t first = of.current;
    of.state->used = 0;
    of.state->list = slab_list::full;
    of.current = no_chunk;
    of.word = &full_word_;
    release_slab(first, i);
  }
}

void heap::list_partial(bin& bin, std::uint32_t first) noexcept {
  chunk_state& state = map_.states[first];
  state.list = slab_list::partial;
  state.prev = no_chunk;
  state.next = bin.partial;
  if (state.next != no_chunk) map_.states[state.next].prev = first;
  bin.partial = first;
}

void heap::unlist_partial(bin& bin, std::uint32_t first) noexcept {
  const chunk_state& state = map_.states[first];
  if (state.next != no_chunk) map_.states[state.next].prev = state.prev;
  if (state.prev != no_chunk)
    map_.states[state.prev].next = state.next;
  else
    bin.partial = state.next;
}

// --- what other places have given back ---

void heap::drain_slow() noexcept {
  // acquire: pairs with the push, so that `next` can be read.
  std::uint32_t head = map_.header->remote_head.exchange(0, std::memory_order_acquire);
  while (head != 0) {
    const std::uint32_t chunk = head - 1;
    head = map_.links[chunk].next.load(std::memory_order_relaxed);  // before `queued`: then it may be pushed again
    map_.links[chunk].queued.store(0);                              // sequentially consistent: invariant 5 of heap_map.h
    const map_entry entry = map_.entry(chunk);
    if (entry.first != chunk) continue;  // long something else: invariant 6
    if (entry.kind == chunk_kind::slab) {
      drain_slab(chunk, entry.size_class);
    } else if (entry.kind == chunk_kind::large && (map_.bits[chunk].remote[0].exchange(0) & 1) != 0) {
      ++counters_.remote_deallocations;
      deallocate_large(chunk);
    }
  }
}

void heap::drain_slab(std::uint32_t first, unsigned size_class) noexcept {
  const size_class_info& sizes = size_classes[size_class];
  block_bits& words = map_.bits[first];
  std::uint32_t blocks = 0;
  for (std::uint32_t word = 0; word < (sizes.blocks + 63) / 64; ++word) {
    if (words.remote[word].load() == 0) continue;  // sequentially consistent, as the exchange: invariant 5 of heap_map.h
    const std::uint64_t live = words.live[word].load(std::memory_order_relaxed);
    const std::uint64_t freed = words.remote[word].exchange(0) & live;
    words.live[word].store(live & ~freed, std::memory_order_relaxed);
    blocks += static_cast<std::uint32_t>(std::popcount(freed));
#if defined(__SANITIZE_ADDRESS__)
    for (std::uint64_t rest = freed; rest != 0; rest &= rest - 1) {
      const std::uint64_t index = word * 64 + static_cast<unsigned>(std::countr_zero(rest));
      ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(map_.address(first) + index * sizes.bytes), sizes.bytes);
    }
#endif
  }
  if (blocks == 0) return;
  counters_.deallocations += blocks;
  counters_.remote_deallocations += blocks;
  counters_.live_bytes -= std::uint64_t{blocks} * sizes.bytes;
  chunk_state& state = map_.states[first];
  state.used -= blocks;
  if (state.list != slab_list::current) after_deallocation(first, size_class);
}

}  // namespace situ::detail
