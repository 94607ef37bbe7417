// A memory of a modelled machine, as a unit beside it sees it: its accesses wait for whoever else uses the memory.
#pragma once

#include "model/graph_units/ports.h"
#include "model/parts/modelled_machine.h"

#include <algorithm>
#include <cstdint>

namespace situ::model {

class machine_memory final : public memory_port {
 public:
  // memory: an index into machine.spec().memories. The machine must outlive this.
  machine_memory(modelled_machine& machine, std::uint32_t memory) noexcept : machine_{machine}, memory_{memory} {}

 private:
  // Ranges are moved in pieces of so many bytes, so that others are served in between: assumed.
  static constexpr std::uint64_t piece_bytes = 1024;

  time_ps read_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    return machine_.memory_access(memory_, address, bytes, false, now);
  }
  time_ps write_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    return machine_.memory_access(memory_, address, bytes, true, now);
  }
  void post_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    (void)machine_.memory_access(memory_, address, bytes, true, now);
  }
  time_ps clear_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    for (std::uint64_t at = 0; at < bytes; at += piece_bytes)
      now = write_at(address + at, std::min(piece_bytes, bytes - at), now);
    return now;
  }
  time_ps copy_at(std::uintptr_t from, std::uintptr_t to, std::uint64_t bytes, time_ps now) override {
    for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
      const std::uint64_t piece = std::min(piece_bytes, bytes - at);
      now = write_at(to + at, piece, read_at(from + at, piece, now));
    }
    return now;
  }
  modelled_machine& machine_;
  std::uint32_t memory_;
};

}  // namespace situ::model
