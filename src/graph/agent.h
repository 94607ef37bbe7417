// The offload agent of a memory: a worker next to it that measures graphs and copies them to other places' segments,
// with its two units (graph_units.h), while the caller and the receiver go on.
//
// If a unit of the machine measures, no graph goes through an agent: that unit sends the call itself (graph_units.h:
// units_that_dispatch).
//
// The agent's requests are stored in a segment of that memory, so that the receiver can access them: a FIFO of 16
// entries. A task that needs a free entry waits for it. queue_place() maps a place to the place that has its agent.
//
//   free -> measure                   by the caller
//   measure -> measured, unmeasured   by the agent
//   unmeasured -> free                by the caller
//   measured -> claimed -> copy       by the receiver
//   copy -> done, failed              by the agent
//   done, failed -> free              by the receiver
//
// The end that frees an entry sets its bit in a word of the owner's slot (graph_signals::freed_entries). From these bits,
// and its own count of each entry's uses, the owner knows which entries are free and which leases are over, without
// reading an entry.
//
// Either end may give an entry up, because of a failure or a loss: the caller an entry that is measured, or that a lost
// receiver left behind; the receiver an entry that it has claimed. While the agent copies, an entry that is given up is
// `abandoned`, and the agent frees it.
//
// Invariants
//   1. The participant that may take the next step owns the entry's other fields. Steps are compare-exchanges, since
//      two participants may try (sequentially consistent, because waiting tasks are looked for afterwards); a look is
//      an acquire.
//   2. `state` holds the step and the number of the entry's use, which grows each time the entry is freed: a name of an
//      earlier use matches nothing.
//   3. The agent takes requests in the order of their entries, starting after the last one that it took: a request
//      waits for at most one request of each other entry.
//   4. The agent touches no allocator of the segment and sends no message: places belong to their own threads. It only
//      wakes them.
//   5. Once a lease has ended, the agent no longer reads that graph.
//   6. Each time an entry is freed, its bit is set once. This does not hold once a place is lost: the owner then checks
//      an entry whose bit is set, and all entries after each loss, since a lost place may have set no bit.
//   7. `begun_` holds the operations of devices (graph_devices), by the state in which the agent took them up. The
//      thread that ends an operation takes the step, or frees the entry if it was given up in the meantime.
#pragma once

#include <situ/base/detail/signal_word.h>
#include <situ/graph/clone.h>
#include <situ/graph/detail/graph_call.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "graph/graph_units.h"
#include "os/host.h"
#include "os/worker.h"

namespace situ::detail {

enum class offload_step : std::uint8_t { free, measure, measured, unmeasured, claimed, copy, abandoned, done, failed };

// | use : 56 | step : 8 |
using offload_state = std::uint64_t;
[[nodiscard]] constexpr offload_state state_of(std::uint64_t use, offload_step step) noexcept {
  return use << 8 | static_cast<std::uint8_t>(step);
}
[[nodiscard]] constexpr std::uint64_t use_of(offload_state state) noexcept { return state >> 8; }
[[nodiscard]] constexpr offload_step step_of(offload_state state) noexcept {
  return static_cast<offload_step>(state & 0xff);
}

// Parts are grouped by writer, each in lines of its own (of 32 bytes, the smallest line size), so that a participant
// that hands over its part writes back only that part.
struct offload_entry {
  signal_word<offload_state> state{state_of(1, offload_step::free)};
  struct alignas(32) caller_part {
    std::uint32_t index = 0;   // number in the queue; constant
    std::uint32_t reader = 0;  // the place that gets the copy
    std::uint32_t root_count = 0;
    std::uint32_t failure_epoch = 0;  // the caller's, when it made the request
    copy_map map = copy_map::automatic;
  } asked;
  struct alignas(32) receiver_part {
    std::uint64_t destination = 0;
    std::uint64_t finalizers = 0;
  } room;
  struct alignas(32) agent_part {
    measured_graph graph;
    std::uint32_t error_code = 0;
    char error_text[256]{};
  } found;
};
static_assert(sizeof(offload_entry) % signal_line_bytes == 0);

// Returns the place whose segment holds the queue of a place's memory and whose agent serves it: at present each place
// has its own.
[[nodiscard]] constexpr std::uint32_t queue_place(std::uint32_t place) noexcept { return place; }

struct offload_queue {
  static constexpr std::size_t entry_count = offload_slots;
  // Twice the number of rings, plus 1 while the agent sleeps. A single word, since each load and store of it may cross
  // the machine.
  signal_word<std::uint32_t> bell;
  static constexpr std::uint32_t asleep = 1;
  // A bit of graph_signals::freed_entries, in addition to those of entries: the owner is to be woken when an entry is
  // freed.
  static constexpr std::uint32_t is_awaited = std::uint32_t{1} << 31;
  static_assert(entry_count < 31);
  std::array<offload_entry, entry_count> entries;

  // Hands an entry to the agent, and wakes it. Returns false if the entry was given up in the meantime. pre: the caller
  // owns the entry, and has written its part back.
  [[nodiscard]] bool request(offload_entry& entry, offload_state from, offload_step step) noexcept;
  // Makes the agent check all entries.
  void ring() noexcept;
};

class offload_agent;

// The caller's hold on an entry, from measuring until the call is over.
class offload_lease {
 public:
  offload_lease() noexcept = default;
  offload_lease(offload_agent& agent, offload_entry& entry, std::uint64_t use) noexcept
      : agent_{&agent}, entry_{&entry}, use_{use} {}
  offload_lease(offload_lease&& other) noexcept
      : agent_{other.agent_}, entry_{std::exchange(other.entry_, nullptr)}, use_{other.use_} {}
  offload_lease& operator=(offload_lease&& other) noexcept {
    std::swap(agent_, other.agent_);
    std::swap(entry_, other.entry_);
    std::swap(use_, other.use_);
    return *this;
  }
  ~offload_lease();
  [[nodiscard]] offload_entry* entry() const noexcept { return entry_; }
  [[nodiscard]] std::uint64_t use() const noexcept { return use_; }
  // Returns whether the entry was freed. After this has returned false, the place is woken when the entry is freed.
  [[nodiscard]] bool is_over() const noexcept;

 private:
  offload_agent* agent_ = nullptr;
  offload_entry* entry_ = nullptr;
  std::uint64_t use_ = 0;
};

// The receiver's hold on an entry, from reading its name to the end of the copy.
class offload_claim {
 public:
  // Claims the entry at this address of place `source`. Throws bad_message if there can be no entry, place_lost_error
  // if the caller gave it up.
  offload_claim(std::uint64_t address, std::uint64_t use, std::uint32_t source);
  offload_claim(const offload_claim&) = delete;
  offload_claim& operator=(const offload_claim&) = delete;
  ~offload_claim();
  [[nodiscard]] const offload_entry& entry() const noexcept { return *entry_; }
  // Makes the agent copy to the receiver's arena, and waits for it. Throws the agent's failure.
  void copy_to(arena& destination);

 private:
  offload_entry* entry_ = nullptr;
  std::uint64_t use_;
  std::uint32_t source_;
  offload_step step_ = offload_step::claimed;  // the step that was last seen while the entry was held
};

class offload_agent {
 public:
  explicit offload_agent(place_context& context);
  ~offload_agent();
  offload_agent(const offload_agent&) = delete;
  offload_agent& operator=(const offload_agent&) = delete;

  // Makes the agent measure these graphs, for place `reader`; waits for a free entry and for the result, as a task.
  // Throws the failure of the measuring.
  [[nodiscard]] offload_lease measure(std::span<const graph_root> roots, std::uint32_t reader);
  // Returns whether a copy is first made in a buffer next to the originals and then moved as one block
  // ($SITU_OFFLOAD_STAGED=1), as between memories that the agent cannot write word by word.
  [[nodiscard]] bool is_staged() const noexcept { return staged_; }

 private:
  class line_place;
  void run();
  bool serve_next();
  void serve(std::size_t i, offload_state state);
  [[nodiscard]] bool begin_on_device(std::size_t i, offload_state state);
  void conclude(std::size_t i, offload_state state, offload_step outcome);
  friend class offload_lease;
  void take_up_freed() noexcept;
  void look_at(std::uint32_t i) noexcept;
  [[nodiscard]] bool is_given_back(const offload_entry& entry, std::uint64_t use) noexcept;
  void await_freed() noexcept;
  [[nodiscard]] bool reserve_entry(offload_lease& made) noexcept;
  [[nodiscard]] offload_lease begin(std::span<const graph_root> roots, std::uint32_t reader);
  void wait_until_measured(offload_lease& made);
  offload_step perform(std::size_t i, offload_step asked);
  static void fail(offload_entry& entry, const std::exception& failure) noexcept;

  job_control& control_;
  ptr<offload_queue> queue_;
  graph_units units_;
  std::array<std::array<graph_root, most_roots>, offload_queue::entry_count> roots_;
  // the state in which a device took up each entry; 0: none
  std::array<std::atomic<offload_state>, offload_queue::entry_count> begun_{};
  std::atomic<bool> stopping_{false};
  bool staged_ = false;
  std::uint32_t place_ = 0;
  std::uint32_t next_served_ = 0;                                 // first entry to check for a request
  std::uint32_t free_ = (1U << offload_queue::entry_count) - 1;   // bit mask of the entries that this place may take
  std::array<std::uint64_t, offload_queue::entry_count> uses_{};  // the number of each entry's present or next use
  std::uint32_t seen_ends_ = 0;                                   // ends of places that have been handled
  line_place* line_first_ = nullptr;                              // queue of the tasks that wait for an entry
  line_place* line_last_ = nullptr;
  os::worker worker_;
};

}  // namespace situ::detail
