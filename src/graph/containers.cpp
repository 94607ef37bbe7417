#include <situ/base/error_code.h>
#include <situ/graph/containers.h>
#include <situ/memory/allocate.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include "graph/store.h"
#include "memory/segment.h"

namespace situ {
namespace detail {

void throw_out_of_range(std::size_t index, std::size_t size) {
  throw_error(errc::bad_argument, fmt::format("element {} of a container of {}", index, size));
}

store allocate_bytes_anywhere(std::size_t bytes, std::size_t alignment) {
  if (current->segment != nullptr)
    return {situ::allocate_bytes(bytes, {.alignment = std::max<std::size_t>(alignment, 16)}).local(), true};
  alignment = std::max<std::size_t>(alignment, 16);
  const bool is_possible = bytes <= static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - alignment;
  void* const block = is_possible ? std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1)) : nullptr;
  if (block == nullptr)
    throw_error(errc::out_of_memory,
                fmt::format("{} bytes for a copy of an object graph: the process is out of memory", bytes));
  return {static_cast<std::byte*>(block), false};
}

void free_bytes_anywhere(std::byte* block, bool in_segment) noexcept {
  if (!in_segment) return std::free(block);
  if (current->place_count == 0) return;  // the segment was freed with its job
  deallocate(ptr<std::byte>{block});
}

write_front front_of(std::byte* bytes, std::size_t count) noexcept {
  return current->segment == nullptr ? write_front{} : current->segment->front_of(bytes, count);
}

void allocate_store(array_descriptor& array, std::size_t bytes, std::size_t alignment) {
  const store made = allocate_bytes_anywhere(bytes, alignment);
  array.data = made.bytes;
  array.capacity = bytes | (made.in_segment ? array_descriptor::in_segment : 0);
}

void free_store(array_descriptor& array) noexcept {
  if (array.data != nullptr && (array.capacity & array_descriptor::in_arena) == 0)
    free_bytes_anywhere(array.data, (array.capacity & array_descriptor::in_segment) != 0);
  array = {};
}

}  // namespace detail

string& string::append(std::string_view text) {
  if (text.empty()) return *this;
  const std::size_t size = raw_.count + text.size();
  if (size + 1 > raw_.capacity_bytes()) {
    detail::array_descriptor larger;
    detail::allocate_store(larger,
                           std::max<std::size_t>(size + 1, std::min<std::size_t>(2 * raw_.capacity_bytes(),
                                                                                 size + (std::size_t{1} << 20))),
                           1);
    if (raw_.count != 0) std::memcpy(larger.data, raw_.data, raw_.count);
    // before the old text is freed: `text` may be part of it
    std::memcpy(larger.data + raw_.count, text.data(), text.size());
    detail::free_store(raw_);
    raw_ = larger;
  } else {
    std::memmove(raw_.data + raw_.count, text.data(), text.size());
  }
  raw_.count = size;
  raw_.data[size] = std::byte{0};
  return *this;
}

}  // namespace situ
