// Vectors in huge pages.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "os/host.h"

namespace situ::detail {

// Reserves room for `count` values, in huge pages if the kernel has any. With small pages, random accesses would mostly
// cost a page walk, and sequential initialisation would mostly cost page faults.
template <class Values>
void reserve_huge(Values& values, std::size_t count) {
  values.reserve(count);
  const auto begin = reinterpret_cast<std::uintptr_t>(values.data());
  const std::uintptr_t first = (begin + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  const std::uintptr_t end = (begin + count * sizeof values[0]) / huge_page_bytes * huge_page_bytes;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace situ::detail
