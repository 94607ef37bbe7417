// The state of one thread of an object heap: the table, the word of its section, the memory from which it allocates.
//
// The hot paths are inline here; src/heap has the rest. An entry is read by one load, and its bits are tested in it:
// a test in the object's header would be a second cache miss.
#pragma once

#include <situ/base/detail/type_name.h>
#include <situ/heap/detail/heap_object.h>
#include <situ/heap/layout.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {
class place_threads;
class heap_thread;
struct heap_options;
}  // namespace situ

namespace situ::detail {

class heap_core;

// The layouts that each heap has from the beginning.
inline constexpr std::uint8_t layout_of_data = 255;
inline constexpr std::uint8_t layout_of_references = 254;
inline constexpr std::uint64_t most_object_bytes = std::uint64_t{1} << 33;
inline constexpr std::size_t most_small_bytes = 4096;  // of an object that is made by the hot path

// A word that one thread stores and others of the host read. On modelled machines, only threads of its own place read
// it (src/heap/rounds.cpp), so its accesses are ordinary there, and caches serve them.
class section_value {
 public:
#if defined(SITU_MODEL)
  [[nodiscard]] std::uint64_t load(std::memory_order) const noexcept { return value_; }
  void store(std::uint64_t value, std::memory_order = {}) noexcept { value_ = value; }
  void exchange(std::uint64_t value, std::memory_order) noexcept { value_ = value; }

 private:
  volatile std::uint64_t value_ = 0;
#else
  [[nodiscard]] std::uint64_t load(std::memory_order order) const noexcept { return value_.load(order); }
  void store(std::uint64_t value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    value_.store(value, order);
  }
  void exchange(std::uint64_t value, std::memory_order order) noexcept { value_.exchange(value, order); }

 private:
  std::atomic<std::uint64_t> value_{0};
#endif
};

// A word of one thread on a line of its own, in its place's segment: odd while the thread is in a section.
struct alignas(64) section_word {
  section_value value;
  // Other places change the words on the next line, by atomics.
  alignas(64) std::atomic<std::uint32_t> is_used{0};
  std::atomic<std::uint32_t> due{0};  // what safe_point() has to do: bits of src/heap/heap_core.h
};
static_assert(sizeof(section_word) == 128);

// Fields and entries are loaded and stored while other threads do the same. An access to a word is a single
// one: atomic on a host, and ordinary on a modelled machine, whose atomic accesses go past the caches.
template <class M>
inline constexpr bool is_racing_word = std::is_scalar_v<M> || sizeof(M) == 4;
template <class M>
[[nodiscard]] M racing_load(const M& from, [[maybe_unused]] int order = __ATOMIC_RELAXED) noexcept {
#if !defined(SITU_MODEL)
  if constexpr (is_racing_word<M>) {
    M value;
    __atomic_load(const_cast<M*>(&from), &value, order);
    return value;
  }
#endif
  return from;
}
template <class M>
void racing_store(M& to, M value, [[maybe_unused]] int order = __ATOMIC_RELAXED) noexcept {
#if !defined(SITU_MODEL)
  if constexpr (is_racing_word<M>) {
    __atomic_store(&to, &value, order);
    return;
  }
#endif
  to = value;
}
[[nodiscard]] inline std::uint64_t load_entry(const std::uint64_t* at) noexcept {
#if defined(SITU_MODEL)
  return *static_cast<const volatile std::uint64_t*>(at);
#else
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
#endif
}
inline void store_entry(std::uint64_t* at, std::uint64_t value) noexcept {
#if defined(SITU_MODEL)
  *static_cast<volatile std::uint64_t*>(at) = value;
#else
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
#endif
}

[[noreturn]] void throw_no_element(std::uint32_t index, std::uint32_t elements);
[[noreturn]] void throw_too_large(std::uint64_t bytes);
template <class T>
[[nodiscard]] std::uint32_t elements_of(const heap_object& array) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{array.words} * 4 - array.tag) / sizeof(T));
}

template <class T>
[[nodiscard]] constexpr std::uint64_t type_key() noexcept {
  return name_hash<T>();
}

// Returns the number of a type's layout; `make` makes it when this place first asks. Throws bad_argument if the heap
// has no room for another.
[[nodiscard]] std::uint8_t layout_of_type(heap_core& core, std::uint64_t key, heap_layout (*make)());

class thread_state {
 public:
  thread_state(heap_core& core, place_threads* threads, bool makes_shared);
  ~thread_state();
  thread_state(const thread_state&) = delete;
  thread_state& operator=(const thread_state&) = delete;

  // --- entries
  [[nodiscard]] std::uint64_t entry(std::uint32_t raw) const noexcept { return load_entry(at_entry(raw)); }

  // --- sections
  void enter() noexcept {
    const std::uint64_t now = section_->value.load(std::memory_order_relaxed);
    if (has_strong_sections_) [[unlikely]]
      section_->value.exchange(now + 1, std::memory_order_seq_cst);
    else
      section_->value.store(now + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void leave() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    section_->value.store(section_->value.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // A moment outside.
  void poll() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint64_t now = section_->value.load(std::memory_order_relaxed);
    if (has_strong_sections_) [[unlikely]]
      section_->value.exchange(now + 2, std::memory_order_seq_cst);
    else
      section_->value.store(now + 2, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  [[nodiscard]] bool is_in_section() const noexcept {
    return (section_->value.load(std::memory_order_relaxed) & 1) != 0;
  }

  // --- barriers that have found a bit; see heap_section. In a section, which they may leave for a moment.
  [[nodiscard]] heap_object* object_to_change(std::uint32_t raw);
  [[nodiscard]] heap_object* object_for_reference(std::uint32_t raw, std::uint32_t value);

  // --- allocation
  [[nodiscard]] ref<> make_object(std::uint8_t layout, std::uint32_t words, std::uint32_t type, std::uint16_t tag,
                                  std::uint32_t fill) {
    const std::size_t bytes = object_bytes(words);
    if (bytes > most_small_bytes) [[unlikely]]
      return make_large_object(layout, words, type, tag, fill);
    const std::uint32_t raw = next_entry(bytes);
    heap_object* const at = take(bytes);
    begin_object(at, raw, layout, words, type, tag, fill);
    return ref<>{raw};
  }
  // Makes an object whose words are a T of these values. `make` makes its layout, if the thread does not know it yet.
  // pre: the constructor of T does not use the heap.
  template <class T, class... Values>
  [[nodiscard]] ref<> make_object_of(std::uint64_t key, heap_layout (*make)(), Values&&... values) {
    constexpr std::size_t bytes = object_bytes((sizeof(T) + 3) / 4);
    const known_layout& known = known_layouts_[key % known_layouts_.size()];
    if constexpr (bytes <= most_small_bytes)
      if (known.key == key && has_entry_and_room(bytes)) [[likely]]
        return fill_object_of<T>(known.number, std::forward<Values>(values)...);
    return make_slowly<T>(key, make, std::forward<Values>(values)...);
  }
  // Makes it after all that may be missing: a function of its own, so that the usual way saves no registers.
  template <class T, class... Values>
  [[nodiscard, gnu::noinline]] ref<> make_slowly(std::uint64_t key, heap_layout (*make)(), Values&&... values) {
    constexpr std::uint32_t words = (sizeof(T) + 3) / 4;
    constexpr std::size_t bytes = object_bytes(words);
    const std::uint8_t layout = layout_of(key, make);
    if constexpr (bytes > most_small_bytes) {
      const ref<> made = make_large_object(layout, words, 0, 0, 0);
      ::new (static_cast<void*>(object_of_entry(entry(made.raw()))->bytes())) T{std::forward<Values>(values)...};
      return made;
    } else {
      (void)next_entry(bytes);
      return fill_object_of<T>(layout, std::forward<Values>(values)...);
    }
  }
  void begin_object(heap_object* at, std::uint32_t raw, std::uint8_t layout, std::uint32_t words, std::uint32_t type,
                    std::uint16_t tag, std::uint32_t fill) noexcept {
    racing_store(at->words, words);  // if the chunk is not young, another thread may look through it
    racing_store(at->self, raw);
    at->type = type;
    at->layout = layout;
    at->age = 0;
    at->tag = tag;
    std::uint32_t* const body = at->body();
    for (std::uint32_t i = 0; i < words; ++i) body[i] = fill;
    publish(at, raw);
  }
  // Returns the number of a type's layout, which the thread remembers after the first call. `make` makes the layout.
  [[nodiscard]] std::uint8_t layout_of(std::uint64_t key, heap_layout (*make)()) {
    known_layout& known = known_layouts_[key % known_layouts_.size()];
    if (known.key != key) [[unlikely]]
      known = {key, layout_of_type(*core_, key, make)};
    return known.number;
  }

  // --- collections
  // Returns whether safe_point() has something to do.
  [[nodiscard]] bool is_due() const noexcept { return section_->due.load(std::memory_order_relaxed) != 0; }

  // --- roots by number
  std::size_t add_root(std::uint32_t raw);
  void remove_root(std::size_t at) noexcept;
  [[nodiscard]] std::uint32_t& root(std::size_t at) noexcept { return roots_[at]; }
  [[nodiscard]] std::uint32_t root(std::size_t at) const noexcept { return roots_[at]; }

  // The rest, of src/heap.
  struct rest;
  [[nodiscard]] rest& its() noexcept { return *rest_; }

 private:
  friend class heap_core;
  friend class own_collection;
  friend class whole_collection;
  friend class renumbering;
  friend class situ::heap_thread;

  [[nodiscard]] std::uint64_t* at_entry(std::uint32_t raw) const noexcept {
    return reinterpret_cast<std::uint64_t*>(table_ + std::size_t{raw} * 4);
  }
  // pre: has_entry_and_room().
  template <class T, class... Values>
  [[nodiscard]] ref<> fill_object_of(std::uint8_t layout, Values&&... values) {
    constexpr std::uint32_t words = (sizeof(T) + 3) / 4;
    const std::uint32_t raw = next_raw();
    heap_object* const at = take(object_bytes(words));
    *at = {raw, words, 0, layout, 0, 0};
    if constexpr (sizeof(T) % 4 != 0) at->body()[words - 1] = 0;
    ::new (static_cast<void*>(at->bytes())) T{std::forward<Values>(values)...};
    publish(at, raw);
    return ref<>{raw};
  }
  void publish(heap_object* at, std::uint32_t raw) noexcept {
    store_entry(at_entry(raw), reinterpret_cast<std::uint64_t>(at) | bits_of_new_);
  }
  // The next entry of a stretch of entries that are known to be free. A run is swept in order, since a shuffled list of
  // free entries would miss the cache at each of them.
  [[nodiscard]] std::uint32_t next_raw() const noexcept { return static_cast<std::uint32_t>(cursor_); }
  [[nodiscard]] bool has_entry_and_room(std::size_t bytes) const noexcept {
    return next_raw() != free_end_ && bytes <= static_cast<std::size_t>(end_ - next_);
  }
  // Returns the next free entry, when the chunk has so much room, too.
  [[nodiscard]] std::uint32_t next_entry(std::size_t bytes) {
    if (has_entry_and_room(bytes)) [[likely]]
      return next_raw();
    return find_entry_and_room(bytes);
  }
  // Takes the next entry, for an object. Other threads count these.
  void take_entry() noexcept { racing_store(cursor_, cursor_ + one_object); }
  // Takes both. pre: has_entry_and_room().
  [[nodiscard]] heap_object* take(std::size_t bytes) noexcept {
    take_entry();
    std::byte* const at = next_;
    racing_store(next_, at + bytes);  // other threads count
    return reinterpret_cast<heap_object*>(at);
  }
  // The thread goes on at `begin`. Entries up to `end` are free.
  void begin_stretch(std::uint32_t begin, std::uint32_t end) noexcept {
    racing_store(cursor_, (cursor_ & ~std::uint64_t{0xffff'ffff}) | begin);
    free_end_ = end;
  }
  // It has no entries any more.
  void forget_entries() noexcept {
    begin_stretch(0, 0);
    run_end_ = 0;
  }
  [[nodiscard]] std::uint64_t objects_made() const noexcept {
    return racing_load(objects_made_) + (racing_load(cursor_) >> 32);
  }
  // The slow paths throw out_of_memory: entry first, then room.
  [[nodiscard]] std::uint32_t find_entry_and_room(std::size_t bytes);
  [[nodiscard]] ref<> make_large_object(std::uint8_t layout, std::uint32_t words, std::uint32_t type, std::uint16_t tag,
                                        std::uint32_t fill);
  // Makes the next entry free; find_room() makes the chunk have so much room, or returns a large object's own.
  [[nodiscard]] std::uint32_t find_entry();
  std::byte* find_room(std::size_t bytes);

  std::byte* table_ = nullptr;
  section_word* section_;
  std::byte* next_ = nullptr;  // of the chunk that the thread allocates from
  std::byte* end_ = nullptr;
  // The raw number of the next entry, and, from bit 32 on, how many objects the thread has made: one store for both.
  std::uint64_t cursor_ = 0;
  static constexpr std::uint64_t one_object = (std::uint64_t{1} << 32) + 2;
  std::uint32_t free_end_ = 0;  // entries before this one are free
  std::uint32_t run_end_ = 0;   // of the claimed run
  bool has_strong_sections_;
  std::uint64_t bits_of_new_;         // in the entry of each object that the thread makes
  std::uint64_t objects_made_ = 0;    // beyond those that cursor_ counts
  std::vector<std::uint32_t> roots_;  // 1: unused
  heap_core* core_;
  std::unique_ptr<rest> rest_;
  struct known_layout {
    std::uint64_t key = 0;  // of the type; 0: none
    std::uint8_t number = 0;
  };
  std::array<known_layout, 32> known_layouts_{};  // by the type's key
};

}  // namespace situ::detail
