// Shrinks a pool: cuts off the free chunks at the end of the heap, and punches holes into the free chunks within it.
//
// Objects stay where they are: moving one needs all pointers to it, which only types reveal. The order is such that a
// crash between any two steps leaves a sound pool:
//   1. Write the shorter length to both copies of the state, and make it durable.
//   2. Cut the file: nothing refers beyond its end any more.
//   3. Set the note that there are holes, and make it durable: from then on, an allocation of chunks first fills their
//      holes.
//   4. Punch the holes.
#include <situ/pool/pool.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pool/pool_file.h"
#include "pool/pool_heap.h"
#include "pool/pool_tools.h"
#include "pool/undo_log.h"

namespace situ::detail {
namespace {

std::uint64_t bytes_on_disk(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

struct free_run {
  std::uint32_t first;
  std::uint32_t chunks;
};

// Returns the free runs, by rising first chunk.
std::vector<free_run> free_runs(const pool_file& file) {
  const auto* const map = file.at<const std::uint64_t>(file.map_offset());
  std::vector<free_run> free;
  for (std::uint32_t i = 0; i < file.chunks();) {
    run_entry entry;
    if (map[i] == 0) {
      if (free.empty() || free.back().first + free.back().chunks != i) free.push_back({i, 0});
      ++free.back().chunks;
      ++i;
      continue;
    }
    if (!run_entry::unpack(map[i], i, file.salt(), entry) || entry.chunks > file.chunks() - i)
      throw_damaged(file.path(), file.offset_of(map + i), fmt::format("the entry of chunk {} is damaged", i));
    i += entry.chunks;
  }
  return free;
}

void cut_end(pool_file& file, std::uint32_t chunks) {
  file.write_state(chunks);
  file.persist().fence(pool_step::grow_second);
  if (::ftruncate(file.descriptor(), static_cast<off_t>(file.end())) != 0)
    throw_refused(file.path(), fmt::format("cannot be cut at byte {}: {}", file.end(), std::strerror(errno)));
}

// Punches holes into free runs. Returns how many bytes became holes; 0 if the file system does not support holes.
std::uint64_t punch(pool_file& file, const std::vector<free_run>& free) {
  auto* const note = file.at<std::uint64_t>(pool_holes_offset);
  __atomic_store_n(note, 1, __ATOMIC_RELAXED);
  file.persist().flush(note, sizeof *note, pool_step::grow_second);
  file.persist().fence(pool_step::grow_second);
  std::uint64_t bytes = 0;
  for (const free_run& each : free) {
    const std::uint64_t length = each.chunks * chunk_bytes;
    const auto from = static_cast<off_t>(file.heap_offset() + each.first * chunk_bytes);
    if (::fallocate(file.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, static_cast<off_t>(length)) ==
        0) {
      bytes += length;
    } else if (errno != EOPNOTSUPP && errno != ENOSYS) {
      throw_refused(file.path(), fmt::format("no hole can be made at byte {}: {}", from, std::strerror(errno)));
    }
  }
  return bytes;
}

}  // namespace

compacted_pool compact_pool(const std::string& path) {
  (void)pool::open(path);  // rolls back the last writer's incomplete transaction
  pool_file file = pool_file::open(path, {.access = pool_access::exclusive}, {});
  file.read_state();
  if (!file.is_redo()) {
    pool_heap heap{file};
    undo_log log{file, heap, file.persist()};
    log.read();
    if (!log.is_empty()) throw_refused(path, "another process has left a transaction incomplete just now; try again");
  }
  compacted_pool done;
  const std::uint64_t before = bytes_on_disk(file.descriptor());
  std::vector<free_run> free = free_runs(file);
  if (!free.empty() && free.back().first + free.back().chunks == file.chunks()) {
    // Keep one chunk, because a heap has at least one.
    const std::uint32_t chunks = std::max<std::uint32_t>(free.back().first, 1);
    done.cut_bytes = (file.chunks() - chunks) * chunk_bytes;
    free.back().chunks = chunks - free.back().first;
    if (free.back().chunks == 0) free.pop_back();
    if (done.cut_bytes != 0) cut_end(file, chunks);
  }
  if (!free.empty()) done.hole_bytes = punch(file, free);
  const std::uint64_t now = bytes_on_disk(file.descriptor());
  done.freed_bytes = before - std::min(before, now);
  done.heap_bytes = file.chunks() * chunk_bytes;
  return done;
}

}  // namespace situ::detail
