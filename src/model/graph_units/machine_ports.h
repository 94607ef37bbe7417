// The ports of the units next to a tile's cache, on a modelled machine. machine_memory.h has the port of a memory.
#pragma once

#include "model/graph_units/ports.h"
#include "model/parts/modelled_machine.h"

#include <cstdint>

namespace situ::model {

// The port to the outermost cache of a tile. In a run of a program (`around`), accesses begin when their time has come.
class tile_cache_port final : public cache_port {
 public:
  // machine, around: must outlive the port. command: the time of a write-back or invalidation that finds nothing to do.
  tile_cache_port(modelled_machine& machine, std::uint32_t tile, time_ps command, unit_surroundings* around = nullptr)
      : machine_{machine},
        tile_{tile},
        line_bytes_{machine.line_bytes_of_tile(tile)},
        command_{command},
        around_{around} {}

  [[nodiscard]] std::uint32_t line_bytes() const noexcept override { return line_bytes_; }
  time_ps read(std::uintptr_t address, std::uint32_t bytes, time_ps now) override {
    take_turn(now);
    return machine_.tile_access(tile_, address, bytes, false, now);
  }
  time_ps write(std::uintptr_t address, std::uint32_t bytes, time_ps now) override {
    take_turn(now);
    return machine_.tile_access(tile_, address, bytes, true, now);
  }
  // Writes the line back. The unit waits until a modified line is in memory: the adapter carries one line at a time in
  // any case.
  written_line write_back(std::uintptr_t address, time_ps now) override {
    take_turn(now);
    const modelled_machine::line_operation did = machine_.operate_on_line(tile_, address, true, false, now);
    return {did.was_modified ? did.done : now + command_, did.was_modified};
  }
  time_ps invalidate(std::uintptr_t address, time_ps now) override {
    take_turn(now);
    machine_.operate_on_line(tile_, address, false, true, now);
    return now + command_;
  }
  void see(std::uintptr_t address, std::uint64_t bytes) override {
    if (around_ != nullptr) around_->see_cache(tile_, address, bytes);
  }

 private:
  void take_turn(time_ps now) {
    if (around_ != nullptr) around_->take_turn(now);
  }
  modelled_machine& machine_;
  std::uint32_t tile_;
  std::uint32_t line_bytes_;
  time_ps command_;
  unit_surroundings* around_;
};

}  // namespace situ::model
