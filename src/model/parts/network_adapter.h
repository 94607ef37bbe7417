// A tile's way to the network: operations of its cores on memories elsewhere, so many at a time, each for its whole
// round trip; and what it has seen of them: the columns "NA usage" and "average cycles" of the NEMESYS paper's table 6.
//
// Worked example (one operation at a time): a load begins at 0 and is back at 1400 ns; a store that comes at 500 begins
// at 1400, and if it is done at 2400, was there for 1900 ns: 900 of them waiting.
//
// Operations are served in the order of the calls, not of their times: how long one takes is known when it is done, so
// there is no gap that a late one could take.
//
// Not thread-safe. cost: linear in the operations at a time.
#pragma once

#include "model/parts/counters.h"
#include "model/parts/machine_spec.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace situ::model {

class network_adapter {
 public:
  enum class operation : std::uint8_t { load, store, atomic, message, dma, kinds };

  explicit network_adapter(const tile_spec& spec)
      : name_{spec.name}, pass_{spec.adapter_time}, free_from_(spec.adapter_outstanding, 0) {}

  // One pass through it, in or out.
  [[nodiscard]] time_ps pass() const noexcept { return pass_; }

  // Carries out an operation that is asked for at `now`: run(begin) returns when it is done. Returns the same.
  template <class Run>
  time_ps carry_out(operation what, std::uint64_t bytes, time_ps now, Run&& run) {
    time_ps& slot = *std::ranges::min_element(free_from_);
    const time_ps begin = std::max(now, slot);
    const time_ps done = run(begin);
    slot = done;
    count(what, bytes, begin, done);  // a round trip; what it waited before is queueing
    busy_ += done - begin;
    waited_ += begin - now;
    return done;
  }

  // Counts what goes past the loads and stores: messages and DMA have a way of their own through it.
  void count(operation what, std::uint64_t bytes, time_ps asked, time_ps done) noexcept {
    sums& sum = sums_[static_cast<std::size_t>(what)];
    ++sum.count;
    sum.bytes += bytes;
    sum.time += done - asked;
  }

  [[nodiscard]] part_counters counters() const {
    const auto of = [&](operation what) -> const sums& { return sums_[static_cast<std::size_t>(what)]; };
    std::uint64_t bytes = 0;
    for (const sums& sum : sums_) bytes += sum.bytes;
    return {name_,
            "adapter",
            {{"loads", of(operation::load).count},
             {"load_ps", of(operation::load).time},
             {"stores", of(operation::store).count},
             {"store_ps", of(operation::store).time},
             {"atomics", of(operation::atomic).count},
             {"atomic_ps", of(operation::atomic).time},
             {"messages", of(operation::message).count},
             {"dmas", of(operation::dma).count},
             {"bytes", bytes},
             {"busy_ps", busy_},
             {"queueing_ps", waited_}}};
  }
  void reset_counters() noexcept {
    for (sums& sum : sums_) sum = {};
    busy_ = waited_ = 0;
  }

 private:
  struct sums {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    time_ps time = 0;  // from asking to being done
  };
  std::string name_;
  time_ps pass_;
  std::vector<time_ps> free_from_;  // of each operation at a time
  sums sums_[static_cast<std::size_t>(operation::kinds)];
  time_ps busy_ = 0;
  time_ps waited_ = 0;
};

}  // namespace situ::model
