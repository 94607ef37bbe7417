// The state that all places of an object heap share, in the segment of place 0.
#pragma once

#include <situ/base/detail/signal_word.h>
#include <situ/heap/detail/heap_object.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace situ::detail {

inline constexpr std::uint32_t most_threads = 64;           // of a heap, at one place
inline constexpr std::uint32_t entries_of_a_run = 1024;     // that a thread claims at once
inline constexpr std::uint8_t first_layout_of_types = 128;  // up to 253
inline constexpr std::uint32_t layouts_of_types = 126;
inline constexpr std::uint32_t most_heap_places = 1024;

// While an object moves, its entry holds the number of the moving place, from bit 48 on. If that place is lost, a
// thread that waits for the move takes off the mark, and the object stays at its old address.
inline constexpr unsigned entry_mover_shift = 48;
inline constexpr std::uint64_t entry_mover_bits = ~std::uint64_t{0} << entry_mover_shift;

// The layout of a C++ type, for places that have not used the type yet.
struct shared_layout {
  std::atomic<std::uint64_t> key;  // of the type; 0: free
  std::atomic<std::uint32_t> is_ready;
  std::uint32_t words_listed;
  std::array<std::uint16_t, 120> words;
};

// The two entries that a place is about to publish for an exchange, in case it is lost between them.
struct alignas(64) exchange_intent {
  std::atomic<std::uint32_t> is_valid;
  std::array<std::atomic<std::uint32_t>, 2> raws;
  std::array<std::atomic<std::uint64_t>, 2> published;
};

// The outcome of new numbers (renumbering.h): the word changes once from the first one to the second or the third.
inline constexpr std::uint32_t renumbering_is_open = 0;
inline constexpr std::uint32_t renumbering_is_committed = 1;
inline constexpr std::uint32_t renumbering_is_given_up = 2;
inline constexpr std::uint32_t renumbering_wants_memory = 3;  // before it is open

struct heap_shared {
  std::array<shared_layout, layouts_of_types> layouts;
  // Of each place's part: the first entry that has never been claimed. Two numberings: each one has a table of its own.
  std::array<std::array<signal_word<std::uint64_t>, most_heap_places>, 2> next_entry;
  std::array<exchange_intent, most_heap_places> intents;
  signal_word<std::uint32_t> collecting;   // while a place collects for all: that one, plus 1
  signal_word<std::uint64_t> collections;  // done so far
  signal_word<std::uint32_t> arrived;      // at the collection's barrier
  signal_word<std::uint32_t> phase;
  std::atomic<std::uint32_t> is_put_off;  // some thread cannot stop now
  signal_word<std::uint32_t> renumbering;
  std::atomic<std::uint64_t> new_table;  // addresses, while objects get new numbers
  std::atomic<std::uint64_t> map;
  std::atomic<std::uint32_t> has_leftover;  // a place's part of the table has no room for all objects of that home
};

}  // namespace situ::detail
