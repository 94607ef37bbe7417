#include "hw/message_node_rtl.h"

#include <Vmessage_node.h>

#include "hw/verilated_unit.h"

namespace situ::hw {

struct message_node_rtl::verilated : verilated_unit<Vmessage_node> {
  using verilated_unit::verilated_unit;
};

message_node_rtl::message_node_rtl(std::uint16_t self) : verilated_(std::make_unique<verilated>(self)) {}
message_node_rtl::~message_node_rtl() = default;
message_node_rtl::message_node_rtl(message_node_rtl&&) noexcept = default;
message_node_rtl& message_node_rtl::operator=(message_node_rtl&&) noexcept = default;

node_outputs message_node_rtl::cycle(const node_inputs& inputs) {
  Vmessage_node& top = verilated_->top;
  verilated_->set(inputs);
  top.control_in = inputs.control_in;
  verilated_->see_inputs();
  node_outputs outputs;
  verilated_->get(outputs);
  outputs.control_out = top.control_out;
  outputs.halted = top.halted != 0;
  outputs.arrival_time = top.arrival_time;
  outputs.pc = top.pc;
  verilated_->clock_edge();
  return outputs;
}

}  // namespace situ::hw
