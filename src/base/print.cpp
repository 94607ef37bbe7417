#include "base/print.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/file_size.h"

namespace situ::detail {
namespace {

constexpr int unknown_reason = -1;

// The first failure of a write to standard output, for the whole process. 0: none.
std::atomic<int> output_failure{0};

}  // namespace

void tell_text(std::string_view text) noexcept {
  const int before = errno;
  {
    const file_size_signal_held held;
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);  // a program may have given it a buffer
  }
  errno = before;
}

void tell_formatted(fmt::string_view format, fmt::format_args arguments) noexcept {
  try {
    fmt::memory_buffer text;
    fmt::vformat_to(fmt::appender{text}, format, arguments);
    tell_text({text.data(), text.size()});
  } catch (const std::exception& failed) {
    tell_text("situ: a message cannot be put together: ");
    tell_text(failed.what());
    tell_text("\n");
  }
}

void print_text(std::string_view text) noexcept {
  const file_size_signal_held held;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    note_lost_output(errno != 0 ? errno : unknown_reason);
}

bool flush_output() noexcept {
  const file_size_signal_held held;
  errno = 0;
  if (std::fflush(stdout) != 0) note_lost_output(errno != 0 ? errno : unknown_reason);
  if (std::ferror(stdout) != 0) note_lost_output(unknown_reason);  // also failures of code that prints by other means
  return output_failure.load() == 0;
}

void note_lost_output(int reason) noexcept {
  int none = 0;
  output_failure.compare_exchange_strong(none, reason);
}

int exit_code_after_output(int code) noexcept {
  if (flush_output()) return code;
  const int reason = output_failure.load();
  if (reason == unknown_reason)
    tell_text("situ: cannot write standard output\n");
  else if (reason != EPIPE)
    tell("situ: cannot write standard output: {}\n", write_failure(reason));
  return code == 0 ? EXIT_FAILURE : code;
}

}  // namespace situ::detail
