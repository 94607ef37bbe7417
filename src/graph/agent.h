// The offload agent of a memory: a worker beside it that has graphs measured and copied to other places' segments, by
// its two units (graph_units.h), while the caller and the receiver go on.
//
// Where a unit of the machine measures, no graph goes through an agent: that unit sends the call itself
// (graph_units.h: units_that_dispatch).
//
// Its requests lie in a segment of that memory, where the receiver finds them: a FIFO of 16. Who waits for a free entry
// waits as a task. Which memory is a place's: queue_place().
//
//   free -> measure                   by the caller
//   measure -> measured, unmeasured   by the agent
//   unmeasured -> free                by the caller
//   measured -> claimed -> copy       by the receiver
//   copy -> done, failed              by the agent
//   done, failed -> free              by the receiver
//
// Who frees an entry says so in a word of the owner's slot (place_slot::freed_entries): the owner knows by that, and by
// its own count of each entry's uses, which entries it may take and which leases are over, and looks at none.
//
// Either end may give an entry up, because of a failure or a loss: the caller one that is measured, or that a lost
// receiver left behind; the receiver one that it has claimed. While the agent copies, an entry that is given up is
// `abandoned`, and the agent frees it.
//
// Invariants
//   1. Whoever may take the next step owns the entry's other fields. Steps are taken by compare-exchange, since two may
//      try (sequentially consistent, because who waits is looked for afterwards); the look is an acquire.
//   2. `state` holds the step and the number of the entry's use, which grows each time that it is freed: an old name of
//      an entry finds nothing.
//   3. The agent takes requests in the order of their entries, from the one on that it took last: none waits for more
//      than one of each other entry.
//   4. The agent touches no allocator of the segment and sends no message: places belong to their own threads. It only
//      wakes them.
//   5. Once a lease has ended, the agent does not read that graph any more.
//   6. An entry is freed once and named once for it. Not so once a place is lost: its owner then looks at an entry that
//      is named, and at all of them after each loss, since who died may have named none.
//   7. What devices have under way (graph_devices) is `begun_`, by the state in which it was taken up; who ends it
//      takes the step, or frees the entry where it was given up meanwhile.
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

#include "base/host.h"
#include "graph/graph_units.h"
#include "memory/job.h"
#include "memory/liveness.h"

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

// By who writes what, each in lines of its own (of 32 bytes, as small as there are): so whoever hands over its part
// writes back no more than that.
struct offload_entry {
  signal_word<offload_state> state{state_of(1, offload_step::free)};
  struct alignas(32) caller_part {
    std::uint32_t index = 0;   // in the queue; constant
    std::uint32_t reader = 0;  // the place that the graph is for
    std::uint32_t root_count = 0;
    std::uint32_t failure_epoch = 0;  // that the caller had been told of
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

// The place whose segment holds the queue of a place's memory, and which has the agent beside it: today each place has
// its own.
[[nodiscard]] constexpr std::uint32_t queue_place(std::uint32_t place) noexcept { return place; }

struct offload_queue {
  static constexpr std::size_t entry_count = offload_slots;
  // How often it has rung, times two, and 1 while the agent sleeps. One word, since each look and each change of it may
  // go a long way.
  signal_word<std::uint32_t> bell;
  static constexpr std::uint32_t asleep = 1;
  // In place_slot::freed_entries, beside a bit for each entry: who names one there wakes the owner.
  static constexpr std::uint32_t is_awaited = std::uint32_t{1} << 31;
  static_assert(entry_count < 31);
  std::array<offload_entry, entry_count> entries;

  // Hands an entry to the agent, and wakes it. pre: the caller owns the entry, and has written its part back. False
  // where it was given up meanwhile.
  [[nodiscard]] bool request(offload_entry& entry, offload_state from, offload_step step) noexcept;
  // Has the agent look at all entries.
  void ring() noexcept;
};

class offload_agent;

// The caller's hold of an entry, from measuring until the call is over.
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
  // Whether the entry has been given back. The place is woken when it is, once this was asked to no avail.
  [[nodiscard]] bool is_over() const noexcept;

 private:
  offload_agent* agent_ = nullptr;
  offload_entry* entry_ = nullptr;
  std::uint64_t use_ = 0;
};

// The receiver's hold of an entry, from reading its name to the end of the copy.
class offload_claim {
 public:
  // Of the entry at this address of place `source`. Throws bad_message where there can be none, place_lost_error where
  // its caller gave it up.
  offload_claim(std::uint64_t address, std::uint64_t use, std::uint32_t source);
  offload_claim(const offload_claim&) = delete;
  offload_claim& operator=(const offload_claim&) = delete;
  ~offload_claim();
  [[nodiscard]] const offload_entry& entry() const noexcept { return *entry_; }
  // Has the agent copy to an arena of the receiver's, and waits for it. Throws what the agent failed of.
  void copy_to(arena& destination);

 private:
  offload_entry* entry_ = nullptr;
  std::uint64_t use_;
  std::uint32_t source_;
  offload_step step_ = offload_step::claimed;  // that the entry was seen in last, while it was held
};

class offload_agent {
 public:
  explicit offload_agent(place_context& context);
  ~offload_agent();
  offload_agent(const offload_agent&) = delete;
  offload_agent& operator=(const offload_agent&) = delete;

  // Has these graphs measured, for place `reader`; waits for a free entry and for the result, as a task. Throws what
  // the measuring threw.
  [[nodiscard]] offload_lease measure(std::span<const graph_root> roots, std::uint32_t reader);
  // Whether copies go through a buffer beside the originals and then as one block ($SITU_OFFLOAD_STAGED=1), as between
  // memories that the agent cannot write word by word.
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
  std::array<std::atomic<offload_state>, offload_queue::entry_count> begun_{};  // on a device; 0: nothing
  std::atomic<bool> stopping_{false};
  bool staged_ = false;
  std::uint32_t place_ = 0;
  std::uint32_t next_served_ = 0;                                 // where the look for one to serve begins
  std::uint32_t free_ = (1U << offload_queue::entry_count) - 1;   // entries that are this place's to take
  std::array<std::uint64_t, offload_queue::entry_count> uses_{};  // the number of each entry's use, or next use
  std::uint32_t seen_ends_ = 0;                                   // of places
  line_place* line_first_ = nullptr;                              // of the tasks that wait for one
  line_place* line_last_ = nullptr;
  worker worker_;
};

}  // namespace situ::detail
