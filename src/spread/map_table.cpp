#include <situ/spread/detail/map_table.h>

#include <situ/base/detail/assert.h>
#include <situ/base/detail/coherence.h>
#include <situ/base/error_code.h>
#include <situ/fabric/detail/access.h>
#include <situ/memory/allocate.h>

#include <algorithm>
#include <utility>

#if defined(__SANITIZE_THREAD__)
// Readers discard data that changes during a read (invariant 2). The heap writes its own words into free blocks, so
// atomics in this file alone cannot make the reads known to the sanitizer.
#define SITU_READS_WHAT_CHANGES __attribute__((no_sanitize("thread"), noinline))
#elif defined(__SANITIZE_ADDRESS__)
// The record may have been freed, and its memory poisoned, since its address was read.
#define SITU_READS_WHAT_CHANGES __attribute__((no_sanitize("address"), noinline))
#else
#define SITU_READS_WHAT_CHANGES
#endif

namespace situ::detail {
namespace {

constexpr std::uint32_t most_depth = 40;

// The scope of a change to a bucket: makes the version odd before the change, and even after it.
class bucket_change {
 public:
  explicit bucket_change(map_bucket& bucket) noexcept : bucket_{bucket} {
    bucket.version.store(bucket.version.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);  // readers see the odd version before the change
  }
  ~bucket_change() {  // release: readers see the change before the even version
    bucket_.version.store(bucket_.version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  bucket_change(const bucket_change&) = delete;
  bucket_change& operator=(const bucket_change&) = delete;

 private:
  map_bucket& bucket_;
};

template <class T>
T* allocate_zeroed(std::size_t bytes) {
  const ptr<std::byte> memory = situ::allocate_bytes(bytes, {.alignment = 64});
  std::memset(memory.local(), 0, bytes);
  flush(memory.local(), bytes);  // from now on other places read it
  return reinterpret_cast<T*>(memory.local());
}
void give_back(void* block) noexcept {
  if (block != nullptr) deallocate(ptr<std::byte>{static_cast<std::byte*>(block)});
}

std::size_t directory_bytes(std::uint64_t depth) noexcept {
  return sizeof(map_directory) + ((std::size_t{1} << depth) - 1) * sizeof(void*);
}

void write_padded(std::uint64_t* words, std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return;
  words[words_for(bytes.size()) - 1] = 0;
  std::memcpy(words, bytes.data(), bytes.size());
}

map_record* make_record(const key_view& key, std::span<const std::byte> value) {
  const std::size_t words = 1 + words_for(key.bytes) + words_for(value.size());
  auto* const record = reinterpret_cast<map_record*>(situ::allocate_bytes(words * 8).local());
  record->key_bytes = key.bytes;
  record->value_bytes = static_cast<std::uint32_t>(value.size());
  std::copy_n(key.words, words_for(key.bytes), record->key());
  write_padded(record->value(), value);
  write_back(record, words * 8);
  return record;
}

// Reads a word that another place may be writing.
SITU_READS_WHAT_CHANGES std::uint64_t read_word(const std::uint64_t* word) noexcept {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}
SITU_READS_WHAT_CHANGES bool equal_words(const std::uint64_t* changing, const std::uint64_t* words,
                                         std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    if (__atomic_load_n(changing + i, __ATOMIC_RELAXED) != words[i]) return false;
  return true;
}
SITU_READS_WHAT_CHANGES void copy_words(std::uint64_t* to, const std::uint64_t* changing, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = __atomic_load_n(changing + i, __ATOMIC_RELAXED);
}

}  // namespace

map_table::map_table() : root_{allocate_zeroed<map_root>(sizeof(map_root))} {
  auto* const directory = allocate_zeroed<map_directory>(directory_bytes(0));
  directory->buckets[0].store(allocate_zeroed<map_bucket>(sizeof(map_bucket)), std::memory_order_relaxed);
  root_->directory.store(directory, std::memory_order_release);
}

void map_table::clear() noexcept {
  std::uint64_t from = 0;
  do {
    map_bucket& bucket = root_->bucket_of(from);
    from = visit_bucket(from, [](map_record& record) { give_back(&record); });
    give_back(&bucket);
  } while (from != 0);
  for (map_directory* const each : outgrown_) give_back(each);
  outgrown_.clear();
  give_back(root_->directory.load(std::memory_order_relaxed));
  give_back(std::exchange(root_, nullptr));
}

map_slot* map_table::slot_of(map_bucket& bucket, const key_view& key) const noexcept {
  for (std::uint32_t i = map_bucket::home(key.hash);; i = map_bucket::after(i)) {
    map_slot& slot = bucket.slots[i];
    map_record* const record = slot.record.load(std::memory_order_relaxed);
    if (record == nullptr) return nullptr;
    if (slot.hash.load(std::memory_order_relaxed) == key.hash && record->key_bytes == key.bytes &&
        std::equal(key.words, key.words + words_for(key.bytes), record->key()))
      return &slot;
  }
}

map_record* map_table::find(const key_view& key) const noexcept {
  const map_slot* const slot = slot_of(root_->bucket_of(key.hash), key);
  return slot == nullptr ? nullptr : slot->record.load(std::memory_order_relaxed);
}

void map_table::put_new(map_bucket& bucket, std::uint64_t hash, map_record* record) noexcept {
  std::uint32_t i = map_bucket::home(hash);
  while (bucket.slots[i].record.load(std::memory_order_relaxed) != nullptr) i = map_bucket::after(i);
  bucket.slots[i].hash.store(hash, std::memory_order_relaxed);
  bucket.slots[i].record.store(record, std::memory_order_release);
  bucket.used.store(bucket.used.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool map_table::store(const key_view& key, std::span<const std::byte> value, bool only_new) {
  SITU_ASSERT(1, !frozen_, "a function of update() or visit() must not use its map: return what is to be done");
  map_bucket* bucket = &root_->bucket_of(key.hash);
  if (map_slot* const slot = slot_of(*bucket, key)) {
    if (!only_new) replace(*bucket, *slot, key, value);
    return !only_new;
  }
  while (bucket->used.load(std::memory_order_relaxed) >= map_bucket::most) {
    split(*bucket);
    bucket = &root_->bucket_of(key.hash);
  }
  map_record* const record = make_record(key, value);
  const bucket_change changing{*bucket};
  put_new(*bucket, key.hash, record);
  root_->entries.store(root_->entries.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

void map_table::replace(map_bucket& bucket, map_slot& slot, const key_view& key, std::span<const std::byte> value) {
  map_record* const record = slot.record.load(std::memory_order_relaxed);
  if (words_for(record->value_bytes) == words_for(value.size())) {
    const bucket_change changing{bucket};
    record->value_bytes = static_cast<std::uint32_t>(value.size());
    write_padded(record->value(), value);
    write_back(record, (1 + words_for(key.bytes) + words_for(value.size())) * 8);
    return;
  }
  map_record* const made = make_record(key, value);
  {
    const bucket_change changing{bucket};
    slot.record.store(made, std::memory_order_release);
  }
  give_back(record);
}

bool map_table::erase(const key_view& key) {
  SITU_ASSERT(1, !frozen_, "a function of update() or visit() must not use its map: return what is to be done");
  map_bucket& bucket = root_->bucket_of(key.hash);
  map_slot* const found = slot_of(bucket, key);
  if (found == nullptr) return false;
  map_record* const record = found->record.load(std::memory_order_relaxed);
  {
    const bucket_change changing{bucket};
    auto hole = static_cast<std::uint32_t>(found - bucket.slots);
    for (std::uint32_t i = map_bucket::after(hole);; i = map_bucket::after(i)) {
      map_slot& next = bucket.slots[i];
      map_record* const moved = next.record.load(std::memory_order_relaxed);
      if (moved == nullptr) break;
      const std::uint64_t hash = next.hash.load(std::memory_order_relaxed);
      const std::uint32_t home = map_bucket::home(hash);
      // If the entry's home lies between the hole and its slot, the entry stays.
      if (hole < i ? hole < home && home <= i : hole < home || home <= i) continue;
      bucket.slots[hole].hash.store(hash, std::memory_order_relaxed);
      bucket.slots[hole].record.store(moved, std::memory_order_relaxed);
      hole = i;
    }
    bucket.slots[hole].record.store(nullptr, std::memory_order_relaxed);
    bucket.used.store(bucket.used.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    root_->entries.store(root_->entries.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  give_back(record);
  return true;
}

void map_table::double_directory() {
  map_directory* const old = root_->directory.load(std::memory_order_relaxed);
  outgrown_.reserve(outgrown_.size() + 1);
  auto* const next = allocate_zeroed<map_directory>(directory_bytes(old->depth + 1));
  next->depth = old->depth + 1;
  write_back(next, sizeof next->depth);
  for (std::uint64_t i = 0; i < std::uint64_t{2} << old->depth; ++i)
    next->buckets[i].store(old->buckets[i >> 1].load(std::memory_order_relaxed), std::memory_order_relaxed);
  root_->directory.store(next, std::memory_order_release);
  outgrown_.push_back(old);
}

// Moves the upper half of a bucket's hashes to a new bucket. A concurrent reader of the old bucket finds it changing,
// and later finds that it does not hold the hash; by then the directory points to the new bucket.
void map_table::split(map_bucket& bucket) {
  const std::uint32_t depth = bucket.depth.load(std::memory_order_relaxed);
  if (depth == most_depth)
    throw_error(errc::bad_argument,
                "so many keys with nearly the same hash are not what keys of a program have: the map "
                "cannot tell them apart");
  if (depth == root_->directory.load(std::memory_order_relaxed)->depth) double_directory();
  auto* const upper = allocate_zeroed<map_bucket>(sizeof(map_bucket));
  const std::uint64_t prefix = bucket.prefix.load(std::memory_order_relaxed) << 1;
  upper->depth.store(depth + 1, std::memory_order_relaxed);
  upper->prefix.store(prefix | 1, std::memory_order_relaxed);

  struct moved {
    std::uint64_t hash;
    map_record* record;
  } entries[map_bucket::slot_count];
  std::uint32_t count = 0;
  const bucket_change changing{bucket};
  for (map_slot& slot : bucket.slots) {
    map_record* const record = slot.record.load(std::memory_order_relaxed);
    if (record == nullptr) continue;
    entries[count++] = {slot.hash.load(std::memory_order_relaxed), record};
    slot.record.store(nullptr, std::memory_order_relaxed);
  }
  bucket.used.store(0, std::memory_order_relaxed);
  bucket.depth.store(depth + 1, std::memory_order_relaxed);
  bucket.prefix.store(prefix, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i)
    put_new((entries[i].hash >> (63 - depth) & 1) != 0 ? *upper : bucket, entries[i].hash, entries[i].record);

  map_directory& directory = *root_->directory.load(std::memory_order_relaxed);
  const std::uint32_t shift = static_cast<std::uint32_t>(directory.depth) - depth - 1;
  for (std::uint64_t i = (prefix | 1) << shift; i < (prefix + 2) << shift; ++i)
    directory.buckets[i].store(upper, std::memory_order_release);
}

read_outcome read_entry(const map_root& root, const key_view& key, word_buffer& value) {
  const map_bucket& bucket = root.bucket_of(key.hash);
  const std::uint64_t version = bucket.version.load(std::memory_order_acquire);
  const auto has_changed = [&] {
    std::atomic_thread_fence(std::memory_order_acquire);  // orders the reads before the second load of the version
    return bucket.version.load(std::memory_order_relaxed) != version;
  };
  if ((version & 1) != 0) return read_outcome::changing;
  if (first_bits(key.hash, bucket.depth.load(std::memory_order_relaxed)) !=
      bucket.prefix.load(std::memory_order_relaxed))
    return read_outcome::changing;
  std::uint32_t i = map_bucket::home(key.hash);
  for (std::uint32_t looks = 0; looks < map_bucket::slot_count; ++looks, i = map_bucket::after(i)) {
    const map_slot& slot = bucket.slots[i];
    map_record* const record = slot.record.load(std::memory_order_acquire);
    if (record == nullptr) return has_changed() ? read_outcome::changing : read_outcome::absent;
    if (slot.hash.load(std::memory_order_relaxed) != key.hash) continue;
    const std::uint64_t sizes = read_word(reinterpret_cast<const std::uint64_t*>(record));
    if (has_changed()) return read_outcome::changing;  // otherwise the sizes are this record's
    map_record head;
    std::memcpy(&head, &sizes, sizeof(head));
    const auto* const words = reinterpret_cast<const std::uint64_t*>(record) + 1;
    if (head.key_bytes != key.bytes || !equal_words(words, key.words, words_for(key.bytes))) {
      if (has_changed()) return read_outcome::changing;
      continue;
    }
    value.resize(head.value_bytes);
    copy_words(value.data(), words + words_for(head.key_bytes), words_for(head.value_bytes));
    if (has_changed()) return read_outcome::changing;
    if (current->observed) [[unlikely]]
      count_reads(reinterpret_cast<std::uintptr_t>(record), 1, head.value_bytes);
    return read_outcome::found;
  }
  return read_outcome::changing;  // no free slot: the bucket is changing
}

void prefetch_slot(const map_root& root, std::uint64_t hash) noexcept {
  const map_bucket& bucket = root.bucket_of(hash);
  __builtin_prefetch(&bucket);
  __builtin_prefetch(&bucket.slots[map_bucket::home(hash)]);
}

void prefetch_record(const map_root& root, std::uint64_t hash) noexcept {
  const map_bucket& bucket = root.bucket_of(hash);
  std::uint32_t i = map_bucket::home(hash);
  for (std::uint32_t looks = 0; looks < 8; ++looks, i = map_bucket::after(i)) {
    const map_record* const record = bucket.slots[i].record.load(std::memory_order_relaxed);
    if (record == nullptr) return;
    if (bucket.slots[i].hash.load(std::memory_order_relaxed) == hash) return __builtin_prefetch(record);
  }
}

}  // namespace situ::detail
