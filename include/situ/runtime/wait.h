// Waiting for words of the caller's own segment that other places change.
//
//   situ::wait_until(ready, 7);                                                // until it is 7
//   long n = situ::wait_until(count, [](long n) { return n >= 10; });          // until the condition holds
//   if (!situ::wait_until(count, 10, 20ms)) ...                                // the time was over
//
// The waiting place polls for a moment, then runs messages and tasks, and sleeps if there are none. An atomic, a
// signal or a put_signal by any place wakes it; a plain put or a store through ptr::local() is noticed within a
// millisecond. A task waits as main does. The load that ended the wait has acquire order: everything that the writer
// of that value wrote before it is visible (docs/design/ordering.md).
//
// The word has an atomic type (fabric/atomic.h). A condition is called often, with the word's value: it must be quick,
// and neither throw nor wait. Errors: bad_address for a word of another place's segment (ask that place: situ::at),
// misaligned, place_lost_error, no_runtime. cost: a cache line transfer if the place is awake; a futex wake-up if it
// sleeps. Put a word that is waited for on its own cache line: situ::signal (fabric/signal.h).
#pragma once

#include <situ/fabric/atomic.h>
#include <situ/fabric/detail/awaited.h>
#include <situ/fabric/signal.h>
#include <situ/runtime/deadline.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

namespace situ {

namespace detail {

// Waits until is_done(of) holds; returns false if the deadline passed first. `word` (the first of the words) and
// `where` are for reports.
[[nodiscard]] bool await_words(bool (*is_done)(void* of), void* of, std::uint64_t lines, std::uintptr_t word,
                               std::int64_t deadline_ns, const std::source_location& where);
template <class Done>
[[nodiscard]] bool await_words(Done done, std::uint64_t lines, std::uintptr_t word, deadline until,
                               const std::source_location& where) {
  return await_words([](void* of) noexcept { return (*static_cast<Done*>(of))(); }, &done, lines, word,
                     until.nanoseconds(), where);
}

[[noreturn]] void throw_not_own_word(std::uintptr_t address);
// Returns the word. Throws bad_address if it is in another place's segment: the calling place cannot wait for it.
template <class T>
[[nodiscard]] std::atomic_ref<T> own_word(ptr<T> target) {
  const std::atomic_ref<T> word = atomic_at(target);
  if (!target.is_here()) [[unlikely]]
    throw_not_own_word(target.address());
  return word;
}

// Evaluates the condition, or, if the condition is a value, compares the word with it.
template <class T, class Condition>
[[nodiscard]] bool holds(Condition& condition, T value) {
  if constexpr (std::predicate<Condition&, T>) {
    return condition(value);
  } else {
    return value == static_cast<T>(condition);
  }
}
template <class Condition, class T>
concept word_condition = std::predicate<Condition&, T> || std::convertible_to<Condition, T>;

}  // namespace detail

// Waits until the word has the given value, or a value for which the condition holds, and returns that value.
template <atomic_word T, detail::word_condition<T> Condition>
T wait_until(ptr<T> target, Condition condition, std::source_location where = std::source_location::current()) {
  return *wait_until(target, std::move(condition), deadline::never(), where);
}
// As above until a deadline; returns nullopt if the deadline passed first.
template <atomic_word T, detail::word_condition<T> Condition>
std::optional<T> wait_until(ptr<T> target, Condition condition, deadline until,
                            std::source_location where = std::source_location::current());

// These take a signal instead of a word.
template <detail::word_condition<std::uint64_t> Condition>
std::uint64_t wait_until(ptr<signal> target, Condition condition,
                         std::source_location where = std::source_location::current()) {
  return wait_until(word(target), std::move(condition), where);
}
template <detail::word_condition<std::uint64_t> Condition>
std::optional<std::uint64_t> wait_until(ptr<signal> target, Condition condition, deadline until,
                                        std::source_location where = std::source_location::current()) {
  return wait_until(word(target), std::move(condition), until, where);
}

// Waits until the condition holds for at least one word; returns the lowest such index. pre: `targets` is not empty.
template <atomic_word T, detail::word_condition<T> Condition>
std::size_t wait_until_any(std::span<const ptr<T>> targets, Condition condition,
                           std::source_location where = std::source_location::current()) {
  return *wait_until_any(targets, std::move(condition), deadline::never(), where);
}
// As above until a deadline; returns nullopt if the deadline passed first.
template <atomic_word T, detail::word_condition<T> Condition>
std::optional<std::size_t> wait_until_any(std::span<const ptr<T>> targets, Condition condition, deadline until,
                                          std::source_location where = std::source_location::current());

// Waits until the condition has held once for each word, not necessarily for all at one time; returns false if the
// deadline passed first.
template <atomic_word T, detail::word_condition<T> Condition>
bool wait_until_all(std::span<const ptr<T>> targets, Condition condition, deadline until = deadline::never(),
                    std::source_location where = std::source_location::current()) {
  for (const ptr<T> each : targets)
    if (!wait_until(each, condition, until, where)) return false;
  return true;
}

template <atomic_word T, detail::word_condition<T> Condition>
std::optional<T> wait_until(ptr<T> target, Condition condition, deadline until, std::source_location where) {
  const std::atomic_ref<T> word = detail::own_word(target);
  T seen = word.load(std::memory_order_acquire);
  const auto done = [&] {
    seen = word.load(std::memory_order_acquire);
    return detail::holds(condition, seen);
  };
  if (detail::holds(condition, seen) ||
      detail::await_words(done, detail::awaited_bit(target.address()), target.address(), until, where)) {
    detail::invalidate_all();
    return seen;
  }
  return std::nullopt;
}

template <atomic_word T, detail::word_condition<T> Condition>
std::optional<std::size_t> wait_until_any(std::span<const ptr<T>> targets, Condition condition, deadline until,
                                          std::source_location where) {
  SITU_ASSERT(1, !targets.empty(), "wait_until_any of no words would wait for ever");
  std::uint64_t lines = 0;
  for (const ptr<T> each : targets) {
    (void)detail::own_word(each);
    lines |= detail::awaited_bit(each.address());
  }
  std::size_t found = 0;
  const auto done = [&] {
    for (found = 0; found < targets.size(); ++found) {
      const std::atomic_ref<T> word{*targets[found].local()};
      if (detail::holds(condition, word.load(std::memory_order_acquire))) return true;
    }
    return false;
  };
  if (done() || detail::await_words(done, lines, targets.front().address(), until, where)) {
    detail::invalidate_all();
    return found;
  }
  return std::nullopt;
}

}  // namespace situ
