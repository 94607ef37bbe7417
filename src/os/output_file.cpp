#include "os/output_file.h"

#include <situ/base/error_code.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/file_size.h"

namespace situ::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t long_enough = std::size_t{1} << 16;  // large enough to make the kernel's overhead per write small

[[noreturn]] void throw_unwritten(const std::string& path, int reason) {
  throw_error(errc::bad_file, fmt::format("{} cannot be written: {}", path, write_failure(reason)));
}

os::descriptor open_to_write(const std::string& path, int how) noexcept {
  return os::descriptor{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | how, 0666)};
}

std::string target_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_symlink(path, failed)) return path;
  const fs::path target = fs::weakly_canonical(path, failed);
  return failed ? path : target.string();
}

bool is_replaced(const std::string& path) {
  std::error_code failed;
  const fs::file_status is = fs::status(path, failed);
  return is.type() == fs::file_type::not_found || is.type() == fs::file_type::regular;
}

// Creates the file itself: an existing one may belong to another process, or be left by a killed one.
os::descriptor open_beside(const std::string& path, std::string& name) {
  constexpr int most_tries = 100;
  for (int tries = 0;; ++tries) {
    const std::string next =
        fmt::format("{}.{}{}", path, ::getpid(), std::string(static_cast<std::size_t>(tries), '_'));
    os::descriptor made = open_to_write(next, O_EXCL);
    if (made) name = next;
    if (made || errno != EEXIST || tries == most_tries) return made;
  }
}

// Brings the names in a file's folder to their device. Returns errno's value on failure.
int sync_folder_of(const std::string& path) {
  const fs::path folder = fs::path{path}.parent_path();
  const os::descriptor opened{::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!opened) return errno;
  return ::fsync(opened.number()) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace

output_file::output_file(std::string path) : output_file{path, open_to_write(path, 0)} {}

output_file::output_file(std::string path, os::descriptor file) : path_{std::move(path)}, file_{std::move(file)} {
  if (!file_) throw_unwritten(path_, errno);
}

void output_file::add(std::string_view text) {
  buffer_.append(text);
  write_if_long();
}

void output_file::close() {
  write();
  // Network file systems and quotas may refuse only now.
  if (const int failed = file_.close_checked(); failed != 0 && failed != EINTR) throw_unwritten(path_, failed);
}

void output_file::sync() {
  write();
  // A pipe or a device has nothing to bring to one.
  if (::fsync(file_.number()) != 0 && errno != EINVAL && errno != EROFS) throw_unwritten(path_, errno);
}

void output_file::write_if_long() {
  if (buffer_.size() >= long_enough) write();
}

void output_file::write() {
  const file_size_signal_held held;
  for (std::string_view left = buffer_; !left.empty();) {
    const ssize_t written = ::write(file_.number(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw_unwritten(path_, written < 0 ? errno : ENOSPC);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void write_file(const std::string& path, std::string_view text) {
  output_file file{path};
  file.add(text);
  file.close();
}

replaced_file::replaced_file(const std::string& path)
    : path_{target_of(path)},
      file_{path_, is_replaced(path_) ? open_beside(path_, unfinished_) : open_to_write(path_, 0)} {}

replaced_file::~replaced_file() {
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

void replaced_file::publish(std::string_view text) {
  file_.add(text);
  file_.close();
  take_name();
}

void replaced_file::publish_durably(std::string_view text) {
  file_.add(text);
  file_.sync();
  file_.close();
  take_name();
  if (const int failed = sync_folder_of(path_); failed != 0) throw_unwritten(path_, failed);
}

void replaced_file::take_name() {
  if (unfinished_.empty()) return;
  if (std::rename(unfinished_.c_str(), path_.c_str()) != 0) throw_unwritten(path_, errno);
  unfinished_.clear();
}

void replace_file(const std::string& path, std::string_view text) { replaced_file{path}.publish(text); }

}  // namespace situ::detail
