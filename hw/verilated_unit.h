// The parts that message_node_rtl.cpp and gascore_rtl.cpp share. Only these two include this header.
#pragma once

#include <verilated.h>

#include "hw/unit_ports.h"

namespace situ::hw {

inline std::array<bool, 2> both(unsigned bits) { return {(bits & 1U) != 0, (bits & 2U) != 0}; }
inline unsigned bits(const std::array<bool, 2>& lanes) { return unsigned{lanes[0]} | unsigned{lanes[1]} << 1; }

// A top that verilator has made, after its reset.
template <class Top>
struct verilated_unit {
  VerilatedContext context;
  Top top{&context, ""};

  explicit verilated_unit(std::uint16_t self) {
    top.clk = 0;
    top.rst = 1;
    top.self = self;
    top.eval();
    // The longest way of a value from before the reset is the memory bus: five stages.
    for (unsigned i = 0; i < 8; ++i) {
      see_inputs();
      clock_edge();
    }
    top.rst = 0;
  }

  // The clock's falling edge, to which nothing in the units reacts, comes with the inputs of the next cycle.
  void see_inputs() {
    top.clk = 0;
    top.eval();
  }
  void clock_edge() {
    top.clk = 1;
    top.eval();
  }

  void set(const unit_inputs& inputs) {
    top.out_count_request = inputs.out_count[request_lane];
    top.out_count_reply = inputs.out_count[reply_lane];
    top.in_exists = bits(inputs.in_exists);
    top.in_data_request = inputs.in_data[request_lane];
    top.in_data_reply = inputs.in_data[reply_lane];
    top.in_last = bits(inputs.in_last);
    top.memory_word = inputs.memory_word;
  }

  void get(unit_outputs& outputs) const {
    outputs.out_write = both(top.out_write);
    outputs.out_data = {top.out_data_request, top.out_data_reply};
    outputs.out_last = both(top.out_last);
    outputs.in_read = both(top.in_read);
    outputs.memory_address = top.memory_address;
    outputs.memory_enable = top.memory_enable;
    outputs.memory_data = top.memory_data;
    outputs.fault = top.fault;
  }
};

}  // namespace situ::hw
