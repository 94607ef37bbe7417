// Starts programs that do not use Situ with a library loaded into them, and waits for them: the common part of `situ
// run --intent` and `situ rmem run`.
#pragma once

#include "processes.h"

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Returns the path of libsitu_intent.so. Throws bad_launch if it is not installed.
[[nodiscard]] std::string preloaded_library();

// Returns this process's environment, with that library and one more variable.
[[nodiscard]] std::vector<std::string> environment_with(const std::string& library, std::string_view variable,
                                                        const std::string& value);

// Signals to this process, passed on to the program while it lives.
class passed_signals {
 public:
  passed_signals();
  ~passed_signals();
  passed_signals(const passed_signals&) = delete;
  passed_signals& operator=(const passed_signals&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Restores the signals' earlier state, for the child.
  void restore() const;
  void pass_to(pid_t program) const;

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

// The program's process, and a descriptor that becomes readable when it ends.
struct started_program {
  pid_t process;
  int end;  // -1: the system refuses one, and the end is polled for
};
// Starts a program that ends with this process. in_child: called in its process before it becomes the program. Throws
// bad_launch.
[[nodiscard]] started_program start_program(const std::string& file, std::vector<std::string> arguments,
                                            std::vector<std::string> environment, const passed_signals& signals,
                                            const std::function<void()>& in_child);

struct ended_program {
  int status;  // as from waitpid
  bool is_late;
};
// Waits. look: called 20 times a second. After the time limit (0: none), and only then, all that the program has
// started ends with it.
[[nodiscard]] ended_program wait_for_program(const started_program& program, const passed_signals& signals,
                                             const std::function<void()>& look, std::chrono::milliseconds time_limit,
                                             std::optional<descendants>& others);

// Ends this process by the program's signal, as if the program had been started without this one.
[[noreturn]] void end_by_signal(int signal);
