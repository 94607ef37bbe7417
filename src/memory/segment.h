// One place's slice of the address space: where its parts lie, how far it is open, and what it takes of the job's
// budget.
//
//   slice_base                                   heap_offset (2 MiB aligned, the same in every slice of a job)
//   | private: channels, barrier | promises | heap metadata |  heap ...  opened ->   | never opened |
//                                                           |<- slot.extent bytes ->|
//
// The metadata lies below the heap and is not part of the extent, so that a stray put of another place cannot reach it.
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
#include "memory/huge_pages.h"
#include "memory/intent_arenas.h"
#include "memory/job.h"
#include "memory/segment_promises.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace situ::detail {

class segment final : private heap_backing {
 public:
  // Takes over slice `place`, which must be as the memfd delivered it (zero). `private_bytes` at its start are the
  // caller's. Throws bad_launch where the slice is too small to hold them and a heap.
  segment(job_control& control, std::uintptr_t slice_base, std::uint32_t place, std::size_t private_bytes);
  ~segment();
  segment(const segment&) = delete;
  segment& operator=(const segment&) = delete;

  // Where the heap starts within each slice of this job.
  [[nodiscard]] static std::uint64_t heap_offset(const job_control& control, std::size_t private_bytes);

  // From now on *limit follows the extent (the owner's entry of place_context::limit). null: no longer.
  void mirror_extent(std::uint64_t* limit) noexcept;

  // From now on allocate() and allocate_huge() take what arena_for gives for this intent. Throws as that does.
  // pre: nothing has been allocated.
  void use_for_all(const intent& what) { arena_for_all_ = arena_for(what); }

  // nullptr where there is no room. pre: alignment is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return heap_.allocate_in(arena_for_all_, bytes, alignment);
  }
  // From what is at hand, or nullptr: then allocate() decides.
  [[nodiscard]] void* allocate_quickly(std::size_t bytes, std::size_t alignment) noexcept {
    return heap_.allocate_quickly(bytes, alignment);
  }
  // As allocate(), on huge pages where the kernel gives them to shared memory. Where it gives them only for memory that
  // exists, all of the block does when this returns.
  [[nodiscard]] void* allocate_huge(std::size_t bytes, std::size_t alignment) noexcept;
  // The same from memory that lies where an intent wants it. `arena` is arena_for's. nullptr where there is no room:
  // refusal() says whether the memories have none, or the segment.
  [[nodiscard]] void* allocate_in(unsigned arena, std::size_t bytes, std::size_t alignment) noexcept {
    return heap_.allocate_in(arena, bytes, alignment);
  }
  // populate: its pages exist when it is placed; else each comes when it is first touched. Throws what
  // intent_arenas::arena_for throws, and bad_file.
  [[nodiscard]] unsigned arena_for(const intent& what, bool populate = true);
  // A large block's pages to the memories of an intent; see intent_arenas. pre: owns_pages(block). Throws as arena_for.
  [[nodiscard]] placement_report move_to(const intent& what, std::byte* block, std::size_t bytes);
  // Whether a live block of this segment has its pages for itself: one that is larger than every class.
  [[nodiscard]] bool owns_pages(const std::byte* block) const noexcept;
  // From what is at hand, for an intent that was asked for lately, by its arena_key; or nullptr.
  [[nodiscard]] void* allocate_quickly_for(std::uint64_t key, std::size_t bytes, std::size_t alignment) noexcept {
    const known_arena& known = known_[key % known_arenas];
    return known.key == key ? heap_.allocate_quickly_in(*known.in, bytes, alignment) : nullptr;
  }
  // Of allocate().
  [[nodiscard]] unsigned arena_for_all() const noexcept { return arena_for_all_; }
  // Null where no intent has been used here.
  [[nodiscard]] const intent_arenas* placed() const noexcept { return placed_.get(); }
  // For who is about to write all of these bytes, which lie in one block of this segment. Of memory elsewhere: what it
  // gives prepares nothing.
  [[nodiscard]] write_front front_of(std::byte* memory, std::size_t bytes) noexcept;
  // Of a block of this segment.
  free_status deallocate(void* block) noexcept { return heap_.deallocate(block); }
  // True where the block is this segment's and could be put at hand; false changes nothing, and deallocate() decides.
  bool deallocate_quickly(void* block) noexcept { return heap_.deallocate_quickly(block); }
  // Of a block of any other place's segment.
  static free_status deallocate_remote(const place_context& context, std::uintptr_t block) noexcept;

  // The block that holds `address`, in the segment of any place; nothing where no block ever was (`live` tells whether
  // it is still allocated). Lock-free, reads shared metadata only. What the owner changes meanwhile may or may not be
  // seen.
  [[nodiscard]] static std::optional<block> find_block(const place_context& context, std::uintptr_t address) noexcept;

  // Takes back what other places have deallocated. Allocation does it whenever it runs short.
  void drain() noexcept { heap_.drain(); }
  [[nodiscard]] memory_usage statistics() noexcept;
  // The largest allocation that could still succeed, but for fragmentation: what the budget and the slice leave.
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

  // Arenas by their arena_key: a look for one that is used again is a comparison. (Names with one key, of which
  // none are known among 2^64, would share what the shortcut finds.)
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
  std::uint64_t extent_ = 0;      // what slot_.extent holds
  std::uint64_t* mirrored_limit_ = nullptr;
  std::uint64_t charged_ = 0;
  std::uint64_t needed_ = 0;  // of charged_, what the heap has asked for
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
