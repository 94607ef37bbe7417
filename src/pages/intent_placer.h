// Makes the placer for an intent.
//
//   intent --(orderings)--> the memories for it, best first --(budgets)--> placer
//
// Both arenas of segments and pages of one process (page_source.h) get their placers here.
#pragma once

#include <situ/machine/intent.h>
#include <situ/machine/orderings.h>

#include "pages/placer.h"
#include "pages/room_ledger.h"

#include <span>

namespace situ::detail {

struct intent_placer {
  machine::memory_order order;
  placer places;
};

// Makes a placer for the ordering as seen from the processors of the calling thread. All users of `budgets` share the
// bytes of memories with a budget, and all users of `promised` share the bytes promised in the others (null: the
// placer promises nothing); both outlive the placer. least_chunk: as in spill_ordering. Throws bad_argument if
// the ordering is empty, bad_argument or not_supported if a memory of it cannot be used, out_of_memory if there are more memories with budgets than
// `budgets` has room for.
[[nodiscard]] intent_placer make_intent_placer(const intent& what, const machine::orderings& from,
                                               std::span<shared_budget> budgets, promises* promised = nullptr,
                                               std::size_t least_chunk = spill_ordering{}.least_chunk);

// Returns the orderings of this machine, read once per process; entries of the files that are ignored are logged.
// Throws bad_file.
[[nodiscard]] const machine::orderings& orderings_here();

}  // namespace situ::detail
