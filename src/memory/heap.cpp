#include "memory/heap.h"

#include <algorithm>
#include <bit>

namespace situ::detail {

heap::heap(heap_backing& backing, const heap_map& map, std::uint64_t kept_bytes) noexcept
    : backing_{backing},
      map_{map},
      kept_chunks_{static_cast<std::uint32_t>(kept_bytes >> chunk_shift)},
      plain_{plain, map.states} {}

heap::arena::arena(unsigned its_number, chunk_state* states) noexcept
    : number{static_cast<std::uint8_t>(its_number)}, runs{states} {
  // A magazine holds at most 64 KiB, or four blocks, since other classes cannot use that memory.
  for (unsigned i = 0; i < class_count; ++i) {
    bins[i].capacity = std::clamp<std::uint32_t>(largest_class_bytes / size_classes[i].bytes, 4, bin::most_slots);
    bins[i].block_bytes = size_classes[i].bytes;
    bins[i].reciprocal = size_classes[i].reciprocal;
  }
}

unsigned heap::add_arena() {
  if (placed_.size() + 1 == most_arenas) return plain;
  placed_.push_back(std::make_unique<arena>(static_cast<unsigned>(placed_.size() + 1), map_.states));
  by_number_[placed_.size()] = placed_.back().get();
  return static_cast<unsigned>(placed_.size());
}

heap::counters heap::count() const noexcept {
  counters sum{.live_bytes = large_bytes_,
               .peak_bytes = peak_bytes_,
               .allocations = large_allocations_,
               .deallocations = large_deallocations_,
               .remote_deallocations = remote_deallocations_};
  const auto add = [&sum](const arena& in) {
    for (const bin& of : in.bins) {
      sum.live_bytes += (of.allocations - of.deallocations) * of.block_bytes;
      sum.allocations += of.allocations;
      sum.deallocations += of.deallocations;
    }
  };
  add(plain_);
  for (const std::unique_ptr<arena>& placed : placed_) add(*placed);
  return sum;
}

void heap::count_taken(std::uint64_t bytes) noexcept {
  taken_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, taken_bytes_);
}

// --- allocation beyond the hot path ---

void* heap::allocate_slow(arena& in, std::size_t bytes, std::size_t alignment) noexcept {
  // Slabs start at chunks, so that every block of a class is aligned as the class's size is.
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) & ~(alignment - 1);
  if (bytes > largest_class_bytes || rounded > largest_class_bytes || alignment > chunk_bytes)
    return take_large(in, bytes, alignment);
  unsigned size_class = class_of(rounded);
  while (size_classes[size_class].bytes % alignment != 0) ++size_class;  // ends at a power of two at the latest
  bin& from = in.bins[size_class];
  if (from.count == 0 && !refill(in, size_class)) return nullptr;
  return take_block(from, bytes);
}

// Fills half a magazine, so that neither a sequence of allocations nor one of deallocations calls refill or flush
// again at once.
bool heap::refill(arena& in, unsigned size_class) noexcept {
  bin& into = in.bins[size_class];
  drain();
  if (into.partial == no_chunk) {
    const std::uint32_t first = new_slab(in, size_class);
    if (first == no_chunk) return false;
    list_partial(into, first);
  }
  fill_from(into, into.partial, size_class);
  return true;
}

// pre: the magazine is empty, the slab is listed. Takes from the lowest addresses, and leaves the lowest on top.
void heap::fill_from(bin& bin, std::uint32_t first, unsigned size_class) noexcept {
  const size_class_info& sizes = size_classes[size_class];
  block_word* const words = map_.bits[first].words;
  for (std::uint32_t i = 0; i * 64 < sizes.blocks && bin.count < bin.capacity / 2; ++i) {
    std::uintptr_t base = map_.address(first) + std::uint64_t{64} * i * sizes.bytes;
    for (std::uint64_t free = ~words[i].taken; free != 0 && bin.count < bin.capacity / 2; free &= free - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(free));
      bin.slots[bin.count++] = {base + std::uint64_t{bit} * sizes.bytes, &words[i], bit};
      words[i].taken |= std::uint64_t{1} << bit;
    }
  }
  std::reverse(bin.slots, bin.slots + bin.count);
  chunk_state& state = map_.states[first];
  state.used += bin.count;
  count_taken(std::uint64_t{bin.count} * sizes.bytes);
  if (state.used == sizes.blocks) unlist_partial(bin, first);
}

// Returns the `count` least recently freed blocks to their slabs.
void heap::flush(arena& in, unsigned size_class, std::uint32_t count) noexcept {
  bin& from = in.bins[size_class];
  for (std::uint32_t i = 0; i < count; ++i) {
    const slot& rested = from.slots[i];
    rested.word().taken &= ~rested.mask();
    blocks_returned(in, map_.entry(static_cast<std::uint32_t>((rested.block() - map_.heap) >> chunk_shift)).first,
                    size_class, 1);
  }
  std::copy(from.slots + count, from.slots + from.count, from.slots);
  from.count -= count;
  taken_bytes_ -= std::uint64_t{count} * from.block_bytes;
}

std::uint32_t heap::new_slab(arena& in, unsigned size_class) noexcept {
  const size_class_info& sizes = size_classes[size_class];
  const std::uint32_t first = take_run(in, sizes.chunks, chunk_bytes);
  if (first == no_chunk) return no_chunk;
  chunk_state& state = map_.states[first];
  state.chunks.store(sizes.chunks, std::memory_order_relaxed);
  state.used = 0;
  for (std::uint32_t i = 0; i * 64 < sizes.blocks; ++i) {
    block_word& word = map_.bits[first].words[i];
    const std::uint32_t rest = sizes.blocks - i * 64;
    word.taken = rest >= 64 ? 0 : ~std::uint64_t{0} << rest;
    word.live.store(0, std::memory_order_relaxed);
    // A block that two places freed at once has left a bit: it must not free the next block.
    word.remote.store(0, std::memory_order_relaxed);
  }
  const chunk_kind kind = in.number == plain ? chunk_kind::slab : chunk_kind::placed_slab;
  for (std::uint32_t i = 0; i < sizes.chunks; ++i)
    set_entry(first + i, {kind, static_cast<std::uint8_t>(size_class), first, in.number});
  return first;
}

void* heap::take_large(arena& in, std::size_t bytes, std::size_t alignment) noexcept {
  drain();
  const std::uint64_t chunks = bytes / chunk_bytes + (bytes % chunk_bytes != 0 || bytes == 0);
  const std::uint64_t slack = alignment > chunk_bytes ? alignment / chunk_bytes : 0;
  if (chunks >= no_chunk || slack >= no_chunk - chunks) return nullptr;
  const std::uint32_t first = take_run(in, static_cast<std::uint32_t>(chunks), alignment);
  if (first == no_chunk) return nullptr;
  mark_large(in, first, static_cast<std::uint32_t>(chunks), bytes);
  count_taken(chunks * chunk_bytes);
  large_bytes_ += chunks * chunk_bytes;
  ++large_allocations_;
  void* const block = reinterpret_cast<void*>(map_.address(first));
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

// --- deallocation beyond the hot path ---

free_status heap::deallocate_slow(void* block) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uint64_t chunk = (address - map_.heap) >> chunk_shift;
  if (chunk >= open_chunks_) return free_status::no_block;
  const map_entry entry = map_.entry(static_cast<std::uint32_t>(chunk));
  if (!entry.is_slab() && entry.kind != chunk_kind::large) return free_status::no_block;
  const block_index where = map_.locate(entry, address);
  if (!where.exact) return free_status::no_block;
  const block_word& word = map_.bits[entry.first].words[where.index / 64];
  const std::uint64_t live = word.live.load(std::memory_order_relaxed) & ~word.remote.load(std::memory_order_relaxed);
  if ((live >> (where.index % 64) & 1) == 0) return free_status::already_free;
  if (entry.kind == chunk_kind::large) {
    free_large(entry.first);
    return free_status::done;
  }
  arena& in = numbered(entry.arena);
  if (put_at_hand(in, entry, address)) return free_status::done;
  flush(in, entry.size_class, in.bins[entry.size_class].capacity / 2);
  put_at_hand(in, entry, address);
  return free_status::done;
}

void heap::free_large(std::uint32_t first) noexcept {
  map_.bits[first].words[0].live.store(0, std::memory_order_relaxed);
  const std::uint32_t chunks = map_.states[first].chunks.load(std::memory_order_relaxed);
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(map_.address(first)), chunks * chunk_bytes);
  taken_bytes_ -= chunks * chunk_bytes;
  large_bytes_ -= chunks * chunk_bytes;
  ++large_deallocations_;
  arena& to = numbered(map_.entry(first).arena);
  set_entry(first, {});
  const bool is_moved = backing_.freed(std::uint64_t{first} << chunk_shift, std::uint64_t{chunks} << chunk_shift);
  give_run(to, first, chunks, !is_moved);
}

void heap::blocks_returned(arena& in, std::uint32_t first, unsigned size_class, std::uint32_t blocks) noexcept {
  chunk_state& state = map_.states[first];
  bin& of = in.bins[size_class];
  if (state.used == size_classes[size_class].blocks) list_partial(of, first);
  state.used -= blocks;
  // kept, because the next refill would make one again
  const bool alone = of.partial == first && state.next == no_chunk;
  if (state.used != 0 || alone) return;
  unlist_partial(of, first);
  release_slab(in, first, size_class);
}

void heap::release_slab(arena& in, std::uint32_t first, unsigned size_class) noexcept {
  SITU_ASSERT(3, slab_is_valid(first), "situ's heap is broken: report this");
  const std::uint32_t chunks = size_classes[size_class].chunks;
  for (std::uint32_t i = 0; i < chunks; ++i) set_entry(first + i, {});
  give_run(in, first, chunks);
}

// Returns the memory that the classes keep for speed; called before memory is reported exhausted.
void heap::release_idle() noexcept {
  for_each_arena([this](arena& in) {
    for (unsigned i = 0; i < class_count; ++i) {
      bin& of = in.bins[i];
      flush(in, i, of.count);
      std::uint32_t first = of.partial;
      while (first != no_chunk && map_.states[first].used != 0) first = map_.states[first].next;
      if (first == no_chunk) continue;
      unlist_partial(of, first);
      release_slab(in, first, i);
    }
  });
}

void heap::list_partial(bin& bin, std::uint32_t first) noexcept {
  chunk_state& state = map_.states[first];
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

// --- blocks that other places have freed ---

void heap::drain_slow() noexcept {
  // acquire: pairs with the push, so that `next` can be read.
  std::uint32_t head = map_.header->remote_head.exchange(0, std::memory_order_acquire);
  while (head != 0) {
    const std::uint32_t chunk = head - 1;
    // read before `queued` is cleared: after that the chunk may be pushed again
    head = map_.links[chunk].next.load(std::memory_order_relaxed);
    map_.links[chunk].queued.store(0);  // sequentially consistent: invariant 5 of heap_map.h
    const map_entry entry = map_.entry(chunk);
    if (entry.first != chunk) continue;  // the chunk was reused: invariant 6
    if (entry.is_slab()) {
      drain_slab(entry);
    } else if (entry.kind == chunk_kind::large && (map_.bits[chunk].words[0].remote.exchange(0) & 1) != 0) {
      ++remote_deallocations_;
      free_large(chunk);
    }
  }
}

void heap::drain_slab(const map_entry& entry) noexcept {
  const std::uint32_t first = entry.first;
  const size_class_info& sizes = size_classes[entry.size_class];
  arena& in = numbered(entry.arena);
  std::uint32_t blocks = 0;
  for (std::uint32_t i = 0; i * 64 < sizes.blocks; ++i) {
    block_word& word = map_.bits[first].words[i];
    if (word.remote.load() == 0) continue;  // sequentially consistent, as the exchange: invariant 5 of heap_map.h
    const std::uint64_t live = word.live.load(std::memory_order_relaxed);
    const std::uint64_t freed = word.remote.exchange(0) & live;
    word.live.store(live & ~freed, std::memory_order_relaxed);
    word.taken &= ~freed;
    blocks += static_cast<std::uint32_t>(std::popcount(freed));
#if defined(__SANITIZE_ADDRESS__)
    for (std::uint64_t rest = freed; rest != 0; rest &= rest - 1) {
      const std::uint64_t index = i * 64 + static_cast<unsigned>(std::countr_zero(rest));
      ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(map_.address(first) + index * sizes.bytes), sizes.bytes);
    }
#endif
  }
  if (blocks == 0) return;
  in.bins[entry.size_class].deallocations += blocks;
  remote_deallocations_ += blocks;
  taken_bytes_ -= std::uint64_t{blocks} * sizes.bytes;
  blocks_returned(in, first, entry.size_class, blocks);
}

}  // namespace situ::detail
