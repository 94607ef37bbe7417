// Starts programs that do not use Situ with a library loaded into them, and waits for them: the common part of `situ
// run --intent` and `situ rmem run`.
#pragma once

#include "processes.h"

#include "os/child.h"
#include "os/signals.h"

#include <chrono>
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

// Starts a program that ends with this process. in_child: called in its process before it becomes the program; may be
// empty. Throws bad_launch.
[[nodiscard]] situ::os::child start_program(const std::string& file, std::vector<std::string> arguments,
                                            std::vector<std::string> environment,
                                            const situ::os::passed_signals& signals,
                                            const std::function<bool()>& in_child);

struct ended_program {
  situ::os::exit_status status;
  bool is_late;
};
// Waits. look: called 20 times a second. After the time limit (0: none), and only then, all that the program has
// started ends with it.
[[nodiscard]] ended_program wait_for_program(situ::os::child program, const situ::os::passed_signals& signals,
                                             const std::function<void()>& look, std::chrono::milliseconds time_limit,
                                             std::optional<descendants>& others);

// Ends this process by the program's signal, as if the program had been started without this one.
[[noreturn]] void end_by_signal(int signal);
