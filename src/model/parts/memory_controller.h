// A memory and its controller: channels that serve one burst at a time, interleaved by bursts.
//
// An access of up to a burst takes access_time, and occupies its channel for `occupancy`; each further byte takes its
// time at the channel's bandwidth, and occupies the channel for that time, too. With several channels a longer access
// is split into bursts.
//
// Worked example (one channel, access time and occupancy 540 ns, bursts of 32 bytes, 400 MB/s): a line of 32 bytes
// requested at 0 arrives at 540 ns; a second line requested at 100 ns begins at 540 and arrives at 1080 ns. 96 bytes
// take 540 + 64 / 0.4 = 700 ns.
//
// Not thread-safe. cost: one busy_calendar reservation an access.
#pragma once

#include "model/parts/busy_calendar.h"
#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace situ::model {

class memory_controller {
 public:
  explicit memory_controller(const memory_spec& spec) : spec_{spec}, channels_(spec.channels) {}

  // Reads or writes bytes; the request reaches the controller at `now`. Returns when the last byte is done. pre: bytes
  // > 0.
  time_ps access(std::uint64_t address, std::uint64_t bytes, bool write, time_ps now) noexcept {
    count(bytes, write);
    return carry_out(address, bytes, now);
  }
  // Does the same for a unit next to the memory, and also counts the access in the unit counters. `own`: the unit's
  // times, if they differ from the memory's.
  time_ps access_by_unit(std::uint64_t address, std::uint64_t bytes, bool write, time_ps now,
                         const std::optional<access_times>& own = {}) noexcept {
    const time_ps before = busy();
    count(bytes, write);
    const time_ps done =
        own ? channel_of(address).take(now, own->occupancy) + own->duration : carry_out(address, bytes, now);
    unit_bytes_ += bytes;
    unit_busy_ += busy() - before;
    return done;
  }

  [[nodiscard]] const memory_spec& spec() const noexcept { return spec_; }

  [[nodiscard]] part_counters counters() const {
    std::uint64_t waited = 0;
    std::uint64_t too_late = 0;
    for (const busy_calendar& channel : channels_) {
      waited += channel.waited();
      too_late += channel.too_late();
    }
    part_counters made{spec_.name,
                       "memory",
                       {{"reads", reads_},
                        {"writes", writes_},
                        {"read_bytes", read_},
                        {"written_bytes", written_},
                        {"unit_bytes", unit_bytes_},
                        {"busy_ps", busy()},
                        {"unit_busy_ps", unit_busy_},
                        {"queueing_ps", waited}}};
    made.append_too_late(too_late);
    return made;
  }
  void reset_counters() noexcept {
    for (busy_calendar& channel : channels_) channel.reset();
    reads_ = writes_ = read_ = written_ = unit_bytes_ = unit_busy_ = 0;
  }

 private:
  void count(std::uint64_t bytes, bool write) noexcept {
    ++(write ? writes_ : reads_);
    (write ? written_ : read_) += bytes;
  }
  [[nodiscard]] busy_calendar& channel_of(std::uint64_t address) noexcept {
    return channels_[address / spec_.burst_bytes % channels_.size()];
  }
  [[nodiscard]] time_ps busy() const noexcept {
    time_ps sum = 0;
    for (const busy_calendar& channel : channels_) sum += channel.busy();
    return sum;
  }
  time_ps carry_out(std::uint64_t address, std::uint64_t bytes, time_ps now) noexcept {
    if (channels_.size() == 1) return serve(channels_.front(), bytes, now);
    time_ps done = now;
    for (const std::uint64_t end = address + bytes; address < end;) {
      const std::uint64_t next = std::min(end, (address / spec_.burst_bytes + 1) * spec_.burst_bytes);
      done = std::max(done, serve(channel_of(address), next - address, now));
      address = next;
    }
    return done;
  }
  time_ps serve(busy_calendar& channel, std::uint64_t bytes, time_ps now) noexcept {
    time_ps more = 0;
    if (bytes > spec_.burst_bytes && spec_.bytes_per_second > 0)
      more = static_cast<time_ps>(static_cast<double>(bytes - spec_.burst_bytes) * 1e12 /
                                  static_cast<double>(spec_.bytes_per_second));
    return channel.take(now, spec_.occupancy + more) + spec_.access_time + more;
  }

  memory_spec spec_;
  std::vector<busy_calendar> channels_;
  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t unit_bytes_ = 0;
  time_ps unit_busy_ = 0;
};

}  // namespace situ::model
