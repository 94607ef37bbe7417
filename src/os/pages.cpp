#include "os/pages.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace situ::detail {

pages::pages(std::size_t bytes) noexcept {
  const std::size_t unit = bytes >= huge_page_bytes ? huge_page_bytes : page_bytes;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* const at = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return;
  if (rounded >= huge_page_bytes) ::madvise(at, rounded, MADV_HUGEPAGE);  // a refusal costs speed only
  at_ = static_cast<std::byte*>(at);
  bytes_ = rounded;
}

pages::~pages() {
  if (at_ != nullptr) ::munmap(at_, bytes_);
}

int pages::prefer_node(std::uint32_t node) const noexcept {
  constexpr unsigned long mask_bits = 4096;
  constexpr unsigned long word_bits = 8 * sizeof(unsigned long);
  unsigned long mask[mask_bits / word_bits] = {};
  if (node >= mask_bits) return EINVAL;
  mask[node / word_bits] |= 1ul << (node % word_bits);
  if (::syscall(SYS_mbind, at_, bytes_, MPOL_PREFERRED, mask, mask_bits, 0) == 0) return 0;
  return node == 0 && (errno == ENOSYS || errno == EPERM) ? 0 : errno;
}

bool pages::lie_on_node(std::uint32_t node) const noexcept {
  constexpr std::size_t asked = 16;
  for (std::size_t i = 0; i < asked; ++i) {
    void* page = at_ + (bytes_ - page_bytes) / (asked - 1) * i / page_bytes * page_bytes;
    int found = 0;
    if (::syscall(SYS_move_pages, 0, 1ul, &page, nullptr, &found, 0) != 0) return true;
    if (found != static_cast<int>(node)) return false;
  }
  return true;
}

}  // namespace situ::detail
