// Pages that several processes map: what the segments of a job lie in, and rings that a process maps twice.
//
//   kind         as it is written       what its pages are
//   kernel       ""                     a memory file; the kernel chooses
//   node         "node:1"               a memory file whose pages come from that node while it has room
//   intent       "intent:bandwidth"     a memory file; blocks lie along the ordering (intent_arenas.h)
//   huge pages   "huge"                 a memory file of reserved huge pages (nr_hugepages)
//   a file       "file:/scratch"        without a name in that folder, or of that name and unlinked at once
//   a device     "device:/dev/dax0.0"   its memory as it is, zeroed: a DAX character device
//
// Invariants
//   1. Nothing is left behind: a file has no name by the time that it is used, so it goes with the last process.
//   2. What cannot be had is an error when the file is made, naming what, where and what to do; and capacity_bytes()
//      bounds what a job may open, so that its heap says that memory is out before the kernel does by a signal.
//   3. A device serves one job at a time: it is locked (flock) until the last process of the job has ended.
#pragma once

#include <situ/machine/intent.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace situ::detail {

struct memory_kind {
  enum class source : std::uint8_t { kernel, node, intent, huge, file, device };
  source from = source::kernel;
  std::uint32_t node = 0;
  std::optional<situ::intent> what;  // of intent
  std::string path;                  // of file and device

  // Throws bad_argument for a text that is none of those above.
  [[nodiscard]] static memory_kind parse(std::string_view text);
  // Whether the text could be meant as one, and not as a size.
  [[nodiscard]] static bool is_kind(std::string_view text) noexcept;
};

// A descriptor of such pages. Movable; closes itself.
class page_file {
 public:
  // name: shows in /proc. least_bytes: what must fit at once. Throws bad_launch where the kind cannot be had.
  static page_file create(const memory_kind& kind, const char* name, std::uint64_t least_bytes = 0);
  page_file(page_file&& other) noexcept;
  page_file& operator=(page_file&&) = delete;
  ~page_file();

  // Gives it a size, where it is no device, and keeps it from changing, where that can be had. Whole units. Throws
  // bad_launch.
  void resize(std::uint64_t bytes) const;
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
