// The counts of a machine's cores and parts, by interval of modelled time.
//
// A timeline has at most `most_samples` samples: when it is full, every second sample is removed and intervals double
// from there on. So a run of any length has between half of that number and all of it, and the total cost of samples
// grows with the logarithm of the run's length.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/execution/engine.h"

namespace situ::model {

class timeline {
 public:
  static constexpr std::size_t most_samples = 128;
  static constexpr time_ps first_interval_ps = 1'000'000;

  // Returns when the next sample is due.
  [[nodiscard]] time_ps next() const noexcept { return (times_.empty() ? 0 : times_.back()) + interval_; }
  // Takes the samples that are due. pre: no core has work before `now`.
  void take_due(engine& of, time_ps now);
  // Takes the last sample at the end of the run; the last interval may be shorter.
  void end(engine& of, time_ps when);
  // {"times": [ends], "series": [{"part", "kind", "counter", "values": [of each interval]}]}; no series of zeros.
  [[nodiscard]] std::string json() const;

 private:
  struct series {
    std::string part;
    std::string kind;
    std::string counter;
    std::vector<std::uint64_t> sums;  // sums up to each sample; zeros before the part's first counts
  };
  void take(engine& of, time_ps when);
  void note(const std::string& part, const std::string& kind, const std::string& counter, std::uint64_t sum);
  void halve();

  time_ps interval_ = first_interval_ps;
  std::vector<time_ps> times_;
  std::vector<series> series_;
  std::unordered_map<std::string, std::size_t> index_;  // by kind, part and counter
};

}  // namespace situ::model
