// A work unit of a task graph, as the graph keeps it; task_graph.h is what programs see.
#pragma once

#include <situ/task/access.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace situ::detail {

struct work_unit;
class graph_core;

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
  std::uint32_t made_ready_by = 0;               // the thread
  std::uint64_t number = 0;                      // in the order of add()
  void (*run)(work_unit&) = nullptr;             // null: a wait, which fails nobody
  void (*destroy)(work_unit&) noexcept = nullptr;
  std::unique_ptr<more_dependences> more;

  alignas(64) std::byte body[body_bytes];
  std::array<dependence, inline_dependences> edges;

  // What stands for "ended" in `successors`.
  [[nodiscard]] static dependence* ended() noexcept;
  [[nodiscard]] bool has_ended() const noexcept { return successors.load(std::memory_order_acquire) == ended(); }
};

void check_accesses(std::span<const declared_access> accesses);
// A record that is free, with room for a body; stays free until end_unit.
[[nodiscard]] work_unit& begin_unit(graph_core& core);
void end_unit(graph_core& core, work_unit& unit, std::span<const declared_access> accesses);

}  // namespace situ::detail
