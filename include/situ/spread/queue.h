// queue<T>: a FIFO queue at one place; any member can push to it and pop from it.
//
//   situ::queue<job> jobs{situ::place{0}, {.capacity = 1000}};   // at each place, together
//   jobs.push({"page 7", 3});                                    // waits while it is full
//   while (std::optional<job> next = jobs.pop()) run(*next);     // waits while it is empty, until somebody closes it
//
// The queue's place holds the elements as objects of type T, which may be any type that travels. Only that place's
// thread runs the operations: each is atomic, and elements that one task pushes are popped in that order. Waiting tasks
// are served in FIFO order, too. Every operation from another place is a call (at.h), so the queue's place must let
// messages run; push_all and pop_some transfer many elements with one call, and async([&] { q.push(x); }) pushes
// without waiting.
//
// Collective: the members of a team construct and destroy it together, in the same order; elements left in it are
// dropped. It belongs to the thread that made it. Errors: place_lost_error if the queue's place is lost. A wait for
// room or for an element also throws it if any place is lost, because the lost place might have been the one to end the
// wait; then nothing was pushed or popped, and the remaining members can keep using the queue. Elements that a lost
// place has pushed stay in the queue; elements on their way to a lost place are lost with it. A push after close()
// throws bad_argument.
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

// Limits of a queue.
struct queue_options {
  // elements; push waits if the queue holds as many. The queue's memory grows with its elements up to then
  std::size_t capacity = std::numeric_limits<std::size_t>::max();
};

// A queue at one place for the members of a team; see above.
template <class T>
class queue {
 public:
  // Throws bad_argument if `at` is not a member or the capacity is 0. cost: a barrier.
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

  // Appends an element; waits while the queue is full. cost: a call; at the queue's place a move.
  void push(const T& value, std::source_location where = std::source_location::current()) {
    (void)push(value, deadline::never(), where);
  }
  // As push, but waits no longer than the deadline; returns true if the element was pushed.
  bool push(const T& value, deadline until, std::source_location where = std::source_location::current()) {
    return detail::was_taken(run(
        where, [](core& here, T element, std::int64_t until_ns) { return here.push(std::move(element), until_ns); },
        value, until.nanoseconds()));
  }
  // Pushes only if there is room now; returns true if the element was pushed. cost: push's.
  bool try_push(const T& value, std::source_location where = std::source_location::current()) {
    return push(value, detail::passed_deadline(), where);
  }
  // Pushes all elements in order and contiguously, unless it has to wait for room between two. cost: one call for all.
  void push_all(const std::vector<T>& values, std::source_location where = std::source_location::current()) {
    (void)detail::was_taken(
        run(where, [](core& here, std::vector<T> elements) { return here.push_all(std::move(elements)); }, values));
  }
  // Removes and returns the first element; waits while there is none. Returns nullopt if the queue is closed and empty.
  // cost: a call; at the queue's place a move.
  [[nodiscard]] std::optional<T> pop(std::source_location where = std::source_location::current()) {
    return pop(deadline::never(), where);
  }
  // As pop, but also returns nullopt if the deadline passes.
  [[nodiscard]] std::optional<T> pop(deadline until, std::source_location where = std::source_location::current()) {
    return run(where, [](core& here, std::int64_t until_ns) { return here.pop(until_ns); }, until.nanoseconds());
  }
  // Pops only if there is an element now, else returns nullopt. cost: pop's.
  [[nodiscard]] std::optional<T> try_pop(std::source_location where = std::source_location::current()) {
    return pop(detail::passed_deadline(), where);
  }
  // Pops up to `most` elements; waits for the first only. Returns an empty vector if the queue is closed and empty.
  // cost: one call.
  [[nodiscard]] std::vector<T> pop_some(std::size_t most,
                                        std::source_location where = std::source_location::current()) {
    return run(where, [](core& here, std::size_t count) { return here.pop_some(count); }, most);
  }
  // Closes the queue for pushes: pushes that wait for room throw, and pops return the remaining elements, then nullopt.
  // cost: a call.
  void close(std::source_location where = std::source_location::current()) {
    run(where, [](core& here) { here.close(); });
  }
  // Returns true if close() was called. cost: a call.
  [[nodiscard]] bool is_closed(std::source_location where = std::source_location::current()) {
    return run(where, [](core& here) { return here.is_closed(); });
  }
  // Returns the number of elements at some moment of the call. cost: a call.
  [[nodiscard]] std::size_t size(std::source_location where = std::source_location::current()) {
    return run(where, [](core& here) { return here.size(); });
  }

 private:
  using core = detail::queue_core<T>;
  // Shared, because tasks that wait in the core may outlive the queue if an exception ends its scope.
  [[nodiscard]] static std::shared_ptr<core> core_of(const detail::object_id& id) {
    return *static_cast<std::shared_ptr<core>*>(detail::find_object(id));
  }

  // Runs f(core, arguments...) at the queue's place. The answer always arrives and carries popped elements, so only the
  // loss of that place ends the wait for it here. The wait at the queue's place ends at losses that this task has not
  // been told of.
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
  std::shared_ptr<core> core_;  // used at the queue's place only
};

}  // namespace situ
