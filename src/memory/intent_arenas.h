// The arenas of a segment whose pages lie where an intent wants them.
//
//   intent --(orderings)--> the memories for it, best first --(placer)--> pages of 2 MiB, one after the other
//
// An arena is made when its intent is first used, and gets its memory in 2 MiB: each is placed along the ordering then
// and exists from then on. What each holds of which memory is kept, since budgets get it back when it is given up.
//
// Owner: the place's own thread.
#pragma once

#include "memory/heap.h"
#include "memory/intent_placer.h"
#include "memory/placed_table.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace situ::detail {

class intent_arenas {
 public:
  // `shown` tells others what lies where. It and the orderings outlive it.
  intent_arenas(job_control& control, placed_table& shown, const machine::orderings& all) noexcept
      : control_{control}, shown_{shown}, orderings_{all} {}

  // The arena of a heap for an intent, made where it is the first one. cost: a look at the arenas there are; for the
  // first, the ordering is looked up and its nodes are opened. Throws bad_argument, not_supported or out_of_memory
  // where there can be none.
  [[nodiscard]] unsigned arena_for(const intent& what, heap& in);
  // That of the last call, if it was for this intent; else heap::plain.
  [[nodiscard]] unsigned last_if_for(const intent& what) const noexcept {
    return last_ != heap::plain && arenas_[last_ - 1].what == what ? last_ : heap::plain;
  }

  // Whole 2 MiB of the heap's memory, for heap_backing. place() gives what was there before back to the system; false
  // where no memory has room: refusal() tells then, until the next place().
  bool place(unsigned arena, std::byte* address, std::size_t bytes, huge_page_maker& huge) noexcept;
  void unplace(std::byte* address, std::size_t bytes) noexcept;
  [[nodiscard]] const std::optional<placement_report>& refusal() const noexcept { return refusal_; }

  // The intent and the ordering of an arena, and what of 2 MiB lies in which of its memories; null for memory that is
  // not placed.
  [[nodiscard]] const intent& what(unsigned arena) const noexcept { return arenas_[arena - 1].what; }
  [[nodiscard]] const machine::memory_order& order(unsigned arena) const noexcept {
    return arenas_[arena - 1].by.order;
  }
  struct part {
    unsigned arena = 0;
    placement_report report;
  };
  [[nodiscard]] const part* find(const std::byte* address) const noexcept;

 private:
  struct arena {
    intent what;
    intent_placer by;
    std::vector<placed_row*> shown = {};  // for each memory of the ordering
  };

  void show(const part& of, void (*change)(placed_row* row, std::uint64_t bytes) noexcept) noexcept;

  job_control& control_;
  placed_table& shown_;
  const machine::orderings& orderings_;
  std::vector<arena> arenas_;               // by their number - 1
  unsigned last_ = heap::plain;             // that was asked for
  std::map<const std::byte*, part> parts_;  // by their start
  std::optional<placement_report> refusal_;
};

}  // namespace situ::detail
