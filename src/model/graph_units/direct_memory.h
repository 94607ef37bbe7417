// A memory without contention: the set-up on which figure 8 of NEMESYS was measured, bare metal on the memory tile.
// Posts cost nothing.
#pragma once

#include "model/graph_units/ports.h"

namespace situ::model {

class direct_memory final : public unit_memory_port {
 public:
  explicit direct_memory(unit_memory_timing timing = {}) noexcept : timing_{timing} {}

 private:
  time_ps read_at(std::uintptr_t, std::uint64_t bytes, time_ps now) override {
    return now + timing_.read(bytes).duration;
  }
  time_ps write_at(std::uintptr_t, std::uint64_t bytes, time_ps now) override {
    return now + timing_.write(bytes).duration;
  }
  void post_at(std::uintptr_t, std::uint64_t, time_ps) override {}
  time_ps clear_at(std::uintptr_t, std::uint64_t bytes, time_ps now) override {
    return now + timing_.clear(bytes).duration;
  }
  time_ps copy_at(std::uintptr_t from, std::uintptr_t to, std::uint64_t bytes, time_ps now) override {
    return write_at(to, bytes, read_at(from, bytes, now));
  }
  unit_memory_timing timing_;
};

}  // namespace situ::model
