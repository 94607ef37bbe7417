// The state of a queue at its place, without the calls that reach it. It belongs to that place's thread.
//
// Invariants
//   1. Tasks wait for elements only while there are none, and for room only while there are `capacity`: not both.
//   2. Waiting tasks are served in FIFO order, by the task that makes it possible and before its operation ends: at any
//      moment an element is either in the queue or held by one waiting task. A task whose wait ends otherwise (a
//      deadline, a loss) but that has already been served counts as served.
#pragma once

#include <situ/runtime/deadline.h>
#include <situ/runtime/detail/scheduler.h>
#include <situ/runtime/future.h>
#include <situ/spread/detail/members.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

namespace situ::detail {

enum class push_outcome : std::uint8_t { taken, late, closed };

// Returns false for `late`. Throws bad_argument if the queue is closed.
bool was_taken(push_outcome outcome);
void check_capacity(std::size_t capacity);

[[nodiscard]] constexpr deadline passed_deadline() noexcept {
  return std::chrono::steady_clock::time_point{std::chrono::nanoseconds{0}};
}

// Waits for a call's answer, which arrives unless its place is lost.
void await_answer(const future_state_base& state, place from, const std::source_location& where);
template <class T>
void await_answer(const future<T>& answer, place from, const std::source_location& where) {
  if (!answer.is_ready()) await_answer(*answer.state().get(), from, where);
}

// Suspends the running task until w is resumable. Throws place_lost_error if a loss ended the wait and `served` is
// still false.
void await_service(waiter& w, const bool& served);

template <class T>
class queue_core {
 public:
  explicit queue_core(std::size_t capacity) : capacity_{capacity} { check_capacity(capacity); }
  queue_core(const queue_core&) = delete;
  queue_core& operator=(const queue_core&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); }
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

  push_outcome push(T&& element, std::int64_t until_ns) {
    if (is_closed_) return push_outcome::closed;
    if (!serve_pop(element)) {
      if (elements_.size() >= capacity_) return wait_for_room(std::move(element), until_ns);
      elements_.push_back(std::move(element));
    }
    return push_outcome::taken;
  }
  push_outcome push_all(std::vector<T>&& elements) {
    for (T& each : elements)
      if (push(std::move(each), waits_for::no_deadline) == push_outcome::closed) return push_outcome::closed;
    return push_outcome::taken;
  }

  std::optional<T> pop(std::int64_t until_ns) {
    if (elements_.empty()) return wait_for_element(until_ns);
    std::optional<T> first{std::move(elements_.front())};
    elements_.pop_front();
    serve_push();
    return first;
  }
  std::vector<T> pop_some(std::size_t most) {
    std::vector<T> some;
    if (most == 0) return some;
    if (std::optional<T> first = pop(waits_for::no_deadline)) some.push_back(std::move(*first));
    while (some.size() < most && !elements_.empty()) some.push_back(std::move(*pop(0)));
    return some;
  }

  void close() {
    is_closed_ = true;
    for (waiting* const each : pushing_) current->scheduler->make_resumable(*each);
    for (waiting* const each : popping_) current->scheduler->make_resumable(*each);
    pushing_.clear();
    popping_.clear();
  }

 private:
  // A task that waits to push `element`, or to pop one into it. It is on that task's stack.
  struct waiting : waiter {
    std::optional<T> element;
    bool served = false;
  };
  // Keeps a waiting task in the row of waiting tasks.
  struct in_row {
    std::deque<waiting*>& row;
    waiting& one;
    in_row(std::deque<waiting*>& of, waiting& w) : row{of}, one{w} { row.push_back(&one); }
    ~in_row() { std::erase(row, &one); }
    in_row(const in_row&) = delete;
    in_row& operator=(const in_row&) = delete;
  };

  bool serve_pop(T& element) {
    if (popping_.empty()) return false;
    waiting& first = *popping_.front();
    popping_.pop_front();
    first.element.emplace(std::move(element));
    serve(first);
    return true;
  }
  void serve_push() {
    if (pushing_.empty()) return;
    waiting& first = *pushing_.front();
    pushing_.pop_front();
    elements_.push_back(std::move(*first.element));
    serve(first);
  }
  static void serve(waiting& one) {
    one.served = true;
    current->scheduler->make_resumable(one);
  }

  push_outcome wait_for_room(T&& element, std::int64_t until_ns) {
    if (until_ns == 0) return push_outcome::late;
    waiting mine;
    mine.element.emplace(std::move(element));
    wait(pushing_, mine, until_ns);
    if (mine.served) return push_outcome::taken;
    return is_closed_ ? push_outcome::closed : push_outcome::late;
  }
  std::optional<T> wait_for_element(std::int64_t until_ns) {
    if (is_closed_ || until_ns == 0) return std::nullopt;
    waiting mine;
    wait(popping_, mine, until_ns);
    return std::move(mine.element);
  }
  static void wait(std::deque<waiting*>& row, waiting& mine, std::int64_t until_ns) {
    mine.whom.deadline_ns = until_ns;
    mine.whom.note.kind = wait_kind::future;
    const in_row here{row, mine};
    await_service(mine, mine.served);
  }

  std::deque<T> elements_;
  std::deque<waiting*> pushing_;
  std::deque<waiting*> popping_;
  std::size_t capacity_;
  bool is_closed_ = false;
};

}  // namespace situ::detail
