#include <situ/spread/detail/members.h>

#include <situ/base/error_code.h>
#include <situ/memory/detail/place_context.h>
#include <situ/runtime/future.h>

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "memory/liveness.h"

namespace situ::detail {
namespace {

job_control& control_here() {
  if (current->runtime == nullptr) throw_no_runtime("an object that is spread over places");
  return *current->job;
}

void check_not_ended(job_control& control, std::uint32_t place) {
  if (has_ended(control.slot(place).state.load(std::memory_order_acquire))) throw_loss_of(control, place);
}

}  // namespace

void check_not_ended(std::uint32_t place) {
  job_control& control = control_here();
  if (control.failure_epoch.load(std::memory_order_relaxed) != 0) [[unlikely]]
    check_not_ended(control, place);
}

void check_not_ended(const team& members) {
  job_control& control = control_here();
  if (control.failure_epoch.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  for (std::uint32_t i = 0; i < members.size(); ++i) check_not_ended(control, members.member(i).index());
}

void check_member(const team& members, place at) {
  if (!members.index_of(at))
    throw_error(errc::bad_argument, fmt::format("place {} is not of the team that makes this object", at.index()));
}

void throw_loss_here() { throw_place_lost(control_here(), current->place); }

joint_end::joint_end(const team& members) : members_{members}, exceptions_before_{std::uncaught_exceptions()} {}

bool joint_end::may_come() const noexcept {
  return current->runtime != nullptr && std::uncaught_exceptions() == exceptions_before_;
}

bool joint_end::come() noexcept {
  if (!may_come()) return false;
  try {
    barrier(members_);
    return true;
  } catch (...) {
    future_state<void> unheard;
    unheard.fail(std::current_exception());
    report_unheard(unheard, current->scheduler->task());
    return false;
  }
}

}  // namespace situ::detail
