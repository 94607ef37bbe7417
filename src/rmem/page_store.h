// Stores a region's local pages, and the mapping through which the program sees them. A local page has a frame, which
// holds its bytes or has lent them to the program's mapping.
//
// There are two implementations. From Linux 6.8 on, if /proc/self/pagemap is readable, pages are moved between frames
// and the program's mapping (UFFDIO_MOVE): a frame keeps its memory for the next page. Before that, and if the program
// may only read, pages lie in a memory file with two mappings. There each page's memory is allocated when the page is
// fetched and freed when it is evicted, at five times the cost.
//
// A page is local from fill() to drop(), and mapped from map() to unmap() or drop(). One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "os/mapping.h"
#include "pages/page_file.h"
#include "rmem/user_faults.h"

namespace situ::rmem::detail {

// Makes a memory file of fixed size, so that no other holder can shorten it under a mapping. Throws as page_file does.
[[nodiscard]] situ::detail::page_file memory_file(const char* name, std::uint64_t bytes);

// A mapping of a memory file, or of private memory if the file is -1; unmaps itself.
class file_mapping {
 public:
  file_mapping(int file, std::size_t bytes, int protection);
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;
  // Maps another file of the same size at the same addresses. Throws out_of_memory; the addresses may then be unmapped.
  void replace(int file, int protection);
  [[nodiscard]] std::byte* begin() const noexcept { return range_.begin(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return range_.bytes(); }

 private:
  os::mapping range_;
};

class page_store {
 public:
  struct held {
    std::uint64_t page;
    std::uint32_t frame;
  };
  // Pages in ascending order, without duplicates.
  using pages = std::span<const held>;
  // Receives a page that the program wrote after it was mapped and before map() had protected it, with its previous
  // bytes.
  using on_written = std::function<void(const held&, const std::byte* before)>;

  virtual ~page_store() = default;
  [[nodiscard]] virtual std::byte* program() const noexcept = 0;
  // Puts pages into their frames. bytes: 4096 for each page; the caller must not change them until keep(), or until all
  // pages are mapped or dropped. Throws out_of_memory; then none of the pages is local.
  virtual void fill(pages which, const std::byte* bytes) = 0;
  // Copies the bytes given to fill() if necessary, so that the caller may change them. Throws out_of_memory; then the
  // caller must not.
  virtual void keep() = 0;
  virtual void drop(pages which) noexcept = 0;
  [[nodiscard]] virtual bool is_mapped(std::uint32_t frame) const noexcept = 0;
  // Maps pages that are local and not mapped, and wakes the threads that wait for them. The first write to a protected
  // page is reported. Returns `some` if the kernel refused some of the pages; `cannot_protect` if this kernel maps no
  // protected pages: then the call has done nothing.
  enum class outcome : std::uint8_t { all, some, cannot_protect };
  [[nodiscard]] virtual outcome map(pages which, bool is_protected, const on_written& written) = 0;
  // Unmaps pages, so that the next touch is reported. A page that the kernel holds for a device stays mapped.
  virtual void unmap(pages which) noexcept = 0;
  // Keeps pages from being written until allow_writes() or map(), by protecting or unmapping them.
  virtual void hold(pages which) noexcept = 0;
  // Allows writes to mapped pages in [first_page, end), and wakes the threads that wait for them.
  virtual void allow_writes(std::uint64_t first_page, std::uint64_t end) noexcept = 0;
  // Returns the bytes of a local page: in place, or, if it is mapped, in `copy`, which has room for a page. Returns
  // null if the program has given the page back; finding that out may take 40 ms, and is_gone() is fast.
  [[nodiscard]] virtual const std::byte* view(const held& which, std::byte* copy) const = 0;
  // Returns true if the program has given a mapped page's memory back (madvise).
  [[nodiscard]] virtual bool is_gone(const held& which) const noexcept = 0;
};

// Makes the store of a region of `pages` pages, of which `frames` are local at a time. Throws out_of_memory and
// not_supported.
[[nodiscard]] std::unique_ptr<page_store> make_page_store(user_faults& faults, std::uint64_t pages,
                                                          std::uint32_t frames, bool may_write);

}  // namespace situ::rmem::detail
