// A work unit of a task graph, as the graph keeps it; task_graph.h is what programs see.
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

// "after" waits for the unit whose list this is in. Lies in `after`, and is free again once that has begun.
struct dependence {
  work_unit* after = nullptr;
  dependence* next = nullptr;
};

struct more_dependences {
  std::array<dependence, 32> edges;
  std::unique_ptr<more_dependences> next;
};

// One of a graph's `window` records, used again and again. Only the thread that adds units takes a record that is free.
struct alignas(64) work_unit {
  static constexpr std::size_t body_bytes = 64;
  static constexpr std::size_t inline_dependences = 6;

  // How many units it still waits for; while it is being added, also `being_added`.
  static constexpr std::uint32_t being_added = 1U << 30;
  std::atomic<std::uint32_t> waits_for{0};
  std::uint32_t generation = 0;                  // which use of the record this is; of the adding thread
  std::atomic<dependence*> successors{nullptr};  // `ended()` once it has ended: then the record is free
  std::atomic<bool> is_cancelled{false};         // one before it threw: it never runs
  std::atomic<bool> has_failed{false};           // it threw, or was cancelled
  std::uint16_t home = 0;                        // the node of most of its bytes (homes.h)
  std::uint32_t made_ready_by = 0;               // the thread
  std::uint64_t number = 0;                      // in the order of add()
  void (*run)(work_unit&) = nullptr;             // null: a wait, which fails nobody
  void (*destroy)(work_unit&) noexcept = nullptr;
  const char* name = nullptr;        // or null
  std::uint32_t float_settings = 0;  // of the thread that added it (base/float_settings.h)

  alignas(64) std::byte body[body_bytes];
  std::array<dependence, inline_dependences> edges;
  std::unique_ptr<more_dependences> more;
  std::unique_ptr<std::vector<declared_access>> declared;        // in a checked graph
  std::unique_ptr<std::vector<staged_tile>, drop_tiles> staged;  // that it needs (staged_array.h)
  work_unit* next_late = nullptr;                                // of those in a list of their home

  // What stands for "ended" in `successors`.
  [[nodiscard]] static dependence* ended() noexcept;
  [[nodiscard]] bool has_ended() const noexcept { return successors.load(std::memory_order_acquire) == ended(); }
};

// Before a unit that declares these: they are checked, and reductions into what they touch are closed. Returns them
// with pieces as accesses of their own, valid until the next call.
[[nodiscard]] std::span<const declared_access> prepare_unit(graph_core& core,
                                                            std::span<const declared_access> accesses);
// A record that is free, with room for a body; stays free until end_unit.
[[nodiscard]] work_unit& begin_unit(graph_core& core);
void end_unit(graph_core& core, work_unit& unit, std::span<const declared_access> accesses);

// Throws bad_argument where the calling thread runs a unit of a checked graph that has not declared the access.
void check_declared(const void* begin, std::size_t bytes, bool writes, const char* array, std::size_t index);
// The unit that the calling thread runs, where its graph is checked.
inline constinit thread_local const work_unit* checked_unit = nullptr;

// What units of a reduction have computed and nobody has combined yet. Of the adding thread.
struct open_reduction {
  memory_region target;
  const void* operation = nullptr;   // which function combines
  std::uint32_t float_settings = 0;  // of the thread that adds the units, for what combines
  std::vector<std::shared_ptr<void>> parts;
  void (*add_combiner)(graph_core& core, open_reduction& of) = nullptr;
};
// The reduction of `target` by `operation`; others that are open there are closed before. Throws bad_argument where one
// of the accesses touches the target.
open_reduction& open_reduction_of(graph_core& core, const memory_region& target, const void* operation,
                                  std::span<const declared_access> accesses);

}  // namespace situ::detail
