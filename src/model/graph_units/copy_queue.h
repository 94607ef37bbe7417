// The queue in front of a graph-copy unit: it holds 16 requests (5.2), and the unit serves them in order. The caller
// must repeat a request that finds the queue full: this back-pressure spares software a lock (3.2).
//
// An event-driven executor calls submit() at the time of a request, and start_next() at the time that next_start()
// returns. A request frees its entry in the queue when the unit begins to serve it. Not thread-safe.
#pragma once

#include "model/graph_units/graph_copy_unit.h"

#include <algorithm>
#include <cstdint>
#include <deque>

namespace situ::model {

// Models the cores' time for allocations that stand for those of a software copy: one per object, after each copy by
// hardware (6.1).
struct dummy_allocations {
  bool are_made = true;
  time_ps each = 0;
  [[nodiscard]] std::uint64_t count(const copy_result& copy) const noexcept { return are_made ? copy.objects : 0; }
  [[nodiscard]] time_ps time(const copy_result& copy) const noexcept { return count(copy) * each; }
};

class copy_queue {
 public:
  static constexpr std::size_t places = 16;
  struct counters {
    std::uint64_t requests = 0;
    std::uint64_t refused = 0;  // requests that found the queue full
    time_ps waiting = 0;        // sum over all requests, from submit() to the start
    time_ps busy = 0;           // time during which the unit copied
  };

  // unit: must outlive the queue.
  explicit copy_queue(graph_copy_unit& unit) noexcept : unit_{unit} {}

  // Appends a request. Returns false if the queue is full: the caller may retry at next_start(). start_next() returns
  // `ticket` with the result of this request.
  [[nodiscard]] bool submit(const copy_request& request, std::uint64_t ticket, time_ps now) {
    if (waiting_.size() == places) {
      ++counters_.refused;
      return false;
    }
    ++counters_.requests;
    waiting_.push_back({request, ticket, now});
    return true;
  }
  // Returns when the unit begins with the request at the front; no_time if the queue is empty.
  [[nodiscard]] time_ps next_start() const noexcept {
    return waiting_.empty() ? no_time : std::max(waiting_.front().since, free_from_);
  }
  struct served {
    std::uint64_t ticket = 0;
    copy_result result;
  };
  // Copies the graph of the request at the front. If graph_copy_unit::copy() throws, the exception is passed on and the
  // request is removed. pre: the queue is not empty.
  served start_next() {
    const time_ps start = next_start();
    const entry first = waiting_.front();
    waiting_.pop_front();
    counters_.waiting += start - first.since;
    const copy_result result = unit_.copy(first.request, start);
    free_from_ = result.end;
    counters_.busy += result.end - start;
    return {first.ticket, result};
  }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }
  [[nodiscard]] const counters& counted() const noexcept { return counters_; }

 private:
  struct entry {
    copy_request request;
    std::uint64_t ticket;
    time_ps since;
  };
  graph_copy_unit& unit_;
  std::deque<entry> waiting_;
  time_ps free_from_ = 0;
  counters counters_;
};

}  // namespace situ::model
