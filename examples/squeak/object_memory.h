// Squeak's objects in a situ::object_heap: an oop is a SmallInteger (odd) or the raw number of a reference (even).
//
// The header of an object in the heap has its class as `type`, and in `tag` its format (4 bits) and its hash (12 bits).
// All work is done in one heap_section, which outside() leaves. Addresses are valid until then, or until poll(). An
// object_memory belongs to one thread.
#pragma once

#include "image.h"

#include <situ/heap/object_heap.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>

namespace squeak {

using oop = std::uint32_t;
using object = situ::detail::heap_object;

// A SmallInteger's range.
[[nodiscard]] constexpr bool fits_integer(std::int64_t value) { return value >= -(1 << 30) && value < (1 << 30); }

[[nodiscard]] inline std::uint8_t format_of(const object& o) { return static_cast<std::uint8_t>(o.tag & 15); }
[[nodiscard]] inline std::uint32_t hash_of(const object& o) { return std::uint32_t{o.tag} >> 4; }
// pre: the format is of bytes, or a method's.
[[nodiscard]] inline std::uint32_t byte_size(const object& o) { return o.words * 4 - (o.tag & 3U); }
[[nodiscard]] inline std::uint8_t* bytes_of(object& o) { return reinterpret_cast<std::uint8_t*>(o.body()); }
[[nodiscard]] inline const std::uint8_t* bytes_of(const object& o) {
  return reinterpret_cast<const std::uint8_t*>(o.body());
}
[[nodiscard]] inline std::string_view text_of(const object& o) {
  return {reinterpret_cast<const char*>(o.body()), byte_size(o)};
}

// The layouts of the heap that objects of an image have. Every place makes them, in this order.
struct image_layouts {
  explicit image_layouts(situ::object_heap& heap);
  std::uint8_t pointers;
  std::uint8_t context;
  std::uint8_t method;
  std::uint8_t data;
  // The layout of an object that is to get no baton is so many more than these.
  static constexpr std::uint8_t without_baton = 4;
  [[nodiscard]] bool gets_baton(const object& o) const { return o.layout <= data; }
  void set_gets_baton(object& o, bool gets) const {
    if (gets_baton(o) != gets)
      o.layout = static_cast<std::uint8_t>(gets ? o.layout - without_baton : o.layout + without_baton);
  }
};

// Objects that the interpreter knows.
struct known_objects {
  oop specials = 0;
  oop nil = 0, false_object = 0, true_object = 0;
  oop class_small_integer = 0, class_string = 0, class_array = 0, class_float = 0, class_method_context = 0,
      class_block_context = 0, class_point = 0, class_large_positive = 0, class_large_negative = 0, class_message = 0,
      class_semaphore = 0, class_character = 0;
};

class object_memory {
 public:
  // makes: what the thread was made with.
  object_memory(situ::object_heap& heap, situ::heap_thread& thread, const image_layouts& layouts,
                situ::heap_objects makes = situ::heap_objects::own)
      : thread_{thread},
        state_{thread.state()},
        layouts_{layouts},
        heap_{heap},
        makes_shared_{makes == situ::heap_objects::shared},
        reference_barrier_{makes_shared_ ? changing : changing | situ::detail::entry_is_shared} {}
  object_memory(const object_memory&) = delete;
  object_memory& operator=(const object_memory&) = delete;

  // --- reading
  [[nodiscard]] std::uint64_t entry(oop o) const { return state_.entry(o); }
  [[nodiscard]] object* at(oop o) const { return situ::detail::object_of_entry(state_.entry(o)); }
  [[nodiscard]] oop class_of(oop o) const { return is_integer(o) ? known_.class_small_integer : at(o)->type; }
  [[nodiscard]] oop field(oop o, std::uint32_t index) const { return at(o)->body()[index]; }
  [[nodiscard]] bool has_class(oop o, oop of_class) const { return !is_integer(o) && at(o)->type == of_class; }
  [[nodiscard]] bool has_bytes(oop o) const { return !is_integer(o) && is_bytes(format_of(*at(o))); }
  [[nodiscard]] bool has_pointers(oop o) const { return !is_integer(o) && is_pointers(format_of(*at(o))); }
  [[nodiscard]] bool is_context(const object& o) const {
    return o.type == known_.class_method_context || o.type == known_.class_block_context;
  }
  [[nodiscard]] oop special(std::uint32_t number) const { return field(known_.specials, number); }
  [[nodiscard]] const known_objects& known() const { return known_; }

  // --- storing
  // Stores a word into any object. Returns true if addresses may be others afterwards: then addresses_changed(), too.
  bool store(oop o, std::uint32_t index, oop value) {
    const std::uint64_t entry = state_.entry(o);
    if ((entry & (is_integer(value) ? changing : reference_barrier_)) != 0) [[unlikely]]
      return store_behind_barrier(o, index, value);
    situ::detail::object_of_entry(entry)->body()[index] = value;
    return false;
  }
  // Returns an object, to store into words of it that are no references. Other addresses may be others afterwards.
  [[nodiscard]] object* at_to_change(oop o) {
    if ((state_.entry(o) & changing) != 0) [[unlikely]]
      return change_behind_barrier(o);
    return section_->object_to_change(o);
  }
  // Returns whether addresses may have changed since know_addresses() was called: a barrier may wait for a move.
  [[nodiscard]] bool addresses_changed() const { return addresses_changed_; }
  void know_addresses() { addresses_changed_ = false; }
  // Says that stores without a barrier into this context may follow.
  void remember(oop context) {
    if (!makes_shared_) thread_.remember(situ::ref<>{context});
  }
  // Returns a context that becomes active: stores without a barrier may follow.
  [[nodiscard]] object* at_to_activate(oop context) {
    const std::uint64_t entry = state_.entry(context);
    constexpr std::uint64_t bits = situ::detail::entry_is_shared | situ::detail::entry_is_remembered;
    if ((entry & bits) == situ::detail::entry_is_shared) [[unlikely]]
      remember(context);
    return situ::detail::object_of_entry(entry);
  }
  // Names the contexts that are stored into without a barrier, since a store to another object may share them.
  void set_active(oop context, oop home) {
    if (!makes_shared_) active_ = {context, home};
  }

  // --- making objects: this thread's own, in which words are stored without a barrier until the next safe point
  // Throws situ::error out_of_memory.
  [[nodiscard]] object* allocate(oop of_class, std::uint32_t words, std::uint8_t format, std::uint32_t fill) {
    return allocate_with(layout_of(of_class, format), of_class, words, format, next_hash(), fill);
  }
  // Its hash is of another sequence: how many contexts are made, and not used again, depends on places and collections.
  [[nodiscard]] object* allocate_context(oop of_class, std::uint32_t words) {
    return allocate_with(layouts_.context, of_class, words, format::fixed_and_indexed,
                         next_hash_of(context_hash_state_), known_.nil);
  }
  [[nodiscard]] oop make_string(std::string_view text) { return make_bytes(known_.class_string, text); }
  [[nodiscard]] oop make_bytes(oop of_class, std::string_view bytes);
  [[nodiscard]] oop make_float(double value);
  // Returns a SmallInteger, or a LargePositiveInteger of four bytes.
  [[nodiscard]] oop make_unsigned(std::uint32_t value);
  [[nodiscard]] oop make_array(std::uint32_t size) {
    return allocate(known_.class_array, size, format::indexed, known_.nil)->self;
  }
  // The state from which next_hash() goes on.
  [[nodiscard]] std::uint32_t hash_state() const { return hash_state_; }
  void set_hash_state(std::uint32_t state) { hash_state_ = state; }
  // Returns a new hash of 12 bits.
  [[nodiscard]] std::uint32_t next_hash() { return next_hash_of(hash_state_); }

  // --- values
  [[nodiscard]] bool is_float(oop o) const { return has_class(o, known_.class_float) && at(o)->words == 2; }
  [[nodiscard]] double float_value(oop o) const;
  // Returns nothing unless it is a SmallInteger or LargePositiveInteger from 0 to 2^32 - 1.
  [[nodiscard]] std::optional<std::uint32_t> unsigned_value(oop o) const;

  // --- classes
  // Named fields of a class's instances.
  [[nodiscard]] std::uint32_t named_fields(oop of_class) const {
    const auto spec = static_cast<std::uint32_t>(field(of_class, 2) - 1);
    return ((spec >> 11 & 0xc0) + (spec >> 2 & 0x3f)) - 1;
  }
  [[nodiscard]] std::uint8_t instance_format(oop of_class) const {
    return static_cast<std::uint8_t>((field(of_class, 2) - 1) >> 8 & 15);
  }

  // --- the heap
  void set_specials(oop specials);
  void enter() { section_.emplace(thread_); }
  void leave() { section_.reset(); }
  void poll() { section_->poll(); }
  [[nodiscard]] bool is_due() const { return state_.is_due(); }
  // Calls f() outside the section, while other places answer. Addresses are others afterwards, also if f() throws.
  template <class F>
  void outside(F f) {
    struct absence {
      explicit absence(object_memory& of) : of_{of} { of_.leave(); }
      ~absence() { of_.enter(); }
      object_memory& of_;
    };
    const absence now{*this};
    with_others(f);
  }
  // Calls of the heap that ask other places are made by this function, if there is one.
  std::function<void(const std::function<void()>& call)> ask_others;
  [[nodiscard]] const image_layouts& layouts() const { return layouts_; }
  [[nodiscard]] bool makes_shared() const { return makes_shared_; }
  [[nodiscard]] situ::heap_thread& thread() { return thread_; }
  [[nodiscard]] situ::object_heap& heap() { return heap_; }
  // Bytes made since take_made_bytes() was called last.
  [[nodiscard]] std::uint64_t made_bytes() const { return made_bytes_; }
  void reset_made_bytes() { made_bytes_ = 0; }
  void visit_roots(const situ::heap_thread::root_visitor& visit);

 private:
  [[nodiscard]] static std::uint32_t next_hash_of(std::uint32_t& state) {
    state = state * 1103515245 + 12345;
    return state >> 16 & 0xfff;
  }
  [[nodiscard]] object* allocate_with(std::uint8_t layout, oop of_class, std::uint32_t words, std::uint8_t format,
                                      std::uint32_t hash, std::uint32_t fill) {
    made_bytes_ += situ::detail::object_bytes(words);
    const auto tag = static_cast<std::uint16_t>(format | hash << 4);
    return at(thread_.allocate(layout, words, situ::ref<>{of_class}, tag, fill).raw());
  }
  [[nodiscard]] std::uint8_t layout_of(oop of_class, std::uint8_t format) const {
    if (is_pointers(format)) {
      const bool is_context =
          of_class != 0 && (of_class == known_.class_method_context || of_class == known_.class_block_context);
      return is_context ? layouts_.context : layouts_.pointers;
    }
    return is_method(format) ? layouts_.method : layouts_.data;
  }
  void remember_active() {
    for (const oop each : active_)
      if (each != 0) remember(each);
  }
  static constexpr std::uint64_t changing = situ::detail::entry_is_moving | situ::detail::entry_is_read_mostly;
  bool store_behind_barrier(oop o, std::uint32_t index, oop value);
  [[nodiscard]] object* change_behind_barrier(oop o);
  template <class F>
  void with_others(F f) {
    if (ask_others)
      ask_others(f);
    else
      f();
  }

  situ::heap_thread& thread_;
  situ::detail::thread_state& state_;
  image_layouts layouts_;
  situ::object_heap& heap_;
  bool makes_shared_;
  std::uint64_t reference_barrier_;  // bits of an entry with which a store of a reference takes the long way
  std::optional<situ::heap_section> section_;
  known_objects known_;
  std::array<oop, 2> active_{};
  bool addresses_changed_ = false;
  std::uint64_t made_bytes_ = 0;
  std::uint32_t hash_state_ = 12345;
  std::uint32_t context_hash_state_ = 12345;
};

}  // namespace squeak
