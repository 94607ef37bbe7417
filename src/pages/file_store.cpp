#include "pages/file_store.h"

#include <situ/base/error_code.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/file_size.h"

namespace situ {
namespace detail {

void store_file::carry(const request& one) const {
  const std::size_t there = std::min<std::uint64_t>(one.bytes, bytes_ - std::min(one.offset, bytes_));
  const std::size_t pages = direct_ ? there / backing_store::page_bytes * backing_store::page_bytes : 0;
  move(direct_.number(), {one.to, one.memory, one.offset, pages, one.queue});
  move(file_.number(), {one.to, one.memory + pages, one.offset + pages, there - pages, one.queue});
  if (one.to == backing_store::direction::read) std::memset(one.memory + there, 0, one.bytes - there);
}

void store_file::move(int file, request one) const {
  if (one.bytes == 0) return;
  if (const int failed = carry_whole(file, one); failed != 0) throw_error(errc::bad_file, failure(one, failed));
}

}  // namespace detail

namespace {

using detail::store_file;

constexpr std::size_t whole_requests = std::numeric_limits<std::size_t>::max();

// Returns nothing if the file system cannot bypass the page cache, or requires units larger than pages for that.
// Leaves errno as it is.
os::descriptor open_direct(const std::string& path) {
  const int before = errno;
  os::descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_DIRECT)};
  alignas(backing_store::page_bytes) std::byte page[backing_store::page_bytes];
  if (file && ::pread(file.number(), page, sizeof page, 0) < 0 && errno == EINVAL) file.close();
  errno = before;
  return file;
}

// A file that the program names. Pages bypass the page cache if the file system allows it; a partial page at the end of
// the file goes through the cache, and so does everything if the file system does not. The kernel keeps the two ways
// coherent.
class named_file final : public store_file {
 public:
  named_file(const std::string& path, std::uint64_t bytes, page_cache cache)
      : store_file{bytes, os::descriptor{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)},
                   cache == page_cache::through ? os::descriptor{} : open_direct(path)},
        path_{path} {
    if (!file()) fail("cannot be opened");
    struct stat is{};
    if (::fstat(file().number(), &is) != 0) fail("cannot be looked at");
    if (static_cast<std::uint64_t>(is.st_size) < bytes && detail::set_file_size(file().number(), bytes) != 0)
      fail("cannot be made long enough");
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("file {}, {} the page cache", path_, is_direct() ? "past" : "through");
  }
  [[nodiscard]] std::uint64_t allocate(std::uint64_t wanted) override {
    if (wanted > bytes() || std::exchange(is_given_, true))
      throw_error(errc::bad_argument, fmt::format("{}: {} bytes are asked for of a file of {}, which gives all once",
                                                  path_, wanted, bytes()));
    return 0;
  }
  [[nodiscard]] std::string failure(const request& one, int reason) const override {
    return fmt::format("{}: cannot be {} at byte {}: {}", path_,
                       one.to == backing_store::direction::read ? "read" : "written", one.offset,
                       reason < 0 ? "it has been made shorter" : detail::write_failure(reason));
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    const int failed = errno;
    throw_error(errc::bad_file, fmt::format("{}: {}: {}", path_, what, detail::write_failure(failed)));
  }

  std::string path_;
  bool is_given_ = false;
};

os::descriptor open_unnamed(const std::string& directory, const std::string& name_begin, int flags) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return os::descriptor{file};
  std::string name = directory + '/' + name_begin + "XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC | flags);
  if (named >= 0) ::unlink(name.c_str());
  return os::descriptor{named};
}

// A file without a name, which grows with each allocation and consists of whole pages.
class growing_file final : public store_file {
 public:
  static std::unique_ptr<growing_file> make(const detail::unnamed_file& what) {
    os::descriptor through;
    os::descriptor direct = open_unnamed(what.directory, what.name_begin, O_DIRECT);
    if (!direct && errno == EINVAL) through = open_unnamed(what.directory, what.name_begin, 0);  // tmpfs, for example
    if (!direct && !through)
      throw_error(errc::bad_file,
                  fmt::format("no backing file in '{}': {}; {}", what.directory, std::strerror(errno), what.remedy));
    return std::make_unique<growing_file>(what.directory, std::move(through), std::move(direct));
  }
  growing_file(std::string directory, os::descriptor through, os::descriptor direct)
      : store_file{std::numeric_limits<std::uint64_t>::max(), std::move(through), std::move(direct)},
        directory_{std::move(directory)} {}

  [[nodiscard]] std::string description() const override {
    return fmt::format(
        "file in {}, {}", directory_,
        is_direct() ? "past the page cache" : "through the page cache, since its file system has no direct I/O");
  }
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) override {
    const auto end =
        end_ + (bytes + backing_store::page_bytes - 1) / backing_store::page_bytes * backing_store::page_bytes;
    if (detail::set_file_size(number(), end) != 0)
      throw_error(errc::bad_file, fmt::format("the backing file in '{}' cannot grow to {} bytes: {}", directory_, end,
                                              detail::write_failure(errno)));
    return std::exchange(end_, end);
  }
  [[nodiscard]] std::string failure(const request& one, int reason) const override {
    const bool is_read = one.to == backing_store::direction::read;
    const char* const at_end = is_read ? "unexpected end of file" : "nothing was written";
    return fmt::format("the backing file in '{}' cannot be {} at offset {}: {}", directory_,
                       is_read ? "read" : "written", one.offset, reason < 0 ? at_end : detail::write_failure(reason));
  }

 private:
  std::string directory_;
  std::uint64_t end_ = 0;
};

class thread_carrier final : public detail::file_carrier {
 public:
  thread_carrier(const store_file& file, std::size_t piece_bytes)
      : piece_bytes_{piece_bytes}, threads_{threads, [&file](const request& one) { file.carry(one); }} {}
  void start(const request& one) override {
    detail::for_each_piece(one, piece_bytes_, [this](const request& piece) { threads_.start(piece); });
  }
  void wait(int queue) override { threads_.wait(queue); }

 private:
  static constexpr int threads = 4;  // enough for the device to have the next request while one completes

  const std::size_t piece_bytes_;
  detail::store_threads threads_;
};

class file_store final : public backing_store {
 public:
  // note: for the description, if the carrier is not the preferred one.
  file_store(std::unique_ptr<store_file> file, std::unique_ptr<detail::file_carrier> carrier, std::string note = {})
      : file_{std::move(file)}, carrier_{std::move(carrier)}, note_{std::move(note)} {}

  [[nodiscard]] std::string description() const override { return file_->description() + note_; }
  [[nodiscard]] bool may_fail() const override { return true; }
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) override { return file_->allocate(bytes); }
  void start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) override {
    carrier_->start({to, memory, offset, bytes, queue});
  }
  void wait(int queue) override { carrier_->wait(queue); }

 private:
  std::unique_ptr<store_file> file_;
  std::unique_ptr<detail::file_carrier> carrier_;  // ends before its file
  std::string note_;
};

}  // namespace

std::shared_ptr<backing_store> make_named_file_store(const std::string& path, std::uint64_t bytes, page_cache cache) {
  auto file = std::make_unique<named_file>(path, bytes, cache);
  auto carrier = std::make_unique<thread_carrier>(*file, whole_requests);
  return std::make_shared<file_store>(std::move(file), std::move(carrier));
}

std::shared_ptr<backing_store> detail::make_unnamed_file_store(unnamed_file what) {
  if (what.directory.empty()) {
    const char* const temporary = std::getenv("TMPDIR");
    what.directory = temporary != nullptr ? temporary : "/tmp";
  }
  const standard_streams_filled kept_off;  // the carrier may have descriptors of its own
  std::unique_ptr<store_file> file = growing_file::make(what);
  std::string refusal;
  std::unique_ptr<file_carrier> carrier;
  if (what.preferred != nullptr) carrier = what.preferred(*file, refusal);
  std::string note = refusal.empty() ? refusal : fmt::format("; by threads, since {}", refusal);
  if (carrier == nullptr) carrier = std::make_unique<thread_carrier>(*file, carried_piece_bytes);
  return std::make_shared<file_store>(std::move(file), std::move(carrier), std::move(note));
}

}  // namespace situ
