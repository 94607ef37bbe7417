// Where memory lies: which of the machine's memories hold the pages of a block.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/memory/ptr.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace situ {

// A memory and what it holds of a block.
struct memory_part {
  std::string memory;       // "hbm 1", or what a file of orderings calls it
  std::uint32_t node = 0;   // the NUMA node's number
  std::uint64_t bytes = 0;  // of the block as it lies there, rounded up

  friend bool operator==(const memory_part&, const memory_part&) = default;
};

// Where a block lies.
struct memory_placement {
  std::string intent;                 // that it was allocated for; empty: none
  std::vector<memory_part> parts;     // by an intent: in the order of its ordering; else by node
  std::uint64_t untouched_bytes = 0;  // pages that nobody has touched yet: they do not exist
  std::uint64_t by_kernel_bytes = 0;  // what the kernel placed by a policy of its own; Situ the rest

  // "96 MiB in hbm 1, 32 MiB in dram 0". cost: linear in the parts.
  [[nodiscard]] std::string to_text() const;
};

namespace detail {
[[nodiscard]] memory_placement placement_of(const void* block);
}

// Where the pages of a block of this place's segment are now, as the kernel says it; memories with a budget as they
// were chosen. `block` is what an allocation returned. Errors: bad_address where it is no live block of this place,
// not_supported where the kernel does not tell (a container that forbids move_pages), no_runtime.
// cost: about 0.1 us for 4 KiB.
template <class T>
[[nodiscard]] memory_placement placement(ptr<T> block) {
  return detail::placement_of(const_cast<std::remove_cv_t<T>*>(block.local()));
}

}  // namespace situ
