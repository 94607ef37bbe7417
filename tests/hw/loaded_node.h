// A node whose program came by LOAD and START. Both are done before cycle 900.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "hw/code.h"
#include "hw/node_harness.h"

namespace situ::hw {

inline constexpr model::node_number own_node = 12, loader_node = 40;

// The packets that load a program to this address.
inline std::vector<words> load_packets(const words& program, std::uint32_t address) {
  std::vector<words> packets;
  const std::size_t most = model::message_kind::most_arguments - 1;
  for (std::size_t i = 0; i < program.size(); i += most) {
    words arguments{static_cast<std::uint32_t>(address + i)};
    arguments.insert(arguments.end(), program.begin() + i, program.begin() + std::min(program.size(), i + most));
    packets.push_back(short_packet(own_node, loader_node, model::handler_load, arguments));
  }
  return packets;
}

class loaded_node : public node_harness {
 public:
  explicit loaded_node(const code& program, std::uint32_t address = 0) : node_harness(own_node) {
    for (const words& packet : load_packets(program.words, address)) inject(request_lane, packet, 0);
    if (address == 0) inject(request_lane, short_packet(own_node, loader_node, model::handler_start, {address}), 0);
    while (!all_taken(request_lane)) step();
    EXPECT_LT(now(), 860U);
    EXPECT_EQ(state.fault, 0U);
  }

  // Runs on; the first cycle at whose start a control output is set.
  cycle first_control() {
    while (now() < 3000) {
      step();
      if (state.control_out != 0) return now() - 1;
    }
    ADD_FAILURE() << "no control output is set";
    return 0;
  }
};

}  // namespace situ::hw
