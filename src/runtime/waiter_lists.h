// The waiters of a place: all of them in a ring, and those that may resume in a queue. A waiter is stored on the stack
// that waits, so neither list allocates. Belongs to the place's thread.
#pragma once

#include <situ/runtime/detail/scheduler.h>

namespace situ::detail {

class waiter_lists {
 public:
  waiter_lists() noexcept { ring_.next = ring_.previous = &ring_; }
  waiter_lists(const waiter_lists&) = delete;
  waiter_lists& operator=(const waiter_lists&) = delete;

  void add(waiter& w) noexcept {
    w.previous = ring_.previous;
    w.next = &ring_;
    w.previous->next = &w;
    ring_.previous = &w;
  }

  // Moves a waiter from the ring to the queue.
  void make_resumable(waiter& w) noexcept {
    w.previous->next = w.next;
    w.next->previous = w.previous;
    w.next = nullptr;
    w.resumable = true;
    if (last_ == nullptr) {
      first_ = &w;
    } else {
      last_->next = &w;
    }
    last_ = &w;
  }

  // Makes resumable those waiters in the ring for which end(w) holds. end() may make other waiters resumable, but not
  // w.
  template <class End>
  void end_if(End end) {
    for (waiter* w = ring_.next; w != &ring_;) {
      waiter* const next = w->next;
      if (end(*w)) make_resumable(*w);
      w = next;
    }
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const waiter* w = ring_.next; w != &ring_; w = w->next) visit(*w);
  }

  // pre: has_resumable()
  [[nodiscard]] waiter& take_resumable() noexcept {
    waiter& w = *first_;
    first_ = w.next;
    if (first_ == nullptr) last_ = nullptr;
    return w;
  }

  [[nodiscard]] bool has_resumable() const noexcept { return first_ != nullptr; }
  [[nodiscard]] bool has_waiting() const noexcept { return ring_.next != &ring_; }
  [[nodiscard]] bool has_waiting_beside(const waiter& w) const noexcept { return ring_.next != &w || w.next != &ring_; }

 private:
  waiter ring_;
  waiter* first_ = nullptr;  // singly linked through `next`
  waiter* last_ = nullptr;
};

}  // namespace situ::detail
