#include "hw/gascore_rtl.h"

#include <Vgascore.h>

#include "hw/verilated_unit.h"

namespace situ::hw {

struct gascore_rtl::verilated : verilated_unit<Vgascore> {
  using verilated_unit::verilated_unit;
};

gascore_rtl::gascore_rtl(std::uint16_t self) : verilated_(std::make_unique<verilated>(self)) {}
gascore_rtl::~gascore_rtl() = default;
gascore_rtl::gascore_rtl(gascore_rtl&&) noexcept = default;
gascore_rtl& gascore_rtl::operator=(gascore_rtl&&) noexcept = default;

gascore_outputs gascore_rtl::cycle(const gascore_inputs& inputs) {
  Vgascore& top = verilated_->top;
  verilated_->set(inputs);
  top.call_count = inputs.call_count;
  top.return_exists = inputs.return_exists;
  top.return_data = inputs.return_data;
  top.request_exists = bits(inputs.request_exists);
  top.request_data_request = inputs.request_data[request_lane];
  top.request_data_reply = inputs.request_data[reply_lane];
  top.sent_count = inputs.sent_count;
  verilated_->see_inputs();
  gascore_outputs outputs;
  verilated_->get(outputs);
  outputs.call_write = top.call_write != 0;
  outputs.call_data = top.call_data;
  outputs.return_read = top.return_read != 0;
  outputs.request_read = both(top.request_read);
  outputs.sent = both(top.sent_data);
  verilated_->clock_edge();
  return outputs;
}

}  // namespace situ::hw
