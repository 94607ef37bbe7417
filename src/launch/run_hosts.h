// `situ run --hosts`: the launcher of a job over several hosts. At each host an agent (host_agent.cpp) does the work
// of `situ run`: it starts the places, watches them, passes signals on. The launcher starts the agents, carries the
// hosts' messages before there is a job, and brings output and ends together.
#pragma once

#include <situ/launch/launch_result.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/host_frames.h"
#include "memory/job.h"

namespace situ::detail {

struct named_host {
  std::string name;
  std::uint32_t places = 1;
};

// Parses "a:2,b:2": hosts with their numbers of places, one if no number is given. Throws bad_argument, with a
// sentence.
[[nodiscard]] std::vector<named_host> parse_hosts(const std::string& text);

// Returns the variables of this process's environment that places get: those that begin with SITU_, except for those
// that tell a place its job, and the named ones. Throws bad_argument if a named one is not set.
[[nodiscard]] std::vector<std::string> variables_to_pass(const std::vector<std::string>& names);

struct hosts_options {
  std::vector<named_host> hosts;
  std::string remote_shell;    // words; the host and the agent's command line follow them
  cluster::agent_start start;  // except for host and homes
  bool tag = false;
  std::chrono::milliseconds grace{5000};
  std::chrono::milliseconds time_limit{0};  // 0: none
  std::chrono::milliseconds watchdog{0};    // time without progress until a report; 0: none
  // Stores a report of all places, with the reason for it, in a file that the caller asked for; may be empty.
  std::function<void(job_control& control, std::string_view why)> save_report{};
};

struct hosts_result {
  launch_result job;
  std::string at;  // the host of the place that the job's message is about
  // With --stats or --trace: the rows of all places, as one host would have them. No process is attached to it.
  std::optional<detail::job> shown;
};

// Runs the job until the last agent has ended. Throws bad_launch if the hosts cannot be one job, or a signal ended the
// start.
[[nodiscard]] hosts_result run_over_hosts(const hosts_options& options);

// --- The agent ------------------------------------------------------------------------------------------------------

// Returns a number that is the same for the same build of a program only. Throws bad_launch if the file cannot be read.
using program_identity = std::uint64_t (*)(const std::string& file);

// Serves the launcher until it has released the job. Called once, by a process that `situ run --hosts` has started and
// that does nothing else: its standard streams and its signals are the agent's. Throws bad_launch without such streams,
// bad_message for what no launcher sends.
void serve_as_host_agent(program_identity identity_of_file);

}  // namespace situ::detail
