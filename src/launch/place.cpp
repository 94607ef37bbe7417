// The data that a place gets from its launcher.
#include "launch/launch.h"

#include <situ/base/error_code.h>
#include <situ/memory/detail/losses.h>

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace situ::detail {
namespace {

thread_local std::optional<start_ticket> ticket_of_thread;

// Returns the number in an environment variable; throws if it is not a number.
std::uint32_t number_in(const char* variable, const char* text) {
  std::uint32_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, failure] = std::from_chars(text, end, value);
  if (failure != std::errc{} || rest != end)
    throw_error(
        errc::bad_launch,
        fmt::format("{}=\"{}\" in the environment is no number; `situ run` sets it, unset it to run the program alone",
                    variable, text));
  return value;
}

}  // namespace

std::string memory_by_environment() {
  const char* const text = std::getenv("SITU_MEMORY");
  return text == nullptr ? "" : text;
}

std::optional<start_environment> read_start_environment() {
  const char* const descriptor = std::getenv("SITU_JOB_FD");
  if (descriptor == nullptr) return std::nullopt;
  const char* const place = std::getenv("SITU_PLACE");
  const char* const in_process = std::getenv("SITU_IN_PROCESS");
  start_environment found;
  found.descriptor = static_cast<int>(number_in("SITU_JOB_FD", descriptor));
  found.in_process = in_process != nullptr && std::strcmp(in_process, "1") == 0;
  if (place != nullptr)
    found.place = number_in("SITU_PLACE", place);
  else if (!found.in_process)
    throw_error(errc::bad_launch,
                "SITU_JOB_FD is in the environment, but neither SITU_PLACE nor SITU_IN_PROCESS; start the program with "
                "`situ run`");
  // With a pipe, stdio would hold lines back until its buffer is full, and lose them if the place is killed.
  if (std::getenv("SITU_TAG") != nullptr) std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  for (const char* const variable : {"SITU_JOB_FD", "SITU_PLACE", "SITU_IN_PROCESS", "SITU_TAG"}) ::unsetenv(variable);
  return found;
}

void give_start_ticket(const start_ticket& ticket) noexcept { ticket_of_thread = ticket; }

std::optional<start_ticket> take_start_ticket() noexcept { return std::exchange(ticket_of_thread, std::nullopt); }

}  // namespace situ::detail
