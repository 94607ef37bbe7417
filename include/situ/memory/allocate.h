// Allocation in the calling place's own segment. Pages lie where the kernel puts them, or, by an intent, in the
// memories of an ordering (situ/machine/orderings.h): each until it is filled up to its threshold, then the next. What
// is allocated here can be read, written and deallocated at every place. One-sided: no other place takes part. A place
// allocates from its own thread; places do not disturb each other.
#pragma once

#include <situ/machine/intent.h>
#include <situ/memory/ptr.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace situ {

// How to allocate.
struct allocation {
  std::size_t alignment = 0;  // a power of two, in bytes; 0: the type's own, or 16
  // a wish, granted where the kernel allows them for shared memory (memory_usage::huge_pages_available); the block is
  // aligned to 2 MiB then. Where the kernel gives them only to memory that exists, all of the block does from the start
  // (0.25 us for 4 KiB), touched or not.
  bool huge_pages = false;
};

// How to allocate by an intent.
struct placing {
  std::size_t alignment = 0;  // as of allocation
  // Whether the pages are made at once. false: each comes from the memory that the ordering has for it when somebody
  // touches it first, at whatever place; until then it is promised, and takes no memory.
  bool populate = true;
};

// What the calling place has allocated. Bytes are those of whole blocks, so rounding is included. Deallocations by
// other places count from the moment that this place takes its blocks back.
struct memory_usage {
  std::uint64_t live_bytes = 0;   // allocated and not given back
  std::uint64_t live_blocks = 0;  // the blocks that these are
  // the most that was live at once, with the free blocks kept at hand (64 KiB, or four blocks, a size at most)
  std::uint64_t peak_bytes = 0;
  std::uint64_t allocations = 0;           // so far
  std::uint64_t deallocations = 0;         // so far, by all places
  std::uint64_t remote_deallocations = 0;  // of those, the ones made by other places
  std::uint64_t opened_bytes = 0;          // the segment's extent: accessible from every place; only grows
  std::uint64_t charged_bytes = 0;   // of the job's memory budget: blocks, and free memory not given back to the system
  std::uint64_t returned_bytes = 0;  // given back to the system so far, summed up
  std::uint64_t capacity_bytes = 0;  // what the address space leaves to one place
  std::uint64_t huge_page_bytes = 0;  // allocated with huge_pages so far
  // put on huge pages just before they were written, for huge_pages and for large copies of graphs, summed up
  std::uint64_t made_huge_bytes = 0;
  bool huge_pages_available = false;  // known after the first allocation with huge_pages or large copy
};

namespace detail {
[[nodiscard]] void* allocate_bytes(std::size_t bytes, std::size_t alignment, bool huge_pages);
// For an intent, and how its pages come. Constant where the intent is.
[[nodiscard]] constexpr std::uint64_t arena_key(const intent& what, bool populate) noexcept {
  return populate ? what.key() : ~what.key();
}
// key: its arena_key.
[[nodiscard]] void* allocate_bytes_for(const intent& what, std::uint64_t key, std::size_t bytes, std::size_t alignment);
void deallocate_bytes(void* block);
[[noreturn]] void throw_too_many(std::size_t count, std::size_t size);
// Bytes of `count` things of `size` bytes each. Throws out_of_memory where no address space holds so many.
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

// `n` objects of type T in this place's segment; their values are indeterminate, as from std::malloc (n == 0 allocates
// a block of its own, too). Errors: out_of_memory (the place goes on), bad_argument for an alignment that is no power
// of two, no_runtime.
// cost: about 6 ns up to 64 KiB.
template <class T>
[[nodiscard]] ptr<T> allocate(std::size_t n = 1, allocation how = {}) {
  detail::check_allocated<T>();
  const std::size_t bytes = detail::bytes_for(n, sizeof(T));
  const std::size_t alignment = how.alignment == 0 ? alignof(T) : std::max(how.alignment, alignof(T));
  return ptr<T>{static_cast<T*>(detail::allocate_bytes(bytes, alignment, how.huge_pages))};
}

// The same in the memories that an intent takes, best first. The pages exist at once, unless `how` leaves them to who
// touches them first: memory is placed in 2 MiB, as the place first needs it, and serves later allocations of that
// intent. Errors, besides: out_of_memory where no memory of the ordering has room (with a table of what each has,
// unless the ordering has the last one take it), bad_file for a file of orderings that cannot be read, bad_argument for
// an ordering of memories that this process cannot use. cost: about 2 ns more than without, once an intent has been
// used; then the machine is looked at (tens of ms), and 2 MiB at a time are placed at what touching them costs, or
// promised for 2 us.
template <class T>
[[nodiscard]] ptr<T> allocate(std::size_t n, const intent& what, placing how = {}) {
  detail::check_allocated<T>();
  return ptr<T>{static_cast<T*>(detail::allocate_bytes_for(what, detail::arena_key(what, how.populate),
                                                           detail::bytes_for(n, sizeof(T)),
                                                           std::max(how.alignment, alignof(T))))};
}

// The same for bytes without a type, aligned to 16 or to what is asked for. cost: as allocate.
[[nodiscard]] inline ptr<std::byte> allocate_bytes(std::size_t bytes, allocation how = {}) {
  return ptr<std::byte>{
      static_cast<std::byte*>(detail::allocate_bytes(bytes, how.alignment == 0 ? 16 : how.alignment, how.huge_pages))};
}

// Gives a block back, at any place; null does nothing. A block of another place returns to its owner when the owner
// next runs short. Errors: bad_address where `block` is not the start of a live block (freed twice, foreign, or within
// one), no_runtime.
// cost: about 6 ns for a block of this place; one atomic operation on a line of the owner's for another place's.
template <class T>
void deallocate(ptr<T> block) {
  detail::deallocate_bytes(const_cast<std::remove_cv_t<T>*>(block.local()));
}

// What the calling place has allocated until now. Throws no_runtime outside a runtime. cost: takes back
// what other places have given back, and adds up the counters of each size.
[[nodiscard]] memory_usage memory_statistics();

}  // namespace situ
