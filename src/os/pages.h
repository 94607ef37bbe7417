// Pages from the system for one process: for datasets, slots, stores and measurements of the machine.
#pragma once

#include "os/host.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace situ::detail {

// Memory in pages of its own. Pages that it maps itself are anonymous: zero, untouched, and from 2 MiB on huge if the
// system gives huge pages. Movable; unmaps itself.
class pages {
 public:
  pages() = default;
  // Maps whole pages, huge ones from 2 MiB on. Is empty if the address space, or its limit, has no room.
  explicit pages(std::size_t bytes) noexcept;
  // Takes over a mapping; null: none.
  pages(std::byte* mapped, std::size_t bytes) noexcept : at_{mapped}, bytes_{mapped != nullptr ? bytes : 0} {}
  ~pages();
  pages(pages&& other) noexcept : at_{std::exchange(other.at_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  pages& operator=(pages&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  [[nodiscard]] bool empty() const noexcept { return at_ == nullptr; }
  [[nodiscard]] std::byte* data() const noexcept { return at_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

  // Makes later pages come from a NUMA node, as long as it has room, and then from others. Returns 0, or errno's
  // value: EINVAL for no such node. Node 0 is accepted even if the kernel has no NUMA, or a container forbids the
  // call.
  [[nodiscard]] int prefer_node(std::uint32_t node) const noexcept;
  // Returns whether all of 16 pages, spread over the range, are on the node; they must have been touched. Returns true
  // if the kernel does not report it.
  [[nodiscard]] bool lie_on_node(std::uint32_t node) const noexcept;

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace situ::detail
