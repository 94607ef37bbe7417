// Records the loss of a host, another one or this one, for the places of this host.
//
// The host's server calls these functions. The marks are in the control block, so the places need no network to learn
// of a loss.
#pragma once

#include <cstdint>
#include <string_view>

namespace situ::detail {

struct job_control;

// Marks all places of `host` that have not ended as lost, in one step for this host's places: a place told of one of
// these losses is told of all. If `host` is another host, nothing more is expected from its server. pre: the job has
// several hosts.
// cost: a system call for each sleeping place, and a step for each place of the host.
void mark_host_lost(job_control& control, std::uint16_t host, std::string_view reason) noexcept;

}  // namespace situ::detail
