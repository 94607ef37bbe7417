// A file of pages that several processes map: the memory of a job's segments, or of rings that a process maps twice.
// situ/pages/memory_kind.h lists the kinds. For kinds node and intent it is a plain memory file; its pages follow the
// policy of the process that maps it (prefer_node_for_file), or intent_arenas.h places them.
//
// Invariants
//   1. Nothing is left behind: a file has no name by the time that it is used, so it disappears with the last process.
//   2. If the memory is not available, making the file throws an error that names the memory and a remedy.
//      capacity_bytes() limits the memory that a job may open, so that its heap reports out of memory before the
//      kernel sends a signal.
//   3. A device serves one job at a time: it is locked (flock) until the last process of the job has ended.
#pragma once

#include <situ/pages/memory_kind.h>

#include <cstdint>
#include <utility>

#include "os/descriptor.h"

namespace situ::detail {

// An open file of this kind. Movable; closes itself.
class page_file {
 public:
  // Creates the file. name: shows in /proc. least_bytes: must fit at once. Throws out_of_memory if they do not, else
  // bad_launch.
  static page_file create(const memory_kind& kind, const char* name, std::uint64_t least_bytes = 0);

  // Sets the size, unless the file is a device, and seals it if the kind allows that. Whole units. Throws bad_launch.
  void resize(std::uint64_t bytes) const;
  // Allocates the file's space on its disk now, so that a full disk is an error here and not a signal later; does
  // nothing if the file is on no disk. pre: the size is set. Throws as create().
  void reserve(std::uint64_t bytes) const;
  // Zeroes a part of a device, which still holds earlier data. Does nothing for other kinds. Throws bad_launch.
  void clear(std::uint64_t from, std::uint64_t bytes) const;
  [[nodiscard]] int descriptor() const noexcept { return file_.number(); }
  // Gives the open file to the caller; this object has none afterwards.
  [[nodiscard]] os::descriptor release() noexcept { return std::move(file_); }
  // Returns the unit, in bytes, of offsets and lengths of mappings: a page, or 2 MiB.
  [[nodiscard]] std::uint64_t unit() const noexcept { return unit_; }
  // Returns the bytes that the file can have; 0: as much as the machine has.
  [[nodiscard]] std::uint64_t capacity_bytes() const noexcept { return capacity_; }
  // Returns whether whole units can be given back to the system, so that others can be placed instead. Tries it on the
  // first unit. pre: the size is set, and the first unit holds no data.
  [[nodiscard]] bool gives_back() const noexcept;
  // Returns whether the file is a device, whose size is fixed: capacity_bytes().
  [[nodiscard]] bool is_device() const noexcept { return kind_.from == memory_kind::source::device; }

 private:
  page_file(os::descriptor file, const memory_kind& kind) : file_{std::move(file)}, kind_{kind} {}
  static page_file create_huge(const memory_kind& kind, const char* name, std::uint64_t least_bytes);
  static page_file create_in_folder(const memory_kind& kind, std::uint64_t least_bytes);
  static page_file open_device(const memory_kind& kind, std::uint64_t least_bytes);

  os::descriptor file_;
  memory_kind kind_;
  std::uint64_t unit_ = 4096;
  std::uint64_t capacity_ = 0;
};

// Makes pages of a mapped memory file come from this node, as long as it has room, whichever process touches them.
// Throws bad_launch if there is no such node, or the process must not use it.
void prefer_node_for_file(std::uint32_t node, void* mapped, std::uint64_t bytes);
// Throws not_supported: memory in such a file cannot be placed by intents.
[[noreturn]] void refuse_intents(memory_kind::source from);
// Returns the size of an open file, or of a device's memory; 0 for a descriptor of another kind.
[[nodiscard]] std::uint64_t bytes_of_file(int descriptor) noexcept;

}  // namespace situ::detail
