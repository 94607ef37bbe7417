// Reports which of the machine's memories hold the pages of a block.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/memory/ptr.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace situ {

// One memory, and the number of a block's bytes in it.
struct memory_part {
  std::string memory;       // "hbm 1", or its name in a file of orderings
  std::uint32_t node = 0;   // the NUMA node's number
  std::uint64_t bytes = 0;  // bytes of the block in this memory, rounded up

  friend bool operator==(const memory_part&, const memory_part&) = default;
};

// The distribution of a block over memories.
struct memory_placement {
  std::string intent;                 // the intent that it was allocated for; empty: none
  std::vector<memory_part> parts;     // with an intent: in the order of its ordering; else by node
  std::uint64_t untouched_bytes = 0;  // in pages that were never touched and do not exist
  std::uint64_t by_kernel_bytes = 0;  // placed by one of the kernel's ordered policies; the rest by Situ

  // "96 MiB in hbm 1, 32 MiB in dram 0". cost: linear in the parts.
  [[nodiscard]] std::string to_text() const;
};

namespace detail {
[[nodiscard]] memory_placement placement_of(const void* block);
}

// Returns where the pages of a block of this place's segment are now, as the kernel reports it. For memories with a
// budget it returns the chosen memory. `block` must be the result of an allocation. Errors: bad_address if it is no
// live block of this place, not_supported if the kernel does not tell (a container that forbids move_pages),
// no_runtime.
// cost: about 0.1 us for 4 KiB.
template <class T>
[[nodiscard]] memory_placement placement(ptr<T> block) {
  return detail::placement_of(const_cast<std::remove_cv_t<T>*>(block.local()));
}

}  // namespace situ
