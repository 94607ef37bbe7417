// From an intent to what places pages for it.
//
//   intent --(orderings)--> the memories for it, best first --(budgets)--> placer
//
// The one way there: arenas of segments go it, and pages of one process (page_source.h).
#pragma once

#include <situ/machine/intent.h>
#include <situ/machine/orderings.h>

#include "memory/job.h"
#include "memory/placer.h"

#include <span>

namespace situ::detail {

struct intent_placer {
  machine::memory_order order;
  placer places;
};

// As seen from the processors of the calling thread. Those who share `budgets` share the bytes of memories that have a
// budget, and those who share `promised` what is promised of the others (null: it promises nothing); they outlive the
// placer. least_chunk: as of spill_ordering. Throws bad_argument or not_supported where a memory of the ordering cannot
// be used, out_of_memory where there are more memories with budgets than there are budgets.
[[nodiscard]] intent_placer make_intent_placer(const intent& what, const machine::orderings& from,
                                               std::span<shared_budget> budgets, promises* promised = nullptr,
                                               std::size_t least_chunk = spill_ordering{}.least_chunk);

// Of this machine, read once a process; what is left out of the files is said in the log. Throws bad_file.
[[nodiscard]] const machine::orderings& orderings_here();

}  // namespace situ::detail
