// Maps a pool, at its own addresses or elsewhere, and makes pages private to this process.
#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "os/mapping.h"
#include "pool/pool_file.h"

namespace situ::detail {
namespace {

constexpr std::uint64_t base_alignment = std::uint64_t{1} << 30;

#if defined(__SANITIZE_THREAD__)
// The range that ThreadSanitizer leaves to programs, above the narrow bases of jobs (src/memory/job.cpp).
constexpr std::uint64_t lowest_base = 0x0040'0000'0000;
constexpr std::uint64_t highest_end = 0x0078'0000'0000;
#else
// A range above the bases that jobs try first (src/memory/job.cpp), and below the addresses at which programs are
// loaded.
constexpr std::uint64_t lowest_base = 0x4000'0000'0000;
constexpr std::uint64_t highest_end = 0x5400'0000'0000;
#endif

// A mapping of this process that overlaps a range of addresses: its name in /proc/self/maps, and its file's inode.
struct neighbour {
  std::string name = "nothing that /proc/self/maps lists (is a limit on addresses set: ulimit -v?)";
  std::uint64_t inode = 0;
};
neighbour who_has(std::uint64_t begin, std::uint64_t end) {
  std::ifstream maps{"/proc/self/maps"};
  if (!maps) return {"something that cannot be named, for /proc/self/maps cannot be read", 0};
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long long from = 0;
    unsigned long long to = 0;
    unsigned long long inode = 0;
    int name_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %llu %n", &from, &to, &inode, &name_at) != 3) continue;
    if (from >= end || to <= begin) continue;
    const std::string named = name_at > 0 ? line.substr(static_cast<std::size_t>(name_at)) : std::string{};
    return {named.empty() ? "memory of this process" : named, inode};
  }
  return {};
}

bool is_on_dax(int descriptor) noexcept {
  struct statx file{};
  return ::statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &file) == 0 &&
         (file.stx_attributes & STATX_ATTR_DAX) != 0;
}

pool_medium medium_of(int descriptor, bool is_dax) noexcept {
  struct statfs system{};
  const bool known = ::fstatfs(descriptor, &system) == 0;
  if (known && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)) return pool_medium::volatile_memory;
  return is_dax ? pool_medium::dax : pool_medium::page_cache;
}

}  // namespace

pool_medium pool_file::look_for_medium() const noexcept { return medium_of(descriptor(), is_on_dax(descriptor())); }

// Chooses addresses at random, so that pools of one program rarely want the same ones.
std::uint64_t pool_file::map_anywhere(std::uint64_t bytes, const pool_overrides& overrides) {
  const std::uint64_t choices =
      (highest_end - lowest_base - std::min(bytes, highest_end - lowest_base)) / base_alignment;
  constexpr int most_tries = 64;
  for (int tries = 1;; ++tries) {
    std::uint64_t number = 0;
    set_random(&number, sizeof number);
    const std::uint64_t base = lowest_base + number % (choices + 1) * base_alignment;
    const auto is_apart = [&](std::uint64_t from) { return base + bytes <= from || from + bytes <= base; };
    if (home_ != 0 && !(is_apart(home_) && is_apart(moving_to()))) continue;
    try {
      map_for_writer(base, bytes, overrides);
      return base;
    } catch (const error&) {
      if (tries == most_tries) throw;
    }
  }
}

void pool_file::map_for_writer(std::uint64_t base, std::uint64_t bytes, const pool_overrides& overrides) {
  void* const wanted = reinterpret_cast<void*>(base);
  constexpr int writing = PROT_READ | PROT_WRITE;
  bool is_dax = !overrides.medium.has_value() && is_on_dax(descriptor());
  const os::backing shared = os::backing::shared(descriptor());
  os::mapping range = os::mapping::at_free(wanted, bytes, writing,
                                           is_redo_ ? os::backing::private_copy(descriptor()).uncommitted() : shared);
  if (!range) refuse_mapping(base, bytes, errno);
  // Replaces the mapping, since a kernel that validates flags does not accept MAP_FIXED_NOREPLACE among them.
  if (is_dax && !is_redo_) {
    is_dax = os::map_over(wanted, bytes, writing, os::backing::synchronous(descriptor()));
    // The kernel refuses if the file's metadata is not durable by itself. It may have removed the old mapping.
    if (!is_dax && !os::map_over(wanted, bytes, writing, shared)) {
      range.release();  // its addresses may be another thread's by now
      refuse_mapping(base, bytes, errno);
    }
  }
  take_mapping(std::move(range), medium_of(descriptor(), is_dax));
}

// Maps the file privately: as long as this process writes no page, the mapping shows the file, with the writes of other
// processes.
void pool_file::map_for_reader(const pool_header& header, std::uint64_t file_bytes) {
  persist_.attach(descriptor(), nullptr, look_for_medium(), pool_promise::process, false, path_);
  pool_company as = company_for(pool_access::read, static_cast<pool_promise>(header.promise));
  if (as == pool_company::reading && !takes_room_for_area()) as = pool_company::still;
  void* const wanted = reinterpret_cast<void*>(header.base);
  std::uint64_t bytes = as == pool_company::reading ? pool_reach(header.most_bytes, log_bytes_) : file_bytes;
  const os::backing shows = os::backing::private_copy(descriptor());
  os::mapping range = os::mapping::at_free(wanted, bytes, PROT_READ, shows);
  if (is_moving_) as = pool_company::still;
  if (!range) {
    // The pool's pointers are relocated in private pages (relocation.h), which do not show a writer's changes.
    as = pool_company::still;
    bytes = file_bytes;
    range = os::mapping::anywhere(bytes, PROT_READ, shows);
    if (!range) refuse_mapping(header.base, bytes, errno);
  }
  take_mapping(std::move(range), persist_.medium());
  come_in(as);
  if (as == pool_company::reading) map_area();
}

void pool_file::map_area() {
  os::mapping got = os::mapping::anywhere(pool_area_bytes, PROT_READ | PROT_WRITE,
                                          os::backing::shared(descriptor(), pool_area_offset));
  if (!got) throw_refused(path_, fmt::format("cannot be mapped: {}", std::strerror(errno)));
  area_ = std::move(got);
  ::madvise(area_.begin(), area_.bytes(), MADV_DONTFORK);
}

void pool_file::take_mapping(os::mapping range, pool_medium medium) {
  range_ = std::move(range);
  // A child of this process would inherit its locks, and be a second writer behind them: without the mapping it gets a
  // fault.
  ::madvise(base(), mapped_bytes(), MADV_DONTFORK);
  persist_.attach(descriptor(), base(), medium, pool_promise::process, is_redo_ && may_write(), path_);
}

void pool_file::refuse_mapping(std::uint64_t base, std::uint64_t bytes, int reason) const {
  const neighbour there = who_has(base, base + bytes);
  struct stat status{};
  if (there.inode != 0 && ::fstat(descriptor(), &status) == 0 && status.st_ino == there.inode)
    throw_refused(path_, "is in use: this process has it open already; let its threads use that one");
  throw_refused(
      path_,
      fmt::format("its addresses, {:#x} to {:#x}, cannot be had: {}; there is {}. Open it before "
                  "that, in another process, or with the types of its roots (pool_opening::types), which moves it",
                  base, base + bytes, std::strerror(reason), there.name));
}

// --- a reader's own pages ---

pool_file::private_writing::private_writing(pool_file& of) : of_{of} {
  if (of_.may_write()) return;
  if (!os::protect(of_.base(), of_.mapped_bytes(), PROT_READ | PROT_WRITE))
    throw_refused(of_.path_,
                  fmt::format("there is no memory for pages of this process's own ({}), which it needs where "
                              "the last transaction is incomplete, or the pool's addresses are taken",
                              std::strerror(errno)));
}
pool_file::private_writing::~private_writing() {
  if (!of_.may_write()) os::protect(of_.base(), of_.mapped_bytes(), PROT_READ);
}

void pool_file::make_private(const std::vector<page_range>& pages, bool may_be_written) const {
  for (const page_range& each : pages)
    if (!os::protect(base() + each.begin, each.end - each.begin, may_be_written ? PROT_READ | PROT_WRITE : PROT_READ))
      throw_refused(path_, fmt::format("there is no memory for pages of this process's own ({}), which it needs where "
                                       "the last transaction is incomplete",
                                       std::strerror(errno)));
}

void pool_file::drop_private(const std::vector<page_range>& pages) const noexcept {
  for (const page_range& each : pages) ::madvise(base() + each.begin, each.end - each.begin, MADV_DONTNEED);
}

}  // namespace situ::detail
