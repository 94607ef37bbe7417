// A hash map in a pool, as std::unordered_map is in ordinary memory.
//
//   struct directory { situ::pool_map<situ::pool_string, long> ages; };
//   pool.transact([&](situ::transaction& t) { all->ages.set(t, "Ada", 36); });
//   if (const long* age = all->ages.find("Ada")) ...
//   for (const auto& [name, age] : all->ages) ...
//
// Keys are data or pool_string (looked up by a std::string_view); values are data, pointers to objects of the pool, or
// described classes without a destructor, pool containers among them. Changes to the map take a transaction, and are
// rolled back with it: a change keeps two words and a slot in the log, however large the map is. An insertion
// invalidates pointers to values. Not copyable. Release a map before its object is destroyed, else its blocks stay
// until the pool is collected. As thread-safe as the pool's other objects. Errors: as transaction's; bad_argument if
// more keys than a segment has slots (441 of 16 bytes) hash alike. cost: one or two cache misses; one insertion in some
// hundred moves the entries of one segment, some hundred as well.
//
// The map is a directory of segments (extendible hashing), since a table that doubles would be logged, or written, as a
// whole:
//
//   hash            | upper 32 bits: directory entry | lower 32: bucket of the segment | lowest 7 of these: the tag |
//   directory       pointers to segments, 2^n of them; a segment with fewer bits than n has several
//   segment         8 KiB of buckets; a full one is divided into two new ones, which need no log
//   bucket          | 7 tags, 0: empty | how many keys went on from here | 7 slots |
//
// A key is stored in the first bucket with room, starting at its home bucket; a search continues while a bucket says
// that keys were passed on from it. While the keys would fit into a segment, the buckets are a vector that doubles.
// Erasing leaves no tombstones, and returns no memory before `clear`. Source: Fagin, Nievergelt, Pippenger and Strong,
// "Extendible hashing" (1979); Nam and others, "Write-Optimized Dynamic Hashing for Persistent Memory" (FAST'19); F14
// for buckets (Bronson and Shi, 2019).
#pragma once

#include <situ/pool/detail/pool_map_parts.h>
#include <situ/pool/pool_vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <utility>

namespace situ {

// A hash map in a pool. cost: seven words.
template <class K, class V, class Hash = pool_hash<K>>
class pool_map {
  using bucket = detail::pool_map_bucket<K, V>;
  using segment = detail::pool_map_segment<K, V>;
  using table = detail::pool_map_table<K, V>;
  using keys = detail::pool_key<K>;

 public:
  using key_view = typename keys::view;       // const K&; std::string_view for strings
  using entry = detail::pool_map_slot<K, V>;  // has members key and value

  // Iterates over all entries, in no order; valid until the map changes.
  class const_iterator {
   public:
    // Names that the standard library expects.
    using value_type = entry;
    using difference_type = std::ptrdiff_t;
    using reference = const entry&;
    using iterator_category = std::forward_iterator_tag;

    const_iterator() noexcept = default;
    [[nodiscard]] const entry& operator*() const noexcept { return in_.first[bucket_].slots[slot_]; }
    [[nodiscard]] const entry* operator->() const noexcept { return &**this; }
    const_iterator& operator++() noexcept {
      ++slot_;
      settle();
      return *this;
    }
    const_iterator operator++(int) noexcept { return std::exchange(*this, const_iterator{*this}.operator++()); }
    friend bool operator==(const const_iterator& a, const const_iterator& b) noexcept {
      return a.index_ == b.index_ && a.bucket_ == b.bucket_ && a.slot_ == b.slot_;
    }

   private:
    friend class pool_map;
    const_iterator(const pool_map* of, std::size_t index) noexcept : of_{of}, index_{index} {
      if (index_ != of_->table_count()) {
        in_ = of_->table_number(index_);
        settle();
      }
    }
    void settle() noexcept {
      for (; index_ != of_->table_count(); bucket_ = 0) {
        for (; bucket_ != in_.count; ++bucket_, slot_ = 0)
          for (; slot_ != bucket::slot_count; ++slot_)
            if (in_.first[bucket_].has(slot_)) return;
        index_ = of_->table_after(index_);
        if (index_ != of_->table_count()) in_ = of_->table_number(index_);
      }
    }
    const pool_map* of_ = nullptr;
    std::size_t index_ = 0;
    table in_;
    std::uint32_t bucket_ = 0;
    std::uint32_t slot_ = 0;
  };

  pool_map() noexcept = default;
  pool_map(const pool_map&) = delete;
  pool_map& operator=(const pool_map&) = delete;

  // --- reading ---

  // Return the number of entries, and whether it is 0.
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  // find returns the value of a key; null if the key is absent. The value may be written after `transaction::change`.
  [[nodiscard]] const V* find(key_view key) const noexcept {
    const std::uint64_t hash = hash_of(key);
    const entry* const found = table_of(hash).find(hash, key);
    return found == nullptr ? nullptr : &found->value;
  }
  [[nodiscard]] V* find(key_view key) noexcept { return const_cast<V*>(std::as_const(*this).find(key)); }
  [[nodiscard]] bool contains(key_view key) const noexcept { return find(key) != nullptr; }
  [[nodiscard]] const_iterator begin() const noexcept { return const_iterator{this, 0}; }
  [[nodiscard]] const_iterator end() const noexcept { return const_iterator{this, table_count()}; }

  // --- changing ---

  // Returns the value of a key, which may be written in this transaction, and whether the entry is new. A new value is
  // made from the arguments.
  template <class... Arguments>
  std::pair<V*, bool> emplace(transaction& t, key_view key, Arguments&&... arguments) {
    const std::uint64_t hash = hash_of(key);
    if (entry* const found = table_of(hash).find(hash, key); found != nullptr) {
      t.snapshot(&found->value, sizeof(V));
      return {&found->value, false};
    }
    entry* const at = place(t, hash);
    keys::store(t, at->key, key);
    if constexpr (std::is_constructible_v<V, Arguments&&...>) {
      new (&at->value) V(std::forward<Arguments>(arguments)...);
    } else {
      new (&at->value) V{std::forward<Arguments>(arguments)...};
    }
    t.set(count_, count_ + 1);
    return {&at->value, true};
  }
  // Adds an entry if the key is absent. Returns true if it was.
  bool insert(transaction& t, key_view key, const V& value) { return emplace(t, key, value).second; }
  // Sets the value of a key, and adds the key if it is absent. Returns true if it was.
  bool set(transaction& t, key_view key, const V& value) {
    const auto [at, is_new] = emplace(t, key, value);
    if (!is_new) *at = value;
    return is_new;
  }
  // Removes an entry, and frees the blocks of its containers. Returns true if the key was present.
  bool erase(transaction& t, key_view key) {
    const std::uint64_t hash = hash_of(key);
    if (!table_of(hash).erase(t, hash, key)) return false;
    t.set(count_, count_ - 1);
    return true;
  }
  // Removes all entries, and frees all blocks of the map. cost: linear in the entries if they have containers, else in
  // the blocks.
  void clear(transaction& t) {
    for (std::size_t i = 0; i != table_count(); i = table_after(i)) table_number(i).release_entries(t);
    for (std::size_t i = 0; i != segments_.size();) {
      segment* const each = segments_[i];
      i = table_after(i);
      t.destroy(each);
    }
    buckets_.release_room(t);
    segments_.release(t);
    if (count_ != 0) t.set(count_, std::uint64_t{0});
  }
  void release(transaction& t) { clear(t); }

 private:
  static_assert(detail::check_pool_element<K>() && detail::check_pool_element<V>());

  [[nodiscard]] static std::uint64_t hash_of(key_view key) noexcept { return detail::spread_bits(Hash{}(key)); }

  // --- tables: the segments, or all buckets while they are few ---

  [[nodiscard]] std::size_t index_of(std::uint64_t hash) const noexcept {
    return (hash >> 32) * segments_.size() >> 32;  // size() is a power of two, so these are the upper bits
  }
  [[nodiscard]] table table_of(std::uint64_t hash) const noexcept {
    return segments_.empty() ? buckets_.all() : segments_[index_of(hash)]->all();
  }
  // Tables are numbered by entries of the directory; a segment with several entries has the number of the first.
  [[nodiscard]] std::size_t table_count() const noexcept { return segments_.empty() ? 1 : segments_.size(); }
  [[nodiscard]] table table_number(std::size_t i) const noexcept {
    return segments_.empty() ? buckets_.all() : segments_[i]->all();
  }
  [[nodiscard]] std::size_t table_after(std::size_t i) const noexcept {
    return segments_.empty() ? i + 1 : i + (segments_.size() >> segments_[i]->depth);
  }

  // Returns a slot for a key that is absent.
  [[nodiscard]] entry* place(transaction& t, std::uint64_t hash) {
    for (;;) {
      const table in = table_of(hash);
      if (entry* const at = in.place(t, hash, table::most_steps); at != nullptr) return at;
      if (segments_.empty()) {
        grow(t);
      } else if (!divide(t, index_of(hash))) {
        if (entry* const at = in.place(t, hash, in.count); at != nullptr) return at;
        detail::throw_pool_keys_alike(in.count * bucket::slot_count);
      }
    }
  }

  // Doubles the number of buckets; at a segment's size they become a segment.
  void grow(transaction& t) {
    const table old = buckets_.all();
    const std::uint32_t wanted = std::max(1U, 2 * old.count);
    if (wanted < segment::bucket_count) {
      detail::pool_map_buckets<K, V> next;
      next.make(t, wanted);
      move_entries(old, [&](std::uint64_t) { return next.all(); });
      buckets_.replace(t, next);
      return;
    }
    segment* const first = segment::make(t, 0);
    move_entries(old, [&](std::uint64_t) { return first->all(); });
    segments_.push_back(t, first);
    buckets_.release_room(t);
  }

  // Divides a segment into two. Returns false if that would not help: the segment has few keys, or the directory would
  // have more entries than the map.
  [[nodiscard]] bool divide(transaction& t, std::size_t index) {
    segment* const old = segments_[index];
    const std::uint64_t depth = old->depth + 1;
    if (old->all().used() < segment::bucket_count * bucket::slot_count / 4) return false;
    if (std::size_t{1} << depth > segments_.size()) {
      if (segments_.size() >= std::max<std::size_t>(count_, 64)) return false;
      double_directory(t);
      index *= 2;
    }
    segment* const halves[2] = {segment::make(t, depth), segment::make(t, depth)};
    move_entries(old->all(), [&](std::uint64_t hash) { return halves[hash >> (64 - depth) & 1]->all(); });
    const std::size_t span = segments_.size() >> old->depth;
    segment** const first = t.change(segments_.data() + index / span * span, span);
    std::fill_n(first, span / 2, halves[0]);
    std::fill_n(first + span / 2, span / 2, halves[1]);
    t.destroy(old);
    return true;
  }
  void double_directory(transaction& t) {
    const std::size_t n = segments_.size();
    segments_.resize(t, 2 * n);
    segment** const all = t.change(segments_.data(), 2 * n);
    for (std::size_t i = 2 * n; i-- > 0;) all[i] = all[i / 2];
  }
  // Moves entries into new tables, which are not reachable yet.
  template <class TableOf>
  static void move_entries(const table& from, TableOf table_of) {
    from.for_each([&](entry& each) {
      const std::uint64_t hash = hash_of(keys::look(each.key));
      table_of(hash).place_new(hash, each);
    });
  }

  detail::pool_map_buckets<K, V> buckets_;  // used while there is no segment
  pool_vector<segment*> segments_;          // the directory
  std::uint64_t count_ = 0;

  SITU_DESCRIBE(pool_map, buckets_, segments_, count_)
};

}  // namespace situ
