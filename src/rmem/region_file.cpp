#include "rmem/region_file.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "rmem/protocol.h"

namespace situ::rmem::detail {

region_file region_file::make(const memory_kind& kind, std::uint64_t bytes, std::uint32_t server) {
  region_file made;
  made.stretch = {kind, bytes + bytes_behind(kind), "a region of remote memory"};
  made.mapped = situ::detail::pages{made.stretch.map(0, made.stretch.bytes())};
  if (made.mapped.empty())
    throw_error(errc::out_of_memory,
                fmt::format("server {} has no addresses left for {}", server, format_bytes(bytes)));
  return made;
}

std::uint64_t region_file::bytes_behind(const memory_kind& kind) noexcept { return kind.has_file() ? 0 : notice_bytes; }

std::string region_file::path() const { return fmt::format("/proc/self/fd/{}", stretch.own_file()); }

bool region_file::seal(bool against_writes) const noexcept {
  constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;
  constexpr int all = size_seals | F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;
  const int file = stretch.own_file();
  const int has = ::fcntl(file, F_GET_SEALS);  // the seal against execution may be among them
  return has >= 0 && (has & all) == size_seals &&
         ::fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | (against_writes ? F_SEAL_FUTURE_WRITE : 0)) == 0;
}

bool region_file::open_to_read() {
  to_read = os::descriptor{::open(path().c_str(), O_RDONLY | O_CLOEXEC)};
  return static_cast<bool>(to_read);
}

void region_file::set_notice() noexcept {
  std::atomic_ref notice{*reinterpret_cast<std::uint32_t*>(mapped.data() + (mapped.size() - notice_bytes))};
  // Release: a reader that sees a later change of the region, which now lies elsewhere, sees the notice, too.
  notice.store(1, std::memory_order_release);
}

// pread reads pages that were never touched without allocating them; a load would allocate them.
void region_file::copy_to(region_file& fresh, std::uint64_t bytes) const noexcept {
  constexpr std::size_t page = situ::detail::page_bytes;
  const int file = stretch.own_file();
  const std::byte* const from = mapped.data();
  std::byte* const to = fresh.mapped.data();
  alignas(64) std::array<std::byte, 16 * page> some;
  for (std::size_t at = 0; at < bytes; at += some.size()) {
    const std::size_t now = std::min(some.size(), bytes - at);
    if (::pread(file, some.data(), now, static_cast<off_t>(at)) != static_cast<ssize_t>(now))
      std::memcpy(some.data(), from + at, now);
    for (std::size_t i = 0; i < now; i += page) {
      const std::byte* const each = some.data() + i;
      const bool is_zero = each[0] == std::byte{0} && std::memcmp(each, each + 1, page - 1) == 0;
      if (!is_zero) std::memcpy(to + at + i, each, page);
    }
  }
}

}  // namespace situ::rmem::detail
