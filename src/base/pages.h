// Pages from the system for one process: where datasets, slots, stores and what measures the machine have theirs.
#pragma once

#include "base/host.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace situ::detail {

// Memory in pages of its own, anonymous if it makes them: zero, not touched yet, and from 2 MiB on in huge pages where
// the system gives them. Movable; unmaps itself.
class pages {
 public:
  pages() = default;
  // Whole pages, huge ones from 2 MiB on. Holds none where the address space, or its limit, has no room.
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

  // From now on they come from a NUMA node, as long as it has room; from others where it has none. 0, or errno's value:
  // EINVAL for no such node. Node 0 is there also where the kernel has no NUMA, or a container forbids the call.
  [[nodiscard]] int prefer_node(std::uint32_t node) const noexcept;
  // Whether some of them, spread over all, are there; they must have been touched. True where the kernel does not tell.
  [[nodiscard]] bool lie_on_node(std::uint32_t node) const noexcept;

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace situ::detail
