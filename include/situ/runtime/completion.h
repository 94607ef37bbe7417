// Puts that report their completion, and to whom they report it.
//
//   auto [mine_again, done] = situ::put_async(there, mine, n, situ::on_source(), situ::on_operation());
//   situ::put_async(there, mine, n, situ::on_arrival([](situ::ptr<double> xs, std::size_t n) { ... }, there, n));
//   situ::put_async(there, mine, n, situ::signals(ready, 1, situ::signal_by::add));
//
// source       the elements have been read: the caller may change the source
// operation    the elements are written: any thread that is notified of it sees them
// arrival      a task of the destination's place runs a function, which sees the elements and may wait
// signal       a word at the destination is set, and any reader of its new value sees the elements (fabric/signal.h)
//
// on_source and on_operation ask for a future, or set a promise, or run a callback as a task of this place. on_arrival
// asks for a future that becomes ready when the function has ended. If the caller discards that future, the enclosing
// finish scope reports a failure. put_async returns the futures in the order of its arguments: nothing, one, or a
// tuple. On one host the data moves at once, so source and operation are complete when the call returns. Errors: as for
// put, put_signal and async_at. cost: as for those, and nothing for a future.
#pragma once

#include <situ/base/detail/coherence.h>
#include <situ/fabric/rma.h>
#include <situ/fabric/signal.h>
#include <situ/runtime/at.h>
#include <situ/runtime/future.h>
#include <situ/runtime/task.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace situ {
namespace detail {

struct completion {};  // base of the completions that put_async takes

template <class T>
concept is_completion = std::is_base_of_v<completion, std::remove_cvref_t<T>>;

struct as_future : completion {
  [[nodiscard]] std::tuple<future<>> complete(place) const { return {make_ready_future()}; }
};
struct as_promise : completion {
  promise<>* kept;
  [[nodiscard]] std::tuple<> complete(place) const {
    kept->set_value();
    return {};
  }
};
template <class Callback>
struct as_callback : completion {
  Callback callback;
  explicit as_callback(Callback&& c) : callback{std::move(c)} {}
  [[nodiscard]] std::tuple<> complete(place) {
    (void)async(std::move(callback));
    return {};
  }
};
template <class F, class... Arguments>
struct as_call : completion {
  F f;
  std::tuple<Arguments...> arguments;
  as_call(F&& function, Arguments&&... given) : f{std::move(function)}, arguments{std::move(given)...} {}
  [[nodiscard]] auto complete(place target) {
    return std::apply([&](Arguments&... each) { return std::tuple{async_at(target, f, std::move(each)...)}; },
                      arguments);
  }
};
template <class Word>
struct as_signal : completion {
  ptr<Word> target;
  Word value;
  signal_by how;
  [[nodiscard]] std::tuple<> complete(place to) const {
    if (target.place() != to) throw_signal_elsewhere(to, target.address());
    set_signal(target, value, how);
    return {};
  }
};

// Returns the futures: none (void), one, or a tuple.
template <class... Ts>
auto futures_of(std::tuple<Ts...>&& futures) {
  if constexpr (sizeof...(Ts) == 1) {
    return std::get<0>(std::move(futures));
  } else if constexpr (sizeof...(Ts) > 1) {
    return std::move(futures);
  }
}
template <class... Completions>
auto complete_all(place at, Completions&&... completions) {
  // braces: in the order of the arguments
  std::tuple<decltype(completions.complete(at))...> parts{completions.complete(at)...};
  return futures_of(std::apply([](auto&... each) { return std::tuple_cat(std::move(each)...); }, parts));
}

}  // namespace detail

// Reports that the source may be changed: by a future, by setting a promise, or by running a callback.
[[nodiscard]] inline auto on_source() { return detail::as_future{}; }
[[nodiscard]] inline auto on_source(promise<>& kept) { return detail::as_promise{{}, &kept}; }
template <std::invocable Callback>
[[nodiscard]] auto on_source(Callback callback) {
  return detail::as_callback<Callback>{std::move(callback)};
}

// Reports that the elements are written: by a future, by setting a promise, or by running a callback.
[[nodiscard]] inline auto on_operation() { return detail::as_future{}; }
[[nodiscard]] inline auto on_operation(promise<>& kept) { return detail::as_promise{{}, &kept}; }
template <std::invocable Callback>
[[nodiscard]] auto on_operation(Callback callback) {
  return detail::as_callback<Callback>{std::move(callback)};
}

// Runs f(arguments...) as a task of the destination's place once the elements have arrived; f travels as for async_at.
template <class F, class... Arguments>
[[nodiscard]] auto on_arrival(F f, Arguments... arguments) {
  return detail::as_call<F, Arguments...>{std::move(f), std::move(arguments)...};
}

// Sets a signal, or another word, at the destination's place once the elements have arrived.
[[nodiscard]] inline auto signals(ptr<signal> target, std::uint64_t value, signal_by how = signal_by::set) {
  return detail::as_signal<std::uint64_t>{{}, word(target), value, how};
}
template <atomic_word T>
[[nodiscard]] auto signals(ptr<T> target, std::type_identity_t<T> value, signal_by how = signal_by::set) {
  return detail::as_signal<T>{{}, target, value, how};
}

// Writes `count` elements and reports completion as the further arguments request.
template <class T, detail::is_completion... Completions>
  requires(sizeof...(Completions) > 0)
auto put_async(ptr<T> destination, const std::type_identity_t<T>* source, std::size_t count,
               Completions&&... completions) {
  put(destination, source, count);
  return detail::complete_all(destination.place(), completions...);
}
// Writes one element and reports completion in the same way.
template <class T, detail::is_completion... Completions>
  requires(sizeof...(Completions) > 0)
auto put_async(ptr<T> destination, const std::type_identity_t<T>& value, Completions&&... completions) {
  put(destination, value);
  return detail::complete_all(destination.place(), completions...);
}

// Collects one-sided operations and completes them together:
//
//   situ::access_batch batch;
//   for (std::size_t i = 0; i < n; ++i) batch.put(there + indices[i], values[i]);
//   batch.complete();                            // all are written; a thread that is notified now sees them
//
// Errors: those of put and get, thrown at the call. The caller may read the results of gets, and change sources, after
// complete(). Not thread-safe. cost: a put's; in a run of operations at one place, each checks its bounds against two
// words that the batch holds and counts nothing, unless statistics or checks of the job need to see each access.
class access_batch {
 public:
  // Adds an operation.
  template <class T>
  void put(ptr<T> destination, const std::type_identity_t<T>& value) {
    detail::check_transferable<T>();
    if (!holds(destination.address(), sizeof(T))) [[unlikely]]
      if (put_value_beyond<T>(destination.address(), value)) return;
    *destination.local() = value;
    detail::write_back(destination.local(), sizeof(T));
  }
  template <class T>
  void put(ptr<T> destination, const std::type_identity_t<T>* source, std::size_t count) {
    situ::put(destination, source, count);
  }
  template <class T>
  void get(std::remove_const_t<T>* destination, ptr<T> source, std::size_t count = 1) {
    detail::check_transferable<T>();
    if (count == 0) return;
    const std::size_t bytes = detail::bytes_of(count, sizeof(T));
    if (!holds(source.address(), bytes)) [[unlikely]]
      if (get_beyond(destination, source.address(), bytes)) return;
    detail::flush(source.local(), count * sizeof(T));
    detail::copy_bytes(destination, source.local(), count * sizeof(T));
  }

  // Waits until all operations added so far are done.
  void complete() noexcept { std::atomic_thread_fence(std::memory_order_acq_rel); }
  // Calls complete() and returns a ready future.
  [[nodiscard]] future<> complete_async() {
    complete();
    return make_ready_future();
  }

 private:
  [[nodiscard]] bool holds(std::uintptr_t address, std::size_t bytes) const noexcept {
    const std::uintptr_t offset = address - heap_;
    return offset < open_ && bytes <= open_ - offset;
  }
  // Do a put_slow or get_slow if is_open does not hold, and then remember the segment, unless each access must be
  // observed or the segment is of another host. Return true if the access is done.
  [[nodiscard]] bool put_beyond(std::uintptr_t to, const void* from, std::size_t bytes);
  [[nodiscard]] bool get_beyond(void* to, std::uintptr_t from, std::size_t bytes);
  void remember(std::uintptr_t address) noexcept;
  template <class T>
  [[nodiscard, gnu::cold]] bool put_value_beyond(std::uintptr_t to, const T value) {
    return put_beyond(to, std::addressof(value), sizeof(T));
  }

  std::uintptr_t heap_ = 0;  // of the segment accessed last: its begin, and its open bytes
  std::uint64_t open_ = 0;
};

}  // namespace situ
