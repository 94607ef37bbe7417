// A memory of a modelled machine, as seen by a unit next to it: the unit's accesses and those of the memory's other
// users wait for each other. Without contention accesses take the same time as at a direct_memory.
//
// 1. An access takes the times of unit_memory_timing, not those that the machine's file gives for cores' bursts.
// 2. Consecutive posts within a line are gathered. The memory writes them as one access when a post to another place
//    follows, or after the unit's next other access, since that access goes first: the unit waits for it.
// 3. A range is split into accesses of 256 bytes (assumed), and the first access has the start time of the whole range.
//    So other users need not wait for the whole range, and without contention the range takes as long as in one access.
//
// In a run of a program (`around`), the unit asks for each access when the access's time has come. Without `around`, a
// later request for a time within an operation takes the gaps that the memory's calendar still knows
// (docs/design/model.md).
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

  // Splits an access into pieces. Gathered posts are written after the first piece.
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
  // Writes the gathered posts; the unit does not wait for the write.
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
  std::uintptr_t gathered_begin_ = 0;  // the posts not yet written; both 0 if there are no such posts
  std::uintptr_t gathered_end_ = 0;
};

}  // namespace situ::model
