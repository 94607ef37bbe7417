// Blocks whose pages go to other memories, where what they are for changes or the machine has changed beneath them.
//
//   const situ::move_report done = situ::move(field, situ::intent::capacity);  // the address stays
//
// The place whose segment holds the block calls it, from its own thread. Others may read and write the block meanwhile.
#pragma once

#include <situ/machine/intent.h>
#include <situ/memory/placement.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace situ {

// What has come of a move.
struct move_report {
  memory_placement now;           // where the block lies
  std::uint64_t moved_bytes = 0;  // that lie in another memory than before
  // Pages that are elsewhere than the ordering has them: other processes map them, or the memory has become full.
  std::uint64_t held_bytes = 0;
  bool needs_privilege = false;  // some of those are mapped by others: moving them takes CAP_SYS_NICE

  // "96 MiB moved; now 96 MiB in dram 0, 32 MiB in hbm 1". cost: linear in the parts.
  [[nodiscard]] std::string to_text() const;
};

namespace detail {
[[nodiscard]] move_report move_block(void* block, const intent& what);
}

// Takes the pages of a block along the ordering of an intent: each memory until it is filled up to its threshold, then
// the next. The address, the values and other places' pointers stay. Pages that nobody has touched come from there when
// they are. For the intent that the block has already it corrects what the kernel put elsewhere, since somebody else
// had taken the room. Given back, the block's memory serves what it served before. `block` is what an allocation of
// more than 64 KiB returned at this place: smaller blocks share their pages with others. Errors: bad_argument for a
// smaller block; bad_address where it is no live block of this place; out_of_memory where no memory of the ordering has
// room, with a table of what each has, unless the ordering has the last one take it: then nothing has moved; what
// allocate throws for an intent; no_runtime. cost: 0.1 us for 4 KiB that stay, about 1 us for those that move.
template <class T>
move_report move(ptr<T> block, const intent& what) {
  return detail::move_block(const_cast<std::remove_cv_t<T>*>(block.local()), what);
}

}  // namespace situ
