// A memory of a modelled machine, as a unit beside it sees it: its accesses wait for whoever else uses the memory, and
// others wait for them. With nobody else there they take what they take at a direct_memory.
//
// 1. An access takes the times of unit_memory_timing, not those that the machine's file has for cores' bursts.
// 2. Posts that follow each other within a line are gathered. They go to memory as one write when a post lies
//    elsewhere, or behind the next other access: what the unit waits for goes first.
// 3. A range is an access for each 256 bytes (assumed), the first of which has the whole's start: nobody waits for all
//    of it, and alone it takes as long as in one.
//
// In a run of a program (`around`), each access is asked for when its time has come. Without that, whoever asks later
// for a time within an operation is behind what the memory's calendar still knows (docs/design/model.md).
#pragma once

#include "model/graph_units/ports.h"
#include "model/parts/modelled_machine.h"

#include <algorithm>
#include <cstdint>

namespace situ::model {

class machine_memory final : public unit_memory_port {
 public:
  // memory: an index into machine.spec().memories. The machine must outlive this.
  machine_memory(modelled_machine& machine, std::uint32_t memory, unit_memory_timing timing = {},
                 unit_surroundings* around = nullptr) noexcept
      : machine_{machine}, memory_{memory}, timing_{timing}, around_{around} {}

  void see(std::uintptr_t address, std::uint64_t bytes, bool writes) override {
    if (around_ != nullptr) around_->see_memory(address, bytes, writes);
  }

 private:
  time_ps read_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    return in_pieces([&](std::uint64_t part) { return timing_.read(part); }, address, bytes, false, now);
  }
  time_ps write_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    return in_pieces([&](std::uint64_t part) { return timing_.write(part); }, address, bytes, true, now);
  }
  time_ps clear_at(std::uintptr_t address, std::uint64_t bytes, time_ps now) override {
    return in_pieces([&](std::uint64_t part) { return timing_.clear(part); }, address, bytes, true, now);
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

  // What is gathered goes behind the first piece.
  template <class Times>
  time_ps in_pieces(Times times, std::uintptr_t address, std::uint64_t bytes, bool writes, time_ps now) {
    const std::uint64_t first = std::min(bytes, piece_bytes);
    time_ps done = access(address, first, writes, now, times(first));
    write_gathered(now);
    for (std::uint64_t at = first; at < bytes;) {
      const std::uint64_t part = std::min(bytes - at, piece_bytes);
      const time_ps length = timing_.words(part) * timing_.period;
      done = access(address + at, part, writes, done, {length, length});
      at += part;
    }
    return done;
  }
  time_ps access(std::uintptr_t address, std::uint64_t bytes, bool writes, time_ps now, access_times times) {
    if (around_ != nullptr) around_->take_turn(now);
    return machine_.memory_access(memory_, address, bytes, writes, now, times);
  }
  // Nobody waits for it.
  void write_gathered(time_ps now) {
    const std::uint64_t bytes = gathered_end_ - gathered_begin_;
    if (bytes != 0) (void)access(gathered_begin_, bytes, true, now, timing_.write(bytes));
    gathered_begin_ = gathered_end_ = 0;
  }

  static constexpr std::uint64_t piece_bytes = 256;
  modelled_machine& machine_;
  std::uint32_t memory_;
  unit_memory_timing timing_;
  unit_surroundings* around_;
  std::uintptr_t gathered_begin_ = 0;  // the posts that are not written yet; none: both 0
  std::uintptr_t gathered_end_ = 0;
};

}  // namespace situ::model
