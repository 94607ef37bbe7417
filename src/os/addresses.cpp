#include "os/addresses.h"

#include <sys/mman.h>

#include <cstring>

namespace situ::detail {

std::byte* reserve_addresses(std::size_t bytes) noexcept {
  void* const range = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return range == MAP_FAILED ? nullptr : static_cast<std::byte*>(range);
}

void release_addresses(std::byte* from, std::size_t bytes) noexcept { ::munmap(from, bytes); }

bool open_addresses(std::byte* from, std::size_t bytes) noexcept {
  return ::mprotect(from, bytes, PROT_READ | PROT_WRITE) == 0;
}

void move_pages(std::byte* to, std::byte* from, std::size_t bytes) noexcept {
  if (::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED) return;
  std::memcpy(to, from, bytes);
  ::munmap(from, bytes);
}

}  // namespace situ::detail
