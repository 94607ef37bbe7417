// More threads than one in a place: std::thread, OpenMP regions, those of a library.
//
//   situ::place_threads threads;                                      // by the place's own thread
//   threads.start([&] {                                               // a thread of the place
//     situ::atomic_fetch_add(counter, 1);                             // one-sided access: directly
//     int n = threads.run([] { return situ::at(situ::place{1}, f); });  // the rest: by the place's own thread
//   });
//   threads.join();                                                   // does what is handed over until they have ended
//
// A registered thread may put, get, use atomics and signals, give blocks back, and ask here() and place_count(), at the
// same time as all others; statistics and traces do not count what it accesses. All else belongs to the place's own
// thread, which run() asks; directly it is no_runtime, as is everything in a thread that is not registered.
//
// The place's own thread does what it is asked while it waits in Situ, for anything. It must not wait for a registered
// thread by other means, as std::thread::join or the end of an OpenMP region: begin that region in a thread of start().
#pragma once

#include <situ/memory/detail/place_context.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {

namespace detail {

// What a registered thread wants done; it waits for that, so this lives on its stack.
struct handed_over {
  void (*run)(handed_over*) noexcept = nullptr;
  handed_over* next = nullptr;
  std::atomic<std::uint32_t> done{0};
};

struct place_threads_state;

// What `current` of a registered thread points to: the place's, without what only its own thread may use.
struct registration {
  place_context context;
  std::vector<std::uint64_t> limits;
  place_context* before = nullptr;
  place_threads_state* threads = nullptr;

  explicit registration(place_threads_state& of);
  ~registration();
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;
};

}  // namespace detail

// Opens the calling place to other threads. Made, joined and destroyed by the place's own thread. The destructor joins;
// every registered_thread must have ended before. Throws no_runtime. cost: a task that waits, and a line of the
// segment.
class place_threads {
 public:
  place_threads();
  ~place_threads();
  place_threads(const place_threads&) = delete;
  place_threads& operator=(const place_threads&) = delete;

  // Starts a thread of the place, which runs body(). Throws std::system_error where the system has no room for another.
  void start(std::function<void()> body);

  // Until all threads of start() have ended; does what they hand over meanwhile. Then throws the first exception that
  // left one of their bodies. Errors: place_lost_error (they still run; join once more).
  void join();

  // body() on the place's own thread, as a task of its own; returns its value, or throws what it threw. To be called by
  // registered threads; on the place's own thread it is a call. Errors: no_runtime in a thread that is not registered.
  // cost: two hand-overs between threads, about 10 us where both sleep.
  template <class F>
  std::invoke_result_t<F&> run(F&& body);

 private:
  friend class registered_thread;
  // False on the place's own thread.
  [[nodiscard]] bool must_hand_over() const;
  void hand_over(detail::handed_over& call);

  std::unique_ptr<detail::place_threads_state> state_;
};

// Makes the calling thread one of the place, as long as it lives: for threads that others have started. It ends before
// `threads`. Errors: bad_argument in a thread that belongs to a place already. cost: some words for each place.
class registered_thread {
 public:
  explicit registered_thread(place_threads& threads) : registration_{*threads.state_} {}

 private:
  detail::registration registration_;
};

template <class F>
std::invoke_result_t<F&> place_threads::run(F&& body) {
  if (!must_hand_over()) return body();
  using result = std::invoke_result_t<F&>;
  static_assert(!std::is_reference_v<result>, "place_threads::run: the body returns by value: another thread uses it");
  struct call final : detail::handed_over {
    std::remove_reference_t<F>* body;
    std::exception_ptr failure;
    std::conditional_t<std::is_void_v<result>, std::optional<char>, std::optional<result>> value;
  } made;
  made.body = &body;
  made.run = [](detail::handed_over* handed) noexcept {
    auto& self = *static_cast<call*>(handed);
    try {
      if constexpr (std::is_void_v<result>)
        (*self.body)();
      else
        self.value.emplace((*self.body)());
    } catch (...) {
      self.failure = std::current_exception();
    }
  };
  hand_over(made);
  if (made.failure) std::rethrow_exception(made.failure);
  if constexpr (!std::is_void_v<result>) return std::move(*made.value);
}

}  // namespace situ
