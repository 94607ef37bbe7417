// The SystemVerilog of a node, GAScore and PAMS, as a C++ object that advances cycle by cycle.
#pragma once

#include <memory>

#include "hw/unit_ports.h"

namespace situ::hw {

struct node_inputs : unit_inputs {
  unsigned control_in = 0;
};

// The additional ones are registers, as they are at the cycle's start.
struct node_outputs : unit_outputs {
  unsigned control_out = 0;
  bool halted = false;
  std::uint32_t arrival_time = 0;
  unsigned pc = 0;
};

// One node. Not thread-safe; different nodes are independent.
class message_node_rtl {
 public:
  // The first call of `cycle` is cycle 0 after reset: the timer is 0, PAMS is halted.
  explicit message_node_rtl(std::uint16_t self);
  ~message_node_rtl();
  message_node_rtl(message_node_rtl&&) noexcept;
  message_node_rtl& operator=(message_node_rtl&&) noexcept;

  node_outputs cycle(const node_inputs& inputs);

 private:
  struct verilated;
  std::unique_ptr<verilated> verilated_;
};

}  // namespace situ::hw
