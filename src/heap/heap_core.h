// One place's part of an object heap: its chunks, its threads, its view of the table that all places share.
//
// Locks: `lock_` guards the lists of a place's threads and chunks and the rooms for copies, `layouts_lock_` the making
// of layouts. A thread that holds `lock_` waits neither for another place nor for the end of a section. It may take
// `layouts_lock_`; a thread that holds `layouts_lock_` does not take `lock_`.
#pragma once

#include <situ/base/detail/coherence.h>
#include <situ/heap/object_heap.h>
#include <situ/memory/place.h>
#include <situ/memory/ptr.h>
#include <situ/spread/detail/members.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "heap/heap_chunk.h"
#include "heap/shared_state.h"

namespace situ::detail {

// The part of thread_state that its hot paths do not use.
struct thread_state::rest {
  place_threads* threads = nullptr;  // of a registered thread, which hands calls to the place's own thread by it
  std::uint32_t number = 0;          // among the place's threads
  std::vector<heap_chunk*> young;    // chunks of own objects; the last one is allocated from
  std::vector<heap_chunk*> large;    // own objects with a chunk of their own
  std::vector<heap_chunk*> reserve;  // young chunks without objects
  std::uint64_t young_bytes = 0;     // of these chunks
  struct entry_run {
    std::uint32_t begin = 0, end = 0;  // raw numbers
  };
  std::vector<entry_run> runs;  // claimed, to be looked through again
  std::size_t runs_looked_through = 0;
  std::vector<std::uint32_t> remembered;  // shared objects that may refer to own ones
  std::vector<std::size_t> free_roots;
  std::vector<std::function<void(const heap_thread::root_visitor&)>> root_functions;
  std::uint64_t bytes_made = 0;              // in chunks that it has filled
  bool is_parked = false;                    // at a safe point; by heap_core::lock_
  std::atomic<std::uint32_t> operations{0};  // under way that may wait for others: no safe point
};

// Bits of section_word::due.
inline constexpr std::uint32_t own_collection_is_due = 1;
inline constexpr std::uint32_t stop_is_due = 2;        // a collection of all places
inline constexpr std::uint32_t collection_is_due = 4;  // this place has shared much since the last one
inline constexpr std::uint32_t always_due = 8;         // heap_options::collects_at_each_safe_point

// The target of copies: a home, and the kind of its chunks.
struct copy_target {
  std::uint32_t home = 0;
  chunk_kind kind = chunk_kind::ordinary;
  friend bool operator==(const copy_target&, const copy_target&) = default;
};

// The objects that relocate() copies, and their new homes.
enum class copy_which : std::uint8_t {
  all,  // to the home that is named
  at_their_home,
  young,  // those in young chunks, to this place as far as it has room; the others stay
};

// While it lives, the thread is in an operation of the heap that may wait for other places or threads. It may hold
// references that no root has, so a collection of all places does not begin.
class operation_under_way {
 public:
  explicit operation_under_way(thread_state& of) : of_{of} {
    of_.its().operations.fetch_add(1, std::memory_order_relaxed);
  }
  ~operation_under_way() { of_.its().operations.fetch_sub(1, std::memory_order_relaxed); }
  operation_under_way(const operation_under_way&) = delete;
  operation_under_way& operator=(const operation_under_way&) = delete;

 private:
  thread_state& of_;
};

// Throws bad_argument in a section.
void check_outside(const thread_state& by, const char* what);

class heap_core {
 public:
  explicit heap_core(const heap_options& options);
  ~heap_core();
  heap_core(const heap_core&) = delete;
  heap_core& operator=(const heap_core&) = delete;

  // --- layouts (layouts.cpp)
  std::uint8_t add_layout(heap_layout layout);
  [[nodiscard]] std::uint8_t layout_of_type(std::uint64_t key, heap_layout (*make)());
  [[nodiscard]] const heap_layout& layout(std::uint8_t number) {
    const heap_layout* const found = layouts_[number].load(std::memory_order_acquire);
    return found != nullptr ? *found : layout_of_another_place(number);
  }
  // Calls f for each word of an object that may hold a reference, its type included.
  template <class F>
  void each_reference(heap_object& of, const F& f);

  // --- entries
  [[nodiscard]] std::uint64_t* at_entry(std::uint32_t raw) const noexcept {
    return reinterpret_cast<std::uint64_t*>(table_ + std::size_t{raw} * 4);
  }
  [[nodiscard]] std::uint64_t entry(std::uint32_t raw) const noexcept { return load_entry(at_entry(raw)); }
  // Returns the entry past all caches, for an entry that another place is about to change.
  [[nodiscard]] std::uint64_t changing_entry(std::uint32_t raw) const noexcept {
    return std::atomic_ref<std::uint64_t>{*at_entry(raw)}.load(std::memory_order_acquire);
  }
  // Throws bad_argument if a reference has no object.
  [[nodiscard]] std::uint64_t checked_entry(ref<> of) const;
  // Claims a run of free entries of this place's part, or of another's. Throws out_of_memory.
  [[nodiscard]] thread_state::rest::entry_run claim_run(thread_state& by);

  // --- memory (chunks.cpp) Returns a chunk with room for `bytes`: of `home`, or of another place if that one has no
  // room. Throws out_of_memory, and place_lost_error if `home` is lost. Not while all places collect: they answer no
  // messages then.
  [[nodiscard]] heap_chunk* get_chunk(thread_state& by, std::uint32_t home, chunk_kind kind, std::size_t bytes);
  // Takes a chunk of this place out of use; its memory is freed, or used again, when the place's own thread next may.
  void retire(heap_chunk* chunk);
  [[nodiscard]] std::uint32_t home_of(const void* address) const noexcept {
    return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(address) - base_) >> slice_shift_);
  }
  // Returns room for a copy of so many words, with a header that names no object yet. pre: `lock` is held; it is
  // released while the place gets a chunk. Not while entries are marked: a place that is asked may wait for one of
  // them.
  [[nodiscard]] heap_object* room_for_copy(thread_state& by, const copy_target& to, std::uint32_t words,
                                           std::unique_lock<std::mutex>& lock);
  // Returns room at this place, without asking another one; null if this place has none. pre: as room_for_copy.
  [[nodiscard]] heap_object* room_here(thread_state& by, chunk_kind kind, std::uint32_t words,
                                       std::unique_lock<std::mutex>& lock);

  // --- sharing (sharing.cpp)
  // Makes an own object shared, and all own objects that it reaches.
  void share(thread_state& by, std::uint32_t raw);
  // Orders the making and sharing of objects before the caller's later stores of references to them.
  static void order_before_references() noexcept;
  void remember(thread_state& by, std::uint32_t raw);
  // Shares what remembered objects refer to, and remembers none any more.
  void share_remembered(thread_state& by);
  [[nodiscard]] bool must_publish_entries() const noexcept;

  // --- moves (moves.cpp); not in a section Copies objects to another home or kind of memory. Objects that are there
  // already stay. Returns how many it has copied.
  std::uint64_t relocate(thread_state& by, std::span<const std::uint32_t> raws, copy_target to,
                         copy_which which = copy_which::all);
  void exchange(thread_state& by, std::uint32_t a, std::uint32_t b, std::uint16_t tag_bits_that_stay);
  void wait_while_moving(thread_state& by, std::uint32_t raw);
  // Makes an object at a home, shared from the beginning.
  [[nodiscard]] ref<> make_at(thread_state& by, std::uint32_t home, std::uint8_t layout, std::uint32_t words,
                              std::uint32_t type, std::uint16_t tag, std::uint32_t fill);
  // Makes all shared objects of this place read-mostly that may be so; returns how many.
  [[nodiscard]] std::uint64_t make_all_read_mostly(thread_state& by);
  [[nodiscard]] bool may_be_read_mostly(const heap_object& object) {
    return object.layout >= layout_of_references || !layout(object.layout).never_read_mostly;
  }
  // For a store into a read-mostly object.
  void make_ordinary(thread_state& by, std::uint32_t raw);

  // --- rounds (rounds.cpp)
  // Returns when each thread of each place has been outside of its sections since the call, and each place without
  // coherent caches has dropped what it holds of `stale`.
  using stale_range = std::pair<std::uint64_t, std::uint64_t>;  // begin, bytes
  void ask_all(thread_state& by, std::span<const stale_range> stale);
  void answer(std::span<const stale_range> stale, const section_word* but);
  // Makes entries that this place has changed those that others see: a round, if it must be.
  void publish_entries(thread_state& by, std::span<const stale_range> entries);

  // --- collections (own_collection.cpp, collection.cpp)
  void collect_own(thread_state& of);
  void collect(thread_state& by, const heap_collection& how = {});
  void wait_at_safe_point(thread_state& of);
  // A parked thread is at a safe point; unpark() waits for the end of a collection of all places.
  void park(thread_state& of);
  void unpark(thread_state& of);

  // Runs f on the place's own thread, which alone allocates and sends messages.
  template <class F>
  auto by_own_thread(thread_state& of, F&& f);

  [[nodiscard]] const heap_options& options() const noexcept { return options_; }
  [[nodiscard]] heap_counts counts() const;
  [[nodiscard]] std::uint64_t bytes_held() const;
  [[nodiscard]] bool replicates() const noexcept;

 private:
  friend class thread_state;
  friend class own_collection;
  friend class whole_collection;
  friend class renumbering;

  struct copy_room {
    copy_target to;
    heap_chunk* chunk = nullptr;
  };

  struct found_object {
    std::uint64_t entry = 0;
    copy_target at;
    std::uint32_t words = 0;
    bool is_young = false;
  };
  // Looks at an object that others may move. pre: the thread is in no section.
  [[nodiscard]] found_object look_at(thread_state& by, std::uint32_t raw);
  [[nodiscard]] std::uint32_t try_exchange(thread_state& by, std::uint32_t a, std::uint32_t b,
                                           std::uint16_t tag_bits_that_stay);
  void end_move_of_lost(std::uint32_t raw, std::uint64_t found);

  void wait_outside(section_word& word, std::uint32_t place, std::uint32_t number);
  [[nodiscard]] heap_chunk* make_chunk(chunk_kind kind, std::size_t bytes);
  static void free_chunk(heap_chunk* chunk);
  static void free_chunks(std::vector<heap_chunk*>& chunks);
  [[nodiscard]] heap_chunk* chunk_here(thread_state& by, chunk_kind kind, std::size_t bytes);
  [[nodiscard]] heap_chunk* chunk_at(thread_state& by, std::uint32_t home, chunk_kind kind, std::size_t bytes);
  [[nodiscard]] heap_object* room_at_hand(const copy_target& to, std::uint32_t words);
  [[nodiscard]] heap_object* room_in(heap_chunk& in, std::uint32_t words);
  [[nodiscard]] heap_object* room_of_new_chunk(heap_chunk& more, const copy_target& to, std::uint32_t words);
  // Counts a chunk or a run that another place gave since this one had no room; logs the first of them.
  void say_spill(thread_state& by, std::string_view what, std::uint32_t taken_at);
  void ask_for_collection(thread_state& by);
  // Runs this place's part of a collection of all places. Returns false if some thread is in the middle of an
  // operation.
  [[nodiscard]] bool collect_here(const heap_collection& how);
  [[nodiscard]] bool ask_all_to_collect(const heap_collection& how);
  void check_collector();
  [[nodiscard]] bool is_collector_there(thread_state& of);
  void forget_runs_of_others();
  [[nodiscard]] const heap_layout& layout_of_another_place(std::uint8_t number);
  const heap_layout& publish_layout(std::uint8_t number, heap_layout made);
  [[nodiscard]] bool needs_rounds() const;
  // Returns whether a collection of all places makes an ordinary object read-mostly.
  [[nodiscard]] bool becomes_read_mostly(const heap_object& object, std::uint32_t age) {
    const heap_chunk& in = *chunk_of(&object);
    return in.kind == chunk_kind::ordinary && !in.is_large() && options_.read_mostly_after != 0 &&
           age >= options_.read_mostly_after && replicates() && may_be_read_mostly(object);
  }
  // The table, and a bit for each of its entries.
  [[nodiscard]] std::uint64_t table_bytes() const noexcept {
    const std::uint64_t entries = options_.entries * places_;
    return entries * 8 + entries / 8;
  }
  void use_table(std::byte* table) noexcept;
  // pre: place 0's own thread calls it.
  void free_table(const ptr<std::byte>& block);
  void free_left_tables();
  void count_pause(std::uint64_t took);  // nanoseconds; lock_ is held

  heap_options options_;
  joint_end end_of_all_;
  std::uint32_t here_ = 0;
  std::uint32_t places_ = 0;
  std::uintptr_t base_ = 0;
  std::uint32_t slice_shift_ = 0;
  bool has_strong_sections_ = false;

  ptr<std::byte> table_block_;  // place 0's
  struct left_table {
    ptr<std::byte> table, map;
  };
  std::vector<left_table> left_tables_;  // at place 0: others may still read them (renumbering.h)
  ptr<heap_shared> shared_block_;        // place 0's
  ptr<section_word> own_words_;
  std::uint32_t words_used_ = 0;  // the first of them that no thread has had
  std::byte* table_ = nullptr;
  std::uint32_t numbering_ = 0;  // of heap_shared::next_entry
  heap_shared* shared_ = nullptr;
  std::vector<section_word*> words_;             // of each place, most_threads each
  std::vector<std::uint64_t> cores_;             // of each place: its heap_core, in its process
  std::atomic<std::uint64_t>* marks_ = nullptr;  // a bit for each entry of all places

  mutable std::mutex lock_;
  std::vector<thread_state*> threads_;
  std::vector<heap_chunk*> chunks_;         // whose home is here, in use
  std::vector<heap_chunk*> free_chunks_;    // of the usual size
  std::vector<heap_chunk*> to_deallocate_;  // large ones, by the own thread
  std::vector<copy_room> rooms_;            // of copies that this place makes
  std::vector<thread_state::rest::entry_run> free_runs_;
  std::mutex exchanges_lock_;  // of this place's exchange_intent, while both entries are published
  std::mutex layouts_lock_;    // of the layouts below; those that are published are read without it
  std::vector<std::unique_ptr<const heap_layout>> owned_layouts_;
  std::array<std::atomic<const heap_layout*>, 256> layouts_{};
  std::array<std::atomic<std::uint64_t>, layouts_of_types> known_keys_{};  // of the shared layouts, as far as met here
  std::uint8_t own_layouts_ = 0;
  bool has_said_spill_ = false;
  bool has_said_section_ = false;
  std::atomic<bool> is_stopped_{false};  // all threads are at safe points: a collection of all places is under way
  bool is_stopping_ = false;             // no parked thread goes on; by lock_
  std::uint64_t shared_bytes_ = 0;       // since the last collection of all places
  heap_counts counts_;
};

template <class F>
void heap_core::each_reference(heap_object& of, const F& f) {
  if (of.type != 0) f(of.type);
  std::uint32_t* const body = of.body();
  const auto first = [&](std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i)
      if (body[i] != 0 && (body[i] & 1) == 0) f(body[i]);
  };
  if (of.layout == layout_of_data) return;
  if (of.layout == layout_of_references) return first(of.words);
  const heap_layout& its = layout(of.layout);
  switch (its.references) {
    case heap_layout::kind::none: return;
    case heap_layout::kind::all: return first(of.words);
    case heap_layout::kind::first: return first(std::min(its.count(body, of.words), of.words));
    case heap_layout::kind::listed:
      for (const std::uint32_t i : its.words)
        if (body[i] != 0 && (body[i] & 1) == 0) f(body[i]);
  }
}

}  // namespace situ::detail

#include "heap/own_thread.h"
