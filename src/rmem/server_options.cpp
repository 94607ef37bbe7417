#include "rmem/server_options.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>

#include "os/host.h"
#include "rmem/handshake.h"
#include "rmem/protocol.h"

namespace situ::rmem::detail {

void check(const server_options& options) {
  const auto demand = [](bool holds, const std::string& what) {
    if (!holds) throw_error(errc::bad_argument, what);
  };
  demand(!options.listen.empty(), "a server listens somewhere: give it an endpoint");
  demand(options.index < 256, fmt::format("a server's index is 0 to 255, not {}", options.index));
  demand(!options.keys.empty(), "a server without keys has no clients: give it those of its applications");
  demand(options.most_clients > 1, "a server has room for two clients at least");
  demand(options.patience.count() > 0, "a server's patience is longer than nothing");
  for (const application_key& each : options.keys)
    demand(is_application_name(each.application), fmt::format("\"{}\" is no application's name", each.application));
  demand(options.names.empty() || std::any_of(options.keys.begin(), options.keys.end(),
                                              [](const application_key& each) { return each.is_operator; }),
         "a server links its name by the key of an operator: give it one");
  demand(options.names.empty() || options.capacity_bytes > 0, "a server that links its name has memory");
  demand(options.replicas <= most_replicas,
         fmt::format("memory lies at {} servers at most, not {}", most_replicas, options.replicas));
  demand((options.replicas == 0 && !options.is_spare) || !options.names.empty(),
         "replicas are kept by a name server: say which");
  demand(!options.is_spare || options.replicas == 0, "a spare server has as many beside it as others have asked for");
  demand(options.lease.count() >= 100 && options.lease.count() <= 60'000, "a lease is 100 ms to a minute");
  const auto is_everywhere = [](const std::string& at) {
    return at.starts_with("0.0.0.0:") || at.starts_with("[::]:");
  };
  demand(options.names.empty() || !options.advertised.empty() || !is_everywhere(options.listen[0]),
         fmt::format("{} leads no client to this host: say what its name shall lead to (advertised, --advertise)",
                     options.listen[0]));
  const std::uint64_t most = situ::detail::usable_memory_bytes();
  if (!options.memory.has_file() && options.capacity_bytes > most)
    throw_error(errc::out_of_memory,
                fmt::format("a server of {} does not fit this machine, or its control group, which has {}",
                            format_bytes(options.capacity_bytes), format_bytes(most)));
}

std::string advertised(const server_options& options) {
  return options.advertised.empty() ? options.listen[0] : options.advertised;
}

}  // namespace situ::rmem::detail
