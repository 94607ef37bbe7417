// The file of a region of remote memory, with the server's mapping of it, and how it is passed to other processes: for
// writing with fixed size and seals, or for reading only, with a notice by which readers learn that the region has
// moved. Behind the region's room the file has a page for the notice, if it may be passed.
//
// Once the file has been passed, the server makes no call that waits for the inode's lock, or opens the file: another
// holder could make such a call wait.
#pragma once

#include <situ/pages/memory_kind.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "os/descriptor.h"
#include "os/pages.h"
#include "pages/file_stretch.h"

namespace situ::rmem::detail {

struct region_file {
  situ::detail::file_stretch stretch;
  situ::detail::pages mapped;  // destroyed before the stretch
  os::descriptor to_read;      // the file, opened for readers
  int watch = -1;              // its number in passed_files; -1: it was not passed

  // Makes a file of whole pages that are zero, and maps it. server: for messages. Throws out_of_memory, bad_launch.
  [[nodiscard]] static region_file make(const memory_kind& kind, std::uint64_t bytes, std::uint32_t server);
  // Returns the bytes behind the room of a region's file: those of the notice, if memory of this kind may be passed.
  [[nodiscard]] static std::uint64_t bytes_behind(const memory_kind& kind) noexcept;

  // Returns a path by which this process can open the file.
  [[nodiscard]] std::string path() const;
  // Seals the file, so that no holder can change its size, which would raise a signal in the server, or add seals. If
  // `against_writes`, only mappings that exist can write to it from now on. Returns false if it has other seals than
  // those of its size, or if the kernel refuses.
  [[nodiscard]] bool seal(bool against_writes) const noexcept;
  // Opens `to_read`. Returns false if the kernel refuses.
  [[nodiscard]] bool open_to_read();
  // Tells readers that the file no longer holds a region. pre: memory of this kind may be passed.
  void set_notice() noexcept;
  // Copies the first `bytes` to a file whose pages are zero. Pages that were never touched are not allocated by it.
  void copy_to(region_file& fresh, std::uint64_t bytes) const noexcept;
};

}  // namespace situ::rmem::detail
