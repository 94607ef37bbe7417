// One place's part of a distributed_map: a hash table in its segment that other places read while it changes.
//
//   root -> directory, by the first `depth` bits of a hash -> bucket -> slots (hash, record) -> record (key, value)
//
// Extendible hashing (Fagin, Nievergelt, Pippenger, Strong, 1979): a full bucket is split in two, so that growing costs
// one bucket at a time, and the directory, of 8 bytes for some 140 entries, is doubled now and then. Each bucket is a
// seqlock (Boehm, "Can seqlocks get along with programming language memory models?", 2012). Invariants
//   1. Only the owner's thread writes. `version` of a bucket is odd while it, or a record of it, changes.
//   2. A reader takes for true what it has read of a bucket and its records where `version` was even before and is the
//      same after, and `prefix` says that the bucket holds the hash.
//   3. Buckets and directories stay where they are until the map ends (an outgrown directory is half as large as the
//      next, so all of them are no more than one). Records go back to the heap at once: what is read of one is thrown
//      away unless invariant 2 holds, and its sizes are held against it before they are used.
//   4. Equal keys have equal bytes (serialize.h), so keys are compared and hashed as bytes. Key and value begin at
//      words, and are padded with zeroes.
// Within a bucket slots are probed one after another from where the hash points; erasing moves later ones up, so a free
// slot ends every search.
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

// Bytes in words, the last padded with zeroes; short ones without an allocation.
class word_buffer {
 public:
  // Room for so many bytes; what was there is gone.
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

// A key as the table sees it: words, and their hash.
struct key_view {
  const std::uint64_t* words;
  std::uint32_t bytes;
  std::uint64_t hash;
};

__extension__ typedef unsigned __int128 two_words;  // as no standard names it

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
  std::atomic<map_record*> record;  // null: free
};

struct alignas(64) map_bucket {
  static constexpr std::uint32_t slot_count = 252;  // so that it is a page
  static constexpr std::uint32_t most = 190;        // three quarters: then a search looks at two lines

  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> prefix;  // of the hashes that belong here: the first `depth` bits
  std::atomic<std::uint32_t> depth;
  std::atomic<std::uint32_t> used;  // of the owner alone; no plain word may share a line with atomics (coherence.h)
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
  std::atomic<map_bucket*> buckets[1];  // 1 << depth of them
};

// What others know of a part.
struct alignas(64) map_root {
  std::atomic<map_directory*> directory;
  alignas(64) std::atomic<std::uint64_t> entries;

  [[nodiscard]] map_bucket& bucket_of(std::uint64_t hash) const noexcept {
    const map_directory& all = *directory.load(std::memory_order_acquire);
    invalidate(&all, sizeof all.depth);
    return *all.buckets[first_bits(hash, static_cast<std::uint32_t>(all.depth))].load(std::memory_order_acquire);
  }
};

// The owner's side. Throws out_of_memory where its segment has no room; the table is then as it was.
class map_table {
 public:
  map_table();
  // Leaves its memory to the job; see clear().
  ~map_table() = default;
  map_table(const map_table&) = delete;
  map_table& operator=(const map_table&) = delete;

  [[nodiscard]] const map_root& root() const noexcept { return *root_; }
  // Gives all memory back. pre: nobody reads any more.
  void clear() noexcept;

  // The record of a key, or null; good until the table changes.
  [[nodiscard]] map_record* find(const key_view& key) const noexcept;
  // Sets a key's value. False, and nothing done, where `only_new` and it has one.
  bool store(const key_view& key, std::span<const std::byte> value, bool only_new);
  bool erase(const key_view& key);

  // Calls visit(record) for each entry of the bucket that holds hash `from`; returns the first hash behind it, 0 at the
  // end of all.
  template <class Visit>
  std::uint64_t visit_bucket(std::uint64_t from, Visit visit) const {
    map_bucket& bucket = root_->bucket_of(from);
    for (map_slot& slot : bucket.slots)
      if (map_record* const record = slot.record.load(std::memory_order_relaxed)) visit(*record);
    const std::uint32_t depth = bucket.depth.load(std::memory_order_relaxed);
    return depth == 0 ? 0 : (bucket.prefix.load(std::memory_order_relaxed) + 1) << (64 - depth);
  }

  // For who calls functions of the program on values: until then the table stays as it is.
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

// Reads a key's value at any place, beside its owner.
enum class read_outcome : std::uint8_t {
  found,
  absent,
  changing,  // look again
};
[[nodiscard]] read_outcome read_entry(const map_root& root, const key_view& key, word_buffer& value);
// Steps that a look at many keys takes for all of them before the next, so that they wait for memory together.
void prefetch_slot(const map_root& root, std::uint64_t hash) noexcept;
void prefetch_record(const map_root& root, std::uint64_t hash) noexcept;

}  // namespace situ::detail
