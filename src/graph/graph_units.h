// The two units beside a memory that an offload agent works with, in the place of NEMESYS's accelerators: one measures
// a graph (sections 3.2 and 4.1), the other copies it to another place's memory (4.2).
//
// By software both are the agent's own thread (make_software_units). A machine that has such devices puts them in their
// place by set_graph_units, before the first offload of the process. Units belong to one agent and are called by its
// thread alone; requests lie in slots, of which there are as many as entries in the agent's queue. Devices that copy
// work on by themselves (graph_devices): the agent's thread then only passes on what is asked for. Where a device
// measures as well, it sends the call itself, and there are no agents (units_that_dispatch).
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

// Units that work by themselves.
class graph_devices {
 public:
  // What an operation ends with, called once, by a thread of the device's: null, or what it failed of.
  using when_over = std::function<void(const std::exception* failure)>;
  virtual ~graph_devices() = default;
  // As graph_copier::copy, to place `reader`. Drops what its caches hold of the destination before. Sets where the
  // roots lie, which measuring need not know.
  virtual void begin_copy(std::size_t slot, std::span<const graph_root> roots, std::uint32_t place,
                          std::uint32_t reader, measured_graph& measured, const copy_destination& to,
                          when_over over) = 0;
};

struct graph_units {
  std::unique_ptr<graph_measurer> measurer;
  std::unique_ptr<graph_copier> copier;
  std::unique_ptr<graph_devices> devices = nullptr;  // where there are some
};

// A graph whose call a unit sends once it has walked the graph and written it back, with what it has found (section
// 4.4.2 of the paper). `over` is called by the unit before that, and sets `words`; failure: null, or what it failed of.
struct unit_walk {
  std::uint32_t place = 0;  // whose graph it is
  std::span<const graph_root> roots;
  std::byte* room = nullptr;  // in the message, for `words`
  void (*over)(unit_walk& walk, const measured_graph& found, const std::exception* failure,
               std::uint64_t (&words)[2]) = nullptr;
};
// A graph that a unit copies for the calling place, `reader`. Must stay until `over` has been called.
struct unit_copy {
  std::uint32_t place = 0;  // whose graph it is
  std::uint32_t reader = 0;
  std::span<const graph_root> roots;
  measured_graph* measured = nullptr;  // copying sets where the roots lie
  copy_destination to;
  void (*over)(unit_copy& copy, const std::exception* failure) = nullptr;
};
struct units_that_dispatch {
  // The next message of the calling place, in which `room` is, goes when the walk is over: nothing of that place waits.
  // room null: there is no message, and the walk begins at once.
  void (*dispatch)(unit_walk& walk);
  // Where no message has been sent since: takes that back, and nothing is called. Else false.
  bool (*recall)(unit_walk& walk);
  // As graph_devices::begin_copy.
  void (*copy)(unit_copy& copy);
};

// Both on the calling thread. staged: a copy is made in a buffer first, and goes from there as one block.
[[nodiscard]] graph_units make_software_units(bool staged);
// What the agents of this process get from now on, instead of the software's; null: that. Not thread-safe.
using graph_units_maker = graph_units (*)(bool staged);
struct graph_units_of_machine {
  graph_units_maker make = nullptr;
  const units_that_dispatch* dispatching = nullptr;  // null: agents measure, and offloads go through them
  bool drop_destination = false;                     // the receiver need not, before it asks for the copy
  // Called by the receiver after each copy, of so many objects and bytes; null: nothing.
  void (*after_copy)(std::uint64_t objects, std::uint64_t bytes) = nullptr;
};
void set_graph_units(const graph_units_of_machine& units) noexcept;
[[nodiscard]] const graph_units_of_machine& graph_units_in_use() noexcept;
[[nodiscard]] graph_units make_graph_units(bool staged);

}  // namespace situ::detail
