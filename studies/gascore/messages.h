// One message between two nodes, and what it takes.
#pragma once

#include <cstdint>

#include "gascore/timed_board.h"

namespace situ::studies::gascore {

// Makes programs by which node 0 sends a message to the node at a distance of 0, 1 or 2. bytes: 0 for a short message.
void make_message(timed_board& board, unsigned distance, std::uint32_t bytes);
// Returns the cycles until it is counted. Throws situ::error if its bytes are not in the receiver's memory then.
[[nodiscard]] std::int64_t one_way_cycles(unsigned distance, std::uint32_t bytes);
// Returns the cycles until node 0 has counted the reply to a short message. bytes: those that the reply brings from the
// other node's memory, a remote read; 0 for a short reply. Throws as one_way_cycles().
[[nodiscard]] std::int64_t both_ways_cycles(unsigned distance, std::uint32_t bytes);

}  // namespace situ::studies::gascore
