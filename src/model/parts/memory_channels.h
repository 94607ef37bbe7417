// The channels of a memory, which serve one burst at a time, and their banks if the memory has these.
//
// An access of up to a burst takes access_time, and occupies its channel for `occupancy`; each further byte takes its
// time at the channel's bandwidth, and occupies the channel for that time, too. With several channels, or with banks
// (memory_banks.h), a longer access is split into bursts.
//
// Not thread-safe. cost: one busy_calendar reservation an access; with banks two a burst.
#pragma once

#include "model/parts/busy_calendar.h"
#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"
#include "model/parts/memory_banks.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace situ::model {

class memory_channels {
 public:
  explicit memory_channels(const memory_spec& of)
      : access_time_{of.access_time},
        occupancy_{of.occupancy},
        burst_bytes_{of.burst_bytes},
        bytes_per_second_{of.bytes_per_second},
        channels_(of.channels) {
    if (of.rows.banks > 0) banks_.emplace(of);
    splits_ = of.channels > 1 || banks_;
  }

  // Reads or writes bytes; the request arrives at `now`. Returns when the last byte is done. pre: bytes > 0.
  time_ps access(std::uint64_t address, std::uint64_t bytes, time_ps now) noexcept {
    if (!splits_) return serve(channels_.front(), bytes, now);
    time_ps done = now;
    for (const std::uint64_t end = address + bytes; address < end;) {
      const std::uint64_t next = std::min(end, (address / burst_bytes_ + 1) * burst_bytes_);
      busy_calendar& channel = channel_of(address);
      done = std::max(
          done, banks_ ? banks_->serve(address / burst_bytes_, channel, now) : serve(channel, next - address, now));
      address = next;
    }
    return done;
  }
  // Occupies the address's channel for times that are not the memory's; banks stay as they are. Returns the end.
  time_ps access_for(std::uint64_t address, const access_times& own, time_ps now) noexcept {
    return channel_of(address).take(now, own.occupancy) + own.duration;
  }

  [[nodiscard]] time_ps busy() const noexcept {
    time_ps sum = 0;
    for (const busy_calendar& channel : channels_) sum += channel.busy();
    return sum;
  }
  void append_counters(part_counters& to) const {
    std::uint64_t waited = banks_ ? banks_->waited() : 0;
    std::uint64_t too_late = banks_ ? banks_->too_late() : 0;
    for (const busy_calendar& channel : channels_) {
      waited += channel.waited();
      too_late += channel.too_late();
    }
    to.values.emplace_back("queueing_ps", waited);
    if (banks_) banks_->append_counters(to);
    to.append_too_late(too_late);
  }
  void reset_counters() noexcept {
    for (busy_calendar& channel : channels_) channel.reset();
    if (banks_) banks_->reset_counters();
  }

 private:
  [[nodiscard]] busy_calendar& channel_of(std::uint64_t address) noexcept {
    return channels_[address / burst_bytes_ % channels_.size()];
  }
  time_ps serve(busy_calendar& channel, std::uint64_t bytes, time_ps now) noexcept {
    time_ps more = 0;
    if (bytes > burst_bytes_ && bytes_per_second_ > 0)
      more = static_cast<time_ps>(static_cast<double>(bytes - burst_bytes_) * 1e12 /
                                  static_cast<double>(bytes_per_second_));
    return channel.take(now, occupancy_ + more) + access_time_ + more;
  }

  time_ps access_time_;
  time_ps occupancy_;
  std::uint32_t burst_bytes_;
  std::uint64_t bytes_per_second_;
  std::vector<busy_calendar> channels_;
  std::optional<memory_banks> banks_;
  bool splits_ = false;  // accesses into bursts
};

}  // namespace situ::model
