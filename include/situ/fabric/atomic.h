// Atomic operations on words of any place's segment: 32- and 64-bit integers (all operations) and double (load, store,
// exchange, compare_exchange, fetch_add, fetch_min, fetch_max). Atomic against each other from every place of the job.
//
// Loads acquire, stores release, read-modify-writes do both, so a flag set after data publishes the data. Every
// operation that writes wakes a place that sleeps until the word changes (runtime/wait.h). Each throws bad_address
// outside every segment (null included), misaligned if the address is not a multiple of the size, and no_runtime.
// cost: the processor's own instruction behind a bounds check; and, or, xor, min, max and double use a compare-exchange
// loop.
#pragma once

#include <situ/fabric/detail/awaited.h>
#include <situ/fabric/detail/word_operation.h>
#include <situ/fabric/rma.h>
#include <situ/memory/ptr.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace situ {

// The integers that have all operations.
template <class T>
concept atomic_integer =
    std::integral<T> && !std::is_same_v<T, bool> && !std::is_const_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);
// The types that have atomic operations.
template <class T>
concept atomic_word = atomic_integer<T> || std::is_same_v<T, double>;

namespace detail {

[[noreturn]] void throw_misaligned(std::uintptr_t address, std::size_t bytes);

template <class T>
[[nodiscard]] std::atomic_ref<T> atomic_at(ptr<T> target) {
  static_assert(atomic_word<T>, "situ: atomics work on 32- and 64-bit integers and on double");
  check_access(access::atomic, target.address(), sizeof(T));
  if (target.address() % sizeof(T) != 0) [[unlikely]]
    throw_misaligned(target.address(), sizeof(T));
  return std::atomic_ref<T>{*target.local()};
}

// Prefetches the word's cache line for writing, before the bounds check. Loads wait for an earlier locked operation,
// and the next locked operation waits for those loads, so without the prefetch a series of atomics to random addresses
// would take one cache miss after another. A hint: any address will do.
inline void fetch_for_writing([[maybe_unused]] const void* word) noexcept {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(word)));
#endif
}

inline void check_aligned(std::uintptr_t address, std::size_t bytes) {
  if (address % bytes != 0) [[unlikely]]
    throw_misaligned(address, bytes);
}

// The slow way of an atomic, as the slow ways of access.h. Sets `found` if it performs the operation.
[[nodiscard]] bool atomic_slow(place_context& context, const word_request& request, std::uint64_t& found);
// Returns true if the word belongs to another host. Otherwise does what check_access_slow() does.
[[nodiscard]] bool is_word_elsewhere(place_context& context, std::uintptr_t word, std::size_t bytes);

// Performs the operation on an open word, and wakes the word's place if it sleeps until the word changes.
template <word_operation What, class T>
T perform_here(ptr<T> target, T value, T second) {
  check_aligned(target.address(), sizeof(T));
  const T result = perform<What>(std::atomic_ref<T>{*target.local()}, value, second);
  if constexpr (What != word_operation::store) invalidate_all();
  if constexpr (What == word_operation::store) {
    note_written<written_by::store>(target.address());
  } else if constexpr (What != word_operation::load) {
    note_written<written_by::locked_operation>(target.address());
  }
  return result;
}
template <word_operation What, class T>
[[gnu::cold, gnu::noinline]] T perform_slow(place_context& context, ptr<T> target, T value, T second) {
  std::uint64_t found = 0;
  if (atomic_slow(context, {What, type_of_word<T>, target.address(), bits_of(value), bits_of(second)}, found))
    return from_bits<T>(found);
  return perform_here<What>(target, value, second);
}

// Performs the operation on a word of any place.
template <word_operation What, class T>
T perform_on(ptr<T> target, std::type_identity_t<T> value = {}, std::type_identity_t<T> second = {}) {
  static_assert(atomic_word<T>, "situ: atomics work on 32- and 64-bit integers and on double");
  static_assert(takes(What, type_of_word<T>), "situ: bitwise atomics work on 32- and 64-bit integers");
  if constexpr (What != word_operation::load && What != word_operation::store) fetch_for_writing(target.local());
  if constexpr (What != word_operation::load) write_back_all();
  place_context& context = *current;
  if (!is_open(context, target.address(), sizeof(T))) [[unlikely]]
    return perform_slow<What>(context, target, value, second);
  return perform_here<What>(target, value, second);
}

// Replaces x by compute(x), and returns x. It may call `compute` more than once.
template <class T, class Compute>
T fetch_change(ptr<T> target, Compute compute) {
  fetch_for_writing(target.local());
  write_back_all();
  if (!is_open(*current, target.address(), sizeof(T)) && is_word_elsewhere(*current, target.address(), sizeof(T)))
      [[unlikely]] {
    for (T old = perform_on<word_operation::load>(target);;) {
      const T found = perform_on<word_operation::compare_exchange>(target, old, compute(old));
      if (bits_of(found) == bits_of(old)) return old;
      old = found;
    }
  }
  check_aligned(target.address(), sizeof(T));
  const T result = change_word(std::atomic_ref<T>{*target.local()}, compute);
  invalidate_all();
  note_written<written_by::locked_operation>(target.address());
  return result;
}

}  // namespace detail

// Reads the word, writes it, or writes it and returns its previous value.
template <class T>
[[nodiscard]] T atomic_load(ptr<T> target) {
  return detail::perform_on<detail::word_operation::load>(target);
}
template <class T>
void atomic_store(ptr<T> target, std::type_identity_t<T> value) {
  detail::perform_on<detail::word_operation::store>(target, value);
}
template <class T>
T atomic_exchange(ptr<T> target, std::type_identity_t<T> value) {
  return detail::perform_on<detail::word_operation::exchange>(target, value);
}
// Writes `desired` if the word equals `expected`; returns the value found (equal to `expected` exactly if it wrote).
template <class T>
T atomic_compare_exchange(ptr<T> target, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  return detail::perform_on<detail::word_operation::compare_exchange>(target, expected, desired);
}
// Changes the word by the operation in the name, and returns its previous value. Integers wrap around.
template <class T>
T atomic_fetch_add(ptr<T> target, std::type_identity_t<T> value) {
  return detail::perform_on<detail::word_operation::fetch_add>(target, value);
}
template <class T>
T atomic_fetch_and(ptr<T> target, std::type_identity_t<T> value) {
  return detail::perform_on<detail::word_operation::fetch_and>(target, value);
}
template <class T>
T atomic_fetch_or(ptr<T> target, std::type_identity_t<T> value) {
  return detail::perform_on<detail::word_operation::fetch_or>(target, value);
}
template <class T>
T atomic_fetch_xor(ptr<T> target, std::type_identity_t<T> value) {
  return detail::perform_on<detail::word_operation::fetch_xor>(target, value);
}
template <class T>
T atomic_fetch_min(ptr<T> target, std::type_identity_t<T> value) {
  return detail::perform_on<detail::word_operation::fetch_min>(target, value);
}
template <class T>
T atomic_fetch_max(ptr<T> target, std::type_identity_t<T> value) {
  return detail::perform_on<detail::word_operation::fetch_max>(target, value);
}

}  // namespace situ
