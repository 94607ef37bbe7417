// The arenas of a segment whose pages lie where an intent wants them.
//
//   intent --(orderings)--> the memories for it, best first --(placer)--> pages of 2 MiB, one after the other
//
// An arena is made when its intent is first used, and gets its memory in 2 MiB: each is placed along the ordering then
// and exists from then on; or, in an arena of its own, is promised then and comes when it is touched. What each holds
// of which memory is kept, since budgets and promises get it back when it is given up.
//
// Owner: the place's own thread.
#pragma once

#include "memory/heap.h"
#include "memory/intent_placer.h"
#include "memory/placed_table.h"
#include "memory/segment_promises.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace situ::detail {

class intent_arenas {
 public:
  // `shown` tells others what lies where. It, the promises and the orderings outlive it.
  intent_arenas(job_control& control, segment_promises& promised, placed_table& shown,
                const machine::orderings& all) noexcept
      : control_{control}, promises_{promised}, shown_{shown}, orderings_{all} {}

  // The arena of a heap for an intent, made where it is the first one. cost: a look at the arenas there are; for the
  // first, the ordering is looked up and its nodes are opened. Throws bad_argument, not_supported or out_of_memory
  // where there can be none.
  [[nodiscard]] unsigned arena_for(const intent& what, bool populate, heap& in);

  // Whole 2 MiB of the heap's memory, for heap_backing. place() gives what was there before back to the system; false
  // where no memory has room: refusal() tells then, until the next place().
  bool place(unsigned arena, std::byte* address, std::size_t bytes, huge_page_maker& huge) noexcept;
  void unplace(std::byte* address, std::size_t bytes) noexcept;
  // Pages of a block to the memories of an arena's intent; the block stays where it is, and with the arena that its
  // memory comes from. What the block has of budgets already serves it again. Where it
  // cannot be moved, all is as before. pre: whole chunks, which are the block's own.
  placement_report move(unsigned arena, std::byte* address, std::size_t bytes);
  // A block is given back. If it has been moved, its pages go. Whole 2 MiB are not placed any more then; what it has of
  // others will come again as their arena wants it, from the last memory where none has room. Whether it had been
  // moved.
  bool freed(std::byte* address) noexcept;
  [[nodiscard]] const std::optional<placement_report>& refusal() const noexcept { return refusal_; }

  // The intent and the ordering of an arena, and what of 2 MiB lies in which of its memories; null for memory that is
  // not placed.
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
  // The same for a block that has been moved, by its start; null for one that has not.
  [[nodiscard]] const part* find_moved(const std::byte* address) const noexcept;

 private:
  struct arena {
    intent what;
    bool populates;
    intent_placer by;
    std::vector<placed_row*> shown = {};  // for each memory of the ordering
  };

  struct moved {
    std::size_t bytes;
    part now;
  };
  // What a block has of a part's memory, as far as that is known: the same share of each.
  struct share {
    part* of;
    std::vector<std::uint64_t> bytes;  // by the ordering's memories
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
  std::vector<arena> arenas_;                // by their number - 1
  std::map<const std::byte*, part> parts_;   // by their start
  std::map<const std::byte*, moved> moved_;  // likewise
  std::optional<placement_report> refusal_;
};

}  // namespace situ::detail
