// Threads that the task graphs of a process have one after the other: making a thread takes longer than many a graph.
//
// A thread has the processors (or some of them, to be near to memory) and the memory policy of the one that makes the
// graph, as if it were new. One that a
// graph gives back waits for the next one; as many wait as there are processors, others end. In a
// forked child there are none of them. Thread-safe.
#pragma once

#include <situ/machine/processor_set.h>

#include <functional>
#include <memory>

namespace situ::detail {

struct shared_worker_state;

// body() on a thread of the process, once. Movable.
class shared_worker {
 public:
  // on: the processors of those of the calling thread that it is bound to; null: all. Throws std::system_error where
  // the system has no room for another thread.
  explicit shared_worker(std::function<void()> body, const machine::processor_set* on = nullptr);
  // Waits until the body has returned.
  ~shared_worker();
  shared_worker(shared_worker&&) noexcept;
  shared_worker& operator=(shared_worker&&) = delete;

 private:
  std::unique_ptr<shared_worker_state> state_;
};

}  // namespace situ::detail
