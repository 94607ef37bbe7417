#include "rmem/passed_files.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace situ::rmem::detail {

int passed_files::watch(const std::string& path, application_index owner) {
  if (!watches_) watches_ = os::descriptor{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  if (!watches_) return -1;
  const int made = ::inotify_add_watch(watches_.number(), path.c_str(), IN_DELETE_SELF);
  if (made >= 0) files_[made] = {owner, 0};
  return made;
}

std::uint64_t passed_files::collect() noexcept {
  std::uint64_t released = 0;
  alignas(inotify_event) std::array<char, 4096> told;
  while (!files_.empty()) {
    const ssize_t bytes = ::read(watches_.number(), told.data(), told.size());
    if (bytes <= 0) break;
    for (ssize_t at = 0; at < bytes;) {
      inotify_event each;
      std::memcpy(&each, told.data() + at, sizeof each);
      at += static_cast<ssize_t>(sizeof each + each.len);
      const auto found = (each.mask & IN_DELETE_SELF) != 0 ? files_.find(each.wd) : files_.end();
      if (found == files_.end()) continue;
      released += found->second.kept_bytes;
      files_.erase(found);
    }
  }
  return released;
}

std::size_t passed_files::kept_of(application_index owner) const noexcept {
  std::size_t all = 0;
  for (const auto& [watch, each] : files_) all += each.owner == owner && each.kept_bytes > 0 ? 1U : 0U;
  return all;
}

void passed_files::clear() noexcept {
  files_.clear();
  watches_.close();
}

}  // namespace situ::rmem::detail
