#include "os/mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace situ::os {
namespace {

void* map_range(void* begin, std::size_t bytes, int protection, const backing& shows, int where) noexcept {
  return ::mmap(begin, bytes, protection, shows.flags | where, shows.file, static_cast<off_t>(shows.offset));
}

}  // namespace

mapping mapping::anywhere(std::size_t bytes, int protection, const backing& shows) noexcept {
  void* const got = map_range(nullptr, bytes, protection, shows, 0);
  return got == MAP_FAILED ? mapping{} : mapping{got, bytes};
}

mapping mapping::at_free(void* begin, std::size_t bytes, int protection, const backing& shows) noexcept {
  void* const got = map_range(begin, bytes, protection, shows, MAP_FIXED_NOREPLACE);
  if (got == MAP_FAILED) return {};
  if (got == begin) return {got, bytes};
  unmap(got, bytes);  // a kernel before 4.17, or a sanitizer, took the address for a hint
  errno = EEXIST;
  return {};
}

void mapping::move_front(void* to, std::size_t bytes) noexcept {
  if (::mremap(begin_, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED) {
    std::memcpy(to, begin_, bytes);
    ::munmap(begin_, bytes);
  }
  bytes_ -= bytes;
  begin_ = bytes_ != 0 ? begin_ + bytes : nullptr;
}

void mapping::unmap_range() noexcept {
  const int before = errno;
  ::munmap(begin_, bytes_);
  errno = before;
}

bool protect(void* begin, std::size_t bytes, int protection) noexcept {
  return ::mprotect(begin, bytes, protection) == 0;
}

bool map_over(void* begin, std::size_t bytes, int protection, const backing& shows) noexcept {
  return map_range(begin, bytes, protection, shows, MAP_FIXED) != MAP_FAILED;
}

bool move_pages_over(void* to, void* from, std::size_t bytes) noexcept {
  return ::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != MAP_FAILED;
}

void unmap(void* begin, std::size_t bytes) noexcept { ::munmap(begin, bytes); }

// Kernels since 6.3 expect a flag that says whether the file may be executed; older ones reject the flag.
descriptor memory_file(const char* name, unsigned flags) noexcept {
  descriptor made{::memfd_create(name, flags | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL)};
  if (made || errno != EINVAL) return made;
  return descriptor{::memfd_create(name, flags | MFD_ALLOW_SEALING)};
}

}  // namespace situ::os
