#include "pool/read_ahead.h"

#include <fcntl.h>

#include <stop_token>

namespace situ::detail {

void read_ahead::start(int descriptor, std::uint64_t begin, std::uint64_t end) {
  thread_ = os::worker{os::without_signals, [=](const std::stop_token& stopped) {
                         // The kernel queues a whole piece before it returns, and waits only if the disk's queue is full.
                         constexpr std::uint64_t piece_bytes = std::uint64_t{8} << 20;
                         // Pages that are not read ahead are read when they are touched, which reports a failing disk.
                         for (std::uint64_t at = begin; at < end && !stopped.stop_requested(); at += piece_bytes)
                           ::posix_fadvise(descriptor, static_cast<off_t>(at), static_cast<off_t>(piece_bytes),
                                           POSIX_FADV_WILLNEED);
                       }};
}

}  // namespace situ::detail
