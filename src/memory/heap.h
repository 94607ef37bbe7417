// A place's allocator: slabs of equal blocks, and runs of chunks for what is larger. Only the owner allocates, without locks
// or atomic read-modify-writes; other places give blocks back through heap_map::free_remote, and the owner drains what they gave.
//
//   bytes <= 64 KiB, alignment <= 16 KiB: a block of a slab       else: a run of chunks
//
//   bins_[class] --> current slab --> one word of its live bits: allocation sets the lowest clear bit of that word
//               \--> partial slabs (a list)        full slabs are in no list until a block of theirs is freed
//
// Everything about a block lies out of line, in the bits of heap_map: free blocks are not written to, a stray write cannot
// break the heap, and a deallocation is checked (start of a block? live?) with the load that it needs anyway.
//
// Invariants (is_valid checks them)
//   1. The runs tile [0, open_chunks_) and no two free runs touch.
//   2. A slab's `used` is the number of its live blocks, plus one while it is current; a slab that is neither current nor
//      partial is full; no partial slab is full or empty.
//   3. free_runs holds exactly the free runs.
//   4. needed_chunks_ = chunks of slabs and large blocks + dirty chunks of free runs; that many are charged.
#pragma once

#include <situ/base/assert.h>

#include "memory/free_runs.h"
#include "memory/heap_map.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace situ::detail {

// Where a heap gets its memory from: the segment.
class heap_backing {
 public:
  // Opens the heap up to at least this many bytes from its start. False where the slice ends.
  virtual bool open(std::uint64_t bytes) noexcept = 0;
  // Takes bytes from the job's budget, or gives them back to it.
  virtual bool charge(std::uint64_t bytes) noexcept = 0;
  virtual void uncharge(std::uint64_t bytes) noexcept = 0;
  // Returns pages to the system; they read as zero afterwards.
  virtual bool give_back(std::uint64_t offset, std::uint64_t bytes) noexcept = 0;

 protected:
  ~heap_backing() = default;
};

class heap {
 public:
  struct counters {
    std::uint64_t live_bytes = 0;
    std::uint64_t peak_live_bytes = 0;
    std::uint64_t allocations = 0;
    std::uint64_t deallocations = 0;
    std::uint64_t remote_deallocations = 0;
  };

  heap(heap_backing& backing, const heap_map& map) noexcept;
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  // nullptr where there is no room. pre: alignment is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
  // A run of chunks of its own, whatever the size.
  [[nodiscard]] void* allocate_large(std::size_t bytes, std::size_t alignment) noexcept;
  free_status deallocate(void* block) noexcept;

  void drain() noexcept {
    if (map_.header->remote_head.load(std::memory_order_relaxed) != 0) drain_slow();
  }
  // The heap reaches at least to here now; called by the backing's open().
  void opened(std::uint32_t chunks) noexcept;

  [[nodiscard]] const counters& count() const noexcept { return counters_; }
  [[nodiscard]] std::uint32_t open_chunks() const noexcept { return open_chunks_; }
  [[nodiscard]] const heap_map& map() const noexcept { return map_; }
  [[nodiscard]] bool is_valid() const noexcept;

 private:
  // What allocation from a size class touches: one line.
  struct alignas(64) bin {
    std::atomic<std::uint64_t>* word = nullptr;  // of the current slab's live bits; the always full word without a slab
    std::byte* word_base = nullptr;              // the block of the word's bit 0
    chunk_state* state = nullptr;
    std::uint32_t block_bytes = 0;
    std::uint32_t current = no_chunk;            // first chunk of the current slab
    std::uint32_t partial = no_chunk;            // first chunk of the first partial slab
  };

  // heap.cpp: blocks of slabs
  void* allocate_aligned(std::size_t bytes, std::size_t alignment) noexcept;
  void* take_block(unsigned size_class, std::size_t bytes) noexcept;
  void* refill_and_take(unsigned size_class, std::size_t bytes) noexcept;
  bool advance_word(bin& bin, unsigned size_class) noexcept;
  bool make_current(bin& bin, unsigned size_class) noexcept;
  std::uint32_t new_slab(unsigned size_class) noexcept;
  void after_deallocation(std::uint32_t first, unsigned size_class) noexcept;
  void release_slab(std::uint32_t first, unsigned size_class) noexcept;
  void retire_idle_slabs() noexcept;
  void list_partial(bin& bin, std::uint32_t first) noexcept;
  void unlist_partial(bin& bin, std::uint32_t first) noexcept;
  free_status deallocate_large(std::uint32_t first) noexcept;
  void drain_slow() noexcept;
  void drain_slab(std::uint32_t first, unsigned size_class) noexcept;
  void count_allocation(std::uint64_t bytes) noexcept;
  void count_deallocation(std::uint64_t bytes) noexcept;

  // heap_runs.cpp: runs of chunks
  std::uint32_t take_run(std::uint32_t chunks, std::uint64_t alignment) noexcept;
  std::uint32_t find_run(std::uint32_t chunks) noexcept;
  bool extend(std::uint32_t chunks) noexcept;
  std::uint32_t carve(std::uint32_t run, std::uint32_t chunks, std::uint64_t alignment) noexcept;
  bool reserve(std::uint32_t chunks) noexcept;
  void give_run(std::uint32_t first, std::uint32_t chunks) noexcept;
  void insert_free(std::uint32_t first, std::uint32_t chunks, std::uint32_t dirty) noexcept;
  void remove_free(std::uint32_t first) noexcept;
  void clean(std::uint32_t first) noexcept;
  void clean_all() noexcept;
  void unreserve(std::uint32_t chunks) noexcept;
  void mark_large(std::uint32_t first, std::uint32_t chunks, std::uint64_t bytes) noexcept;
  void set_entry(std::uint32_t chunk, map_entry entry) noexcept { map_.map[chunk].store(entry.pack(), std::memory_order_release); }

  // heap_check.cpp
  [[nodiscard]] bool slab_is_valid(std::uint32_t first) const noexcept;
  [[nodiscard]] bool lists_are_valid() const noexcept;

  heap_backing& backing_;
  const heap_map map_;
  std::uint32_t open_chunks_ = 0;
  std::uint32_t needed_chunks_ = 0;
  std::uint32_t dirty_chunks_ = 0;  // of free runs
  counters counters_;
  std::atomic<std::uint64_t> full_word_{~std::uint64_t{0}};  // what a bin without a slab points to
  std::array<bin, class_count> bins_;
  free_runs free_runs_;
};

// --- hot paths ---

inline void heap::count_allocation(std::uint64_t bytes) noexcept {
  ++counters_.allocations;
  counters_.live_bytes += bytes;
  if (counters_.live_bytes > counters_.peak_live_bytes) counters_.peak_live_bytes = counters_.live_bytes;
}

inline void heap::count_deallocation(std::uint64_t bytes) noexcept {
  ++counters_.deallocations;
  counters_.live_bytes -= bytes;
}

inline void* heap::take_block(unsigned size_class, std::size_t bytes) noexcept {
  bin& from = bins_[size_class];
  const std::uint64_t live = from.word->load(std::memory_order_relaxed);
  if (live == ~std::uint64_t{0}) [[unlikely]]
    return refill_and_take(size_class, bytes);
  from.word->store(live | (live + 1), std::memory_order_relaxed);
  ++from.state->used;
  count_allocation(from.block_bytes);
  void* const block = from.word_base + static_cast<std::uint64_t>(std::countr_one(live)) * from.block_bytes;
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

inline void* heap::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes <= largest_class_bytes && alignment <= smallest_block_bytes) [[likely]]
    return take_block(class_of(bytes), bytes);
  return allocate_aligned(bytes, alignment);
}

inline free_status heap::deallocate(void* block) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uint64_t chunk = (address - map_.heap) >> chunk_shift;
  if (chunk >= open_chunks_) [[unlikely]]
    return free_status::no_block;
  const map_entry entry = map_.entry(static_cast<std::uint32_t>(chunk));
  if (entry.kind != chunk_kind::slab) [[unlikely]]
    return entry.kind == chunk_kind::large && address == map_.address(entry.first) ? deallocate_large(entry.first) : free_status::no_block;
  const heap_map::position where = map_.locate(entry, address);
  if (!where.exact) [[unlikely]]
    return free_status::no_block;
  block_bits& words = map_.bits[entry.first];
  const std::uint64_t bit = std::uint64_t{1} << (where.index % 64);
  const std::uint64_t live = words.live[where.index / 64].load(std::memory_order_relaxed);
  if ((live & bit & ~words.remote[where.index / 64].load(std::memory_order_relaxed)) == 0) [[unlikely]]
    return free_status::already_free;
  words.live[where.index / 64].store(live & ~bit, std::memory_order_relaxed);
  const std::uint32_t bytes = size_classes[entry.size_class].bytes;
  ASAN_POISON_MEMORY_REGION(block, bytes);
  count_deallocation(bytes);
  chunk_state& state = map_.states[entry.first];
  --state.used;
  if (state.list != slab_list::current && (state.used == 0 || state.list == slab_list::full)) [[unlikely]]
    after_deallocation(entry.first, entry.size_class);
  return free_status::done;
}

}  // namespace situ::detail
