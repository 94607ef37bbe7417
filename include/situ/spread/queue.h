// queue<T>: first in, first out, at one place; any member pushes to it and pops from it.
//
//   situ::queue<job> jobs{situ::place{0}, {.capacity = 1000}};   // at each place, together
//   jobs.push({"page 7", 3});                                    // waits while it is full
//   while (std::optional<job> next = jobs.pop()) run(*next);     // waits while it is empty, until somebody closes it
//
// The queue lies at its place as objects of type T, which is any that travels, and that place's thread alone runs its
// operations: each happens as a whole, and what one task pushes is popped in that order. Who waits has come in a row,
// too. Every operation of another place is a call (at.h), so its place must let messages run; push_all and pop_some
// carry many with one, and async([&] { q.push(x); }) does not wait for it.
//
// Collective: the members of a team construct and destroy it together, in the same order; what is in it then is
// dropped. Belongs to the thread that made it. Errors: place_lost_error where its place is lost, and out of a wait for
// room or an element when any place is lost: nobody knows whether that would have made it. Then nothing was pushed or
// popped, and the queue goes on among the others; what a lost place has pushed stays in it, what was on its way to a
// place that is lost goes with that place. A push after close() throws bad_argument.
#pragma once

#include <situ/runtime/at.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/serialize.h>
#include <situ/spread/detail/members.h>
#include <situ/spread/detail/queue_core.h>
#include <situ/spread/detail/registry.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ {

// How a queue is bounded.
struct queue_options {
  std::size_t capacity = std::numeric_limits<std::size_t>::max();  // elements; then push waits. It grows until there
};

// A queue at one place for the members of a team; see above.
template <class T>
class queue {
 public:
  // Throws bad_argument where `at` is no member, or the capacity is 0. cost: a barrier.
  explicit queue(place at, const queue_options& options = {}, const team& members = world())
      : end_of_all_{members},
        at_{at},
        id_{detail::next_object_id(members, detail::name_hash<queue>())},
        core_{std::make_shared<core>(options.capacity)} {
    static_assert(
        travels<T>,
        "situ: the elements of a queue travel by value, and this type does not: see situ/runtime/serialize.h");
    detail::check_member(members, at);
    detail::register_object(id_, &core_);
    barrier(members);
  }
  // Collective, unless an exception or a loss ends its scope. cost: a barrier.
  ~queue() {
    (void)end_of_all_.come();
    detail::unregister_object(id_);
  }
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;

  // Puts it behind all others; waits while the queue is full. cost: a call; at the queue's place a move.
  void push(const T& value, std::source_location where = std::source_location::current()) {
    (void)push(value, deadline::never(), where);
  }
  // The same until a deadline; whether it was put.
  bool push(const T& value, deadline until, std::source_location where = std::source_location::current()) {
    return detail::was_taken(run(
        where, [](core& here, T element, std::int64_t until_ns) { return here.push(std::move(element), until_ns); },
        value, until.nanoseconds()));
  }
  // Only where there is room now; whether it was put. cost: push's.
  bool try_push(const T& value, std::source_location where = std::source_location::current()) {
    return push(value, detail::passed_deadline(), where);
  }
  // All of them, in order and next to each other, unless it has to wait for room between two. cost: one call for all.
  void push_all(const std::vector<T>& values, std::source_location where = std::source_location::current()) {
    (void)detail::was_taken(
        run(where, [](core& here, std::vector<T> elements) { return here.push_all(std::move(elements)); }, values));
  }
  // Takes the first; waits while there is none. Nothing where the queue is closed and empty. cost: a call; at the
  // queue's place a move.
  [[nodiscard]] std::optional<T> pop(std::source_location where = std::source_location::current()) {
    return pop(deadline::never(), where);
  }
  // The same until a deadline; nothing where that came first, too.
  [[nodiscard]] std::optional<T> pop(deadline until, std::source_location where = std::source_location::current()) {
    return run(where, [](core& here, std::int64_t until_ns) { return here.pop(until_ns); }, until.nanoseconds());
  }
  // Only where there is one now. cost: pop's.
  [[nodiscard]] std::optional<T> try_pop(std::source_location where = std::source_location::current()) {
    return pop(detail::passed_deadline(), where);
  }
  // Up to `most` elements; waits for the first only. None where the queue is closed and empty. cost: one call.
  [[nodiscard]] std::vector<T> pop_some(std::size_t most,
                                        std::source_location where = std::source_location::current()) {
    return run(where, [](core& here, std::size_t count) { return here.pop_some(count); }, most);
  }
  // No push from now on: those that wait for room throw, and pop gives what is left, then nothing. cost: a call.
  void close(std::source_location where = std::source_location::current()) {
    run(where, [](core& here) { here.close(); });
  }
  // Whether close() was called. cost: a call.
  [[nodiscard]] bool is_closed(std::source_location where = std::source_location::current()) {
    return run(where, [](core& here) { return here.is_closed(); });
  }
  // The number of elements in it at some moment of the call. cost: a call.
  [[nodiscard]] std::size_t size(std::source_location where = std::source_location::current()) {
    return run(where, [](core& here) { return here.size(); });
  }

 private:
  using core = detail::queue_core<T>;
  // Tasks that wait in it may outlive the queue, where an exception ends its scope.
  [[nodiscard]] static std::shared_ptr<core> core_of(const detail::object_id& id) {
    return *static_cast<std::shared_ptr<core>*>(detail::find_object(id));
  }

  // Runs f(core, arguments...) at the queue's place. Its answer always comes, with what was popped: only the loss of
  // that place ends the wait here. The wait there ends by losses that this task has not been told of.
  template <class F, class... Arguments>
  auto run(const std::source_location& where, F f, const Arguments&... arguments) {
    if (at_.index() == detail::current->place) {
      const std::shared_ptr<core> kept = core_;
      return f(*kept, detail::copy_value(arguments)...);
    }
    auto answer = async_at(
        at_,
        [](const detail::object_id& id, std::uint32_t told, Arguments... given) {
          detail::current->told_of = std::min(detail::current->told_of, told);
          const std::shared_ptr<core> kept = core_of(id);
          return F{}(*kept, std::move(given)...);
        },
        id_, detail::current->told_of, arguments...);
    detail::await_answer(answer, at_, where);
    return std::move(answer).get(where);
  }

  detail::joint_end end_of_all_;
  place at_;
  detail::object_id id_;
  std::shared_ptr<core> core_;  // used at its place alone
};

}  // namespace situ
