// Allocates room for a pool's heap: first on the disk, then in the state of the file.
#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/fiemap.h>
#include <linux/fs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "base/file_size.h"
#include "os/host.h"
#include "pool/pool_file.h"

namespace situ::detail {
namespace {

// Allocates disk blocks for [from, to). Returns 0 or errno's value. Checks the limit on file sizes first, because the
// kernel would send a signal.
int allocate_range(int descriptor, std::uint64_t from, std::uint64_t to) noexcept {
  if (to > longest_file()) return EFBIG;
  int failed = 0;
  do {
    failed = ::posix_fallocate(descriptor, static_cast<off_t>(from), static_cast<off_t>(to - from));
  } while (failed == EINTR);
  return failed;
}

std::string room_of_disk(int descriptor) {
  struct statvfs disk{};
  if (::fstatvfs(descriptor, &disk) != 0) return "an unknown room";
  return format_bytes(std::uint64_t{disk.f_bavail} * disk.f_frsize);
}

struct byte_range {
  std::uint64_t from;
  std::uint64_t to;
};

// Returns true if each byte of a range has room on the disk, written or not; nullopt if the file system does not report
// it. cost: a system call for each 64 extents.
std::optional<bool> has_room(int descriptor, const byte_range& range) noexcept {
  constexpr std::uint32_t at_once = 64;
  alignas(fiemap) std::byte room[sizeof(fiemap) + at_once * sizeof(fiemap_extent)];
  auto* const told = new (room) fiemap;
  for (std::uint64_t at = range.from; at < range.to;) {
    *told = {};
    told->fm_start = at;
    told->fm_length = range.to - at;
    told->fm_extent_count = at_once;
    if (::ioctl(descriptor, FS_IOC_FIEMAP, told) != 0) return std::nullopt;
    if (told->fm_mapped_extents == 0) return false;
    for (std::uint32_t i = 0; i < told->fm_mapped_extents; ++i) {
      const fiemap_extent& each = told->fm_extents[i];
      if (each.fe_logical > at) return false;
      at = std::max<std::uint64_t>(at, each.fe_logical + each.fe_length);
      if ((each.fe_flags & FIEMAP_EXTENT_LAST) != 0) return at >= range.to;
    }
  }
  return true;
}

// Allocates disk blocks for a range that other processes may be writing: so it lets the kernel do that, and never
// writes zeroes. Returns 0 or errno's value; also returns 0 if the file system cannot allocate blocks, since holes then
// lack no room.
int fill_range(int descriptor, const byte_range& range) noexcept {
  if (range.to > longest_file()) return EFBIG;
  while (::fallocate(descriptor, 0, static_cast<off_t>(range.from), static_cast<off_t>(range.to - range.from)) != 0)
    if (errno != EINTR) return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
  return 0;
}

}  // namespace

std::uint64_t longest_file() noexcept { return file_size_limit(); }

void throw_too_long(const std::string& path, std::uint64_t bytes) {
  throw_error(errc::out_of_memory,
              fmt::format("pool {}: its file has to be {} long, and the limit on the size of files is {} for this "
                          "process (RLIMIT_FSIZE, ulimit -f); raise it",
                          path, format_bytes(bytes), format_bytes(longest_file())));
}

void throw_no_room(const std::string& path, int descriptor, std::uint64_t bytes, int reason) {
  struct stat status{};
  if (reason == EFBIG && ::fstat(descriptor, &status) == 0) {
    const std::uint64_t wanted = static_cast<std::uint64_t>(status.st_size) + bytes;
    if (wanted > longest_file()) throw_too_long(path, wanted);
  }
  throw_error(errc::out_of_memory,
              fmt::format("pool {}: {} more cannot be had: {}; its disk has {} left. Free some, or copy the pool to a "
                          "larger disk",
                          path, format_bytes(bytes), std::strerror(reason), room_of_disk(descriptor)));
}

int pool_file::get_room(std::uint32_t chunks) const noexcept {
  const std::uint64_t map_from = chunks_ == 0 ? 0 : map_offset() + std::uint64_t{chunks_} * 8;
  const std::uint64_t map_to = map_offset() + std::uint64_t{chunks} * 8;
  if (const int failed = allocate_range(descriptor(), map_from, map_to); failed != 0) return failed;
  const int failed = allocate_range(descriptor(), end(), heap_offset_ + std::uint64_t{chunks} * chunk_bytes);
  if (failed != 0 && ::ftruncate(descriptor(), static_cast<off_t>(end())) != 0) return errno;
  return failed;
}

// Writes zeroes rather than leaving a hole: a record that overwrites them does not change where the file's blocks are
// on the disk, so a wait for the record is a wait for its bytes alone.
int pool_file::write_empty_log() const noexcept {
  static constexpr std::byte zeroes[65536]{};
  for (std::uint64_t at = pool_log_offset; at != map_offset(); at += sizeof zeroes)
    if (::pwrite(descriptor(), zeroes, sizeof zeroes, static_cast<off_t>(at)) != static_cast<ssize_t>(sizeof zeroes))
      return errno != 0 ? errno : EIO;
  return 0;
}

void pool_file::lengthen(std::uint64_t to) {
  if (const int failed = allocate_range(descriptor(), end(), to); failed != 0) {
    cut();
    throw_no_room(path_, descriptor(), to - end(), failed);
  }
}

// The file may stay longer: nothing depends on its length.
void pool_file::cut() const noexcept {
  if (::ftruncate(descriptor(), static_cast<off_t>(end())) != 0) return;
}

std::uint64_t pool_file::length() const {
  struct stat status{};
  if (::fstat(descriptor(), &status) != 0)
    throw_refused(path_, fmt::format("its length cannot be seen: {}", std::strerror(errno)));
  return static_cast<std::uint64_t>(status.st_size);
}

// Allocates room for all that this opener may store to: a store into a hole of a full disk would raise a signal.
void pool_file::take_room() const {
  if (is_new_) return;
  // Bytes that are written by system calls must lie within the limit on file sizes: beyond it the kernel sends a
  // signal.
  if (is_redo_ && length() > longest_file()) throw_too_long(path_, length());
  std::vector<byte_range> stored{{0, map_offset() + std::uint64_t{chunks_} * 8}};
  const bool may_have_holes = *at<const std::uint64_t>(pool_holes_offset) != 0;
  const auto* const map = at<const std::uint64_t>(map_offset());
  if (!may_have_holes) stored.push_back({heap_offset_, end()});
  for (std::uint32_t i = 0; may_have_holes && i < chunks_; ++i) {
    run_entry entry;
    if (map[i] == 0 || !run_entry::unpack(map[i], i, salt_, entry)) continue;
    const std::uint64_t from = heap_offset_ + i * chunk_bytes;
    const std::uint64_t to = std::min(from + entry.chunks * chunk_bytes, end());
    if (stored.back().to == from)
      stored.back().to = to;
    else
      stored.push_back({from, to});
  }
  std::uint64_t bytes = 0;
  for (const byte_range& each : stored) bytes += each.to - each.from;
  struct stat status{};
  const bool may_be_whole = !may_have_holes && ::fstat(descriptor(), &status) == 0 &&
                            static_cast<std::uint64_t>(status.st_blocks) * 512 >= bytes;
  for (const byte_range& each : stored) {
    if (has_room(descriptor(), each).value_or(may_be_whole)) continue;
    const int failed = fill_range(descriptor(), each);
    if (failed == EFBIG) throw_too_long(path_, length());
    if (failed != 0) throw_no_room(path_, descriptor(), each.to - each.from, failed);
  }
}

bool pool_file::takes_room_for_area() const noexcept {
  const byte_range area{pool_area_offset, pool_area_offset + pool_area_bytes};
  return has_room(descriptor(), area).value_or(false) || fill_range(descriptor(), area) == 0;
}

void pool_file::fill_holes(std::uint32_t first, std::uint32_t chunks) const {
  if (*at<const std::uint64_t>(pool_holes_offset) == 0) return;
  const std::uint64_t from = heap_offset_ + first * chunk_bytes;
  const int failed = allocate_range(descriptor(), from, from + chunks * chunk_bytes);
  if (failed == EFBIG) throw_too_long(path_, length());
  if (failed != 0) throw_no_room(path_, descriptor(), chunks * chunk_bytes, failed);
}

// Writes one copy after the other: a crash can tear a copy only while the other one is whole.
void pool_file::write_state(std::uint32_t chunks) {
  auto* const first = at<pool_state_record>(pool_state_offset);
  auto* const second = at<pool_state_record>(pool_state_offset + pool_state_distance);
  const bool first_is_right = first->check == first->right_check(salt_);
  const bool second_is_right = second->check == second->right_check(salt_);
  const bool first_is_old = !first_is_right || (second_is_right && first->generation < second->generation);
  const std::uint64_t generation =
      std::max(first_is_right ? first->generation : 0, second_is_right ? second->generation : 0);
  pool_state_record next{generation + 1, chunks, 0};
  next.check = next.right_check(salt_);
  pool_state_record* const older = first_is_old ? first : second;
  pool_state_record* const other = first_is_old ? second : first;
  *older = next;
  persist_.flush(older, sizeof next, pool_step::grow_first);
  persist_.fence(pool_step::grow_first);
  *other = next;
  persist_.flush(other, sizeof next, pool_step::grow_second);
  chunks_ = chunks;
}

void pool_file::grow(std::uint32_t least, std::uint32_t wanted) {
  const std::uint32_t left = most_chunks_ - chunks_;
  if (least > left)
    throw_error(errc::out_of_memory,
                fmt::format("pool {}: it has {} of at most {}, and {} more are needed; make a pool with a larger "
                            "most_bytes, and bring the objects there",
                            path_, format_bytes(chunks_ * chunk_bytes), format_bytes(most_chunks_ * chunk_bytes),
                            format_bytes(least * chunk_bytes)));
  if (before_growth_) before_growth_();
  std::uint32_t more = std::clamp(wanted, least, left);
  const auto* const map = at<const std::uint64_t>(map_offset());
  const auto* const used =
      std::find_if(map + chunks_, map + chunks_ + more, [](std::uint64_t word) { return word != 0; });
  if (used != map + chunks_ + more)
    throw_damaged(path_, offset_of(used), "there is an entry of a chunk that the heap has not got yet");
  int failed = get_room(chunks_ + more);
  if (failed != 0 && more != least) {
    more = least;
    failed = get_room(chunks_ + more);
  }
  if (failed != 0) throw_no_room(path_, descriptor(), more * chunk_bytes, failed);
  // The file's new length must be durable before the state contains it.
  if (persist_.primitive() != flush_primitive::none && ::fsync(descriptor()) != 0) {
    const int failed_with = errno;
    persist_.fail();
    throw_refused(path_, fmt::format("cannot be brought to its device: {}", std::strerror(failed_with)));
  }
  write_state(chunks_ + more);
}

// Lets the kernel write zeroes, so that it makes the pages in large pieces, and no fault has to find each alone. If
// flushes are needed, this would send each page to the device twice. Errors are ignored: if a page cannot be had, a
// later fault reports it.
void pool_file::make_pages(std::uint32_t first, std::uint32_t chunks) noexcept {
  if (persist_.is_needed() || persist_.medium() != pool_medium::page_cache) return;
  alignas(page_bytes) static constexpr std::byte zeroes[chunk_bytes] = {};
  constexpr std::uint32_t at_once = 16;
  for (const std::uint32_t end = first + chunks; first < end;) {
    const std::uint32_t count = std::min(end - first, at_once);
    iovec pieces[at_once];
    std::fill_n(pieces, count, iovec{const_cast<std::byte*>(zeroes), sizeof zeroes});
    const std::uint64_t from = heap_offset_ + std::uint64_t{first} * chunk_bytes;
    if (::pwritev(descriptor(), pieces, static_cast<int>(count), static_cast<off_t>(from)) < 0) return;
    ::madvise(base() + from, count * chunk_bytes, MADV_POPULATE_WRITE);
    first += count;
  }
}

}  // namespace situ::detail
