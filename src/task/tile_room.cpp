#include "task/tile_room.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/mapping.h"
#include "os/mapping_error.h"

namespace situ::detail {
namespace {

[[noreturn]] void refuse_addresses(const std::string& name, std::size_t bytes) {
  throw_error(errc::out_of_memory,
              fmt::format("{}: no addresses for {} bytes: {}", name, bytes, why_not_mapped(errno)));
}

os::mapping map_anonymous(std::size_t bytes, int protection, const std::string& name) {
  os::mapping mapped = os::mapping::anywhere(bytes, protection, os::backing::zeros());
  if (!mapped) refuse_addresses(name, bytes);
  return mapped;
}

}  // namespace

tile_room::tile_room(std::size_t tiles, std::size_t tile_bytes, std::size_t frames, const page_source& source,
                     const std::string& name)
    : name_{name},
      tile_bytes_{tile_bytes},
      bytes_{std::max<std::size_t>(tiles, 1) * tile_bytes},
      frame_bytes_{frames * tile_bytes} {
  reserved_ = map_anonymous(bytes_ + huge_page_bytes, PROT_NONE, name_);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(reserved_.begin()) % huge_page_bytes;
  base_ = reserved_.begin() + (huge_page_bytes - beyond) % huge_page_bytes;
  map_frames(source);
}

void tile_room::map_frames(const page_source& source) {
  if (!source.has_file()) {
    frames_ = map_anonymous(frame_bytes_, PROT_READ | PROT_WRITE, name_);
    share_ = source.place(frames_.begin(), frame_bytes_, name_);
    // The pages are placed. Give all of them one policy, which the kernel's balancing does not touch: otherwise a frame
    // might be two mappings, which do not move together.
    if (source.populates()) ::syscall(SYS_mbind, frames_.begin(), frame_bytes_, MPOL_PREFERRED, nullptr, 0UL, 0U);
    return;
  }
  file_ = source.open(frame_bytes_, name_);
  if (tile_bytes_ % file_.unit() != 0)
    throw_error(errc::bad_argument, fmt::format("{}: tiles of {} bytes in {}: give a multiple of {}", name_,
                                                tile_bytes_, source.description(), file_.unit()));
  frame_bytes_ = file_.bytes();
  frames_ = file_.map(0, frame_bytes_);
  if (!frames_) refuse_addresses(name_, frame_bytes_);
}

void tile_room::show(std::size_t tile_number, std::size_t frame_number) {
  const bool is_there = file_.bytes() != 0 ? file_.map_over(tile(tile_number), frame_number * tile_bytes_, tile_bytes_)
                                           : os::move_pages_over(tile(tile_number), frame(frame_number), tile_bytes_);
  if (!is_there)
    throw_error(errc::out_of_memory,
                fmt::format("{}: no room for the mapping of a tile: {} (vm.max_map_count says how many a process has)",
                            name_, why_not_mapped(errno)));
}

// Reserves the addresses of the tile anew, so that they form one mapping with their neighbours again.
void tile_room::hide(std::size_t tile_number, std::size_t frame_number) noexcept {
  std::byte* const at = tile(tile_number);
  if (file_.bytes() == 0 && !os::move_pages_over(frame(frame_number), at, tile_bytes_))
    ::madvise(at, tile_bytes_, MADV_DONTNEED);
  if (!os::reserve_over(at, tile_bytes_)) os::protect(at, tile_bytes_, PROT_NONE);
}

void tile_room::allow(std::size_t tile_number, tile_access access) noexcept {
  const int rights = access == tile_access::none    ? PROT_NONE
                     : access == tile_access::reads ? PROT_READ
                                                    : PROT_READ | PROT_WRITE;
  os::protect(tile(tile_number), tile_bytes_, rights);
}

}  // namespace situ::detail
