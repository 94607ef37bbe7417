// The two units next to a memory that an offload agent works with, as NEMESYS has accelerators: one measures a graph
// (sections 3.2 and 4.1), the other copies it to another place's memory (4.2).
//
// In software the agent's own thread does both (make_software_units). A machine that has such devices installs them by
// set_graph_units, before the first offload of the process. Units belong to one agent and are called only by its
// thread. Requests are stored in slots, as many as the agent's queue has entries. Devices that copy (graph_devices)
// work in the background: the agent's thread then only passes requests on. A device that also measures sends the call
// itself, and there are no agents (units_that_dispatch).
#pragma once

#include <situ/graph/clone.h>
#include <situ/graph/detail/graph_call.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "graph/plan.h"

namespace situ::detail {

inline constexpr std::size_t offload_slots = 16;  // as in the paper's prototype

// The result of measuring: the size of the copy, and the offsets of the roots in it.
struct measured_graph {
  std::uint64_t copy_bytes = 0;  // arena head included
  std::uint64_t objects = 0;
  std::uint64_t finalizer_words = 0;
  std::uint32_t alignment = 0;
  bool has_values = false;                        // if set, no unit copies the graph
  std::array<std::uint32_t, most_roots> roots{};  // units in the copy; 0 for null
};

// The destination of a copy. The receiver owns the copy's head at `bytes`, which units do not change.
struct copy_destination {
  std::byte* bytes = nullptr;
  std::uint64_t* finalizers = nullptr;  // null if the graph has none
};

class graph_measurer {
 public:
  virtual ~graph_measurer() = default;
  // Walks the graph of these roots, which lies in this unit's memory, and writes its cached data back to memory
  // (coherence.h). map: the copy map of the walk. Errors: as graph_plan::discover.
  virtual measured_graph measure(std::size_t slot, std::span<const graph_root> roots, copy_map map) = 0;
  // Drops the slot's graph, which will not be copied any more.
  virtual void forget(std::size_t slot) noexcept = 0;
};

class graph_copier {
 public:
  virtual ~graph_copier() = default;
  // Writes the copy of the slot's graph, which has been measured and has not changed since, with pointers for its
  // destination. When it returns, the destination's memory holds the copy. Errors: out_of_memory.
  virtual void copy(std::size_t slot, std::span<const graph_root> roots, const measured_graph& measured,
                    const copy_destination& to) = 0;
};

// Units that work in the background.
class graph_devices {
 public:
  // Called once, by a thread of the device, at the end of an operation: null, or its failure.
  using when_over = std::function<void(const std::exception* failure)>;
  virtual ~graph_devices() = default;
  // Starts what graph_copier::copy does, for place `reader`. Drops old cached data of the destination. Sets the offsets
  // of the roots, which measuring need not know.
  virtual void begin_copy(std::size_t slot, std::span<const graph_root> roots, std::uint32_t place,
                          std::uint32_t reader, measured_graph& measured, const copy_destination& to,
                          when_over over) = 0;
};

struct graph_units {
  std::unique_ptr<graph_measurer> measurer;
  std::unique_ptr<graph_copier> copier;
  std::unique_ptr<graph_devices> devices = nullptr;  // null if the machine has none
};

// A graph whose call a unit sends once it has walked the graph and written it back, with the result of the walk
// (section 4.4.2 of the paper). The unit calls `over` before it sends the call, and `over` sets `words`; failure: null,
// or the reason.
struct unit_walk {
  std::uint32_t place = 0;  // owner of the graph
  std::span<const graph_root> roots;
  std::byte* room = nullptr;  // space for `words` in the message
  void (*over)(unit_walk& walk, const measured_graph& found, const std::exception* failure,
               std::uint64_t (&words)[2]) = nullptr;
};
// A graph that a unit copies for the calling place, `reader`. Must stay valid until `over` was called.
struct unit_copy {
  std::uint32_t place = 0;  // owner of the graph
  std::uint32_t reader = 0;
  std::span<const graph_root> roots;
  measured_graph* measured = nullptr;  // the copy sets the offsets of the roots
  copy_destination to;
  void (*over)(unit_copy& copy, const std::exception* failure) = nullptr;
};
struct units_that_dispatch {
  // Starts the walk. The next message of the calling place, which contains `room`, is sent when the walk is over; the
  // place does not wait. room null: there is no message, and the walk begins at once.
  void (*dispatch)(unit_walk& walk);
  // Takes a dispatch back if no message has been sent since, so that `over` is not called; otherwise returns false.
  bool (*recall)(unit_walk& walk);
  // Like graph_devices::begin_copy.
  void (*copy)(unit_copy& copy);
};

// Makes units that run on the calling thread. staged: a copy is made in a buffer first, and moved from there as one
// block.
[[nodiscard]] graph_units make_software_units(bool staged);
// Makes the units of this process's agents in place of the software's; null: the software's. Not thread-safe.
using graph_units_maker = graph_units (*)(bool staged);
struct graph_units_of_machine {
  graph_units_maker make = nullptr;
  const units_that_dispatch* dispatching = nullptr;  // null: agents measure, and offloads go through them
  bool drop_destination = false;  // the units drop cached data of the destination, so the receiver need not
  // Called by the receiver after each copy, with the number of objects and bytes; may be null.
  void (*after_copy)(std::uint64_t objects, std::uint64_t bytes) = nullptr;
};
void set_graph_units(const graph_units_of_machine& units) noexcept;
[[nodiscard]] const graph_units_of_machine& graph_units_in_use() noexcept;
[[nodiscard]] graph_units make_graph_units(bool staged);

}  // namespace situ::detail
