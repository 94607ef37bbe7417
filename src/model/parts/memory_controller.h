// A memory and its controller: channels (memory_channels.h), interleaved by bursts, and counts of what they carry.
//
// Worked example (one channel, access time and occupancy 540 ns, bursts of 32 bytes, 400 MB/s): a line of 32 bytes
// requested at 0 arrives at 540 ns; a second line requested at 100 ns begins at 540 and arrives at 1080 ns. 96 bytes
// take 540 + 64 / 0.4 = 700 ns.
//
// Not thread-safe. cost: that of memory_channels.
#pragma once

#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"
#include "model/parts/memory_channels.h"

#include <cstdint>
#include <optional>

namespace situ::model {

class memory_controller {
 public:
  explicit memory_controller(const memory_spec& spec) : spec_{spec}, channels_{spec} {}

  // Reads or writes bytes; the request reaches the controller at `now`. Returns when the last byte is done. pre: bytes
  // > 0.
  time_ps access(std::uint64_t address, std::uint64_t bytes, bool write, time_ps now) noexcept {
    count(bytes, write);
    return channels_.access(address, bytes, now);
  }
  // Does the same for a unit next to the memory, and also counts the access in the unit counters. `own`: the unit's
  // times, if they differ from the memory's.
  time_ps access_by_unit(std::uint64_t address, std::uint64_t bytes, bool write, time_ps now,
                         const std::optional<access_times>& own = {}) noexcept {
    const time_ps before = channels_.busy();
    count(bytes, write);
    const time_ps done = own ? channels_.access_for(address, *own, now) : channels_.access(address, bytes, now);
    unit_bytes_ += bytes;
    unit_busy_ += channels_.busy() - before;
    return done;
  }

  [[nodiscard]] const memory_spec& spec() const noexcept { return spec_; }

  [[nodiscard]] part_counters counters() const {
    part_counters made{spec_.name,
                       "memory",
                       {{"reads", reads_},
                        {"writes", writes_},
                        {"read_bytes", read_},
                        {"written_bytes", written_},
                        {"unit_bytes", unit_bytes_},
                        {"busy_ps", channels_.busy()},
                        {"unit_busy_ps", unit_busy_}}};
    channels_.append_counters(made);
    return made;
  }
  void reset_counters() noexcept {
    channels_.reset_counters();
    reads_ = writes_ = read_ = written_ = unit_bytes_ = unit_busy_ = 0;
  }

 private:
  void count(std::uint64_t bytes, bool write) noexcept {
    ++(write ? writes_ : reads_);
    (write ? written_ : read_) += bytes;
  }

  memory_spec spec_;
  memory_channels channels_;
  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t unit_bytes_ = 0;
  time_ps unit_busy_ = 0;
};

}  // namespace situ::model
