// How the places of a host learn that another host of their job is lost, or that theirs is.
//
// Called by the host's server. What is marked lies in the control block, so the places need nothing of a network to
// learn of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "memory/job.h"

namespace situ::detail {

// All its places that have not ended are lost, for this host's places in one step: who is told of one is told of all.
// For another host than this one: nothing is to be awaited from its server any more. pre: there are several hosts.
// cost: a system call for each sleeping place, and each place of the host.
void mark_host_lost(job_control& control, std::uint16_t host, std::string_view reason) noexcept;

// There is no way to that host's server any more, whatever its places have come to.
void forget_server(job_control& control, std::uint16_t host) noexcept;
[[nodiscard]] bool has_server(job_control& control, std::uint16_t host) noexcept;

}  // namespace situ::detail
