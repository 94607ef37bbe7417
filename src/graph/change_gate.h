// The signals of this module in the slot of each place, and the gate that spares a task reads of a remote word.
//
// They are on the slot's first line, which a waker touches anyway. Thread-safe.
#pragma once

#include <situ/base/detail/signal_word.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "memory/liveness.h"

namespace situ::detail {

struct graph_signals {
  // Counts changes of words in other segments that tasks of this place await. The changing thread increments the
  // bucket of the word.
  static constexpr std::size_t change_buckets = 8;
  std::atomic<std::uint32_t> changes[change_buckets]{};
  // The entries of the place's offload queue that were freed since its last look, as bits, and a bit that says whether
  // the place awaits one (offload_queue in graph/agent.h). So the place need not poll the entries, and is woken only
  // for an entry that it awaits.
  std::atomic<std::uint32_t> freed_entries{0};
};

// Returns the index of a word's counter in graph_signals::changes. Words of an array are a power of two of lines apart,
// so the line number alone would put them all into one bucket.
[[nodiscard]] inline std::size_t change_bucket(const void* word) noexcept {
  const std::uintptr_t line = reinterpret_cast<std::uintptr_t>(word) / signal_line_bytes;
  return (line + line / graph_signals::change_buckets) % graph_signals::change_buckets;
}
// Wakes a place after a change of a word in another segment, which a task of the place awaits behind a change_gate.
inline void wake_after_change(place_slot& slot, const void* word) noexcept {
  slot.graph.words().changes[change_bucket(word)].fetch_add(1);
  wake_after_change(slot);
}

// Keeps a task that awaits a word in another segment from reading it in each turn: each read is a remote access, and
// many waiting tasks would saturate the memory with them. The gate opens for the first read, and again once a word of
// that bucket has changed. It does not open for the end of a place, which ends waits in another way.
class change_gate {
 public:
  // Makes the gate for a word that a task of `place` awaits.
  change_gate(job_control& control, std::uint32_t place, const void* word) noexcept
      : changes_{control.slot(place).graph.words().changes[change_bucket(word)]} {}
  // Returns whether to read the word. Call it before that read.
  [[nodiscard]] bool is_open() noexcept {
    const std::uint32_t now = changes_.load(std::memory_order_acquire);
    return std::exchange(seen_, now) != now;
  }
  // Opens the gate, since the word may have changed further.
  void open() noexcept { seen_ = never_seen; }
  // Closes the gate, before a request to another place: nothing changes until that place has answered.
  void close() noexcept { (void)is_open(); }

 private:
  static constexpr std::uint64_t never_seen = ~std::uint64_t{0};
  const std::atomic<std::uint32_t>& changes_;
  std::uint64_t seen_ = never_seen;
};

}  // namespace situ::detail
