// The bus of a tile, between its cores' first caches and the rest of the machine: one transfer at a time.
//
// A transfer is a beat for the address and a beat for each width of its bytes. A read that has to wait for a memory
// releases the bus in between (a split transaction): it takes a beat for the address, and the other beats when the
// bytes arrive.
//
// Worked example (period 20 ns, 4 bytes a beat): a line of 16 bytes is 1 + 4 beats, 100 ns. The transfers of two cores
// that ask at 0 begin at 0 and at 100 ns.
//
// Not thread-safe. cost: one busy_calendar reservation a transfer.
#pragma once

#include "model/parts/busy_calendar.h"
#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"
#include "model/parts/rounded_up_division.h"

#include <cstdint>
#include <string>
#include <utility>

namespace situ::model {

class tile_bus {
 public:
  explicit tile_bus(const tile_spec& spec)
      : name_{spec.name}, period_{spec.bus_period}, bytes_a_beat_{spec.bus_bytes} {}

  // Transfers address and bytes at once, as for a hit or a write. Returns when the transfer begins: `now` plus the
  // wait.
  time_ps transfer(std::uint32_t bytes, time_ps now) noexcept { return take(1 + beats(bytes), bytes, now); }
  // Transfers the address alone. Returns when the transfer begins.
  time_ps ask(time_ps now) noexcept { return take(1, 0, now); }
  // Transfers the requested bytes, the last of which could arrive at `now`. Returns when the last byte arrives.
  time_ps answer(std::uint32_t bytes, time_ps now) noexcept {
    const time_ps length = beats(bytes) * period_;
    return take(beats(bytes), bytes, now < length ? 0 : now - length) + length;
  }
  // Occupies the bus for the length of an atomic access. Returns when the access begins.
  time_ps lock(time_ps length, time_ps now) noexcept { return period_ == 0 ? now : times_.take(now, length); }

  // Returns the time for which the address and `bytes` bytes occupy the bus.
  [[nodiscard]] time_ps transfer_time(std::uint32_t bytes) const noexcept { return (1 + beats(bytes)) * period_; }

  [[nodiscard]] part_counters counters() const {
    part_counters made{name_,
                       "bus",
                       {{"transfers", times_.uses()},
                        {"bytes", bytes_},
                        {"busy_ps", times_.busy()},
                        {"queueing_ps", times_.waited()}}};
    made.append_too_late(times_.too_late());
    return made;
  }
  void reset_counters() noexcept {
    times_.reset();
    bytes_ = 0;
  }

 private:
  [[nodiscard]] std::uint64_t beats(std::uint32_t bytes) const noexcept { return bytes_a_beat_.ceil(bytes); }
  time_ps take(std::uint64_t count, std::uint32_t bytes, time_ps now) noexcept {
    if (period_ == 0) return now;
    bytes_ += bytes;
    return times_.take(now, count * period_);
  }

  std::string name_;
  time_ps period_;
  rounded_up_division bytes_a_beat_;
  busy_calendar times_;
  std::uint64_t bytes_ = 0;
};

}  // namespace situ::model
