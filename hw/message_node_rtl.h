// The SystemVerilog of a node, GAScore and PAMS, as a C++ object that advances cycle by cycle. The FIFOs `in` and `out`
// and the memory belong to the caller.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace situ::hw {

inline constexpr unsigned request_lane = 0, reply_lane = 1;

// The node's inputs in a cycle: its surroundings as they are at the cycle's start.
struct node_inputs {
  std::array<unsigned, 2> out_count{};  // words in a lane of `out`, at most 16
  std::array<bool, 2> in_exists{};      // a lane of `in` holds a word: the oldest one is
  std::array<std::uint32_t, 2> in_data{};
  std::array<bool, 2> in_last{};
  std::uint32_t memory_word = 0;  // what the memory has at the address of the cycle before
  unsigned control_in = 0;
};

// The node's outputs in that cycle. Its surroundings have changed by them in the next one.
struct node_outputs {
  std::array<bool, 2> out_write{};  // a word goes into a lane of `out`
  std::array<std::uint32_t, 2> out_data{};
  std::array<bool, 2> out_last{};
  std::array<bool, 2> in_read{};     // the oldest word of a lane of `in` is taken
  std::uint32_t memory_address = 0;  // of words
  unsigned memory_enable = 0;        // a bit for each byte that is written; 0 is a read
  std::uint32_t memory_data = 0;
  // Registers, as they are at the cycle's start.
  unsigned control_out = 0;
  bool halted = false;
  std::uint32_t arrival_time = 0;
  unsigned pc = 0;
  unsigned fault = 0;  // a number of situ::model::unit_fault; the first one stays
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
