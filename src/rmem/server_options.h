// Checks and defaults of a server's options.
#pragma once

#include <situ/rmem/server.h>

#include <string>

namespace situ::rmem::detail {

// Throws bad_argument for options outside their domain, out_of_memory if the machine has less than the capacity.
void check(const server_options& options);
// Returns the endpoint that the name server gives to clients.
[[nodiscard]] std::string advertised(const server_options& options);

}  // namespace situ::rmem::detail
