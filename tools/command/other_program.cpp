#include "other_program.h"

#include "base/print.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace fs = std::filesystem;
using situ::errc;
using situ::throw_error;

namespace {

using situ::detail::tell;

constexpr int look_ms = 50;
// Passes signals on, except for a terminal's: the terminal has sent it to the program, too.
void pass_signals(const situ::os::passed_signals& signals, const situ::os::child& program) {
  while (const std::optional<situ::os::passed_signal> got = signals.next())
    if (!got->is_from_kernel) program.send(got->number);
}

}  // namespace

std::string preloaded_library() {
  std::error_code ignored, unknown;
  const fs::path here = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  if (unknown)  // a library from the current folder must not get into programs
    throw_error(errc::bad_launch, fmt::format("where this command lies cannot be seen (/proc/self/exe): {}, and so not "
                                              "where libsitu_intent.so is",
                                              unknown.message()));
  const fs::path places[] = {here.parent_path() / SITU_LIBRARY_DIRECTORY, here};
  for (const fs::path& folder : places)
    if (fs::path file = folder / "libsitu_intent.so"; fs::exists(file, ignored)) return file.string();
  throw_error(errc::bad_launch,
              fmt::format("libsitu_intent.so, which is brought into programs, is neither in {} nor in {}; "
                          "install Situ anew",
                          places[0].string(), places[1].string()));
}

std::vector<std::string> environment_with(const std::string& library, std::string_view variable,
                                          const std::string& value) {
  constexpr const char* loaded_before = "LD_PRELOAD";
  const std::string_view changed[] = {loaded_before, variable};
  std::vector<std::string> texts = situ::os::own_environment(changed);
  const char* const before = std::getenv(loaded_before);
  const bool has_more = before != nullptr && *before != '\0';
  texts.push_back(fmt::format("{}={}{}{}", loaded_before, has_more ? before : "", has_more ? ":" : "", library));
  texts.push_back(fmt::format("{}={}", variable, value));
  return texts;
}

situ::os::child start_program(const std::string& file, std::vector<std::string> arguments,
                              std::vector<std::string> environment, const situ::os::passed_signals& signals,
                              const std::function<bool()>& in_child) {
  const situ::os::exec_texts argument_texts{std::move(arguments)};
  const situ::os::exec_texts environment_texts{std::move(environment)};
  situ::os::start_failures failures;
  if (!failures) throw_error(errc::bad_launch, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  situ::os::child program = situ::os::child::start({.file = file.c_str(),
                                                    .arguments = argument_texts,
                                                    .environment = &environment_texts,
                                                    .mask = &signals.mask_before()},
                                                   {.signal_at_parents_end = SIGKILL, .in_child = in_child}, failures);
  if (!program) throw_error(errc::bad_launch, fmt::format("cannot start \"{}\": {}", file, std::strerror(errno)));
  // At once: a program that cannot be watched ends before it has begun anything.
  if (const int reason = program.watch(); reason != 0)
    throw_error(errc::bad_launch, fmt::format("cannot wait for \"{}\": {}", file, std::strerror(reason)));
  if (const auto failure = failures.wait())
    throw_error(errc::bad_launch, fmt::format("cannot start \"{}\": {}", file, std::strerror(failure->reason)));
  return program;
}

ended_program wait_for_program(situ::os::child program, const situ::os::passed_signals& signals,
                               const std::function<void()>& look, std::chrono::milliseconds time_limit,
                               std::optional<descendants>& others) {
  using clock = std::chrono::steady_clock;
  const auto until = clock::now() + time_limit;
  ended_program result{};
  while (true) {
    pollfd both[] = {{program.end(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    ::poll(both, std::size(both), look_ms);
    if (both[1].revents != 0) pass_signals(signals, program);
    look();
    if (program.end() >= 0 ? both[0].revents != 0 : program.is_over()) break;
    if (!others) continue;
    others->reap(program.id());
    if (clock::now() < until || result.is_late) continue;
    result.is_late = true;
    program.send(SIGKILL);
  }
  result.status = program.wait();
  if (!result.is_late) return result;
  try {
    for (const pid_t left : others->end_all())
      tell("situ: process {} of the program could not be ended (kill it as its user)\n", left);
  } catch (const situ::error& unseen) {
    tell("situ: {}\n", unseen.message());
  }
  return result;
}

void end_by_signal(int signal) {
  std::fflush(nullptr);
  const rlimit no_core{0, 0};  // if a core is written, the program has written it
  ::setrlimit(RLIMIT_CORE, &no_core);
  situ::os::reset_signal(signal);
  situ::os::unblock_signal(signal);
  ::raise(signal);
  ::_exit(128 + signal);
}
