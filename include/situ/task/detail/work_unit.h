// A work unit of a task graph as the graph stores it; task_graph.h is the interface for programs.
#pragma once

#include <situ/task/access.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace situ::detail {

struct work_unit;
struct staged_tile;
class graph_core;

struct drop_tiles {
  void operator()(std::vector<staged_tile>* tiles) const noexcept;
};

// An entry in a unit's list of successors: `after` waits for that unit. The entry is stored in `after`, and is free
// again once `after` has begun.
struct dependence {
  work_unit* after = nullptr;
  dependence* next = nullptr;
};

struct more_dependences {
  std::array<dependence, 32> edges;
  std::unique_ptr<more_dependences> next;
};

// One of the `window` records of a graph, which the graph reuses. Only the thread that adds units takes a free record.
struct alignas(64) work_unit {
  static constexpr std::size_t body_bytes = 64;
  static constexpr std::size_t inline_dependences = 6;

  // The number of units that this unit still waits for; plus `being_added` while it is being added.
  static constexpr std::uint32_t being_added = 1U << 30;
  std::atomic<std::uint32_t> waits_for{0};
  std::uint32_t generation = 0;                  // counts the uses of the record; written by the adding thread
  std::atomic<dependence*> successors{nullptr};  // `ended()` once the unit has ended: then the record is free
  std::atomic<bool> is_cancelled{false};         // an earlier unit threw: this unit never runs
  std::atomic<bool> has_failed{false};           // the unit threw, or was cancelled
  std::uint16_t home = 0;                        // the node that holds most of its bytes (homes.h)
  std::uint32_t made_ready_by = 0;               // the thread that made it ready
  std::uint64_t number = 0;                      // its position in the order of add()
  void (*run)(work_unit&) = nullptr;             // null: a wait, which fails no other unit
  void (*destroy)(work_unit&) noexcept = nullptr;
  const char* name = nullptr;        // for errors; or null
  std::uint32_t float_settings = 0;  // those of the adding thread (base/float_settings.h)

  alignas(64) std::byte body[body_bytes];
  std::array<dependence, inline_dependences> edges;
  std::unique_ptr<more_dependences> more;
  std::unique_ptr<std::vector<declared_access>> declared;        // its accesses, in a checked graph
  std::unique_ptr<std::vector<staged_tile>, drop_tiles> staged;  // the tiles that it needs (staged_array.h)
  work_unit* next_late = nullptr;                                // the next unit in a list of its home

  // Returns the value that stands for "ended" in `successors`.
  [[nodiscard]] static dependence* ended() noexcept;
  [[nodiscard]] bool has_ended() const noexcept { return successors.load(std::memory_order_acquire) == ended(); }
};

// Prepares a unit with these accesses: checks them, and closes reductions into bytes that they touch. Returns the
// accesses with each piece as an access of its own, valid until the next call.
[[nodiscard]] std::span<const declared_access> prepare_unit(graph_core& core,
                                                            std::span<const declared_access> accesses);
// Returns a free record with room for a body; the record stays free until end_unit.
[[nodiscard]] work_unit& begin_unit(graph_core& core);
void end_unit(graph_core& core, work_unit& unit, std::span<const declared_access> accesses);

// Throws bad_argument if the calling thread runs a unit of a checked graph that has not declared the access.
void check_declared(const void* begin, std::size_t bytes, bool writes, const char* array, std::size_t index);
// The unit that the calling thread runs, if its graph is checked; else null.
inline constinit thread_local const work_unit* checked_unit = nullptr;

// Results of the units of a reduction that have not been combined yet. Belongs to the adding thread.
struct open_reduction {
  memory_region target;
  const void* operation = nullptr;   // identifies the combining function
  std::uint32_t float_settings = 0;  // of the thread that adds the units, for the combining unit
  std::vector<std::shared_ptr<void>> parts;
  void (*add_combiner)(graph_core& core, open_reduction& of) = nullptr;
};
// Returns the reduction of `target` by `operation`, and closes others that overlap the target. Throws bad_argument if
// an access touches the target.
open_reduction& open_reduction_of(graph_core& core, const memory_region& target, const void* operation,
                                  std::span<const declared_access> accesses);

}  // namespace situ::detail
