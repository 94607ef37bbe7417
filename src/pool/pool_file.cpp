#include "pool/pool_file.h"

#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/descriptor.h"
#include "base/host.h"

namespace situ::detail {
namespace {

constexpr std::uint64_t least_heap_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t most_heap_bytes = std::uint64_t{1} << 45;
constexpr std::uint32_t first_chunks = 64;  // 1 MiB
constexpr std::uint64_t base_alignment = std::uint64_t{1} << 30;

#if defined(__SANITIZE_THREAD__)
// What ThreadSanitizer leaves a program, above the narrow bases of jobs (src/memory/job.cpp).
constexpr std::uint64_t lowest_base = 0x0040'0000'0000;
constexpr std::uint64_t highest_end = 0x0078'0000'0000;
#else
// Above the bases that jobs try first (src/memory/job.cpp), and below where programs are loaded.
constexpr std::uint64_t lowest_base = 0x4000'0000'0000;
constexpr std::uint64_t highest_end = 0x5400'0000'0000;
#endif

void set_random(void* to, std::size_t bytes) {
  if (::getrandom(to, bytes, 0) != static_cast<ssize_t>(bytes))
    throw_error(errc::bad_file, fmt::format("a new pool: no random bytes for its identity: {}", std::strerror(errno)));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// What of this process lies within a range of addresses, as /proc/self/maps names it.
std::string who_has(std::uint64_t begin, std::uint64_t end) {
  std::ifstream maps{"/proc/self/maps"};
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long long from = 0;
    unsigned long long to = 0;
    int name_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %*s %n", &from, &to, &name_at) != 2) continue;
    if (from >= end || to <= begin) continue;
    const std::string named = name_at > 0 ? line.substr(static_cast<std::size_t>(name_at)) : std::string{};
    return named.empty() ? "memory of this process" : named;
  }
  return "nothing that /proc/self/maps lists (is a limit on addresses set: ulimit -v?)";
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

pool_header make_header(const pool_options& options, bool is_redo) {
  pool_header made{};
  std::memcpy(made.magic, pool_magic, sizeof made.magic);
  made.version = is_redo ? pool_version_redo : pool_version;
  made.page_bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  made.architecture = pool_architecture;
  made.chunk_bytes = static_cast<std::uint32_t>(chunk_bytes);
  made.most_bytes = options.most_bytes;
  made.promise = static_cast<std::uint32_t>(options.promise);
  if (is_redo) made.log_bytes = redo_log_bytes(options.most_bytes);
  if (options.promise == pool_promise::batched)
    made.sync_every_ms = static_cast<std::uint32_t>(options.sync_every.count());
  set_random(made.identity, sizeof made.identity);
  return made;
}

}  // namespace

void throw_refused(const std::string& path, std::string_view what) {
  throw_error(errc::bad_file, fmt::format("pool {}: {}", path, what));
}
void throw_damaged(const std::string& path, std::uint64_t offset, std::string_view what) {
  throw_error(
      errc::bad_file,
      fmt::format("pool {}, byte {}: {}; bring the file back from a copy, or make the pool anew", path, offset, what));
}

pool_file::pool_file(std::string path, int descriptor, pool_access access) noexcept
    : path_{std::move(path)}, descriptor_{descriptor}, access_{access} {}

pool_file::pool_file(pool_file&& other) noexcept
    : path_{std::move(other.path_)},
      descriptor_{std::exchange(other.descriptor_, -1)},
      access_{other.access_},
      base_{std::exchange(other.base_, nullptr)},
      mapped_bytes_{other.mapped_bytes_},
      heap_offset_{other.heap_offset_},
      salt_{other.salt_},
      chunks_{other.chunks_},
      most_chunks_{other.most_chunks_},
      is_redo_{other.is_redo_},
      log_bytes_{other.log_bytes_},
      most_log_bytes_{other.most_log_bytes_},
      persist_{std::move(other.persist_)} {}

pool_file::~pool_file() {
  if (base_ != nullptr) ::munmap(base_, mapped_bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

// --- making one ---

pool_file pool_file::create(const std::string& path, const pool_options& options, const pool_overrides& overrides) {
  if (options.most_bytes % chunk_bytes != 0 || options.most_bytes < least_heap_bytes ||
      options.most_bytes > most_heap_bytes)
    throw_error(errc::bad_argument, fmt::format("pool {}: most_bytes is {}; it is a multiple of {} from {} to {}", path,
                                                options.most_bytes, chunk_bytes, least_heap_bytes, most_heap_bytes));
  constexpr std::chrono::milliseconds longest{3'600'000};
  if (options.sync_every < std::chrono::milliseconds{0} || options.sync_every > longest)
    throw_error(errc::bad_argument, fmt::format("pool {}: sync_every is {} ms; it is from 0 to {}", path,
                                                options.sync_every.count(), longest.count()));
  // Without a name until it is whole, where the file system can: who is killed leaves nothing.
  int descriptor = above_standard(::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  const bool is_nameless = descriptor >= 0;
  if (!is_nameless && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
    descriptor = above_standard(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666));
  if (descriptor < 0)
    throw_refused(path, fmt::format("cannot be made: {}; name a file that is not there yet, in a folder that you may "
                                    "write",
                                    std::strerror(errno)));
  pool_file made{path, descriptor, pool_access::write};
  try {
    made.lock();
    // In place where a flush is of cache lines or of nothing: one for each snapshot. Where it is a call, one for all.
    const pool_medium medium = overrides.medium.value_or(medium_of(made.descriptor_, is_on_dax(made.descriptor_)));
    made.is_redo_ = options.promise == pool_promise::batched ||
                    (options.promise == pool_promise::machine && medium == pool_medium::page_cache);
    made.fill(make_header(options, made.is_redo_), options, overrides);
    const std::string by_number = fmt::format("/proc/self/fd/{}", descriptor);
    if (is_nameless && ::linkat(AT_FDCWD, by_number.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0)
      throw_refused(path, fmt::format("cannot be made: {}{}", std::strerror(errno),
                                      errno == EEXIST ? "; open it, or name another file" : ""));
  } catch (...) {
    if (!is_nameless) ::unlink(path.c_str());
    throw;
  }
  if (options.promise != pool_promise::process) {
    const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
      ::fsync(folder);
      ::close(folder);
    }
  }
  return made;
}

void pool_file::fill(const pool_header& with, const pool_options& options, const pool_overrides& overrides) {
  pool_header header = with;
  log_bytes_ = log_bytes_of(header);
  most_log_bytes_ = overrides.most_log_bytes;
  heap_offset_ = pool_heap_offset(options.most_bytes, log_bytes_);
  most_chunks_ = static_cast<std::uint32_t>(options.most_bytes / chunk_bytes);
  salt_ = add_to_check(header.identity[0], header.identity[1]);
  const std::uint32_t chunks = std::min(first_chunks, most_chunks_);
  if (const int failed = get_room(chunks); failed != 0)
    throw_no_room(path_, descriptor_, heap_offset_ + chunks * chunk_bytes, failed);
  if (const int failed = is_redo_ ? write_empty_log() : 0; failed != 0)
    throw_no_room(path_, descriptor_, log_bytes_, failed);
  // Anywhere, so that pools of one program rarely want the same addresses.
  const std::uint64_t reach = pool_reach(options.most_bytes, log_bytes_);
  const std::uint64_t choices =
      (highest_end - lowest_base - std::min(reach, highest_end - lowest_base)) / base_alignment;
  constexpr int most_tries = 64;
  for (int tries = 1; base_ == nullptr; ++tries) {
    std::uint64_t number = 0;
    set_random(&number, sizeof number);
    header.base = lowest_base + number % (choices + 1) * base_alignment;
    try {
      map(header.base, reach, overrides);
    } catch (const error&) {
      if (tries == most_tries) throw;
    }
  }
  persist_.attach(descriptor_, base_, overrides.medium.value_or(persist_.medium()), options.promise, is_redo_, path_);
  persist_.record_to(overrides.recorder);
  write_state(chunks);
  *at<std::uint64_t>(pool_sequence_offset) = seal(1, salt_);
  header.check = check_of(0, &header, offsetof(pool_header, check));
  std::memcpy(base_, &header, sizeof header);
  persist_.flush(base_, pool_log_offset, pool_step::create);
  persist_.fence(pool_step::create);
  if (options.promise != pool_promise::process && ::fsync(descriptor_) != 0)
    throw_refused(path_, fmt::format("cannot be brought to its device: {}", std::strerror(errno)));
}

// --- opening one ---

pool_file pool_file::open(const std::string& path, pool_access access, const pool_overrides& overrides) {
  const int how = access == pool_access::write ? O_RDWR : O_RDONLY;
  const int descriptor = above_standard(::open(path.c_str(), how | O_CLOEXEC | O_NOCTTY));
  if (descriptor < 0)
    throw_refused(
        path, fmt::format("cannot be opened for {}: {}", how == O_RDWR ? "writing" : "reading", std::strerror(errno)));
  pool_file opened{path, descriptor, access};
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) throw_refused(path, "is no regular file");
  opened.lock();
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  pool_header header{};
  if (file_bytes < pool_map_offset || ::pread(descriptor, &header, sizeof header, 0) != sizeof header)
    throw_damaged(path, file_bytes, fmt::format("the file ends, and a pool has at least {} bytes", pool_map_offset));
  opened.check_header(header, file_bytes);
  opened.log_bytes_ = log_bytes_of(header);
  opened.most_log_bytes_ = overrides.most_log_bytes;
  opened.heap_offset_ = pool_heap_offset(header.most_bytes, opened.log_bytes_);
  opened.most_chunks_ = static_cast<std::uint32_t>(header.most_bytes / chunk_bytes);
  opened.salt_ = add_to_check(header.identity[0], header.identity[1]);
  opened.is_redo_ = header.version == pool_version_redo;
  opened.map(header.base, access == pool_access::write ? pool_reach(header.most_bytes, opened.log_bytes_) : file_bytes,
             overrides);
  opened.persist_.attach(descriptor, opened.base_, overrides.medium.value_or(opened.persist_.medium()),
                         static_cast<pool_promise>(header.promise), opened.is_redo_, path);
  opened.persist_.record_to(overrides.recorder);
  opened.read_state(file_bytes);
  return opened;
}

void pool_file::lock() {
  if (::flock(descriptor_, (may_write() ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) throw_refused(path_, fmt::format("cannot be locked: {}", std::strerror(errno)));
  std::uint64_t writer = 0;
  const bool is_told = ::pread(descriptor_, &writer, sizeof writer, pool_writer_offset) == sizeof writer && writer != 0;
  throw_refused(path_,
                fmt::format("is in use: {} has it open{}; wait until it is closed, or let all who use it open it "
                            "for reading",
                            may_write() ? "another process, or this one," : "a writer",
                            is_told ? fmt::format(" (last opened for writing by process {})", writer) : ""));
}

void pool_file::check_header(const pool_header& header, std::uint64_t file_bytes) const {
  if (std::memcmp(header.magic, pool_magic, sizeof pool_magic) != 0)
    throw_damaged(path_, 0, "this is no pool: it does not begin with SITUPOOL");
  if (header.version != pool_version && header.version != pool_version_redo)
    throw_error(
        errc::bad_file,
        fmt::format("pool {}, byte {}: it has format version {}, and this build of Situ reads versions {} and {}; "
                    "use the Situ that wrote it",
                    path_, offsetof(pool_header, version), header.version, pool_version, pool_version_redo));
  if (header.check != check_of(0, &header, offsetof(pool_header, check)))
    throw_damaged(path_, offsetof(pool_header, check),
                  "the check of the header is wrong: some of its bytes have changed");
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
      pool_reach(std::min(header.most_bytes, most_heap_bytes), std::min(log_bytes, most_pool_log_bytes));
  constexpr std::uint64_t address_end = std::uint64_t{1} << 47;
  if (!is_log_sound || header.chunk_bytes != chunk_bytes || header.most_bytes % chunk_bytes != 0 ||
      header.most_bytes < least_heap_bytes || header.most_bytes > most_heap_bytes || header.base % chunk_bytes != 0 ||
      header.base < chunk_bytes || header.base > address_end - reach ||
      header.promise > (header.version == pool_version ? 1U : 2U))
    throw_damaged(path_, 0, "the header holds what no pool has, although its check is right");
  if (file_bytes < pool_heap_offset(header.most_bytes, log_bytes))
    throw_damaged(path_, file_bytes,
                  fmt::format("the file ends, and its heap begins at byte {}: it has been cut short",
                              pool_heap_offset(header.most_bytes, log_bytes)));
}

void pool_file::map(std::uint64_t base, std::uint64_t bytes, const pool_overrides& overrides) {
  void* wanted = reinterpret_cast<void*>(base);
  void* got = MAP_FAILED;
  bool is_dax = !overrides.medium.has_value() && is_on_dax(descriptor_);
  if (may_write()) {
    constexpr int writing = PROT_READ | PROT_WRITE;
    const int kind = is_redo_ ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
    got = ::mmap(wanted, bytes, writing, kind | MAP_FIXED_NOREPLACE, descriptor_, 0);
    // In its place, since a kernel that validates flags does not know MAP_FIXED_NOREPLACE among them.
    if (got == wanted && is_dax && !is_redo_) {
      is_dax = ::mmap(wanted, bytes, writing, MAP_SHARED_VALIDATE | MAP_SYNC | MAP_FIXED, descriptor_, 0) == wanted;
      // Refused: its metadata is not where it stays by itself. The kernel may have taken away what lay there.
      if (!is_dax) got = ::mmap(wanted, bytes, writing, MAP_SHARED | MAP_FIXED, descriptor_, 0);
    }
  } else {
    got = ::mmap(wanted, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, descriptor_, 0);
    if (got == MAP_FAILED && errno == EEXIST) {
      // Its pointers are made right in pages of this process's own (relocation.h).
      got = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor_, 0);
      if (got != MAP_FAILED) wanted = got;
    }
  }
  const int failed = errno;
  if (got != MAP_FAILED && got != wanted) ::munmap(got, bytes);  // a kernel before 4.17 takes the address for a hint
  if (got != wanted)
    throw_refused(path_, fmt::format("its addresses, {:#x} to {:#x}, cannot be had: {}; there is {}. Open it before "
                                     "that, or in another process",
                                     base, base + bytes, got == MAP_FAILED ? std::strerror(failed) : "they are taken",
                                     who_has(base, base + bytes)));
  base_ = static_cast<std::byte*>(got);
  mapped_bytes_ = bytes;
  // A child of this process shares the lock and would be a second writer: it gets a fault instead.
  ::madvise(got, bytes, MADV_DONTFORK);
  persist_.attach(descriptor_, base_, medium_of(descriptor_, is_dax), pool_promise::process, is_redo_ && may_write(),
                  path_);
}

void pool_file::read_state(std::uint64_t file_bytes) {
  const auto* const first = at<const pool_state_record>(pool_state_offset);
  const auto* const second = at<const pool_state_record>(pool_state_offset + pool_state_distance);
  const bool first_is_right = first->check == first->right_check(salt_);
  const bool second_is_right = second->check == second->right_check(salt_);
  if (!first_is_right && !second_is_right)
    throw_damaged(path_, pool_state_offset, "both copies of the heap's size are damaged");
  const bool take_first = first_is_right && (!second_is_right || first->generation >= second->generation);
  const std::uint64_t chunks = take_first ? first->chunks : second->chunks;
  if (chunks == 0 || chunks > most_chunks_)
    throw_damaged(path_, pool_state_offset, fmt::format("the heap has {} chunks, of {} at most", chunks, most_chunks_));
  if (file_bytes < heap_offset_ + chunks * chunk_bytes)
    throw_damaged(path_, file_bytes,
                  fmt::format("the file ends, and its heap goes to byte {}: it has been cut short",
                              heap_offset_ + chunks * chunk_bytes));
  chunks_ = static_cast<std::uint32_t>(chunks);
}

void pool_file::settle() {
  // Who was killed while it grew has written one of them.
  const auto* const first = at<const pool_state_record>(pool_state_offset);
  const auto* const second = at<const pool_state_record>(pool_state_offset + pool_state_distance);
  if (std::memcmp(first, second, sizeof *first) != 0) write_state(chunks_);
  const auto writer = static_cast<std::uint64_t>(::getpid());
  *at<std::uint64_t>(pool_writer_offset) = writer;
  // It may stay unwritten: nothing depends on it.
  if (is_redo_ && ::pwrite(descriptor_, &writer, sizeof writer, pool_writer_offset) < 0) return;
}

bool pool_file::read_bytes(std::uint64_t offset, std::byte* to, std::uint64_t bytes) const noexcept {
  while (bytes != 0) {
    const ssize_t got = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<std::uint64_t>(got);
    to += got;
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

// --- a reader's own pages ---

pool_file::private_writing::private_writing(pool_file& of) : of_{of} {
  if (of_.may_write()) return;
  if (::mprotect(of_.base_, of_.mapped_bytes_, PROT_READ | PROT_WRITE) != 0)
    throw_refused(of_.path_,
                  fmt::format("there is no memory for pages of this process's own ({}), which it needs where "
                              "the last transaction is incomplete, or the pool's addresses are taken",
                              std::strerror(errno)));
}
pool_file::private_writing::~private_writing() {
  if (!of_.may_write()) ::mprotect(of_.base_, of_.mapped_bytes_, PROT_READ);
}

}  // namespace situ::detail
