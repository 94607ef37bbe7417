// Signals: words that one place sets and another awaits; and puts that set one once their data is there.
//
//   situ::ptr<situ::signal> ready = situ::allocate_signals();        // at the receiver, which tells the others
//   situ::put_signal(there, mine, n, ready, 7);                      // sender: the data, then the signal
//   situ::wait_until(ready, 7);                                      // receiver (runtime/wait.h): the data is there
//
// Setting a signal is an atomic store or addition: it wakes the place that awaits the word. A reader that sees the new
// value also sees everything that the setter wrote or had seen before (docs/design/ordering.md). Thread-safe. Errors:
// as for put and the atomics; bad_address if data and signal are at different places.
// cost: a put, and an atomic on the signal's line.
#pragma once

#include <situ/base/detail/test_points.h>
#include <situ/fabric/atomic.h>
#include <situ/fabric/rma.h>
#include <situ/memory/allocate.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace situ {

// A word on a cache line of its own, so that writes to its neighbours do not disturb the threads that poll it.
struct alignas(64) signal {
  std::uint64_t value = 0;  // the word
};

// The change that put_signal makes to the signal's word.
enum class signal_by : std::uint8_t {
  set,  // makes it the given value
  add,  // adds the given value; several places may add to one signal
};

// Allocates `n` signals in the calling place's segment, all 0; situ::deallocate frees them. Errors: as allocate. cost:
// as allocate, and one line written for each signal.
[[nodiscard]] inline ptr<signal> allocate_signals(std::size_t n = 1) {
  const ptr<signal> made = allocate<signal>(n);
  for (std::size_t i = 0; i < n; ++i) made.local()[i] = signal{};
  return made;
}

// The word of a signal, for atomics and waits.
[[nodiscard]] inline ptr<std::uint64_t> word(ptr<signal> of) noexcept { return ptr<std::uint64_t>{&of.local()->value}; }

namespace detail {

[[noreturn]] void throw_signal_elsewhere(place destination, std::uintptr_t signal);

template <class T>
void set_signal(ptr<T> target, T value, signal_by how) {
  if (how == signal_by::set) return atomic_store(target, value);
  atomic_fetch_add(target, value);
}
inline void check_same_place(std::uintptr_t destination, std::uintptr_t signal) {
  const place_context& context = *current;
  if ((destination - context.base) >> context.slice_shift != (signal - context.base) >> context.slice_shift)
      [[unlikely]]
    throw_signal_elsewhere(ptr<std::byte>{reinterpret_cast<std::byte*>(destination)}.place(), signal);
}

}  // namespace detail

// Sets a signal, or any word that has atomics, without data.
inline void send_signal(ptr<signal> target, std::uint64_t value, signal_by how = signal_by::set) {
  detail::set_signal(word(target), value, how);
}
template <atomic_word T>
void send_signal(ptr<T> target, std::type_identity_t<T> value, signal_by how = signal_by::set) {
  detail::set_signal(target, value, how);
}

// Writes `count` elements to `destination`, then sets the signal, which must be at the same place. A reader that sees
// the signal's new value sees the elements.
template <class T, atomic_word Word>
void put_signal(ptr<T> destination, const std::type_identity_t<T>* source, std::size_t count, ptr<Word> target,
                std::type_identity_t<Word> value, signal_by how = signal_by::set) {
  detail::check_transferable<T>();
  if (count != 0) {
    detail::check_same_place(destination.address(), target.address());
    detail::place_context& context = *detail::current;
    const std::size_t bytes = detail::bytes_of(count, sizeof(T));
    if (!detail::is_open(context, destination.address(), bytes)) [[unlikely]]
      if (detail::put_signal_slow(context, destination.address(), source, bytes,
                                  {.word = target.address(),
                                   .value = detail::bits_of(value),
                                   .type = detail::type_of_word<Word>,
                                   .adds = how == signal_by::add}))
        return;
    detail::copy_bytes(destination.local(), source, count * sizeof(T));
    detail::write_back(destination.local(), count * sizeof(T));
  }
  SITU_POINT(data_put);
  detail::set_signal(target, value, how);
}
template <class T>
void put_signal(ptr<T> destination, const std::type_identity_t<T>* source, std::size_t count, ptr<signal> target,
                std::uint64_t value, signal_by how = signal_by::set) {
  put_signal(destination, source, count, word(target), value, how);
}
// As above, with one element.
template <class T, atomic_word Word>
void put_signal(ptr<T> destination, const std::type_identity_t<T>& element, ptr<Word> target,
                std::type_identity_t<Word> value, signal_by how = signal_by::set) {
  put_signal(destination, &element, 1, target, value, how);
}
template <class T>
void put_signal(ptr<T> destination, const std::type_identity_t<T>& element, ptr<signal> target, std::uint64_t value,
                signal_by how = signal_by::set) {
  put_signal(destination, &element, 1, word(target), value, how);
}

}  // namespace situ
