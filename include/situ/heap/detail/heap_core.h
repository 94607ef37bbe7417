// What a thread of an object heap has at hand: the table, its section's word, the memory that it allocates from.
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
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
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

// A word of one thread on a line of its own, in its place's segment: odd while the thread is in a section.
struct alignas(64) section_word {
  std::atomic<std::uint64_t> value{0};
  std::atomic<std::uint32_t> is_used{0};
  std::atomic<std::uint32_t> due{0};  // what safe_point() has to do: bits of src/heap/heap_core.h
};
static_assert(sizeof(section_word) == 64);

// Fields and entries are loaded and stored while other threads do the same. Where they are words these are single
// accesses: atomic ones on a host; ordinary ones on a modelled machine, where atomic accesses go past the caches.
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

// Returns the number of a type's layout; `make` makes it when this place first asks. Throws bad_argument if the heap has
// no room for another.
[[nodiscard]] std::uint8_t layout_of_type(heap_core& core, std::uint64_t key, heap_layout (*make)());

class thread_state {
 public:
  thread_state(heap_core& core, place_threads* threads);
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
  [[nodiscard]] heap_object* take(std::size_t bytes) {
    if (bytes <= static_cast<std::size_t>(end_ - next_)) [[likely]] {
      std::byte* const at = next_;
      __atomic_store_n(&next_, at + bytes, __ATOMIC_RELAXED);  // other threads count
      return reinterpret_cast<heap_object*>(at);
    }
    return take_elsewhere(bytes);
  }
  [[nodiscard]] ref<> make_object(std::uint8_t layout, std::uint32_t words, std::uint32_t type, std::uint16_t tag,
                                  std::uint32_t fill) {
    const std::uint32_t raw = claim_entry();  // before the room is taken: it may throw
    begin_object(take(object_bytes(words)), raw, layout, words, type, tag, fill);
    return ref<>{raw};
  }
  // The same with a copy of a value as its words.
  template <class T>
  [[nodiscard]] ref<> make_object(std::uint8_t layout, const T& value) {
    constexpr std::uint32_t words = (sizeof(T) + 3) / 4;
    const std::uint32_t raw = claim_entry();
    heap_object* const at = take(object_bytes(words));
    set_header(at, raw, layout, words, 0, 0);
    if constexpr (sizeof(T) % 4 != 0) at->body()[words - 1] = 0;
    std::memcpy(at->bytes(), &value, sizeof(T));
    publish(at, raw);
    return ref<>{raw};
  }
  void begin_object(heap_object* at, std::uint32_t raw, std::uint8_t layout, std::uint32_t words, std::uint32_t type,
                    std::uint16_t tag, std::uint32_t fill) noexcept {
    set_header(at, raw, layout, words, type, tag);
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
  friend class situ::heap_thread;

  [[nodiscard]] std::uint64_t* at_entry(std::uint32_t raw) const noexcept {
    return reinterpret_cast<std::uint64_t*>(table_ + std::size_t{raw} * 4);
  }
  static void set_header(heap_object* at, std::uint32_t raw, std::uint8_t layout, std::uint32_t words,
                         std::uint32_t type, std::uint16_t tag) noexcept {
    racing_store(at->words, words);  // somebody may look through the chunk
    racing_store(at->self, raw);
    at->type = type;
    at->layout = layout;
    at->age = 0;
    at->tag = tag;
  }
  void publish(heap_object* at, std::uint32_t raw) noexcept {
    store_entry(at_entry(raw), reinterpret_cast<std::uint64_t>(at));
    racing_store(objects_made_, objects_made_ + 1);  // other threads count
  }
  // A free entry of the run that the thread has claimed: found by a sweep in order, since a shuffled list of free
  // entries would miss the cache at each of them.
  [[nodiscard]] std::uint32_t claim_entry() {
    while (entry_at_ != entry_end_) {
      const std::uint32_t raw = entry_at_;
      entry_at_ += 2;
      if (*at_entry(raw) == 0) [[likely]]
        return raw;
    }
    return claim_entry_elsewhere();
  }
  [[nodiscard]] std::uint32_t claim_entry_elsewhere();
  [[nodiscard]] heap_object* take_elsewhere(std::size_t bytes);

  std::byte* table_;
  section_word* section_;
  std::byte* next_ = nullptr;  // of the chunk that the thread allocates from
  std::byte* end_ = nullptr;
  std::uint32_t entry_at_ = 0;  // raw numbers of the claimed run
  std::uint32_t entry_end_ = 0;
  bool has_strong_sections_;
  std::uint64_t objects_made_ = 0;
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
