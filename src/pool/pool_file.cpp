#include "pool/pool_file.h"

#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
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
#include "pool/whole_file.h"

namespace situ::detail {
namespace {

constexpr std::uint32_t first_chunks = 64;  // 1 MiB
constexpr std::uint64_t base_alignment = std::uint64_t{1} << 30;
constexpr auto default_patience_ns =
    static_cast<std::uint64_t>(std::chrono::nanoseconds{pool_opening{}.patience}.count());

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

// What of this process lies within a range of addresses, as /proc/self/maps names it, and which file's it is.
struct neighbour {
  std::string name = "nothing that /proc/self/maps lists (is a limit on addresses set: ulimit -v?)";
  std::uint64_t inode = 0;
};
neighbour who_has(std::uint64_t begin, std::uint64_t end) {
  std::ifstream maps{"/proc/self/maps"};
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

pool_header make_header(const pool_options& options, bool is_redo) {
  pool_header made{};
  std::memcpy(made.magic, pool_magic, sizeof made.magic);
  made.version = is_redo ? pool_version_redo : pool_version;
  if (options.object_checks) {
    made.version = pool_version_features;
    made.features = object_checks_feature;
    if (is_redo) made.features |= redo_log_feature;
    std::string names;
    for (std::size_t bit = 0; bit < pool_feature_names.size(); ++bit)
      if ((made.features >> bit & 1) != 0) names += (names.empty() ? "" : " ") + std::string{pool_feature_names[bit]};
    names.copy(made.feature_names, sizeof made.feature_names - 1);
  }
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

pool_file::pool_file(std::string path, int descriptor, bool is_writable, pool_access access, std::uint64_t patience_ns)
    : path_{std::move(path)},
      descriptor_{descriptor},
      is_writable_{is_writable},
      access_{access},
      patience_ns_{patience_ns},
      process_{::getpid()},
      openers_{descriptor, is_writable} {}

pool_file::pool_file(pool_file&& other) noexcept
    : path_{std::move(other.path_)},
      descriptor_{std::exchange(other.descriptor_, -1)},
      is_writable_{other.is_writable_},
      access_{other.access_},
      patience_ns_{other.patience_ns_},
      process_{other.process_},
      openers_{other.openers_},
      company_{other.company_},
      base_{std::exchange(other.base_, nullptr)},
      area_{std::exchange(other.area_, nullptr)},
      mapped_bytes_{other.mapped_bytes_},
      home_{other.home_},
      moving_to_{other.moving_to_},
      is_moving_{other.is_moving_},
      heap_offset_{other.heap_offset_},
      salt_{other.salt_},
      chunks_{other.chunks_},
      most_chunks_{other.most_chunks_},
      is_new_{other.is_new_},
      is_redo_{other.is_redo_},
      has_checks_{other.has_checks_},
      log_bytes_{other.log_bytes_},
      most_log_bytes_{other.most_log_bytes_},
      persist_{std::move(other.persist_)} {}

pool_file::~pool_file() {
  // A child of the process has no mapping: what lies there is something else.
  if (base_ != nullptr && ::getpid() == process_) {
    ::munmap(base_, mapped_bytes_);
    if (area_ != nullptr) ::munmap(area_, pool_area_bytes);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

// --- making one ---

pool_file pool_file::create(const std::string& path, const pool_options& options, const pool_overrides& overrides) {
  if (options.most_bytes % chunk_bytes != 0 || options.most_bytes < least_pool_heap_bytes ||
      options.most_bytes > most_pool_heap_bytes)
    throw_error(errc::bad_argument,
                fmt::format("pool {}: most_bytes is {}; it is a multiple of {} from {} to {}", path, options.most_bytes,
                            chunk_bytes, least_pool_heap_bytes, most_pool_heap_bytes));
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
  pool_file made{path, descriptor, true, pool_access::write, default_patience_ns};
  try {
    if (!made.openers_.pass_gate(made.patience_ns_))
      throw_refused(path, fmt::format("cannot be locked: {}", std::strerror(errno)));
    // In place where a flush is of cache lines or of nothing: one for each snapshot. Where it is a call, one for all.
    const pool_medium medium = overrides.medium.value_or(medium_of(made.descriptor_, is_on_dax(made.descriptor_)));
    made.is_redo_ = options.promise == pool_promise::batched ||
                    (options.promise == pool_promise::machine && medium == pool_medium::page_cache);
    made.is_new_ = true;
    made.fill(make_header(options, made.is_redo_), options, overrides);
    const std::string by_number = fmt::format("/proc/self/fd/{}", descriptor);
    if (is_nameless && ::linkat(AT_FDCWD, by_number.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0)
      throw_refused(path, fmt::format("cannot be made: {}{}", std::strerror(errno),
                                      errno == EEXIST ? "; open it, or name another file" : ""));
  } catch (...) {
    if (!is_nameless) ::unlink(path.c_str());
    throw;
  }
  if (const int failed = options.promise != pool_promise::process ? sync_folder(path) : 0; failed != 0) {
    ::unlink(path.c_str());
    throw_refused(path,
                  fmt::format("cannot be made: its folder cannot be brought to its device: {}", std::strerror(failed)));
  }
  return made;
}

void pool_file::fill(const pool_header& with, const pool_options& options, const pool_overrides& overrides) {
  pool_header header = with;
  log_bytes_ = log_bytes_of(header);
  has_checks_ = has_feature(header, object_checks_feature);
  most_log_bytes_ = overrides.most_log_bytes;
  heap_offset_ = pool_heap_offset(options.most_bytes, log_bytes_);
  most_chunks_ = static_cast<std::uint32_t>(options.most_bytes / chunk_bytes);
  salt_ = add_to_check(header.identity[0], header.identity[1]);
  const std::uint32_t chunks = std::min(first_chunks, most_chunks_);
  if (const int failed = get_room(chunks); failed != 0)
    throw_no_room(path_, descriptor_, heap_offset_ + chunks * chunk_bytes, failed);
  if (const int failed = is_redo_ ? write_empty_log() : 0; failed != 0)
    throw_no_room(path_, descriptor_, log_bytes_, failed);
  header.base = map_anywhere(pool_reach(options.most_bytes, log_bytes_), overrides);
  home_ = header.base;
  persist_.attach(descriptor_, base_, overrides.medium.value_or(persist_.medium()), options.promise, is_redo_, path_);
  come_in(company_for(pool_access::write, options.promise));
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

// At random, so that pools of one program rarely want the same addresses.
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

// --- opening one ---

void pool_file::open_for_writer(const pool_header& header, const pool_opening& how, const pool_overrides& overrides) {
  const std::uint64_t reach = pool_reach(header.most_bytes, log_bytes_);
  if (is_moving_ && how.types.empty())
    throw_refused(path_,
                  "it was being moved to other addresses, and that was cut: open it for writing with the types of "
                  "its roots (pool_opening::types), which completes it");
  try {
    map_for_writer(moving_to(), reach, overrides);
  } catch (const error&) {
    if (how.types.empty()) throw;
    map_anywhere(reach, overrides);
  }
  const auto promise = static_cast<pool_promise>(header.promise);
  persist_.attach(descriptor_, base_, overrides.medium.value_or(persist_.medium()), promise, is_redo_, path_);
  come_in(is_moved() ? pool_company::alone : company_for(how.access, promise));
}

pool_file pool_file::open(const std::string& path, const pool_opening& how, const pool_overrides& overrides) {
  const bool may_write = how.access != pool_access::read;
  const auto open_for = [&](int flags) { return above_standard(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY)); };
  // A reader, too, tells who writes that it reads.
  int descriptor = open_for(O_RDWR);
  const bool is_writable = descriptor >= 0;
  if (!is_writable && !may_write && (errno == EACCES || errno == EPERM || errno == EROFS))
    descriptor = open_for(O_RDONLY);
  if (descriptor < 0)
    throw_refused(path,
                  fmt::format("cannot be opened for {}: {}", may_write ? "writing" : "reading", std::strerror(errno)));
  pool_file opened{path, descriptor, is_writable, how.access,
                   static_cast<std::uint64_t>(std::max<std::int64_t>(how.patience.count(), 0))};
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) throw_refused(path, "is no regular file");
  if (!opened.openers_.pass_gate(opened.patience_ns_))
    throw_refused(path, errno == EAGAIN ? std::string{"is in use: another process has been opening it all the time"}
                                        : fmt::format("cannot be locked: {}", std::strerror(errno)));
  // Who has it open may have made it longer meanwhile.
  if (::fstat(descriptor, &status) != 0) throw_refused(path, std::strerror(errno));
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  opened.most_log_bytes_ = overrides.most_log_bytes;
  const pool_header header = opened.read_header(file_bytes);
  if (may_write) {
    opened.open_for_writer(header, how, overrides);
  } else {
    opened.map_for_reader(header, file_bytes);
    opened.persist_.attach(descriptor, opened.base_, overrides.medium.value_or(opened.persist_.medium()),
                           static_cast<pool_promise>(header.promise), opened.is_redo_, path);
  }
  opened.persist_.record_to(overrides.recorder);
  return opened;
}

// --- who else has it ---

pool_company pool_file::company_for(pool_access access, pool_promise promise) const noexcept {
  // Where a device is waited for, who writes has pages that others do not see as he does.
  const bool is_shared = !is_redo_ && (promise == pool_promise::process || persist_.medium() == pool_medium::dax);
  if (access == pool_access::read) return is_shared && is_writable_ ? pool_company::reading : pool_company::still;
  return is_shared && access == pool_access::write ? pool_company::writing : pool_company::alone;
}

bool pool_file::is_first() const noexcept {
  const bool shares = company_ == pool_company::writing || company_ == pool_company::reading;
  return !shares || openers_.is_first();
}

void pool_file::come_in(pool_company as) {
  const pool_openers::refusal why = openers_.enter(as);
  if (why != pool_openers::refusal::none) refuse(why);
  company_ = as;
}

void pool_file::refuse(pool_openers::refusal why) const {
  std::uint64_t writer = 0;
  const bool is_told = ::pread(descriptor_, &writer, sizeof writer, pool_writer_offset) == sizeof writer && writer != 0;
  const std::string who = is_told ? fmt::format(" (last opened for writing by process {})", writer) : "";
  switch (why) {
    case pool_openers::refusal::is_alone:
      throw_refused(path_, fmt::format("is in use: a writer has it open alone{}; wait until it is closed", who));
    case pool_openers::refusal::is_written:
      throw_refused(path_, fmt::format("is in use: a writer has it open{}, and this process could only read what stays "
                                       "as it is, since it may not write the file, has other things at the pool's "
                                       "addresses, or the pool is one that msync makes stay; wait until it is closed",
                                       who));
    case pool_openers::refusal::is_still:
      throw_refused(path_,
                    "is in use: a reader that cannot follow a writer has it open (it may not write the file, has "
                    "other things at the pool's addresses, or the pool is one that msync makes stay); wait until "
                    "it is closed");
    default:
      throw_refused(path_, fmt::format("is in use: others have it open{}; wait until it is closed, or share it "
                                       "(pool_access::write)",
                                       who));
  }
}

pool_area* pool_file::area() const noexcept {
  if (area_ != nullptr) return static_cast<pool_area*>(area_);
  return company_ == pool_company::writing ? at<pool_area>(pool_area_offset) : nullptr;
}

// --- mapping one ---

void pool_file::map_for_writer(std::uint64_t base, std::uint64_t bytes, const pool_overrides& overrides) {
  void* const wanted = reinterpret_cast<void*>(base);
  constexpr int writing = PROT_READ | PROT_WRITE;
  void* got = MAP_FAILED;
  bool is_dax = !overrides.medium.has_value() && is_on_dax(descriptor_);
  const int kind = is_redo_ ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
  got = ::mmap(wanted, bytes, writing, kind | MAP_FIXED_NOREPLACE, descriptor_, 0);
  // In its place, since a kernel that validates flags does not know MAP_FIXED_NOREPLACE among them.
  if (got == wanted && is_dax && !is_redo_) {
    is_dax = ::mmap(wanted, bytes, writing, MAP_SHARED_VALIDATE | MAP_SYNC | MAP_FIXED, descriptor_, 0) == wanted;
    // Refused: its metadata is not where it stays by itself. The kernel may have taken away what lay there.
    if (!is_dax) got = ::mmap(wanted, bytes, writing, MAP_SHARED | MAP_FIXED, descriptor_, 0);
  }
  const int failed = errno;
  if (got != MAP_FAILED && got != wanted) ::munmap(got, bytes);  // a kernel before 4.17 takes the address for a hint
  if (got != wanted) refuse_mapping(base, bytes, got, failed);
  take_mapping(got, bytes, medium_of(descriptor_, is_dax));
}

// A private mapping of pages that nobody here has written is the file's, and shows what others write there.
void pool_file::map_for_reader(const pool_header& header, std::uint64_t file_bytes) {
  persist_.attach(descriptor_, nullptr, medium_of(descriptor_, is_on_dax(descriptor_)), pool_promise::process, false,
                  path_);
  pool_company as = company_for(pool_access::read, static_cast<pool_promise>(header.promise));
  void* const wanted = reinterpret_cast<void*>(header.base);
  std::uint64_t bytes = as == pool_company::reading ? pool_reach(header.most_bytes, log_bytes_) : file_bytes;
  void* got = ::mmap(wanted, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, descriptor_, 0);
  if (got != MAP_FAILED && got != wanted) ::munmap(std::exchange(got, MAP_FAILED), bytes);
  if (is_moving_) as = pool_company::still;
  if (got == MAP_FAILED) {
    // Its pointers are made right in pages of this process's own (relocation.h), which cannot follow who writes.
    as = pool_company::still;
    bytes = file_bytes;
    got = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (got == MAP_FAILED) refuse_mapping(header.base, bytes, got, errno);
  }
  take_mapping(got, bytes, persist_.medium());
  come_in(as);
  if (as == pool_company::reading) map_area();
}

void pool_file::map_area() {
  void* const got = ::mmap(nullptr, pool_area_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, pool_area_offset);
  if (got == MAP_FAILED) throw_refused(path_, fmt::format("cannot be mapped: {}", std::strerror(errno)));
  area_ = got;
  ::madvise(got, pool_area_bytes, MADV_DONTFORK);
}

void pool_file::take_mapping(void* at, std::uint64_t bytes, pool_medium medium) {
  base_ = static_cast<std::byte*>(at);
  mapped_bytes_ = bytes;
  // A child of this process has its locks, and would be a second writer behind them: it gets a fault instead.
  ::madvise(at, bytes, MADV_DONTFORK);
  persist_.attach(descriptor_, base_, medium, pool_promise::process, is_redo_ && may_write(), path_);
}

void pool_file::refuse_mapping(std::uint64_t base, std::uint64_t bytes, const void* got, int reason) const {
  const neighbour there = who_has(base, base + bytes);
  struct stat status{};
  if (there.inode != 0 && ::fstat(descriptor_, &status) == 0 && status.st_ino == there.inode)
    throw_refused(path_, "is in use: this process has it open already; let its threads use that one");
  throw_refused(
      path_,
      fmt::format("its addresses, {:#x} to {:#x}, cannot be had: {}; there is {}. Open it before "
                  "that, in another process, or with the types of its roots (pool_opening::types), which moves it",
                  base, base + bytes, got == MAP_FAILED ? std::strerror(reason) : "they are taken", there.name));
}

void pool_file::read_state() {
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
  struct stat status{};
  const auto file_bytes = ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
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

void pool_file::make_private(const std::vector<page_range>& pages, bool may_be_written) const {
  for (const page_range& each : pages)
    if (::mprotect(base_ + each.begin, each.end - each.begin, may_be_written ? PROT_READ | PROT_WRITE : PROT_READ) != 0)
      throw_refused(path_, fmt::format("there is no memory for pages of this process's own ({}), which it needs where "
                                       "the last transaction is incomplete",
                                       std::strerror(errno)));
}

void pool_file::drop_private(const std::vector<page_range>& pages) const noexcept {
  for (const page_range& each : pages) ::madvise(base_ + each.begin, each.end - each.begin, MADV_DONTNEED);
}

}  // namespace situ::detail
