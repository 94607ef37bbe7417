// An object heap over the memories of a job: objects with homes, found through a table, that move while others use
// them.
//
//   struct person { int age; situ::ref<person> mother; };      // fields: data and references
//
//   situ::object_heap heap;                                    // collective: at every place of the job
//   situ::heap_thread mine{heap};                              // one for each thread that uses it
//   situ::rooted<person> ann{mine, mine.make<person>(40)};     // a root: collections keep it
//   mine.store(ann.get(), &person::age, 41);
//   const int age = mine.load(ann.get(), &person::age);
//   mine.move(ann.get(), situ::place{1});                      // it lies there now; the reference stays as it is
//   mine.make_read_mostly(ann.get());                          // replicas, until the first store
//
// A situ::ref is four bytes, the number of an entry in a table that all places share; the entry has the object's
// address. The *home* of an object is the place in whose segment it lies.
//
// Sections. A thread loads and stores within a section (heap_section); load() and store() of heap_thread make a section
// of their own. A mover of objects waits until each thread has been outside. So a section is short, or calls poll(),
// and does not wait for other places. An address is valid until the section's end or its next poll().
//
// Collections. A thread's own objects, to which nobody else has a reference, are collected by the thread alone
// (collect_own); collect() traces the objects of all places. Both begin only in safe_point(), collect_own() and
// collect(), never in make(). A reference survives a collection if a `rooted`, a word that a root function visits, or a
// surviving object holds it. A place's own thread is also at a safe point whenever it waits in Situ outside a section.
//
// Read-mostly objects have replicas if places are not coherent with each other (modelled machines). On a coherent host
// the object is its own replica, and nothing changes (unless heap_options::replicas is `always`).
//
// All places are on one host. Errors: out_of_memory if no place has room for an object or an entry; place_lost_error;
// bad_argument; not_supported for a job over several hosts; no_runtime. Source: Ungar and Adams, Hosting an Object Heap
// on Manycore Hardware (DLS 2009).
#pragma once

#include <situ/base/describe.h>
#include <situ/heap/detail/heap_core.h>
#include <situ/heap/detail/make_layout.h>
#include <situ/heap/layout.h>
#include <situ/heap/ref.h>
#include <situ/memory/place.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {

// The caching of the table's entries, if places are not coherent.
enum class heap_table : std::uint8_t {
  homed,       // only the place that made an entry caches it; the others read it over the network
  replicated,  // each place caches the entries that it uses; to share or to move an object takes rounds
};
// When objects become read-mostly.
enum class heap_replicas : std::uint8_t {
  where_needed,  // if places are not coherent; otherwise make_read_mostly() does nothing
  always,        // everywhere, for tests of the protocol
};

// Options of an object heap; the same at every place.
struct heap_options {
  // Entries of the table for each place, 8 bytes each; rounded down to an odd multiple of 1024. They are zeroed at
  // once.
  std::uint64_t entries = std::uint64_t{1} << 22;
  // Bytes of a thread's own objects, in whole chunks of 256 KiB, before safe_point() collects them.
  std::uint64_t young_bytes = std::uint64_t{16} << 20;
  // Bytes that one place has shared since the last collect(), before safe_point() calls collect(); 0: it never does.
  std::uint64_t collect_after = std::uint64_t{256} << 20;
  heap_table table = heap_table::homed;
  heap_replicas replicas = heap_replicas::where_needed;
  // An object that was ordinary and unchanged in so many calls of collect() becomes read-mostly; 0: none does.
  std::uint32_t read_mostly_after = 0;
  bool collects_at_each_safe_point = false;  // for tests
  std::chrono::milliseconds patience{1000};  // a thread that stays in a section for longer is named in the log
};

// Options of one collection of all places.
struct heap_collection {
  // Copies the objects of each place in the order in which a depth-first trace from the roots of the place's threads
  // meets them; objects that only roots of other places reach follow. The table's entries keep their order. If a place
  // has no room for a copy, the object stays where it is.
  bool sorts = false;
  // Gives all objects new references as well: entries of the table of their home, in the order in which such a trace
  // meets the objects. Fields and roots then hold the new references. Every other reference that a program keeps,
  // at any place, is invalid afterwards: so is a number that has been sent to another place, and a key of a map. Each
  // root must be visited once, as the word that the program goes on to use. All objects are copied, and the table; if a
  // place has no room for that, the log says so, and nothing gets a new reference.
  bool renumbers = false;
};

// Counts of one place since the heap was made.
struct heap_counts {
  std::uint64_t objects_made = 0;
  std::uint64_t bytes_made = 0;
  std::uint64_t objects_shared = 0;      // own objects to which another got a reference, or that survived a collection
  std::uint64_t objects_moved = 0;       // by this place, to another home or within one
  std::uint64_t objects_renumbered = 0;  // of this home, by collections
  std::uint64_t rounds = 0;              // questions to all places: two for a batch of moves
  std::uint64_t made_read_mostly = 0;
  std::uint64_t stores_to_read_mostly = 0;  // each made the object an ordinary one
  std::uint64_t waits_for_moves = 0;        // stores that found their object moving
  std::uint64_t own_collections = 0;
  std::uint64_t collections = 0;  // of all places
  std::uint64_t entries_freed = 0;
  std::uint64_t bytes_freed = 0;
  std::uint64_t spills = 0;            // chunks of memory and runs of entries taken at another place, for want of room
  std::uint64_t longest_pause_ns = 0;  // of a collection
  std::uint64_t pauses_ns = 0;         // their sum
};

// The threads that may have references to an object from the beginning.
enum class heap_objects : std::uint8_t {
  own,     // nobody else, until a shared object refers to it
  shared,  // others, from the beginning: for threads that take turns at one piece of work
};

class heap_thread;

// The heap of a job, as one place sees it. Collective: each place makes it, and destroys it, in the same order as other
// collective objects. The place's own thread makes and destroys it; every heap_thread ends before.
class object_heap {
 public:
  // Throws bad_argument for options out of range, out_of_memory, and not_supported for a job over several hosts.
  // cost: an all_gather, and the zeroing of the table (32 MB a place by default).
  explicit object_heap(const heap_options& options = {});
  // cost: a barrier.
  ~object_heap();
  object_heap(const object_heap&) = delete;
  object_heap& operator=(const object_heap&) = delete;

  // Adds a layout that is made at run time, and returns its number. Every place adds the same layouts in the same
  // order, before it uses objects of them. Throws bad_argument for the 129th. cost: a copy.
  std::uint8_t add_layout(heap_layout layout);
  // Returns the layout of objects of type T; the first call adds it. cost: a lock, and a look at the types before it.
  template <class T>
  [[nodiscard]] std::uint8_t layout_of();

  // Returns the options. cost: none.
  [[nodiscard]] const heap_options& options() const noexcept;
  // Returns this place's counts. cost: a lock, and a look at each thread.
  [[nodiscard]] heap_counts counts() const;
  // Returns the bytes of all chunks of this place that are in use. cost: a lock, and a look at each chunk.
  [[nodiscard]] std::uint64_t bytes_held() const;

  // For Situ itself. cost: none.
  [[nodiscard]] detail::heap_core& core() noexcept { return *core_; }

 private:
  std::unique_ptr<detail::heap_core> core_;
};

// The state of one thread that uses a heap. A registered thread (situ/runtime/place_threads.h) passes its
// place_threads, by which the place's own thread makes its calls to other places. A heap_thread belongs to the thread
// that made it.
class heap_thread {
 public:
  // Throws bad_argument for the 65th of a place. With heap_objects::shared, only collect() frees what the thread makes,
  // and safe_point() calls it each heap_options::collect_after bytes; not_supported with a replicated table if places
  // are not coherent, since each object would take a round. cost: a line of the segment.
  explicit heap_thread(object_heap& heap, place_threads* threads = nullptr, heap_objects makes = heap_objects::own);
  ~heap_thread();
  heap_thread(const heap_thread&) = delete;
  heap_thread& operator=(const heap_thread&) = delete;

  // Makes an object of type T{values...}; it is the thread's own until a shared object refers to it. Spills to another
  // place if this one has no room. In a section, the thread may leave the section for a moment: earlier addresses are
  // then not valid any more. Throws out_of_memory. cost: some 6 ns for 44 bytes.
  template <class T, class... Values>
  [[nodiscard]] ref<T> make(Values&&... values);
  // Makes an array of n elements, zeroes: data, or references. cost: as make, and the zeroes.
  template <class T>
  [[nodiscard]] ref<T[]> make_array(std::uint32_t n);
  // Makes an object of a layout: `words` words of 4 bytes, all `fill`; type and tag as in the header
  // (detail/heap_object.h). cost: as make.
  [[nodiscard]] ref<> allocate(std::uint8_t layout, std::uint32_t words, ref<> type, std::uint16_t tag,
                               std::uint32_t fill = 0) {
    return state_.make_object(layout, words, type.raw(), tag, fill);
  }
  // Makes an object at a home; it is shared from the beginning. Not in a section. Throws place_lost_error. cost: as
  // make, and a call for each 256 KiB at another place.
  [[nodiscard]] ref<> allocate_at(place home, std::uint8_t layout, std::uint32_t words, ref<> type, std::uint16_t tag,
                                  std::uint32_t fill = 0);

  // Return, and set, a field or an element, in a section of their own. Throw bad_argument for an element that is not
  // there. cost: heap_section's, and two stores to a line of the thread.
  template <class T, class M>
  [[nodiscard]] M load(ref<T> of, M T::* member);
  template <class T>
  [[nodiscard]] T load(ref<T[]> of, std::uint32_t index);
  template <class T, class M>
  void store(ref<T> of, M T::* member, std::type_identity_t<M> value);
  template <class T>
  void store(ref<T[]> of, std::uint32_t index, std::type_identity_t<T> value);

  // Returns the home of an object. cost: a load.
  [[nodiscard]] place home(ref<> of) const;
  // Returns whether an object is read-mostly. cost: a load.
  [[nodiscard]] bool is_read_mostly(ref<> of) const noexcept {
    return (state_.entry(of.raw()) & detail::entry_is_read_mostly) != 0;
  }

  // Moves objects to another home, all in one batch: nobody's store is lost. Not in a section. Throws place_lost_error:
  // then each object is at its old place or at its new one. cost: two rounds of questions to all places, and the
  // copies.
  void move(ref<> of, place to) { move(std::vector<ref<>>{of}, to); }
  void move(const std::vector<ref<>>& of, place to);
  // Makes objects read-mostly; the first store to one makes it ordinary again. Returns how many became so: none where
  // places are coherent. Not in a section. cost: as move.
  std::uint64_t make_read_mostly(ref<> of) { return make_read_mostly(std::vector<ref<>>{of}); }
  std::uint64_t make_read_mostly(const std::vector<ref<>>& of);
  // Makes all shared objects of this place read-mostly, but those whose layout says never. cost: as move.
  std::uint64_t make_all_read_mostly();
  // Exchanges what two references refer to (Smalltalk's become:). tag_bits_that_stay: bits of the objects' tags that
  // belong to the reference, such as an identity hash. No other thread remembers either. Not in a section. cost: two
  // rounds.
  void exchange(ref<> a, ref<> b, std::uint16_t tag_bits_that_stay = 0);

  // Lets a due collection begin, and lets others collect. Not in a section. Throws place_lost_error if a collection of
  // all places is due and a place is lost: from then on, only own objects are collected. cost: two loads if nothing is
  // due.
  void safe_point() {
    if (state_.is_due()) [[unlikely]]
      wait_at_safe_point();
  }
  // Collects this thread's own objects: those that it can reach are shared afterwards. Not in a section. cost: about
  // 5 ns an object that is dead, and a copy of each other one.
  void collect_own();
  // Collects the objects of all places. Not in a section. Throws place_lost_error. cost: all places stop for a trace of
  // all objects. If another place collects at that moment, its collection counts, sorted or not.
  void collect(const heap_collection& how = {});

  // Adds a function that visits roots: it calls visit for each word that may hold a reference, which may change. It is
  // called by this thread, or while this thread is at a safe point. Returns its number. cost: an allocation.
  using root_visitor = std::function<void(std::uint32_t& word)>;
  std::size_t add_roots(std::function<void(const root_visitor& visit)> roots);
  // Removes such a function. cost: none.
  void remove_roots(std::size_t number);
  // Says that a shared object may refer to this thread's own objects until the next collection, since the thread stores
  // into it without a barrier (an interpreter's active context). One thread at a time remembers an object. cost: an
  // atomic, the first time.
  void remember(ref<> of) {
    if ((state_.entry(of.raw()) & (detail::entry_is_shared | detail::entry_is_remembered)) == detail::entry_is_shared)
      remember_shared(of.raw());
  }

  // Begin and end a wait that Situ does not know of, such as one for a lock: a registered thread is at a safe point
  // between the two calls. A place's own thread runs its place's part of a collection, so it must wait in Situ instead.
  // cost: a store, and a wait for a collection under way.
  void begin_idle();
  void end_idle();

  // For heap_section, rooted and interpreters: the state. cost: none.
  [[nodiscard]] detail::thread_state& state() noexcept { return state_; }
  [[nodiscard]] object_heap& heap() const noexcept { return *heap_; }

 private:
  void wait_at_safe_point();
  void remember_shared(std::uint32_t raw);

  object_heap* heap_;
  detail::thread_state state_;
};

// A stretch of a thread's work on a heap, in which addresses stay valid. Not nested.
class heap_section {
 public:
  // cost: a store to a line of the thread.
  explicit heap_section(heap_thread& thread) noexcept : state_{thread.state()} { state_.enter(); }
  ~heap_section() { state_.leave(); }
  heap_section(const heap_section&) = delete;
  heap_section& operator=(const heap_section&) = delete;

  // Lets movers of objects go on: earlier addresses are not valid any more. cost: a store.
  void poll() noexcept { state_.poll(); }

  // Returns the object, to read. pre: not null. cost: a load.
  [[nodiscard]] const detail::heap_object* object(std::uint32_t raw) const noexcept {
    return detail::object_of_entry(state_.entry(raw));
  }
  // Returns the object, to store into words that are no references: after a wait if it moves, and as an ordinary object
  // if it was read-mostly; earlier addresses are then no longer valid. pre: not null. cost: a load and a test.
  [[nodiscard]] detail::heap_object* object_to_change(std::uint32_t raw) {
    const std::uint64_t entry = state_.entry(raw);
    if ((entry & (detail::entry_is_moving | detail::entry_is_read_mostly)) != 0) [[unlikely]]
      return state_.object_to_change(raw);
    return detail::object_of_entry(entry);
  }
  // Returns the object, to store a reference (or another word) into it: as object_to_change, and shares what `value`
  // refers to if the object is shared. cost: a load and a test; if the object is shared, of the value, too.
  [[nodiscard]] detail::heap_object* object_for_reference(std::uint32_t raw, std::uint32_t value) {
    const std::uint64_t entry = state_.entry(raw);
    if ((entry & (detail::entry_is_moving | detail::entry_is_read_mostly | detail::entry_is_shared)) != 0) [[unlikely]]
      return state_.object_for_reference(raw, value);
    return detail::object_of_entry(entry);
  }

  // Return, and set, a field. pre: `of` is not null. cost: those of object and object_to_change, and the access.
  template <class T, class M>
  [[nodiscard]] M load(ref<T> of, M T::* member) const noexcept {
    return detail::racing_load(reinterpret_cast<const T*>(object(of.raw())->bytes())->*member);
  }
  template <class T, class M>
  void store(ref<T> of, M T::* member, std::type_identity_t<M> value) {
    detail::racing_store(reinterpret_cast<T*>(to_store(of.raw(), value)->bytes())->*member, value);
  }
  // Return, and set, an element. Throw bad_argument if there is none of that number. cost: as for a field.
  template <class T>
  [[nodiscard]] T load(ref<T[]> of, std::uint32_t index) const {
    const detail::heap_object* const o = object(of.raw());
    if (index >= detail::elements_of<T>(*o)) [[unlikely]]
      detail::throw_no_element(index, detail::elements_of<T>(*o));
    return detail::racing_load(reinterpret_cast<const T*>(o->bytes())[index]);
  }
  template <class T>
  void store(ref<T[]> of, std::uint32_t index, std::type_identity_t<T> value) {
    detail::heap_object* const o = to_store(of.raw(), value);
    if (index >= detail::elements_of<T>(*o)) [[unlikely]]
      detail::throw_no_element(index, detail::elements_of<T>(*o));
    detail::racing_store(reinterpret_cast<T*>(o->bytes())[index], value);
  }
  // Returns the number of elements. cost: two loads.
  template <class T>
  [[nodiscard]] std::uint32_t size(ref<T[]> of) const noexcept {
    return detail::elements_of<T>(*object(of.raw()));
  }

 private:
  template <class M>
  [[nodiscard]] detail::heap_object* to_store(std::uint32_t raw, const M& value) {
    if constexpr (detail::is_heap_ref<M>) return object_for_reference(raw, value.raw());
    static_assert(detail::is_heap_ref<M> || detail::is_heap_data<M>,
                  "store fields that are data or references; store the references of an array or a class one by one");
    return object_to_change(raw);
  }

  detail::thread_state& state_;
};

// A root: a reference that a thread's collections keep. Belongs to the thread; not copyable.
template <class T = void>
class rooted {
 public:
  // cost: a push.
  explicit rooted(heap_thread& thread, ref<T> of = {}) : thread_{&thread}, at_{thread.state().add_root(of.raw())} {}
  ~rooted() { thread_->state().remove_root(at_); }
  rooted(const rooted&) = delete;
  rooted& operator=(const rooted&) = delete;
  rooted& operator=(ref<T> of) noexcept {
    thread_->state().root(at_) = of.raw();
    return *this;
  }
  // Returns the reference. cost: a load.
  [[nodiscard]] ref<T> get() const noexcept { return ref<T>{thread_->state().root(at_)}; }

 private:
  heap_thread* thread_;
  std::size_t at_;
};

template <class T>
std::uint8_t object_heap::layout_of() {
  return detail::layout_of_type(*core_, detail::type_key<T>(), [] { return detail::make_layout<T>(); });
}

template <class T, class... Values>
ref<T> heap_thread::make(Values&&... values) {
  return ref_cast<T>(state_.make_object_of<T>(
      detail::type_key<T>(), [] { return detail::make_layout<T>(); }, std::forward<Values>(values)...));
}

template <class T>
ref<T[]> heap_thread::make_array(std::uint32_t n) {
  static_assert(detail::is_heap_ref<T> || detail::is_heap_data<T>,
                "elements of an array in an object heap are data or references");
  const std::uint64_t bytes = std::uint64_t{n} * sizeof(T);
  if (bytes > detail::most_object_bytes) detail::throw_too_large(bytes);
  const auto words = static_cast<std::uint32_t>((bytes + 3) / 4);
  const std::uint8_t layout = detail::is_heap_ref<T> ? detail::layout_of_references : detail::layout_of_data;
  return ref_cast<T[]>(allocate(layout, words, {}, static_cast<std::uint16_t>(4 * std::uint64_t{words} - bytes)));
}

template <class T, class M>
M heap_thread::load(ref<T> of, M T::* member) {
  return heap_section{*this}.load(of, member);
}
template <class T>
T heap_thread::load(ref<T[]> of, std::uint32_t index) {
  return heap_section{*this}.load(of, index);
}
template <class T, class M>
void heap_thread::store(ref<T> of, M T::* member, std::type_identity_t<M> value) {
  heap_section{*this}.store(of, member, value);
}
template <class T>
void heap_thread::store(ref<T[]> of, std::uint32_t index, std::type_identity_t<T> value) {
  heap_section{*this}.store(of, index, value);
}

}  // namespace situ
