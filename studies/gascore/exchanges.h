// Long messages of many nodes at once: ghost elements of neighbours, and messages to the opposite chip.
#pragma once

#include <array>
#include <cstdint>

#include "gascore/timed_board.h"

namespace situ::studies::gascore {

struct halo {
  std::uint32_t bytes = 0;  // to each of the two neighbours on the ring of nodes
  unsigned steps = 1;
  bool asks = true;  // with ready messages
};
// Runs it, and returns the cycles until the last node has all bytes of the last step. Throws situ::error if a byte is
// missing.
[[nodiscard]] std::int64_t halo_cycles(const halo& of);

struct opposite_result {
  std::int64_t cycles = 0;  // until the last message has arrived
  // Words over the link from each chip: to the next chip, to the one before.
  std::array<std::array<std::uint64_t, 2>, 4> link_words{};
};
// Every `apart`-th node sends one long message to the node 8 away, on the opposite chip. Throws as halo_cycles(), also if
// a message does not arrive.
[[nodiscard]] opposite_result send_to_opposite(std::uint32_t bytes, std::uint32_t apart);

}  // namespace situ::studies::gascore
