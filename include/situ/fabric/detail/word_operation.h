// The atomic operations on words, by name: this host's processor performs them here, and messages ask other hosts for
// them.
#pragma once

#include <situ/fabric/detail/word_type.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace situ::detail {

// The values are those of messages to other hosts.
enum class word_operation : std::uint8_t {
  load,
  store,
  exchange,
  compare_exchange,  // has two operands: expected and desired
  fetch_add,
  fetch_and,  // integers only, as the next two
  fetch_or,
  fetch_xor,
  fetch_min,
  fetch_max,
};
inline constexpr std::uint8_t word_operations = 10;

[[nodiscard]] constexpr bool takes(word_operation what, word_type type) noexcept {
  const bool is_bitwise =
      what == word_operation::fetch_and || what == word_operation::fetch_or || what == word_operation::fetch_xor;
  return !is_bitwise || type != word_type::float64;
}

struct word_request {
  word_operation what;
  word_type type;
  std::uintptr_t word;
  std::uint64_t value;   // bits
  std::uint64_t second;  // the value that compare_exchange writes
};

// Replaces x by compute(x) and returns x.
template <class T, class Compute>
T change_word(std::atomic_ref<T> word, Compute compute) noexcept {
  T old = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, compute(old), std::memory_order_acq_rel, std::memory_order_relaxed)) {}
  return old;
}

// Performs the operation and returns the previous value (a store returns `value`); `second` is the value that
// compare_exchange writes. pre: takes(What, T's type).
template <word_operation What, class T>
T perform(std::atomic_ref<T> word, T value, [[maybe_unused]] T second) noexcept {
  if constexpr (What == word_operation::load) {
    return word.load(std::memory_order_acquire);
  } else if constexpr (What == word_operation::store) {
    word.store(value, std::memory_order_release);
    return value;
  } else if constexpr (What == word_operation::exchange) {
    return word.exchange(value, std::memory_order_acq_rel);
  } else if constexpr (What == word_operation::compare_exchange) {
    word.compare_exchange_strong(value, second, std::memory_order_acq_rel, std::memory_order_acquire);
    return value;
  } else if constexpr (What == word_operation::fetch_add) {
    return word.fetch_add(value, std::memory_order_acq_rel);
  } else if constexpr (What == word_operation::fetch_and) {
    return word.fetch_and(value, std::memory_order_acq_rel);
  } else if constexpr (What == word_operation::fetch_or) {
    return word.fetch_or(value, std::memory_order_acq_rel);
  } else if constexpr (What == word_operation::fetch_xor) {
    return word.fetch_xor(value, std::memory_order_acq_rel);
  } else if constexpr (What == word_operation::fetch_min) {
    return change_word(word, [value](T old) { return value < old ? value : old; });
  } else {
    static_assert(What == word_operation::fetch_max);
    return change_word(word, [value](T old) { return old < value ? value : old; });
  }
}

}  // namespace situ::detail
