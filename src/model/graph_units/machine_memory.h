// A memory of a modelled machine, as a unit beside it sees it: its accesses wait for whoever else uses the memory, and
// others wait for them. With nobody else there they take what they take at a direct_memory.
//
// 1. An access takes the times of unit_memory_timing, not those that the machine's file has for cores' bursts.
// 2. Posts that follow each other within a line are gathered. They go to memory as one write when a post lies
//    elsewhere, or behind the next other access: what the unit waits for goes first.
// 3. A range is one access, however long.
//
// A unit's operation asks for all of its accesses in one call. So whoever asks later in the run for a time within it is
// behind what the memory's calendar still knows: hardly anybody is served in between (docs/design/model.md).
#pragma once

#include "model/graph_units/ports.h"
#include "model/parts/modelled_machine.h"

#include <algorithm>
#include <cstdint>

namespace situ::model {

class machine_memory final : public memory_port {
 public:
  // memory: an index into machine.spec().memories. The machine must outlive this.
  machine_memory(modelled_machine& machine, std::uint32_t memory, unit_memory_timing timing = {}) noexcept
      : machine_{machine}, memory_{memory}, timing_{timing} {}

 private:
  time_ps read_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    const time_ps done = machine_.memory_access(memory_, address, bytes, false, now, timing_.read(bytes));
    write_gathered(now);
    return done;
  }
  time_ps write_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    return write_in(timing_.write(bytes), address, bytes, now);
  }
  time_ps clear_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    return write_in(timing_.clear(bytes), address, bytes, now);
  }
  time_ps copy_at(std::uintptr_t from, std::uintptr_t to, std::uint64_t bytes, time_ps now) override {
    return write_at(to, bytes, read_at(from, bytes, now));
  }
  void post_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    for (const std::uintptr_t end = address + bytes; address < end;) {
      const std::uintptr_t line_end = (address / timing_.line_bytes + 1) * timing_.line_bytes;
      const std::uintptr_t next = std::min(end, line_end);
      if (address != gathered_end_ || address % timing_.line_bytes == 0) {
        write_gathered(now);
        gathered_begin_ = address;
      }
      gathered_end_ = next;
      address = next;
    }
  }

  time_ps write_in(access_times times, std::uintptr_t address, std::uint64_t bytes, time_ps now) {
    const time_ps done = machine_.memory_access(memory_, address, bytes, true, now, times);
    write_gathered(now);
    return done;
  }
  // Nobody waits for it.
  void write_gathered(time_ps now) {
    const std::uint64_t bytes = gathered_end_ - gathered_begin_;
    if (bytes != 0) (void)machine_.memory_access(memory_, gathered_begin_, bytes, true, now, timing_.write(bytes));
    gathered_begin_ = gathered_end_ = 0;
  }

  modelled_machine& machine_;
  std::uint32_t memory_;
  unit_memory_timing timing_;
  std::uintptr_t gathered_begin_ = 0;  // the posts that are not written yet; none: both 0
  std::uintptr_t gathered_end_ = 0;
};

}  // namespace situ::model
