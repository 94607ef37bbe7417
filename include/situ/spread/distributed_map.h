// distributed_map<K, V>: one hash table over all places; each key is owned by one place.
//
//   situ::distributed_map<std::string, long> words;                             // at each place, together
//   for (const std::string& w : mine) words.update(w, [](long& n) { ++n; });    // one way, carried together
//   words.drain();                                                              // together: everybody's are done
//   std::optional<long> n = words.find("place");                                 // anywhere
//
// insert, assign, update and erase are one-way: they are sent to the key's owner in batches, as a conveyor sends items
// (conveyor.h): when a buffer is full, when this place waits, and at flush() or drain(). find() reads the owner's table
// directly, without its help; if the owner is on another host, find() is a call. visit() is a call with a result. Each
// operation takes effect atomically at one moment between its start and its end, so single keys are linearizable. find
// and visit end when they return, a one-way operation with the flush or at the end of the finish scope. Operations of
// one place on one key take effect in program order.
//
// Keys and values are of any type that travels (serialize.h). The owner's segment holds them as the bytes in which they
// travel, and keys are equal if these bytes are equal. The table of a place grows by itself, a bucket at a time,
// without stopping other places. Collective: the members of a team construct and destroy the map together, in the same
// order. It belongs to the thread that made it. Errors: place_lost_error if the owner is lost; exceptions of one-way
// operations at the owner, such as those of a program's function and out_of_memory, are reported as in conveyor.h,
// exceptions of visit as those of at().
#pragma once

#include <situ/runtime/at.h>
#include <situ/runtime/serialize.h>
#include <situ/spread/conveyor.h>
#include <situ/spread/detail/map_core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {

namespace detail {

// Encodes a value into the bytes that a table holds, and decodes it.
template <class T>
void encode(word_buffer& into, const T& value) {
  wire_writer writer{into.resize(wire<T>::size(value))};
  wire<T>::write(writer, value);
}
template <class T>
[[nodiscard]] T decode(std::span<const std::byte> bytes) {
  wire_reader reader{bytes.data(), bytes.size()};
  return wire<T>::read(reader);
}

template <class K>
struct encoded_key {
  word_buffer words;
  std::uint64_t hash;
  explicit encoded_key(const K& key) {
    encode(words, key);
    hash = hash_words(words.data(), words.bytes());
  }
  [[nodiscard]] key_view view() const noexcept {
    return {words.data(), static_cast<std::uint32_t>(words.bytes()), hash};
  }
};

// Calls a function of the program with the table frozen: the function may neither wait, nor send, nor use the table.
template <class Call>
decltype(auto) call_frozen(map_table& table, Call call) {
  struct frozen {
    map_table& table;
    endpoint::handler_scope as_handler{*current->endpoint};
    explicit frozen(map_table& t) : table{t} { table.freeze(true); }
    ~frozen() { table.freeze(false); }
  } const guard{table};
  return call();
}

template <class V, class F, class... Arguments>
void update_entry(map_table& table, const key_view& key, std::span<const std::byte> operand) {
  wire_reader reader{operand.data(), operand.size()};
  std::tuple<Arguments...> arguments{wire<Arguments>::read(reader)...};
  map_record* const record = table.find(key);
  V value = record == nullptr ? V{} : decode<V>(record->value_view());
  call_frozen(table, [&] { std::apply([&](Arguments&... each) { F{}(value, std::move(each)...); }, arguments); });
  word_buffer bytes;
  encode(bytes, value);
  table.store(key, bytes.view(), false);
}

// Runs visit() at the owner.
template <class K, class V, class F>
struct visit_entry {
  template <class... Arguments>
    requires std::is_invocable_v<F, std::optional<V>&, Arguments...>
  auto operator()(const object_id& id, const K& key, Arguments&&... arguments) const {
    map_table& table = find_map(id).table();
    const encoded_key<K> words{key};
    map_record* const record = table.find(words.view());
    std::optional<V> value;
    if (record != nullptr) value.emplace(decode<V>(record->value_view()));
    const auto settle = [&] {
      if (value) {
        word_buffer bytes;
        encode(bytes, *value);
        table.store(words.view(), bytes.view(), false);
      } else if (record != nullptr) {
        table.erase(words.view());
      }
    };
    const auto call = [&]() -> decltype(auto) { return F{}(value, std::forward<Arguments>(arguments)...); };
    if constexpr (std::is_void_v<decltype(call())>) {
      call_frozen(table, call);
      settle();
    } else {
      auto result = call_frozen(table, call);
      settle();
      return result;
    }
  }
};

template <class F>
consteval void check_stateless() {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "situ: a function that runs at a key's owner must not capture: pass what it needs as arguments");
}

}  // namespace detail

// A hash table spread over the places of a team; see above.
template <class K, class V>
class distributed_map {
  static_assert(travels<K> && travels<V>,
                "situ: keys and values of a distributed_map are what travels: see situ/runtime/serialize.h");

 public:
  // The names that std::unordered_map has.
  using key_type = K;
  using mapped_type = V;

  // Makes an empty map. Collective. cost: an all_gather.
  explicit distributed_map(const conveyor_options& options = {}, const team& members = world())
      : core_{detail::name_hash<distributed_map>(), options.buffer_bytes, options.buffers, members} {}

  // Returns the place that owns a key. cost: the hash of the key.
  [[nodiscard]] place owner(const K& key) const { return place{core_.owner_of(detail::encoded_key<K>{key}.hash)}; }

  // Sets a key's value if the key has none. One-way. cost: a hash, the copy into a buffer; at the owner a look-up.
  void insert(const K& key, const V& value) { start(&detail::insert_entry, key, value); }
  // Sets a key's value, and replaces any old one. One-way. cost: as insert.
  void assign(const K& key, const V& value) { start(&detail::assign_entry, key, value); }
  // Removes a key and its value, if the key is present. One-way. cost: as insert.
  void erase(const K& key) {
    const detail::encoded_key<K> words{key};
    core_.start(&detail::erase_entry, words.view(), 0, [](std::byte*) {});
  }
  // Runs f(value, args...) at the key's owner, with the value as V&; if the key has no value, it is V{} first. f may
  // neither wait nor use the map. One-way. cost: as insert; the value is decoded from its bytes and encoded again.
  template <class F, class... Arguments>
  void update(const K& key, F, const Arguments&... arguments) {
    detail::check_stateless<F>();
    static_assert((travels<detail::travelling_t<const Arguments&>> && ...), "situ: these arguments cannot travel");
    static_assert(std::is_invocable_v<F, V&, detail::travelling_t<const Arguments&>...>,
                  "situ: the function cannot be called with the value (as V&) and these arguments");
    start_update<F, detail::travelling_t<const Arguments&>...>(
        key, detail::as_travelling<detail::travelling_t<const Arguments&>>(arguments)...);
  }

  // Inserts many entries.
  void insert(std::span<const std::pair<K, V>> entries) {
    for (const auto& [key, value] : entries) insert(key, value);
  }

  // Waits until all operations that this place has started are done. Throws their first error. cost: as
  // conveyor::flush.
  void flush() { core_.flush(); }
  // Waits until all operations that any member has started are done and visible to all members. Collective. Throws as
  // flush(). cost: flush(), and a barrier.
  void drain(std::source_location where = std::source_location::current()) { core_.drain(where); }

  // Returns a copy of a key's value, or nullopt. cost: three cache lines of the owner's, read without its help, or a
  // call if the owner is on another host; if this place has operations under way to that owner, a flush to it before.
  [[nodiscard]] std::optional<V> find(const K& key) {
    const detail::encoded_key<K> words{key};
    return read(words.view());
  }
  // Finds many keys. cost: less than find() for each, since the cache lines are fetched, and the calls made,
  // concurrently.
  [[nodiscard]] std::vector<std::optional<V>> find(std::span<const K> keys);
  // Returns true if the key has a value. cost: as find.
  [[nodiscard]] bool contains(const K& key) {
    const detail::encoded_key<K> words{key};
    return core_.read(words.view(), value_);
  }

  // Runs f(value, args...) at the key's owner, with the value as std::optional<V>&, which f may set or reset, and
  // returns its result. f may neither wait nor use the map. cost: a call.
  template <class F, class... Arguments>
  auto visit(const K& key, F f, const Arguments&... arguments) {
    return async_visit(key, f, arguments...).get();
  }
  // Starts visit() without waiting. cost: a call.
  template <class F, class... Arguments>
  auto async_visit(const K& key, F, const Arguments&... arguments) {
    detail::check_stateless<F>();
    static_assert(std::is_invocable_v<F, std::optional<V>&, detail::travelling_t<const Arguments&>...>,
                  "situ: the function cannot be called with the value (as std::optional<V>&) and these arguments");
    const std::uint64_t hash = detail::encoded_key<K>{key}.hash;
    core_.send_to_owner(hash);
    return situ::async_at(place{core_.owner_of(hash)}, detail::visit_entry<K, V, F>{}, core_.id(), key, arguments...);
  }

  // Returns the number of keys: exact if no operation is under way. cost: a load for each place, a get if it is on
  // another host.
  [[nodiscard]] std::size_t size() const { return core_.size(); }
  // Returns the number of keys that this place owns. cost: a load.
  [[nodiscard]] std::size_t local_size() { return core_.table().root().entries.load(std::memory_order_relaxed); }

  // Calls f(key, value) for each entry that this place owns, in no particular order. f may wait and use the map: an
  // entry that exists during the whole call is visited once. cost: a copy of each entry.
  template <class F>
  void for_each_local(F f);

 private:
  void start(detail::map_operation operation, const K& key, const V& value) {
    const detail::encoded_key<K> words{key};
    core_.start(operation, words.view(), wire<V>::size(value), [&](std::byte* at) {
      wire_writer writer{at};
      wire<V>::write(writer, value);
    });
  }
  template <class F, class... Travelling>
  void start_update(const K& key, const Travelling&... arguments) {
    const detail::encoded_key<K> words{key};
    core_.start(&detail::update_entry<V, F, Travelling...>, words.view(),
                (std::size_t{0} + ... + wire<Travelling>::size(arguments)), [&]([[maybe_unused]] std::byte* at) {
                  wire_writer writer{at};
                  (wire<Travelling>::write(writer, arguments), ...);
                });
  }
  [[nodiscard]] std::optional<V> read(const detail::key_view& key) {
    if (!core_.read(key, value_)) return std::nullopt;
    return detail::decode<V>(value_.view());
  }

  detail::map_core core_;
  detail::word_buffer value_;  // the value that was read last
};

template <class K, class V>
std::vector<std::optional<V>> distributed_map<K, V>::find(std::span<const K> keys) {
  constexpr std::size_t together = 16;  // as many cache misses as a core can have outstanding, and some
  std::vector<std::optional<V>> values;
  values.reserve(keys.size());
  std::vector<detail::encoded_key<K>> words;
  words.reserve(together);
  for (std::size_t first = 0; first < keys.size(); first += together) {
    words.clear();
    const std::size_t last = std::min(keys.size(), first + together);
    std::vector<future<detail::map_core::far_value>> far;
    for (std::size_t i = first; i < last; ++i) {
      const auto& key = words.emplace_back(keys[i]);
      if (core_.is_far(key.hash))
        far.push_back(core_.read_far(key.view()));
      else
        core_.prefetch_slot(key.hash);
    }
    for (const auto& each : words)
      if (!core_.is_far(each.hash)) core_.prefetch_record(each.hash);
    auto next = far.begin();
    for (const auto& each : words) {
      if (!core_.is_far(each.hash)) {
        values.push_back(read(each.view()));
      } else if (const auto found = (next++)->get()) {
        values.push_back(detail::decode<V>(*found));
      } else {
        values.push_back(std::nullopt);
      }
    }
  }
  return values;
}

template <class K, class V>
template <class F>
void distributed_map<K, V>::for_each_local(F f) {
  std::uint64_t from = 0;
  do {
    std::vector<std::pair<K, V>> entries;
    from = core_.table().visit_bucket(from, [&](detail::map_record& record) {
      entries.emplace_back(detail::decode<K>({reinterpret_cast<const std::byte*>(record.key()), record.key_bytes}),
                           detail::decode<V>(record.value_view()));
    });
    for (const auto& [key, value] : entries) f(key, value);
  } while (from != 0);
}

}  // namespace situ
