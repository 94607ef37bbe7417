// A tile's network adapter: carries operations of the tile's cores on memories elsewhere, a fixed number at a time,
// each for its whole round trip; and counts the columns "NA usage" and "average cycles" of table 6 of the NEMESYS
// paper.
//
// Worked example (one operation at a time): a load begins at 0 and is back at 1400 ns; a store requested at 500 begins
// when the load is back. If the store is done at 2400, it took 1900 ns, of which it waited 900.
//
// Operations are served in the order of the calls, not of their times: the length of an operation is known only when it
// is done, so there is no gap that a late operation could take.
//
// Not thread-safe. cost: linear in the number of operations at a time.
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

  // Returns the time of one pass through the adapter, in or out.
  [[nodiscard]] time_ps pass() const noexcept { return pass_; }

  // Carries out an operation that is requested at `now`: run(begin) returns when the operation is done. Returns the
  // same time.
  template <class Run>
  time_ps carry_out(operation what, std::uint64_t bytes, time_ps now, Run&& run) {
    time_ps& slot = *std::ranges::min_element(free_from_);
    const time_ps begin = std::max(now, slot);
    const time_ps done = run(begin);
    slot = done;
    count(what, bytes, begin, done);  // the round trip; the wait before `begin` counts as queueing
    busy_ += done - begin;
    waited_ += begin - now;
    return done;
  }

  // Counts operations that bypass carry_out(): messages and DMA have a way of their own through the adapter.
  void count(operation what, std::uint64_t bytes, time_ps asked, time_ps done) noexcept {
    sums& sum = sums_[static_cast<std::size_t>(what)];
    ++sum.count;
    sum.bytes += bytes;
    sum.time += done - asked;
  }

  // Accesses to homed pages (homed_pages.cpp): those that the tile's cores made elsewhere, which are loads, stores and
  // atomics, too; and those of other tiles that the tile served as the home.
  struct homed_counts {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t atomics = 0;
    std::uint64_t served = 0;
    std::uint64_t misses = 0;  // part of `served` that missed the home's outermost cache
  };
  homed_counts homed;

  [[nodiscard]] part_counters counters() const {
    const auto of = [&](operation what) -> const sums& { return sums_[static_cast<std::size_t>(what)]; };
    std::uint64_t bytes = 0;
    for (const sums& sum : sums_) bytes += sum.bytes;
    part_counters made{name_,
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
    for (const auto& [name, count] : {std::pair{"homed_reads", homed.reads},
                                      {"homed_writes", homed.writes},
                                      {"homed_atomics", homed.atomics},
                                      {"homed_served", homed.served},
                                      {"homed_misses", homed.misses}})
      if (count != 0) made.values.emplace_back(name, count);
    return made;
  }
  void reset_counters() noexcept {
    for (sums& sum : sums_) sum = {};
    busy_ = waited_ = 0;
    homed = {};
  }

 private:
  struct sums {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    time_ps time = 0;  // from request to completion
  };
  std::string name_;
  time_ps pass_;
  std::vector<time_ps> free_from_;  // of each slot for an operation
  sums sums_[static_cast<std::size_t>(operation::kinds)];
  time_ps busy_ = 0;
  time_ps waited_ = 0;
};

}  // namespace situ::model
