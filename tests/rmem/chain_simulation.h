// A name server, servers and clients without threads, sockets and time of the machine: their own code, on messages that
// take as long as a seed says, while servers are killed, stopped and cut off.
#pragma once

#include "rmem/linearizable.h"

#include <cstdint>
#include <string>
#include <vector>

namespace situ_rmem_test {

struct simulated_history {
  std::vector<std::vector<register_operation>> registers;
  std::size_t unfinished = 0;    // calls that have not come to an end
  std::uint64_t epochs = 0;      // of the chain, at the end
  std::uint64_t longest_ns = 0;  // that a call took
  std::string faults;            // in words
};

// The same seed makes the same one.
[[nodiscard]] simulated_history simulate_chain(std::uint64_t seed);

}  // namespace situ_rmem_test
