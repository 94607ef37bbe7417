#include "pool/whole_file.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace situ::detail {

whole_file::whole_file(std::string path, bool may_replace) : path_{std::move(path)}, may_replace_{may_replace} {
  if (!may_replace_ && ::access(path_.c_str(), F_OK) == 0) refuse("cannot be made", EEXIST);
  file_ = os::descriptor{::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666)};
  if (!file_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    temporary_ = fmt::format("{}.new-{}", path_, ::getpid());
    file_ = os::descriptor{::open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666)};
    if (!file_) temporary_.clear();
  }
  if (!file_) refuse("cannot be made", errno);
}

whole_file::~whole_file() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void whole_file::refuse(const char* what, int reason) const {
  throw_error(errc::bad_file, fmt::format("{}: {}: {}{}", path_, what, std::strerror(reason),
                                          reason == EEXIST ? "; name a file that is not there yet" : ""));
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string whole_file::path_here() const { return fmt::format("/proc/self/fd/{}", descriptor()); }

// rename replaces the target in one step, but needs a name; link never replaces its target.
void whole_file::give_temporary_name() {
  if (!temporary_.empty()) return;
  const std::string name = fmt::format("{}.new-{}", path_, ::getpid());
  if (::linkat(AT_FDCWD, path_here().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
    refuse("cannot have a name", errno);
  temporary_ = name;
}

void whole_file::publish() {
  if (::fsync(descriptor()) != 0) refuse("cannot be brought to its device", errno);
  if (may_replace_) {
    give_temporary_name();
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse("cannot have its name", errno);
    temporary_.clear();
  } else {
    const std::string from = temporary_.empty() ? path_here() : temporary_;
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      refuse("cannot have its name", errno);
  }
  if (const int failed = sync_folder(path_); failed != 0) {
    if (may_replace_)
      refuse(
          "is the new file, and would be the old one again if the machine went down now, for its folder cannot be "
          "brought to its device",
          failed);
    ::unlink(path_.c_str());
    refuse("cannot be made, for its folder cannot be brought to its device", failed);
  }
}

int sync_folder(const std::string& path) {
  const os::descriptor folder{::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!folder) return errno;
  // Some file systems have nothing to sync for a folder.
  return ::fsync(folder.number()) == 0 || errno == EINVAL ? 0 : errno;
}

namespace {

// Copies one range without holes.
void copy_stretch(int from, int to, std::uint64_t at, std::uint64_t end, const std::string& path) {
  std::vector<char> buffer(std::min<std::uint64_t>(end - at, 1 << 20));
  while (at < end) {
    const ssize_t got =
        ::pread(from, buffer.data(), std::min<std::uint64_t>(buffer.size(), end - at), static_cast<off_t>(at));
    if (got <= 0)
      throw_error(errc::bad_file, fmt::format("{}, byte {}: cannot be read: {}; look at its device", path, at,
                                              got == 0 ? "it ends here" : std::strerror(errno)));
    ssize_t put = 0;
    while (put < got) {
      const ssize_t part =
          ::pwrite(to, buffer.data() + put, static_cast<std::size_t>(got - put), static_cast<off_t>(at) + put);
      if (part <= 0)
        throw_error(errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? errc::out_of_memory : errc::bad_file,
                    fmt::format("{}: its copy cannot be written from byte {} on: {}; name a file on a disk with more "
                                "room",
                                path, at, std::strerror(errno)));
      put += part;
    }
    at += static_cast<std::uint64_t>(got);
  }
}

}  // namespace

std::uint64_t copy_bytes(int from, int to, std::uint64_t bytes, const std::string& path) {
  if (::ftruncate(to, static_cast<off_t>(bytes)) != 0)
    throw_error(errc::out_of_memory,
                fmt::format("{}: its copy cannot be {} long: {}", path, format_bytes(bytes), std::strerror(errno)));
  std::uint64_t copied = 0;
  for (std::uint64_t at = 0; at < bytes;) {
    const off_t begin = ::lseek(from, static_cast<off_t>(at), SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // a hole to its end
    const off_t end = begin < 0 ? -1 : ::lseek(from, begin, SEEK_HOLE);
    // If the file system does not report holes, copies everything.
    const std::uint64_t first = begin < 0 ? at : static_cast<std::uint64_t>(begin);
    const std::uint64_t last = end < 0 ? bytes : std::min(bytes, static_cast<std::uint64_t>(end));
    if (first >= last) break;
    copy_stretch(from, to, first, last, path);
    copied += last - first;
    at = last;
  }
  return copied;
}

}  // namespace situ::detail
