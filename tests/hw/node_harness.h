// A node of SystemVerilog in its surroundings.
#pragma once

#include "hw/message_node_rtl.h"
#include "hw/surroundings.h"

namespace situ::hw {

class node_harness : public surroundings {
 public:
  explicit node_harness(model::node_number self) : node_(self) {}

  void step() {
    node_inputs inputs;
    show(inputs);
    inputs.control_in = control_in;
    state = node_.cycle(inputs);
    change(state);
  }
  void step_to(cycle end) {
    while (now() < end) step();
  }

  node_outputs state;  // of the last cycle
  unsigned control_in = 0;

 private:
  message_node_rtl node_;
};

}  // namespace situ::hw
