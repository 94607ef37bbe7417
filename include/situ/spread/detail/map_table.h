// One place's part of a distributed_map: a hash table in its segment that other places read while the owner changes it.
//
//   root -> directory, by the first `depth` bits of a hash -> bucket -> slots (hash, record) -> record (key, value)
//
// Extendible hashing (Fagin, Nievergelt, Pippenger, Strong, 1979): a full bucket is split in two, so that the table
// grows one bucket at a time, and the directory, of 8 bytes for some 140 entries, is doubled now and then. Each bucket
// is a seqlock (Boehm, "Can seqlocks get along with programming language memory models?", 2012). Invariants
//   1. Only the owner's thread writes. A bucket's `version` is odd while the bucket or one of its records changes.
//   2. A reader accepts data from a bucket and its records only if `version` was even before and is the same after, and
//      `prefix` says that the bucket holds the hash.
//   3. Buckets and directories stay allocated until the map ends (an outgrown directory is half as large as the next,
//      so all of them together are smaller than the current one). Records are freed at once: a reader discards what it
//      read of a record unless invariant 2 holds, and checks the record's sizes by it before it uses them.
//   4. Equal keys have equal bytes (serialize.h), so keys are compared and hashed as bytes. Key and value begin at
//      words, and are padded with zeroes.
//
// Within a bucket, slots are probed linearly from the hash's home slot; erase moves later entries back, so a free slot
// ends every search.
#pragma once

#include <situ/base/detail/coherence.h>
#include <situ/memory/ptr.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace situ::detail {

[[nodiscard]] constexpr std::size_t words_for(std::size_t bytes) noexcept { return (bytes + 7) / 8; }

// Bytes in words, of which the last is padded with zeroes; short contents need no allocation.
class word_buffer {
 public:
  // Makes room for `bytes` bytes and discards the old contents.
  std::byte* resize(std::size_t bytes) {
    bytes_ = bytes;
    const std::size_t words = words_for(bytes);
    if (words > inline_words && words > more_.size()) more_.resize(words);
    if (words != 0) data()[words - 1] = 0;
    return reinterpret_cast<std::byte*>(data());
  }
  [[nodiscard]] std::uint64_t* data() noexcept { return words_for(bytes_) > inline_words ? more_.data() : few_; }
  [[nodiscard]] const std::uint64_t* data() const noexcept {
    return words_for(bytes_) > inline_words ? more_.data() : few_;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::span<const std::byte> view() const noexcept {
    return {reinterpret_cast<const std::byte*>(data()), bytes_};
  }

 private:
  static constexpr std::size_t inline_words = 16;
  std::uint64_t few_[inline_words];
  std::size_t bytes_ = 0;
  std::vector<std::uint64_t> more_;
};

// A key as the table handles it: its words, and their hash.
struct key_view {
  const std::uint64_t* words;
  std::uint32_t bytes;
  std::uint64_t hash;
};

__extension__ typedef unsigned __int128 two_words;  // the standard has no name for it

// Multiply and fold, as in wyhash (Wang Yi, 2019).
[[nodiscard]] inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) noexcept {
  const two_words product = static_cast<two_words>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
[[nodiscard]] inline std::uint64_t hash_words(const std::uint64_t* words, std::size_t bytes) noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15 ^ bytes;
  for (std::size_t i = 0; i < words_for(bytes); ++i)
    hash = fold_multiply(words[i] ^ 0xa0761d6478bd642f, hash ^ 0xe7037ed1a0b428db);
  return fold_multiply(hash ^ 0x8ebc6af09c88c6e3, 0x589965cc75374cc3);
}

struct map_record {
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;

  [[nodiscard]] std::uint64_t* key() noexcept { return reinterpret_cast<std::uint64_t*>(this) + 1; }
  [[nodiscard]] std::uint64_t* value() noexcept { return key() + words_for(key_bytes); }
  [[nodiscard]] std::span<const std::byte> value_view() noexcept {
    return {reinterpret_cast<const std::byte*>(value()), value_bytes};
  }
};
static_assert(sizeof(map_record) == 8);

struct map_slot {
  std::atomic<std::uint64_t> hash;
  std::atomic<map_record*> record;  // null: the slot is free
};

struct alignas(64) map_bucket {
  static constexpr std::uint32_t slot_count = 252;  // makes the bucket a page
  static constexpr std::uint32_t most = 190;        // three quarters: then a search reads two lines

  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> prefix;  // the first `depth` bits of the hashes in this bucket
  std::atomic<std::uint32_t> depth;
  std::atomic<std::uint32_t> used;  // owner only; no plain word may share a line with atomics (coherence.h)
  alignas(64) map_slot slots[slot_count];

  [[nodiscard]] static std::uint32_t home(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>((hash & 0xffff) * slot_count >> 16);
  }
  [[nodiscard]] static std::uint32_t after(std::uint32_t slot) noexcept {
    return slot + 1 == slot_count ? 0 : slot + 1;
  }
};
static_assert(sizeof(map_bucket) == 4096);

[[nodiscard]] constexpr std::uint64_t first_bits(std::uint64_t hash, std::uint32_t count) noexcept {
  return count == 0 ? 0 : hash >> (64 - count);
}

struct map_directory {
  std::uint64_t depth;
  std::atomic<map_bucket*> buckets[1];  // 1 << depth entries
};

// The part of a table that other places read.
struct alignas(64) map_root {
  std::atomic<map_directory*> directory;
  alignas(64) std::atomic<std::uint64_t> entries;

  [[nodiscard]] map_bucket& bucket_of(std::uint64_t hash) const noexcept {
    const map_directory& all = *directory.load(std::memory_order_acquire);
    invalidate(&all, sizeof all.depth);
    return *all.buckets[first_bits(hash, static_cast<std::uint32_t>(all.depth))].load(std::memory_order_acquire);
  }
};

// The owner's interface. Throws out_of_memory if its segment has no room; the table is then unchanged.
class map_table {
 public:
  map_table();
  // Leaves the memory to the job; see clear().
  ~map_table() = default;
  map_table(const map_table&) = delete;
  map_table& operator=(const map_table&) = delete;

  [[nodiscard]] const map_root& root() const noexcept { return *root_; }
  // Frees all memory. pre: no place reads the table any more.
  void clear() noexcept;

  // Returns the record of a key, or null; valid until the table changes.
  [[nodiscard]] map_record* find(const key_view& key) const noexcept;
  // Sets a key's value. Returns false and changes nothing if `only_new` is set and the key has a value.
  bool store(const key_view& key, std::span<const std::byte> value, bool only_new);
  bool erase(const key_view& key);

  // Calls visit(record) for each entry of the bucket that holds hash `from`; returns the first hash after that bucket,
  // or 0 after the last bucket.
  template <class Visit>
  std::uint64_t visit_bucket(std::uint64_t from, Visit visit) const {
    map_bucket& bucket = root_->bucket_of(from);
    for (map_slot& slot : bucket.slots)
      if (map_record* const record = slot.record.load(std::memory_order_relaxed)) visit(*record);
    const std::uint32_t depth = bucket.depth.load(std::memory_order_relaxed);
    return depth == 0 ? 0 : (bucket.prefix.load(std::memory_order_relaxed) + 1) << (64 - depth);
  }

  // Forbids changes of the table while the program's functions are called on its values.
  void freeze(bool on) noexcept { frozen_ = on; }

 private:
  [[nodiscard]] map_slot* slot_of(map_bucket& bucket, const key_view& key) const noexcept;
  void put_new(map_bucket& bucket, std::uint64_t hash, map_record* record) noexcept;
  void replace(map_bucket& bucket, map_slot& slot, const key_view& key, std::span<const std::byte> value);
  void split(map_bucket& bucket);
  void double_directory();

  map_root* root_;
  std::vector<map_directory*> outgrown_;
  bool frozen_ = false;
};

// Reads a key's value from any place, concurrently with its owner.
enum class read_outcome : std::uint8_t {
  found,
  absent,
  changing,  // the caller must try again
};
[[nodiscard]] read_outcome read_entry(const map_root& root, const key_view& key, word_buffer& value);
// The steps of a look-up of many keys: the caller takes each step for all keys before the next, so that cache misses
// overlap.
void prefetch_slot(const map_root& root, std::uint64_t hash) noexcept;
void prefetch_record(const map_root& root, std::uint64_t hash) noexcept;

}  // namespace situ::detail
