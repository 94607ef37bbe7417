// The arenas of a segment whose pages are placed along the ordering of an intent.
//
//   intent --(orderings)--> the memories for it, best first --(placer)--> pages of 2 MiB, one after the other
//
// An arena is made when its intent is first used, and gets its memory in units of 2 MiB. Each unit is placed along the
// ordering and populated at once; in an arena without populate it is promised, and its pages come when they are
// touched. The arenas record how much of each unit is in which memory, since that is returned to budgets and promises
// when the unit is released.
//
// Owner: the place's own thread.
#pragma once

#include "memory/heap.h"
#include "memory/segment_promises.h"
#include "pages/intent_placer.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace situ::detail {

class intent_arenas {
 public:
  // `shown` publishes the bytes in each memory. `shown`, the promises and the orderings outlive this object.
  intent_arenas(job_control& control, segment_promises& promised, placed_table& shown,
                const machine::orderings& all) noexcept
      : control_{control}, promises_{promised}, shown_{shown}, orderings_{all} {}

  // Returns the arena of a heap for an intent, and makes it on first use. cost: a search among the arenas; on first
  // use, a look-up of the ordering, whose nodes are opened. Throws bad_argument, not_supported or out_of_memory if
  // there can be no such arena.
  [[nodiscard]] unsigned arena_for(const intent& what, bool populate, heap& in);

  // Implement heap_backing, for whole 2 MiB of the heap's memory. place() first gives the present pages back to the
  // system; it returns false if no memory has room: refusal() then has the reason, until the next place().
  bool place(unsigned arena, std::byte* address, std::size_t bytes, huge_page_maker& huge) noexcept;
  void unplace(std::byte* address, std::size_t bytes) noexcept;
  // Moves the pages of a block to the memories of an arena's intent. The block keeps its address, and its memory still
  // belongs to its arena. Budget that the block already holds is used for it again. If the block cannot be moved,
  // nothing changes. pre: whole chunks, which belong to the block alone.
  placement_report move(unsigned arena, std::byte* address, std::size_t bytes);
  // Handles the deallocation of a block. If the block has been moved, its pages are dropped: whole 2 MiB of it are not
  // placed any more; the rest is promised again along the ordering of its arena, in the last memory if none has room.
  // Returns whether the block had been moved.
  bool freed(std::byte* address) noexcept;
  [[nodiscard]] const std::optional<placement_report>& refusal() const noexcept { return refusal_; }

  // The intent, the ordering and the way of populating of an arena. find() returns how much of the 2 MiB around an
  // address is in which memory, or null for memory that is not placed.
  [[nodiscard]] const intent& what(unsigned arena) const noexcept { return arenas_[arena - 1].what; }
  [[nodiscard]] const machine::memory_order& order(unsigned arena) const noexcept {
    return arenas_[arena - 1].by.order;
  }
  [[nodiscard]] bool populates(unsigned arena) const noexcept { return arenas_[arena - 1].populates; }
  struct part {
    unsigned arena = 0;
    placement_report report;
  };
  [[nodiscard]] const part* find(const std::byte* address) const noexcept;
  // As find(), for a block that has been moved, by its start; null for other blocks.
  [[nodiscard]] const part* find_moved(const std::byte* address) const noexcept;

 private:
  struct arena {
    intent what;
    bool populates;
    intent_placer by;
    std::vector<placed_row*> shown = {};  // one for each memory of the ordering
  };

  struct moved {
    std::size_t bytes;
    part now;
  };
  // A block's part of the bytes of a 2 MiB unit in each memory. It is an estimate: the same share of each memory.
  struct share {
    part* of;
    std::vector<std::uint64_t> bytes;  // by index of the ordering's memories
  };
  [[nodiscard]] static share all_of(part& of);
  [[nodiscard]] std::vector<share> shares_of(std::byte* address, std::size_t bytes);
  static void add_held(std::vector<held_bytes>& held, byte_budget* budget, std::uint64_t bytes);
  void take_out(const share& what) noexcept;
  void prefer_node_of_job(std::byte* address, std::size_t bytes) const noexcept;
  void add_to(part& to, const placement_report& more) noexcept;
  void show(const part& of, void (*change)(placed_row* row, std::uint64_t bytes) noexcept) noexcept;

  job_control& control_;
  segment_promises& promises_;
  placed_table& shown_;
  const machine::orderings& orderings_;
  std::vector<arena> arenas_;                // index: number - 1
  std::map<const std::byte*, part> parts_;   // key: start
  std::map<const std::byte*, moved> moved_;  // key: start
  std::optional<placement_report> refusal_;
};

}  // namespace situ::detail
