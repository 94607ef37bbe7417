// Further threads in a place: std::thread, the threads of OpenMP regions or of a library.
//
//   situ::place_threads threads;                                      // by the place's own thread
//   threads.start([&] {                                               // a thread of the place
//     situ::atomic_fetch_add(counter, 1);                             // one-sided access: directly
//     int n = threads.run([] { return situ::at(situ::place{1}, f); });  // other calls: by the place's own thread
//   });
//   threads.join();                                                   // runs handed-over work until the threads end
//
// A registered thread may put, get, use atomics and signals, give blocks back, and ask here() and place_count(), at
// the same time as all other threads; statistics and traces do not count its accesses. Every other call belongs to the
// place's own thread: run() hands it over, and a direct call throws no_runtime, as does every call in a thread that is
// not registered.
//
// The place's own thread runs handed-over work whenever it waits in Situ. It must not wait for a registered thread by
// other means, such as std::thread::join or the end of an OpenMP region: begin that region in a thread of start().
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

// A piece of work that a registered thread hands over. That thread waits for its end, so the object lives on its
// stack.
struct handed_over {
  void (*run)(handed_over*) noexcept = nullptr;
  handed_over* next = nullptr;
  std::atomic<std::uint32_t> done{0};
};

struct place_threads_state;

// The `current` context of a registered thread: the place's context, without the parts that only its own thread may
// use.
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

// Opens the calling place to other threads. The place's own thread makes, joins and destroys it. The destructor joins;
// every registered_thread must have ended before. Throws no_runtime. cost: a task that waits, and a line of the
// segment.
class place_threads {
 public:
  place_threads();
  ~place_threads();
  place_threads(const place_threads&) = delete;
  place_threads& operator=(const place_threads&) = delete;

  // Starts a thread of the place, which runs body(). Throws std::system_error if the system has no room for another
  // thread.
  void start(std::function<void()> body);

  // Waits until all threads of start() have ended, and runs the work that they hand over. Then throws the first
  // exception that left one of their bodies. Errors: place_lost_error (the threads still run; join once more).
  void join();

  // Runs body() on the place's own thread, as a task of its own; returns its value, or throws its exception. For
  // registered threads; on the place's own thread it is a plain call. Errors: no_runtime in a thread that is not
  // registered. cost: two hand-overs between threads, about 10 us if both sleep.
  template <class F>
  std::invoke_result_t<F&> run(F&& body);

 private:
  friend class registered_thread;
  // Returns false on the place's own thread.
  [[nodiscard]] bool must_hand_over() const;
  void hand_over(detail::handed_over& call);

  std::unique_ptr<detail::place_threads_state> state_;
};

// Registers the calling thread with the place for the object's lifetime: for threads that Situ did not start. The
// object must end before `threads`. Errors: bad_argument in a thread that belongs to a place already. cost: some words
// for each place.
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
