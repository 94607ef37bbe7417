#include "pool/read_ahead.h"

#include <fcntl.h>

#include <stop_token>

#include "pool/quiet_thread.h"

namespace situ::detail {

void read_ahead::start(int descriptor, std::uint64_t begin, std::uint64_t end) {
  thread_ = start_quiet_thread([=](const std::stop_token& stopped) {
    // The kernel hands in all of a piece before it returns, and waits only where the disk's queue is full.
    constexpr std::uint64_t piece_bytes = std::uint64_t{8} << 20;
    // What is not read ahead is read when it is touched, which tells of a disk that fails.
    for (std::uint64_t at = begin; at < end && !stopped.stop_requested(); at += piece_bytes)
      ::posix_fadvise(descriptor, static_cast<off_t>(at), static_cast<off_t>(piece_bytes), POSIX_FADV_WILLNEED);
  });
}

}  // namespace situ::detail
