// The files of a server's regions that other processes may have, since the server has passed them. The kernel reports
// by inotify when nobody has a file any more: neither open (by O_PATH, too), nor mapped, nor in transit in a socket.
// A file whose region has ended counts until then: it is kept.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "os/descriptor.h"
#include "rmem/application_index.h"

namespace situ::rmem::detail {

class passed_files {
 public:
  // Watches the file at `path`, before it is passed. Returns the number of the watch, or -1 if the kernel cannot. cost:
  // a system call.
  [[nodiscard]] int watch(const std::string& path, application_index owner);
  // Notes that the region of a watched file has ended: the file and these bytes count as the owner's from now on.
  void keep(int watch, std::uint64_t bytes) { files_[watch].kept_bytes = bytes; }
  // Forgets the files that nobody has any more; returns the bytes that they were kept with. cost: a system call, none
  // if no file is watched.
  [[nodiscard]] std::uint64_t collect() noexcept;
  // Returns the number of kept files of an owner. cost: a look at each file.
  [[nodiscard]] std::size_t kept_of(application_index owner) const noexcept;
  // Forgets all files.
  void clear() noexcept;

 private:
  struct file {
    application_index owner;
    std::uint64_t kept_bytes;  // 0: it still has its region
  };
  os::descriptor watches_;               // inotify; made with the first watch
  std::unordered_map<int, file> files_;  // by watch
};

}  // namespace situ::rmem::detail
