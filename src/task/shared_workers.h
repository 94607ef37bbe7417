// Threads that the task graphs of a process use in turn: making a thread takes longer than many graphs run.
//
// A thread takes over the processors (or some of them, to be near to memory) and the memory policy of the thread that
// makes the graph, as a new thread would. A thread that a graph gives back waits for the next graph; at most as many
// wait as there are processors, and others end. A forked child has none of them. Thread-safe.
#pragma once

#include <situ/machine/processor_set.h>

#include <functional>
#include <memory>

namespace situ::detail {

struct shared_worker_state;

// Runs body() once on a thread of the process. Movable.
class shared_worker {
 public:
  // on: binds the thread to these of the calling thread's processors; null: to all of them. Throws std::system_error if
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
