// The code that situ::runtime, situ::launch and `situ run` share: it starts places and reports their ends.
//
//   launcher                                         place
//   job::create ---- memfd, inherited -------------> read_start_environment / take_start_ticket -> job::attach
//   launch_monitor: pidfds                           runtime: joined ... left
//     a place's process ends: mark_lost  ----------> failure_epoch, every sleeper wakes: place_lost_error
//
// A function states its thread-safety if that is not obvious.
#pragma once

#include <situ/runtime/launch.h>

#include "memory/job.h"

#include <exception>
#include <span>
#include <string_view>

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

// Runs body as the place of this ticket, in a situ::runtime, on the calling thread. If the body throws, the place is
// marked lost, with the exception's type and message, before the runtime is destroyed. Returns the exit code.
int run_place(const start_ticket& ticket, job_control& control, const std::function<int()>& body) noexcept;

// --- How a place's end is told ---------------------------------------------------------------------------------------

// From now until remove_terminate_reason, an uncaught exception makes this place lost, with the exception's type and
// message as the reason, before the process aborts. A place that ends only because another is lost (place_lost_error)
// prints one line and exits with code 1, without a core, if its process is its own.
void install_terminate_reason(place_context& context) noexcept;
void remove_terminate_reason(place_context& context) noexcept;

// For the destructor of a runtime that is left by unwinding: marks the place lost. The destructor must then not wait
// for the other places.
void leave_by_exception(place_context& context, std::string_view what = {}) noexcept;

// Returns "std::runtime_error: disk full"; for an exception that is no std::exception, its type alone.
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
  std::chrono::milliseconds watchdog{0};    // time without progress until a report; 0: none
  // Reports what the places do, in the cases of launch_monitor::limits::report. If empty, the log gets the report.
  std::function<void(job_control&, std::string_view why)> report;
  // Called once every place has ended, while the job's memory is still there.
  std::function<void(job_control&)> finished;
};

// Starts arguments[0] with the rest as the places of a job and waits for them. Throws bad_launch if the program cannot
// be found or started.
launch_result launch_program(const program_options& options, std::span<const std::string> arguments);

// Returns the file of a program: the name itself if it has a '/', else the file next to this program's binary, else the
// one in PATH. Throws bad_launch, naming the folders it searched.
std::string find_program(const std::string& name);

// A NUMA node and all its processors.
struct node_processors {
  int node;
  std::vector<int> processors;
};
// Returns the nodes that have processors: a node may have memory only. Empty if the kernel does not report nodes.
std::vector<node_processors> nodes_of_machine();

// Returns the groups of processors that places are bound to in turn: the allowed processors of one core, or of one NUMA
// node.
std::vector<std::vector<int>> binding_groups(binding how);

}  // namespace situ::detail
