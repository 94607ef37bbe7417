// Where the pages of a region lie while they are here, and the mapping by which the program has them. A page that is
// here has a frame, which holds its bytes or has lent them to the program's mapping.
//
// Two of them. From Linux 6.8 on, where /proc/self/pagemap can be read, pages are moved between frames and the
// program's mapping (UFFDIO_MOVE): a frame keeps its memory for the next page. Before that, and where the program may
// only read, they lie in a memory file with two mappings, in which each page's memory is made when it comes and freed
// when it goes, at five times the cost.
//
// A page is here from fill() to drop(), and mapped from map() to unmap() or drop(). One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "memory/page_file.h"
#include "rmem/user_faults.h"

namespace situ::rmem::detail {

// A memory file, whose size stays: who else has it cannot shorten it under a mapping. Throws as page_file does.
[[nodiscard]] situ::detail::page_file memory_file(const char* name, std::uint64_t bytes);

// A mapping of a memory file, or of memory of this process alone where there is none (-1); unmaps itself.
class file_mapping {
 public:
  file_mapping(int file, std::size_t bytes, int protection);
  ~file_mapping();
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;
  // Another file of the same size, at the same addresses. Throws out_of_memory; then nothing may be there.
  void replace(int file, int protection);
  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* begin_;
  std::size_t bytes_;
};

class page_store {
 public:
  struct held {
    std::uint64_t page;
    std::uint32_t frame;
  };
  // Pages, in ascending order; none twice.
  using pages = std::span<const held>;
  // A page that was written while it was mapped protected, before it was protected, and what it held before that.
  using on_written = std::function<void(const held&, const std::byte* before)>;

  virtual ~page_store() = default;
  [[nodiscard]] virtual std::byte* program() const noexcept = 0;
  // bytes: 4096 for each, which stay as they are until keep(), or all are mapped or dropped. Throws out_of_memory; then
  // none of them is here.
  virtual void fill(pages which, const std::byte* bytes) = 0;
  // The bytes that were given to fill() may change from now on. Throws out_of_memory; then they may not.
  virtual void keep() = 0;
  virtual void drop(pages which) noexcept = 0;
  [[nodiscard]] virtual bool is_mapped(std::uint32_t frame) const noexcept = 0;
  // Of those that are here and not mapped; wakes who waits for them. Protected ones tell their first write. Some may
  // stay as they are, where the kernel refuses. cannot_protect: nothing was done, since this kernel maps no protected
  // pages.
  enum class outcome : std::uint8_t { all, some, cannot_protect };
  [[nodiscard]] virtual outcome map(pages which, bool is_protected, const on_written& written) = 0;
  // The next touch of them is told. One that the kernel holds for a device's sake stays mapped.
  virtual void unmap(pages which) noexcept = 0;
  // Nobody writes to them until allow_writes() or map(): they are protected, or unmapped.
  virtual void hold(pages which) noexcept = 0;
  // Of mapped ones, from a page to the one before `end`; wakes who waits for them.
  virtual void allow_writes(std::uint64_t first_page, std::uint64_t end) noexcept = 0;
  // The bytes of a page that is here: where they lie, or those of a mapped one in `copy`, which has room for a page.
  // Null where the program has given it back, which may take 40 ms to be found out: is_gone() is fast.
  [[nodiscard]] virtual const std::byte* view(const held& which, std::byte* copy) const = 0;
  // Whether a mapped page is not there any more: the program has given its memory back (madvise).
  [[nodiscard]] virtual bool is_gone(const held& which) const noexcept = 0;
};

// For a region of so many pages, `frames` of them here at a time. Throws out_of_memory and not_supported.
[[nodiscard]] std::unique_ptr<page_store> make_page_store(user_faults& faults, std::uint64_t pages,
                                                          std::uint32_t frames, bool may_write);

}  // namespace situ::rmem::detail
