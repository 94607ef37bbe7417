// A place's allocator: slabs of equal blocks, and runs of chunks for larger blocks. Only the owner allocates, without
// locks or atomic read-modify-writes; other places queue blocks that they free through heap_map::free_remote, and the
// owner drains this queue.
//
//   bytes <= 64 KiB, alignment <= 16 KiB: a block of a slab       else: a run of chunks
//
//   bins[class] --> magazine: up to 60 free blocks, last freed first out --(refill, flush)--> slabs with free blocks
//
// Bins and runs exist once per *arena*: the plain arena, for whose pages the kernel chooses the memory, and one for
// each way of placing pages that the program has used. A placed arena takes its runs from the plain one in units of
// 2 MiB, which the backing then places. It returns unused runs to the plain arena, unplaced.
//
// The magazine makes a pair of calls short (no search, and the block is warm in the cache) and updates the slabs'
// counts in batches. All metadata of a block is out of line, in the bits of heap_map: the heap never writes to free
// blocks, a stray write cannot corrupt it, and a deallocation is checked (start of a block? live?) with the load that
// it needs anyway.
//
// Invariants (is_valid checks them)
//   1. The runs tile [0, open_chunks_) and no two free runs of one arena touch.
//   2. A slab's `used` is the number of its taken blocks. It is in its class's list iff not all are taken; at most one
//      slab of a list is empty.
//   3. The taken blocks that are not live are those in the magazines.
//   4. An arena's `runs` hold exactly its free runs. Memory of a placed arena has been placed, in whole 2 MiB, and its
//      free runs count as wholly dirty; no other memory has been placed.
//   5. needed_chunks_ = chunks of slabs and large blocks + dirty chunks of free runs; that many are charged.
#pragma once

#include <situ/base/detail/assert.h>

#include "memory/free_runs.h"
#include "memory/heap_map.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace situ::detail {

// The source of a heap's memory, implemented by the segment.
class heap_backing {
 public:
  // Opens the heap up to at least this many bytes from its start. Returns false if the slice is too small.
  virtual bool open(std::uint64_t bytes) noexcept = 0;
  // Takes bytes from the job's budget, or returns them to it.
  virtual bool charge(std::uint64_t bytes) noexcept = 0;
  virtual void uncharge(std::uint64_t bytes) noexcept = 0;
  // Returns pages to the system; they read as zero afterwards.
  virtual bool give_back(std::uint64_t offset, std::uint64_t bytes) noexcept = 0;
  // place() puts the pages of a range into the memories of an arena, in place of its present pages. It returns false
  // if that is not possible: the range then has no pages, and the kernel places new ones. unplace() undoes it, after
  // give_back(). Both take whole 2 MiB of the heap.
  virtual bool place(unsigned arena, std::uint64_t offset, std::uint64_t bytes) noexcept = 0;
  virtual void unplace(std::uint64_t offset, std::uint64_t bytes) noexcept = 0;
  // The heap calls it when a large block has been deallocated, before the block becomes a free run of its arena.
  // Returns true if the arena must not keep whole 2 MiB of the block, because they are no longer placed.
  virtual bool freed(std::uint64_t offset, std::uint64_t bytes) noexcept {
    static_cast<void>(offset), static_cast<void>(bytes);
    return false;
  }

 protected:
  ~heap_backing() = default;
};

class heap {
 public:
  static constexpr unsigned plain = 0;         // the arena for allocations without an intent
  static constexpr unsigned most_arenas = 64;  // including the plain one

  struct counters {
    std::uint64_t live_bytes = 0;
    std::uint64_t peak_bytes = 0;
    std::uint64_t allocations = 0;
    std::uint64_t deallocations = 0;
    std::uint64_t remote_deallocations = 0;
  };

  // The heap keeps free memory, rather than giving it back and faulting it in again, up to the larger of `kept_bytes`
  // and an eighth of the memory in use.
  heap(heap_backing& backing, const heap_map& map, std::uint64_t kept_bytes) noexcept;
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  // Returns nullptr if there is no room. pre: alignment is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const block = allocate_quickly(bytes, alignment);
    return block != nullptr ? block : allocate_slow(plain_, bytes, alignment);
  }
  // Allocates from a magazine only: nullptr does not mean that the heap has no room.
  [[nodiscard]] void* allocate_quickly(std::size_t bytes, std::size_t alignment) noexcept {
    return take_at_hand(plain_, bytes, alignment);
  }
  [[nodiscard]] void* allocate_quickly_in(unsigned arena, std::size_t bytes, std::size_t alignment) noexcept {
    return take_at_hand(numbered(arena), bytes, alignment);
  }
  // Allocates a run of chunks for this block alone, whatever the size.
  [[nodiscard]] void* allocate_large(unsigned arena, std::size_t bytes, std::size_t alignment) noexcept {
    return take_large(numbered(arena), bytes, alignment);
  }

  struct arena;
  [[nodiscard]] void* allocate_quickly_in(arena& in, std::size_t bytes, std::size_t alignment) noexcept {
    return take_at_hand(in, bytes, alignment);
  }

  // Adds an arena and returns the number that backing.place() will get; 0 if there are most_arenas. Throws
  // std::bad_alloc.
  unsigned add_arena();
  // Allocates as allocate(), from the given arena.
  [[nodiscard]] void* allocate_in(unsigned arena, std::size_t bytes, std::size_t alignment) noexcept {
    void* const block = allocate_quickly_in(arena, bytes, alignment);
    return block != nullptr ? block : allocate_slow(numbered(arena), bytes, alignment);
  }

  free_status deallocate(void* block) noexcept {
    return deallocate_quickly(block) ? free_status::done : deallocate_slow(block);
  }
  // Deallocates a live block of a slab if the magazine has room; in any other case changes nothing and returns false.
  bool deallocate_quickly(void* block) noexcept;

  void drain() noexcept {
    if (map_.header->remote_head.load(std::memory_order_relaxed) != 0) drain_slow();
  }
  // Notes that the heap has at least `chunks` open chunks; the backing's open() calls it.
  void opened(std::uint32_t chunks) noexcept;

  [[nodiscard]] counters count() const noexcept;
  [[nodiscard]] std::uint32_t open_chunks() const noexcept { return open_chunks_; }
  [[nodiscard]] const heap_map& map() const noexcept { return map_; }
  [[nodiscard]] bool is_valid() const noexcept;

 private:
  // A free block in a magazine: its address, and the word and bit that tell whether it is live.
  class slot {
   public:
    slot() noexcept = default;
    slot(std::uintptr_t block, block_word* word, unsigned bit) noexcept
        : block_{block}, word_and_bit_{reinterpret_cast<std::uintptr_t>(word) << 6 | bit} {}
    [[nodiscard]] std::uintptr_t block() const noexcept { return block_; }
    [[nodiscard]] block_word& word() const noexcept { return *reinterpret_cast<block_word*>(word_and_bit_ >> 6); }
    [[nodiscard]] std::uint64_t mask() const noexcept { return std::uint64_t{1} << (word_and_bit_ & 63); }

   private:
    std::uintptr_t block_ = 0;
    std::uint64_t word_and_bit_ = 0;  // user addresses have 47 bits
  };

  struct alignas(64) bin {
    static constexpr std::uint32_t most_slots = 60;
    std::uint32_t count = 0;
    std::uint32_t capacity = 0;        // size limit of the magazine
    std::uint32_t partial = no_chunk;  // first chunk of the first slab that has free blocks
    std::uint32_t block_bytes = 0;     // as in size_classes; kept on this line, which is loaded anyway
    std::uint64_t reciprocal = 0;
    std::uint64_t allocations = 0;
    std::uint64_t deallocations = 0;
    slot slots[most_slots];
  };
  static_assert(sizeof(bin) == 1024, "indexed by a shift");

 public:
  // The bins and free runs for one way of placing pages. An opaque name outside the heap.
  struct arena {
    arena(unsigned its_number, chunk_state* states) noexcept;
    const std::uint8_t number;
    std::array<bin, class_count> bins;
    free_runs runs;
  };
  // Returns the arena. pre: it has been added.
  [[nodiscard]] arena& numbered(unsigned number) noexcept { return *by_number_[number]; }

 private:
  template <class Visit>
  void for_each_arena(Visit visit) {
    visit(plain_);
    for (const std::unique_ptr<arena>& placed : placed_) visit(*placed);
  }

  // heap.cpp: blocks of slabs
  void* take_block(bin& from, std::size_t bytes) noexcept;
  void* take_at_hand(arena& in, std::size_t bytes, std::size_t alignment) noexcept;
  [[gnu::noinline]] void* allocate_slow(arena& in, std::size_t bytes, std::size_t alignment) noexcept;
  void* take_large(arena& in, std::size_t bytes, std::size_t alignment) noexcept;
  [[gnu::noinline]] free_status deallocate_slow(void* block) noexcept;
  bool put_at_hand(arena& in, const map_entry& entry, std::uintptr_t address) noexcept;
  bool refill(arena& in, unsigned size_class) noexcept;
  void fill_from(bin& bin, std::uint32_t first, unsigned size_class) noexcept;
  void flush(arena& in, unsigned size_class, std::uint32_t count) noexcept;
  std::uint32_t new_slab(arena& in, unsigned size_class) noexcept;
  void blocks_returned(arena& in, std::uint32_t first, unsigned size_class, std::uint32_t blocks) noexcept;
  void release_slab(arena& in, std::uint32_t first, unsigned size_class) noexcept;
  void release_idle() noexcept;
  void list_partial(bin& bin, std::uint32_t first) noexcept;
  void unlist_partial(bin& bin, std::uint32_t first) noexcept;
  void free_large(std::uint32_t first) noexcept;
  void drain_slow() noexcept;
  void drain_slab(const map_entry& entry) noexcept;
  void count_taken(std::uint64_t bytes) noexcept;

  // heap_runs.cpp: runs of chunks
  std::uint32_t take_run(arena& in, std::uint32_t chunks, std::uint64_t alignment) noexcept;
  std::uint32_t find_run(arena& in, std::uint32_t chunks, std::uint32_t slack) noexcept;
  bool extend(std::uint32_t chunks) noexcept;
  bool place_more(arena& in, std::uint32_t chunks, std::uint32_t slack) noexcept;
  std::uint32_t carve(arena& in, std::uint32_t run, std::uint32_t chunks, std::uint64_t alignment) noexcept;
  bool reserve(std::uint32_t chunks) noexcept;
  void give_run(arena& to, std::uint32_t first, std::uint32_t chunks, bool is_kept = true) noexcept;
  std::uint32_t join_free(arena& to, std::uint32_t first, std::uint32_t chunks, std::uint32_t dirty) noexcept;
  void insert_free(arena& to, std::uint32_t first, std::uint32_t chunks, std::uint32_t dirty) noexcept;
  void remove_free(arena& from, std::uint32_t first) noexcept;
  void clean(std::uint32_t first) noexcept;
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> whole_pages_of(std::uint32_t run) const noexcept;
  bool clean_placed(arena& of, std::uint32_t run) noexcept;
  void clean_placed_runs() noexcept;
  void clean_all() noexcept;
  void unreserve(std::uint32_t chunks) noexcept;
  void mark_large(const arena& of, std::uint32_t first, std::uint32_t chunks, std::uint64_t bytes) noexcept;
  void set_entry(std::uint32_t chunk, map_entry entry) noexcept {
    map_.map[chunk].store(entry.pack(), std::memory_order_release);
  }

  // heap_check.cpp
  [[nodiscard]] bool slab_is_valid(std::uint32_t first) const noexcept;
  [[nodiscard]] bool bins_are_valid(const arena& of) const noexcept;
  struct tally;
  [[nodiscard]] bool count_run(std::uint32_t first, tally& sums) const noexcept;

  heap_backing& backing_;
  const heap_map map_;
  const std::uint32_t kept_chunks_;
  std::uint32_t open_chunks_ = 0;
  std::uint32_t needed_chunks_ = 0;
  std::uint32_t dirty_chunks_ = 0;  // of free runs
  std::uint64_t taken_bytes_ = 0;   // bytes of blocks that are live or in magazines, and of large blocks
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t large_bytes_ = 0;
  std::uint64_t large_allocations_ = 0;
  std::uint64_t large_deallocations_ = 0;
  std::uint64_t remote_deallocations_ = 0;
  arena plain_;
  std::vector<std::unique_ptr<arena>> placed_;          // index: number - 1
  std::array<arena*, most_arenas> by_number_{&plain_};  // all arenas by number
};

// --- hot paths: they fail in rare cases, so that the caller's only other path is a tail call ---

inline void* heap::take_block(bin& from, std::size_t bytes) noexcept {
  const slot taken = from.slots[--from.count];
  // relaxed, not a read-modify-write: the owner is the only writer of live bits.
  std::atomic<std::uint64_t>& live = taken.word().live;
  live.store(live.load(std::memory_order_relaxed) | taken.mask(), std::memory_order_relaxed);
  ++from.allocations;
  void* const block = reinterpret_cast<void*>(taken.block());
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

inline void* heap::take_at_hand(arena& in, std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > largest_class_bytes || alignment > smallest_block_bytes) [[unlikely]]
    return nullptr;
  bin& from = in.bins[class_of(bytes)];
  return from.count != 0 ? take_block(from, bytes) : nullptr;
}

// Puts a live block of a slab of this arena into its magazine. Returns false, and changes nothing, for any other
// block, or if the magazine is full.
inline bool heap::put_at_hand(arena& in, const map_entry& entry, std::uintptr_t address) noexcept {
  bin& into = in.bins[entry.size_class];
  const block_index where = index_of(address - map_.address(entry.first), into.reciprocal);
  block_word& word = map_.bits[entry.first].words[where.index / 64];
  const std::uint64_t mask = std::uint64_t{1} << (where.index % 64);
  const std::uint64_t live = word.live.load(std::memory_order_relaxed);
  const bool is_live = (live & ~word.remote.load(std::memory_order_relaxed) & mask) != 0;
  if (!where.exact || !is_live || into.count == into.capacity) [[unlikely]]
    return false;
  word.live.store(live ^ mask, std::memory_order_relaxed);
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(address), into.block_bytes);
  ++into.deallocations;
  into.slots[into.count++] = {address, &word, static_cast<unsigned>(where.index % 64)};
  return true;
}

inline bool heap::deallocate_quickly(void* block) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uint64_t chunk = (address - map_.heap) >> chunk_shift;
  if (chunk < open_chunks_) [[likely]] {
    const map_entry entry = map_.entry(static_cast<std::uint32_t>(chunk));
    if (entry.kind == chunk_kind::slab) [[likely]]
      return put_at_hand(plain_, entry, address);
    if (entry.kind == chunk_kind::placed_slab) return put_at_hand(numbered(entry.arena), entry, address);
  }
  return false;
}

}  // namespace situ::detail
