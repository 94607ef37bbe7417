// The backing store in a file that the program names. Pages bypass the page cache if the file system allows it; a
// partial page at the end of the file goes through the cache, and so does everything if the file system does not. The
// kernel keeps the two ways coherent.
#include "base/file_size.h"
#include "pages/store_threads.h"
#include "os/descriptor.h"

#include <situ/base/error_code.h>
#include <situ/pages/backing_store.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace situ {
namespace {

constexpr int threads = 4;  // enough for the device to have the next request while one completes

// Returns nothing if the file system cannot bypass the page cache, or requires units larger than pages for that.
os::descriptor open_direct(const std::string& path) {
  os::descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_DIRECT)};
  alignas(backing_store::page_bytes) std::byte page[backing_store::page_bytes];
  if (file && ::pread(file.number(), page, sizeof page, 0) < 0 && errno == EINVAL) file.close();
  return file;
}

class named_file_store final : public backing_store {
 public:
  named_file_store(const std::string& path, std::uint64_t bytes, page_cache cache)
      : path_{path},
        bytes_{bytes},
        file_{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)},
        direct_{cache == page_cache::through ? os::descriptor{} : open_direct(path)} {
    if (!file_) fail("cannot be opened");
    struct stat is{};
    if (::fstat(file_.number(), &is) != 0) fail("cannot be looked at");
    if (static_cast<std::uint64_t>(is.st_size) < bytes_ && detail::set_file_size(file_.number(), bytes_) != 0)
      fail("cannot be made long enough");
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("file {}, {} the page cache", path_, direct_ ? "past" : "through");
  }
  [[nodiscard]] bool may_fail() const override { return true; }
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) override {
    if (bytes > bytes_ || std::exchange(is_given_, true))
      throw_error(errc::bad_argument, fmt::format("{}: {} bytes are asked for of a file of {}, which gives all once",
                                                  path_, bytes, bytes_));
    return 0;
  }
  void start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) override {
    threads_.start({to, memory, offset, bytes, queue});
  }
  void wait(int queue) override { threads_.wait(queue); }

 private:
  [[noreturn]] void fail(const char* what) const {
    const int failed = errno;
    throw_error(errc::bad_file, fmt::format("{}: {}: {}", path_, what, detail::write_failure(failed)));
  }

  // A page in which the file ends is transferred up to the end; the rest reads as zeroes.
  void carry(const detail::store_threads::request& r) const {
    const std::size_t there = std::min<std::uint64_t>(r.bytes, bytes_ - std::min(r.offset, bytes_));
    const std::size_t pages = direct_ ? there / page_bytes * page_bytes : 0;
    move(direct_.number(), {r.to, r.memory, r.offset, pages, r.queue});
    move(file_.number(), {r.to, r.memory + pages, r.offset + pages, there - pages, r.queue});
    if (r.to == direction::read) std::memset(r.memory + there, 0, r.bytes - there);
  }
  void move(int file, detail::store_threads::request r) const {
    const int failed = detail::carry_whole(file, r);
    if (failed == 0) return;
    throw_error(errc::bad_file,
                fmt::format("{}: cannot be {} at byte {}: {}", path_, r.to == direction::read ? "read" : "written",
                            r.offset, failed < 0 ? "it has been made shorter" : detail::write_failure(failed)));
  }

  std::string path_;
  std::uint64_t bytes_;
  os::descriptor file_;
  os::descriptor direct_;  // none if the page cache cannot be bypassed
  bool is_given_ = false;
  detail::store_threads threads_{threads, [this](const detail::store_threads::request& r) { carry(r); }};
};

}  // namespace

std::shared_ptr<backing_store> make_named_file_store(const std::string& path, std::uint64_t bytes, page_cache cache) {
  return std::make_shared<named_file_store>(path, bytes, cache);
}

}  // namespace situ
