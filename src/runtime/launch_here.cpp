// situ::launch: what each place does, which the launcher below (launch/launch.h) does not know.
#include <situ/runtime/launch.h>

#include <situ/base/error_code.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/runtime.h>

#include <unistd.h>

#include <cstdlib>

#include "launch/body_result.h"
#include "launch/launch.h"
#include "runtime/stack.h"
#include "runtime/terminate.h"

namespace situ::detail {
namespace {

// Runs body as the place of this ticket, in a situ::runtime, on the calling thread. If the body throws, the place is
// marked lost, with the exception's type and message, before the runtime is destroyed. Returns the exit code.
int run_place(const start_ticket& ticket, job_control& control, const std::function<int()>& body) noexcept {
  give_start_ticket(ticket);
  // a child that the body forks returns from it, too, and must not act for the place
  const pid_t process = ::getpid();
  try {
    runtime joined;
    try {
      const int code = body();
      if (::getpid() == process) control.slot(ticket.place).result.words().set(code);
      return code;
    } catch (...) {
      if (::getpid() != process) return EXIT_FAILURE;
      mark_lost(control, ticket.place, "its body threw " + describe(std::current_exception()));
    }
  } catch (...) {
    mark_lost(control, ticket.place, "could not join the job: " + describe(std::current_exception()));
  }
  take_start_ticket();
  return EXIT_FAILURE;
}

}  // namespace

launch_result launch_places(std::uint32_t places, const std::function<int()>& body, const launch_options& options) {
  if (current->job != nullptr)
    throw_error(errc::bad_launch, "situ::launch was called from a place; call it outside the life of a situ::runtime");
  launch_options checked = options;
  if (options.stack_bytes != 0)
    checked.stack_bytes = checked_stack_bytes(options.stack_bytes, "launch_options::stack_bytes");
  return launch_job(
      places, [&body](const start_ticket& ticket, job_control& control) { return run_place(ticket, control, body); },
      checked);
}

}  // namespace situ::detail
