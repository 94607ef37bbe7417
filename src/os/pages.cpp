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
  range_ = os::mapping::anywhere(rounded, PROT_READ | PROT_WRITE, os::backing::zeros());
  if (range_ && rounded >= huge_page_bytes) ::madvise(data(), rounded, MADV_HUGEPAGE);  // a refusal costs speed only
}

int pages::prefer_node(std::uint32_t node) const noexcept {
  constexpr unsigned long mask_bits = 4096;
  constexpr unsigned long word_bits = 8 * sizeof(unsigned long);
  unsigned long mask[mask_bits / word_bits] = {};
  if (node >= mask_bits) return EINVAL;
  mask[node / word_bits] |= 1ul << (node % word_bits);
  if (::syscall(SYS_mbind, data(), size(), MPOL_PREFERRED, mask, mask_bits, 0) == 0) return 0;
  return node == 0 && (errno == ENOSYS || errno == EPERM) ? 0 : errno;
}

bool pages::lie_on_node(std::uint32_t node) const noexcept {
  constexpr std::size_t asked = 16;
  for (std::size_t i = 0; i < asked; ++i) {
    void* page = data() + (size() - page_bytes) / (asked - 1) * i / page_bytes * page_bytes;
    int found = 0;
    if (::syscall(SYS_move_pages, 0, 1ul, &page, nullptr, &found, 0) != 0) return true;
    if (found != static_cast<int>(node)) return false;
  }
  return true;
}

}  // namespace situ::detail
