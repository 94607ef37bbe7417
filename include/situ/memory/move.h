// Moves the pages of a block to other memories, for when its use changes or the state of the machine has changed.
//
//   const situ::move_report done = situ::move_block(field, situ::intent::capacity);  // the address stays
//
// Call move_block() at the place whose segment holds the block, from the place's own thread. Other places may read and
// write the block during the call.
#pragma once

#include <situ/machine/intent.h>
#include <situ/memory/placement.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace situ {

// The result of a move.
struct move_report {
  memory_placement now;           // where the block is now
  std::uint64_t moved_bytes = 0;  // bytes that are in another memory than before
  // bytes of pages that are not where the ordering has them, because other processes map them or the memory became
  // full
  std::uint64_t held_bytes = 0;
  bool needs_privilege = false;  // other processes map some of them: moving these takes CAP_SYS_NICE

  // "96 MiB moved; now 96 MiB in dram 0, 32 MiB in hbm 1". cost: linear in the parts.
  [[nodiscard]] std::string to_text() const;
};

namespace detail {
[[nodiscard]] move_report move_block(void* block, const intent& what);
}

// Moves the pages of a block along the ordering of an intent: each memory is filled up to its threshold, then the next
// one is used. The address, the values and other places' pointers stay valid. Untouched pages will come from the
// chosen memory when they are first touched. If the block has this intent already, the call corrects pages that the
// kernel had to put elsewhere for want of room. After deallocation, the block's memory serves its previous use again.
// `block` must be the result of an allocation of more than 64 KiB at this place: smaller blocks share their pages with
// others. Errors: bad_argument for a smaller block; bad_address if it is no live block of this place; out_of_memory if
// no memory of the ordering has room, with a table of what each holds (nothing has moved then), unless the ordering
// lets its last memory take the rest; the errors of allocate with an intent; no_runtime. cost: 0.1 us for 4 KiB that
// stay, about 1 us for 4 KiB that move.
template <class T>
move_report move_block(ptr<T> block, const intent& what) {
  return detail::move_block(const_cast<std::remove_cv_t<T>*>(block.local()), what);
}

}  // namespace situ
