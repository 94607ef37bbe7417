#include "pool/pool_file.h"

#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "pool/whole_file.h"

namespace situ::detail {
namespace {

constexpr std::uint32_t first_chunks = 64;  // 1 MiB
constexpr auto default_patience_ns =
    static_cast<std::uint64_t>(std::chrono::nanoseconds{pool_opening{}.patience}.count());

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
  throw_error(errc::bad_file,
              fmt::format("pool {}, byte {}: {}; `situ pool repair {}` mends what can be mended; else bring the file "
                          "back from a copy",
                          path, offset, what, path));
}
void throw_lost(const std::string& path, std::uint64_t offset, std::string_view what) {
  throw_error(
      errc::bad_file,
      fmt::format("pool {}, byte {}: {}; bring the file back from a copy, or make the pool anew", path, offset, what));
}
void set_random(void* to, std::size_t bytes) {
  if (::getrandom(to, bytes, 0) != static_cast<ssize_t>(bytes))
    throw_error(errc::bad_file, fmt::format("a new pool: no random bytes for its identity: {}", std::strerror(errno)));
}

pool_file::pool_file(std::string path, os::descriptor file, bool is_writable, pool_access access,
                     std::uint64_t patience_ns)
    : path_{std::move(path)},
      file_{std::move(file)},
      is_writable_{is_writable},
      access_{access},
      patience_ns_{patience_ns},
      process_{::getpid()},
      openers_{file_.number(), is_writable} {}

pool_file::pool_file(pool_file&& other) noexcept
    : path_{std::move(other.path_)},
      file_{std::move(other.file_)},
      is_writable_{other.is_writable_},
      access_{other.access_},
      patience_ns_{other.patience_ns_},
      process_{other.process_},
      openers_{other.openers_},
      company_{other.company_},
      area_{std::move(other.area_)},
      range_{std::move(other.range_)},
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
  // A child of the process does not inherit the mapping: its addresses may hold something else.
  if (!range_ || ::getpid() == process_) return;
  range_.release();
  area_.release();
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
  // The file has no name until it is complete, if the file system supports that: a killed process then leaves nothing
  // behind.
  os::descriptor file{::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666)};
  const bool is_nameless = static_cast<bool>(file);
  if (!is_nameless && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
    file = os::descriptor{::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666)};
  if (!file)
    throw_refused(path, fmt::format("cannot be made: {}; name a file that is not there yet, in a folder that you may "
                                    "write",
                                    std::strerror(errno)));
  pool_file made{path, std::move(file), true, pool_access::write, default_patience_ns};
  try {
    if (!made.openers_.pass_gate(made.patience_ns_))
      throw_refused(path, fmt::format("cannot be locked: {}", std::strerror(errno)));
    // If a flush writes cache lines or does nothing, changes are made in place, with a flush for each snapshot. If a
    // flush is a system call, the pool gets a redo log, with one flush for all changes.
    const pool_medium medium = overrides.medium.value_or(made.look_for_medium());
    made.is_redo_ = options.promise == pool_promise::batched ||
                    (options.promise == pool_promise::machine && medium == pool_medium::page_cache);
    made.is_new_ = true;
    made.fill(make_header(options, made.is_redo_), options, overrides);
    const std::string by_number = fmt::format("/proc/self/fd/{}", made.descriptor());
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
  if (const std::uint64_t bytes = heap_offset_ + chunks * chunk_bytes; bytes > longest_file())
    throw_too_long(path_, bytes);
  if (const int failed = get_room(chunks); failed != 0)
    throw_no_room(path_, descriptor(), heap_offset_ + chunks * chunk_bytes, failed);
  if (const int failed = is_redo_ ? write_empty_log() : 0; failed != 0)
    throw_no_room(path_, descriptor(), log_bytes_, failed);
  header.base = map_anywhere(pool_reach(options.most_bytes, log_bytes_), overrides);
  home_ = header.base;
  persist_.attach(descriptor(), base(), overrides.medium.value_or(persist_.medium()), options.promise, is_redo_, path_);
  come_in(company_for(pool_access::write, options.promise));
  persist_.record_to(overrides.recorder);
  write_state(chunks);
  *at<std::uint64_t>(pool_sequence_offset) = seal(1, salt_);
  header.check = check_of(0, &header, offsetof(pool_header, check));
  std::memcpy(base(), &header, sizeof header);
  persist_.flush(base(), pool_log_offset, pool_step::create);
  persist_.fence(pool_step::create);
  if (options.promise != pool_promise::process && ::fsync(descriptor()) != 0)
    throw_refused(path_, fmt::format("cannot be brought to its device: {}", std::strerror(errno)));
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
  persist_.attach(descriptor(), base(), overrides.medium.value_or(persist_.medium()), promise, is_redo_, path_);
  come_in(is_moved() ? pool_company::alone : company_for(how.access, promise));
}

pool_file pool_file::open(const std::string& path, const pool_opening& how, const pool_overrides& overrides) {
  const bool may_write = how.access != pool_access::read;
  const auto open_for = [&](int flags) { return os::descriptor{::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY)}; };
  // Readers open the file for writing, too, because they announce themselves to writers.
  os::descriptor file = open_for(O_RDWR);
  const bool is_writable = static_cast<bool>(file);
  if (!is_writable && !may_write && (errno == EACCES || errno == EPERM || errno == EROFS)) file = open_for(O_RDONLY);
  if (!file)
    throw_refused(path,
                  fmt::format("cannot be opened for {}: {}", may_write ? "writing" : "reading", std::strerror(errno)));
  pool_file opened{path, std::move(file), is_writable, how.access,
                   static_cast<std::uint64_t>(std::max<std::int64_t>(how.patience.count(), 0))};
  struct stat status{};
  if (::fstat(opened.descriptor(), &status) != 0)
    throw_refused(path, fmt::format("cannot be looked at: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) throw_refused(path, "is no regular file");
  opened.pass_gate();
  // Another opener may have made the file longer in the meantime.
  if (::fstat(opened.descriptor(), &status) != 0) throw_refused(path, std::strerror(errno));
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  opened.most_log_bytes_ = overrides.most_log_bytes;
  const pool_header header = opened.read_header(file_bytes);
  if (may_write) {
    opened.open_for_writer(header, how, overrides);
  } else {
    opened.map_for_reader(header, file_bytes);
    opened.persist_.attach(opened.descriptor(), opened.base(), overrides.medium.value_or(opened.persist_.medium()),
                           static_cast<pool_promise>(header.promise), opened.is_redo_, path);
  }
  opened.persist_.record_to(overrides.recorder);
  return opened;
}

// --- who else has it ---

// The messages cannot name the other process, because the kernel's locks do not reveal their holders.
void pool_file::pass_gate() const {
  constexpr std::uint64_t tell_after_ns = 1'000'000'000;
  const std::uint64_t first_ns = std::min(patience_ns_, tell_after_ns);
  if (openers_.pass_gate(first_ns)) return;
  if (errno == EAGAIN && first_ns != patience_ns_) {
    log(log_level::warning,
        fmt::format("pool {}: waits for another process, which is opening or closing it; gives up after {:.0f} s",
                    path_, static_cast<double>(patience_ns_) / 1e9));
    if (openers_.pass_gate(patience_ns_ - first_ns)) return;
  }
  throw_refused(path_, errno == EAGAIN ? std::string{"is in use: another process has been opening or closing it all "
                                                     "the time (is it stopped?)"}
                                       : fmt::format("cannot be locked: {}", std::strerror(errno)));
}

pool_company pool_file::company_for(pool_access access, pool_promise promise) const noexcept {
  // If commits wait for the device, the writer has private pages that other processes do not see.
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

// Returns the reason why this opener cannot share the pool; empty if it can share it.
std::string pool_file::why_unshared() const {
  if (access_ != pool_access::exclusive && company_for(pool_access::write, promise()) == pool_company::alone)
    return fmt::format(
        "its promise is {}, and such a pool has one writer or several readers, unless its file is memory "
        "itself (DAX)",
        promise() == pool_promise::batched ? "pool_promise::batched" : "pool_promise::machine");
  if (is_moved()) return "other things lie at the pool's addresses in this process";
  if (!is_writable_) return "this process may not write the file";
  return {};
}

void pool_file::refuse(pool_openers::refusal why) const {
  if (why == pool_openers::refusal::not_told)
    throw_refused(path_, fmt::format("cannot be locked: {}", std::strerror(errno)));
  std::uint64_t writer = 0;
  const bool is_told =
      ::pread(descriptor(), &writer, sizeof writer, pool_writer_offset) == sizeof writer && writer != 0;
  const std::string who = is_told ? fmt::format(" (last opened for writing by process {})", writer) : "";
  const std::string reason = why_unshared();
  switch (why) {
    case pool_openers::refusal::is_alone:
      throw_refused(path_, fmt::format("is in use: a writer has it open alone{}; wait until it is closed", who));
    case pool_openers::refusal::is_written:
      throw_refused(path_, fmt::format("is in use: a writer has it open{}, and this process could only read what stays "
                                       "as it is, since {}; wait until it is closed",
                                       who, reason.empty() ? "its disk has no room for what readers share" : reason));
    case pool_openers::refusal::is_still:
      throw_refused(path_,
                    "is in use: a reader that cannot follow a writer has it open (it may not write the file, has "
                    "other things at the pool's addresses, or the pool is one that is not shared); wait until "
                    "it is closed");
    default:
      if (access_ == pool_access::exclusive)
        throw_refused(path_, fmt::format("is in use: others have it open{}; wait until it is closed, or share it "
                                         "(pool_access::write)",
                                         who));
      throw_refused(path_, fmt::format("is in use: others have it open{}, and it cannot be written beside them, since "
                                       "{}; wait until it is closed",
                                       who, reason));
  }
}

pool_area* pool_file::area() const noexcept {
  if (area_) return reinterpret_cast<pool_area*>(area_.begin());
  return company_ == pool_company::writing ? at<pool_area>(pool_area_offset) : nullptr;
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
  if (::fstat(descriptor(), &status) != 0)
    throw_refused(path_, fmt::format("its length cannot be seen: {}", std::strerror(errno)));
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (file_bytes < heap_offset_ + chunks * chunk_bytes)
    throw_damaged(path_, file_bytes,
                  fmt::format("the file ends, and its heap goes to byte {}: it has been cut short",
                              heap_offset_ + chunks * chunk_bytes));
  chunks_ = static_cast<std::uint32_t>(chunks);
}

void pool_file::settle() {
  // A process killed while it grew the pool has written only one of the copies.
  const auto* const first = at<const pool_state_record>(pool_state_offset);
  const auto* const second = at<const pool_state_record>(pool_state_offset + pool_state_distance);
  if (std::memcmp(first, second, sizeof *first) != 0) write_state(chunks_);
  const auto writer = static_cast<std::uint64_t>(::getpid());
  *at<std::uint64_t>(pool_writer_offset) = writer;
  // The write may fail: nothing depends on it.
  if (is_redo_ && ::pwrite(descriptor(), &writer, sizeof writer, pool_writer_offset) < 0) return;
}

bool pool_file::read_bytes(std::uint64_t offset, std::byte* to, std::uint64_t bytes) const {
  while (bytes != 0) {
    const ssize_t got = ::pread(descriptor(), to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw_refused(path_, fmt::format("byte {} cannot be read: {}; look at its device", offset, std::strerror(errno)));
    if (got == 0) return false;
    offset += static_cast<std::uint64_t>(got);
    to += got;
    bytes -= static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace situ::detail
