// Pages that several processes map: what the segments of a job lie in, and rings that a process maps twice.
// Of which kinds: situ/memory/memory_kind.h. Of node and intent a plain memory file is made, whose pages follow the
// policy of whoever maps it (prefer_node_for_file), or lie where intent_arenas.h has them.
//
// Invariants
//   1. Nothing is left behind: a file has no name by the time that it is used, so it goes with the last process.
//   2. What cannot be had is an error when the file is made, naming what, where and what to do; and capacity_bytes()
//      bounds what a job may open, so that its heap says that memory is out before the kernel does by a signal.
//   3. A device serves one job at a time: it is locked (flock) until the last process of the job has ended.
#pragma once

#include <situ/memory/memory_kind.h>

#include <cstdint>

namespace situ::detail {

// A descriptor of such pages. Movable; closes itself.
class page_file {
 public:
  // name: shows in /proc. least_bytes: what must fit at once. Throws out_of_memory if it does not, else bad_launch.
  static page_file create(const memory_kind& kind, const char* name, std::uint64_t least_bytes = 0);
  page_file(page_file&& other) noexcept;
  page_file& operator=(page_file&&) = delete;
  ~page_file();

  // Gives it a size, where it is no device, and keeps it from changing, where that can be had. Whole units. Throws
  // bad_launch.
  void resize(std::uint64_t bytes) const;
  // Takes all room that it may need on its disk now, so that a full one is an error here and not a signal later;
  // nothing where it lies on none. pre: it has its size. Throws as create().
  void reserve(std::uint64_t bytes) const;
  // A part of a device becomes zeros: it has what was written to it last. Nothing for any other. Throws bad_launch.
  void clear(std::uint64_t from, std::uint64_t bytes) const;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] int release() noexcept;
  // What offsets and lengths of mappings are multiples of: a page, or 2 MiB.
  [[nodiscard]] std::uint64_t unit() const noexcept { return unit_; }
  // How much there is of it; 0: as much as the machine has.
  [[nodiscard]] std::uint64_t capacity_bytes() const noexcept { return capacity_; }
  // Whether whole units can be given back to the system, so that others come in their place. pre: it has its size, and
  // nothing lies in its first unit.
  [[nodiscard]] bool gives_back() const noexcept;
  // Its size cannot be chosen: it is capacity_bytes().
  [[nodiscard]] bool is_device() const noexcept { return kind_.from == memory_kind::source::device; }

 private:
  page_file(int descriptor, const memory_kind& kind) : descriptor_{descriptor}, kind_{kind} {}
  static page_file create_huge(const memory_kind& kind, const char* name, std::uint64_t least_bytes);
  static page_file create_in_folder(const memory_kind& kind, std::uint64_t least_bytes);
  static page_file open_device(const memory_kind& kind, std::uint64_t least_bytes);

  int descriptor_ = -1;
  memory_kind kind_;
  std::uint64_t unit_ = 4096;
  std::uint64_t capacity_ = 0;
};

// From now on pages of a mapped memory file come from this node, as long as it has room, whoever touches them. Throws
// bad_launch where there is no such node, or it is not allowed.
void prefer_node_for_file(std::uint32_t node, void* mapped, std::uint64_t bytes);
// Throws not_supported: what lies in such a file cannot be placed by intents.
[[noreturn]] void refuse_intents(memory_kind::source from);
// The size of an open file, or of a device's memory; 0 where it is neither.
[[nodiscard]] std::uint64_t bytes_of_file(int descriptor) noexcept;

}  // namespace situ::detail
