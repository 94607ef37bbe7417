// Writes to descriptors from a thread of its own, in the order of add(), so that the caller of add() never waits for a
// reader.
//
// Thread-safe. The caller keeps the descriptors. Text for a descriptor without a reader is dropped; SIGPIPE must be
// ignored.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>

#include "os/descriptor.h"
#include "os/worker.h"

namespace situ::detail {

class queued_writer {
 public:
  // Over `most_bytes` bytes the writer is full; add() still accepts text, for callers that must report something.
  explicit queued_writer(std::size_t most_bytes);
  // Writes the rest, which lasts as long as the reader takes.
  ~queued_writer();
  queued_writer(const queued_writer&) = delete;
  queued_writer& operator=(const queued_writer&) = delete;

  void add(int descriptor, std::string text);
  [[nodiscard]] bool is_full();
  void wait_for_room();
  // Becomes readable once the writer was full and has room again; reading it resets it.
  [[nodiscard]] int room_descriptor() const noexcept { return room_.number(); }

 private:
  struct entry {
    int descriptor;
    std::string text;
  };
  void run();

  const std::size_t most_bytes_;
  const os::descriptor room_;  // an eventfd
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<entry> queue_;
  std::size_t bytes_ = 0;  // of the queue, including the text that is being written
  bool is_ending_ = false;
  os::worker worker_;
};

}  // namespace situ::detail
