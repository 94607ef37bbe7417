// Atomic operations on words of any place's segment: 32- and 64-bit integers (all operations) and double (load, store,
// exchange, compare_exchange, fetch_add, fetch_min, fetch_max). Atomic against each other from every place of the job.
//
// Loads acquire, stores release, read-modify-writes do both, so a flag set after data publishes the data. Whatever
// writes wakes a place that sleeps until the word changes (runtime/wait.h). Each throws bad_address outside every
// segment (null included) and misaligned where the address is no multiple of the size, and no_runtime. cost: the
// processor's own instruction behind a bounds check; and, or, xor, min, max and double use a compare-exchange loop.
#pragma once

#include <situ/fabric/detail/awaited.h>
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
// All that has atomic operations.
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

// Has the processor fetch the word's line, for writing, before all that has to be known first: loads wait for a locked
// operation in front of them, and the next one for its loads, so of many to random addresses each would wait for memory
// by itself. A hint: any address will do.
inline void fetch_for_writing([[maybe_unused]] const void* word) noexcept {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(word)));
#endif
}

// Applies a read-modify-write to the word, and wakes its place where that sleeps until the word changes.
template <class T, class Operation>
T change(ptr<T> target, Operation operation) {
  fetch_for_writing(target.local());
  write_back_all();
  const T result = operation(atomic_at(target));
  invalidate_all();
  note_written<written_by::locked_operation>(target.address());
  return result;
}

// Replaces x by compute(x) and returns x.
template <class T, class Compute>
T fetch_change(ptr<T> target, Compute compute) {
  return change(target, [&](std::atomic_ref<T> word) {
    T old = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(old, compute(old), std::memory_order_acq_rel, std::memory_order_relaxed)) {}
    return old;
  });
}

template <class T>
consteval void check_integer() {
  static_assert(atomic_integer<T>, "situ: bitwise atomics work on 32- and 64-bit integers");
}

}  // namespace detail

// Reads the word, writes it, or writes it and returns what was there before.
template <class T>
[[nodiscard]] T atomic_load(ptr<T> target) {
  const T seen = detail::atomic_at(target).load(std::memory_order_acquire);
  detail::invalidate_all();
  return seen;
}
template <class T>
void atomic_store(ptr<T> target, std::type_identity_t<T> value) {
  detail::write_back_all();
  detail::atomic_at(target).store(value, std::memory_order_release);
  detail::note_written<detail::written_by::store>(target.address());
}
template <class T>
T atomic_exchange(ptr<T> target, std::type_identity_t<T> value) {
  return detail::change(target, [value](auto word) { return word.exchange(value, std::memory_order_acq_rel); });
}
// Writes `desired` if the word equals `expected`; returns what was found (equal to `expected` exactly if it wrote).
template <class T>
T atomic_compare_exchange(ptr<T> target, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  return detail::change(target, [expected, desired](auto word) mutable {
    word.compare_exchange_strong(expected, desired, std::memory_order_acq_rel, std::memory_order_acquire);
    return expected;
  });
}
// Changes the word by the operation in the name, and returns what was there before. Integers wrap around.
template <class T>
T atomic_fetch_add(ptr<T> target, std::type_identity_t<T> value) {
  return detail::change(target, [value](auto word) { return word.fetch_add(value, std::memory_order_acq_rel); });
}
template <class T>
T atomic_fetch_and(ptr<T> target, std::type_identity_t<T> value) {
  detail::check_integer<T>();
  return detail::change(target, [value](auto word) { return word.fetch_and(value, std::memory_order_acq_rel); });
}
template <class T>
T atomic_fetch_or(ptr<T> target, std::type_identity_t<T> value) {
  detail::check_integer<T>();
  return detail::change(target, [value](auto word) { return word.fetch_or(value, std::memory_order_acq_rel); });
}
template <class T>
T atomic_fetch_xor(ptr<T> target, std::type_identity_t<T> value) {
  detail::check_integer<T>();
  return detail::change(target, [value](auto word) { return word.fetch_xor(value, std::memory_order_acq_rel); });
}
template <class T>
T atomic_fetch_min(ptr<T> target, std::type_identity_t<T> value) {
  return detail::fetch_change(target, [value](T old) { return value < old ? value : old; });
}
template <class T>
T atomic_fetch_max(ptr<T> target, std::type_identity_t<T> value) {
  return detail::fetch_change(target, [value](T old) { return old < value ? value : old; });
}

}  // namespace situ
