// The metadata of a place's heap: the use of each chunk, and the live bit of each block. It is stored in the place's
// slice, below the heap, so that any place can look up or free a block. It is sparse: a part of it is touched only
// when its chunks are used.
//
//   | header | map: 8 B per chunk | regions: 4 B each | links: 8 B per chunk |
//     states: 64 B per chunk | bits: 384 B per chunk | heap: chunks of 16 KiB
//
// The heap is tiled by runs of chunks: free runs, slabs (blocks of one size class) and large blocks.
//
// Invariants (only the owner writes, except to `links`, `remote` and `header.remote_head`)
//   1. map[c] is: for each chunk of a slab {slab, class, first chunk}; for the first chunk of a large block {large, ,
//      c}; for the first and last chunk of a free run {free, , first}; each with its arena; zero elsewhere. Hence the
//      nearest non-zero entry at or before c describes c.
//   2. regions[r] is the first chunk of the large block that starts before chunk r * region_chunks and covers it; it
//      is stale if there is no such block. So invariant 1 needs to look at one region only.
//   3. bits[first].words[i / 64].live has bit i % 64 set iff block i is allocated. A large block is block 0 of its run.
//   4. `remote` has a block's bit set iff another place has freed the block and the owner has not yet drained it:
//      remote is a subset of live, except for a block that two places free at the same time. Only the owner uses
//      `taken`: the block is live, or in its magazine.
//   5. A chunk number is on the remote stack (header.remote_head, link.next) at most once: link.queued is 1 from
//      before the push until the owner has popped it. The owner clears `queued` before it reads `remote`, the freer
//      sets `remote` before it reads `queued`, both sequentially consistent: so if the owner misses a bit, its freer
//      pushes the chunk again.
//   6. A chunk may have been reused for something else by the time that it is popped from the stack; its `remote` bits
//      are empty then.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "os/host.h"

namespace situ::detail {

inline constexpr unsigned chunk_shift = 14;  // 1024 blocks of the smallest class, 16 words of bits
inline constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << chunk_shift;
inline constexpr std::uint32_t region_chunks = 512;  // the map entries of a region fill a page
inline constexpr std::uint32_t no_chunk = 0xffffffff;

// --- size classes: multiples of 16 up to 128, then four to each doubling, up to 64 KiB ---

inline constexpr std::size_t smallest_block_bytes = 16;
inline constexpr std::size_t largest_class_bytes = 65536;
inline constexpr unsigned class_count = 44;

[[nodiscard]] constexpr unsigned compute_class_of(std::size_t bytes) noexcept {
  if (bytes <= 128) return bytes <= 16 ? 0 : static_cast<unsigned>((bytes - 1) >> 4);
  const unsigned log2 = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;
  return 8 + (log2 - 7) * 4 + static_cast<unsigned>(((bytes - 1) >> (log2 - 2)) & 3);
}

// For each multiple of 16 up to 1 KiB: the logarithm is slow on some processors (bsr: 8 micro-operations on Zen 3).
inline constexpr std::array<std::uint8_t, 65> small_classes = [] {
  std::array<std::uint8_t, 65> classes{};
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::uint8_t>(compute_class_of(i * 16));
  return classes;
}();

[[nodiscard]] constexpr unsigned class_of(std::size_t bytes) noexcept {  // pre: bytes <= largest_class_bytes
  return bytes <= 1024 ? small_classes[(bytes + 15) / 16] : compute_class_of(bytes);
}

struct size_class_info {
  std::uint32_t bytes = 0;
  std::uint32_t blocks = 0;      // per slab
  std::uint32_t chunks = 0;      // per slab
  std::uint64_t reciprocal = 0;  // 2^40 / bytes, rounded up; see block_index
};

[[nodiscard]] constexpr std::array<size_class_info, class_count> make_size_classes() noexcept {
  std::array<size_class_info, class_count> classes{};
  for (unsigned i = 0; i < class_count; ++i) {
    const std::uint32_t bytes = i < 8 ? 16 * (i + 1) : (128u << ((i - 8) / 4)) / 4 * (5 + (i - 8) % 4);
    // At least 16 blocks (8 to 12 above 32 KiB), so that a new slab pays off.
    const std::uint32_t chunks =
        bytes <= 1024 ? 1 : std::min<std::uint32_t>(std::bit_ceil(bytes) * 16 / chunk_bytes, 32);
    const std::uint64_t reciprocal = ((std::uint64_t{1} << 40) + bytes - 1) / bytes;
    classes[i] = {bytes, static_cast<std::uint32_t>(chunks * chunk_bytes / bytes), chunks, reciprocal};
  }
  return classes;
}
inline constexpr std::array<size_class_info, class_count> size_classes = make_size_classes();
static_assert(size_classes.back().bytes == largest_class_bytes && class_of(largest_class_bytes) == class_count - 1);

// The index of the block that contains an offset into a slab, and whether the offset is the block's start. The product
// is quotient * 2^40 + quotient * e + remainder * reciprocal with e < bytes: slabs are so small (2^19) and the
// reciprocal so large (2^24 or more) that quotient * e stays below one reciprocal, so the lower 40 bits tell whether
// there is a remainder.
struct block_index {
  std::uint64_t index = 0;
  bool exact = false;
};
[[nodiscard]] constexpr block_index index_of(std::uint64_t offset, std::uint64_t reciprocal) noexcept {
  const std::uint64_t product = offset * reciprocal;
  return {product >> 40, product << 24 < reciprocal << 24};
}

// --- the metadata ---

// A placed slab belongs to an arena other than the plain one. It is a kind of its own, so that the hot path need not
// look at the arena.
enum class chunk_kind : std::uint8_t { none, free, slab, large, placed_slab };

struct map_entry {
  chunk_kind kind = chunk_kind::none;
  std::uint8_t size_class = 0;
  std::uint32_t first = 0;
  std::uint8_t arena = 0;  // the arena that owns the run; 0: the plain one

  [[nodiscard]] constexpr bool is_slab() const noexcept {
    return kind == chunk_kind::slab || kind == chunk_kind::placed_slab;
  }
  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    return static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint64_t>(arena) << 16 |
           static_cast<std::uint64_t>(size_class) << 8 | static_cast<std::uint64_t>(kind);
  }
  [[nodiscard]] static constexpr map_entry unpack(std::uint64_t word) noexcept {
    return {static_cast<chunk_kind>(word & 0xff), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint32_t>(word >> 32), static_cast<std::uint8_t>(word >> 16)};
  }
};

struct heap_header {
  std::atomic<std::uint32_t> remote_head{0};  // chunk number + 1 of the top of the remote stack, 0: empty
};

struct remote_link {
  std::atomic<std::uint32_t> queued{0};
  std::atomic<std::uint32_t> next{0};  // as remote_head
};

// The state of a run of chunks, stored at the index of its first chunk.
struct alignas(64) chunk_state {
  std::atomic<std::uint32_t> chunks{0};
  std::uint32_t used = 0;  // slab: number of taken blocks
  std::uint32_t next = 0;  // neighbours in the list of free runs or partial slabs
  std::uint32_t prev = 0;
  std::uint32_t dirty = 0;              // free run: number of its chunks that may hold pages
  std::atomic<std::uint64_t> bytes{0};  // large block: the requested size
};
static_assert(sizeof(chunk_state) == 64);

// The bits of 64 blocks, in one struct because an access to one word also needs another.
struct block_word {
  std::atomic<std::uint64_t> live{0};
  std::atomic<std::uint64_t> remote{0};
  std::uint64_t taken = 0;
};

struct alignas(64) block_bits {
  block_word words[16];
};
static_assert(sizeof(block_bits) == 384);

enum class free_status : std::uint8_t {
  done,
  no_block,  // the address is not the start of any block
  already_free,
};

// The result of heap_map::find.
struct block {
  std::uintptr_t start = 0;
  std::uint64_t size = 0;  // the size class, or the requested size if larger than every class
  bool live = false;
};

// The addresses of the parts of one place's heap in the caller's mapping. A value, computed on demand.
struct heap_map {
  static constexpr std::uint64_t header_bytes = 4096;

  std::uintptr_t heap = 0;  // address of chunk 0
  heap_header* header = nullptr;
  std::atomic<std::uint64_t>* map = nullptr;
  std::atomic<std::uint32_t>* regions = nullptr;
  remote_link* links = nullptr;
  chunk_state* states = nullptr;
  block_bits* bits = nullptr;

  // Returns the bytes of metadata for a slice of this size: a multiple of the page.
  [[nodiscard]] static constexpr std::uint64_t metadata_bytes(unsigned slice_shift) noexcept {
    const std::uint64_t chunks = chunks_of(slice_shift);
    return header_bytes + page_round(chunks * sizeof(std::uint64_t)) + page_round(chunks / region_chunks * 4 + 4) +
           page_round(chunks * sizeof(remote_link)) + page_round(chunks * sizeof(chunk_state)) +
           page_round(chunks * sizeof(block_bits));
  }
  [[nodiscard]] static heap_map at(std::uintptr_t heap_address, unsigned slice_shift) noexcept;

  [[nodiscard]] map_entry entry(std::uint32_t chunk) const noexcept {
    return map_entry::unpack(map[chunk].load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::uintptr_t address(std::uint32_t chunk) const noexcept {
    return heap + (std::uint64_t{chunk} << chunk_shift);
  }

  // Returns the block of an address in the run that `entry` describes: a slab or a large block.
  [[nodiscard]] block_index locate(map_entry entry, std::uintptr_t address) const noexcept {
    const std::uint64_t offset = address - this->address(entry.first);
    if (entry.kind == chunk_kind::large) return {0, offset == 0};
    return index_of(offset, size_classes[entry.size_class].reciprocal);
  }
  // find() returns the block that holds an address; free_remote() frees a block for its owner to take back. Any place
  // may call them. `open_chunks`, the owner's extent, bounds the search.
  [[nodiscard]] std::optional<block> find(std::uintptr_t address, std::uint32_t open_chunks) const noexcept;
  free_status free_remote(std::uintptr_t address, std::uint32_t open_chunks) const noexcept;

 private:
  [[nodiscard]] static constexpr std::uint64_t chunks_of(unsigned slice_shift) noexcept {
    return (std::uint64_t{1} << slice_shift) >> chunk_shift;
  }
  [[nodiscard]] static constexpr std::uint64_t page_round(std::uint64_t bytes) noexcept {
    return (bytes + 4095) / 4096 * 4096;
  }
  [[nodiscard]] std::uint32_t nearest_entry(std::uint32_t chunk) const noexcept;
  void push_remote(std::uint32_t chunk) const noexcept;
};

}  // namespace situ::detail
