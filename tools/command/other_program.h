// Programs that know nothing of Situ, started with a library brought into them, and waited for: what `situ run
// --intent` and `situ rmem run` have in common.
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

// libsitu_intent.so. Throws bad_launch where it is not installed.
[[nodiscard]] std::string preloaded_library();

// This process's environment, with that library and one variable more.
[[nodiscard]] std::vector<std::string> environment_with(const std::string& library, std::string_view variable,
                                                        const std::string& value);

// Signals to this process that are passed on to the program, while it lives.
class passed_signals {
 public:
  passed_signals();
  ~passed_signals();
  passed_signals(const passed_signals&) = delete;
  passed_signals& operator=(const passed_signals&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // As they were before, for the child.
  void restore() const;
  void pass_to(pid_t program) const;

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

// Its process, and a descriptor that becomes readable when it ends.
struct started_program {
  pid_t process;
  int end;  // -1: the system refuses one, and its end is looked for
};
// It ends with this process. in_child: called in its process before it becomes the program. Throws bad_launch.
[[nodiscard]] started_program start_program(const std::string& file, std::vector<std::string> arguments,
                                            std::vector<std::string> environment, const passed_signals& signals,
                                            const std::function<void()>& in_child);

struct ended_program {
  int status;  // waitpid's
  bool is_late;
};
// look: called 20 times a second. All that it has started ends with it when the time is over (0: never), and only then.
[[nodiscard]] ended_program wait_for_program(const started_program& program, const passed_signals& signals,
                                             const std::function<void()>& look, std::chrono::milliseconds time_limit,
                                             std::optional<descendants>& others);

// As if the program had been started without this one.
[[noreturn]] void end_by_signal(int signal);
