// Pages from the system for one process: for datasets, slots, stores and measurements of the machine.
#pragma once

#include "os/host.h"
#include "os/mapping.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace situ::detail {

// A mapping that is readable and writable. Pages that it maps itself are anonymous: zero, untouched, and from 2 MiB on
// huge if the system gives huge pages. Movable; unmaps itself.
class pages {
 public:
  pages() = default;
  // Maps whole pages, huge ones from 2 MiB on. Is empty if the address space, or its limit, has no room.
  explicit pages(std::size_t bytes) noexcept;
  // Takes over a mapping, which may be empty.
  explicit pages(os::mapping range) noexcept : range_{std::move(range)} {}
  pages(pages&& other) noexcept = default;
  // `other` gets the range that the object had: an owner of a budget unmaps its pages before it gives the budget back.
  pages& operator=(pages&& other) noexcept {
    std::swap(range_, other.range_);
    return *this;
  }

  [[nodiscard]] bool empty() const noexcept { return !range_; }
  [[nodiscard]] std::byte* data() const noexcept { return range_.begin(); }
  [[nodiscard]] std::size_t size() const noexcept { return range_.bytes(); }

  // Makes later pages come from a NUMA node, as long as it has room, and then from others. Returns 0, or errno's
  // value: EINVAL for no such node. Node 0 is accepted even if the kernel has no NUMA, or a container forbids the
  // call.
  [[nodiscard]] int prefer_node(std::uint32_t node) const noexcept;
  // Returns whether all of 16 pages, spread over the range, are on the node; they must have been touched. Returns true
  // if the kernel does not report it.
  [[nodiscard]] bool lie_on_node(std::uint32_t node) const noexcept;

 private:
  os::mapping range_;
};

}  // namespace situ::detail
