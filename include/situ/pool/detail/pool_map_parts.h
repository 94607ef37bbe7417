// Parts of pool_map: hashes, slots, buckets and tables of buckets. pool_map.h describes the structure.
#pragma once

#include <situ/pool/detail/pool_parts.h>
#include <situ/pool/pool_string.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace situ {
namespace detail {

// Multiplies as wyhash's final step does: each bit of the result depends on every bit of both factors.
[[nodiscard]] constexpr std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
[[nodiscard]] constexpr std::uint64_t spread_bits(std::uint64_t hash) noexcept {
  return fold_product(hash ^ 0x9e3779b97f4a7c15, 0xa0761d6478bd642f);
}
[[nodiscard]] std::uint64_t hash_pool_bytes(const void* at, std::size_t bytes) noexcept;
[[noreturn]] void throw_pool_keys_alike(std::size_t keys);

// Looks up a key, and stores it in a slot that is zero.
template <class K>
struct pool_key {
  static_assert(carries_only_data<K>(), "situ: a key of a pool's map is data, or a situ::pool_string");
  using view = const K&;
  static view look(const K& key) noexcept { return key; }
  static void store(transaction&, K& at, view key) { at = key; }
};
template <>
struct pool_key<pool_string> {
  using view = std::string_view;
  static view look(const pool_string& key) noexcept { return key; }
  static void store(transaction& t, pool_string& at, view key) { at.assign(t, key); }
};

}  // namespace detail

// Hash of a key. It must be the same in every process, since it determines positions in the file. A user-defined hash
// is a class with a call operator for key_view, and part of the map's type.
template <class K>
struct pool_hash {
  static_assert(std::is_integral_v<K> || std::is_enum_v<K> || std::has_unique_object_representations_v<K>,
                "situ: equal keys of this type may have different bytes (padding, or floating point): give the "
                "pool_map a Hash of its own");
  [[nodiscard]] std::uint64_t operator()(const K& key) const noexcept {
    if constexpr (sizeof(K) <= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, &key, sizeof(K));
      return word;
    } else {
      return detail::hash_pool_bytes(&key, sizeof(K));
    }
  }
};
template <>
struct pool_hash<pool_string> {
  [[nodiscard]] std::uint64_t operator()(std::string_view key) const noexcept {
    return detail::hash_pool_bytes(key.data(), key.size());
  }
};

namespace detail {

template <class K, class V>
struct pool_map_slot {
  K key;
  V value;
};

template <class K, class V>
struct alignas(64) pool_map_bucket {
  static constexpr std::uint32_t slot_count = 7;
  static_assert(alignof(pool_map_slot<K, V>) <= 64);

  // A byte for each slot (0: empty, else 128 + 7 bits of the hash), and the number of keys that were passed on from
  // here (255: that many or more).
  std::uint64_t tags;
  pool_map_slot<K, V> slots[slot_count];

  [[nodiscard]] std::uint64_t passed() const noexcept { return tags >> 56; }
  void pass() noexcept {
    if (passed() != 255) tags += std::uint64_t{1} << 56;
  }
  void pass_no_more() noexcept {
    if (passed() != 255) tags -= std::uint64_t{1} << 56;
  }
  [[nodiscard]] bool has(std::uint32_t slot) const noexcept { return (tags >> 8 * slot & 0x80) != 0; }
  void put(std::uint32_t slot, std::uint8_t tag) noexcept { tags |= std::uint64_t{tag} << 8 * slot; }
  void remove(std::uint32_t slot) noexcept { tags &= ~(std::uint64_t{0xff} << 8 * slot); }

  static constexpr std::uint64_t tag_bits = 0x0080808080808080u;
  [[nodiscard]] std::uint64_t free() const noexcept { return ~tags & tag_bits; }
  // Returns a bit for each tag equal to `tag`, and sometimes one for the tag above a match that differs.
  [[nodiscard]] std::uint64_t like(std::uint8_t tag) const noexcept {
    const std::uint64_t differ = tags ^ 0x0101010101010101u * tag;
    return (differ - 0x0101010101010101u) & ~differ & tag_bits;
  }
  [[nodiscard]] static std::uint32_t slot_of(std::uint64_t bits) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(bits)) / 8;
  }
};

// Consecutive buckets. A view: the buckets belong to the map.
template <class K, class V>
struct pool_map_table {
  using bucket = pool_map_bucket<K, V>;
  using entry = pool_map_slot<K, V>;
  using keys = pool_key<K>;
  static constexpr std::uint32_t most_steps = 4;  // buckets searched for a key, unless its segment cannot be divided

  bucket* first = nullptr;
  std::uint32_t count = 0;

  [[nodiscard]] static std::uint8_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint8_t>(hash | 0x80);
  }
  [[nodiscard]] std::uint32_t home(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>((hash & 0xffffffff) * count >> 32);
  }
  [[nodiscard]] std::uint32_t after(std::uint32_t i) const noexcept { return i + 1 == count ? 0 : i + 1; }

  [[nodiscard]] entry* find(std::uint64_t hash, typename keys::view key) const noexcept {
    std::uint32_t steps = 0;
    return find(hash, key, steps);
  }
  // steps: distance in buckets from the key's home bucket.
  [[nodiscard]] entry* find(std::uint64_t hash, typename keys::view key, std::uint32_t& steps) const noexcept {
    std::uint32_t at = home(hash);
    for (steps = 0; steps < count; ++steps, at = after(at)) {
      bucket& each = first[at];
      // If slots are small, half of them are in the cache line behind that of the tags.
      __builtin_prefetch(&each.slots[bucket::slot_count - 1]);
      for (std::uint64_t bits = each.like(tag_of(hash)); bits != 0; bits &= bits - 1) {
        entry& found = each.slots[bucket::slot_of(bits)];
        if (keys::look(found.key) == key) return &found;
      }
      if (each.passed() == 0) return nullptr;
    }
    return nullptr;
  }

  // Returns the distance to the first bucket with room for a key; count: the next `most` buckets have none.
  [[nodiscard]] std::uint32_t steps_to_room(std::uint64_t hash, std::uint32_t most) const noexcept {
    std::uint32_t at = home(hash);
    for (std::uint32_t steps = 0; steps < std::min(most, count); ++steps, at = after(at))
      if (first[at].free() != 0) return steps;
    return count;
  }
  // Returns a slot for a key, which may be written in this transaction; null if the next `most` buckets are full.
  [[nodiscard]] entry* place(transaction& t, std::uint64_t hash, std::uint32_t most) const {
    const std::uint32_t steps = steps_to_room(hash, most);
    if (steps == count) return nullptr;
    std::uint32_t at = home(hash);
    for (std::uint32_t i = 0; i < steps; ++i, at = after(at)) {
      t.snapshot(&first[at].tags, 8);
      first[at].pass();
    }
    const std::uint32_t slot = bucket::slot_of(first[at].free());
    t.snapshot(&first[at].tags, 8);
    t.snapshot(&first[at].slots[slot], sizeof(entry));
    first[at].put(slot, tag_of(hash));
    return &first[at].slots[slot];
  }
  // Moves an entry here bytewise. pre: this table is new, and has room.
  void place_new(std::uint64_t hash, const entry& from) const noexcept {
    std::uint32_t at = home(hash);
    for (; first[at].free() == 0; at = after(at)) first[at].pass();
    const std::uint32_t slot = bucket::slot_of(first[at].free());
    first[at].put(slot, tag_of(hash));
    std::memcpy(static_cast<void*>(&first[at].slots[slot]), &from, sizeof(entry));
  }
  [[nodiscard]] bool erase(transaction& t, std::uint64_t hash, typename keys::view key) const {
    std::uint32_t steps = 0;
    entry* const found = find(hash, key, steps);
    if (found == nullptr) return false;
    std::uint32_t at = home(hash);
    for (; steps != 0; --steps, at = after(at)) {
      t.snapshot(&first[at].tags, 8);
      first[at].pass_no_more();
    }
    t.snapshot(&first[at].tags, 8);
    first[at].remove(static_cast<std::uint32_t>(found - first[at].slots));
    if constexpr (may_lead_on<entry>) {
      release_parts(t, *found);
      t.snapshot(found, sizeof(entry));
      std::memset(static_cast<void*>(found), 0, sizeof(entry));
    }
    return true;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t i = 0; i < count; ++i)
      for (std::uint32_t slot = 0; slot < bucket::slot_count; ++slot)
        if (first[i].has(slot)) visit(first[i].slots[slot]);
  }
  [[nodiscard]] std::size_t used() const noexcept {
    std::size_t sum = 0;
    for (std::uint32_t i = 0; i < count; ++i)
      sum += static_cast<std::size_t>(std::popcount(~first[i].free() & bucket::tag_bits));
    return sum;
  }
  void release_entries(transaction& t) const {
    if constexpr (may_lead_on<entry>) for_each([&](entry& each) { release_parts(t, each); });
  }
};

template <class K, class V>
struct alignas(64) pool_map_segment {
  using bucket = pool_map_bucket<K, V>;
  static constexpr std::size_t wanted_bytes = 8192;
  static constexpr std::uint32_t bucket_count =
      std::max<std::size_t>(16, (wanted_bytes - sizeof(bucket)) / sizeof(bucket));

  std::uint64_t depth;  // number of leading hash bits that all keys of the segment share
  bucket buckets[bucket_count];

  [[nodiscard]] static pool_map_segment* make(transaction& t, std::uint64_t depth) {
    void* const room = t.allocate(sizeof(pool_map_segment), alignof(pool_map_segment));
    std::memset(room, 0, sizeof(pool_map_segment));
    auto* const made = static_cast<pool_map_segment*>(room);
    made->depth = depth;
    return made;
  }
  [[nodiscard]] pool_map_table<K, V> all() noexcept { return {buckets, bucket_count}; }
};

// Buckets of a small map: a vector in which every element exists.
template <class K, class V>
class pool_map_buckets {
 public:
  using bucket = pool_map_bucket<K, V>;

  [[nodiscard]] pool_map_table<K, V> all() const noexcept {
    return {reinterpret_cast<bucket*>(raw_.data), static_cast<std::uint32_t>(raw_.count)};
  }
  // pre: this object is not in the pool yet.
  void make(transaction& t, std::uint32_t buckets) {
    raw_ = {static_cast<std::byte*>(t.allocate(buckets * sizeof(bucket), alignof(bucket))), buckets,
            buckets * sizeof(bucket)};
    std::memset(raw_.data, 0, buckets * sizeof(bucket));
  }
  void replace(transaction& t, const pool_map_buckets& by) {
    std::byte* const old = raw_.data;
    t.change(&raw_) = by.raw_;
    t.destroy(old);
  }
  void release_room(transaction& t) {
    if (raw_.data != nullptr) replace(t, {});
  }

 private:
  array_descriptor raw_;
};
template <class K, class V>
struct container_element<pool_map_buckets<K, V>> {
  using type = pool_map_bucket<K, V>;
};
template <class K, class V>
inline constexpr bool is_pool_container<pool_map_buckets<K, V>> = true;

}  // namespace detail
}  // namespace situ
