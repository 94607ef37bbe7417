// What cores and parts of the machine have counted, interval by interval of modelled time.
//
// There are never more than `most_samples` of them: where one more would come, every second one goes and intervals are
// twice as long from there on. So a run of any length has between half of that number and the whole, and a sample's
// cost is paid a logarithm of times.
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

  // When the next sample is due.
  [[nodiscard]] time_ps next() const noexcept { return (times_.empty() ? 0 : times_.back()) + interval_; }
  // No core has anything left to do before `now`: takes the samples that are due.
  void take_due(engine& of, time_ps now);
  // The run is over: its last interval may be shorter.
  void end(engine& of, time_ps when);
  // {"times": [ends], "series": [{"part", "kind", "counter", "values": [of each interval]}]}; no series of zeros.
  [[nodiscard]] std::string json() const;

 private:
  struct series {
    std::string part;
    std::string kind;
    std::string counter;
    std::vector<std::uint64_t> sums;  // until each sample; those of a part that came later begin with zeros
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
