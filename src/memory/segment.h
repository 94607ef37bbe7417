// One place's slice of the address space: its layout, its open extent, and its part of the job's budget.
//
//   slice_base                                   heap_offset (2 MiB aligned, the same in every slice of a job)
//   | private: channels, barrier | promises | heap metadata |  heap ...  opened ->   | never opened |
//                                                           |<- slot.extent bytes ->|
//
// The metadata is below the heap and outside the extent, so that a stray put of another place cannot reach it.
//
// Owner: the place's own thread, for everything but the static functions, which any place may call at any time.
// Invariants
//   1. slot.extent only grows, in whole steps of `extent_step`, and is stored after the memory below it is usable.
//   2. charged_ bytes of job_control::opened_bytes are this segment's; they cover each chunk that is in use or may hold
//      pages although it is free. The sum over all segments never exceeds memory_budget.
//   3. Shared metadata holds chunk numbers, never addresses: it reads the same in every mapping.
#pragma once

#include <situ/memory/allocate.h>

#include "memory/heap.h"
#include "memory/intent_arenas.h"
#include "memory/job.h"
#include "memory/segment_promises.h"
#include "pages/huge_pages.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace situ::detail {

class segment final : private heap_backing {
 public:
  // Takes over slice `place`, which must be zero, as the memfd delivered it. The first `private_bytes` belong to the
  // caller. Throws bad_launch if the slice is too small for them and a heap.
  segment(job_control& control, std::uintptr_t slice_base, std::uint32_t place, std::size_t private_bytes);
  ~segment();
  segment(const segment&) = delete;
  segment& operator=(const segment&) = delete;

  // Returns the offset of the heap within each slice of this job.
  [[nodiscard]] static std::uint64_t heap_offset(const job_control& control, std::size_t private_bytes);

  // Keeps *limit equal to the extent from now on (the owner's entry of place_context::limit). null: no longer.
  void mirror_extent(std::uint64_t* limit) noexcept;

  // Makes allocate() and allocate_huge() use the arena of this intent from now on. Throws as arena_for. pre: nothing
  // has been allocated.
  void use_for_all(const intent& what) { arena_for_all_ = arena_for(what); }

  // Returns nullptr if there is no room. pre: alignment is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return heap_.allocate_in(arena_for_all_, bytes, alignment);
  }
  // Allocates from a magazine, or returns nullptr: then call allocate().
  [[nodiscard]] void* allocate_quickly(std::size_t bytes, std::size_t alignment) noexcept {
    return heap_.allocate_quickly(bytes, alignment);
  }
  // Allocates as allocate(), on huge pages if the kernel gives them to shared memory. If it gives them only for memory
  // that exists, all of the block exists when this returns.
  [[nodiscard]] void* allocate_huge(std::size_t bytes, std::size_t alignment) noexcept;
  // Allocates from the arena of an intent. `arena` is a result of arena_for. Returns nullptr if there is no room:
  // placed()'s refusal() says whether the memories or the segment lacked it.
  [[nodiscard]] void* allocate_in(unsigned arena, std::size_t bytes, std::size_t alignment) noexcept {
    return heap_.allocate_in(arena, bytes, alignment);
  }
  // Returns the arena of an intent. populate: whether its pages exist when they are placed; else each comes when it is
  // first touched. Throws as intent_arenas::arena_for, and bad_file.
  [[nodiscard]] unsigned arena_for(const intent& what, bool populate = true);
  // Moves a large block's pages to the memories of an intent; see intent_arenas. pre: owns_pages(block). Throws as
  // arena_for.
  [[nodiscard]] placement_report move_to(const intent& what, std::byte* block, std::size_t bytes);
  // Returns whether a live block of this segment shares no page with another one: it is larger than every class.
  [[nodiscard]] bool owns_pages(const std::byte* block) const noexcept;
  // Allocates from a magazine for a recently used intent, given its arena_key; else returns nullptr.
  [[nodiscard]] void* allocate_quickly_for(std::uint64_t key, std::size_t bytes, std::size_t alignment) noexcept {
    const known_arena& known = known_[key % known_arenas];
    return known.key == key ? heap_.allocate_quickly_in(*known.in, bytes, alignment) : nullptr;
  }
  // Returns the arena that allocate() uses.
  [[nodiscard]] unsigned arena_for_all() const noexcept { return arena_for_all_; }
  // Returns the intent arenas; null if no intent has been used here.
  [[nodiscard]] const intent_arenas* placed() const noexcept { return placed_.get(); }
  // Returns a front for a writer that is about to write all of these bytes, which are in one block. For memory outside
  // this segment the front prepares nothing.
  [[nodiscard]] write_front front_of(std::byte* memory, std::size_t bytes) noexcept;
  // Deallocates a block of this segment.
  free_status deallocate(void* block) noexcept { return heap_.deallocate(block); }
  // Puts the block into a magazine, if it is this segment's and the magazine has room. Returns false, with no change,
  // if not: then call deallocate().
  bool deallocate_quickly(void* block) noexcept { return heap_.deallocate_quickly(block); }
  // Deallocates a block of any other place's segment.
  static free_status deallocate_remote(const place_context& context, std::uintptr_t block) noexcept;

  // Returns the block that holds `address`, in the segment of any place; nullopt if no block ever did (`live` says
  // whether it is still allocated). Lock-free, reads shared metadata only. Concurrent changes by the owner may or may
  // not be seen.
  [[nodiscard]] static std::optional<block> find_block(const place_context& context, std::uintptr_t address) noexcept;

  // Takes back the blocks that other places have deallocated. Allocation does it whenever it runs short.
  void drain() noexcept { heap_.drain(); }
  [[nodiscard]] memory_usage statistics() noexcept;
  // Returns the largest allocation that could still succeed, fragmentation apart: the rest of the budget and of the
  // slice.
  [[nodiscard]] std::uint64_t room_bytes() const noexcept;
  // Walks all metadata; for tests.
  [[nodiscard]] bool is_valid() const noexcept;

 private:
  bool open(std::uint64_t bytes) noexcept override;
  bool charge(std::uint64_t bytes) noexcept override;
  void uncharge(std::uint64_t bytes) noexcept override;
  bool give_back(std::uint64_t offset, std::uint64_t bytes) noexcept override;
  bool place(unsigned arena, std::uint64_t offset, std::uint64_t bytes) noexcept override;
  void unplace(std::uint64_t offset, std::uint64_t bytes) noexcept override;
  bool freed(std::uint64_t offset, std::uint64_t bytes) noexcept override;

  // A cache of arenas by arena_key: to find an arena that is used again takes a comparison. (Two intents with the same
  // key, of which none are known among 2^64 keys, would share an entry.)
  struct known_arena {
    std::uint64_t key = 0;
    heap::arena* in = nullptr;
  };
  static constexpr std::size_t known_arenas = 64;

  job_control& control_;
  place_slot& slot_;
  place_status& status_;
  const std::uintptr_t heap_address_;
  const std::uint64_t capacity_;  // bytes from the heap's start to the slice's end
  std::uint64_t extent_ = 0;      // the value of slot_.extent
  std::uint64_t* mirrored_limit_ = nullptr;
  std::uint64_t charged_ = 0;
  std::uint64_t needed_ = 0;  // the part of charged_ that the heap has requested
  std::uint64_t returned_ = 0;
  std::uint64_t huge_page_bytes_ = 0;
  bool huge_pages_available_ = false;
  huge_page_maker huge_pages_;
  segment_promises promises_;
  std::unique_ptr<intent_arenas> placed_;
  std::array<known_arena, known_arenas> known_{};
  unsigned arena_for_all_ = heap::plain;
  heap heap_;  // last: it opens and charges through the members above
};

}  // namespace situ::detail
