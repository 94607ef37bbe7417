// A word that one place sets and another one awaits, on its own cache line. Situ uses it for its internal signals;
// programs use situ::signal.
//
// On a line of its own, the waiting place is not disturbed by writes to neighbouring data. If places are not coherent
// (coherence.h), no write-back of neighbouring data can overwrite the word with an old value; every access then goes
// to memory, so setting a word of another place is a remote atomic.
//
// The setter writes back the data that the signal announces, changes the word, and then reads the other place's
// `sleeping` (wake_after_change in memory/liveness.h). Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace situ::detail {

inline constexpr std::size_t signal_line_bytes = 64;

template <class T>
class alignas(signal_line_bytes) signal_word {
 public:
  constexpr signal_word() noexcept = default;
  constexpr explicit signal_word(T value) noexcept : word_{value} {}

  // Returns the value. With acquire order, the setter's earlier writes are visible.
  [[nodiscard]] T look(std::memory_order order = std::memory_order_acquire) const noexcept { return word_.load(order); }
  void set(T value, std::memory_order order = std::memory_order_release) noexcept { word_.store(value, order); }
  // Sets the word and returns its previous value.
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return word_.exchange(value, order);
  }
  // Sets the word if it equals `expected`; returns whether it did.
  bool exchange_if(T expected, T value) noexcept {
    return word_.compare_exchange_strong(expected, value, std::memory_order_seq_cst);
  }
  // As exchange_if, but stores the found value in `expected`.
  bool try_exchange(T& expected, T value) noexcept {
    return word_.compare_exchange_strong(expected, value, std::memory_order_seq_cst);
  }
  // Adds to the word and returns its previous value.
  T add(T value, std::memory_order order = std::memory_order_seq_cst) noexcept { return word_.fetch_add(value, order); }
  // For wait_on_word and wake_on_word (os/host.h).
  [[nodiscard]] std::atomic<T>& word() noexcept { return word_; }

 private:
  std::atomic<T> word_{};
};
static_assert(sizeof(signal_word<std::uint32_t>) == signal_line_bytes);
static_assert(sizeof(signal_word<std::uint64_t>) == signal_line_bytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace situ::detail
