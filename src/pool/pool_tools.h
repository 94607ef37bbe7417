// Operations of `situ pool` on whole pools, without the types of their objects: docs/guide/pools.md shows their use.
// Each function throws bad_file for a file that is no sound pool, or is in use; if it throws, the pools are unchanged.
// Functions without state.
#pragma once

#include <situ/pool/pool.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace situ::detail {

// Returns the pool's own address, to which its objects' pointers refer. cost: reading the header.
std::uint64_t base_of_pool(const std::string& path);

struct copied_pool {
  std::uint64_t bytes = 0;       // length of the file
  std::uint64_t data_bytes = 0;  // of those, bytes outside holes
};
// Copies the state between two transactions: no writer can run during the copy. The copy is a pool of its own, with the
// same identity and addresses, and gets its name when it is complete. A transaction that its writer left incomplete is
// copied as such; the copy's next opening rolls it back. patience: as pool_opening's. cost: reading and writing all
// bytes outside holes.
copied_pool copy_pool(const std::string& from, const std::string& to, bool may_replace,
                      std::chrono::nanoseconds patience = pool_opening{}.patience);

struct compacted_pool {
  std::uint64_t heap_bytes = 0;   // size of the heap after the call
  std::uint64_t cut_bytes = 0;    // free bytes cut off at the end of the heap
  std::uint64_t hole_bytes = 0;   // free bytes within the heap that became holes of the file
  std::uint64_t freed_bytes = 0;  // disk space that the file has released
};
// Cuts off the free end of the heap, and makes holes of free chunks within it. Objects are not moved, and free blocks
// within slabs stay. The pool must not be open. cost: a system call for each free run.
compacted_pool compact_pool(const std::string& path);

// Allocates disk space for all bytes that a pool may write, if its copy has holes there. Throws out_of_memory.
void give_room(int descriptor, const pool_info& of, const std::string& path);

struct repaired_pool {
  std::vector<std::string> done;  // repairs and losses, each with its byte; empty: there was nothing to do
  std::vector<std::string> left;  // remaining damage
  bool is_written = false;        // there was something to do
};
// Repairs a pool in a copy, which becomes the file `to`, or, if `to` is empty, replaces the pool when it is complete. A
// part with one changed bit is corrected by its check; the heap's size by its other copy; a damaged entry of the map by
// the header of its slab. Roots that are damaged or lead to no object are removed, and reported with all their fields.
// Throws bad_file if the pool cannot be opened even then. cost: a copy of the pool.
repaired_pool repair_pool(const std::string& path, const std::string& to);

// A difference between two pools.
struct pool_difference {
  enum class kind : std::uint8_t { only_in_first, only_in_second, differs };
  kind what = kind::differs;
  std::string name;          // of a root; empty: a block differs
  std::uint64_t offset = 0;  // of the block in the file; of a root's object in the first pool that has it
  std::uint64_t block_bytes = 0;
  std::uint64_t first_byte = 0;  // of a block that differs: the first different byte within it
  std::uint64_t bytes = 0;       // number of different bytes
};
// Compares two pools by roots and allocated blocks. Addresses in objects are equal if they refer to the same byte of
// either pool, whatever the pools' own addresses are. Blocks are matched by their offsets, since only their types could
// tell more. cost: reading all allocated blocks of both.
std::vector<pool_difference> compare_pools(const std::string& first, const std::string& second,
                                           std::chrono::nanoseconds patience = pool_opening{}.patience);

}  // namespace situ::detail
