#include "pages/store_threads.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file_size.h"
#include "os/thread_stacks.h"

namespace situ::detail {

store_threads::store_threads(int threads, std::function<void(const request&)> carry) : carry_{std::move(carry)} {
  try {
    const program_stacks for_stores;
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this] {
        const watched_stack watched{"a thread of a backing store"};
        run();
      });
  } catch (...) {
    stop();
    for (os::worker& each : threads_) each.join();
    throw;
  }
}

store_threads::~store_threads() {
  stop();
  for (os::worker& each : threads_) each.join();
}

void store_threads::stop() noexcept {
  {
    const std::lock_guard guard{mutex_};
    is_stopping_ = true;
  }
  work_.notify_all();
}

void store_threads::start(const request& one) {
  {
    const std::lock_guard guard{mutex_};
    requests_.push_back(one);
    ++in_flight_[one.queue];
  }
  work_.notify_one();
}

void store_threads::wait(int queue) {
  std::unique_lock guard{mutex_};
  done_.wait(guard, [&] { return in_flight_[queue] == 0; });
  if (failed_[queue]) std::rethrow_exception(std::exchange(failed_[queue], nullptr));
}

void store_threads::run() {
  std::unique_lock guard{mutex_};
  for (;;) {
    work_.wait(guard, [&] { return is_stopping_ || !requests_.empty(); });
    if (requests_.empty()) return;
    const request one = requests_.front();
    requests_.pop_front();
    guard.unlock();
    std::exception_ptr failure;
    try {
      carry_(one);
    } catch (...) {
      failure = std::current_exception();
    }
    guard.lock();
    if (failure && !failed_[one.queue]) failed_[one.queue] = failure;
    if (--in_flight_[one.queue] == 0) done_.notify_one();
  }
}

int carry_whole(int file, store_threads::request& one) noexcept {
  const file_size_signal_held held;  // the limit may be below the file's present length
  while (one.bytes != 0) {
    const auto offset = static_cast<off_t>(one.offset);
    const ssize_t done = one.to == backing_store::direction::read ? ::pread(file, one.memory, one.bytes, offset)
                                                                  : ::pwrite(file, one.memory, one.bytes, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : -1;
    one.memory += done;
    one.offset += static_cast<std::uint64_t>(done);
    one.bytes -= static_cast<std::size_t>(done);
  }
  return 0;
}

}  // namespace situ::detail
