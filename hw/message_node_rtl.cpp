// The only file that includes what verilator has made of the node.
#include "hw/message_node_rtl.h"

#include <Vmessage_node.h>
#include <verilated.h>

namespace situ::hw {

struct message_node_rtl::verilated {
  VerilatedContext context;
  Vmessage_node node{&context, ""};

  void clock_edge() {
    node.clk = 1;
    node.eval();
    node.clk = 0;
    node.eval();
  }
};

message_node_rtl::message_node_rtl(std::uint16_t self) : verilated_(std::make_unique<verilated>()) {
  Vmessage_node& node = verilated_->node;
  node.clk = 0;
  node.rst = 1;
  node.self = self;
  node.eval();
  // The longest way that a value from before reset can go is the memory bus: five stages.
  for (unsigned i = 0; i < 8; ++i) verilated_->clock_edge();
  node.rst = 0;
}

message_node_rtl::~message_node_rtl() = default;
message_node_rtl::message_node_rtl(message_node_rtl&&) noexcept = default;
message_node_rtl& message_node_rtl::operator=(message_node_rtl&&) noexcept = default;

namespace {
std::array<bool, 2> both(unsigned bits) { return {(bits & 1U) != 0, (bits & 2U) != 0}; }
unsigned bits(const std::array<bool, 2>& lanes) { return unsigned{lanes[0]} | unsigned{lanes[1]} << 1; }

void set_inputs(Vmessage_node& node, const node_inputs& inputs) {
  node.out_count_request = inputs.out_count[request_lane];
  node.out_count_reply = inputs.out_count[reply_lane];
  node.in_exists = bits(inputs.in_exists);
  node.in_data_request = inputs.in_data[request_lane];
  node.in_data_reply = inputs.in_data[reply_lane];
  node.in_last = bits(inputs.in_last);
  node.memory_word = inputs.memory_word;
  node.control_in = inputs.control_in;
}

node_outputs outputs_of(const Vmessage_node& node) {
  node_outputs outputs;
  outputs.out_write = both(node.out_write);
  outputs.out_data = {node.out_data_request, node.out_data_reply};
  outputs.out_last = both(node.out_last);
  outputs.in_read = both(node.in_read);
  outputs.memory_address = node.memory_address;
  outputs.memory_enable = node.memory_enable;
  outputs.memory_data = node.memory_data;
  outputs.control_out = node.control_out;
  outputs.halted = node.halted != 0;
  outputs.arrival_time = node.arrival_time;
  outputs.pc = node.pc;
  outputs.fault = node.fault;
  return outputs;
}
}  // namespace

node_outputs message_node_rtl::cycle(const node_inputs& inputs) {
  Vmessage_node& node = verilated_->node;
  set_inputs(node, inputs);
  node.eval();
  const node_outputs outputs = outputs_of(node);
  verilated_->clock_edge();
  return outputs;
}

}  // namespace situ::hw
