// Reads and checks a pool's header: docs/formats/pool.md lists the checks.
#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pool/pool_file.h"

namespace situ::detail {
namespace {

ssize_t read_again(int descriptor, void* to, std::size_t bytes, std::uint64_t from) noexcept {
  ssize_t got = -1;
  do got = ::pread(descriptor, to, bytes, static_cast<off_t>(from));
  while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

// Reports unknown features by the names that the pool's maker wrote into the header, because this build has no names
// for them.
void check_pool_features(const pool_header& header, const std::string& path) {
  const std::uint64_t unknown = features_of(header) & ~known_pool_features;
  if (unknown == 0) return;
  std::string names;
  for (const char each : std::string_view{header.feature_names, ::strnlen(header.feature_names, 64)})
    names += each >= ' ' && each <= '~' ? each : '?';
  throw_error(errc::bad_file,
              fmt::format("pool {}, byte {}: it has features that this build of Situ does not know ({:#x}; all that it "
                          "has are {}); use the Situ that made it, or a newer one",
                          path, offsetof(pool_header, features), unknown, names.empty() ? "without names" : names));
}

// Reads and checks the header. If the pool is being moved, returns the header as it was before the move.
pool_header pool_file::read_header(std::uint64_t file_bytes) {
  pool_header header{};
  const ssize_t got = file_bytes < pool_map_offset ? 0 : read_again(descriptor(), &header, sizeof header, 0);
  if (got < 0) throw_refused(path_, fmt::format("its head cannot be read: {}", std::strerror(errno)));
  if (got != sizeof header)
    throw_lost(path_, file_bytes, fmt::format("the file ends, and a pool has at least {} bytes", pool_map_offset));
  salt_ = add_to_check(header.identity[0], header.identity[1]);
  std::uint64_t places[2]{};
  const bool is_right = header.check == check_of(0, &header, offsetof(pool_header, check));
  if (!is_right && read_again(descriptor(), places, sizeof places, pool_move_offset) < 0)
    throw_refused(path_, fmt::format("its head cannot be read: {}", std::strerror(errno)));
  if (!is_right && is_sealed(places[0], salt_) && is_sealed(places[1], salt_)) {
    pool_header before = header;
    before.base = (places[0] >> 16) * chunk_bytes;
    before.check = check_of(0, &before, offsetof(pool_header, check));
    is_moving_ = header.check == (before.check ^ pool_moving_mark);
    if (is_moving_) header = before;
    moving_to_ = (places[1] >> 16) * chunk_bytes;
  }
  check_header(header, file_bytes);
  home_ = header.base;
  constexpr std::uint64_t address_end = std::uint64_t{1} << 47;
  log_bytes_ = log_bytes_of(header);
  is_redo_ = has_feature(header, redo_log_feature);
  has_checks_ = has_feature(header, object_checks_feature);
  const std::uint64_t reach = pool_reach(header.most_bytes, log_bytes_);
  const bool is_apart = moving_to_ >= home_ + reach || home_ >= moving_to_ + reach;
  if (is_moving_ && (moving_to_ == 0 || moving_to_ > address_end - reach || !is_apart))
    throw_damaged(path_, pool_move_offset, "it was being moved to where no pool is moved");
  heap_offset_ = pool_heap_offset(header.most_bytes, log_bytes_);
  most_chunks_ = static_cast<std::uint32_t>(header.most_bytes / chunk_bytes);
  return header;
}

void pool_file::check_header(const pool_header& header, std::uint64_t file_bytes) const {
  const auto is_right = [](const pool_header& of) {
    return of.check == check_of(0, &of, offsetof(pool_header, check));
  };
  if (std::memcmp(header.magic, pool_magic, sizeof pool_magic) != 0) {
    pool_header named = header;
    std::memcpy(named.magic, pool_magic, sizeof pool_magic);
    if (is_right(named))
      throw_damaged(path_, 0, "it does not begin with SITUPOOL, and the rest of its header is a pool's");
    throw_lost(path_, 0, "this is no pool: it does not begin with SITUPOOL");
  }
  const bool is_read_here = header.version >= pool_version && header.version <= pool_version_features;
  for (std::uint32_t version = pool_version; !is_read_here && version <= pool_version_features; ++version) {
    pool_header as_it_was = header;
    as_it_was.version = version;
    if (is_right(as_it_was))
      throw_damaged(path_, offsetof(pool_header, version),
                    fmt::format("its format version was {}, and {} stands there", version, header.version));
  }
  if (!is_read_here)
    throw_error(
        errc::bad_file,
        fmt::format("pool {}, byte {}: it has format version {}, and this build of Situ reads versions {} to {}; "
                    "use the Situ that wrote it",
                    path_, offsetof(pool_header, version), header.version, pool_version, pool_version_features));
  if (!is_right(header))
    throw_damaged(path_, offsetof(pool_header, check),
                  "the check of the header is wrong: some of its bytes have changed");
  check_pool_features(header, path_);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (header.page_bytes != page || header.architecture != pool_architecture)
    throw_error(errc::bad_file,
                fmt::format("pool {}, byte {}: it was made on a machine with pages of {} bytes and architecture {:#x}, "
                            "and here they are {} and {:#x}; use it there, and send its objects by messages",
                            path_, offsetof(pool_header, page_bytes), header.page_bytes, header.architecture, page,
                            pool_architecture));
  const std::uint64_t log_bytes = log_bytes_of(header);
  const bool is_log_sound =
      log_bytes >= pool_log_bytes && log_bytes <= most_pool_log_bytes && log_bytes % pool_log_bytes == 0;
  const std::uint64_t reach =
      pool_reach(std::min(header.most_bytes, most_pool_heap_bytes), std::min(log_bytes, most_pool_log_bytes));
  constexpr std::uint64_t address_end = std::uint64_t{1} << 47;
  if (!is_log_sound || header.chunk_bytes != chunk_bytes || header.most_bytes % chunk_bytes != 0 ||
      header.most_bytes < least_pool_heap_bytes || header.most_bytes > most_pool_heap_bytes ||
      header.base % chunk_bytes != 0 || header.base < chunk_bytes || header.base > address_end - reach ||
      header.promise > (has_feature(header, redo_log_feature) ? 2U : 1U))
    throw_damaged(path_, 0, "the header holds what no pool has, although its check is right");
  if (file_bytes < pool_heap_offset(header.most_bytes, log_bytes))
    throw_lost(path_, file_bytes,
               fmt::format("the file ends, and its heap begins at byte {}: it has been cut short",
                           pool_heap_offset(header.most_bytes, log_bytes)));
}

}  // namespace situ::detail
