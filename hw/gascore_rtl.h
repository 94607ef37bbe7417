// The SystemVerilog of GAScore without a computing element, as a C++ object that advances cycle by cycle. Its FSLs
// belong to the caller, too.
#pragma once

#include <memory>

#include "hw/unit_ports.h"

namespace situ::hw {

struct gascore_inputs : unit_inputs {
  unsigned call_count = 0;     // words in FSL 1, at most 16
  bool return_exists = false;  // FSL 2 holds a word
  std::uint8_t return_data = 0;
  std::array<bool, 2> request_exists{};  // a lane of FSL 3 holds a word
  std::array<std::uint32_t, 2> request_data{};
  unsigned sent_count = 0;  // words in FSL 4, at most 16
};

struct gascore_outputs : unit_outputs {
  bool call_write = false;  // a word goes into FSL 1
  std::uint32_t call_data = 0;
  bool return_read = false;            // the oldest word of FSL 2 is taken
  std::array<bool, 2> request_read{};  // the oldest word of a lane of FSL 3 is taken
  std::array<bool, 2> sent{};          // if any, a word goes into FSL 4: the lanes that have sent a message
};

// One GAScore. Not thread-safe; different ones are independent.
class gascore_rtl {
 public:
  explicit gascore_rtl(std::uint16_t self);
  ~gascore_rtl();
  gascore_rtl(gascore_rtl&&) noexcept;
  gascore_rtl& operator=(gascore_rtl&&) noexcept;

  gascore_outputs cycle(const gascore_inputs& inputs);

 private:
  struct verilated;
  std::unique_ptr<verilated> verilated_;
};

}  // namespace situ::hw
