// How places come to life and how their end is told: what situ::runtime, situ::launch and `situ run` share.
//
//   launcher                                         place
//   job::create ---- memfd, inherited -------------> read_start_environment / take_start_ticket -> job::attach
//   launch_monitor: pidfds                           runtime: joined ... left
//     a place's process ends: mark_lost  ----------> failure_epoch, every sleeper wakes: place_lost_error
//
// Thread-safe: each function says so where it is not obvious.
#pragma once

#include <situ/runtime/launch.h>

#include "memory/job.h"

#include <exception>
#include <span>
#include <string_view>

namespace situ::detail {

// --- How a place joins -----------------------------------------------------------------------------------------------

// What the launcher left in the environment: SITU_JOB_FD with SITU_PLACE, or with SITU_IN_PROCESS=1.
struct start_environment {
  int descriptor = -1;
  std::uint32_t place = 0;
  bool in_process = false;
};

// Reads and removes these variables, so that programs which a place starts do not take themselves for places; none: the
// program runs by itself. Makes stdout line buffered where the launcher labels its lines (SITU_TAG). Throws bad_launch
// for values that are none. Not thread-safe (it changes the environment): the first runtime of a process calls it.
std::optional<start_environment> read_start_environment();

// What the segments of a job lie in that nobody launches with an option for it: SITU_MEMORY, "" where it is not set.
[[nodiscard]] std::string memory_by_environment();

// How the next situ::runtime of the calling thread joins, where launch() or the in-process mode started this thread.
struct start_ticket {
  std::uint32_t place = 0;
  int descriptor = -1;                          // a process of its own: attach to it
  job* shared_job = nullptr;                    // a thread: the attachment
  const address_space* shared_space = nullptr;  // and the mapping of its process
};

// The thread's ticket goes to the first runtime that is constructed after it was given; nothing: see the environment.
void give_start_ticket(const start_ticket& ticket) noexcept;
std::optional<start_ticket> take_start_ticket() noexcept;

// Runs body as the place of this ticket, in a situ::runtime, on the calling thread. An exception out of the body makes
// the place lost, with its type and message, before the runtime is destroyed. Returns the exit code.
int run_place(const start_ticket& ticket, job_control& control, const std::function<int()>& body) noexcept;

// --- How a place's end is told ---------------------------------------------------------------------------------------

// From now until remove_terminate_reason, an exception that nobody catches makes this place lost, with the exception's
// type and message as the reason, before the process aborts. A place whose own end is only the echo of another's
// (place_lost_error) says so in one line and exits with code 1, without a core, if its process is its own.
void install_terminate_reason(place_context& context) noexcept;
void remove_terminate_reason(place_context& context) noexcept;

// For the destructor of a runtime that is left by unwinding: the place is lost. It must then not wait for the others.
void leave_by_exception(place_context& context, std::string_view what = {}) noexcept;

// "std::runtime_error: disk full"; for what is no std::exception its type alone.
std::string describe(const std::exception_ptr& exception);

// --- `situ run` ------------------------------------------------------------------------------------------------------

enum class binding : std::uint8_t { none, core, numa };

struct program_options {
  job_options job;
  bool in_process = false;  // one process, whose first runtime makes all places as threads
  binding bind = binding::none;
  bool tag = false;  // "[2] " before each line of place 2
  bool forward_signals = true;
  std::chrono::milliseconds grace{5000};
  std::chrono::milliseconds time_limit{0};  // 0: none
  std::chrono::milliseconds watchdog{0};    // without progress until a report; 0: none
  // Told where the places stand, in the cases of launch_monitor::limits::report. Nothing: the log.
  std::function<void(job_control&, std::string_view why)> report;
  // Called once every place has ended, while the job's memory is still there.
  std::function<void(job_control&)> finished;
};

// Starts arguments[0] with the rest as the places of a job and waits for them. Throws bad_launch where it cannot be
// found or started.
launch_result launch_program(const program_options& options, std::span<const std::string> arguments);

// The file that a program name means: itself where it has a '/', else beside this program's binary, else in PATH.
// Throws bad_launch, naming the folders it looked in.
std::string find_program(const std::string& name);

// A NUMA node and all its processors.
struct node_processors {
  int node;
  std::vector<int> processors;
};
// Those that have any: a node of memory alone has none. Empty where the kernel does not tell.
std::vector<node_processors> nodes_of_machine();

// The processors of each group that places are bound to in turn: the allowed processors of one core, or of one NUMA
// node.
std::vector<std::vector<int>> binding_groups(binding how);

}  // namespace situ::detail
