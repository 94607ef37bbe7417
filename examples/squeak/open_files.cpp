#include "open_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>

namespace squeak {

std::uint32_t open_files::make_session() { return std::random_device{}() | 1; }

std::optional<std::uint32_t> open_files::open(const std::string& path, bool is_writable) {
  const int how = is_writable ? O_RDWR | O_CREAT : O_RDONLY;
  situ::os::descriptor file{::open(path.c_str(), how | O_CLOEXEC, 0666)};
  struct stat is{};
  if (!file || ::fstat(file.number(), &is) != 0 || !S_ISREG(is.st_mode)) return std::nullopt;
  files_.emplace(next_, std::move(file));
  return next_++;
}

int open_files::descriptor_of(std::uint32_t number) const {
  const auto found = files_.find(number);
  return found == files_.end() ? -1 : found->second.number();
}

bool open_files::close(std::uint32_t number) {
  const auto found = files_.find(number);
  if (found == files_.end()) return false;
  const bool is_well = found->second.close_checked() == 0;
  files_.erase(found);
  return is_well;
}

std::optional<std::uint64_t> open_files::size(std::uint32_t number) const {
  struct stat is{};
  if (::fstat(descriptor_of(number), &is) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(is.st_size);
}

std::optional<std::uint64_t> open_files::position(std::uint32_t number) const {
  const off_t at = ::lseek(descriptor_of(number), 0, SEEK_CUR);
  if (at < 0) return std::nullopt;
  return static_cast<std::uint64_t>(at);
}

bool open_files::set_position(std::uint32_t number, std::uint64_t to) {
  return ::lseek(descriptor_of(number), static_cast<off_t>(to), SEEK_SET) >= 0;
}

std::optional<std::size_t> open_files::read(std::uint32_t number, std::span<std::uint8_t> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = ::read(descriptor_of(number), to.data() + done, to.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::optional<std::size_t> open_files::write(std::uint32_t number, std::span<const std::uint8_t> from) {
  std::size_t done = 0;
  while (done < from.size()) {
    const ssize_t written = ::write(descriptor_of(number), from.data() + done, from.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return std::nullopt;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

bool open_files::truncate(std::uint32_t number, std::uint64_t to) {
  return ::ftruncate(descriptor_of(number), static_cast<off_t>(to)) == 0;
}

}  // namespace squeak
