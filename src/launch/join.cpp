#include "launch/join.h"

#include <situ/base/error_code.h>
#include <situ/fabric/detail/function_id.h>
#include <situ/memory/detail/losses.h>

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "launch/foreign_hosts.h"
#include "launch/own_report.h"

// The program's main, which each place that is a thread runs. Weak, since a user of the library may have none (a
// plug-in).
extern "C" __attribute__((weak)) int situ_program_main(int argc, char** argv) __asm__("main");

namespace situ::detail {
namespace {

void check_executable(job_control& control) {
  const std::uint64_t own = executable_id();
  std::uint64_t first = 0;
  if (!control.build_id.compare_exchange_strong(first, own) && first != own)
    throw_error(
        errc::version_mismatch,
        "the places of this job run different executables; functions travel by name, so all must run the same build");
}

// The exit code of a process with places as threads, if main itself returns 0.
std::atomic<int> failed_thread_code{0};

void end_with_failed_code(int status, void*) {
  const int code = failed_thread_code.load();
  if (status != 0 || code == 0) return;
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

found_job::found_job(std::vector<std::string> arguments) : arguments_{std::move(arguments)} {
  if (const std::optional<start_ticket> ticket = take_start_ticket()) {
    be_place_of(*ticket);
  } else if (const std::optional<start_environment> environment = read_start_environment()) {
    join_by_environment(*environment);
  } else if (const std::optional<foreign_task> task = read_foreign_task()) {
    place_ = task->rank;
    owned_.emplace(task->spans_hosts ? meet_over_hosts(*task) : meet_tasks(*task));
    // In a job over several hosts, the host's server watches.
    if (owned_->control().host_count == 1) neighbour_.emplace(owned_->control(), task->rank);
  } else {
    owned_.emplace(job::create(options_of_own_job(1, observation_by_environment())));
  }
  if (shared_ == nullptr) shared_ = &*owned_;
  check_executable(control());
}

void found_job::be_place_of(const start_ticket& ticket) {
  place_ = ticket.place;
  shared_ = ticket.shared_job;
  space_ = ticket.shared_space;
  if (shared_ == nullptr) owned_.emplace(job::attach(ticket.descriptor));
}

void found_job::join_by_environment(const start_environment& environment) {
  owned_.emplace(job::attach(environment.descriptor));
  place_ = environment.place;
  if (!environment.in_process) return;
  if (situ_program_main == nullptr)
    throw_error(errc::bad_launch,
                "places as threads each run the program's main, but this program has none that the linker can see");
  place_ = 0;
  const std::uint32_t places = owned_->control().place_count;
  owned_space_.emplace(address_space::map(*owned_, places));
  space_ = &*owned_space_;
  owned_->close_descriptor();
  ::on_exit(&end_with_failed_code, nullptr);
  try {
    for (std::uint32_t other = 1; other < places; ++other)
      mains_.emplace_back(
          [this, other] { run_main_as({.place = other, .shared_job = &*owned_, .shared_space = &*owned_space_}); });
  } catch (const std::system_error& failed) {  // those that run would wait for those that never come
    for (auto never = static_cast<std::uint32_t>(mains_.size()) + 1; never < places; ++never)
      mark_lost(owned_->control(), never, fmt::format("has no thread: {}", failed.what()));
    mains_.clear();
    throw;
  }
}

void found_job::run_main_as(const start_ticket& ticket) {
  give_start_ticket(ticket);
  std::vector<std::string> copies = arguments_;
  std::vector<char*> pointers;
  for (std::string& each : copies) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  const pid_t process = ::getpid();
  const int code = situ_program_main(static_cast<int>(copies.size()), pointers.data());
  if (::getpid() != process) std::exit(code);  // a child that this place has forked: to the child, this is main
  if (code != 0) failed_thread_code.store(code);
  job_control& control = ticket.shared_job->control();
  if (control.slot(ticket.place).state.load() == place_state::absent)
    mark_lost(control, ticket.place, fmt::format("returned {} from main without joining the job", code));
}

const address_space& found_job::map() {
  if (space_ == nullptr) {
    space_ = &owned_space_.emplace(address_space::map(*owned_, 1));
    owned_->close_descriptor();
  }
  return *space_;
}

}  // namespace situ::detail
