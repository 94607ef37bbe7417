// The graph-writeback-and-dispatch unit next to a tile's cache (NCA; 4.4.2). The unit walks a graph, has every line of
// each object and array written back, counts objects and bytes, and then spawns the receiver's task.
//
// The walk accesses objects through the cache, and keeps pending objects on a stack in the tile's local memory. The
// paper calls the walk breadth first; with the stack the order is that of the stack's pops. For an object:
//
//   pop, read its mark; if the mark is this walk's, the object is finished
//   write the mark (so its first line is modified), read its class and size; a write-back for each of its lines
//   read each pointer and push it; for each array, a write-back for each line of its elements, then their pointers
//
// Situ's objects have no header, so marks are stored separately; the accesses to them go to the object's first line, as
// they do in the paper. Not thread-safe.
#pragma once

#include <situ/graph/detail/arena.h>

#include "model/graph_units/ports.h"
#include "model/graph_units/unit_layout.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

namespace situ::model {

struct writeback_unit_timing {
  time_ps period = 20'000;            // 50 MHz: table 2
  std::uint64_t state_cycles = 1;     // assumed: per word read and per command issued
  std::uint64_t metadata_bytes = 64;  // assumed: size of M, which DMA carries with the task
};

// The stack of pending objects, in the tile's local memory.
struct outstanding_stack {
  std::uintptr_t address = 0;
  std::uint64_t entries = std::uint64_t{1} << 16;  // assumed: the paper says only that it is static
};

struct writeback_result {
  std::uint64_t objects = 0;  // excludes the blocks of arrays
  std::uint64_t arrays = 0;   // nonempty blocks of arrays
  std::uint64_t bytes = 0;    // total size of objects and blocks
  // Size in bytes of a destination that holds the copy in any order of its objects.
  std::uint64_t room_bytes = 0;
  std::uint64_t finalizers = 0;      // objects that hold arrays: the copy's owner may change these
  std::uint32_t alignment = 8;       // the strictest of any object or block
  std::uint64_t lines = 0;           // lines with a write-back command
  std::uint64_t modified_lines = 0;  // lines that were dirty and went to memory
  std::uint64_t deepest_stack = 0;   // in entries
  time_ps begin = 0;
  time_ps end = 0;
};

class graph_writeback_unit {
 public:
  // cache, local: must outlive the unit.
  graph_writeback_unit(cache_port& cache, unit_memory_port& local, outstanding_stack stack = {},
                       writeback_unit_timing timing = {}, word_sizes words = {}, tagged_types tagged = {}) noexcept
      : cache_{cache}, local_{local}, stack_{stack}, timing_{timing}, words_{words}, layouts_{tagged} {}

  // Writes the graph back and measures it. Throws out_of_memory if the stack is too small. Throws what
  // graph_copy_unit::copy() throws for types that it refuses. pre: root is not null.
  writeback_result write_back(const void* root, const detail::type_descriptor& type, time_ps now);
  // Does the same for several roots and skips null roots; objects that roots share are written back once.
  writeback_result write_back(std::span<const detail::graph_root> roots, time_ps now);
  // Stores the numbers of objects and bytes in M, moves M to a tile by DMA and spawns the task there. Returns when the
  // task begins.
  time_ps dispatch(network_port& network, std::uint32_t tile, time_ps now);

 private:
  struct outstanding {
    const std::byte* object;
    const detail::type_descriptor* type;
  };
  void push(const std::byte* object, const detail::type_descriptor* type);
  outstanding pop();
  void visit(const outstanding& next);
  void visit_array(const std::byte* object, const layout_word& word);
  void write_back_lines(const std::byte* begin, std::uint64_t bytes);
  void count(std::uint64_t bytes, std::uint64_t alignment);
  void spend(std::uint64_t cycles) noexcept { now_ += cycles * timing_.period; }
  void read(const void* address, std::uint64_t bytes);

  cache_port& cache_;
  unit_memory_port& local_;
  outstanding_stack stack_;
  writeback_unit_timing timing_;
  word_sizes words_;
  layout_table layouts_;
  std::vector<outstanding> pending_;
  std::unordered_set<const std::byte*> marked_;
  writeback_result result_;
  time_ps now_ = 0;
  time_ps free_from_ = 0;
};

}  // namespace situ::model
