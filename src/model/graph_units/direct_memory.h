// A memory on its own, with nobody else at it: what figure 8 of NEMESYS was measured on, bare metal on the memory tile.
//
//   an access that is waited for   first word `read_cycles` or `write_cycles`, each further word one cycle
//   a range zeroed                 `clear_start_cycles`, then a cycle a word
//   a range moved                  a read and a write of one word, then two cycles a word: one data path
#pragma once

#include "model/graph_units/ports.h"

namespace situ::model {

struct direct_memory_timing {
  time_ps period = 10'000;               // 100 MHz: table 2
  std::uint64_t bytes_per_cycle = 4;     // a word of 32 bits: arrays take 2 cycles a word, one in and one out (5.3.2)
  std::uint64_t read_cycles = 26;        // calibrated: 20 to 30 for a pointer mask (5.3.1); 2.8 us and 7.4 us fix 26
  std::uint64_t write_cycles = 26;       // calibrated with it: no write of the unit's own state is posted
  std::uint64_t clear_start_cycles = 8;  // calibrated: hashing takes 0.4 us more at length 1 (5.3.3)
};

class direct_memory final : public memory_port {
 public:
  explicit direct_memory(direct_memory_timing timing = {}) noexcept : timing_{timing} {}
  [[nodiscard]] const direct_memory_timing& timing() const noexcept { return timing_; }

 private:
  [[nodiscard]] std::uint64_t words(std::uint64_t bytes) const noexcept {
    return (bytes + timing_.bytes_per_cycle - 1) / timing_.bytes_per_cycle;
  }
  time_ps read_at(std::uintptr_t, std::uint64_t bytes, time_ps now) override {
    return now + (timing_.read_cycles + words(bytes) - 1) * timing_.period;
  }
  time_ps write_at(std::uintptr_t, std::uint64_t bytes, time_ps now) override {
    return now + (timing_.write_cycles + words(bytes) - 1) * timing_.period;
  }
  void post_at(std::uintptr_t, std::uint64_t, time_ps) override {}
  time_ps clear_at(std::uintptr_t, std::uint64_t bytes, time_ps now) override {
    return now + (timing_.clear_start_cycles + words(bytes)) * timing_.period;
  }
  time_ps copy_at(std::uintptr_t, std::uintptr_t, std::uint64_t bytes, time_ps now) override {
    return now + (timing_.read_cycles + timing_.write_cycles + 2 * (words(bytes) - 1)) * timing_.period;
  }
  direct_memory_timing timing_;
};

}  // namespace situ::model
