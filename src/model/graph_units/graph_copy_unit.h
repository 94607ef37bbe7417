// The graph-copy unit of the memory tile (NMA; sections 4.4.3 to 4.6 of the paper): copies an object graph in memory,
// depth first, without a stack.
//
// The unit is a state machine, algorithm 1 of the paper: Advance to an object that is met for the first time, CopyWord
// by word, Retreat to its parent. This implementation reads three things into the algorithm: line 45 takes element i
// (the paper's line has no index), a null pointer is copied without a search, and Retreat ends at the root's copy.
//
// Invariants
//   1. The transition words of a suspended object's copy (parent, offset, index) hold all state that the unit needs to
//      resume the object. The unit keeps no other state for it, and only reads the original.
//   2. An object is in the copy map from the moment when it has a copy, so cycles end.
//   3. Copies are stored in the destination in the order in which their objects were met, each at its alignment.
//
// Situ's objects have no header. So the words that the paper keeps there (vptr, parent_src, parent_dst, offset, index)
// are stored next to the copy, and each access to them costs what it would cost in the object. Time: the unit waits for
// every access to its own state; data goes through a line buffer, and its writes are posted.
//
//   object met     vptr, class, size, mask: 4 reads; its map entry 2, parent 2, vptr 1: 5 writes
//   resuming       2 reads of the parent, 1 of the offset, 4 as above for the parent's mask; 1 write of the pointer
//   suspending     2 writes: offset, index
//
// Example: for an object without words, and a memory that takes 26 cycles, 4 + 5 + 1 accesses (its parent is null) and
// three states of 4 cycles (Advance, the end of its words, Retreat) take 272 cycles. Not thread-safe.
#pragma once

#include <situ/graph/detail/arena.h>

#include "model/graph_units/copy_maps.h"
#include "model/graph_units/ports.h"
#include "model/graph_units/unit_layout.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ::model {

struct copy_unit_timing {
  time_ps period = 10'000;             // 100 MHz: table 2
  std::uint64_t state_cycles = 4;      // per state, and per word in the line buffer: 4 to 10 a word (5.3.1)
  std::uint64_t next_line_cycles = 6;  // added for the first word of the next line (5.3.1)
  std::uint64_t line_bytes = 32;       // length of the line buffer: assumed, as the L2's
  std::uint64_t mask_entries = 16;     // per word of 32 bits: two bits each (4.3)
  std::uint64_t hash_cycles = 4;       // assumed: H3 is a few gates; the 0.4 us of 5.3.3 include the hash
};

struct copy_request {
  const void* root = nullptr;
  const detail::type_descriptor* type = nullptr;
  // Further roots, copied after `root` with the same copy map (section 6.2), so that sharing between roots is kept. A
  // root may be null.
  std::span<const detail::graph_root> more_roots{};
  std::byte* destination = nullptr;
  std::uint64_t destination_bytes = 0;
  // The address to which a later DMA moves the copy (4.2); pointers in the copy are made for that address. If null, the
  // copy stays at `destination`. Must have the alignment of `destination`.
  const std::byte* final_address = nullptr;
  std::uint64_t objects = 0;  // as measured; the hashed map needs the number
  map_kind map = map_kind::hash;
};

struct copy_result {
  void* root = nullptr;  // the root's copy, at its final address
  std::vector<void*> more_roots;
  std::uint64_t objects = 0;     // excludes the blocks of arrays
  std::uint64_t arrays = 0;      // nonempty blocks of arrays
  std::uint64_t bytes = 0;       // used bytes of the destination
  std::uint64_t probes = 0;      // copy map entries that searches have read
  std::uint64_t mask_words = 0;  // mask words fetched beyond each object's first
  time_ps begin = 0;
  time_ps end = 0;
};

class graph_copy_unit {
 public:
  // memory: the memory that holds the graphs and the copy map. It must outlive the unit.
  graph_copy_unit(unit_memory_port& memory, map_buffer buffer = {}, copy_unit_timing timing = {}, word_sizes words = {},
                  tagged_types tagged = {});

  // Copies the graph from `now` on, and returns the result with its end time. Throws out_of_memory if the destination
  // or the copy map is too small; not_supported for types that the mask cannot describe; bad_argument for an object
  // whose header names no type, for an object that is met first by a pointer to its first part, and for a final address
  // of another alignment. The destination's bytes are unspecified after an exception. pre: root and destination are
  // set; the graph does not change during the call.
  copy_result copy(const copy_request& request, time_ps now);
  [[nodiscard]] const copy_unit_timing& timing() const noexcept { return timing_; }
  // Calls visit(type, offset in the destination) for each object of the last copy, without the blocks of arrays.
  template <class Visit>
  void visit_objects(Visit visit) const {
    for (const copied_object& object : objects_)
      visit(*object.layout->type, static_cast<std::uint64_t>(object.copy - request_.destination));
  }

 private:
  static constexpr std::uint32_t no_object = ~std::uint32_t{0};
  // A copy, with the words that the paper keeps in its header.
  struct copied_object {
    const std::byte* source = nullptr;
    std::byte* copy = nullptr;
    const unit_layout* layout = nullptr;
    std::uint32_t parent = no_object;  // parent_src and parent_dst: two words
    std::uint32_t offset = 0;          // index of the word (pointer or array) at which the object is suspended
    std::uint64_t index = 0;           // element index within the array
  };
  enum class state : std::uint8_t { advance, retreat, copy_word, done };
  // An array whose elements the unit is copying.
  struct array_view {
    const std::byte* source;
    std::byte* copy;
    std::uint64_t count;
    const unit_layout* block;
    [[nodiscard]] std::uint64_t slots() const noexcept { return count * block->slots.size(); }
  };

  void begin(const copy_request& request, time_ps now);
  void* copy_root(const void* root, const detail::type_descriptor& type);
  [[nodiscard]] const copied_object& known_as(std::uint32_t number, const detail::type_descriptor& declared) const;
  state advance();
  state retreat();
  state copy_word();
  state copy_data(const layout_word& word);
  state copy_pointer(const layout_word& word);
  state copy_array(const layout_word& word);
  void create_array(const layout_word& word);
  [[nodiscard]] array_view view_array(const layout_word& word);
  void clear_transients(const array_view& array);
  // Returns whether the pointer at `from` needs no descent: it is null, or its target already has a copy. Otherwise the
  // unit must advance to the target.
  bool copy_known_pointer(const std::byte* from, std::byte* to, const detail::type_descriptor& target);

  std::byte* create(std::uint64_t bytes, std::uint64_t alignment);
  void set_pointer(std::byte* at, const std::byte* copy) const;
  // Puts the memory's view of the source's bytes in place.
  [[nodiscard]] const std::byte* seen(const std::byte* at, std::uint64_t bytes) {
    memory_.see(address_of(at), bytes, false);
    return at;
  }
  [[nodiscard]] std::uint64_t words_of(const layout_word& word) const noexcept;
  [[nodiscard]] std::uint64_t mask_position(std::uint32_t word) const noexcept;

  void spend(std::uint64_t cycles) noexcept { now_ += cycles * timing_.period; }
  void read_word(const void* address);
  void write_word(const void* address);
  void read_class(const copied_object& object);
  void fetch_mask(std::uint64_t entry);
  void stream(const std::byte* address);                        // starts to fetch the line of this address
  void take_words(const std::byte* from, std::uint64_t bytes);  // passes each word through the line buffer

  unit_memory_port& memory_;
  copy_unit_timing timing_;
  word_sizes words_;
  layout_table layouts_;
  searched_map searched_;
  hashed_map hashed_;
  unit_copy_map* map_ = nullptr;

  // state of the copy in progress
  copy_request request_;
  copy_result result_;
  std::vector<copied_object> objects_;
  std::uint64_t used_ = 0;
  time_ps now_ = 0;
  // the registers O and O' (one number), delta and i; P, and its type as declared
  std::uint32_t object_ = no_object;
  std::uint32_t offset_ = 0;
  std::uint64_t index_ = 0;
  const std::byte* target_ = nullptr;
  const detail::type_descriptor* target_type_ = nullptr;
  // the line buffer, and the current mask word
  static constexpr std::uintptr_t no_line = ~std::uintptr_t{0};
  std::uintptr_t line_ = no_line;
  time_ps next_line_ready_ = 0;
  std::uint64_t mask_word_ = 0;
  std::uint64_t mask_at_ = 0;  // entries of the mask before this word
};

}  // namespace situ::model
