// Threads that perform the reads and writes of a backing store: in the order in which they were started, as many at a
// time as there are threads. As for the store, one thread at a time calls it.
#pragma once

#include <situ/pages/backing_store.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "os/host.h"
#include "os/worker.h"

namespace situ::detail {

class store_threads {
 public:
  struct request {
    backing_store::direction to;
    std::byte* memory;
    std::uint64_t offset;
    std::size_t bytes;
    int queue;
  };
  // carry: performs one request; wait() rethrows its exceptions. With 0 threads, the threads that call run() do the
  // work.
  store_threads(int threads, std::function<void(const request&)> carry);
  // Waits for its threads. pre: no thread is in run() any more.
  ~store_threads();
  store_threads(const store_threads&) = delete;
  store_threads& operator=(const store_threads&) = delete;

  void start(const request& one);
  void wait(int queue);
  // Performs requests until stop() is called and no request is left.
  void run();
  void stop() noexcept;

 private:
  std::function<void(const request&)> carry_;
  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<request> requests_;
  int in_flight_[backing_store::queues] = {};
  std::exception_ptr failed_[backing_store::queues];
  bool is_stopping_ = false;
  std::vector<os::worker> threads_;
};

// Transfers a request's bytes between memory and a file, in as many calls as it takes. Returns 0; -1 if the file ended
// first, or nothing was written; or errno's value. On failure `one` is the remaining part.
[[nodiscard]] int carry_whole(int file, store_threads::request& one) noexcept;

}  // namespace situ::detail
