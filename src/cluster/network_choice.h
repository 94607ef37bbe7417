// The choice of the network of a host that a job uses: the one by which the first host is reached, or the one that
// SITU_NETWORK names.
//
// UCX over TCP protects nothing (docs/design/trust.md), so it listens at no other network. The functions change the
// environment: for the first thread of a process.
#pragma once

#include <string>

namespace situ::detail::cluster {

inline constexpr const char* network_variable = "SITU_NETWORK";

// Sets SITU_NETWORK, for this process and those that it starts, unless the user has chosen a network: by SITU_NETWORK,
// or by UCX's own UCX_NET_DEVICES or UCX_TLS. If the name does not lead to an interface (it is an alias of ssh's
// alone, or of this host's loopback), nothing is set, which is logged: UCX then uses all that it finds.
void choose_network(const std::string& first_host);

// Returns the interface that SITU_NETWORK names; empty if it is not set. Throws bad_launch, with the names of the
// interfaces of this host, if there is no such interface.
[[nodiscard]] std::string chosen_network();

}  // namespace situ::detail::cluster
