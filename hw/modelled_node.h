// Nodes of a modelled network whose GAScore and PAMS are the SystemVerilog of this folder: in place of the parts in C++,
// or in lock step with them.
#pragma once

#include <situ/base/error.h>
#include <situ/model/pams_board.h>

#include <cstdint>
#include <memory>
#include <string>

#include "hw/message_node_rtl.h"
#include "model/message_units/message_network.h"
#include "model/message_units/pams_unit.h"

namespace situ::hw {

// RTL alone. A node that waits is stepped in each cycle, since only the RTL knows what it waits for.
class rtl_node final : public model::message_node {
 public:
  explicit rtl_node(unsigned node) : rtl_{static_cast<std::uint16_t>(node)} {}
  bool step(model::cycle now, model::node_ports& node) override;
  [[nodiscard]] model::cycle wakes_at() const noexcept override { return model::computing_element::never; }
  [[nodiscard]] bool is_done() const noexcept override { return outputs_.halted; }
  [[nodiscard]] std::string where() const override;
  [[nodiscard]] std::uint32_t arrival_time() const noexcept override { return outputs_.arrival_time; }

 private:
  static constexpr unsigned quiet_cycles = 32;  // after which nothing is under way within a halted node

  message_node_rtl rtl_;
  node_inputs inputs_;
  node_outputs outputs_;
  model::cycle next_ = 0;
  unsigned quiet_ = 0;
};

// RTL and parts have done different things in a cycle.
class units_differ : public error {
 public:
  units_differ(model::cycle now, unsigned node, const std::string& what);
  [[nodiscard]] model::cycle when() const noexcept { return when_; }
  [[nodiscard]] unsigned node() const noexcept { return node_; }

 private:
  model::cycle when_;
  unsigned node_;
};

// Both. The parts lead; the RTL sees what they see. step() throws units_differ in the first cycle in which the RTL
// writes, takes, stores or shows anything else.
class compared_node final : public model::message_node {
 public:
  explicit compared_node(unsigned node);
  bool step(model::cycle now, model::node_ports& node) override;
  [[nodiscard]] model::cycle wakes_at() const noexcept override { return parts_.wakes_at(); }
  [[nodiscard]] bool is_done() const noexcept override { return parts_.is_done(); }
  [[nodiscard]] std::string where() const override { return parts_.where(); }
  [[nodiscard]] std::uint32_t arrival_time() const noexcept override { return parts_.arrival_time(); }

 private:
  // Registers of PAMS at a cycle's start.
  struct registers {
    unsigned control_out = 0;
    std::uint32_t arrival_time = 0;
    bool is_halted = true;
  };
  void catch_up(model::cycle now, const model::node_ports& node);
  void compare(model::cycle now, const registers& before, const node_outputs& rtl, const model::node_ports& node) const;
  void compare_fault(model::cycle now, const model::node_ports& node);

  model::pams_unit* pams_;
  model::parts_node parts_;
  message_node_rtl rtl_;
  node_inputs inputs_;
  model::cycle next_ = 0;
};

// The nodes of a board as RTL alone, or as both. Making a node throws not_supported if the board has other sizes than the
// RTL: 64 KiB of memory, 16 tokens, FIFOs of 16 words.
[[nodiscard]] model::pams_board::maker rtl_nodes();
[[nodiscard]] model::pams_board::maker compared_nodes();

}  // namespace situ::hw
