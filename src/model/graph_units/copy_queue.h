// The queue before a graph-copy unit: 16 requests (5.2), served one after the other. A request to a full queue has to
// be made again: the back-pressure that spares software a lock (3.2).
//
// For an executor of events: submit() at the time of a request, start_next() at the time that next_start() names. The
// queue's place is free from the moment when the unit begins with a request. Not thread-safe.
#pragma once

#include "model/graph_units/graph_copy_unit.h"

#include <algorithm>
#include <cstdint>
#include <deque>

namespace situ::model {

// The allocations that stand for a software copy's, one an object, after each copy by hardware (6.1): the cores' time.
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
    std::uint64_t refused = 0;  // found the queue full
    time_ps waiting = 0;        // of all requests, from submit() to the start
    time_ps busy = 0;           // of the unit
  };

  // unit: it must outlive the queue.
  explicit copy_queue(graph_copy_unit& unit) noexcept : unit_{unit} {}

  // False where the queue is full: then ask again at next_start(). `ticket` names the request in what start_next()
  // returns.
  [[nodiscard]] bool submit(const copy_request& request, std::uint64_t ticket, time_ps now) {
    if (waiting_.size() == places) {
      ++counters_.refused;
      return false;
    }
    ++counters_.requests;
    waiting_.push_back({request, ticket, now});
    return true;
  }
  // When the unit begins with the request at the front; no_time where there is none.
  [[nodiscard]] time_ps next_start() const noexcept {
    return waiting_.empty() ? no_time : std::max(waiting_.front().since, free_from_);
  }
  struct served {
    std::uint64_t ticket = 0;
    copy_result result;
  };
  // Copies the graph at the front. Throws what graph_copy_unit::copy() throws; the request is then gone. pre: there is
  // a request.
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
