// Counts the use of each modelled memory, and knows the memory of each page of a program.
//
// A page is in the first memory of an ordering that has room for it: the tile's own memory if the machine has such
// memories, else the memory that the ordering begins with. If that memory is full, the page spills to the next one. The
// tile-local memories of other tiles are never taken.
//
//   blocks     allocated by a tile: take their room when they are allocated, or are refused
//   process    code, variables, stacks, mappings: take their room page by page, at the first access. Each tile has its
//              own copy of them if tiles have their own memories
//   channels   the beginning of a place's slice: page by page, in the memory of the place's tile first, if tiles have
//              their own ones
//   heap       the rest of the slice: page by page, in the place's memory first
//
// Invariants
//   1. used <= size for each memory; used is the sum of its counted extents.
//   2. Extents of one map are disjoint and consist of whole pages. Neighbours with equal contents are one extent.
//   3. An extent whose room was given back stays in its map, uncounted: dirty lines of it may still leave caches later.
//
// Not thread-safe. cost: a look-up of extents; a page or block that is new also a step for each memory that is full.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <situ/machine/intent.h>

#include "model/parts/machine_spec.h"
#include "model/parts/modelled_machine.h"

namespace situ::model {

enum class room_use : std::uint8_t { process, blocks, channels, heap };
[[nodiscard]] const char* name_of(room_use what) noexcept;

// Memories, best first: indices into machine_spec::memories.
using memory_order = std::vector<std::uint32_t>;

// Returns each tile's ordering of these memories and its own one, as `wanted` sorts them (situ/machine/ordering.h). The
// tile's own memory is part of it only if `with_local`. A specification without a tree keeps the order of the file.
[[nodiscard]] std::vector<memory_order> memory_orders(const machine_spec& spec, const memory_order& shared,
                                                      bool with_local, const intent& wanted);

class memory_rooms {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  // `orders`: of each tile. has_local: each tile has its own copy of the process.
  memory_rooms(const machine_spec& spec, std::vector<memory_order> orders, bool has_local);

  // Returns the memory of an address that a tile accesses, with the surrounding range of the same memory. The page of a
  // new address takes its room. Throws out_of_memory, with the room of each memory, if none has room.
  [[nodiscard]] page_home find(std::uint64_t address, std::uint32_t tile);

  // Takes room for a tile's block in the whole pages [begin, end), which may be in several memories. Returns false, with
  // no change but a count, if the memories of the tile's ordering have too little room together.
  [[nodiscard]] bool take(std::uint32_t tile, std::uint64_t begin, std::uint64_t end);
  // Returns whether they have room for so many bytes; counts a refusal if not.
  [[nodiscard]] bool has_room(std::uint32_t tile, std::uint64_t bytes);
  // Gives the room of these whole pages back, of all tiles.
  void give_back(std::uint64_t begin, std::uint64_t end);
  // Declares a place's slice, whose pages are all new: [begin, end), with the heap from `heap` on.
  void map_slice(std::uint32_t tile, std::uint64_t begin, std::uint64_t heap, std::uint64_t end, memory_order of_heap);

  // Bytes that lie in one memory because another one had no room.
  struct spill {
    std::uint32_t from = 0;
    room_use what = room_use::process;
    std::uint64_t bytes = 0;  // at present
    std::uint64_t most_bytes = 0;
  };
  struct memory {
    std::string name;
    std::uint64_t bytes = 0;  // 0: the machine's file gives no size, and there is always room
    std::uint64_t used = 0;
    std::uint64_t most_used = 0;
    std::vector<spill> spilled;  // into this memory
  };
  [[nodiscard]] const std::vector<memory>& memories() const noexcept { return memories_; }
  // Allocations that were refused; `room` describes the memories at the first refusal.
  struct refusals {
    std::uint64_t count = 0;
    std::uint64_t most_bytes = 0;
    std::uint64_t first_bytes = 0;
    std::string room;
  };
  [[nodiscard]] const refusals& refused() const noexcept { return refused_; }
  // Returns "scratchpad 0 has 0 B left of 8 MiB, dram 14 ...".
  [[nodiscard]] std::string room_of(const memory_order& order) const;

 private:
  struct extent {
    std::uint64_t end = 0;
    std::uint32_t home = 0;    // what find() returns: a memory, or local_memory
    std::uint32_t memory = 0;  // the memory whose room is taken
    std::uint32_t wanted = 0;  // the first memory of its ordering
    room_use what = room_use::process;
    bool is_counted = true;
  };
  using extents = std::map<std::uint64_t, extent>;
  struct slice {
    std::uint64_t begin = 0;
    std::uint64_t heap = 0;
    std::uint64_t end = 0;
    memory_order of_channels;
    memory_order of_heap;
  };

  [[nodiscard]] std::uint64_t room(std::uint32_t memory) const noexcept;
  [[nodiscard]] std::uint64_t room(const memory_order& order) const noexcept;
  void refuse(const memory_order& order, std::uint64_t bytes);
  page_home touch(extents& in, std::uint64_t address, const memory_order& order, room_use what);
  [[nodiscard]] std::uint64_t counted_in(std::uint64_t begin, std::uint64_t end);
  void put(extents& in, std::uint64_t begin, const extent& what);
  void cut_out(extents& from, std::uint64_t begin, std::uint64_t end);
  void uncount(extents& in, std::uint64_t begin, std::uint64_t end);
  static extents::iterator split(extents& in, std::uint64_t at);
  void count(const extent& what, std::uint64_t bytes);
  void discount(const extent& what, std::uint64_t bytes);
  [[nodiscard]] spill& spill_of(const extent& what);

  std::vector<memory> memories_;
  std::vector<memory_order> orders_;
  std::vector<std::uint32_t> local_;  // each tile's own memory, or none
  const bool has_local_;
  extents common_;            // blocks and slices: the same for all tiles
  std::vector<extents> own_;  // the process as each tile sees it; one element if tiles share it
  std::vector<slice> slices_;
  refusals refused_;
};

}  // namespace situ::model
