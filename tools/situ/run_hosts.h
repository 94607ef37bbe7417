// `situ run --hosts`: the launcher of a job over several hosts. At each an agent (host_agent.cpp) does what `situ run`
// does on one: starts the places, watches them, passes signals on. The launcher starts the agents, carries what hosts
// tell each other before there is a job, and brings output and ends together.
#pragma once

#include <situ/runtime/launch.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/host_frames.h"
#include "memory/job.h"

struct named_host {
  std::string name;
  std::uint32_t places = 1;
};

// "a:2,b:2", a number of places each; one where there is none. Throws bad_argument, with a sentence.
[[nodiscard]] std::vector<named_host> parse_hosts(const std::string& text);

// The variables that places get of this process's environment: those that begin with SITU_, but for what tells a place
// its job, and the named ones. Throws bad_argument for a name that is not set.
[[nodiscard]] std::vector<std::string> variables_to_pass(const std::vector<std::string>& names);

struct hosts_options {
  std::vector<named_host> hosts;
  std::string remote_shell;                  // words; the host and the agent's command line are put behind them
  situ::detail::cluster::agent_start start;  // but for host and homes
  bool tag = false;
  std::chrono::milliseconds grace{5000};
  std::chrono::milliseconds time_limit{0};  // 0: none
};

struct hosts_result {
  situ::launch_result job;
  std::string at;  // the host of the place that the job's message is of
  // With --stats or --trace: of all places, as one host would have it, in which there are no processes.
  std::optional<situ::detail::job> shown;
};

// Until the last agent has ended. Throws bad_launch where the hosts cannot be one job, or a signal has ended the start.
[[nodiscard]] hosts_result run_over_hosts(const hosts_options& options);
