// A word that one place sets and another awaits, on a line of its own: Situ's own signals (those of a program are
// situ::signal).
//
// The line is its own so that who awaits the word is not disturbed by what is written beside it, and, where places are
// not coherent (coherence.h), so that no line that is written back takes an old value of the word with it. Every access
// goes to memory there: setting one of another place is a remote atomic.
//
// The setter changes the word first, and looks at the other's `sleeping` afterwards (wake_after_change in
// memory/liveness.h); what it tells of is written back before. Thread-safe.
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

  // Sees what its setter wrote before.
  [[nodiscard]] T look(std::memory_order order = std::memory_order_acquire) const noexcept { return word_.load(order); }
  void set(T value, std::memory_order order = std::memory_order_release) noexcept { word_.store(value, order); }
  // Sets it; what it was.
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return word_.exchange(value, order);
  }
  // Sets it if it is `expected`; whether it was.
  bool exchange_if(T expected, T value) noexcept {
    return word_.compare_exchange_strong(expected, value, std::memory_order_seq_cst);
  }
  // The same; `expected` becomes what it was.
  bool try_exchange(T& expected, T value) noexcept {
    return word_.compare_exchange_strong(expected, value, std::memory_order_seq_cst);
  }
  // Adds to it; what it was.
  T add(T value, std::memory_order order = std::memory_order_seq_cst) noexcept { return word_.fetch_add(value, order); }
  // For wait_on_word and wake_on_word (base/host.h).
  [[nodiscard]] std::atomic<T>& word() noexcept { return word_; }

 private:
  std::atomic<T> word_{};
};
static_assert(sizeof(signal_word<std::uint32_t>) == signal_line_bytes);
static_assert(sizeof(signal_word<std::uint64_t>) == signal_line_bytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace situ::detail
