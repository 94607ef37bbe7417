// A range of addresses whose tiles are in memory while units use them, and otherwise in a backing store. staged_array.h
// is the interface for programs.
//
//   add() -> wanted, in the order of units -> the staging's thread pins all tiles of a unit once they fit -> pending
//            -> read into a frame, several at a time, while others run -> its pages become the tile's
//            -> the last tile of a unit: one less to wait for
//   end of the unit -> its tiles have one pin less; what it may have written is marked
//
// Invariants
//   1. A tile that is not in memory has no access rights and no pages.
//   2. Units are taken, that is, their tiles pinned, in the order of add(); and only once all pinned tiles fit into
//      the budget. A unit waits only for units before it, and none needs more than the budget. So the oldest unit that
//      is not taken will be, and each pinned tile gets a frame: one that no pinned tile has.
//   3. Beyond a few units for each thread, tiles are pinned ahead in half of the budget only: the rest keeps tiles
//      that will be used again. The victim of an eviction is the unpinned tile that a wanted unit needs last, or that
//      none needs.
//   4. A dirty tile gives up its pages only after it has been written back; during the write, units may read it but
//      not write it. A tile that a unit was to overwrite, and did not, has the contents of the store.
//   5. Only the staging's thread pins, reads and evicts while units are under way, except request() of a unit whose
//      tiles are all there. The thread moves bytes without the lock; `moves_` names these tiles, and no other code
//      touches them.
//   6. The store is called by the staging's thread, or by the adding thread, with the lock, while no move is under
//      way.
#pragma once

#include <situ/task/staged_array.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "os/host.h"
#include "os/worker.h"
#include "task/tile_room.h"
#include "task/watched_arrays.h"

namespace situ::detail {

struct staged_tile {
  staging* of;
  std::uint32_t tile;
  bool is_written;  // by the unit
  bool is_needed;   // the unit needs the contents; else it overwrites all of the tile
};

// The checked parameters of a staging.
struct staging_plan {
  std::string name;
  std::size_t bytes;
  std::size_t element_bytes;
  std::size_t tile_bytes;
  std::size_t tiles;
  std::size_t budget_tiles;
};

class staging final : public faulting_array {
 public:
  staging(graph_core& core, staging_plan plan, std::shared_ptr<backing_store> store, const page_source& fast);
  ~staging();
  staging(const staging&) = delete;
  staging& operator=(const staging&) = delete;

  [[nodiscard]] std::byte* base() const noexcept { return room_.base(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return plan_.bytes; }
  [[nodiscard]] std::size_t element_bytes() const noexcept { return plan_.element_bytes; }
  [[nodiscard]] const std::string& name() const noexcept { return plan_.name; }
  // Adds the tiles of a region in this range; adds none for a region outside it. Throws bad_argument if only a part of
  // the region is in the range.
  void collect(const declared_access& access, std::vector<staged_tile>& tiles);
  [[nodiscard]] bool explain(std::uintptr_t address, bool is_write, fault_text& to) const noexcept override;
  // Throws bad_argument if a unit of these tiles (some may be of other stagings) could never run.
  void check(const std::vector<staged_tile>& tiles) const;
  // Called by the adding thread for a unit that has been added and has tiles here. Returns whether the unit has to wait
  // for them; if so, has_tiles() will be called.
  [[nodiscard]] bool request(work_unit& unit);
  // Called by the thread that ran the unit.
  void release(const std::vector<staged_tile>& tiles, bool has_failed) noexcept;

  // Called by the adding thread.
  void copy(std::size_t at, void* to, const void* from, std::size_t bytes);
  void flush();
  [[nodiscard]] staging_statistics statistics() const;

 private:
  using lock = std::unique_lock<std::mutex>;
  // A unit that has been taken and does not have all its tiles.
  struct waiting_unit {
    work_unit* unit;
    std::uint32_t missing = 0;
    std::exception_ptr failure;
  };
  enum class tile_state : std::uint8_t { away, arriving, here };
  struct tile {
    std::uint32_t pins = 0;
    std::uint32_t writers = 0;  // how many of the pins may write
    std::uint32_t frame = 0;
    tile_state state = tile_state::away;
    bool is_changed = false;
    bool is_blank = false;    // made for a unit that overwrites it and has not ended: the store has the valid contents
    bool is_needed = false;   // while it arrives: it must be read
    bool is_written = false;  // being written to the store
    bool is_leaving = false;  // evicted once the write has ended, unless it is pinned before
    std::list<std::uint32_t>::iterator idle;  // its position in idle_, if it is here, unpinned and not leaving
    std::vector<waiting_unit*> waiting;       // for its arrival, or to write it after a write to the store
    // Numbers of the units in wanted_ that need it: from `next_use` on.
    std::vector<std::uint64_t> uses;
    std::size_t next_use = 0;
  };
  struct move {
    std::uint32_t tile;
    backing_store::direction to;
    int queue;
    std::exception_ptr failure;
  };

  // The following functions run on the staging's thread.
  void work();
  bool begin_something(lock& held);
  void take(work_unit& unit, lock& held);
  void begin_read(lock& held);
  bool begin_eviction(lock& held);
  void begin_write(std::uint32_t index, lock& held);
  void begin_move(std::uint32_t index, backing_store::direction to, std::byte* memory, lock& held);
  void finish_oldest(lock& held);
  void end_write(std::uint32_t index, const std::exception_ptr& failure, lock& held);
  void arrived(std::uint32_t index, const std::exception_ptr& failure, lock& held);
  void tell_waiting(std::uint32_t index, const std::exception_ptr& failure, lock& held);

  // Returns whether the unit may use the tile at once, if it is pinned.
  [[nodiscard]] bool is_ready(const staged_tile& one) const {
    const tile& it = tiles_[one.tile];
    return it.state == tile_state::here && !(it.is_written && one.is_written);
  }
  [[nodiscard]] bool may_take(const work_unit& unit) const;
  [[nodiscard]] std::list<std::uint32_t>::iterator choose_victim();
  void pin(const staged_tile& one);
  void unpin(const staged_tile& one);
  void forget(std::uint32_t index, lock* held);
  void protect(std::uint32_t index) noexcept;
  void write_all(lock& held);
  void copy_part(std::uint32_t index, std::size_t within, void* to, const void* from, std::size_t bytes);
  void move_at_once(backing_store::direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes);
  void await_still(lock& held);
  [[nodiscard]] std::size_t bytes_of(std::uint32_t index) const noexcept;
  [[nodiscard]] std::size_t whole_pages_of(std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint64_t offset_of(std::uint32_t index) const noexcept {
    return store_begin_ + index * plan_.tile_bytes;
  }
  [[nodiscard]] int free_queue() const noexcept;

  graph_core& core_;
  staging_plan plan_;
  bool is_checked_;
  std::shared_ptr<backing_store> store_;
  std::uint64_t store_begin_;
  tile_room room_;
  std::optional<fault_entry> watched_;  // set in a checked graph

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t events_ = 0;  // counts events that the thread has to look at
  std::vector<tile> tiles_;
  std::list<std::uint32_t> idle_;  // here, unpinned and not leaving: the least recently used first
  std::size_t pinned_ = 0;         // number of tiles
  std::size_t taken_ = 0;          // number of taken units that have not ended
  std::size_t leaving_ = 0;        // number of tiles
  std::vector<std::uint32_t> free_frames_;
  std::deque<work_unit*> wanted_;       // units that are not taken yet
  std::deque<std::uint32_t> pending_;   // tiles to read, in the order of units
  std::deque<std::uint32_t> to_write_;  // tiles that flush() writes
  std::deque<move> moves_;              // moves under way, the oldest first
  std::list<waiting_unit> waiting_;
  std::exception_ptr write_failure_;  // the first since flush() began
  bool is_stopping_ = false;
  staging_statistics moved_;
  os::worker thread_;
};

}  // namespace situ::detail
