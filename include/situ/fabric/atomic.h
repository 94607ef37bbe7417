// Atomic operations on words of any place's segment: 32- and 64-bit integers (all operations) and double (load, store,
// exchange, compare_exchange, fetch_add, fetch_min, fetch_max). Atomic against each other from every place of the job.
//
// Loads acquire, stores release, read-modify-writes do both, so a flag set after data publishes the data. Each throws
// bad_address outside every segment (null included) and misaligned where the address is no multiple of the size, and
// no_runtime. cost: the processor's own instruction behind a bounds check; and, or, xor, min, max and double use a
// compare-exchange loop.
#pragma once

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

// Replaces x by change(x) and returns x.
template <class T, class Change>
T fetch_change(ptr<T> target, Change change) {
  const std::atomic_ref<T> word = atomic_at(target);
  T old = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, change(old), std::memory_order_acq_rel, std::memory_order_relaxed)) {}
  return old;
}

template <class T>
consteval void check_integer() {
  static_assert(atomic_integer<T>, "situ: bitwise atomics work on 32- and 64-bit integers");
}

}  // namespace detail

// Reads the word, writes it, or writes it and returns what was there before.
template <class T>
[[nodiscard]] T atomic_load(ptr<T> target) {
  return detail::atomic_at(target).load(std::memory_order_acquire);
}
template <class T>
void atomic_store(ptr<T> target, std::type_identity_t<T> value) {
  detail::atomic_at(target).store(value, std::memory_order_release);
}
template <class T>
T atomic_exchange(ptr<T> target, std::type_identity_t<T> value) {
  return detail::atomic_at(target).exchange(value, std::memory_order_acq_rel);
}
// Writes `desired` if the word equals `expected`; returns what was found (equal to `expected` exactly if it wrote).
template <class T>
T atomic_compare_exchange(ptr<T> target, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  detail::atomic_at(target).compare_exchange_strong(expected, desired, std::memory_order_acq_rel,
                                                    std::memory_order_acquire);
  return expected;
}
// Changes the word by the operation in the name, and returns what was there before. Integers wrap around.
template <class T>
T atomic_fetch_add(ptr<T> target, std::type_identity_t<T> value) {
  return detail::atomic_at(target).fetch_add(value, std::memory_order_acq_rel);
}
template <class T>
T atomic_fetch_and(ptr<T> target, std::type_identity_t<T> value) {
  detail::check_integer<T>();
  return detail::atomic_at(target).fetch_and(value, std::memory_order_acq_rel);
}
template <class T>
T atomic_fetch_or(ptr<T> target, std::type_identity_t<T> value) {
  detail::check_integer<T>();
  return detail::atomic_at(target).fetch_or(value, std::memory_order_acq_rel);
}
template <class T>
T atomic_fetch_xor(ptr<T> target, std::type_identity_t<T> value) {
  detail::check_integer<T>();
  return detail::atomic_at(target).fetch_xor(value, std::memory_order_acq_rel);
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
