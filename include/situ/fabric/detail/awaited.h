// Waking a place that sleeps until a word of its segment changes: the signals of the fabric.
//
//   place q, about to sleep                            place p, which changes a word of q
//   slot(q).sleeping = 1                               the word = value
//   slot(q).awaited = bits of the words' lines         (fence: a locked operation, or membarrier at q, or its own)
//   membarrier, or nothing where senders fence         awaited & bit of the word's line, and sleeping != 0: wake q
//   looks at its words once more, sleeps
//
// Invariants
//   1. `awaited` is 0 unless its place sleeps, or is about to, while code waits for words. So a writer that changes a
//      word of an awake place pays one load.
//   2. Either the sleeper's last look sees the change, or the writer sees the bit: both publish first, and look then.
//   3. Two lines may share a bit, and a place awaits many words: after a wake-up the place must check its words.
// A plain put does not look at `awaited`. A place that awaits words therefore checks them itself every awaited_look_ns.
#pragma once

#include <situ/base/detail/test_points.h>
#include <situ/memory/detail/place_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace situ::detail {

// Under a millisecond, with the kernel's slack of 50 us for timers.
inline constexpr std::int64_t awaited_look_ns = 800'000;

// In the slot of each place.
struct awaited_words {
  // While the place sleeps: the lines of the words that it awaits, as bits; else 0. The owner writes it.
  std::atomic<std::uint64_t> lines{0};
};

// Returns what place_context::awaited_words is for a place of this job.
[[nodiscard]] const std::byte* awaited_words_of(job_control& control) noexcept;

// The bit of a word's line in `awaited`; neighbouring lines have different bits.
[[nodiscard]] constexpr std::uint64_t awaited_bit(std::uintptr_t address) noexcept {
  return std::uint64_t{1} << (address >> 6 & 63);
}

// Wakes the place of this address if it sleeps for words on this line.
void wake_awaiting(std::uintptr_t address) noexcept;

enum class written_by : std::uint8_t { store, locked_operation };

// Called after a write to a word that its place may await. pre: the address is open.
template <written_by How>
void note_written(std::uintptr_t address) noexcept {
  const place_context& context = *current;
  SITU_POINT(word_written);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // invariant 2; a locked operation is the processor's fence
  if constexpr (How == written_by::store)
    if (context.sender_fences) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uintptr_t index = (address - context.base) >> context.slice_shift;
  const auto& awaited =
      *reinterpret_cast<const std::atomic<std::uint64_t>*>(context.awaited_words + index * place_slot_bytes);
  if (awaited.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_awaiting(address);
}

}  // namespace situ::detail
