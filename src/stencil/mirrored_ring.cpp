#include "stencil/mirrored_ring.h"

#include "os/mapping_error.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; older C libraries do not name it
#endif

namespace situ::stencil {

std::size_t mirrored_ring::round_up(std::size_t bytes) noexcept {
  return bytes < 4 * huge_bytes ? bytes : (bytes + huge_bytes - 1) / huge_bytes * huge_bytes;
}

mirrored_ring::mirrored_ring(std::size_t bytes, const situ::detail::page_source& from) : mirrored_ring{} {
  file_ = from.open(bytes, "a ring of slots");
  bytes_ = bytes = file_.bytes();
  range_ = situ::os::mapping::reserve(mapped_bytes());
  bool good = static_cast<bool>(range_);
  if (good)
    at_ = range_.begin() + (huge_bytes - reinterpret_cast<std::uintptr_t>(range_.begin()) % huge_bytes) % huge_bytes;
  for (int copy = 0; copy < 2 && good; ++copy)
    good = file_.map_over(at_ + static_cast<std::size_t>(copy) * bytes, 0, bytes);
  if (!good)
    throw_error(errc::out_of_memory, fmt::format("no fast memory for a ring of {}: {}", format_bytes(bytes),
                                                 situ::detail::why_not_mapped(errno)));
  if (from.has_file()) return;
  const bool is_huge = bytes % huge_bytes == 0;
  situ::detail::huge_page_maker huge;
  share_ = from.place(at_, bytes, "a ring of slots", is_huge ? &huge : nullptr);
  if (!is_huge) return;
  // Linux seldom gives huge pages to shared memory by itself. It moves present pages into huge ones on request; a
  // refusal costs speed only.
  for (std::size_t page = 0; page < bytes; page += huge_bytes) at_[page] = std::byte{0};
  for (int copy = 0; copy < 2; ++copy) madvise(at_ + static_cast<std::size_t>(copy) * bytes, bytes, MADV_COLLAPSE);
}

}  // namespace situ::stencil
