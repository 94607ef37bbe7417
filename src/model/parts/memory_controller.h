// A memory and its controller: channels (memory_channels.h), interleaved by bursts, and counts of what they carry; in
// front of them perhaps a cache (memory_side_cache.h), whose misses are then all that they carry.
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
#include "model/parts/memory_observer.h"
#include "model/parts/memory_side_cache.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace situ::model {

class memory_controller {
 public:
  explicit memory_controller(const memory_spec& spec) : spec_{spec}, channels_{spec} {}
  memory_controller(const memory_spec& spec, const side_cache_spec& in_front)
      : spec_{spec}, channels_{spec}, side_{std::make_unique<memory_side_cache>(in_front)}, is_plain_{false} {}

  // Sets the observer of requests to this memory, which is told of them with this index; nullptr removes it.
  void observe(std::uint32_t index, memory_observer* observer) noexcept {
    index_ = index;
    observer_ = observer;
    is_plain_ = !side_ && observer == nullptr;
  }

  // Reads or writes bytes; the request reaches the controller at `now`. Returns when the last byte is done. pre: bytes
  // > 0.
  time_ps access(std::uint64_t address, std::uint64_t bytes, bool write, time_ps now) {
    if (!is_plain_) [[unlikely]]
      return access_seen(address, bytes, write, now);
    count(bytes, write);
    return channels_.access(address, bytes, now);
  }
  // Changes what a cache in front holds, as access() does.
  void warm(std::uint64_t address, std::uint64_t bytes, bool write) {
    if (side_) side_->warm(address, bytes, write);
  }
  // Does what access() does for a unit next to the memory, and also counts the access in the unit counters. `own`: the unit's
  // times, if they differ from the memory's; then a cache in front is left as it is.
  time_ps access_by_unit(std::uint64_t address, std::uint64_t bytes, bool write, time_ps now,
                         const std::optional<access_times>& own = {}) {
    const time_ps before = channels_.busy();
    time_ps done = 0;
    if (own) {
      count_seen(address, bytes, write);
      done = channels_.access_for(address, *own, now);
    } else {
      done = access(address, bytes, write, now);
    }
    unit_bytes_ += bytes;
    unit_busy_ += channels_.busy() - before;
    return done;
  }

  [[nodiscard]] const memory_spec& spec() const noexcept { return spec_; }

  // Appends the counters of the cache in front, if there is one.
  [[nodiscard]] memory_side_cache* side() noexcept { return side_.get(); }
  [[nodiscard]] const memory_side_cache* side() const noexcept { return side_.get(); }
  void append_side_counters(std::vector<part_counters>& to) const {
    if (side_) to.push_back(side_->counters());
  }
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
    if (side_) side_->reset_counters();
    channels_.reset_counters();
    reads_ = writes_ = read_ = written_ = unit_bytes_ = unit_busy_ = 0;
  }

 private:
  // Does the same if there is a cache in front or an observer.
  [[gnu::noinline]] time_ps access_seen(std::uint64_t address, std::uint64_t bytes, bool write, time_ps now) {
    const auto at_memory = [this](std::uint64_t at, std::uint64_t length, bool writes, time_ps begin) {
      count_seen(at, length, writes);
      return channels_.access(at, length, begin);
    };
    return side_ ? side_->access(address, bytes, write, now, at_memory) : at_memory(address, bytes, write, now);
  }
  void count_seen(std::uint64_t address, std::uint64_t bytes, bool write) {
    count(bytes, write);
    if (observer_ != nullptr) observer_->on_request(index_, address, bytes, write);
  }
  void count(std::uint64_t bytes, bool write) noexcept {
    ++(write ? writes_ : reads_);
    (write ? written_ : read_) += bytes;
  }

  memory_spec spec_;
  memory_channels channels_;
  std::unique_ptr<memory_side_cache> side_;  // null: there is none
  bool is_plain_ = true;                     // there is neither such a cache nor an observer
  std::uint32_t index_ = 0;
  memory_observer* observer_ = nullptr;
  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t unit_bytes_ = 0;
  time_ps unit_busy_ = 0;
};

}  // namespace situ::model
