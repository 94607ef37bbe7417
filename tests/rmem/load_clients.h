// Clients of remote memory that misbehave, hundreds of them in one thread, and strangers that come as fast as they can.
#pragma once

#include <situ/rmem/capability.h>

#include <cstdint>
#include <functional>
#include <string>

namespace situ_rmem_test {

struct misbehaviour_plan {
  std::string by_tcp;  // half of each kind
  std::string by_path;
  situ::rmem::capability to_read;  // at least 1 MiB of graphs()
  std::uint32_t of_each_kind = 0;
  double begin_seconds = 0;  // within which all of them have come for the first time
};
struct misbehaviour_report {
  std::uint64_t begun[6] = {};  // in the order of `misbehaviours`
  std::uint64_t ended[6] = {};  // by the server
};
// Goes on until is_over(): who is closed comes again a second later.
misbehaviour_report misbehave(const misbehaviour_plan& plan, const std::function<bool()>& is_over);

// Connects by TCP without a pause, keeps `most` connections, and drops the oldest. How many there were.
std::uint64_t flood_with_strangers(const std::string& endpoint, std::uint32_t most,
                                   const std::function<bool()>& is_over);

}  // namespace situ_rmem_test
