// What `situ pool` does to whole pools, without knowing the types of their objects: docs/guide/pools.md shows their
// use. Each throws bad_file for what is no sound pool, or is in use; what it throws leaves the pools as they were.
// Functions without state.
#pragma once

#include <situ/pool/pool.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace situ::detail {

// The address of its first byte where it was made: what its objects' pointers count from. cost: reading its header.
std::uint64_t base_of_pool(const std::string& path);

struct copied_pool {
  std::uint64_t bytes = 0;       // its length
  std::uint64_t data_bytes = 0;  // of those, what is no hole
};
// A copy of what is there between two transactions: no writer comes in meanwhile. It is a pool of its own, which has
// the same identity and addresses, and is there under its name once it is whole. An incomplete transaction stays one,
// which the copy's next opening takes back. patience: as pool_opening's. cost: reading and writing what is no hole.
copied_pool copy_pool(const std::string& from, const std::string& to, bool may_replace,
                      std::chrono::nanoseconds patience = pool_opening{}.patience);

struct compacted_pool {
  std::uint64_t heap_bytes = 0;   // of the heap, now
  std::uint64_t cut_bytes = 0;    // that it had at its end, and nobody had
  std::uint64_t hole_bytes = 0;   // that are free within it, and take no room on the disk any more
  std::uint64_t freed_bytes = 0;  // that the file takes less of its disk
};
// What is free at the end of the heap is cut off, what is free within it becomes holes, in whole chunks. No object is
// moved, and free blocks within slabs stay. The pool must not be open. cost: a system call for each free run.
compacted_pool compact_pool(const std::string& path);

// Gives all that a pool may write room on its disk, where a copy of it has holes. Throws out_of_memory.
void give_room(int descriptor, const pool_info& of, const std::string& path);

struct repaired_pool {
  std::vector<std::string> done;  // what was mended or given up, each with its byte; empty: there was nothing to do
  std::vector<std::string> left;  // damage that is still there
  bool is_written = false;        // where there was something to do
};
// Mends what can be mended, in a copy, which becomes the file `to`, or, where that is empty, takes the pool's place
// once it is whole. A part of which one bit has changed is put right by its check; the heap's size by its other copy; a
// damaged entry of the map by the head of its slab; roots that are damaged or lead to no object are taken away, and
// said with all they held. Throws bad_file where it cannot be opened even so. cost: a copy of the pool.
repaired_pool repair_pool(const std::string& path, const std::string& to);

// A difference of two pools.
struct pool_difference {
  enum class kind : std::uint8_t { only_in_first, only_in_second, differs };
  kind what = kind::differs;
  std::string name;          // of a root; empty: a block
  std::uint64_t offset = 0;  // of the block in the file; of a root's object in the first pool that has it
  std::uint64_t block_bytes = 0;
  std::uint64_t first_byte = 0;  // of a block that differs: the first byte within it that does
  std::uint64_t bytes = 0;       // and how many do
};
// By roots and allocated blocks. Objects hold addresses: those that lead to the same byte of either pool are the same,
// wherever each of them lies. Blocks are the same ones by where they are, for only their types could tell more. cost:
// reading all allocated blocks of both.
std::vector<pool_difference> compare_pools(const std::string& first, const std::string& second,
                                           std::chrono::nanoseconds patience = pool_opening{}.patience);

}  // namespace situ::detail
