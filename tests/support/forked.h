// Forked children of a test. All tests fork here, but for programs under test and for those whose child goes on in the
// code that forked it.
//
// A child runs a body and ends with it: it never returns into the test. It ends with the thread that forked it, too, so
// that a test that is killed leaves no child; and os::child, which owns it in the test, kills it and waits for it if an
// assertion, or an exception, ends the test before it has done so.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "os/child.h"
#include "os/descriptor.h"

namespace situ::test {

struct forked_options {
  unsigned seconds = 0;          // SIGALRM ends the child after that; 0: it has no limit of its own
  bool ends_with_parent = true;  // false: the test leaves it behind, and ends it by its number
};

// Returns the exit code, 128 and the signal's number if a signal has ended the process, or -1 if nobody knows.
[[nodiscard]] inline int code_of(const os::exit_status& end) noexcept { return end.is_known ? end.shell_code() : -1; }

// Makes `number` another number of the open file `of`, in place of the file that it had. Returns false, with errno, if
// that cannot be.
inline bool copy_descriptor(int of, int number) noexcept { return ::dup2(of, number) >= 0; }

// In a child: runs the body and ends the process: with the body's number, with 0 if it returns true or nothing, with 1
// if it returns false. An assertion that fails in it makes a code of 0 a 1.
template <class Body>
[[noreturn]] void run_and_exit(Body& body) {
  int code = EXIT_FAILURE;
  try {
    using result = std::invoke_result_t<Body&>;
    if constexpr (std::is_void_v<result>) {
      body();
      code = EXIT_SUCCESS;
    } else if constexpr (std::is_same_v<result, bool>) {
      code = body() ? EXIT_SUCCESS : EXIT_FAILURE;
    } else {
      code = body();
    }
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "a child of the test: %s\n", failed.what());
  } catch (...) {
    std::fputs("a child of the test: an exception of another kind\n", stderr);
  }
  if (code == EXIT_SUCCESS && testing::Test::HasFailure()) code = EXIT_FAILURE;
  ::_exit(code);
}

// Forks a child that runs the body. Throws std::system_error if there is no process.
template <class Body>
[[nodiscard]] os::child fork_child(Body&& body, const forked_options& options = {}) {
  const pid_t parent = ::getpid();
  const pid_t forked = ::fork();
  if (forked < 0) throw std::system_error{errno, std::generic_category(), "a test has no process for its child"};
  if (forked > 0) return os::child{forked};
  if (options.ends_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before the line above. 0: it is of another namespace of processes.
    if (const pid_t now = ::getppid(); now != parent && now != 0) ::_exit(EXIT_FAILURE);
  }
  if (options.seconds > 0) ::alarm(options.seconds);
  run_and_exit(body);
}

// Runs the body in a forked child, and returns how the child has ended.
template <class Body>
[[nodiscard]] os::exit_status in_forked_child(Body&& body, const forked_options& options = {}) {
  return fork_child(body, options).wait();
}

// Ends the calling process without another instruction, as a crash does.
[[noreturn]] inline void kill_this_process() noexcept {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

// What a forked child has said, and how it has ended.
struct said_by_child {
  os::exit_status end;
  std::string text;
};

// Runs the body in a forked child, and returns the text that it returns; with_errors: after what it writes to standard
// error. A body that returns nothing says what it writes. 99: the text could not be written.
template <class Body>
[[nodiscard]] said_by_child said_in_forked_child(Body&& body, bool with_errors = false,
                                                 const forked_options& options = {}) {
  os::output_capture capture;
  if (!capture) throw std::system_error{errno, std::generic_category(), "a test has no pipe for its child"};
  os::child child = fork_child(
      [&] {
        if (with_errors && !copy_descriptor(capture.output_end(), STDERR_FILENO)) return 99;
        std::string text;
        if constexpr (std::is_void_v<std::invoke_result_t<Body&>>)
          body();
        else
          text = body();
        const ssize_t written = ::write(capture.output_end(), text.data(), text.size());
        return written == static_cast<ssize_t>(text.size()) ? 0 : 99;
      },
      options);
  (void)capture.read_until_closed({});
  return {child.wait(), std::move(capture.output())};
}

// By this a child tells its parent, once, that it has come somewhere. Both have it from before the fork.
class child_signal {
 public:
  // In the child. Returns false if nobody can read it any more.
  bool give() const noexcept { return ::write(ends_.write.number(), "x", 1) == 1; }
  // In the parent, after the fork. Returns false if the child has ended without it.
  [[nodiscard]] bool wait() noexcept {
    ends_.write.close();
    char byte = 0;
    ssize_t length = 0;
    do length = ::read(ends_.read.number(), &byte, 1);
    while (length < 0 && errno == EINTR);
    return length == 1;
  }

 private:
  os::pipe_ends ends_ = os::pipe_ends::make();
};

}  // namespace situ::test
