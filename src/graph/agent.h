// The offload agent of a place's memory: a worker beside it that measures graphs and copies them to other places' segments, in the place of
// NEMESYS's accelerators (sections 3.2, 4.1 and 4.2), while the caller and the receiver go on.
//
// Its requests lie in the place's segment, where the receiver finds them: a FIFO of 16. Who waits for a free entry waits as a task.
//
//   entry   free -- caller --> measure -- agent --> measured -- caller's message, receiver --> copy -- agent --> done -- receiver --> free
//                                  \------------------> failed                                  \--------> failed
//
// Invariants
//   1. Whoever may change `state` next owns the entry's other fields; the change is a release, the look an acquire.
//   2. The agent takes requests in the order of their tickets.
//   3. The agent touches no allocator of the segment and sends no message: places belong to their own threads. It only wakes them.
#pragma once

#include <situ/graph/clone.h>
#include <situ/graph/transfer.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "graph/plan.h"
#include "memory/job.h"

namespace situ::detail {

enum class offload_step : std::uint32_t { free, reserved, measure, measured, copy, done, failed };

struct alignas(64) offload_entry {
  std::atomic<offload_step> step{offload_step::free};
  std::uint32_t index = 0;           // in the queue; constant
  std::uint32_t waiting_place = 0;   // who is woken after the next step of the agent's
  std::atomic<std::uint32_t> releases{0};
  std::uint64_t ticket = 0;
  std::uint64_t copy_bytes = 0;      // set by measuring
  std::uint64_t objects = 0;
  std::uint64_t finalizer_words = 0;
  std::uint32_t alignment = 0;
  std::uint32_t root_count = 0;
  std::array<std::uint32_t, most_roots> roots{};  // units in the copy
  std::uint64_t destination = 0;     // set by the receiver
  std::uint64_t finalizers = 0;
  std::uint32_t failure_epoch = 0;   // of the caller
  std::uint32_t error_code = 0;
  char error_text[256]{};
};

struct offload_queue {
  static constexpr std::size_t entry_count = 16;  // as in the paper's prototype
  std::atomic<std::uint64_t> next_ticket{1};
  std::atomic<std::uint32_t> bell{0};
  std::atomic<std::uint32_t> asleep{0};
  std::array<offload_entry, entry_count> entries;

  // Hands an entry to the agent, and wakes it. pre: the caller owns the entry.
  void request(offload_entry& entry, offload_step step) noexcept;
};

class offload_agent {
 public:
  explicit offload_agent(place_context& context);
  ~offload_agent();
  offload_agent(const offload_agent&) = delete;
  offload_agent& operator=(const offload_agent&) = delete;

  // Has these graphs measured; waits for a free entry and for the result, as a task. Throws what the measuring threw.
  offload_entry& measure(std::span<const graph_root> roots);
  // Whether copies go through a buffer beside the originals and then as one block ($SITU_OFFLOAD_STAGED=1), as between memories that the
  // agent cannot write word by word.
  [[nodiscard]] bool is_staged() const noexcept { return staged_; }

 private:
  void run();
  bool serve_next();
  void serve(std::size_t i, offload_step step);
  void copy(offload_entry& entry, const graph_plan& plan);
  static void fail(offload_entry& entry, const std::exception& failure) noexcept;

  job_control& control_;
  ptr<offload_queue> queue_;
  std::array<std::unique_ptr<graph_plan>, offload_queue::entry_count> plans_;
  std::array<std::array<graph_root, most_roots>, offload_queue::entry_count> roots_;
  std::atomic<bool> stopping_{false};
  bool staged_ = false;
  std::uint32_t place_ = 0;
  std::thread thread_;
};

// For the receiver: the entry at this address of place `source`. Throws bad_message where there can be none.
[[nodiscard]] offload_entry& entry_at(std::uint64_t address, std::uint32_t source);
// Has the agent copy to an arena of the caller's; await_step(done) waits for it.
void request_copy(offload_entry& entry, arena& destination);
// Waits for the agent's step; throws what it failed of.
void await_step(offload_entry& entry, offload_step wanted);
// Gives the entry back.
void release_entry(offload_entry& entry, std::uint32_t owner) noexcept;

}  // namespace situ::detail
