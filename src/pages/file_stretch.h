// Pages of a file for one process: a page_source uses them for memory of a kind that is a file, and for memory that is
// mapped more than once. A device serves all stretches of the process, each with a part of it; any other file serves
// one stretch.
#pragma once

#include <situ/pages/memory_kind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "os/mapping.h"
#include "pages/page_file.h"

namespace situ::detail {

class device_memory;

// Movable; its destructor releases the pages. pre of that: all mappings of it have ended.
class file_stretch {
 public:
  file_stretch() = default;
  // Reserves `bytes` of zeros, rounded up to whole units. For kinds node and intent it creates a plain memory file,
  // whose pages the caller places. Throws as page_file does (no room: out_of_memory), with `what` before the message.
  // cost: system calls; for a device, also writing the bytes.
  file_stretch(const memory_kind& kind, std::size_t bytes, std::string_view what);
  ~file_stretch();
  file_stretch(file_stretch&& other) noexcept { *this = std::move(other); }
  file_stretch& operator=(file_stretch&& other) noexcept {
    std::swap(kept_, other.kept_);
    std::swap(file_, other.file_);
    std::swap(device_, other.device_);
    std::swap(offset_, other.offset_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // Keeps a thing alive as long as the stretch.
  void keep(std::shared_ptr<const void> what) noexcept { kept_ = std::move(what); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Returns the unit, in bytes, of which offsets, sizes and addresses of mappings are multiples.
  [[nodiscard]] std::size_t unit() const noexcept { return file_->unit(); }
  // Returns the file's descriptor if the stretch is the whole file, from byte 0; -1 if it is a part of a device.
  [[nodiscard]] int own_file() const noexcept { return device_ == nullptr ? file_->descriptor() : -1; }
  // Maps a part of it, shared, at free addresses; map_over maps it at `at`, whose previous pages are dropped. Returns an
  // empty mapping, or false, with errno, if the system refuses.
  [[nodiscard]] os::mapping map(std::size_t from, std::size_t bytes) const noexcept;
  [[nodiscard]] bool map_over(std::byte* at, std::size_t from, std::size_t bytes) const noexcept;

 private:
  std::shared_ptr<const void> kept_;
  std::shared_ptr<const page_file> file_;
  std::shared_ptr<device_memory> device_;
  std::uint64_t offset_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace situ::detail
