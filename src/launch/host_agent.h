// `situ host-agent`: `situ run --hosts` starts it at each host. It is the launcher of the places there, and starts the
// host's server.
//
// Frames (launch/host_frames.h) arrive on its standard input and leave on its standard output: no port is opened, no
// secret is passed. The end of its input ends everything that it has started.
#pragma once

#include <cstdint>
#include <string>

namespace situ::detail {

// Returns a number that is the same for the same build of a program only. Throws bad_launch if the file cannot be read.
using program_identity = std::uint64_t (*)(const std::string& file);

// Serves the launcher until it has released the job. Called once, by a process that `situ run --hosts` has started and
// that does nothing else: its standard streams and its signals are the agent's. Throws bad_launch without such streams,
// bad_message for what no launcher sends.
void serve_as_host_agent(program_identity identity_of_file);

}  // namespace situ::detail
