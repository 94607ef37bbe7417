// The limit on the size of files (RLIMIT_FSIZE, `ulimit -f`). It holds for memory files as well.
//
// If a process makes a file longer than the limit, the kernel kills it with SIGXFSZ, without a message. So Situ's code
// calls file_size_limit() before it sets the size of a file, and writes while a file_size_signal_held lives: the write
// then fails with EFBIG, for which write_failure() has a message. Thread-safe.
#pragma once

#include <csignal>
#include <cstdint>
#include <limits>
#include <string>

namespace situ::detail {

inline constexpr std::uint64_t no_file_size_limit = std::numeric_limits<std::uint64_t>::max();

// Returns the maximum size of a file of this process, in bytes; no_file_size_limit if nothing limits it.
[[nodiscard]] std::uint64_t file_size_limit() noexcept;

// Sets the size of a file, as ftruncate: -1 with errno on failure. Fails with EFBIG, and no signal, if the file would
// become longer than the limit.
[[nodiscard]] int set_file_size(int descriptor, std::uint64_t bytes) noexcept;

// Returns the reason why a write, or a change of a file's size, has failed: errno's value in words. EFBIG names the
// limit.
[[nodiscard]] std::string write_failure(int reason);

// While it lives, SIGXFSZ does not reach the calling thread. cost: one system call if there is no limit, else six.
class file_size_signal_held {
 public:
  file_size_signal_held() noexcept;
  ~file_size_signal_held();
  file_size_signal_held(const file_size_signal_held&) = delete;
  file_size_signal_held& operator=(const file_size_signal_held&) = delete;

 private:
  bool is_held_;
  bool was_pending_ = false;
  sigset_t before_{};
};

}  // namespace situ::detail
