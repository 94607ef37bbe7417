// Allocation in the calling place's own segment. By default the kernel chooses the memory of each page. With an
// intent, pages come from the memories of an ordering (situ/machine/orderings.h): each memory is filled up to its
// threshold, then the next one is used. Every place can read, write and deallocate the blocks. One-sided: no other
// place takes part. A place allocates from its own thread; places do not disturb each other.
#pragma once

#include <situ/machine/intent.h>
#include <situ/memory/ptr.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace situ {

// Options of an allocation.
struct allocation {
  std::size_t alignment = 0;  // a power of two, in bytes; 0: the type's own, or 16
  // Requests huge pages. The kernel may refuse them for shared memory (memory_usage::huge_pages_available). The block
  // is aligned to 2 MiB. If the kernel gives huge pages only to memory that exists, all of the block exists from the
  // start (0.25 us for 4 KiB), touched or not.
  bool huge_pages = false;
};

// Options of an allocation by an intent.
struct placing {
  std::size_t alignment = 0;  // as in allocation
  // If true, the pages exist when the allocation returns. If false, each page comes from the memory that the ordering
  // has for it when any place first touches it; until then the page is promised: its bytes count as taken when later
  // pages are placed in that memory, but the page does not exist.
  bool populate = true;
};

// Counters of the calling place's allocations. Byte counts are those of whole blocks, so they include rounding. A
// deallocation by another place counts from the moment that this place takes the block back.
struct memory_usage {
  std::uint64_t live_bytes = 0;   // allocated and not deallocated
  std::uint64_t live_blocks = 0;  // number of live blocks
  // maximum of live bytes, including free blocks kept in magazines (at most 64 KiB, or four blocks, per size)
  std::uint64_t peak_bytes = 0;
  std::uint64_t allocations = 0;           // so far
  std::uint64_t deallocations = 0;         // so far, by all places
  std::uint64_t remote_deallocations = 0;  // deallocations made by other places
  std::uint64_t opened_bytes = 0;          // the segment's extent: accessible from every place; only grows
  // taken from the job's memory budget: blocks, and free memory not given back to the system
  std::uint64_t charged_bytes = 0;
  std::uint64_t returned_bytes = 0;   // total given back to the system so far
  std::uint64_t capacity_bytes = 0;   // upper limit that the address space sets for one place
  std::uint64_t huge_page_bytes = 0;  // allocated with huge_pages so far
  // total put on huge pages just before they were written, for huge_pages and for large copies of graphs
  std::uint64_t made_huge_bytes = 0;
  bool huge_pages_available = false;  // known after the first allocation with huge_pages or large copy
};

namespace detail {
[[nodiscard]] void* allocate_bytes(std::size_t bytes, std::size_t alignment, bool huge_pages);
// Returns the key of the arena for an intent and its way of populating. Constant if the intent is.
[[nodiscard]] constexpr std::uint64_t arena_key(const intent& what, bool populate) noexcept {
  return populate ? what.key() : ~what.key();
}
// key: the intent's arena_key.
[[nodiscard]] void* allocate_bytes_for(const intent& what, std::uint64_t key, std::size_t bytes, std::size_t alignment);
void deallocate_bytes(void* block);
[[noreturn]] void throw_too_many(std::size_t count, std::size_t size);
// Returns count * size in bytes. Throws out_of_memory if no address space can hold that many.
[[nodiscard]] inline std::size_t bytes_for(std::size_t count, std::size_t size) {
  if (count > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size) [[unlikely]]
    throw_too_many(count, size);
  return count * size;
}
template <class T>
constexpr void check_allocated() {
  static_assert(!std::is_void_v<T>, "situ::allocate: to allocate plain bytes use situ::allocate_bytes(bytes)");
  static_assert(std::is_trivially_destructible_v<T>,
                "situ::allocate: T must be trivially destructible: situ::deallocate may run at any place and calls no "
                "destructor. "
                "Store plain data or situ::ptr members, not std::string or std::vector");
}
}  // namespace detail

// Allocates `n` objects of type T in this place's segment; their values are indeterminate, as from std::malloc. n == 0
// allocates a distinct block, too. Errors: out_of_memory (the place goes on), bad_argument for an alignment that is no
// power of two, no_runtime.
// cost: about 6 ns up to 64 KiB.
template <class T>
[[nodiscard]] ptr<T> allocate(std::size_t n = 1, allocation how = {}) {
  detail::check_allocated<T>();
  const std::size_t bytes = detail::bytes_for(n, sizeof(T));
  const std::size_t alignment = how.alignment == 0 ? alignof(T) : std::max(how.alignment, alignof(T));
  return ptr<T>{static_cast<T*>(detail::allocate_bytes(bytes, alignment, how.huge_pages))};
}

// Allocates `n` objects in the memories of an intent's ordering, best first. The pages exist at once unless
// `how.populate` is false. Memory is placed 2 MiB at a time, when the place first needs it, and serves later
// allocations for the same intent. Errors, in addition: out_of_memory if no memory of the ordering has room (the
// message has a table of what each memory holds; an ordering may instead let its last memory take the rest), bad_file
// for a file of orderings that cannot be read, bad_argument for an ordering of memories that this process cannot use.
// cost: about 2 ns more than without an intent, once the intent has been used; the first use examines the machine
// (tens of ms); placing 2 MiB costs what touching them costs, promising them 2 us.
template <class T>
[[nodiscard]] ptr<T> allocate(std::size_t n, const intent& what, placing how = {}) {
  detail::check_allocated<T>();
  return ptr<T>{static_cast<T*>(detail::allocate_bytes_for(what, detail::arena_key(what, how.populate),
                                                           detail::bytes_for(n, sizeof(T)),
                                                           std::max(how.alignment, alignof(T))))};
}

// Allocates untyped bytes, aligned to 16 or to `how.alignment`. cost: as allocate.
[[nodiscard]] inline ptr<std::byte> allocate_bytes(std::size_t bytes, allocation how = {}) {
  return ptr<std::byte>{
      static_cast<std::byte*>(detail::allocate_bytes(bytes, how.alignment == 0 ? 16 : how.alignment, how.huge_pages))};
}

// Deallocates a block, at any place; null does nothing. A block of another place is queued for its owner, which takes
// it back when it next runs short. Errors: bad_address if `block` is not the start of a live block (freed twice,
// foreign, or an address inside a block), no_runtime.
// cost: about 6 ns for a block of this place; for another place's, one atomic operation on a line of the owner's.
template <class T>
void deallocate(ptr<T> block) {
  detail::deallocate_bytes(const_cast<std::remove_cv_t<T>*>(block.local()));
}

// Returns the counters of the calling place. Throws no_runtime outside a runtime. cost: takes back the blocks that
// other places have deallocated, and sums the counters of each size.
[[nodiscard]] memory_usage memory_statistics();

}  // namespace situ
