// A launcher starts the places of a job here, and a place takes from it what it needs: for situ::runtime, situ::launch
// and `situ run`.
//
//   launcher                                         place
//   job::create ---- memfd, inherited -------------> read_start_environment / take_start_ticket -> job::attach
//   launch_monitor: pidfds                           runtime: joined ... left
//     a place's process ends: mark_lost  ----------> failure_epoch, every sleeper wakes: place_lost_error
//
// A function states its thread-safety if that is not obvious.
#pragma once

#include <situ/launch/launch_options.h>
#include <situ/launch/launch_result.h>

#include "memory/job.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

// --- How a place joins -----------------------------------------------------------------------------------------------

// The variables that the launcher left in the environment: SITU_JOB_FD with SITU_PLACE, or with SITU_IN_PROCESS=1.
struct start_environment {
  int descriptor = -1;
  std::uint32_t place = 0;
  bool in_process = false;
};

// Reads and removes these variables, so that programs which a place starts do not take themselves for places. Returns
// nullopt if the program runs by itself. Makes stdout line buffered if the launcher labels its lines (SITU_TAG). Throws
// bad_launch for malformed values. Not thread-safe (it changes the environment): the first runtime of a process calls
// it.
std::optional<start_environment> read_start_environment();

// Returns the launcher that has started this process as one of several tasks, "mpirun (Open MPI)"; nullopt if no other
// launcher has, or if SITU_ALONE=1 is in the environment. Throws bad_launch for tasks that cannot become one job.
[[nodiscard]] std::optional<std::string> other_launcher();

// Returns the kind of memory for the segments of a job whose launch does not set one: the value of SITU_MEMORY, or "".
[[nodiscard]] std::string memory_by_environment();

// Tells the next situ::runtime of a thread how to join, if launch() or the in-process mode started the thread.
struct start_ticket {
  std::uint32_t place = 0;
  int descriptor = -1;                          // if the place is a process of its own: attach to it
  job* shared_job = nullptr;                    // if the place is a thread: the attachment
  const address_space* shared_space = nullptr;  // and the mapping of its process
};

// Give and take the thread's ticket: the first runtime that is constructed after give_start_ticket() takes it. Without
// a ticket the runtime reads the environment.
void give_start_ticket(const start_ticket& ticket) noexcept;
std::optional<start_ticket> take_start_ticket() noexcept;

// --- What a launcher chooses -----------------------------------------------------------------------------------------

// Sets the room of each place for what the options ask to record: counts (stats) and events (trace). pre: the number of
// places is set.
void reserve_observation(job_options& options) noexcept;

// --- situ::launch ----------------------------------------------------------------------------------------------------

// Makes a place of the calling thread, whose ticket is given, until its body has ended, and returns the exit code. It
// throws nothing.
using place_runner = std::function<int(const start_ticket& ticket, job_control& control)>;

// Runs a job of so many places as forks or threads of this process. pre: the calling thread is no place, and the size
// of stacks is possible. Throws as situ::launch.
launch_result launch_job(std::uint32_t places, const place_runner& run, const launch_options& options);

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
  std::chrono::milliseconds watchdog{0};    // time without progress until a report; 0: none
  // Reports what the places do, in the cases of launch_monitor::limits::report. If empty, the log gets the report.
  std::function<void(job_control&, std::string_view why)> report;
  // Called once every place has ended, while the job's memory is still there.
  std::function<void(job_control&)> finished;
};

// Starts arguments[0] with the rest as the places of a job and waits for them. Throws bad_launch if the program cannot
// be found or started.
launch_result launch_program(const program_options& options, std::span<const std::string> arguments);

// Returns the groups of processors that places are bound to in turn: the allowed processors of one core, or of one NUMA
// node.
std::vector<std::vector<int>> binding_groups(binding how);

}  // namespace situ::detail
