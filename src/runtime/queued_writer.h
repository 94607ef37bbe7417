// Writes to descriptors from a thread of its own, in the order in which it was told, so that who tells it never waits
// for a reader.
//
// Thread-safe. The descriptors stay the caller's. What nobody reads any more is dropped; SIGPIPE must be ignored.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>

#include "base/host.h"

namespace situ::detail {

class queued_writer {
 public:
  // Over so many bytes it is full, which does not keep who must say something from saying it.
  explicit queued_writer(std::size_t most_bytes);
  // Writes what is left, which lasts as long as the reader takes.
  ~queued_writer();
  queued_writer(const queued_writer&) = delete;
  queued_writer& operator=(const queued_writer&) = delete;

  void add(int descriptor, std::string text);
  [[nodiscard]] bool is_full();
  void wait_for_room();
  // Can be read once it was full and has room again; who has read it has taken that in.
  [[nodiscard]] int room_descriptor() const noexcept { return room_; }

 private:
  struct entry {
    int descriptor;
    std::string text;
  };
  void run();

  const std::size_t most_bytes_;
  const int room_;  // an eventfd
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<entry> queue_;
  std::size_t bytes_ = 0;  // of the queue, with what is being written
  bool is_ending_ = false;
  worker worker_;
};

}  // namespace situ::detail
