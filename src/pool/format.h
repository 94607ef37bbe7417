// The format of a pool file, versions 1 to 3; docs/formats/pool.md has the grammar. All numbers are little-endian.
//
//   | header page | roots page | log, 64 KiB or more | map: 8 B a chunk | heap: chunks of 16 KiB |
//
// Positions are offsets into the file, and equally offsets from the pool's base address; only the program's own objects
// hold addresses. Constant and variable parts are separate, and each part has its own check: the header has one over
// all of it; the state has two copies; the sequence and each entry of the map are single words that include their
// check, so that each changes by one store.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "memory/heap_map.h"

namespace situ::detail {

inline constexpr char pool_magic[8] = {'S', 'I', 'T', 'U', 'P', 'O', 'O', 'L'};
// 1: with an undo log; 2: with a redo log; 3: described by its features. A pool gets the lowest version that describes
// it.
inline constexpr std::uint32_t pool_version = 1;
inline constexpr std::uint32_t pool_version_redo = 2;
inline constexpr std::uint32_t pool_version_features = 3;
// Properties that not every pool has. A build that does not know one of them cannot read the pool.
enum pool_feature : std::uint64_t {
  redo_log_feature = 1,
  object_checks_feature = 2,
};
inline constexpr std::uint64_t known_pool_features = redo_log_feature | object_checks_feature;
inline constexpr std::array<std::string_view, 2> pool_feature_names = {"redo_log", "object_checks"};  // by bit
// Little-endian, pointers of 8 bytes, the x86-64 layout of C++ objects; the only supported architecture.
inline constexpr std::uint32_t pool_architecture = 0x78363634;

inline constexpr std::uint64_t pool_state_offset = 1024;  // two copies, each in its own sector
inline constexpr std::uint64_t pool_state_distance = 512;
inline constexpr std::uint64_t pool_sequence_offset = 2048;
// Source and target of a move to other addresses, each as a sealed number of chunks. They are valid while the header's
// check is its correct check for the source address, changed by pool_moving_mark.
inline constexpr std::uint64_t pool_move_offset = 2560;
inline constexpr std::uint64_t pool_moving_mark = 0x6d6f76696e670000;
inline constexpr std::uint64_t pool_writer_offset = 3072;
inline constexpr std::uint64_t pool_holes_offset = 3584;
inline constexpr std::uint64_t pool_roots_offset = 4096;
inline constexpr std::uint64_t pool_log_offset = 8192;
inline constexpr std::uint64_t pool_log_bytes = 65536;  // of an undo log, and the least of a redo log
inline constexpr std::uint64_t most_pool_log_bytes = std::uint64_t{1} << 22;
// The end of an undo log's first part is the area in which the openers of a pool share state (sharing.h). Its contents
// mean nothing while no process has the pool open; it holds log entries only if a build that did not share pools wrote
// them.
inline constexpr std::uint64_t pool_area_bytes = 16384;
inline constexpr std::uint64_t pool_area_offset = pool_log_offset + pool_log_bytes - pool_area_bytes;
inline constexpr std::uint64_t pool_map_offset = pool_log_offset + pool_log_bytes;
inline constexpr std::uint64_t least_pool_heap_bytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t most_pool_heap_bytes = std::uint64_t{1} << 45;
inline constexpr std::uint32_t pool_root_count = 64;
inline constexpr std::size_t pool_root_name_bytes = 32;  // a name is shorter, and ends with a zero

// --- checks ---

// Each step is a bijection of the sum and of the word, so a change of one word changes the sum.
[[nodiscard]] constexpr std::uint64_t add_to_check(std::uint64_t sum, std::uint64_t word) noexcept {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15;
  return sum ^ sum >> 32;
}
// bytes: a multiple of 8
[[nodiscard]] inline std::uint64_t check_of(std::uint64_t sum, const void* from, std::size_t bytes) noexcept {
  const auto* at = static_cast<const std::byte*>(from);
  for (const std::byte* const end = at + bytes; at != end; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    sum = add_to_check(sum, word);
  }
  return sum;
}

// Packs a number of 48 bits and a check of 16 bits into one word. Zero is never a sealed word. begun: the part of the
// check that is common to the pool.
[[nodiscard]] constexpr std::uint64_t begin_seal(std::uint64_t salt) noexcept { return add_to_check(0x53697475, salt); }
[[nodiscard]] constexpr std::uint64_t seal_with(std::uint64_t begun, std::uint64_t number) noexcept {
  const std::uint64_t check = add_to_check(begun, number) >> 48;
  return number << 16 | (check != 0 ? check : 1);
}
[[nodiscard]] constexpr std::uint64_t seal(std::uint64_t number, std::uint64_t salt) noexcept {
  return seal_with(begin_seal(salt), number);
}
[[nodiscard]] constexpr bool is_sealed(std::uint64_t word, std::uint64_t salt) noexcept {
  return seal(word >> 16, salt) == word;
}

// --- the parts ---

// Written when the pool is made; a move to other addresses changes `base` and `check`.
struct pool_header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t page_bytes;
  std::uint32_t architecture;
  std::uint32_t chunk_bytes;
  std::uint64_t base;        // address of byte 0 at which the pool was made or moved to
  std::uint64_t most_bytes;  // largest size of the heap
  std::uint64_t identity[2];
  std::uint32_t promise;        // pool_promise
  std::uint32_t sync_every_ms;  // for batched: how long a complete transaction may wait for the device
  std::uint64_t log_bytes;      // of a redo log; 0 for an undo log, which has 65536
  std::uint64_t features;       // in version 3
  char feature_names[64];       // names of the features, for builds that do not know them
  std::uint64_t zeroes[45];
  std::uint64_t check;  // of all fields before it
};
static_assert(sizeof(pool_header) == 512);

// Size of the heap. The copy with the higher generation is valid; a writer writes both, one after the other.
struct pool_state_record {
  std::uint64_t generation;
  std::uint64_t chunks;
  std::uint64_t check;

  [[nodiscard]] std::uint64_t right_check(std::uint64_t salt) const noexcept {
    return add_to_check(add_to_check(salt, generation), chunks);
  }
};

// An entry of the roots page; all zeroes if unused.
struct pool_root_record {
  char name[pool_root_name_bytes];
  std::uint64_t offset;
  std::uint64_t fingerprint;  // of its type and of all types that it leads to
  std::uint64_t bytes;        // of an object of its type
  std::uint64_t check;        // of all fields before it

  [[nodiscard]] std::uint64_t right_check(std::uint64_t salt) const noexcept {
    return check_of(salt, this, offsetof(pool_root_record, check));
  }
  [[nodiscard]] bool is_empty() const noexcept { return check == 0 && offset == 0 && name[0] == 0; }
  [[nodiscard]] std::string_view text() const noexcept { return {name, ::strnlen(name, sizeof name)}; }
};
static_assert(sizeof(pool_root_record) == 64);

enum class log_kind : std::uint64_t {
  undo = 1,  // the entry keeps the previous bytes at `offset`
  link = 2,  // the log continues at `offset`, for `bytes` bytes
};

[[nodiscard]] constexpr std::uint64_t pad_to_word(std::uint64_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

// Precedes the bytes that the entry keeps, which are padded with zeroes to a multiple of 8.
struct log_entry {
  std::uint64_t check;
  std::uint64_t offset;
  std::uint64_t bytes;
  log_kind kind;

  // Begins the check of each entry of a transaction. sequence: the word in the file while the entries are valid
  [[nodiscard]] static constexpr std::uint64_t begin_check(std::uint64_t salt, std::uint64_t sequence) noexcept {
    return add_to_check(salt, sequence);
  }
  // Returns the check of this entry without its kept bytes, which are added behind it.
  [[nodiscard]] std::uint64_t own_check(std::uint64_t begun) const noexcept {
    return add_to_check(add_to_check(add_to_check(begun, offset), bytes), static_cast<std::uint64_t>(kind));
  }
  [[nodiscard]] std::uint64_t right_check(std::uint64_t salt, std::uint64_t sequence, const void* kept) const noexcept {
    return check_of(own_check(begin_check(salt, sequence)), kept, kind == log_kind::undo ? pad_to_word(bytes) : 0);
  }
};
static_assert(sizeof(log_entry) == 32);

// A transaction in a redo log. Its ranges follow the record, one behind another, or are stored elsewhere.
struct redo_record {
  std::uint64_t check;
  std::uint64_t sequence;
  std::uint64_t bytes;  // of its ranges
  std::uint64_t at;     // offset of the ranges; 0: behind the record

  [[nodiscard]] std::uint64_t right_check(std::uint64_t salt, const void* ranges) const noexcept {
    return check_of(add_to_check(add_to_check(add_to_check(salt, sequence), bytes), at), ranges, bytes);
  }
};
static_assert(sizeof(redo_record) == 32);
// Precedes the bytes of a range, which are padded with zeroes to a multiple of 8.
struct redo_range {
  std::uint64_t offset;
  std::uint64_t bytes;
};

// Precedes the blocks of a slab.
struct slab_header {
  std::uint64_t check;
  std::uint64_t zero;
  std::uint64_t live[16];  // a bit for each block
  std::uint64_t zeroes[6];

  [[nodiscard]] static std::uint64_t right_check(std::uint64_t salt, std::uint32_t first,
                                                 unsigned size_class) noexcept {
    return add_to_check(add_to_check(salt, first), 0x51ab0000 + size_class);
  }
};
static_assert(sizeof(slab_header) == 192);

// An entry of the map. Only the first chunk of a run has an entry; the words of other chunks, and of free ones, are 0.
enum class run_kind : std::uint8_t { none = 0, slab = 1, large = 2 };
struct run_entry {
  run_kind kind = run_kind::none;
  std::uint8_t size_class = 0;  // of a slab
  std::uint32_t chunks = 0;

  [[nodiscard]] static constexpr std::uint64_t seal_salt(std::uint32_t first, std::uint64_t salt) noexcept {
    return add_to_check(salt, first);
  }
  [[nodiscard]] constexpr std::uint64_t pack(std::uint32_t first, std::uint64_t salt) const noexcept {
    const std::uint64_t number =
        std::uint64_t{chunks} << 16 | std::uint64_t{size_class} << 8 | static_cast<std::uint64_t>(kind);
    return seal(number, seal_salt(first, salt));
  }
  // Returns false for a word that no pool writes.
  [[nodiscard]] static constexpr bool unpack(std::uint64_t word, std::uint32_t first, std::uint64_t salt,
                                             run_entry& into) noexcept {
    if (!is_sealed(word, seal_salt(first, salt))) return false;
    const std::uint64_t number = word >> 16;
    into = {static_cast<run_kind>(number & 0xff), static_cast<std::uint8_t>(number >> 8),
            static_cast<std::uint32_t>(number >> 16)};
    if (into.kind == run_kind::slab)
      return into.size_class < class_count && into.chunks == size_classes[into.size_class].chunks;
    return into.kind == run_kind::large && into.size_class == 0 && into.chunks != 0;
  }
};

// --- where things lie ---

[[nodiscard]] constexpr std::uint64_t features_of(const pool_header& header) noexcept {
  if (header.version == pool_version_features) return header.features;
  if (header.version == pool_version_redo) return redo_log_feature;
  return 0;
}
[[nodiscard]] constexpr bool has_feature(const pool_header& header, pool_feature feature) noexcept {
  return (features_of(header) & feature) != 0;
}
[[nodiscard]] constexpr std::uint64_t log_bytes_of(const pool_header& header) noexcept {
  return has_feature(header, redo_log_feature) ? header.log_bytes : pool_log_bytes;
}
// Returns the size of a redo log for a heap of at most this size: a sixteenth, within bounds, so that checkpoints are
// rare.
[[nodiscard]] constexpr std::uint64_t redo_log_bytes(std::uint64_t most_bytes) noexcept {
  const std::uint64_t wanted = most_bytes / 16 / pool_log_bytes * pool_log_bytes;
  return wanted < pool_log_bytes ? pool_log_bytes : wanted < most_pool_log_bytes ? wanted : most_pool_log_bytes;
}
[[nodiscard]] constexpr std::uint64_t pool_heap_offset(std::uint64_t most_bytes,
                                                       std::uint64_t log_bytes = pool_log_bytes) noexcept {
  const std::uint64_t map_bytes = most_bytes / chunk_bytes * 8;
  return (pool_log_offset + log_bytes + map_bytes + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
}
// Returns whether a log may have such a range: any but the header page and the log itself, up to the heap's end.
[[nodiscard]] constexpr bool may_be_logged(std::uint64_t offset, std::uint64_t bytes, std::uint64_t map_offset,
                                           std::uint64_t end) noexcept {
  const auto lies_in = [&](std::uint64_t from, std::uint64_t to) {
    return offset >= from && offset <= to && bytes <= to - offset;
  };
  return lies_in(pool_roots_offset, pool_log_offset) || lies_in(map_offset, end);
}
// Returns the size of the pool's address range, including the parts before the heap.
[[nodiscard]] constexpr std::uint64_t pool_reach(std::uint64_t most_bytes,
                                                 std::uint64_t log_bytes = pool_log_bytes) noexcept {
  return pool_heap_offset(most_bytes, log_bytes) + most_bytes;
}
// If objects have checks, the end of each run holds one check for each block, in reverse order: the first block's is
// last.
using object_check = std::uint32_t;
[[nodiscard]] constexpr std::uint64_t object_check_offset(std::uint64_t run_end, std::uint64_t index) noexcept {
  return run_end - (index + 1) * sizeof(object_check);
}
// Returns the bytes of a run's only block, a multiple of the word size.
[[nodiscard]] constexpr std::uint64_t large_block_bytes(std::uint64_t chunks, bool has_checks) noexcept {
  return chunks * chunk_bytes - (has_checks ? 8 : 0);
}
// The header of a pool's slab takes room that slabs of a place do not need, so their numbers of blocks differ.
inline constexpr auto pool_slab_block_counts = [] {
  std::array<std::array<std::uint32_t, class_count>, 2> counts{};
  for (unsigned i = 0; i < class_count; ++i)
    for (const unsigned has_checks : {0u, 1u})
      counts[has_checks][i] = static_cast<std::uint32_t>((size_classes[i].chunks * chunk_bytes - sizeof(slab_header)) /
                                                         (size_classes[i].bytes + has_checks * sizeof(object_check)));
  return counts;
}();
[[nodiscard]] constexpr std::uint32_t pool_slab_blocks(unsigned size_class, bool has_checks) noexcept {
  return pool_slab_block_counts[has_checks ? 1 : 0][size_class];
}
// Returns the mask of the bits in a word of a slab's header that stand for blocks.
[[nodiscard]] constexpr std::uint64_t blocks_in_word(std::uint32_t blocks, std::uint32_t word) noexcept {
  if (blocks >= 64 * (word + 1)) return ~std::uint64_t{0};
  return blocks <= 64 * word ? 0 : (std::uint64_t{1} << (blocks - 64 * word)) - 1;
}

}  // namespace situ::detail
