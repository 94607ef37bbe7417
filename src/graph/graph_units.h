// The two units beside a memory that an offload agent works with, in the place of NEMESYS's accelerators: one measures
// a graph (sections 3.2 and 4.1), the other copies it to another place's memory (4.2).
//
// By software both are the agent's own thread (make_software_units). A machine that has such devices puts them in their
// place by set_graph_units, before the first offload of the process. Units belong to one agent and are called by its
// thread alone, which a device may keep waiting; requests lie in slots, of which there are as many as entries in the
// agent's queue.
#pragma once

#include <situ/graph/clone.h>
#include <situ/graph/detail/graph_call.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "graph/plan.h"

namespace situ::detail {

inline constexpr std::size_t offload_slots = 16;  // as in the paper's prototype

// What measuring finds: the size of the copy, and where the roots lie in it.
struct measured_graph {
  std::uint64_t copy_bytes = 0;  // head included
  std::uint64_t objects = 0;
  std::uint64_t finalizer_words = 0;
  std::uint32_t alignment = 0;
  bool has_values = false;                        // then no unit copies it
  std::array<std::uint32_t, most_roots> roots{};  // units in the copy; 0 for null
};

// Where a copy goes. The copy's head at `bytes` is the receiver's, and stays as it is.
struct copy_destination {
  std::byte* bytes = nullptr;
  std::uint64_t* finalizers = nullptr;  // null where the graph has none
};

class graph_measurer {
 public:
  virtual ~graph_measurer() = default;
  // Walks the graph of these roots, which lies in this unit's memory, and sees to it that memory holds what caches do
  // (coherence.h). map: how it finds originals again. Errors: as graph_plan::discover.
  virtual measured_graph measure(std::size_t slot, std::span<const graph_root> roots, copy_map map) = 0;
  // The slot's graph will not be copied any more.
  virtual void forget(std::size_t slot) noexcept = 0;
};

class graph_copier {
 public:
  virtual ~graph_copier() = default;
  // Writes the copy of the slot's graph, which has been measured and has not changed since, with pointers that are
  // right where it goes; when it returns, that memory holds it. Errors: out_of_memory.
  virtual void copy(std::size_t slot, std::span<const graph_root> roots, const measured_graph& measured,
                    const copy_destination& to) = 0;
};

struct graph_units {
  std::unique_ptr<graph_measurer> measurer;
  std::unique_ptr<graph_copier> copier;
};

// Both on the calling thread. staged: a copy is made in a buffer first, and goes from there as one block.
[[nodiscard]] graph_units make_software_units(bool staged);
// What the agents of this process get from now on, instead of the software's; null: that. Not thread-safe.
using graph_units_maker = graph_units (*)(bool staged);
void set_graph_units(graph_units_maker make) noexcept;
[[nodiscard]] graph_units make_graph_units(bool staged);

}  // namespace situ::detail
