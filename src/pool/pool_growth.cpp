// Room for a pool's heap: on the disk first, then in the state of the file.
#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pool/pool_file.h"

namespace situ::detail {
namespace {

// 0, or errno's value. A limit on the size of files is looked at first: the kernel would send a signal.
int allocate_range(int descriptor, std::uint64_t from, std::uint64_t to) noexcept {
  struct rlimit most{};
  if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && to > most.rlim_cur) return EFBIG;
  int failed = 0;
  do {
    failed = ::posix_fallocate(descriptor, static_cast<off_t>(from), static_cast<off_t>(to - from));
  } while (failed == EINTR);
  return failed;
}

std::uint64_t room_of_disk(int descriptor) noexcept {
  struct statvfs disk{};
  return ::fstatvfs(descriptor, &disk) == 0 ? std::uint64_t{disk.f_bavail} * disk.f_frsize : 0;
}

}  // namespace

void throw_no_room(const std::string& path, int descriptor, std::uint64_t bytes, int reason) {
  throw_error(errc::out_of_memory,
              fmt::format("pool {}: {} more cannot be had: {}; its disk has {} left. Free some, or copy the pool to a "
                          "larger disk",
                          path, format_bytes(bytes), std::strerror(reason), format_bytes(room_of_disk(descriptor))));
}

int pool_file::get_room(std::uint32_t chunks) const noexcept {
  const std::uint64_t map_from = chunks_ == 0 ? 0 : map_offset() + std::uint64_t{chunks_} * 8;
  const std::uint64_t map_to = map_offset() + std::uint64_t{chunks} * 8;
  if (const int failed = allocate_range(descriptor_, map_from, map_to); failed != 0) return failed;
  const int failed = allocate_range(descriptor_, end(), heap_offset_ + std::uint64_t{chunks} * chunk_bytes);
  if (failed != 0 && ::ftruncate(descriptor_, static_cast<off_t>(end())) != 0) return errno;
  return failed;
}

// Zeroes that are written, not a hole: a record that is written over them changes nothing of where the file lies, so a
// wait for it is one for its bytes alone.
int pool_file::write_empty_log() const noexcept {
  static constexpr std::byte zeroes[65536]{};
  for (std::uint64_t at = pool_log_offset; at != map_offset(); at += sizeof zeroes)
    if (::pwrite(descriptor_, zeroes, sizeof zeroes, static_cast<off_t>(at)) != static_cast<ssize_t>(sizeof zeroes))
      return errno != 0 ? errno : EIO;
  return 0;
}

void pool_file::lengthen(std::uint64_t to) {
  if (const int failed = allocate_range(descriptor_, end(), to); failed != 0) {
    cut();
    throw_no_room(path_, descriptor_, to - end(), failed);
  }
}

// It may stay as long as it is: nothing depends on it.
void pool_file::cut() const noexcept {
  if (::ftruncate(descriptor_, static_cast<off_t>(end())) != 0) return;
}

std::uint64_t pool_file::length() const noexcept {
  struct stat status{};
  return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// One copy after the other: a copy is torn by a crash only while the other one is whole.
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
  if (failed != 0) throw_no_room(path_, descriptor_, more * chunk_bytes, failed);
  // The new length of the file has to be there before the state says so.
  if (persist_.primitive() != flush_primitive::none && ::fsync(descriptor_) != 0) {
    const int failed_with = errno;
    persist_.fail();
    throw_refused(path_, fmt::format("cannot be brought to its device: {}", std::strerror(failed_with)));
  }
  write_state(chunks_ + more);
}

}  // namespace situ::detail
