// Where the modelled time of each core goes, by function (`situ model run --profile`).
//
// Time is put down at each access that the first cache does not answer, all since the last one: to the function whose
// access it was. What a function computes between two of these counts for who makes the second. Functions that the
// compiler has put into others count as these.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/execution/engine.h"

namespace situ::model {

class time_profile {
 public:
  explicit time_profile(std::size_t cores) : cores_(cores) {}
  // The core has come to its clock by an access of this code, to which the machine took `in_machine`.
  void note(const core& c, std::uintptr_t code, time_ps in_machine);
  // A thread goes on after nobody ran on it.
  void begin(const core& c) { of(c).until = c.clock; }
  // The functions that took most of all cores' time, and of that of the busiest core.
  [[nodiscard]] std::string text() const;
  // [{"function": ..., "ps": ..., "in_machine_ps": ..., "accesses": ...}], the largest first.
  [[nodiscard]] std::string json() const;

 private:
  struct share {
    time_ps time = 0;
    time_ps in_machine = 0;
    std::uint64_t accesses = 0;
  };
  struct of_core {
    std::unordered_map<std::uintptr_t, share> by_code;
    time_ps until = 0;
  };
  using functions = std::vector<std::pair<std::string, share>>;
  of_core& of(const core& c);
  // Of one core, or of all.
  [[nodiscard]] functions by_function(const of_core* only) const;
  static void append(std::string& text, const functions& all);
  std::vector<of_core> cores_;
};

}  // namespace situ::model
