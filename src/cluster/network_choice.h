// Which of a host's networks a job uses: the one by which the first host is reached, or the one that SITU_NETWORK
// names.
//
// UCX over TCP protects nothing (docs/design/trust.md), so it listens at no other. Changes the environment: for the
// first thread of a process.
#pragma once

#include <string>

namespace situ::detail::cluster {

inline constexpr const char* network_variable = "SITU_NETWORK";

// Sets SITU_NETWORK, for this process and those that it starts, unless the user has chosen: by it, or by UCX's own
// UCX_NET_DEVICES or UCX_TLS. Where the name does not lead to an interface (it is an alias of ssh's alone, or of this
// host's loopback) nothing is set, which is logged: all that UCX finds is used then.
void choose_network(const std::string& first_host);

// What SITU_NETWORK names; empty where it is not set. Throws bad_launch where there is no such interface, with those
// that there are.
[[nodiscard]] std::string chosen_network();

}  // namespace situ::detail::cluster
