#include "launch/queued_writer.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <utility>

#include "launch/output.h"

namespace situ::detail {

queued_writer::queued_writer(std::size_t most_bytes)
    : most_bytes_{most_bytes}, room_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  worker_ = os::worker{os::without_signals, [this] { run(); }};
}

queued_writer::~queued_writer() {
  {
    const std::lock_guard lock{mutex_};
    is_ending_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

void queued_writer::add(int descriptor, std::string text) {
  if (text.empty()) return;
  {
    const std::lock_guard lock{mutex_};
    bytes_ += text.size();
    queue_.push_back({descriptor, std::move(text)});
  }
  changed_.notify_all();
}

bool queued_writer::is_full() {
  const std::lock_guard lock{mutex_};
  return bytes_ > most_bytes_;
}

void queued_writer::wait_for_room() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return bytes_ <= most_bytes_; });
}

void queued_writer::run() {
  for (std::unique_lock lock{mutex_};;) {
    changed_.wait(lock, [this] { return is_ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const entry next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    write_all(next.descriptor, next.text);
    lock.lock();
    const bool was_full = bytes_ > most_bytes_;
    bytes_ -= next.text.size();
    if (!was_full || bytes_ > most_bytes_) continue;
    changed_.notify_all();
    const std::uint64_t one = 1;
    (void)!::write(room_.number(), &one, sizeof one);
  }
}

}  // namespace situ::detail
