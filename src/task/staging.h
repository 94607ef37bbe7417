// A range of addresses whose tiles are in memory while units use them; else in a file. staged_array.h is what programs
// see.
//
//   add() -> queue, in the order of units -> the staging's thread: pins each tile of a unit, fetches it if it is not
//            there (evicting others of no pins, where the budget is used up), then one less to wait for
//   end of the unit -> its tiles have one pin less; what it may have written is marked
//
// Invariants
//   1. A tile that is not in memory has no access rights and no pages. Pages are never given back: they move between
//   the
//      tiles and `frames`, as many as the budget has, so that a tile costs no new pages (mremap, which copies nothing).
//   2. Tiles are pinned unit by unit, in the order of add(). A unit waits only for units before it, and no unit needs
//      more than the budget: so the oldest unit always gets its tiles in the end.
//   3. A changed tile gives up its pages only after it has been written. One that a unit was to write, and did not, has
//      what the file has.
//   4. Only the staging's thread pins and moves tiles while units are under way, without the lock while it moves one.
#pragma once

#include <situ/task/staged_array.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "base/host.h"

namespace situ::detail {

struct staged_tile {
  staging* of;
  std::uint32_t tile;
  bool is_written;  // by the unit
  bool is_needed;   // what is there; else the unit writes all of it
};

class staging {
 public:
  staging(graph_core& core, const std::string& file, std::size_t bytes, const staging_options& options);
  ~staging();
  staging(const staging&) = delete;
  staging& operator=(const staging&) = delete;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  // Adds the tiles of a region that this range holds; nothing for one that lies elsewhere. Throws bad_argument where it
  // lies in part within.
  void collect(const declared_access& access, std::vector<staged_tile>& tiles);
  // Throws bad_argument where a unit of these tiles (some may be of others) could never run.
  void check(const std::vector<staged_tile>& tiles) const;
  // By the adding thread, of a unit that has tiles here: the unit has been added, and waits for one more.
  void request(work_unit& unit);
  // By the thread that ran the unit.
  void release(const std::vector<staged_tile>& tiles, bool has_failed) noexcept;

  // By the adding thread.
  void copy(std::size_t at, void* to, const void* from, std::size_t bytes);
  void flush();
  [[nodiscard]] staging_statistics statistics() const;

 private:
  struct tile {
    std::uint32_t pins = 0;
    std::uint32_t frame = 0;  // where its pages go when it is evicted
    bool is_here = false;
    bool is_changed = false;
    bool is_blank = false;  // made for a unit that writes all of it, and has not ended: the file has what counts
    std::list<std::uint32_t>::iterator idle;  // where it is in idle_, if it is here and has no pins
  };

  void write_all();
  void close() noexcept;
  void work();
  void get(work_unit& unit, std::unique_lock<std::mutex>& lock);
  void fetch(std::uint32_t index, bool is_needed, std::unique_lock<std::mutex>& lock);
  void evict_oldest(std::unique_lock<std::mutex>& lock);
  void drop(std::uint32_t index) noexcept;
  [[nodiscard]] std::byte* frame(std::size_t i) const noexcept { return frames_ + i * tile_bytes_; }
  void write(std::uint32_t index);
  void pin(std::uint32_t index);
  void unpin(std::uint32_t index);
  [[nodiscard]] std::size_t bytes_of(std::uint32_t index) const noexcept;
  [[nodiscard]] std::byte* address_of(std::uint32_t index) const noexcept { return base_ + index * tile_bytes_; }
  void transfer(bool out, std::byte* memory, std::size_t at, std::size_t bytes);

  graph_core& core_;
  std::string name_;
  std::size_t bytes_, tile_bytes_, budget_tiles_;
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* frames_ = nullptr;  // where pages of tiles are that nobody has

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<tile> tiles_;
  std::list<std::uint32_t> idle_;  // here and without pins, the one used longest ago first
  std::size_t here_ = 0;
  std::vector<std::uint32_t> free_frames_;
  std::deque<work_unit*> wanted_;
  bool is_stopping_ = false;
  staging_statistics moved_;
  worker thread_;
};

}  // namespace situ::detail
