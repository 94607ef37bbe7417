// Pages of a file for one process: where a page_source takes memory of a kind that is a file, and what is mapped more
// than once. A device serves the whole process, each stretch a part of it; any other file serves one stretch.
#pragma once

#include <situ/memory/memory_kind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "memory/page_file.h"

namespace situ::detail {

class device_memory;

// Movable; gives itself back. Mappings of it have to end first.
class file_stretch {
 public:
  file_stretch() = default;
  // So many bytes, rounded up to whole units, which are zeros. kind: of node and intent a plain memory file is made,
  // whose pages somebody places. Throws as page_file does (no room: out_of_memory), after `what`, which names it.
  // cost: system calls; of a device, writing it.
  file_stretch(const memory_kind& kind, std::size_t bytes, std::string_view what);
  ~file_stretch();
  file_stretch(file_stretch&& other) noexcept { *this = std::move(other); }
  file_stretch& operator=(file_stretch&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(device_, other.device_);
    std::swap(offset_, other.offset_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // What parts of it, and addresses, are multiples of.
  [[nodiscard]] std::size_t unit() const noexcept { return file_->unit(); }
  // The file, where nothing else lies in it, from its byte 0 on; -1: it is a part of a device.
  [[nodiscard]] int own_file() const noexcept { return device_ == nullptr ? file_->descriptor() : -1; }
  // Maps a part of it, shared: at an address, whose pages go, or (null) where there is room. Null and errno where the
  // system refuses.
  [[nodiscard]] std::byte* map(std::size_t from, std::size_t bytes, std::byte* at = nullptr) const noexcept;

 private:
  std::shared_ptr<const page_file> file_;
  std::shared_ptr<device_memory> device_;
  std::uint64_t offset_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace situ::detail
