// New numbers for all objects of a heap, in the order in which a trace has met them: a part of a collection of all
// places, between its sweep and its end.
//
// A place may be lost at any instruction, and then no object may be half renumbered. So nothing of the old heap changes
// until all places are through:
//
//   1  place 0 takes memory for a new table, and for a map from old numbers to new ones
//   2  each place numbers the objects that its trace has met: map[old] = new
//   3  each home copies its objects to new chunks, with the new numbers in their fields, and fills the new table
//   4  the last place to come to the meeting commits: one word of the shared state changes
//   5  each place changes its roots, and uses the new table; it waits for nobody
//   6  when all places have done so, the old chunks, the old table and the map are freed
//
// If a place is lost, or has no room, before 4, somebody changes that word the other way: the old heap is valid, and
// the new chunks are dropped. After 4 each survivor does 5, even if others are lost. The word changes once.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "heap/heap_core.h"
#include "heap/meeting.h"

namespace situ::detail {

class renumbering {
 public:
  renumbering(heap_core& core, meeting& all, bool sorts) : core_{core}, meeting_{all}, sorts_{sorts} {}
  ~renumbering() { leave(table_block_); }  // a place was lost
  renumbering(const renumbering&) = delete;
  renumbering& operator=(const renumbering&) = delete;

  // order: the objects that this place's trace has met. pre: all places have met since they have swept. Returns false
  // if a place has no room: then nothing has changed. Throws place_lost_error: the heap is then the old one or the new one.
  [[nodiscard]] bool run(const std::vector<std::uint32_t>& order);

 private:
  void begin();
  [[nodiscard]] bool make_table();
  void clear_own_part();
  void meet_fresh();
  void number(const std::vector<std::uint32_t>& order);
  void number_leftover();
  void set_number(std::uint32_t old, std::uint64_t index);
  void give_up(const char* wanted);
  [[nodiscard]] bool is_open() const noexcept;
  [[nodiscard]] std::uint32_t new_number(std::uint32_t old) const noexcept { return racing_load(map_[old / 2]); }

  void copy_objects();
  void copy_in_order_of_numbers(std::unique_lock<std::mutex>& lock);
  void copy_in_order_of_chunks(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool copy(const heap_object& old, std::uint64_t its, std::uint32_t number,
                          std::unique_lock<std::mutex>& lock);
  [[nodiscard]] heap_object* room(chunk_kind kind, std::uint32_t words, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool commit();
  void use_new_table();
  void drop_copies();
  void free_old();
  void leave(ptr<std::byte> table);

  [[nodiscard]] signal_word<std::uint64_t>& next_entry(std::uint32_t part) const noexcept {
    return core_.shared_->next_entry[core_.numbering_ ^ 1][part];
  }
  [[nodiscard]] std::uint64_t* at_new_entry(std::uint64_t index) const noexcept {
    return reinterpret_cast<std::uint64_t*>(table_) + index;
  }

  heap_core& core_;
  meeting& meeting_;
  bool sorts_;
  std::byte* table_ = nullptr;    // the new one
  std::uint32_t* map_ = nullptr;  // from an old number / 2 to a new number
  ptr<std::byte> table_block_;    // both, at place 0
  ptr<std::byte> map_block_;
  std::vector<std::uint32_t> leftover_;  // objects for which their home's part of the table has no room
  std::vector<heap_chunk*> old_chunks_;  // of this home
  std::vector<heap_chunk*> new_chunks_;
  std::uint64_t copied_ = 0;
};

}  // namespace situ::detail
